package redis_test

import (
	"flag"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
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
			require.NoError(t, h.EnsureScripts(t.Context()))
			return h
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*redistest.Handle).Proxy },
	}
}

func newBaseline(tb testing.TB, a adapter.Adapter) any {
	h := a.(*redistest.Handle)
	return must(redistest.NewBaseline(tb.Context(), h.Client, h.Prefix))(tb)
}

func BenchmarkAdapter(b *testing.B) { bench.Run(b, standalone.benchHarness(b), newBaseline) }

func BenchmarkSessions(b *testing.B) {
	bench.Sessions(b, standalone.benchHarness(b), newBaseline, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
		require.NoError(tb, newBaseline(tb, a).(redistest.Baseline).AddSessions(tb.Context(), from, to))
	})
}
