package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func run(t testing.TB, db sqlite.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

func newUser(t testing.TB, a *sqlite.Adapter, email string) *adapter.User {
	t.Helper()
	return must(a.CreateUser(t.Context(), adapter.User{Email: email}))(t)
}

// giveOneOfEach links an account, a session and an authenticator to the user.
func giveOneOfEach(t testing.TB, a *sqlite.Adapter, userID, key string) {
	t.Helper()
	ctx := t.Context()
	_, err1 := a.LinkAccount(ctx, adapter.Account{UserID: userID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: key})
	_, err2 := a.CreateSession(ctx, adapter.Session{UserID: userID, SessionToken: key, Expires: time.Now()})
	_, err3 := a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: userID, CredentialID: key})
	require.NoError(t, errors.Join(err1, err2, err3))
}

// countOfEach counts the records of giveOneOfEach that are still found.
func countOfEach(t testing.TB, a *sqlite.Adapter, key string) (n int) {
	t.Helper()
	ctx := t.Context()
	account, err1 := a.GetAccount(ctx, key, "p")
	session, err2 := a.GetSessionAndUser(ctx, key)
	authenticator, err3 := a.GetAuthenticator(ctx, key)
	require.NoError(t, errors.Join(err1, err2, err3))
	for _, found := range []bool{account != nil, session != nil, authenticator != nil} {
		if found {
			n++
		}
	}
	return n
}

func TestNewRefuses(t *testing.T) {
	db := new(sql.DB)
	for name, c := range map[string]struct {
		db      sqlite.DB
		options []sqlite.Option
		want    string
	}{
		"nil":          {nil, nil, "db is nil"},
		"nil pool":     {(*sql.DB)(nil), nil, "db is nil"},
		"quote":        {db, []sqlite.Option{sqlite.WithPrefix(`a" (x); DROP TABLE user; --`)}, "prefix"},
		"empty":        {db, []sqlite.Option{sqlite.WithPrefix("")}, "prefix"},
		"upper case":   {db, []sqlite.Option{sqlite.WithPrefix("Auth_")}, "prefix"},
		"digit first":  {db, []sqlite.Option{sqlite.WithPrefix("1_")}, "prefix"},
		"newline":      {db, []sqlite.Option{sqlite.WithPrefix("a\n")}, "prefix"},
		"reserved":     {db, []sqlite.Option{sqlite.WithPrefix("sqlite_")}, "prefix"},
		"too long":     {db, []sqlite.Option{sqlite.WithPrefix(strings.Repeat("a", 49))}, "prefix"},
		"two problems": {nil, []sqlite.Option{sqlite.WithPrefix("%")}, "db is nil\nprefix"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, erred(sqlite.New(c.db, c.options...)), c.want)
		})
	}
}

// Every method works on a pool, on a connection and in a transaction of the caller. On a
// connection and inside a transaction a method is one statement, and after a refused statement
// the transaction is still usable.
func TestEveryKindOfHandle(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		use := func(t *testing.T, db sqlite.DB) {
			a := newAdapter(t, db)
			ctx := t.Context()
			u := newUser(t, a, "ada@example.com")
			giveOneOfEach(t, a, u.ID, "k")
			refused(a.CreateUser(ctx, adapter.User{Email: "ada@example.com"}))(t, "same address", adapter.ErrConflict)
			_, err := a.CreateSession(ctx, adapter.Session{UserID: "nobody", SessionToken: "x", Expires: time.Now()})
			assert.ErrorIsf(t, err, adapter.ErrNotFound, "session of nobody: got %v, want ErrNotFound", err)
			_, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "k", UserID: adapter.To("nobody")})
			assert.ErrorIsf(t, err, adapter.ErrNotFound, "session moved to nobody: got %v, want ErrNotFound", err)
			s, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "x", UserID: adapter.To("nobody")})
			assert.Truef(t, s == nil && err == nil, "absent session moved to nobody: got %v, %v; want nothing", s, err)
			n := countOfEach(t, a, "k")
			assert.Equalf(t, 3, n, "found %d records of 3", n)
			got, err := a.DeleteExpired(ctx, time.Now().Add(time.Minute))
			assert.Truef(t, err == nil && got.Sessions == 1, "DeleteExpired: got %v, %v", got, err)
			fillRecords(t, db, 1000)
			callEveryMethod(t, must(sqlite.New(db))(t), 1000)
		}
		t.Run("pool", func(t *testing.T) { use(t, w.openDB(t, filepath.Join(t.TempDir(), "test.db"))) })
		t.Run("pool of one", func(t *testing.T) {
			db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
			db.SetMaxOpenConns(1)
			use(t, db)
		})
		t.Run("connection", func(t *testing.T) {
			conn := must(w.openDB(t, filepath.Join(t.TempDir(), "test.db")).Conn(t.Context()))(t)
			use(t, conn)
			assert.NoError(t, conn.Close())
		})
		t.Run("transaction", func(t *testing.T) {
			db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
			tx := must(db.BeginTx(t.Context(), nil))(t)
			use(t, tx)
			require.NoError(t, tx.Commit())
			u, err := newAdapter(t, db).GetUserByEmail(t.Context(), "ada@example.com")
			assert.Truef(t, u != nil && err == nil, "after the commit: got %v, %v", u, err)
		})
	})
}

