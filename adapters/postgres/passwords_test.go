package postgres_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// callPasswords calls the methods of adapter.Passwords for a user who has no password.
// Afterwards the user has one.
func callPasswords(t *testing.T, a adapter.Passwords, id string) {
	t.Helper()
	ctx := t.Context()
	made := must(a.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{UserID: "ignored", Hash: "h"}))(t)
	same(t, "GetPassword", must(a.GetPassword(ctx, made.ID))(t), adapter.Password{UserID: made.ID, Hash: "h"})
	again, err := a.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "h"})
	refused(again, err)(t, "CreateUserWithPassword again", adapter.ErrConflict)

	one, two := adapter.Password{UserID: id, Hash: "H ", State: `{"a": 1}`}, adapter.Password{UserID: id, Hash: "h🗝", State: ""}
	require.Nil(t, must(a.GetPassword(ctx, id))(t), "GetPassword")
	require.Nil(t, must(a.SwapPassword(ctx, one, two))(t), "SwapPassword without a password")
	same(t, "SetPassword", must(a.SetPassword(ctx, two))(t), two)
	same(t, "SetPassword", must(a.SetPassword(ctx, one))(t), one)
	for _, from := range []adapter.Password{{UserID: id, Hash: "h ", State: one.State}, {UserID: id, Hash: "H", State: one.State},
		{UserID: id, Hash: "H ", State: `{"a":1}`}, {UserID: id, Hash: "H "}, {UserID: id}, {UserID: id, Hash: "\xff"}, {UserID: made.ID, Hash: "H ", State: one.State}} {
		require.Nil(t, must(a.SwapPassword(ctx, from, two))(t), "SwapPassword from "+from.Hash)
	}
	same(t, "GetPassword", must(a.GetPassword(ctx, id))(t), one)
	same(t, "SwapPassword", must(a.SwapPassword(ctx, one, two))(t), two)
	same(t, "DeletePassword", must(a.DeletePassword(ctx, id, true))(t), two)
	require.Nil(t, must(a.DeletePassword(ctx, id, true))(t), "DeletePassword again")
	refused(a.DeletePassword(ctx, made.ID, true))(t, "DeletePassword of the last way in", adapter.ErrLastCredential)
	must(a.DeletePassword(ctx, made.ID, false))(t)
	for _, nobody := range []string{"", "nobody", "007", "99999999", "a\x00"} {
		got, err := a.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"})
		refused(got, err)(t, "SetPassword of nobody", adapter.ErrNotFound)
		require.Nil(t, must(a.GetPassword(ctx, nobody))(t), "GetPassword of nobody")
		require.Nil(t, must(a.DeletePassword(ctx, nobody, false))(t), "DeletePassword of nobody")
	}
	for _, wrong := range []adapter.Password{{UserID: id}, {UserID: id, Hash: strings.Repeat("x", 2001)}, {UserID: id, Hash: "h", State: strings.Repeat("x", 32001)}} {
		got, err := a.SetPassword(ctx, wrong)
		require.Truef(t, got == nil && err != nil && !errors.Is(err, adapter.ErrNotFound),
			"a wrong record: got %v, %v", got, err)
	}
	large := adapter.Password{UserID: id, Hash: strings.Repeat("🗝", 500), State: strings.Repeat("🗝", 8000)}
	same(t, "SetPassword", must(a.SetPassword(ctx, large))(t), large)
}

// TestLastWayInStays removes the passkey and the password of a user in concurrent calls;
// one must stay. [PASS-07]
func TestLastWayInStays(t *testing.T) {
	isolated(t, func(t *testing.T, a *postgres.Adapter) {
		ctx := t.Context()
		for range 30 {
			user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
			must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: user.ID}))(t)
			var kept atomic.Int32
			var wg sync.WaitGroup
			for _, remove := range []func() error{
				func() error { return erred(a.DeletePassword(ctx, user.ID, true)) },
				func() error { return erred(a.DeleteAuthenticator(ctx, user.ID, user.ID, true)) },
			} {
				wg.Go(func() {
					if err := remove(); errors.Is(err, adapter.ErrLastCredential) {
						kept.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			password, passkeys := must(a.GetPassword(ctx, user.ID))(t), must(a.ListAuthenticatorsByUserID(ctx, user.ID))(t)
			require.Truef(t, kept.Load() == 1 && (password == nil) != (len(passkeys) == 0),
				"%d refused; left are %v and %v", kept.Load(), password, passkeys)
		}
	})
}

// TestFromTheFirstVersion brings the tables of the first version, which had no passwords,
// to this one. Its records stay.
func TestFromTheFirstVersion(t *testing.T) {
	t.Parallel()
	pool := inSchema(t, newSchema(t))
	execSQL(t, pool, string(must(os.ReadFile("schema/0001_tables.sql"))(t)), pgx.QueryExecModeSimpleProtocol)
	execSQL(t, pool, `INSERT INTO users (id, email) VALUES ('ck1', 'ada@example.com');
		INSERT INTO accounts ("userId", type, provider, "providerAccountId") VALUES ('ck1', 'oidc', 'p', '1');
		INSERT INTO sessions ("userId", expires, "sessionToken") VALUES ('ck1', '2040-01-02 12:00:00.123Z', 'theirs')`, pgx.QueryExecModeSimpleProtocol)
	rows := dump(t, pool)
	a := newAdapter(t, pool)
	_, err := a.GetUser(t.Context(), adaID)
	assert.ErrorContains(t, err, `the table "passwords" is missing`)
	assert.ErrorContains(t, a.CheckSchema(t.Context()), `the table "passwords" is missing`)
	changes := must(a.SchemaChanges(t.Context()))(t)
	assert.Truef(t, len(changes) != 0 && strings.HasPrefix(changes[0], `CREATE TABLE "passwords"`),
		"got the changes %q", changes)
	require.NoError(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())))
	assert.Empty(t, cmp.Diff(rows, dump(t, pool)), "rows have changed")
	assert.Equal(t, 2, value[int](t, pool, `SELECT version FROM gatehouse_schema`), "got version")
	other := inSchema(t, newSchema(t))
	require.NoError(t, newAdapter(t, other).EnsureSchema(t.Context()))
	made := strings.NewReplacer(value[string](t, pool, `SELECT current_schema()`), "", value[string](t, other, `SELECT current_schema()`), "")
	assert.Empty(t, cmp.Diff(made.Replace(catalogue(t, other)), made.Replace(catalogue(t, pool))),
		"the tables differ from new ones")
	callPasswords(t, a, adaID)
}

