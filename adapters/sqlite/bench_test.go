package sqlite_test

import (
	"database/sql"
	"flag"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// direct is an adapter over a new file. It uses the driver without the wrapper
// that counts.
type direct struct {
	*sqlite.Adapter
	db   *sql.DB
	path string
}

// benchHarness opens adapters without a wrapper, and a second handle on the
// same file through a driver that counts statements.
func (w wiring) benchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			path := filepath.Join(t.TempDir(), "bench.db")
			db := w.with(settings+"&_pragma=synchronous(full)").openDB(t, path) // as README.md has it
			return direct{newAdapter(t, db), db, path}
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return w.settings(t).Open(t, a.(direct).path) },
		Faults: func(a adapter.Adapter) fault.Control { return a.(*sqlitetest.Handle).Faults },
	}
}

func newBaseline(tb testing.TB, a adapter.Adapter) any {
	f := sqlitetest.NewBaseline(a.(direct).db)
	tb.Cleanup(func() { assert.NoError(tb, f.Close()) })
	return f
}

func BenchmarkAdapter(b *testing.B) { bench.Run(b, wirings[0].benchHarness(), newBaseline) }

func BenchmarkSessions(b *testing.B) {
	for _, w := range wirings {
		b.Run(w.name, func(b *testing.B) {
			bench.Sessions(b, w.benchHarness(), newBaseline, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
				db := a.(direct).db
				run(tb, db, `
					INSERT INTO "user" (id, name, email, emailVerified, image)
					WITH RECURSIVE n (n) AS (SELECT ? / 10 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ? / 10)
					SELECT printf('user-%032x', n), 'Name ' || n, n || '@example.com', 1700000000000 + n, 'https://example.com/' || n FROM n`, from, to)
				run(tb, db, `
					INSERT INTO "session" (sessionToken, userId, expires)
					WITH RECURSIVE n (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?)
					SELECT 'session-' || n, printf('user-%032x', n / 10), 1900000000000 + n FROM n`, from, to)
			})
		})
	}
}

// TestStatements: each method is one statement.
func TestStatements(t *testing.T) {
	all := bench.RoundTrips(t, wirings[0].benchHarness())
	assert.Truef(t, len(all) >= 19, "only %d methods were counted", len(all))
	for method, sent := range all {
		assert.Truef(t, sent.Later == 1, "%s sends %d statements, want one", method, sent.Later)
	}
}