func TestPrefixesAreApart(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		plain, db := w.newAdapter(t)
		adapters := []*sqlite.Adapter{plain}
		// Prefixes that would collide if an index could have the name of a
		// table.
		for _, prefix := range []string{"session_", "a_", "a_a_", "user_email_"} {
			adapters = append(adapters, newAdapter(t, db, sqlite.WithPrefix(prefix)))
		}
		ids := make([]string, len(adapters))
		for i, a := range adapters {
			ids[i] = newUser(t, a, "ada@example.com").ID
			giveOneOfEach(t, a, ids[i], "k")
		}
		for i, a := range adapters {
			must(a.DeleteUser(t.Context(), ids[i]))(t)
			for j, b := range adapters {
				want := 3
				if j <= i {
					want = 0
				}
				got := countOfEach(t, b, "k")
				assert.Equalf(t, want, got, "after deletion in %d, adapter %d has %d records, want %d", i, j, got, want)
			}
		}
	})
}

func TestCascadeWithoutForeignKeys(t *testing.T) {
	for _, enforced := range []string{"ON", "OFF"} {
		t.Run(enforced, func(t *testing.T) {
			eachWiring(t, func(t *testing.T, w wiring) {
				db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
				db.SetMaxOpenConns(1)
				run(t, db, "PRAGMA foreign_keys = "+enforced)
				a := newAdapter(t, db)
				ada, bob := newUser(t, a, "ada@example.com"), newUser(t, a, "bob@example.com")
				giveOneOfEach(t, a, ada.ID, "ada")
				giveOneOfEach(t, a, bob.ID, "bob")
				must(a.DeleteUser(t.Context(), ada.ID))(t)
				assert.Zero(t, countOfEach(t, a, "ada"), "records of the deleted user")
				assert.Equal(t, 3, countOfEach(t, a, "bob"), "records of the other user")
				_, err := a.CreateSession(t.Context(), adapter.Session{UserID: ada.ID, SessionToken: "x", Expires: time.Now()})
				assert.ErrorIsf(t, err, adapter.ErrNotFound, "session of the deleted user: got %v, want ErrNotFound", err)
			})
		})
	}
}

func TestTextComesBackByteForByte(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		a, _ := w.newAdapter(t)
		ctx := t.Context()
		for _, text := range []string{"a", "a\x00b", "a\x00", "\x00", "\xff\xfe", "\xc3", " a", "A", "a%", "é", "e\u0301", "007", "1e3", "null", "2024-01-01T00:00:00Z", "😀", strings.Repeat("k", 1<<20)} {
			u, err := a.CreateUser(ctx, adapter.User{ID: text, Name: &text, Email: text, Image: &text})
			require.NoErrorf(t, err, "%.20q", text)
			for name, get := range map[string]func(context.Context, string) (*adapter.User, error){"GetUser": a.GetUser, "GetUserByEmail": a.GetUserByEmail} {
				got, err := get(ctx, text)
				assert.Truef(t, err == nil && got != nil && got.ID == text && got.Email == text && *got.Name == text && *got.Image == text,
					"%s of %.20q: got %v, %v", name, text, got, err)
			}
			assert.Equalf(t, text, u.ID, "CreateUser of %.20q", text)
		}
	})
}

