// Package pair runs two functions at one moment, cancels calls at a random moment, and acts when a
// context is checked for the n-th time.
package pair

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
)

// Runner is a goroutine that runs a function at the same moment as its owner
// runs another one. The two start closer together than two new goroutines
// would: both are already running at that moment, on different cores if there
// are two.
type Runner struct {
	next  chan func()
	done  chan struct{}
	round int64
	ready atomic.Int64
	begin atomic.Int64
}

// New starts a runner, which ends with the returned function.
func New() (p *Runner, stop func()) {
	p = &Runner{next: make(chan func(), 1), done: make(chan struct{}, 1)}
	go p.run()
	return p, func() { close(p.next) }
}

// patientSpins is the number of times that the runner checks for its next turn
// before it sleeps. eagerSpins is the number of times that a goroutine checks
// for an event on another core before it yields its own core.
const (
	patientSpins = 2_000
	eagerSpins   = 2_000
)

func (p *Runner) run() {
	for round := int64(1); ; round++ {
		f, ok := p.await()
		if !ok {
			return
		}
		p.ready.Store(round)
		spinUntil(&p.begin, round)
		idle(rand.IntN(128))
		f()
		p.done <- struct{}{}
	}
}

func (p *Runner) await() (f func(), ok bool) {
	for range patientSpins {
		select {
		case f, ok = <-p.next:
			return f, ok
		default:
		}
	}
	f, ok = <-p.next
	return f, ok
}

// Together runs mine on this goroutine and theirs on the runner's at one
// moment, and returns when both have returned. Neither may end its goroutine.
func (p *Runner) Together(mine, theirs func()) {
	p.round++
	p.next <- theirs
	spinUntil(&p.ready, p.round)
	p.begin.Store(p.round)
	idle(rand.IntN(256))
	mine()
	<-p.done
}

func spinUntil(v *atomic.Int64, want int64) {
	for spins := 1; v.Load() != want; spins++ {
		if spins%eagerSpins == 0 {
			runtime.Gosched()
		}
	}
}

// idle spends a few nanoseconds for each turn.
func idle(turns int) {
	var sink atomic.Int64
	for range turns {
		sink.Add(1)
	}
}
