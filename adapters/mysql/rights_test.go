package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// serving and changing are the rights that the README names.
var (
	serving  = []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	changing = []string{"CREATE", "ALTER", "INDEX", "REFERENCES"}
)

// account makes an account with rights on the database, and opens an adapter as it.
func account(t testing.TB, env *mysqltest.Env, name string, rights []string, opts ...mysql.Option) *mysql.Adapter {
	t.Helper()
	database := databaseOf(t, env)
	name += database[len(database)-12:]
	for _, s := range []string{"CREATE USER " + name, fmt.Sprintf("GRANT %s ON %s.* TO %s", strings.Join(rights, ", "),
		database, name)} {
		must(env.Admin.ExecContext(t.Context(), s))(t)
	}
	t.Cleanup(func() { _, _ = env.Admin.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+name) })
	return on(t, pool(t, database, func(c *driver.Config) { c.User, c.Passwd = name, "" }), opts...)
}

func without(rights []string, right string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right })
}

// TestLeastRights: the rights that the README names are enough, and one less is named by
// the first call.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	all := slices.Concat(serving, changing)
	assert.NoError(t, account(t, env, "all_", all, mysql.WithPrefix("all_")).EnsureSchema(ctx),
		"with every right that the README names")
	a := account(t, env, "serving_", serving)
	user := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "a@example.com"},
		adapter.Account{Type: adapter.AccountOAuth, Provider: "p",
			ProviderAccountID: "1"}, &adapter.Authenticator{CredentialID: "c"}))(t)
	for name, call := range map[string]func() error{
		"CheckSchema":  func() error { return a.CheckSchema(ctx) },
		"EnsureSchema": func() error { return a.EnsureSchema(ctx) },
		"CreateSession": func() error {
			return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: user.ID, Expires: time.Now()}))
		},
		"CreateUserWithPassword": func() error {
			return erred(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))
		},
		"the other methods of passwords": func() error {
			_, err1 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
			_, err2 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
			_, err3 := a.DeletePassword(ctx, user.ID, true)
			return errors.Join(err1, err2, err3)
		},
		"DeleteExpired":       func() error { return erred(a.DeleteExpired(ctx, time.Now())) },
		"DeleteAuthenticator": func() error { return erred(a.DeleteAuthenticator(ctx, user.ID, "c", true)) },
	} {
		assert.NoErrorf(t, call(), "%s with the rights to serve", name)
	}
	for i, right := range serving {
		a := account(t, env, fmt.Sprintf("no%d_", i), without(serving, right))
		assert.ErrorContains(t, erred(a.GetUser(ctx, user.ID)), "GRANT "+right+" ON `"+databaseOf(t, env)+"`.`user`")
	}
	seq, database := account(t, env, "seq_", without(serving, "SELECT")), databaseOf(t, env)
	for _, name := range []string{"user", "account", "session", "verificationToken", "authenticator", "passwords"} {
		script(t, env, fmt.Sprintf("GRANT SELECT (seq) ON `%s` TO seq_%s", name, database[len(database)-12:]))
	}
	assert.ErrorContains(t, erred(seq.GetUser(ctx, user.ID)), "GRANT SELECT ON", "with SELECT on another column of each table")
	few := account(t, env, "few_", without(all, "CREATE"), mysql.WithPrefix("few_"))
	assert.ErrorContains(t, few.EnsureSchema(ctx), "CREATE", "EnsureSchema without CREATE")
	must(a.DeleteUser(ctx, user.ID))(t)
}

// TestTablesLikeOurs: a trigger that violates a key of a copy of the table, whose keys have
// the names of the adapter's, is no conflict; the same record twice is one.
func TestTablesLikeOurs(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, a := t.Context(), on(t, env.Admin)
	for _, s := range []string{
		"CREATE TABLE copy LIKE `user`",
		"CREATE TRIGGER copies AFTER INSERT ON `user` FOR EACH ROW INSERT INTO copy (id, email) VALUES (NEW.id, NEW.image)",
	} {
		must(env.Admin.ExecContext(ctx, s))(t)
	}
	for i, want := range []string{"", "refused", "conflict"} {
		u := adapter.User{ID: fmt.Sprint(i), Email: fmt.Sprint(i) + "@example.com", Image: new("same")}
		if want == "conflict" {
			u.Email, u.Image = "0@example.com", new("other")
		}
		_, err := a.CreateUser(ctx, u)
		got := map[bool]string{true: "", false: "refused"}[err == nil]
		if isConflict(err) {
			got = "conflict"
		}
		assert.Equalf(t, want, got, "%+v: got %v, want %q", u, err, want)
	}
}