func TestInstants(t *testing.T) {
	a, _ := wirings[0].newAdapter(t)
	ctx := t.Context()
	u := newUser(t, a, "")
	for _, at := range []time.Time{
		{}, time.UnixMilli(0), time.UnixMilli(-1), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Now(),
	} {
		got, err := a.CreateSession(ctx, adapter.Session{SessionToken: at.String(), UserID: u.ID, Expires: at})
		assert.Truef(t, err == nil && !got.Expires.After(at) && at.Sub(got.Expires) < time.Millisecond &&
			got.Expires.Location() == time.UTC, "%v: got %v, %v", at, got, err)
	}
	for _, at := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC), time.Unix(1<<62, 0)} {
		assert.Errorf(t, erred(a.CreateSession(ctx, adapter.Session{SessionToken: "out of range", UserID: u.ID, Expires: at})),
			"%v", at)
		assert.Errorf(t, erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, EmailVerified: adapter.To(&at)})), "%v", at)
	}
}

// [ERR-10]
func TestCorruptRecordIsAnError(t *testing.T) {
	a, db := wirings[0].newAdapter(t)
	ctx := t.Context()
	u := newUser(t, a, "ada@example.com")
	giveOneOfEach(t, a, u.ID, "k")
	for _, c := range []struct {
		corrupt, repair string
		read            func() (found bool, err error)
	}{
		{
			`UPDATE "session" SET expires = 1 << 62`, `UPDATE "session" SET expires = 0`,
			func() (bool, error) { s, err := a.GetSessionAndUser(ctx, "k"); return s != nil, err },
		},
		{
			`UPDATE "user" SET emailVerified = -(1 << 62)`, `UPDATE "user" SET emailVerified = NULL`,
			func() (bool, error) { s, err := a.GetSessionAndUser(ctx, "k"); return s != nil, err },
		},
		{
			`UPDATE "user" SET emailVerified = 1 << 62`, `UPDATE "user" SET emailVerified = NULL`,
			func() (bool, error) { u, err := a.GetUserByEmail(ctx, "ada@example.com"); return u != nil, err },
		},
		{
			`UPDATE "account" SET authorization_details = '[{'`, `UPDATE "account" SET authorization_details = NULL`,
			func() (bool, error) { s, err := a.GetAccount(ctx, "k", "p"); return s != nil, err },
		},
		{
			`UPDATE "authenticator" SET credentialBackedUp = 7`, `UPDATE "authenticator" SET credentialBackedUp = 0`,
			func() (bool, error) { s, err := a.ListAuthenticatorsByUserID(ctx, u.ID); return len(s) != 0, err },
		},
	} {
		run(t, db, c.corrupt)
		found, err := c.read()
		assert.Truef(t, err != nil && !found, "%s: got %v, %v; want an error alone", c.corrupt, found, err)
		run(t, db, c.repair)
		found, err = c.read()
		assert.Truef(t, err == nil && found, "%s: got %v, %v; want the record", c.repair, found, err)
	}
}

func TestDeleteUserThatIsReferredTo(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		a, db := w.newAdapter(t)
		u := newUser(t, a, "ada@example.com")
		giveOneOfEach(t, a, u.ID, "k")
		run(t, db, `CREATE TABLE invoice (owner TEXT NOT NULL REFERENCES user (id))`)
		run(t, db, `INSERT INTO invoice VALUES (?)`, u.ID)
		if got, err := a.DeleteUser(t.Context(), u.ID); err == nil || errors.Is(err, adapter.ErrNotFound) || errors.Is(err, adapter.ErrConflict) {
			t.Errorf("got %v, %v; want an error of its own", got, err)
		}
		assert.Equal(t, 3, countOfEach(t, a, "k"), "records afterwards")
	})
}
