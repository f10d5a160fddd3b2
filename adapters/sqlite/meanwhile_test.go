package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestChangesMeanwhile: while the adapter runs, somebody changes the tables in ways that leave
// them usable. No call fails, and conflicts are found.
func TestChangesMeanwhile(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		path := filepath.Join(t.TempDir(), "test.db")
		a, other := newAdapter(t, w.openDB(t, path)), w.openDB(t, path)
		for i, change := range []string{
			``, `ALTER TABLE "user" ADD own TEXT`, `ALTER TABLE "session" ADD own INTEGER NOT NULL DEFAULT 1`, `ALTER TABLE "user" DROP own`,
			`CREATE INDEX own ON "user" (name)`, `CREATE TABLE log (id TEXT)`,
			`CREATE TRIGGER noted AFTER INSERT ON "user" BEGIN INSERT INTO log VALUES (NEW.id); END`, `VACUUM`, `ANALYZE`, `REINDEX`,
		} {
			if change != "" {
				run(t, other, change)
			}
			ctx, n := t.Context(), fmt.Sprint(i)
			check := func(what string, err, want error) {
				t.Helper()
				if !errors.Is(err, want) {
					t.Errorf("%s: %s: got %v, want %v", change, what, err, want)
				}
			}
			u, err := a.CreateUserWithAccount(ctx, adapter.User{Email: n}, adapter.Account{Provider: "p", ProviderAccountID: n}, &adapter.Authenticator{CredentialID: n})
			if err != nil {
				t.Fatal(change, err)
			}
			_, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(new("m"))})
			check("UpdateUser", err, nil)
			_, err = a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: time.Now().Add(time.Hour)})
			check("CreateSession", err, nil)
			if got, err := a.GetSessionAndUser(ctx, n); err != nil || got == nil || *got.User.Name != "m" {
				t.Errorf("%s: GetSessionAndUser: got %v, %v", change, got, err)
			}
			_, err = a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: time.Now()})
			check("a taken token", err, adapter.ErrConflict)
			_, err = a.CreateUser(ctx, adapter.User{Email: n})
			check("a taken address", err, adapter.ErrConflict)
			_, err = a.LinkAccount(ctx, adapter.Account{Provider: "q", ProviderAccountID: n, UserID: "nobody"})
			check("an account of nobody", err, adapter.ErrNotFound)
			_, err = a.DeleteExpired(ctx, time.Now())
			check("DeleteExpired", err, nil)
		}
	})
}
