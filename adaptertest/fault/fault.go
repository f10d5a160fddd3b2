// Package fault injects faults between an adapter and its store. It has an
// in-process TCP proxy for network stores ([Proxy]) and a database/sql/driver
// wrapper for embedded ones ([Driver]). Both implement [Control], which a
// harness of the conformance suite returns. Other tests can use them too.
//
// Traffic is counted in steps. A step is one exchange with the store. For the
// wrapper a step is a statement, a begin, commit or rollback, a ping or the
// opening of a connection. For the proxy it is the data that a client sends
// until the store answers, and that answer. Steps are counted over all
// connections.
package fault

import "errors"

// ErrInjected is wrapped by every error that the driver wrapper injects. The
// proxy can't inject errors: its clients see a broken or silent connection.
var ErrInjected = errors.New("fault: injected failure")

// Kind is a kind of fault.
type Kind int

const (
	// FailRequest fails the step before the store sees it.
	FailRequest Kind = iota + 1
	// LoseReply lets the store execute the step and loses its answer: the
	// connection breaks.
	LoseReply
	// HoldReply lets the store execute the step and holds its answer back until
	// Release.
	HoldReply
	// Stall stops all traffic from the step on, in both directions and on all
	// connections, until Release. Connections stay open.
	Stall
	// CutReply breaks the answer off in the middle: after the first row, or
	// after half of its bytes.
	CutReply
	// Cut breaks all connections at the step, like a store that restarts. Later
	// connections work.
	Cut
	// Down fails the step and all that follow, on old and new connections, until
	// Release.
	Down
	// HalfClose ends the stream of answers on the step's connection: the client
	// sees the end of the stream, but may still send.
	HalfClose
	// Delay holds the answer of this step and of all that follow for 50 ms, until
	// Release.
	Delay
)

// Control injects faults into the traffic of one adapter.
type Control interface {
	// Inject arms a fault for the step-th step from now; 1 is the next one. If
	// the control has no such fault the error matches errors.ErrUnsupported.
	// Several injections may be armed at once; each counts its steps from its own
	// start.
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

	// Release ends a HoldReply, Stall, Down or Delay, and disarms a fault that
	// was not hit. Calls after the first do nothing.
	Release()
}
