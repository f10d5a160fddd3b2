package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// withTrigger makes a trigger of the site on one of the adapter's tables.
func withTrigger(t *testing.T, schema, table, when, body string) {
	t.Helper()
	execSQL(t, inSchema(t, schema), fmt.Sprintf(`CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql SET search_path = %s AS $$ BEGIN %s RETURN NEW; END $$;
		CREATE TRIGGER own AFTER %s ON %s FOR EACH ROW EXECUTE FUNCTION own();`, schema, body, when, table), pgx.QueryExecModeSimpleProtocol)
}

// TestRefusalsOfTheSite: what a trigger of the site refuses is no conflict and no absent
// owner, even if it fails with the same code.
func TestRefusalsOfTheSite(t *testing.T) {
	for name, body := range map[string]string{
		"unique key of another table":  `INSERT INTO profiles (handle) VALUES ('same');`,
		"foreign key of another table": `INSERT INTO profiles (handle, plan) VALUES (gen_random_uuid(), 99);`,
		"raise":                        `RAISE EXCEPTION 'not welcome';`,
		"raise unique_violation":       `RAISE unique_violation;`,
		"raise foreign_key_violation":  `RAISE foreign_key_violation;`,
		"raise with names of ours": `IF nextval('tries') = 1 THEN RAISE unique_violation USING TABLE = 'sessions', SCHEMA = 'elsewhere', CONSTRAINT = 'sessions_pkey'; END IF;
			RAISE unique_violation USING TABLE = 'others', CONSTRAINT = 'users_email_key';`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, pool, schema := wirings[0].newStore(t)
			execSQL(t, inSchema(t, schema), `CREATE TABLE plans (id int PRIMARY KEY); CREATE TABLE profiles (handle text UNIQUE, plan int REFERENCES plans);
				CREATE SEQUENCE tries; INSERT INTO profiles VALUES ('same')`, pgx.QueryExecModeSimpleProtocol)
			ctx := t.Context()
			ada := must(a.CreateUser(ctx, adapter.User{Email: adaEmail}))(t)
			for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"} {
				withTrigger(t, schema, table, "INSERT OR UPDATE", body)
				_, err1 := a.CreateUser(ctx, adapter.User{Email: "bob@example.com"})
				_, err2 := a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID, Name: adapter.To(new("x"))})
				_, err3 := a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "p", ProviderAccountID: "1"}, nil)
				_, err4 := a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "2"})
				_, err5 := a.CreateSession(ctx, adapter.Session{SessionToken: table, UserID: ada.ID, Expires: time.Now()})
				_, err6 := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: table, Token: "t", Expires: time.Now()})
				_, err7 := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: table, UserID: ada.ID})
				_, err8 := a.SetPassword(ctx, adapter.Password{UserID: ada.ID, Hash: "h"})
				_, err9 := a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"})
				failed := 0
				for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9} {
					if err != nil {
						failed++
					}
					assert.Truef(t, !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound),
						"trigger on %s, call %d: got %v", table, i+1, err)
				}
				assert.NotEqualf(t, 0, failed, "the trigger on %s refused nothing", table)
				execSQL(t, pool, fmt.Sprintf(`DROP FUNCTION %s.own CASCADE; TRUNCATE %[1]s.accounts, %[1]s.sessions, %[1]s.verification_token, %[1]s.authenticators, %[1]s.passwords;
					DELETE FROM %[1]s.users WHERE email IS DISTINCT FROM '%s'`, schema, adaEmail), pgx.QueryExecModeSimpleProtocol)
			}
		})
	}
}

