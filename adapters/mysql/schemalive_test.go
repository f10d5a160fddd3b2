package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		all.Go(func() { assert.NoError(t, on(t, env.Admin, mysql.WithPrefix("once_")).EnsureSchema(t.Context())) })
	}
	all.Wait()
	a := on(t, env.Admin, mysql.WithPrefix("once_"))
	assert.Empty(t, must(a.SchemaChanges(t.Context()))(t), "after EnsureSchema there are changes")
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
			"%user.email has the collation utf8mb4_general_ci, which takes different texts for one: want utf8mb4_nopad_bin or " +
				"utf8mb4_0900_bin: the server copies the table, and its writes wait meanwhile: ALTER TABLE `%user` MODIFY email"},
		{"ALTER TABLE `%session` MODIFY expires DATETIME NOT NULL", "%session.expires has no milliseconds"},
		{"ALTER TABLE `%session` MODIFY sessionToken VARCHAR(100) COLLATE " + exact(env) + " NOT NULL",
			"room for 100 characters"},
		{"ALTER TABLE `%account` MODIFY expires_at BIGINT UNSIGNED", "unsigned, which takes no negative number"},
		{"ALTER TABLE `%account` DROP COLUMN scope", "table %account has no column scope"},
		{"ALTER TABLE `%account` DROP FOREIGN KEY `%account_userId_fkey`", "no foreign key %account_userId_fkey"},
		{"ALTER TABLE `%user` ADD COLUMN shoe INT NOT NULL", "column %user.shoe accepts no null and has no default"},
	} {
		prefix := string(rune('a'+i)) + "_"
		named := func(s string) string { return strings.ReplaceAll(s, "%", prefix) }
		require.NoError(t, on(t, env.Admin, mysql.WithPrefix(prefix)).EnsureSchema(ctx))
		must(env.Admin.ExecContext(ctx, named(x.change)))(t)
		a := on(t, env.Admin, mysql.WithPrefix(prefix))
		assert.ErrorContains(t, erred(a.CreateUser(ctx, adapter.User{ID: "x"})), named(x.want), named(x.change))
		err := a.EnsureSchema(ctx)
		assert.Equalf(t, strings.HasPrefix(x.want, "missing"), err == nil, "%s: EnsureSchema says %v", named(x.change), err)
	}
}

