package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
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

func on(t testing.TB, db mysql.DB, opts ...mysql.Option) *mysql.Adapter {
	t.Helper()
	a, err := mysql.New(db, opts...)
	require.NoError(t, err)
	return a
}

// TestCallersTransaction: what a method does in the caller's transaction is undone with it,
// and a method that fails undoes only its own part.
func TestCallersTransaction(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, pool := t.Context(), on(t, env.Admin)
	conn, err := env.Admin.Conn(ctx)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	for name, begin := range map[string]func() (db mysql.DB, end func(commit bool) error){
		"tx": func() (mysql.DB, func(bool) error) {
			tx, err := env.Admin.BeginTx(ctx, nil)
			require.NoError(t, err)
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}
		},
		"conn": func() (mysql.DB, func(bool) error) {
			_, err := conn.ExecContext(ctx, "START TRANSACTION")
			require.NoError(t, err)
			return conn, func(commit bool) error {
				_, err := conn.ExecContext(ctx, map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit])
				return err
			}
		},
	} {
		for _, commit := range []bool{true, false} {
			db, end := begin()
			a := on(t, db)
			key := name + map[bool]string{true: "-kept", false: "-undone"}[commit]
			user, err := a.CreateUser(ctx, adapter.User{ID: key, Email: key + "@example.com"})
			require.NoError(t, err)
			account := adapter.Account{UserID: user.ID, Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: key}
			_, err = a.LinkAccount(ctx, account)
			require.NoError(t, err)
			// The account is taken: neither the user nor a part of it stays.
			_, err = a.CreateUserWithAccount(ctx, adapter.User{ID: key + "-2"}, account, nil)
			assert.ErrorIsf(t, err, adapter.ErrConflict, "%s: got %v, want a conflict", key, err)
			u, err := a.GetUser(ctx, key+"-2")
			assert.Truef(t, u == nil && err == nil, "%s: half of a sign-up is stored: %v, %v", key, u, err)
			require.NoError(t, end(commit))
			u, err = pool.GetUser(ctx, key)
			assert.Truef(t, (u != nil) == commit && err == nil, "%s: after the end of the transaction: %v, %v", key, u, err)
		}
	}
	a := on(t, conn)
	_, err = a.CreateUser(ctx, adapter.User{ID: "alone"})
	require.NoError(t, err)
	u, err := pool.GetUser(ctx, "alone")
	assert.Truef(t, u != nil && err == nil, "a connection outside a transaction: %v, %v", u, err)
}

// TestTokenNewerThanTheSnapshot: a token that was stored after the snapshot of the caller's
// transaction is used there.
func TestTokenNewerThanTheSnapshot(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, pool := t.Context(), on(t, env.Admin)
	tx, err := env.Admin.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	a := on(t, tx)
	if _, err := a.GetUser(ctx, "nobody"); err != nil { // takes the snapshot
		t.Fatal(err)
	}
	token := adapter.VerificationToken{Identifier: "a@example.com", Token: "t", Expires: time.Now().Add(time.Hour)}
	_, err = pool.CreateVerificationToken(ctx, token)
	require.NoError(t, err)
	got, err := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: token.Identifier, Token: token.Token})
	var refused *driver.MySQLError // innodb_snapshot_isolation refuses such a read, and nothing is lost
	assert.Falsef(t, got == nil && (!errors.As(err, &refused) || refused.Number != 1020), "got %v, %v", got, err)
}

// TestCancelledWriteTakesNoEffect: a write that waits for a lock when its context ends is
// not applied when the lock is free.
func TestCancelledWriteTakesNoEffect(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	a := on(t, env.Admin)
	_, err := a.CreateUser(t.Context(), adapter.User{ID: "ada", Email: "ada@example.com"})
	require.NoError(t, err)
	lock, err := env.Admin.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), "UPDATE `user` SET image = 'x' WHERE id = 'ada'")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")})
		ended <- err
	}()
	go func() { _, err := a.DeleteUser(ctx, "ada"); ended <- err }()
	tick := time.NewTicker(200 * time.Millisecond) // the server's table is a copy that it makes after 100 ms without readers
	defer tick.Stop()
	waiting := 0
	for waiting < 2 { // both wait for the lock
		<-tick.C
		err := env.Admin.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.INNODB_TRX x "+
				"JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE x.trx_state = 'LOCK WAIT' AND p.DB = DATABASE()").Scan(&waiting)
		require.NoError(t, err)
	}
	cancel()
	for range 2 {
		err := <-ended
		assert.ErrorIsf(t, err, context.Canceled, "got %v, want context.Canceled", err)
	}
	require.NoError(t, lock.Commit())
	for left := 1; left > 0; { // until the server has ended the abandoned transactions
		<-tick.C
		err := env.Admin.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.INNODB_TRX x "+
				"JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE p.DB = DATABASE()").Scan(&left)
		require.NoError(t, err)
	}
	if u, err := a.GetUser(t.Context(), "ada"); err != nil || u == nil || u.Email != "ada@example.com" || u.Image == nil {
		t.Errorf("after the lock was free: %+v, %v", u, err)
	}
}

