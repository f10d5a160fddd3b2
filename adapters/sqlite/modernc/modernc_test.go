package modernc_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestOpen(t *testing.T) {
	// Characters that mean something in a URI.
	path := filepath.Join(t.TempDir(), "a b?mode=ro#%20&é.db")
	db, err := modernc.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a, err := sqlite.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateUser(t.Context(), adapter.User{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and mode %v, want some and -rw-------", info.Size(), info.Mode())
	}
	var conns []*sql.Conn // every connection has the settings
	for range 3 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		for pragma, want := range map[string]string{"busy_timeout": "5000", "journal_mode": "wal", "foreign_keys": "1", "synchronous": "2"} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: got %q, %v; want %q", pragma, got, err, want)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"", ":memory:", "file:auth.db", "file::memory:?cache=shared"} {
		if db, err := modernc.Open(path); err == nil {
			t.Errorf("%q: got %v, want an error", path, db)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files were made: %v, %v", files, err)
	}
	if db, err := modernc.Open(filepath.Join(t.TempDir(), "absent", "test.db")); err == nil {
		t.Errorf("in a folder that is not there: got %v, want an error", db)
	}
}
