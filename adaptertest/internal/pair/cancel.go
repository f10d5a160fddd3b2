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
	Usual time.Duration // the time that a call usually takes
}

// NewCanceller starts the goroutine of a canceller. stop ends it.
func NewCanceller() (k *Canceller, stop func()) {
	p, stop := New()
	return &Canceller{Runner: p}, stop
}

// Call runs do with a context that is cancelled at a random moment while do may
// be running.
func (k *Canceller) Call(ctx context.Context, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after := time.Duration(rand.Int64N(int64(k.Usual)*3/2 + 1))
	start := time.Now()
	k.Together(func() {
		do(ctx)
		k.Usual += (time.Since(start) - k.Usual) / 8
	}, func() {
		WaitSince(start, after)
		cancel()
	})
}

// WaitSince waits until the time has passed since start, and sleeps only if it ends in more than a millisecond.
func WaitSince(start time.Time, after time.Duration) {
	if after == 0 {
		return // reading the clock would make the start of two calls differ
	}
	if left := after - time.Since(start); left > time.Millisecond {
		time.Sleep(left)
	}
	for time.Since(start) < after {
		idle(1)
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
