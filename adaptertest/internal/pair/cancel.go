package pair

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Canceller cancels calls at a random moment while they run.
type Canceller struct {
	*Runner
	usual time.Duration // the time that a call takes which is not cancelled
}

// NewCanceller starts the goroutine of a canceller. stop ends it.
func NewCanceller() (k *Canceller, stop func()) {
	p, stop := New()
	return &Canceller{Runner: p}, stop
}

// Call runs do with a context that is cancelled at a random moment while do may
// be running. The first call only tells how long one takes.
func (k *Canceller) Call(ctx context.Context, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mine := func() {
		start := time.Now()
		do(ctx)
		if ctx.Err() == nil {
			k.learn(time.Since(start))
		}
	}
	if k.usual == 0 {
		mine()
		return
	}
	after := rand.N(k.usual*3/2 + 1)
	k.Together(mine, func() {
		Wait(after)
		cancel()
	})
}

// learn notes how long a call took. One that took long, because of other work, is soon forgotten.
func (k *Canceller) learn(took time.Duration) {
	switch {
	case k.usual == 0:
		k.usual = took
	case took < k.usual:
		k.usual = (k.usual + took) / 2
	default:
		k.usual += (took - k.usual) / 8
	}
	k.usual = max(1, k.usual)
}

// Wait waits for a time that begins now, and sleeps only if it is longer than a millisecond.
func Wait(d time.Duration) {
	switch {
	case d == 0: // reading the clock would make the start of two calls differ
	case d > time.Millisecond:
		time.Sleep(d)
	default:
		for start := time.Now(); time.Since(start) < d; {
			idle(1)
		}
	}
}

// LookContext is a context that calls a function when it is checked for the n-th
// time. So a test reaches every place where an adapter checks its context.
type LookContext struct {
	context.Context
	at   func()
	left atomic.Int64
}

// NewLookContext returns a context whose n-th check calls at before it has its result.
func NewLookContext(ctx context.Context, n int, at func()) *LookContext {
	l := &LookContext{Context: ctx, at: at}
	l.left.Store(int64(n))
	return l
}

func (l *LookContext) look() {
	if l.left.Add(-1) == 0 {
		l.at()
	}
}

// Tripped reports whether the context was checked n times.
func (l *LookContext) Tripped() bool { return l.left.Load() <= 0 }

// Done implements [context.Context].
func (l *LookContext) Done() <-chan struct{} { l.look(); return l.Context.Done() }

// Err implements [context.Context].
func (l *LookContext) Err() error { l.look(); return l.Context.Err() }

// TripContext is a context that is cancelled when it is checked for the n-th time.
type TripContext struct {
	*LookContext
	Cancel context.CancelFunc
}

// NewTripContext returns a context that its n-th check cancels.
func NewTripContext(ctx context.Context, n int) *TripContext {
	ctx, cancel := context.WithCancel(ctx)
	return &TripContext{NewLookContext(ctx, n, cancel), cancel}
}
