package redis_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// benchHarness opens adapters without a proxy, and a second handle on one
// connection through a proxy that counts round trips.
func (w wiring) benchHarness(t testing.TB) adaptertest.Harness {
	t.Helper()
	e := w.env(t)
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter { return e.Direct(t) },
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			h := e.Handle(t, a.(*redistest.Handle).Prefix, 1)
			if err := h.EnsureScripts(t.Context()); err != nil {
				t.Fatal(err)
			}
			return h
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*redistest.Handle).Proxy },
	}
}

func BenchmarkAdapter(b *testing.B) { bench.Run(b, standalone.benchHarness(b), newBaseline) }

// BenchmarkChecked compares the adapter with a baseline that makes the same
// checks.
func BenchmarkChecked(b *testing.B) {
	bench.Run(b, standalone.benchHarness(b), newCheckedBaseline)
}

func BenchmarkSessions(b *testing.B) {
	bench.Sessions(b, standalone.benchHarness(b), newBaseline, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
		for ; from < to; from += 1000 {
			writeSessions(tb, a.(*redistest.Handle), from, from+1000)
		}
	})
}

// writeSessions writes users and sessions as the adapter does, in one pipeline.
func writeSessions(tb testing.TB, h *redistest.Handle, from, to int) {
	tb.Helper()
	ctx, expires := tb.Context(), time.Now().Add(time.Hour)
	pipe := h.Client.Pipeline()
	for n := from; n < to; n++ {
		owner := fmt.Sprint("u", n/10)
		if n%10 == 0 {
			pipe.Set(ctx, "{"+h.Prefix+"}:user:"+owner, `{"inc":"I`+owner+`","name":"User"}`, 0)
		}
		pipe.Set(ctx, h.Prefix+":session:"+bench.SessionToken(n), fmt.Sprintf(`{"user":%q,"inc":"I%s","expires":"%d"}`, owner, owner, expires.UnixMicro()), time.Hour)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		tb.Fatal(err)
	}
}
