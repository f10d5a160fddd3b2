package mysql_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// advised finds the statements in an error.
var advised = regexp.MustCompile(`\b(?:SET |ALTER TABLE |RENAME TABLE |GRANT )[^;]*`)

var (
	adaExpires = time.Date(2037, 7, 2, 12, 0, 0, 123e6, time.UTC)
	adaName    = "Adá"
)

// farFromUTC opens a connection whose zone is not UTC.
func farFromUTC(t *testing.T, env *mysqltest.Env) *sql.Conn {
	t.Helper()
	conn := must(env.Admin.Conn(t.Context()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	runOn(t, conn, "SET time_zone = '-05:00'")
	return conn
}

func runOn(t *testing.T, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := conn.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

// storeAda stores a person with an account, a session and a passkey.
func storeAda(t *testing.T, a *mysql.Adapter) {
	t.Helper()
	ctx := t.Context()
	must(a.CreateUserWithAccount(ctx, adapter.User{ID: "ada", Name: &adaName, Email: "ada@example.com"},
		adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1", ExpiresAt: new(int64(1700000000))}, nil))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "theirs", UserID: "ada", Expires: adaExpires}))(t)
	must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "ada@example.com", Token: "link", Expires: adaExpires}))(t)
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: "ada", CredentialID: "credential", Counter: 5}))(t)
}

// isAda checks that the person and the records are what they were, and that the person can
// be deleted with all of them.
func isAda(t *testing.T, a *mysql.Adapter) {
	t.Helper()
	ctx := t.Context()
	user := must(a.GetUserByEmail(ctx, "ada@example.com"))(t)
	account := must(a.GetAccount(ctx, "1", "p"))(t)
	both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
	passkey := must(a.GetAuthenticator(ctx, "credential"))(t)
	link := must(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "ada@example.com", Token: "link"}))(t)
	switch {
	case user == nil || user.ID != "ada" || user.Name == nil || *user.Name != adaName:
		t.Errorf("the user is %+v", user)
	case account == nil || account.UserID != "ada" || account.ExpiresAt == nil || *account.ExpiresAt != 1700000000:
		t.Errorf("the account is %+v", account)
	case both == nil || both.User.ID != "ada" || !both.Session.Expires.Equal(adaExpires):
		t.Errorf("the session is %+v", both)
	case link == nil || !link.Expires.Equal(adaExpires) || passkey == nil || passkey.UserID != "ada" || passkey.Counter != 5:
		t.Errorf("the link is %+v, the passkey %+v", link, passkey)
	}
	must(a.DeleteUser(ctx, "ada"))(t)
	assert.Nil(t, must(a.GetAccount(ctx, "1", "p"))(t), "the account of a deleted user is left")
}

