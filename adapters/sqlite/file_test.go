package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplacedFile: when the file of the database is replaced or removed, the open connections
// go on with the former file, and what they store is lost with them. Every call fails, until
// the file is back.
func TestReplacedFile(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "site.db")
		a := newAdapter(t, w.openDB(t, path))
		ada := newUser(t, a, "ada@example.com")
		session := adapter.Session{SessionToken: "s", UserID: ada.ID, Expires: time.Now().Add(time.Hour)}
		newUser(t, newAdapter(t, w.openDB(t, path+".new")), "bob@example.com")
		for what, change := range map[string]func() error{
			"replaced": func() error { return os.Rename(path+".new", path) },
			"removed":  func() error { return os.Remove(path) },
		} {
			require.NoError(t, os.Rename(path, path+".former"))
			require.NoError(t, os.Link(path+".former", path))
			must(a.GetUser(ctx, ada.ID))(t)
			require.NoError(t, change())
			var read error
			for changed := time.Now(); read == nil && time.Since(changed) < 10*time.Second; { // a read looks ten times a second
				_, read = a.GetSessionAndUser(ctx, "s")
			}
			_, written := a.CreateSession(ctx, session)
			_, swept := a.DeleteExpired(ctx, time.Now())
			for _, err := range []error{written, read, swept, a.EnsureSchema(ctx), a.CheckSchema(ctx)} {
				assert.ErrorContains(t, err, "open it again", what)
			}
			require.NoError(t, os.Rename(path+".former", path))
		}
		same(t, "the user", must(a.GetUser(ctx, ada.ID))(t), *ada)
		must(a.CreateSession(ctx, session))(t)
	})
}
