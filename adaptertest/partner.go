package adaptertest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// partner is a goroutine that does something at the same moment as its owner,
// closer together than the scheduler would have it: both are running, on cores
// of their own if there are two, when the moment comes.
type partner struct {
	next  chan func()
	done  chan struct{}
	round int64
	ready atomic.Int64
	begin atomic.Int64
}

// newPartner starts a partner, which ends with the returned function.
func newPartner() (p *partner, stop func()) {
	p = &partner{next: make(chan func(), 1), done: make(chan struct{}, 1)}
	go p.run()
	return p, func() { close(p.next) }
}

// patientSpins is how often the partner looks for its next turn before it
// sleeps, and eagerSpins how often something is looked for that another core is
// about to do before that other gets this core.
const (
	patientSpins = 20_000
	eagerSpins   = 2_000
)

func (p *partner) run() {
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

func (p *partner) await() (f func(), ok bool) {
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

// together runs mine here and theirs on the partner's goroutine at one moment,
// and returns when both have. Neither may end its goroutine.
func (p *partner) together(mine, theirs func()) {
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

// canceller cancels calls somewhere under way.
type canceller struct {
	*partner
	usual time.Duration // how long calls take
}

// call runs do with a context that is cancelled at a random moment while do may
// be running.
func (k *canceller) call(ctx context.Context, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after := time.Duration(rand.Int64N(int64(k.usual)*3/2 + 1))
	start := time.Now()
	k.together(func() {
		do(ctx)
		k.usual += (time.Since(start) - k.usual) / 8
	}, func() {
		if after > time.Millisecond {
			timer := time.NewTimer(after)
			defer timer.Stop()
			<-timer.C
		}
		for time.Since(start) < after {
			idle(1)
		}
		cancel()
	})
}

// tripContext is cancelled when it is looked at for the n-th time, which finds
// every place at which an adapter heeds its context.
type tripContext struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

// newTripContext returns a context that the n-th look at it cancels.
func newTripContext(ctx context.Context, n int) *tripContext {
	t := &tripContext{}
	t.Context, t.cancel = context.WithCancel(ctx)
	t.left.Store(int64(n))
	return t
}

func (t *tripContext) look() {
	if t.left.Add(-1) == 0 {
		t.cancel()
	}
}

// tripped reports whether the context was looked at often enough.
func (t *tripContext) tripped() bool { return t.left.Load() <= 0 }

func (t *tripContext) Done() <-chan struct{} { t.look(); return t.Context.Done() }
func (t *tripContext) Err() error            { t.look(); return t.Context.Err() }