// TestAdviceCanBeFollowed runs the statements that an error gives, in a session far from UTC,
// until EnsureSchema accepts the tables. Then every user and session is what it was.
func TestAdviceCanBeFollowed(t *testing.T) {
	t.Parallel()
	naive := mysql.Prisma()
	naive.UTC = false
	for name, c := range map[string]struct {
		layout *mysql.Layout
		change string
	}{
		"engine": {nil, "ALTER TABLE session DROP FOREIGN KEY session_userId_fkey; " +
			"ALTER TABLE session DROP KEY session_sessionToken_key, DROP KEY session_userId_idx, ENGINE=MyISAM"},
		"timestamps": {nil, "SET time_zone = '+00:00'; " +
			"ALTER TABLE session MODIFY expires TIMESTAMP(3) NOT NULL; " +
			"ALTER TABLE verificationToken MODIFY expires TIMESTAMP(3) NOT NULL"},
		"short key":       {nil, "ALTER TABLE session MODIFY sessionToken VARCHAR(100) COLLATE %s NOT NULL"},
		"text key":        {nil, "ALTER TABLE account MODIFY type TINYTEXT NOT NULL"},
		"folding address": {nil, "ALTER TABLE `user` MODIFY email VARCHAR(320) COLLATE utf8mb4_general_ci"},
		"folding IDs":     {nil, idsWith("utf8mb4_general_ci", 255, "user", "account", "session", "authenticator", "passwords")},
		"no column":       {nil, "ALTER TABLE account DROP COLUMN scope, DROP COLUMN authorization_details"},
		"unsigned":        {nil, "ALTER TABLE account MODIFY expires_at BIGINT UNSIGNED"},
		"small numbers":   {nil, "ALTER TABLE account MODIFY expires_at INT"},
		"name is required": {nil, "UPDATE account SET token_type = ''; " +
			"ALTER TABLE account MODIFY token_type MEDIUMTEXT COLLATE %s NOT NULL"},
		"own column": {nil, "ALTER TABLE `user` ADD COLUMN shoe VARCHAR(20) CHARACTER SET latin1 NOT NULL COMMENT 'size', ADD COLUMN tier ENUM('a', 'b') NOT NULL, ADD COLUMN points DECIMAL(9,2) UNSIGNED NOT NULL"},
		"digest": {nil, "ALTER TABLE authenticator DROP COLUMN credential, " +
			"ADD COLUMN credential BINARY(32) NOT NULL"},
		"no foreign key": {nil, "ALTER TABLE account DROP FOREIGN KEY account_userId_fkey"},
		"foreign key, no action": {nil, "ALTER TABLE account DROP FOREIGN KEY account_userId_fkey; " +
			"ALTER TABLE account ADD CONSTRAINT account_userId_fkey FOREIGN KEY (userId) REFERENCES `user` (id)"},
		"foreign key restricts": {nil, "ALTER TABLE session ADD CONSTRAINT own FOREIGN KEY (userId) REFERENCES `user` (id)"},
		"version table": {nil, "DROP TABLE gatehouse_schema; " +
			"CREATE TABLE gatehouse_schema (id INT PRIMARY KEY); ALTER TABLE session DROP KEY session_expires_idx"},

		"Prisma, name is required": {new(mysql.Prisma()), "ALTER TABLE User MODIFY name VARCHAR(191) NOT NULL, " +
			"MODIFY image VARCHAR(191) DEFAULT 'x'; UPDATE Account SET scope = ''; " +
			"ALTER TABLE Account MODIFY scope VARCHAR(191) NOT NULL"},
		"Prisma, latin1":     {new(mysql.Prisma()), "ALTER TABLE User MODIFY name VARCHAR(191) CHARACTER SET latin1; ALTER TABLE Session MODIFY sessionToken VARCHAR(191) CHARACTER SET latin1 NOT NULL"},
		"Prisma, latin1 IDs": {new(mysql.Prisma()), idsWith("latin1_swedish_ci", 191, "User", "Account", "Session", "Authenticator")},
		"Prisma, char":       {new(mysql.Prisma()), "ALTER TABLE User MODIFY email CHAR(100) NOT NULL"},
		"Prisma, own column": {new(mysql.Prisma()), "ALTER TABLE Session ADD tenant VARCHAR(20) NOT NULL, " +
			"ADD kind ENUM('a', 'b') CHARACTER SET latin1 NOT NULL"},
		"Prisma, no key": {new(mysql.Prisma()), "ALTER TABLE Session DROP INDEX Session_sessionToken_key"},
		"Prisma, text as key": {new(mysql.Prisma()), "ALTER TABLE Session DROP INDEX Session_sessionToken_key, " +
			"MODIFY sessionToken TEXT NOT NULL"},
		"Prisma, small number": {new(mysql.Prisma()), "ALTER TABLE Authenticator MODIFY counter SMALLINT NOT NULL"},
		"Prisma, engine": {new(mysql.Prisma()), "ALTER TABLE Session DROP FOREIGN KEY Session_userId_fkey; " +
			"ALTER TABLE Session ENGINE=MyISAM"},
		"Prisma, no column": {new(mysql.Prisma()), "ALTER TABLE Account DROP COLUMN access_token, " +
			"DROP COLUMN session_state"},
		"Prisma, zone unknown": {&naive, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, options := mysqltest.Settings{}, []mysql.Option(nil)
			if c.layout != nil {
				settings, options = mysqltest.Settings{Site: "Prisma", AsTheyAre: true}, []mysql.Option{mysql.WithLayout(*c.layout)}
			}
			env := open(t, settings)
			filled := on(t, env.Admin)
			if c.layout != nil {
				filled = on(t, env.Admin, mysql.WithLayout(mysql.Prisma()))
			}
			storeAda(t, filled)
			conn := farFromUTC(t, env)
			for change := range strings.SplitSeq(strings.ReplaceAll(c.change, "%s", exact(env)), "; ") {
				if change != "" {
					runOn(t, conn, change)
				}
			}
			follow(t, env, options...)
			isAda(t, on(t, env.Admin, options...))
		})
	}
}