// TestTablesOfOthers: the adapter makes no tables, and begins with nobody, beside the tables of
// another library in which people are or will be.
func TestTablesOfOthers(t *testing.T) {
	t.Parallel()
	theirs := func(prefix string) string {
		return strings.NewReplacer("`User`", "`"+prefix+"User`", "`Session`", "`"+prefix+"Session`").Replace("CREATE TABLE `User` (id VARCHAR(191) PRIMARY KEY, email VARCHAR(191));\n" +
			"CREATE TABLE `Session` (id VARCHAR(191) PRIMARY KEY, sessionToken VARCHAR(191));\n")
	}
	const person = "INSERT INTO User VALUES ('ada', 'ada@example.com');\n"
	env := open(t, mysqltest.Settings{})
	// The tables of this package without a prefix, and the version table that another program has.
	const ours, site = "CREATE TABLE gatehouse_schema (single TINYINT PRIMARY KEY, version INT);\n" +
		"CREATE TABLE `user` (seq BIGINT UNSIGNED PRIMARY KEY, id VARCHAR(255), email VARCHAR(320));\n" +
		"CREATE TABLE session (seq BIGINT UNSIGNED PRIMARY KEY, sessionToken VARCHAR(512));\nINSERT INTO `user` VALUES (1, '1', 'a');\n",
		"CREATE TABLE gatehouse_schema (id INT PRIMARY KEY);\n"
	users := strings.NewReplacer("`User`", "users", "`Session`", "sessions").Replace(theirs("")) // on each server these are other tables
	for name, c := range map[string]struct {
		ours    bool // EnsureSchema has made the adapter's tables before
		full    bool // with a user
		tables  string
		options []mysql.Option
		want    string
	}{
		"none of ours":                  {false, false, theirs(""), nil, "Session, User"},
		"a prefix":                      {false, false, theirs("at_"), []mysql.Option{mysql.WithPrefix("at_")}, "at_Session, at_User"},
		"a prefix of ours only":         {false, false, theirs(""), []mysql.Option{mysql.WithPrefix("at_")}, "Session, User"},
		"another prefix":                {false, false, theirs("at_"), nil, ""},
		"beside ours":                   {false, false, ours, []mysql.Option{mysql.WithPrefix("at_")}, ""},
		"beside ours and others":        {false, false, ours + users, []mysql.Option{mysql.WithPrefix("at_")}, "sessions, users"},
		"no version of ours":            {false, false, site + users, []mysql.Option{mysql.WithPrefix("at_")}, "sessions, users"},
		"empty beside ours":             {true, false, ours, []mysql.Option{mysql.WithPrefix("at_")}, ""},
		"empty beside ours and others":  {true, false, ours + users + "INSERT INTO users VALUES ('1', 'a');\n", []mysql.Option{mysql.WithPrefix("at_")}, "sessions, users"},
		"ours is empty":                 {true, false, theirs("") + person, nil, "Session, User"},
		"ours is empty, with a prefix":  {true, false, theirs("") + person, []mysql.Option{mysql.WithPrefix("at_")}, "Session, User"},
		"both are empty":                {true, false, theirs(""), nil, ""},
		"ours is full":                  {true, true, theirs("") + person, nil, ""},
		"ours is full and not whole":    {true, true, theirs("") + person + "DROP TABLE session;\n", nil, ""},
		"the option":                    {false, false, theirs(""), []mysql.Option{mysql.WithNewTables()}, ""},
		"the option, and ours is empty": {true, false, theirs("") + person, []mysql.Option{mysql.WithNewTables()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), newDatabase(t, env)
			if a := on(t, db, append(slices.Clone(c.options), mysql.WithNewTables())...); c.ours {
				require.NoError(t, a.EnsureSchema(ctx))
				if c.full {
					must(a.CreateUser(ctx, adapter.User{}))(t)
				}
			}
			script(t, &mysqltest.Env{Admin: db}, c.tables)
			_, first := on(t, db, c.options...).GetUserByEmail(ctx, "ada@example.com")
			ensured, checked := on(t, db, c.options...).EnsureSchema(ctx), on(t, db, c.options...).CheckSchema(ctx)
			for call, err := range map[string]error{"the first call": first, "EnsureSchema": ensured, "CheckSchema": checked} {
				refused := err != nil && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), "WithNewTables")
				works := err == nil || call == "the first call" && strings.Contains(err.Error(), "missing: table")
				assert.Falsef(t, c.want == "" && !works || c.want != "" && !refused, "%s: got %v, want %q", call, err, c.want)
			}
		})
	}
}

// newDatabase makes an empty database.
func newDatabase(t *testing.T, env *mysqltest.Env) *sql.DB {
	t.Helper()
	name := "gatehouse_empty_" + strings.ToLower(rand.Text())
	script(t, env, "CREATE DATABASE "+name)
	t.Cleanup(func() { _, _ = env.Admin.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+name) })
	return pool(t, name, func(*driver.Config) {})
}

// TestEnsureSchemaInATransaction is refused: the server would commit it.
func TestEnsureSchemaInATransaction(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	tx := must(env.Admin.BeginTx(t.Context(), nil))(t)
	defer func() { _ = tx.Rollback() }()
	err := on(t, tx, mysql.WithPrefix("t_")).EnsureSchema(t.Context())
	assert.ErrorContains(t, err, "call EnsureSchema with a *sql.DB")
}

// TestArgumentsOfNew: a wrong argument is an error of New.
func TestArgumentsOfNew(t *testing.T) {
	_, err := mysql.New(nil, mysql.WithPrefix("A'b"))
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "db is nil") && strings.Contains(err.Error(), `prefix "A'b"`) &&
		!errors.Is(err, adapter.ErrConflict),
		"got %v", err)
}
