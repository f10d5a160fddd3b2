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
	user, err := p.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "H "})
	require.NoError(t, err)
	_, err = p.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "h"})
	assert.Truef(t, isConflict(err), "an address twice: %v", err)
	is := func(what string, got *adapter.Password, err error, want *adapter.Password) {
		t.Helper()
		require.Falsef(t, err != nil || (got == nil) != (want == nil) || got != nil && *got != *want,
			"%s: got %v, %v, want %v", what, got, err, want)
	}
	one, two := adapter.Password{UserID: user.ID, Hash: "H "}, adapter.Password{UserID: user.ID, Hash: "h🗝", State: `{"a": 1}`}
	got, err := p.GetPassword(ctx, user.ID)
	is("GetPassword", got, err, &one)
	for _, from := range []adapter.Password{{Hash: "h "}, {Hash: "H"}, {Hash: "H ", State: " "}, {}, {Hash: "\xff"}} {
		from.UserID = user.ID
		got, err = p.SwapPassword(ctx, from, two)
		is("SwapPassword from another", got, err, nil)
	}
	got, err = p.SwapPassword(ctx, one, one)
	is("SwapPassword to the same", got, err, &one)
	got, err = p.SwapPassword(ctx, one, two)
	is("SwapPassword", got, err, &two)
	for _, to := range []adapter.Password{one, one, {UserID: user.ID, Hash: strings.Repeat("🗝", 500), State: strings.Repeat("🗝", 8000)}} {
		got, err = p.SetPassword(ctx, to)
		is("SetPassword", got, err, &to)
		got, err = p.GetPassword(ctx, user.ID)
		is("GetPassword", got, err, &to)
	}
	for _, wrong := range []adapter.Password{{}, {Hash: strings.Repeat("x", 2001)}, {Hash: "h", State: strings.Repeat("x", 32001)}} {
		wrong.UserID = user.ID
		got, err = p.SetPassword(ctx, wrong)
		assert.Truef(t, got == nil && err != nil, "a wrong record: got %v, %v", got, err)
	}
	for _, nobody := range []string{"", "nobody", strings.ToUpper(user.ID) + " "} {
		if _, err := p.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"}); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("SetPassword of nobody: %v", err)
		}
		got, err = p.DeletePassword(ctx, nobody, true)
		is("DeletePassword of nobody", got, err, nil)
	}
	got, err = p.DeletePassword(ctx, user.ID, true)
	assert.Truef(t, got == nil && errors.Is(err, adapter.ErrLastCredential), "the last way in: got %v, %v", got, err)
	_, err = a.DeleteUser(ctx, user.ID)
	require.NoError(t, err)
	got, err = p.GetPassword(ctx, user.ID)
	is("GetPassword after DeleteUser", got, err, nil)
}

// TestPasswords on the adapter's own tables, and in a transaction of the caller.
func TestPasswords(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	callPasswords(t, on(t, env.Admin))
	tx, err := env.Admin.BeginTx(t.Context(), nil)
	require.NoError(t, err)
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
		_, err := on(t, env.Admin).CreateUser(ctx, adapter.User{ID: "u", Email: "a@example.com"})
		require.NoError(t, err)
		script(t, env, "DROP TABLE passwords;\nUPDATE gatehouse_schema SET version = 1")
		a := on(t, env.Admin)
		_, err = a.GetUser(ctx, "u")
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "missing: table passwords"), "before: got %v", err)
		if by == "EnsureSchema" {
			require.NoError(t, a.EnsureSchema(ctx))
		} else {
			changes, err := a.SchemaChanges(ctx)
			require.Truef(t, err == nil && len(changes) != 0, "%v %v", changes, err)
			script(t, env, strings.Join(changes, ";\n"))
		}
		require.NoError(t, a.CheckSchema(ctx))
		version := 0
		err = env.Admin.QueryRowContext(ctx, "SELECT version FROM gatehouse_schema").Scan(&version)
		assert.Truef(t, err == nil && version == 2, "%s: got version %d, %v, want 2", by, version, err)
		u, err := a.GetUser(ctx, "u")
		assert.Truef(t, err == nil && u != nil, "the user: %v, %v", u, err)
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
			user, err := a.CreateUserWithAccount(ctx, adapter.User{Email: "a@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "1"},
				&adapter.Authenticator{CredentialID: "c"})
			require.NoError(t, err)
			_, err1 := a.GetPassword(ctx, user.ID)
			_, err2 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
			_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
			_, err4 := a.DeletePassword(ctx, user.ID, false)
			_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
			for i, err := range []error{err1, err2, err3, err4, err5} {
				assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && strings.Contains(err.Error(), reason),
					"%s, %s, call %d: got %v, want ErrUnsupported and %q", name, what, i+1, err, reason)
			}
			_, err = a.DeleteAuthenticator(ctx, user.ID, "c", true)
			assert.NoError(t, err)
			_, err = a.DeleteUser(ctx, user.ID)
			assert.NoError(t, err)
		}
		lacks("without the table", "SchemaChanges")
		script(t, env, "CREATE TABLE passwords (id INT PRIMARY KEY, userId VARCHAR(191), hash VARCHAR(60) NOT NULL)")
		lacks("a table of the application", "passwords")
		script(t, env, "DROP TABLE passwords")
		before := on(t, env.Admin, mysql.WithLayout(layout))
		changes, err := before.SchemaChanges(ctx)
		require.NoError(t, err)
		product := map[string]string{"Prisma": "model passwords", "Drizzle": "mysqlTable"}[settings.Site]
		assert.Containsf(t, changes[len(changes)-1], product, "%s: the statement has no lines for the schema file", name)
		script(t, env, strings.Join(changes, ";\n"))
		a := on(t, env.Admin, mysql.WithLayout(layout))
		_, has := adapter.Capability[adapter.Passwords](a)
		assert.False(t, has, "before the tables were compared the adapter says that it has passwords")
		require.NoError(t, a.CheckSchema(ctx))
		callPasswords(t, a)
		left, err := a.SchemaChanges(ctx)
		assert.Truef(t, err == nil && len(left) <= 0, "%s: left to do: %v, %v", name, left, err)
		database := databaseOf(t, env)
		role := "few_" + database[len(database)-12:]
		few := account(t, env, "few_", []string{"USAGE"}, mysql.WithLayout(layout))
		for _, table := range []string{layout.Users, layout.Accounts, layout.Sessions, layout.VerificationTokens, layout.Authenticators} {
			script(t, env, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON %s.`%s` TO %s", database, table, role))
		}
		assert.NoErrorf(t, few.CheckSchema(ctx), "%s, without rights on the passwords", name)
		if _, err := few.GetPassword(ctx, "u"); !errors.Is(err, adapter.ErrUnsupported) {
			t.Errorf("%s, without rights on the passwords: got %v, want ErrUnsupported", name, err)
		}
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