// TestSilentRefusals: a trigger that returns null makes a write do nothing. The call then
// fails, with an error that matches no sentinel, and nothing has changed.
func TestSilentRefusals(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, prefix string) {
		ctx := t.Context()
		now := time.Now().Truncate(time.Millisecond)
		ada := must(a.CreateUser(ctx, adapter.User{Email: adaEmail}))(t)
		must(a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "1"}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: ada.ID, Expires: now}))(t)
		must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: now}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: ada.ID, Counter: 7}))(t)
		must(a.SetPassword(ctx, adapter.Password{UserID: ada.ID, Hash: "h"}))(t)
		execSQL(t, pool, `CREATE FUNCTION `+prefix+`never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
		for table, calls := range map[string]map[string]func() error{
			"passwords": {
				"SetPassword": func() error {
					return erred(a.SetPassword(ctx, adapter.Password{UserID: ada.ID, Hash: "i"}))
				},
				"SwapPassword": func() error {
					return erred(a.SwapPassword(ctx, adapter.Password{UserID: ada.ID, Hash: "h"}, adapter.Password{Hash: "i"}))
				},
				"DeletePassword": func() error { return erred(a.DeletePassword(ctx, ada.ID, false)) },
				"sign-up with a password": func() error {
					return erred(a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"}))
				},
			},
			"authenticators": {
				"CreateAuthenticator": func() error {
					return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "d", UserID: ada.ID}))
				},
				"UpdateAuthenticatorCounter": func() error { return erred(a.UpdateAuthenticatorCounter(ctx, "c", 8)) },
				"TouchAuthenticator":         func() error { return erred(a.TouchAuthenticator(ctx, "c", 7, 8, now)) },
				"RenameAuthenticator":        func() error { return erred(a.RenameAuthenticator(ctx, ada.ID, "c", "n")) },
				"DeleteAuthenticator":        func() error { return erred(a.DeleteAuthenticator(ctx, ada.ID, "c", false)) },
				"sign-up with a passkey": func() error {
					return erred(a.CreateUserWithAccount(ctx, adapter.User{Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, &adapter.Authenticator{CredentialID: "d"}))
				},
			},
			"verification_token": {
				"CreateVerificationToken": func() error {
					return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "u", Expires: now}))
				},
				"UseVerificationToken": func() error {
					return erred(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: "t"}))
				},
			},
			"sessions": {
				"CreateSession": func() error {
					return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "r", UserID: ada.ID, Expires: now}))
				},
				"UpdateSession": func() error {
					return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s", Expires: adapter.To(now)}))
				},
				"DeleteSession":          func() error { return erred(a.DeleteSession(ctx, "s")) },
				"DeleteSessionsByUserID": func() error { return erred(a.DeleteSessionsByUserID(ctx, ada.ID, "")) },
			},
			"accounts": {
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
			"users": {
				"CreateUser": func() error { return erred(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"})) },
				"UpdateUser": func() error {
					return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID, Name: adapter.To(new("n"))}))
				},
				"DeleteUser": func() error { return erred(a.DeleteUser(ctx, ada.ID)) },
			},
		} {
			on := fmt.Sprintf(`%s%s FOR EACH ROW EXECUTE FUNCTION %[1]snever()`, prefix, table)
			execSQL(t, pool, `CREATE TRIGGER never BEFORE INSERT OR UPDATE OR DELETE ON `+on)
			for name, call := range calls {
				err := call()
				assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) && strings.Contains(err.Error(), "trigger"),
					"%s, trigger on %s: got %v, want an error of its own kind", name, table, err)
			}
			execSQL(t, pool, `DROP TRIGGER never ON `+prefix+table)
			require.Nilf(t, must(a.GetUserByEmail(ctx, "bob@example.com"))(t),
				"trigger on %s: half of a sign-up is stored", table)
		}
		same(t, "the user", must(a.GetUser(ctx, ada.ID))(t), *ada)
	})
}

// TestKeptFromACascade: a trigger of the site keeps a record of a user who is deleted.
// Foreign keys don't tell. The call fails, and the user and all records are still there.
func TestKeptFromACascade(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, prefix string) {
		ctx := t.Context()
		ada := must(a.CreateUser(ctx, adapter.User{Email: adaEmail}))(t)
		must(a.LinkAccount(ctx, adapter.Account{UserID: ada.ID, Provider: "p", ProviderAccountID: "1"}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: ada.ID, Expires: time.Now()}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: ada.ID}))(t)
		must(a.SetPassword(ctx, adapter.Password{UserID: ada.ID, Hash: "h"}))(t)
		execSQL(t, pool, `CREATE FUNCTION `+prefix+`never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE FUNCTION `+prefix+`audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$`, pgx.QueryExecModeSimpleProtocol)
		again := func() *postgres.Adapter { // compares the tables again
			if prefix == "" {
				return newAdapter(t, pool)
			}
			return newAdapter(t, pool, postgres.WithSchema(strings.TrimSuffix(prefix, ".")))
		}
		for _, table := range []string{"sessions", "accounts", "authenticators", "passwords"} {
			execSQL(t, pool, fmt.Sprintf(`CREATE TRIGGER keep BEFORE DELETE ON %[1]s%[2]s FOR EACH ROW EXECUTE FUNCTION %[1]snever()`, prefix, table))
			b := again()
			_, err := b.DeleteUser(ctx, ada.ID)
			assert.ErrorContains(t, err, "trigger")
			tx, _ := begin(t, pool)
			_, err = b.On(tx).DeleteUser(ctx, ada.ID)
			assert.ErrorContains(t, err, "trigger")
			same(t, "the user", must(b.On(tx).GetUser(ctx, ada.ID))(t), *ada)
			require.NoError(t, tx.Rollback(ctx))
			execSQL(t, pool, fmt.Sprintf(`DROP TRIGGER keep ON %s%s`, prefix, table))
		}
		same(t, "the user", must(a.GetUser(ctx, ada.ID))(t), *ada)
		assert.True(t, len(must(a.ListSessionsByUserID(ctx, ada.ID))(t)) == 1 && must(a.GetPassword(ctx, ada.ID))(t) != nil,
			"a record of the user is gone")
		// A trigger that keeps nothing is no hindrance.
		execSQL(t, pool, fmt.Sprintf(`CREATE TRIGGER audit BEFORE DELETE ON %[1]ssessions FOR EACH ROW EXECUTE FUNCTION %[1]saudit()`, prefix))
		same(t, "the deleted user", must(again().DeleteUser(ctx, ada.ID))(t), *ada)
		n := value[int](t, pool, `SELECT count(*)::int FROM `+prefix+`sessions WHERE "userId"::text = $1`, ada.ID)
		assert.Equalf(t, 0, n, "%d sessions are left", n)
	})
}

// TestSecretsStayOutOfErrors: a trigger quotes a secret in every field of an error, with
// codes of every class. The code stays.
func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	ctx := t.Context()
	ada := must(a.CreateUser(ctx, adapter.User{Email: adaEmail}))(t)
	for _, code := range []string{"22007", "23505", "23503", "23502", "0A000", "25006", "28000", "42501", "42P01", "53300", "54000", "55000", "57014", "58000", "P0001", "XX000"} {
		withTrigger(t, schema, "sessions", "INSERT", `RAISE EXCEPTION USING ERRCODE = '`+code+`', MESSAGE = NEW."sessionToken", DETAIL = NEW."sessionToken", HINT = NEW."sessionToken",
			TABLE = NEW."sessionToken", SCHEMA = NEW."sessionToken", COLUMN = NEW."sessionToken", CONSTRAINT = NEW."sessionToken", DATATYPE = NEW."sessionToken";`)
		_, err := a.CreateSession(ctx, adapter.Session{SessionToken: "very secret", UserID: ada.ID, Expires: time.Now()})
		var pgErr *pgconn.PgError
		assert.Truef(t, errors.As(err, &pgErr) && pgErr.Code == code, "%s: got %v, want an error with the code", code, err)
		assert.NotContainsf(t, fmt.Sprintf("%+v %#v %#v", err, err, pgErr), "very secret",
			"%s: the error has the secret", code)
		execSQL(t, pool, `DROP FUNCTION `+schema+`.own CASCADE`)
	}
}

// TestDemotedPrimary: connections that have become read-only are left, by reads too. On
// a transaction of the caller nothing is closed. While every server is read-only, reads
// go on, and there are few new connections.
func TestDemotedPrimary(t *testing.T) {
	t.Parallel()
	made, _, schema := wirings[0].newStore(t)
	ctx := t.Context()
	ada := must(made.CreateUser(ctx, adapter.User{Email: adaEmail}))(t)
	var readOnly atomic.Bool
	var connections atomic.Int64
	config := wiring{}.config(t)
	config.MaxConns = 4
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		connections.Add(1)
		c.RuntimeParams["default_transaction_read_only"] = map[bool]string{true: "on", false: "off"}[readOnly.Load()]
		return nil
	}
	pool := openPool(t, config)
	fill := func() {
		t.Helper()
		pool.Reset()
		for range 4 {
			defer must(pool.Acquire(ctx))(t).Release()
		}
	}
	newSession := func(a *postgres.Adapter, token string) error {
		return erred(a.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: ada.ID, Expires: time.Now().Add(time.Hour)}))
	}
	readOnly.Store(true)
	fill()
	readOnly.Store(false)
	a := newAdapter(t, pool, postgres.WithSchema(schema))
	tx := must(pool.Begin(ctx))(t)
	assert.Error(t, newSession(a.On(tx), "in a transaction"))
	assert.EqualValues(t, 4, connections.Load(), "connections in a transaction")
	require.NoError(t, tx.Rollback(ctx))
	for i := range 50 {
		assert.NoErrorf(t, newSession(a, fmt.Sprint(i)), "write %d after the switch", i)
	}
	for range 4 {
		conn := must(pool.Acquire(ctx))(t)
		defer conn.Release()
		assert.Equal(t, "off", value[string](t, conn, `SHOW transaction_read_only`),
			"a connection to the old primary is left")
	}

	connections.Store(0)
	readOnly.Store(true)
	b := newAdapter(t, openPool(t, config), postgres.WithSchema(schema))
	for i := range 200 {
		require.Error(t, newSession(b, fmt.Sprint("all ", i)), "a write to a read-only server succeeded")
		must(b.GetSessionAndUser(ctx, "1"))(t)
	}
	n := connections.Load()
	assert.Truef(t, n <= 20, "%d connections were opened while every server was read-only", n)
}
