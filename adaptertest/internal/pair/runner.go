// Package pair runs two functions at one moment, cancels calls at a random moment, and cancels a context at a chosen look at it.
package pair

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
)

// Runner is a goroutine that does something at the same moment as its owner,
// closer together than the scheduler would have it: both are running, on cores
// of their own if there are two, when the moment comes.
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

// patientSpins is how often the runner looks for its next turn before it
// sleeps, and eagerSpins how often something is looked for that another core is
// about to do before that other gets this core.
const (
	patientSpins = 20_000
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

// Together runs mine here and theirs on the runner's goroutine at one moment,
// and returns when both have. Neither may end its goroutine.
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

// idle passes a few nanoseconds for each turn.
func idle(turns int) {
	var sink atomic.Int64
	for range turns {
		sink.Add(1)
	}
}
