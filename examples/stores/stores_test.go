package stores

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/pgxstore"
	"github.com/alexedwards/scs/sqlite3store"
	"github.com/alexedwards/scs/v2/memstore"
	fibermemory "github.com/gofiber/storage/memory/v2"
	fiberredis "github.com/gofiber/storage/redis/v3"
	"github.com/gorilla/sessions"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/ory/fosite/storage"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// volatile declares a store that keeps nothing beyond its process.
var volatile = adaptertest.Declarations{Volatile: "it is in memory", NoPooler: "it is in memory"}

// measure runs the suite to its end and prints what it found. Nothing of it is asserted.
func measure(t *testing.T, h adaptertest.SessionHarness) {
	t.Helper()
	h.Name, h.Parallel = t.Name(), 4
	report, err := adaptertest.CheckSessions(t.Context(), h, adaptertest.Options{Rounds: rounds()})
	require.NoError(t, err)
	show(t, report)
}

// rounds is the quick form with -short.
func rounds() float64 {
	if testing.Short() {
		return adaptertest.QuickRounds
	}
	return 1
}

func show(t *testing.T, report *adaptertest.Report) {
	t.Helper()
	assert.Truef(t, report.Complete && len(report.Results) != 0, "the run did not end: %d results", len(report.Results))
	var text bytes.Buffer
	assert.NoError(t, report.WriteText(&text))
	t.Log(text.String())
}

func TestSCSMemory(t *testing.T) {
	measure(t, adaptertest.SessionHarness{
		New:          func(testing.TB) adaptertest.SessionStore { return NewSCSIterable(memstore.NewWithCleanupInterval(0)) },
		Declarations: volatile,
	})
}

func TestSCSSQLite(t *testing.T) {
	open := func(t testing.TB) adaptertest.SessionStore {
		db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "sessions.db")+"?_pragma=busy_timeout(10000)")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		const schema = "CREATE TABLE sessions (token TEXT PRIMARY KEY, data BLOB NOT NULL, expiry REAL NOT NULL);" +
			"CREATE INDEX sessions_expiry_idx ON sessions(expiry)"
		_, err = db.ExecContext(context.Background(), schema)
		require.NoError(t, err)
		return NewSCSIterable(sqlite3store.NewWithCleanupInterval(db, 0))
	}
	measure(t, adaptertest.SessionHarness{New: open, Declarations: adaptertest.Declarations{NoPooler: "it is a file"}})
}

func TestFiberMemory(t *testing.T) {
	open := func(t testing.TB) adaptertest.SessionStore {
		s := fibermemory.New()
		t.Cleanup(func() { _ = s.Close() })
		return Fiber{s}
	}
	measure(t, adaptertest.SessionHarness{New: open, Declarations: volatile})
}

func TestGorillaFiles(t *testing.T) {
	open := func(t testing.TB) adaptertest.SessionStore {
		s := sessions.NewFilesystemStore(t.TempDir(), bytes.Repeat([]byte("k"), 32))
		s.MaxLength(0)
		return &Gorilla{Store: s}
	}
	measure(t, adaptertest.SessionHarness{New: open, Declarations: adaptertest.Declarations{NoPooler: "it is a folder"}})
}

func TestFositeMemory(t *testing.T) {
	report, err := adaptertest.Check(t.Context(), adaptertest.Harness{
		Name: t.Name(), Parallel: 4, Declarations: volatile,
		New: func(t testing.TB) adapter.Adapter {
			a, err := adapter.Partial(FositeCodes{storage.NewMemoryStore()})
			require.NoError(t, err)
			return a
		},
	}, adaptertest.Options{Rounds: rounds()})
	require.NoError(t, err)
	show(t, report)
}

// The stores below need a server. The nightly measures them; with -short they are left out.

// server returns the URL of a server, which must be there.
func server(t *testing.T, variable string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short measures no store that needs a server")
	}
	url := os.Getenv(variable)
	require.NotEmptyf(t, url,
		"%s is not set: go run ./adaptertest/bundled/cmd/withstores starts the servers and sets it", variable)
	return url
}

func TestSCSPostgres(t *testing.T) {
	url := server(t, "GATEHOUSE_POSTGRES_URL")
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	const schema = "CREATE TABLE IF NOT EXISTS sessions (token TEXT PRIMARY KEY, data BYTEA NOT NULL, expiry TIMESTAMPTZ NOT NULL);" +
		"CREATE INDEX IF NOT EXISTS sessions_expiry_idx ON sessions (expiry)"
	_, err = pool.Exec(t.Context(), schema)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = pool.Exec(context.Background(), "DROP TABLE sessions") })
	measure(t, adaptertest.SessionHarness{
		New: func(testing.TB) adaptertest.SessionStore {
			return NewSCSIterable(pgxstore.NewWithCleanupInterval(pool, 0))
		},
		Second: func(_ testing.TB, s adaptertest.SessionStore) adaptertest.SessionStore { return s },
	})
}

func TestSCSRedis(t *testing.T) {
	client := redisClient(t)
	measure(t, adaptertest.SessionHarness{
		New: func(testing.TB) adaptertest.SessionStore {
			return SCS{goredisstore.NewWithPrefix(client, t.Name()+":")}
		},
		Second: func(_ testing.TB, s adaptertest.SessionStore) adaptertest.SessionStore { return s },
	})
}

func TestFiberRedis(t *testing.T) {
	client := redisClient(t)
	measure(t, adaptertest.SessionHarness{
		New:    func(testing.TB) adaptertest.SessionStore { return Fiber{fiberredis.NewFromConnection(client)} },
		Second: func(_ testing.TB, s adaptertest.SessionStore) adaptertest.SessionStore { return s },
	})
}

func redisClient(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(server(t, "GATEHOUSE_REDIS_URL"))
	require.NoError(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
