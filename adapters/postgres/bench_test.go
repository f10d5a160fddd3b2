package postgres_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// direct is an adapter on its own tables, without a proxy.
type direct struct {
	*postgres.Adapter
	pool   *pgxpool.Pool
	schema string
}

// counted is an adapter whose traffic passes a proxy.
type counted struct {
	*postgres.Adapter
	proxy *fault.Proxy
}

// benchHarness opens adapters without a proxy, and a second handle on one
// connection through a proxy that counts round trips.
func (w wiring) benchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			a, pool, schema := w.newStore(t)
			return direct{a, pool, schema}
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			second, proxy := w.throughProxy(t, a.(direct).schema, 1)
			return counted{second, proxy}
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(counted).proxy },
	}
}

func newBaseline(_ testing.TB, a adapter.Adapter) any {
	d := a.(direct)
	return postgrestest.NewBaseline(d.pool, d.schema)
}

func BenchmarkAdapter(b *testing.B) { bench.Run(b, wirings[0].benchHarness(), newBaseline) }

func BenchmarkSessions(b *testing.B) {
	bench.Sessions(b, wirings[0].benchHarness(), newBaseline, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
		require.NoError(tb, newBaseline(tb, a).(postgrestest.Baseline).AddSessions(tb.Context(), from, to))
	})
}

// TestRoundTrips counts the round trips of first and later calls. In the
// modes in which pgx describes statements, a statement that is new to the
// connection takes one more.
func TestRoundTrips(t *testing.T) {
	for _, c := range []struct {
		wiring     string
		describes  int64 // round trips to describe a new statement
		everyCalls bool  // describes the statement in every call
	}{
		{"cache_statement", 1, false},
		{"cache_describe", 1, false},
		{"describe_exec", 1, true},
		{"exec", 0, false},
		{"simple_protocol", 0, false},
	} {
		t.Run(c.wiring, func(t *testing.T) {
			t.Parallel()
			w := wirings[slices.IndexFunc(wirings, func(w wiring) bool { return w.name == c.wiring })]
			for method, trips := range bench.RoundTrips(t, w.benchHarness()) {
				assert.Truef(t, trips.First <= 2*(1+c.describes),
					"%s: the first call takes %d round trips, want at most %d", method, trips.First, 2*(1+c.describes))
				want := int64(1)
				if c.everyCalls {
					want += c.describes
				}
				assert.Equalf(t, want, trips.Later, "%s: a later call takes %d round trips, want %d", method, trips.Later, want)
			}
		})
	}
}
