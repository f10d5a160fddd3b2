// Package fault brings faults between an adapter and its store: an in-process
// TCP proxy for network stores ([Proxy]) and a database/sql/driver wrapper for
// embedded ones ([Driver]). Both are driven through [Control], which is what
// the conformance suite asks of a harness, and can be used on their own.
//
// Traffic is counted in steps. A step is one exchange with the store: through
// the wrapper a statement, a begin, commit or rollback, a ping or the opening
// of a connection; through the proxy what a client sends until the store
// answers, and that answer. Steps are counted over all connections.
package fault

import "errors"

// ErrInjected is in the chain of every error that the driver wrapper injects.
// The proxy can't inject errors: its clients see a broken or silent connection.
var ErrInjected = errors.New("fault: injected failure")

// Kind says what goes wrong.
type Kind int

const (
	// FailRequest fails the step before the store sees it.
	FailRequest Kind = iota + 1
	// LoseReply lets the store act and loses its answer: the connection breaks.
	LoseReply
	// HoldReply lets the store act and holds its answer back until Release.
	HoldReply
	// Stall passes nothing from the step on, in either direction and on any
	// connection, until Release. Connections stay open.
	Stall
	// CutReply breaks the answer off in the middle: after the first row, or
	// after half of its bytes.
	CutReply
	// Cut breaks all connections at the step, as a store that restarts does.
	// Later connections work.
	Cut
	// Down fails the step and all that follow, on old and new connections, until
	// Release.
	Down
	// HalfClose ends the answers of the step's connection: the client sees the
	// end of the stream while it may still send.
	HalfClose
	// Delay holds the answer of this step and of all that follow for 50 ms, until
	// Release.
	Delay
)

// Control injects faults into the traffic of one adapter.
type Control interface {
	// Inject arms a fault for the step-th step from now, 1 being the next. If the
	// control has no such fault the error matches errors.ErrUnsupported. Several
	// injections may be armed at once; each counts its steps from its own start.
	Inject(kind Kind, step int) (Injection, error)

	// Steps returns the number of steps so far.
	Steps() int64

	// Heal disarms and releases every injection. Traffic passes again.
	Heal()
}

// Injection is one armed fault.
type Injection interface {
	// Hit is closed when the fault has taken effect. A HoldReply has taken
	// effect when the answer of the store has arrived and is being held.
	Hit() <-chan struct{}

	// Release ends a HoldReply, Stall, Down or Delay; it disarms a fault that was
	// not hit. Calls after the first do nothing.
	Release()
}
