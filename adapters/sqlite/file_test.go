package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
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
			if err := os.Rename(path, path+".former"); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(path+".former", path); err != nil {
				t.Fatal(err)
			}
			must(a.GetUser(ctx, ada.ID))(t)
			if err := change(); err != nil {
				t.Fatal(err)
			}
			var read error
			for changed := time.Now(); read == nil && time.Since(changed) < 10*time.Second; { // a read looks ten times a second
				_, read = a.GetSessionAndUser(ctx, "s")
			}
			_, written := a.CreateSession(ctx, session)
			_, swept := a.DeleteExpired(ctx, time.Now())
			for _, err := range []error{written, read, swept, a.EnsureSchema(ctx), a.CheckSchema(ctx)} {
				if err == nil {
					t.Errorf("%s: got no error", what)
					continue
				}
				says(t, err, "open it again")
			}
			if err := os.Rename(path+".former", path); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "the user", must(a.GetUser(ctx, ada.ID))(t), *ada)
		must(a.CreateSession(ctx, session))(t)
	})
}