// TestPasswordsOfSites: in a layout of others the adapter has no passwords until the
// table is there, and EnsureSchema does not make it. A table of the application with the
// name is left alone.
func TestPasswordsOfSites(t *testing.T) {
	for name, s := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			schema := s.make(t)
			pool := wiring{}.pool(t)
			open := func() *postgres.Adapter {
				return newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
			}
			lacks := func(what, reason string) {
				t.Helper()
				a := open()
				require.NoError(t, errors.Join(a.EnsureSchema(ctx), a.CheckSchema(ctx)), what)
				_, has := adapter.Capability[adapter.Passwords](a)
				assert.Falsef(t, has, "%s: the adapter says that it has passwords", what)
				_, err1 := a.GetPassword(ctx, adaID)
				_, err2 := a.SetPassword(ctx, adapter.Password{UserID: adaID, Hash: "h"})
				_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: adaID, Hash: "h"}, adapter.Password{Hash: "h"})
				_, err4 := a.DeletePassword(ctx, adaID, false)
				_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
				for i, err := range []error{err1, err2, err3, err4, err5} {
					assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && strings.Contains(err.Error(), reason),
						"%s, call %d: got %v, want ErrUnsupported and %q", what, i+1, err, reason)
				}
			}
			before := objects(t, pool, schema)
			lacks("without the table", "CREATE TABLE")
			assert.Empty(t, cmp.Diff(before, objects(t, pool, schema)), "EnsureSchema has changed something")
			execSQL(t, pool, `CREATE TABLE `+schema+`.passwords (id serial, "userId" int, hash bytea NOT NULL)`)
			lacks("a table of the application", "passwords")
			execSQL(t, pool, `DROP TABLE `+schema+`.passwords`)

			for _, statement := range must(open().SchemaChanges(ctx))(t) {
				execSQL(t, pool, statement)
			}
			a := open()
			if _, has := adapter.Capability[adapter.Passwords](a); has {
				t.Error("before the tables were compared the adapter says that it has passwords")
			}
			require.NoError(t, a.CheckSchema(ctx))
			has, ok := adapter.Capability[adapter.Passwords](a)
			require.True(t, ok, "the adapter says that it has no passwords")
			must(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))(t)
			must(a.LinkAccount(ctx, adapter.Account{UserID: adaID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1"}))(t)
			callPasswords(t, has, adaID)
			must(a.DeleteUser(ctx, adaID))(t)
			require.Nil(t, must(a.GetPassword(ctx, adaID))(t), "GetPassword after DeleteUser")
			assert.Empty(t, must(open().SchemaChanges(ctx))(t), "left to do")
			user := must(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"}))(t)
			must(a.GetUser(ctx, user.ID))(t)
			requires := a.RequiresEmail()
			execSQL(t, pool, `ALTER TABLE `+schema+`."`+s.layout.Users+`" ALTER email TYPE varchar`) // what was prepared fails
			execSQL(t, pool, `ALTER TABLE `+schema+`."`+s.layout.Sessions+`" RENAME TO elsewhere`)
			_, err := a.GetUser(ctx, user.ID)
			assert.Error(t, err, "a table is gone: got no error")
			assert.Empty(t, adapter.Missing(a), "what the adapter lacks after a call that could not compare the tables")
			assert.Equal(t, requires, a.RequiresEmail(), "RequiresEmail after it")
		})
	}
}

// TestRoundTripsOfPasswords: each method takes one.
func TestRoundTripsOfPasswords(t *testing.T) {
	t.Parallel()
	_, _, schema := wirings[0].newStore(t)
	a, proxy := wirings[0].throughProxy(t, schema, 1)
	ctx := t.Context()
	for round := range 3 { // the first two compare the tables and prepare the statements
		before := proxy.Steps()
		trips := func(what string) {
			t.Helper()
			after := proxy.Steps()
			n := after - before
			assert.Falsef(t, round == 2 && n != 1, "%s takes %d round trips, want 1", what, n)
			before = after
		}
		user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
		trips("CreateUserWithPassword")
		must(a.GetPassword(ctx, user.ID))(t)
		trips("GetPassword")
		p := must(a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "i"}))(t)
		trips("SetPassword")
		must(a.SwapPassword(ctx, *p, adapter.Password{Hash: "j"}))(t)
		trips("SwapPassword")
		must(a.DeletePassword(ctx, user.ID, false))(t)
		trips("DeletePassword")
	}
}
