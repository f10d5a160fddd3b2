package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
					assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) &&
						!strings.Contains(err.Error(), "secret"),
						"call %d: got %v", i+1, err)
				}
			})
		}
	})
}

// TestSilentRefusals: a trigger that ignores a change makes a write do nothing. The call
// then fails, with an error that matches no sentinel, and nothing has changed.
func TestSilentRefusals(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		a, db := w.newAdapter(t)
		ctx := t.Context()
		now := time.Now().Truncate(time.Millisecond)
		ada := newUser(t, a, "ada@example.com")
		must(a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "1"}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: ada.ID, Expires: now}))(t)
		must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: now}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: ada.ID, Counter: 7}))(t)
		for table, calls := range map[string]map[string]func() error{
			"authenticator": {
				"CreateAuthenticator": func() error {
					return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "d", UserID: ada.ID}))
				},
				"UpdateAuthenticatorCounter": func() error { return erred(a.UpdateAuthenticatorCounter(ctx, "c", 8)) },
				"TouchAuthenticator":         func() error { return erred(a.TouchAuthenticator(ctx, "c", 7, 8, now)) },
				"RenameAuthenticator":        func() error { return erred(a.RenameAuthenticator(ctx, ada.ID, "c", "n")) },
				"DeleteAuthenticator":        func() error { return erred(a.DeleteAuthenticator(ctx, ada.ID, "c", false)) },
				"sign-up": func() error {
					return erred(a.CreateUserWithAccount(ctx, adapter.User{Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, &adapter.Authenticator{CredentialID: "d"}))
				},
			},
			"verificationToken": {
				"CreateVerificationToken": func() error {
					return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "u", Expires: now}))
				},
				"UseVerificationToken": func() error {
					return erred(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: "t"}))
				},
				"DeleteVerificationTokens": func() error { return erred(a.DeleteVerificationTokens(ctx, "i")) },
			},
			"session": {
				"CreateSession": func() error {
					return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "r", UserID: ada.ID, Expires: now}))
				},
				"UpdateSession": func() error {
					return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s", Expires: adapter.To(now)}))
				},
				"DeleteSession": func() error { return erred(a.DeleteSession(ctx, "s")) },
			},
			"account": {
				"LinkAccount": func() error {
					return erred(a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "2"}))
				},
				"UpdateAccount": func() error {
					return erred(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("s"))}))
				},
				"UnlinkAccount": func() error {
					return erred(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))
				},
				"sign-up": func() error {
					return erred(a.CreateUserWithAccount(ctx, adapter.User{Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, nil))
				},
			},
			"user": {
				"CreateUser": func() error { return erred(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"})) },
				"UpdateUser": func() error {
					return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID, Name: adapter.To(new("n"))}))
				},
				"DeleteUser": func() error { return erred(a.DeleteUser(ctx, ada.ID)) },
			},
		} {
			for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
				run(t, db, fmt.Sprintf(`CREATE TRIGGER never_%s BEFORE %[1]s ON "%s" BEGIN SELECT RAISE(IGNORE); END`, event, table))
			}
			for name, call := range calls {
				err := call()
				assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) &&
					strings.Contains(err.Error(), "trigger"),
					"%s, trigger on %s: got %v, want an error of its own kind", name, table, err)
			}
			run(t, db, `DROP TRIGGER never_INSERT; DROP TRIGGER never_UPDATE; DROP TRIGGER never_DELETE`)
			require.Nilf(t, must(a.GetUserByEmail(ctx, "bob@example.com"))(t),
				"trigger on %s: half of a sign-up is stored", table)
		}
		same(t, "the user", must(a.GetUser(ctx, ada.ID))(t), *ada)
	})
}

// TestKeptFromACascade: a trigger of the site keeps some records of a user who is deleted. The
// call fails, and the user and all records are still there, also if the connection does not
// enforce foreign keys, as SQLite has it by default.
func TestKeptFromACascade(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		drizzle := sites()["Drizzle"]
		for name, open := range map[string]func(t *testing.T) (*sqlite.Adapter, *sql.DB){
			"our tables": func(t *testing.T) (*sqlite.Adapter, *sql.DB) { return w.newAdapter(t) },
			"a site's tables": func(t *testing.T) (*sqlite.Adapter, *sql.DB) {
				db := drizzle.make(t, w)
				return drizzle.adapter(t, db), db
			},
		} {
			for _, enforced := range []string{"ON", "OFF"} {
				t.Run(name+", foreign keys "+enforced, func(t *testing.T) {
					a, db := open(t)
					db.SetMaxOpenConns(1)
					run(t, db, "PRAGMA foreign_keys = "+enforced)
					keptFromACascade(t, a, db)
				})
			}
		}
	})
}

func keptFromACascade(t *testing.T, a *sqlite.Adapter, db *sql.DB) {
	t.Helper()
	ctx := t.Context()
	bob := newUser(t, a, "bob@example.com")
	giveOneOfEach(t, a, bob.ID, "kept")
	giveOneOfEach(t, a, bob.ID, "gone")
	for table, key := range map[string]string{"session": "sessionToken", "account": "providerAccountId", "authenticator": "credentialID"} {
		run(t, db, fmt.Sprintf(`CREATE TRIGGER keep BEFORE DELETE ON %s WHEN old.%s = 'kept' BEGIN SELECT RAISE(IGNORE); END`, table, key))
		_, err := a.DeleteUser(ctx, bob.ID)
		assert.ErrorContains(t, err, "trigger")
		same(t, "the user", must(a.GetUser(ctx, bob.ID))(t), *bob)
		n := countOfEach(t, a, "kept") + countOfEach(t, a, "gone")
		require.Equalf(t, 6, n, "trigger on %s: %d of 6 records are left", table, n)
		run(t, db, `DROP TRIGGER keep`)
	}
	same(t, "the deleted user", must(a.DeleteUser(ctx, bob.ID))(t), *bob)
}

// TestSweepThatTheSiteRefuses: a trigger that keeps some records is an error, beside the
// number of records that are gone.
func TestSweepThatTheSiteRefuses(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		db := w.openDB(t, filepath.Join(t.TempDir(), "kept.db"))
		a := newAdapter(t, db)
		ada := must(a.CreateUser(t.Context(), adapter.User{}))(t)
		for i := range 100 {
			token := fmt.Sprintf([]string{"%d", "%d kept"}[i%2], i)
			must(a.CreateSession(t.Context(), adapter.Session{SessionToken: token, UserID: ada.ID, Expires: time.Now().Add(-time.Hour)}))(t)
		}
		run(t, db, `CREATE TRIGGER keep BEFORE DELETE ON session WHEN OLD.sessionToken LIKE '%kept' BEGIN SELECT RAISE(IGNORE); END`)
		swept, err := a.DeleteExpired(t.Context(), time.Now())
		left := len(must(a.ListSessionsByUserID(t.Context(), ada.ID))(t))
		assert.Truef(t, err != nil && left != 100 && swept.Sessions == int64(100-left),
			"%+v are gone, %d are left: %v", swept, left, err)
	})
}
