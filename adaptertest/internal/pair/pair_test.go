package pair_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTogether: both functions run once in each round, and have returned when it ends. In some rounds they
// run at one moment, unless there is one processor.
func TestTogether(t *testing.T) {
	const rounds = 1000
	for _, processors := range []int{1, 2} {
		before := runtime.GOMAXPROCS(processors)
		synctest.Test(t, func(*testing.T) { // fails if stop leaves the goroutine
			p, stop := pair.New()
			defer stop()
			var calls, inside, met atomic.Int64
			call := func() {
				calls.Add(1)
				if inside.Add(1) == 2 {
					met.Add(1)
				}
				for range 5000 {
					inside.Load()
				}
				inside.Add(-1)
			}
			var round int64
			apart := func() bool { return met.Load() == 0 && min(processors, runtime.NumCPU()) > 1 }
			// A busy machine may have one processor to spare for a while.
			for ; round < rounds || apart() && round < 1000*rounds; round++ {
				p.Together(call, call)
				require.Truef(t, inside.Load() == 0, "%d processors: a function still runs", processors)
			}
			assert.Equalf(t, 2*round, calls.Load(), "%d processors: calls", processors)
			assert.Falsef(t, apart(), "%d processors: no two calls ran at one moment", processors)
		})
		runtime.GOMAXPROCS(before)
	}
}

// TestCanceller: some calls are cancelled while they run, and some end before.
func TestCanceller(t *testing.T) {
	k, stop := pair.NewCanceller()
	defer stop()
	cancelled, ended := 0, 0
	for range 500 {
		k.Call(t.Context(), func(ctx context.Context) {
			for start := time.Now(); time.Since(start) < 100*time.Microsecond; {
				if ctx.Err() != nil {
					cancelled++
					return
				}
			}
			ended++
		})
	}
	assert.Truef(t, cancelled != 0 && ended != 0,
		"%d calls were cancelled, and %d ended before, want some of each", cancelled, ended)
}

// TestLooks: a function is called when a context is checked for the n-th time, before the check has its
// result, and at no other time.
func TestLooks(t *testing.T) {
	for n := 1; n <= 4; n++ {
		at := 0
		looks := pair.NewLookContext(t.Context(), n, func() { at++ })
		trips := pair.NewTripContext(t.Context(), n)
		for look := 1; look <= 5; look++ {
			_, err := looks.Err(), trips.Err()
			if late := look >= n; (at == 1) != late || looks.Tripped() != late || errors.Is(err, context.Canceled) != late {
				t.Errorf("n is %d, look %d: %d calls, Tripped is %v, the other context has %v", n, look, at, looks.Tripped(), err)
			}
		}
		trips.Cancel()
	}
	trips := pair.NewTripContext(t.Context(), 2)
	trips.Done()
	assert.False(t, trips.Tripped(), "after one look")
	<-trips.Done()
}