// pool opens a pool of the server with settings, which the caller's test closes.
func pool(t testing.TB, database string, change func(*driver.Config)) *sql.DB {
	t.Helper()
	u := strings.TrimSuffix(strings.TrimPrefix(os.Getenv(serverURL), "mysql://"), "/")
	user, addr, _ := strings.Cut(u, "@")
	c := driver.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.Params = user, "tcp", addr, database, map[string]string{}
	change(c)
	connector, err := driver.NewConnector(c)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestSettingsThatChangeResultsAreRefused: the first call names the setting.
func TestSettingsThatChangeResultsAreRefused(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	database := databaseOf(t, env)
	set := func(name, value string) func(*driver.Config) {
		return func(c *driver.Config) { c.Params[name] = value }
	}
	changes := map[string]func(*driver.Config){
		"charset=utf8mb4":    func(c *driver.Config) { _ = c.Apply(driver.Charset("latin1", "")) },
		"autocommit is off":  set("autocommit", "0"),
		"foreign_key_checks": set("foreign_key_checks", "0"),
		"unique_checks":      set("unique_checks", "0"),
		"READ UNCOMMITTED":   set("transaction_isolation", "'READ-UNCOMMITTED'"),
		"has no database":    func(c *driver.Config) { c.DBName = "" },
	}
	if isMariaDB(env) {
		changes["READ UNCOMMITTED"] = set("tx_isolation", "'READ-UNCOMMITTED'") // the name that 10.6 has too
		changes["EMPTY_STRING_IS_NULL"] = set("sql_mode", "'EMPTY_STRING_IS_NULL'")
	}
	for want, change := range changes {
		a := on(t, pool(t, database, change))
		_, err := a.CreateUser(t.Context(), adapter.User{ID: "x"})
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want), "got %v, want an error that names %q", err, want)
	}
	u, err := on(t, env.Admin).GetUser(t.Context(), "x")
	assert.Truef(t, u == nil && err == nil, "a refused call has stored %v (%v)", u, err)
}

// TestRefusalsOfTheSite: an error of a trigger or key of the site is neither a conflict nor an
// absent owner, and quotes no value.
func TestRefusalsOfTheSite(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, a := t.Context(), on(t, env.Admin)
	for _, s := range []string{
		"CREATE TABLE audit (who VARCHAR(255) PRIMARY KEY, owner VARCHAR(255))",
		"CREATE TRIGGER audited AFTER INSERT ON `user` FOR EACH ROW INSERT INTO audit VALUES (NEW.image, NEW.id)",
		"CREATE TRIGGER told BEFORE INSERT ON `session` FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no session topsecret'",
	} {
		_, err := env.Admin.ExecContext(ctx, s)
		require.NoError(t, err)
	}
	image := "topsecret"
	_, err := a.CreateUser(ctx, adapter.User{ID: "1", Image: &image})
	require.NoError(t, err)
	_, err = a.CreateUser(ctx, adapter.User{ID: "2", Image: &image})
	assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !strings.Contains(err.Error(), "topsecret"),
		"a key of the site: %v", err)
	_, err = a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: "1", Expires: time.Now()})
	assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) &&
		!strings.Contains(err.Error(), "topsecret"), "a trigger of the site: %v", err)
	u, err := a.GetUser(ctx, "2")
	assert.Truef(t, u == nil && err == nil, "a refused user is stored: %v, %v", u, err)
}