// idsWith gives the IDs of users another collation.
func idsWith(collation string, length int, users string, owned ...string) string {
	var dropped, changed, added []string
	for _, table := range owned {
		key := table + "_userId_fkey"
		dropped = append(dropped, fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s", table, key))
		changed = append(changed, fmt.Sprintf("ALTER TABLE %s MODIFY userId VARCHAR(%d) COLLATE %s NOT NULL", table, length, collation))
		added = append(added, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY (userId) REFERENCES `%s` (id) ON DELETE CASCADE", table, key, users))
	}
	changed = append(changed, fmt.Sprintf("ALTER TABLE `%s` MODIFY id VARCHAR(%d) COLLATE %s NOT NULL", users, length, collation))
	return strings.Join(slices.Concat(dropped, changed, added), "; ")
}

// follow runs the statements of errors until EnsureSchema and CheckSchema accept the tables.
func follow(t *testing.T, env *mysqltest.Env, options ...mysql.Option) {
	t.Helper()
	for range 6 {
		a := on(t, env.Admin, options...)
		err := a.EnsureSchema(t.Context())
		if err == nil {
			require.NoError(t, on(t, env.Admin, options...).CheckSchema(t.Context()))
			return
		}
		statements := advised.FindAllString(err.Error(), -1)
		require.NotEmptyf(t, statements, "no statement in %v", err)
		runOn(t, farFromUTC(t, env), statements...)
	}
	t.Fatalf("after the statements: %v", on(t, env.Admin, options...).EnsureSchema(t.Context()))
}

// TestChangesAtASiteWithTablesOfItsOwn: the statements of SchemaChanges can be run where other
// tables refer to the users, and where foreign keys have other rules. Each rule stays.
func TestChangesAtASiteWithTablesOfItsOwn(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{Site: "Prisma", AsTheyAre: true})
	a := on(t, env.Admin, mysql.WithLayout(mysql.Prisma()))
	storeAda(t, a)
	script(t, env, "CREATE TABLE Post (id INT PRIMARY KEY, authorId VARCHAR(191) NOT NULL, CONSTRAINT Post_author FOREIGN KEY (authorId) REFERENCES User (id) ON DELETE CASCADE) "+
		"DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\nINSERT INTO Post VALUES (1, 'ada');\n"+
		"ALTER TABLE Session DROP FOREIGN KEY Session_userId_fkey;\n"+
		"ALTER TABLE Session ADD CONSTRAINT Session_userId_fkey FOREIGN KEY (userId) REFERENCES User (id) ON DELETE RESTRICT")
	rules := foreignKeys(t, env)
	changes := must(on(t, env.Admin, mysql.WithLayout(mysql.Prisma())).SchemaChanges(t.Context()))(t)
	require.NotEmpty(t, changes)
	runOn(t, farFromUTC(t, env), changes...)
	a = on(t, env.Admin, mysql.WithLayout(mysql.Prisma()))
	assert.Empty(t, must(a.SchemaChanges(t.Context()))(t), "after the statements")
	assert.Subset(t, foreignKeys(t, env), rules, "a foreign key has another rule")
	isAda(t, a)
}

// foreignKeys returns the rules of all foreign keys.
func foreignKeys(t *testing.T, env *mysqltest.Env) map[string]string {
	t.Helper()
	rows, err := env.Admin.QueryContext(t.Context(), "SELECT CONSTRAINT_NAME, CONCAT(DELETE_RULE, ', ', UPDATE_RULE) "+
		"FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	rules := map[string]string{}
	for rows.Next() {
		var name, rule string
		require.NoError(t, rows.Scan(&name, &rule))
		rules[name] = rule
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, rules)
	return rules
}

// TestGrantsCanBeFollowed: an administrator runs the statements that an error gives, and the
// account can then make all calls.
func TestGrantsCanBeFollowed(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	inNoDatabase := pool(t, "", func(*driver.Config) {})
	for i, right := range serving {
		a := account(t, env, fmt.Sprintf("few%d_", i), without(serving, right))
		_, err := a.GetUser(t.Context(), "x")
		statements := advised.FindAllString(fmt.Sprint(err), -1)
		require.NotEmptyf(t, statements, "without %s: no statement in %v", right, err)
		for _, s := range statements {
			statement(t, inNoDatabase, s)
		}
		_, err = a.GetUser(t.Context(), "x")
		assert.NoErrorf(t, err, "with %v", statements)
	}
}

// exact is the collation of keys.
func exact(env *mysqltest.Env) string {
	if strings.Contains(env.Version, "MariaDB") {
		return "utf8mb4_nopad_bin"
	}
	return "utf8mb4_0900_bin"
}
