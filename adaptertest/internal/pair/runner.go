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
	asked atomic.Int64 // the last question of the owner
	heard atomic.Int64 // the last question that the runner has answered
	begin atomic.Bool
}

// New starts a runner, which ends with the returned function.
func New() (p *Runner, stop func()) {
	p = &Runner{next: make(chan func(), 1), done: make(chan struct{}, 1)}
	go p.run()
	return p, func() { close(p.next) }
}

// The owner asks up to questions times whether the runner is running, and one that runs on another core answers
// within answerSpins. Beside other work, or with one core, that may not happen in a while.
const (
	questions   = 20
	answerSpins = 500
)

func (p *Runner) run() {
	for f := range p.next {
		for spins := 1; !p.begin.Load(); spins++ {
			p.heard.Store(p.asked.Load())
			if spins%answerSpins == 0 {
				runtime.Gosched()
			}
		}
		idle(rand.IntN(128))
		f()
		p.done <- struct{}{}
	}
}

// Together runs mine on this goroutine and theirs on the runner's at one
// moment, and returns when both have returned. Neither may end its goroutine.
func (p *Runner) Together(mine, theirs func()) {
	p.begin.Store(false)
	p.next <- theirs
	for n := 0; n < questions && !p.answers(); n++ {
		runtime.Gosched()
	}
	p.begin.Store(true)
	idle(rand.IntN(256))
	mine()
	<-p.done
}

// answers reports whether the runner runs at this moment.
func (p *Runner) answers() bool {
	n := p.asked.Add(1)
	for range answerSpins {
		if p.heard.Load() == n {
			return true
		}
	}
	return false
}

// idle spends a few nanoseconds for each turn.
func idle(turns int) {
	var sink atomic.Int64
	for range turns {
		sink.Add(1)
	}
}
