package mysql_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestEnsureSchemaAtOnce: any number of processes may make the tables at once, and again.
func TestEnsureSchemaAtOnce(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := on(t, env.Admin, mysql.WithPrefix("once_")).EnsureSchema(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	a := on(t, env.Admin, mysql.WithPrefix("once_"))
	if changes, err := a.SchemaChanges(t.Context()); len(changes) > 0 || err != nil {
		t.Errorf("after EnsureSchema there are changes: %v, %v", changes, err)
	}
}

// TestSchemaFaults: a table that does not fit is refused by name, and what is missing is
// added or named.
func TestSchemaFaults(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	for i, x := range []struct{ change, want string }{
		{"DROP TABLE `%account`", "missing: table %account"},
		{"ALTER TABLE `%session` DROP KEY `%session_expires_idx`", "missing: key %session_expires_idx"},
		{"ALTER TABLE `%user` DROP KEY `%user_email_key`", "missing: key %user_email_key"},
		{"ALTER TABLE `%user` MODIFY email VARCHAR(320) COLLATE utf8mb4_general_ci",
			"%user.email has the collation utf8mb4_general_ci"},
		{"ALTER TABLE `%session` MODIFY expires DATETIME NOT NULL", "%session.expires has no milliseconds"},
		{"ALTER TABLE `%session` MODIFY sessionToken VARCHAR(100) COLLATE utf8mb4_nopad_bin NOT NULL",
			"room for 100 characters"},
		{"ALTER TABLE `%account` DROP COLUMN scope", "table %account has no column scope"},
		{"ALTER TABLE `%account` DROP FOREIGN KEY `%account_userId_fkey`", "no foreign key %account_userId_fkey"},
		{"ALTER TABLE `%user` ADD COLUMN shoe INT NOT NULL", "column %user.shoe accepts no null and has no default"},
	} {
		prefix := string(rune('a'+i)) + "_"
		named := func(s string) string { return strings.ReplaceAll(s, "%", prefix) }
		if err := on(t, env.Admin, mysql.WithPrefix(prefix)).EnsureSchema(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := env.Admin.ExecContext(ctx, named(x.change)); err != nil {
			t.Fatal(err)
		}
		a := on(t, env.Admin, mysql.WithPrefix(prefix))
		if _, err := a.CreateUser(ctx, adapter.User{ID: "x"}); err == nil || !strings.Contains(err.Error(), named(x.want)) {
			t.Errorf("%s: the first call says %v, want %q", named(x.change), err, named(x.want))
		}
		err := a.EnsureSchema(ctx)
		if added := strings.HasPrefix(x.want, "missing"); added != (err == nil) {
			t.Errorf("%s: EnsureSchema says %v", named(x.change), err)
		}
	}
}

// TestTablesOfOthers: EnsureSchema makes no tables beside those of another library.
func TestTablesOfOthers(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	for _, s := range []string{
		"CREATE TABLE at_User (id VARCHAR(191) PRIMARY KEY, email VARCHAR(191))",
		"CREATE TABLE at_Session (id VARCHAR(191) PRIMARY KEY, sessionToken VARCHAR(191))",
	} {
		if _, err := env.Admin.ExecContext(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	err := on(t, env.Admin, mysql.WithPrefix("at_")).EnsureSchema(ctx)
	if err == nil || !strings.Contains(err.Error(), "at_Session, at_User") || !strings.Contains(err.Error(),
		"WithNewTables") {
		t.Errorf("got %v", err)
	}
	if err := on(t, env.Admin, mysql.WithPrefix("at_"), mysql.WithNewTables()).EnsureSchema(ctx); err != nil {
		t.Error(err)
	}
}

// TestEnsureSchemaInATransaction is refused: the server would commit it.
func TestEnsureSchemaInATransaction(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	tx, err := env.Admin.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := on(t, tx, mysql.WithPrefix("t_")).EnsureSchema(t.Context()); err == nil || !strings.Contains(err.Error(),
		"call EnsureSchema with a *sql.DB") {
		t.Errorf("got %v", err)
	}
}

// TestArgumentsOfNew: a wrong argument is an error of New.
func TestArgumentsOfNew(t *testing.T) {
	_, err := mysql.New(nil, mysql.WithPrefix("A'b"))
	if err == nil || !strings.Contains(err.Error(), "db is nil") || !strings.Contains(err.Error(), `prefix "A'b"`) ||
		errors.Is(err, adapter.ErrConflict) {
		t.Errorf("got %v", err)
	}
}
