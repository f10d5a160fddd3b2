package mysql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callPasswords calls the methods of adapter.Passwords.
func callPasswords(t *testing.T, a adapter.Adapter) {
	t.Helper()
	ctx := t.Context()
	p, has := adapter.Capability[adapter.Passwords](a)
	require.True(t, has, "the adapter says that it has no passwords")
	user := must(p.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "H "}))(t)
	twice := adapter.User{Email: "cy@example.com"}
	refused(p.CreateUserWithPassword(ctx, twice, adapter.Password{Hash: "h"}))(t, "an address twice", adapter.ErrConflict)
	one, two := adapter.Password{UserID: user.ID, Hash: "H "}, adapter.Password{UserID: user.ID, Hash: "h🗝", State: `{"a": 1}`}
	require.Equal(t, &one, must(p.GetPassword(ctx, user.ID))(t), "GetPassword")
	for _, from := range []adapter.Password{{Hash: "h "}, {Hash: "H"}, {Hash: "H ", State: " "}, {}, {Hash: "\xff"}} {
		from.UserID = user.ID
		require.Nil(t, must(p.SwapPassword(ctx, from, two))(t), "SwapPassword from another")
	}
	require.Equal(t, &one, must(p.SwapPassword(ctx, one, one))(t), "SwapPassword to the same")
	require.Equal(t, &two, must(p.SwapPassword(ctx, one, two))(t), "SwapPassword")
	for _, to := range []adapter.Password{one, one, {UserID: user.ID, Hash: strings.Repeat("🗝", 500), State: strings.Repeat("🗝", 8000)}} {
		require.Equal(t, &to, must(p.SetPassword(ctx, to))(t), "SetPassword")
		require.Equal(t, &to, must(p.GetPassword(ctx, user.ID))(t), "GetPassword")
	}
	for _, wrong := range []adapter.Password{{}, {Hash: strings.Repeat("x", 2001)}, {Hash: "h", State: strings.Repeat("x", 32001)}} {
		wrong.UserID = user.ID
		got, err := p.SetPassword(ctx, wrong)
		assert.Truef(t, got == nil && err != nil, "a wrong record: got %v, %v", got, err)
	}
	for _, nobody := range []string{"", "nobody", strings.ToUpper(user.ID) + " "} {
		refused(p.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"}))(t, "nobody", adapter.ErrNotFound)
		require.Nil(t, must(p.DeletePassword(ctx, nobody, true))(t), "DeletePassword of nobody")
	}
	refused(p.DeletePassword(ctx, user.ID, true))(t, "the last way in", adapter.ErrLastCredential)
	must(a.DeleteUser(ctx, user.ID))(t)
	require.Nil(t, must(p.GetPassword(ctx, user.ID))(t), "GetPassword after DeleteUser")
}

// TestPasswords on the adapter's own tables, and in a transaction of the caller.
func TestPasswords(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	callPasswords(t, on(t, env.Admin))
	tx := must(env.Admin.BeginTx(t.Context(), nil))(t)
	defer func() { _ = tx.Rollback() }()
	callPasswords(t, on(t, tx))
}

// TestFromTheFirstVersion brings the tables of the first version, which had no passwords, to
// this one.
func TestFromTheFirstVersion(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"EnsureSchema", "SchemaChanges"} {
		env := open(t, mysqltest.Settings{})
		ctx := t.Context()
		must(on(t, env.Admin).CreateUser(ctx, adapter.User{ID: "u", Email: "a@example.com"}))(t)
		script(t, env, "DROP TABLE passwords;\nUPDATE gatehouse_schema SET version = 1")
		a := on(t, env.Admin)
		_, err := a.GetUser(ctx, "u")
		assert.ErrorContains(t, err, "missing: table passwords", "before")
		if by == "EnsureSchema" {
			require.NoError(t, a.EnsureSchema(ctx))
		} else {
			changes := must(a.SchemaChanges(ctx))(t)
			require.NotEmpty(t, changes)
			script(t, env, strings.Join(changes, ";\n"))
		}
		require.NoError(t, a.CheckSchema(ctx))
		assert.Equal(t, 2, number(t, env.Admin, "SELECT version FROM gatehouse_schema"), by)
		assert.NotNil(t, must(a.GetUser(ctx, "u"))(t), "the user")
		callPasswords(t, a)
	}
}

