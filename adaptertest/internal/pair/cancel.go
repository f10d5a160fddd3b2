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

// TripContext is a context that is cancelled when it is checked for the n-th
// time. So a test reaches every place where an adapter checks its context.
type TripContext struct {
	context.Context
	Cancel context.CancelFunc
	left   atomic.Int64
}

// NewTripContext returns a context that its n-th check cancels.
func NewTripContext(ctx context.Context, n int) *TripContext {
	t := &TripContext{}
	t.Context, t.Cancel = context.WithCancel(ctx)
	t.left.Store(int64(n))
	return t
}

func (t *TripContext) look() {
	if t.left.Add(-1) == 0 {
		t.Cancel()
	}
}

// Tripped reports whether the context was checked n times.
func (t *TripContext) Tripped() bool { return t.left.Load() <= 0 }

// Done implements [context.Context].
func (t *TripContext) Done() <-chan struct{} { t.look(); return t.Context.Done() }

// Err implements [context.Context].
func (t *TripContext) Err() error { t.look(); return t.Context.Err() }