// TestServerThatRefusesTheAccount: the error of a connection that the server refuses has its
// number and not its text.
func TestServerThatRefusesTheAccount(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, account := t.Context(), "refused_"+strings.ToLower(rand.Text())[:12]
	run := func(statement string) {
		t.Helper()
		_, err := env.Admin.ExecContext(ctx, statement)
		require.NoError(t, err)
	}
	run("CREATE USER " + account + " IDENTIFIED BY 'topsecret'")
	t.Cleanup(func() { _, _ = env.Admin.ExecContext(context.WithoutCancel(ctx), "DROP USER "+account) })
	run("GRANT ALL ON " + databaseOf(t, env) + ".* TO " + account)
	db := pool(t, databaseOf(t, env), func(c *driver.Config) { c.User, c.Passwd = account, "topsecret" })
	db.SetMaxIdleConns(-1)
	a := on(t, db)
	require.NoError(t, a.EnsureSchema(ctx))
	run("ALTER USER " + account + " IDENTIFIED BY 'another'")
	for method, call := range map[string]func() error{
		"read":         func() error { _, err := a.GetUser(ctx, "nobody"); return err },
		"write":        func() error { _, err := a.CreateUser(ctx, adapter.User{ID: "x"}); return err },
		"EnsureSchema": func() error { return a.EnsureSchema(ctx) },
	} {
		var refused *driver.MySQLError
		err := call()
		assert.Truef(t, errors.As(err, &refused) && refused.Number == 1045 && !strings.Contains(err.Error(), account),
			"%s: got %v, want error 1045 without the server's text", method, err)
	}
}

func isConflict(err error) bool { return errors.Is(err, adapter.ErrConflict) }

// isMariaDB reports whether the server is not MySQL.
func isMariaDB(env *mysqltest.Env) bool { return strings.Contains(env.Version, "MariaDB") }

// databaseOf returns the name of the database.
func databaseOf(t testing.TB, env *mysqltest.Env) (name string) {
	t.Helper()
	require.NoError(t, env.Admin.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
	return name
}

// languages are those of which servers have messages.
var languages = strings.Fields("en_US de_DE fr_FR es_ES it_IT nl_NL pl_PL pt_PT ro_RO sv_SE cs_CZ da_DK et_EE el_GR hu_HU " +
	"ja_JP ko_KR nb_NO ru_RU sr_RS sk_SK uk_UA bg_BG zh_CN ka_GE hi_IN sw_KE")

// TestConflictsInAnyLanguage: the key that the server names is found in its message in each language, also where the
// name decides.
func TestConflictsInAnyLanguage(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, database := t.Context(), databaseOf(t, env)
	taken := adapter.User{ID: "ada", Email: "it's “ada” «1»'@example.com"}
	_, err := on(t, env.Admin).CreateUser(ctx, taken)
	require.NoError(t, err)
	messages := map[string]bool{}
	for _, language := range languages {
		db := pool(t, database, func(c *driver.Config) { c.Params["lc_messages"] = "'" + language + "'" })
		var server *driver.MySQLError
		_, err := db.ExecContext(ctx, "INSERT INTO `user` (id) VALUES ('ada')")
		if errors.As(err, &server) && server.Number == 1649 { // the server does not know the language
			continue
		}
		require.Truef(t, errors.As(err, &server) && server.Number == 1062, "%s: %v", language, err)
		messages[server.Message] = true
		check := func(name string, handle mysql.DB) {
			a := on(t, handle)
			for key, user := range map[string]adapter.User{"user_id_key": {ID: taken.ID}, "user_email_key": {Email: taken.Email}} {
				if _, err := a.CreateUser(ctx, user); !isConflict(err) || !strings.Contains(err.Error(), key) {
					t.Errorf("%s, %s: %v, want a conflict at %s; the server says %s", language, name, err, key, server.Message)
				}
			}
			session := adapter.Session{SessionToken: "s", UserID: "nobody", Expires: time.Now()}
			_, err := a.CreateSession(ctx, session)
			assert.ErrorIsf(t, err, adapter.ErrNotFound, "%s, %s: a session of nobody", language, name)
		}
		check("pool", db)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		check("tx", tx)
		_, _ = tx.Rollback(), db.Close()
	}
	if t.Logf("the server says it in %d ways", len(messages)); len(messages) < 4 {
		t.Errorf("the server has messages in too few languages: %v", messages)
	}
}
