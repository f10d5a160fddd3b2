package ownadapter_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/examples/ownadapter"
)

// opened is an adapter with the handles that the harness needs.
type opened struct {
	ownadapter.Adapter
	file   string
	db     *sql.DB
	faults *fault.Driver
}

// open opens the database in a file, through a driver that can inject faults.
func open(t testing.TB, file string) adapter.Adapter {
	t.Helper()
	dsn := "file:" + file + "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
	connector, err := fault.Connector(&sqlite.Driver{}, dsn)
	require.NoError(t, err)
	faults := fault.NewDriver(connector)
	db := sql.OpenDB(faults)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, ownadapter.EnsureSchema(context.Background(), db))
	return opened{ownadapter.New(db), file, db, faults}
}

func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{
		Name:   "ownadapter",
		New:    func(t testing.TB) adapter.Adapter { return open(t, filepath.Join(t.TempDir(), "store.db")) },
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return open(t, a.(opened).file) },
		Close:  func(a adapter.Adapter) error { return a.(opened).db.Close() },
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return open(t, a.(opened).file) },
		Faults: func(a adapter.Adapter) fault.Control { return a.(opened).faults },

		Parallel: 4, // a clause waits for its deadlines and faults
	})
}