// TestPasswordsOfSites: with a layout the adapter has no passwords until the table is there,
// and EnsureSchema does not make it. A table of the application with the name is left alone.
func TestPasswordsOfSites(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]mysqltest.Settings{"Prisma": {Site: "Prisma"}, "Prisma without keys": {Site: "Prisma", NoForeignKeys: true},
		"Drizzle": {Site: "Drizzle"}} {
		layout := map[string]mysql.Layout{"Prisma": mysql.Prisma(), "Drizzle": mysql.Drizzle()}[settings.Site]
		settings.AsTheyAre = true
		env := open(t, settings)
		ctx := t.Context()
		lacks := func(what, reason string) {
			t.Helper()
			a := on(t, env.Admin, mysql.WithLayout(layout))
			require.NoErrorf(t, errors.Join(a.EnsureSchema(ctx), a.CheckSchema(ctx)), "%s, %s", name, what)
			_, has := adapter.Capability[adapter.Passwords](a)
			assert.Falsef(t, has, "%s, %s: the adapter says that it has passwords", name, what)
			user := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "a@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "1"},
				&adapter.Authenticator{CredentialID: "c"}))(t)
			_, err1 := a.GetPassword(ctx, user.ID)
			_, err2 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
			_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
			_, err4 := a.DeletePassword(ctx, user.ID, false)
			_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
			for i, err := range []error{err1, err2, err3, err4, err5} {
				assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && strings.Contains(err.Error(), reason),
					"%s, %s, call %d: got %v, want ErrUnsupported and %q", name, what, i+1, err, reason)
			}
			must(a.DeleteAuthenticator(ctx, user.ID, "c", true))(t)
			must(a.DeleteUser(ctx, user.ID))(t)
		}
		lacks("without the table", "SchemaChanges")
		script(t, env, "CREATE TABLE passwords (id INT PRIMARY KEY, userId VARCHAR(191), hash VARCHAR(60) NOT NULL)")
		lacks("a table of the application", "passwords")
		script(t, env, "DROP TABLE passwords")
		before := on(t, env.Admin, mysql.WithLayout(layout))
		changes := must(before.SchemaChanges(ctx))(t)
		product := map[string]string{"Prisma": "model passwords", "Drizzle": "mysqlTable"}[settings.Site]
		assert.Containsf(t, changes[len(changes)-1], product, "%s: the statement has no lines for the schema file", name)
		script(t, env, strings.Join(changes, ";\n"))
		a := on(t, env.Admin, mysql.WithLayout(layout))
		_, has := adapter.Capability[adapter.Passwords](a)
		assert.False(t, has, "before the tables were compared the adapter says that it has passwords")
		require.NoError(t, a.CheckSchema(ctx))
		callPasswords(t, a)
		assert.Emptyf(t, must(a.SchemaChanges(ctx))(t), "%s: left to do", name)
		database := databaseOf(t, env)
		role := "few_" + database[len(database)-12:]
		few := account(t, env, "few_", []string{"USAGE"}, mysql.WithLayout(layout))
		for _, table := range []string{layout.Users, layout.Accounts, layout.Sessions, layout.VerificationTokens, layout.Authenticators} {
			script(t, env, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON %s.`%s` TO %s", database, table, role))
		}
		assert.NoErrorf(t, few.CheckSchema(ctx), "%s, without rights on the passwords", name)
		refused(few.GetPassword(ctx, "u"))(t, name+", without rights on the passwords", adapter.ErrUnsupported)
	}
}

// TestRoundTripsOfPasswords counts them as TestRoundTrips does: a read takes one, a write its
// statements and the two of its transaction.
func TestRoundTripsOfPasswords(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	h := benchHarness(t, env)
	second := h.Second(t, nil)
	a, faults, ctx := second.(*mysqltest.Handle), h.Faults(second), t.Context()
	before := faults.Steps()
	trips := func(what string, err error, want int64) {
		t.Helper()
		require.NoError(t, err)
		after := faults.Steps()
		n := after - before
		assert.Equalf(t, want, n, "%s takes %d round trips, want %d", what, n, want)
		before = after
	}
	user, err := a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"})
	trips("CreateUserWithPassword", err, 4)
	_, err = a.GetPassword(ctx, user.ID)
	trips("GetPassword", err, 1)
	p, err := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "i"})
	trips("SetPassword", err, 3)
	_, err = a.SwapPassword(ctx, *p, adapter.Password{Hash: "j"})
	trips("SwapPassword", err, 3)
	_, err = a.DeletePassword(ctx, user.ID, false)
	trips("DeletePassword", err, 5)
}
