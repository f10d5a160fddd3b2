package mysql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// callPasswords calls the methods of adapter.Passwords.
func callPasswords(t *testing.T, a adapter.Adapter) {
	t.Helper()
	ctx := t.Context()
	p, has := adapter.Capability[adapter.Passwords](a)
	if !has {
		t.Fatal("the adapter says that it has no passwords")
	}
	user, err := p.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "H "})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "h"}); !isConflict(err) {
		t.Errorf("an address twice: %v", err)
	}
	is := func(what string, got *adapter.Password, err error, want *adapter.Password) {
		t.Helper()
		if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Fatalf("%s: got %v, %v, want %v", what, got, err, want)
		}
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
		if got, err = p.SetPassword(ctx, wrong); got != nil || err == nil {
			t.Errorf("a wrong record: got %v, %v", got, err)
		}
	}
	for _, nobody := range []string{"", "nobody", strings.ToUpper(user.ID) + " "} {
		if _, err := p.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"}); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("SetPassword of nobody: %v", err)
		}
		got, err = p.DeletePassword(ctx, nobody, true)
		is("DeletePassword of nobody", got, err, nil)
	}
	if got, err = p.DeletePassword(ctx, user.ID, true); got != nil || !errors.Is(err, adapter.ErrLastCredential) {
		t.Errorf("the last way in: got %v, %v", got, err)
	}
	if _, err = a.DeleteUser(ctx, user.ID); err != nil {
		t.Fatal(err)
	}
	got, err = p.GetPassword(ctx, user.ID)
	is("GetPassword after DeleteUser", got, err, nil)
}

// TestPasswords on the adapter's own tables, and in a transaction of the caller.
func TestPasswords(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	callPasswords(t, on(t, env.Admin))
	tx, err := env.Admin.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := on(t, env.Admin).CreateUser(ctx, adapter.User{ID: "u", Email: "a@example.com"}); err != nil {
			t.Fatal(err)
		}
		script(t, env, "DROP TABLE passwords;\nUPDATE gatehouse_schema SET version = 1")
		a := on(t, env.Admin)
		if _, err := a.GetUser(ctx, "u"); err == nil || !strings.Contains(err.Error(), "missing: table passwords") {
			t.Errorf("before: got %v", err)
		}
		if by == "EnsureSchema" {
			if err := a.EnsureSchema(ctx); err != nil {
				t.Fatal(err)
			}
		} else {
			changes, err := a.SchemaChanges(ctx)
			if err != nil || len(changes) == 0 {
				t.Fatal(changes, err)
			}
			script(t, env, strings.Join(changes, ";\n"))
		}
		if err := a.CheckSchema(ctx); err != nil {
			t.Fatal(err)
		}
		version := 0
		if err := env.Admin.QueryRowContext(ctx, "SELECT version FROM gatehouse_schema").Scan(&version); err != nil || version != 2 {
			t.Errorf("%s: got version %d, %v, want 2", by, version, err)
		}
		if u, err := a.GetUser(ctx, "u"); err != nil || u == nil {
			t.Errorf("the user: %v, %v", u, err)
		}
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
			if err := errors.Join(a.EnsureSchema(ctx), a.CheckSchema(ctx)); err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			if _, has := adapter.Capability[adapter.Passwords](a); has {
				t.Errorf("%s, %s: the adapter says that it has passwords", name, what)
			}
			user, err := a.CreateUserWithAccount(ctx, adapter.User{Email: "a@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "1"},
				&adapter.Authenticator{CredentialID: "c"})
			if err != nil {
				t.Fatal(err)
			}
			_, err1 := a.GetPassword(ctx, user.ID)
			_, err2 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
			_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
			_, err4 := a.DeletePassword(ctx, user.ID, false)
			_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
			for i, err := range []error{err1, err2, err3, err4, err5} {
				if !errors.Is(err, adapter.ErrUnsupported) || !strings.Contains(err.Error(), reason) {
					t.Errorf("%s, %s, call %d: got %v, want ErrUnsupported and %q", name, what, i+1, err, reason)
				}
			}
			if _, err := a.DeleteAuthenticator(ctx, user.ID, "c", true); err != nil {
				t.Error(err)
			}
			if _, err := a.DeleteUser(ctx, user.ID); err != nil {
				t.Error(err)
			}
		}
		lacks("without the table", "SchemaChanges")
		script(t, env, "CREATE TABLE passwords (id INT PRIMARY KEY, userId VARCHAR(191), hash VARCHAR(60) NOT NULL)")
		lacks("a table of the application", "passwords")
		script(t, env, "DROP TABLE passwords")
		before := on(t, env.Admin, mysql.WithLayout(layout))
		changes, err := before.SchemaChanges(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if product := map[string]string{"Prisma": "model passwords", "Drizzle": "mysqlTable"}[settings.Site]; !strings.Contains(changes[len(changes)-1], product) {
			t.Errorf("%s: the statement has no lines for the schema file: %s", name, changes[len(changes)-1])
		}
		script(t, env, strings.Join(changes, ";\n"))
		a := on(t, env.Admin, mysql.WithLayout(layout))
		if _, has := adapter.Capability[adapter.Passwords](a); has {
			t.Error("before the tables were compared the adapter says that it has passwords")
		}
		if err := a.CheckSchema(ctx); err != nil {
			t.Fatal(err)
		}
		callPasswords(t, a)
		if left, err := a.SchemaChanges(ctx); err != nil || len(left) > 0 {
			t.Errorf("%s: left to do: %v, %v", name, left, err)
		}
		database := databaseOf(t, env)
		role := "few_" + database[len(database)-12:]
		few := account(t, env, "few_", []string{"USAGE"}, mysql.WithLayout(layout))
		for _, table := range []string{layout.Users, layout.Accounts, layout.Sessions, layout.VerificationTokens, layout.Authenticators} {
			script(t, env, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON %s.`%s` TO %s", database, table, role))
		}
		if err := few.CheckSchema(ctx); err != nil {
			t.Errorf("%s, without rights on the passwords: %v", name, err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		after := faults.Steps()
		if n := after - before; n != want {
			t.Errorf("%s takes %d round trips, want %d", what, n, want)
		}
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
