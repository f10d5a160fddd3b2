package mysql_test

import (
	"flag"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// benchHarness opens adapters without a proxy, and a second handle on one connection that
// counts round trips.
func benchHarness(t testing.TB, env *mysqltest.Env) adaptertest.Harness {
	h := env.Harness()
	h.New = func(testing.TB) adapter.Adapter { return on(t, env.Admin) } // the store without a prefix
	h.Second = func(t testing.TB, _ adapter.Adapter) adapter.Adapter {
		second := h.Single(t)
		_ = h.Faults(second) // it gets its proxy
		must(second.GetUser(t.Context(), "nobody"))(t)
		return second
	}
	return h
}

// newBaseline opens the baseline.
func newBaseline(tb testing.TB, env *mysqltest.Env) mysqltest.Baseline {
	tb.Helper()
	f := must(env.Baseline())(tb)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

func BenchmarkAdapter(b *testing.B) {
	env := open(b, mysqltest.Settings{})
	bench.Run(b, benchHarness(b, env), func(tb testing.TB, _ adapter.Adapter) any { return newBaseline(tb, env) })
}

func BenchmarkSessions(b *testing.B) {
	env := open(b, mysqltest.Settings{})
	fill := func(tb testing.TB, _ adapter.Adapter, from, to int) {
		for _, query := range []string{
			"INSERT INTO `user` (id, name, email) WITH RECURSIVE n AS (SELECT ? AS i UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) " +
				"SELECT CONCAT('u', i), 'User', CONCAT('u', i, '@example.com') FROM n",
			"INSERT INTO session (sessionToken, userId, expires) WITH RECURSIVE n AS (SELECT ? AS i UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) " +
				"SELECT CONCAT('session-', i), CONCAT('u', i DIV 10), UTC_TIMESTAMP(3) + INTERVAL 1 HOUR FROM n",
		} {
			first, last := from, to
			if query[12] == '`' {
				first, last = from/10, to/10
			}
			conn := must(env.Admin.Conn(tb.Context()))(tb)
			must(conn.ExecContext(tb.Context(), "SET SESSION max_recursive_iterations = 10000000"))(tb)
			must(conn.ExecContext(tb.Context(), query, first, last))(tb)
			_ = conn.Close()
		}
	}
	bench.Sessions(b, benchHarness(b, env), func(tb testing.TB, _ adapter.Adapter) any { return newBaseline(tb, env) }, *mostSessions, fill)
}

// TestRoundTrips: the numbers that the README names.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	want := map[string]int64{"CreateUser": 3, "LinkAccount": 3, "CreateSession": 3, "CreateVerificationToken": 3, "CreateAuthenticator": 3,
		"UpdateUser": 4, "UnlinkAccount": 4, "UpdateSession": 4, "DeleteSession": 4, "UseVerificationToken": 4, "UpdateAuthenticatorCounter": 4,
		"DeleteUser": 4}
	for method, trips := range bench.RoundTrips(t, benchHarness(t, open(t, mysqltest.Settings{}))) {
		most := max(1, want[method])
		assert.Equalf(t, most, trips.Later, "%s takes %d round trips, want %d", method, trips.Later, most)
	}
}
