package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
)

// A wiring opens a database file with a driver.
type wiring struct {
	name, driver string
	dsn          func(path string) string
}

// The parameters are those of README.md except synchronous, which matters only
// in a power cut.
const (
	settings   = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(on)&_txlock=immediate"
	parameters = settings + "&_pragma=synchronous(normal)"
)

var wirings = []wiring{
	{"modernc", "sqlite", func(path string) string { return "file:" + path + "?" + parameters }},
	{"ncruces", "sqlite3", func(path string) string { return "file:" + path + "?" + parameters }},
}

func (w wiring) open(path string) (*sql.DB, error) { return sql.Open(w.driver, w.dsn(path)) }

// eachWiring runs the test once with each driver.
func eachWiring(t *testing.T, test func(t *testing.T, w wiring)) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

func (w wiring) openDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := must(w.open(path))(t)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// newAdapter returns an adapter over a new file.
func (w wiring) newAdapter(t testing.TB, options ...sqlite.Option) (*sqlite.Adapter, *sql.DB) {
	t.Helper()
	db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
	return newAdapter(t, db, options...), db
}

func newAdapter(t testing.TB, db sqlite.DB, options ...sqlite.Option) *sqlite.Adapter {
	t.Helper()
	a := must(sqlite.New(db, options...))(t)
	require.NoError(t, a.EnsureSchema(t.Context()))
	return a
}
