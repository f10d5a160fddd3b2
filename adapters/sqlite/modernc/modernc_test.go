package modernc_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpen(t *testing.T) {
	// Characters that mean something in a URI.
	path := filepath.Join(t.TempDir(), "a b?mode=ro#%20&é.db")
	db, err := modernc.Open(path)
	require.NoError(t, err)
	defer db.Close()
	a, err := sqlite.New(db)
	require.NoError(t, err)
	require.NoError(t, a.EnsureSchema(t.Context()))
	_, err = a.CreateUser(t.Context(), adapter.User{})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Truef(t, info.Size() != 0 && info.Mode().Perm() == 0o600,
		"the file has %d bytes and mode %v, want some and -rw-------", info.Size(), info.Mode())
	var conns []*sql.Conn // every connection has the settings
	for range 3 {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		for pragma, want := range map[string]string{"busy_timeout": "5000", "journal_mode": "wal", "foreign_keys": "1", "synchronous": "2"} {
			var got string
			err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got)
			assert.Truef(t, err == nil && got == want, "%s: got %q, %v; want %q", pragma, got, err, want)
		}
		assert.NoError(t, conn.Close())
	}
}

func TestOpenFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"", ":memory:", "file:auth.db", "file::memory:?cache=shared"} {
		db, err := modernc.Open(path)
		assert.Errorf(t, err, "%q: got %v, want an error", path, db)
	}
	files, err := os.ReadDir(".")
	assert.Truef(t, err == nil && len(files) <= 0, "files were made: %v, %v", files, err)
	db, err := modernc.Open(filepath.Join(t.TempDir(), "absent", "test.db"))
	assert.Errorf(t, err, "in a folder that is not there: got %v, want an error", db)
}
