package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestRefusalsOfTheSite: what a trigger of the site refuses is no conflict and no absent
// owner, even if it fails because of a key of another table, and its text is not in the
// error.
func TestRefusalsOfTheSite(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for name, body := range map[string]string{
			"unique key of another table": `INSERT INTO profiles VALUES ('same', 1);`,
			"primary key":                 `INSERT INTO plans VALUES (1);`,
			"not null":                    `INSERT INTO profiles VALUES ('other', NULL);`,
			"raise":                       `SELECT RAISE(ABORT, 'UNIQUE constraint failed: secret.text');`,
		} {
			t.Run(name, func(t *testing.T) {
				a, db := w.newAdapter(t)
				ctx := t.Context()
				ada := newUser(t, a, "ada@example.com")
				run(t, db, `CREATE TABLE plans (id INTEGER PRIMARY KEY); CREATE TABLE profiles (handle TEXT UNIQUE, plan INTEGER NOT NULL);
					INSERT INTO plans VALUES (1); INSERT INTO profiles VALUES ('same', 1)`)
				for _, table := range []string{"user", "account", "session", "verificationToken", "authenticator"} {
					run(t, db, fmt.Sprintf(`CREATE TRIGGER own_%s AFTER INSERT ON "%[1]s" BEGIN %s END`, table, body))
				}
				_, err1 := a.CreateUser(ctx, adapter.User{Email: "bob@example.com"})
				_, err2 := a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "2"})
				_, err3 := a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: ada.ID, Expires: time.Now()})
				_, err4 := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: time.Now()})
				_, err5 := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: ada.ID})
				_, err6 := a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "p", ProviderAccountID: "1"}, nil)
				for i, err := range []error{err1, err2, err3, err4, err5, err6} {
					if err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) || strings.Contains(err.Error(), "secret") {
						t.Errorf("call %d: got %v", i+1, err)
					}
				}
			})
		}
	})
}
