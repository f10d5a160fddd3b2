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
	return must(mysql.New(db, opts...))(t)
}

// TestCallersTransaction: what a method does in the caller's transaction is undone with it,
// and a method that fails undoes only its own part.
func TestCallersTransaction(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, pool := t.Context(), on(t, env.Admin)
	conn := must(env.Admin.Conn(ctx))(t)
	defer func() { _ = conn.Close() }()
	for name, begin := range map[string]func() (db mysql.DB, end func(commit bool) error){
		"tx": func() (mysql.DB, func(bool) error) {
			tx := must(env.Admin.BeginTx(ctx, nil))(t)
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}
		},
		"conn": func() (mysql.DB, func(bool) error) {
			must(conn.ExecContext(ctx, "START TRANSACTION"))(t)
			return conn, func(commit bool) error {
				return erred(conn.ExecContext(ctx, map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit]))
			}
		},
	} {
		for _, commit := range []bool{true, false} {
			db, end := begin()
			a := on(t, db)
			key := name + map[bool]string{true: "-kept", false: "-undone"}[commit]
			user := must(a.CreateUser(ctx, adapter.User{ID: key, Email: key + "@example.com"}))(t)
			account := adapter.Account{UserID: user.ID, Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: key}
			must(a.LinkAccount(ctx, account))(t)
			// The account is taken: neither the user nor a part of it stays.
			_, err := a.CreateUserWithAccount(ctx, adapter.User{ID: key + "-2"}, account, nil)
			assert.ErrorIsf(t, err, adapter.ErrConflict, "%s: got %v, want a conflict", key, err)
			assert.Nilf(t, must(a.GetUser(ctx, key+"-2"))(t), "%s: half of a sign-up is stored", key)
			require.NoError(t, end(commit))
			u, err := pool.GetUser(ctx, key)
			assert.Truef(t, (u != nil) == commit && err == nil, "%s: after the end of the transaction: %v, %v", key, u, err)
		}
	}
	a := on(t, conn)
	must(a.CreateUser(ctx, adapter.User{ID: "alone"}))(t)
	assert.NotNil(t, must(pool.GetUser(ctx, "alone"))(t), "a connection outside a transaction")
}

// TestTokenNewerThanTheSnapshot: a token that was stored after the snapshot of the caller's
// transaction is used there.
func TestTokenNewerThanTheSnapshot(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, pool := t.Context(), on(t, env.Admin)
	tx := must(env.Admin.BeginTx(ctx, nil))(t)
	defer func() { _ = tx.Rollback() }()
	a := on(t, tx)
	must(a.GetUser(ctx, "nobody"))(t) // takes the snapshot
	token := adapter.VerificationToken{Identifier: "a@example.com", Token: "t", Expires: time.Now().Add(time.Hour)}
	must(pool.CreateVerificationToken(ctx, token))(t)
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
	must(a.CreateUser(t.Context(), adapter.User{ID: "ada", Email: "ada@example.com"}))(t)
	lock := must(env.Admin.BeginTx(t.Context(), nil))(t)
	must(lock.ExecContext(t.Context(), "UPDATE `user` SET image = 'x' WHERE id = 'ada'"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")})
		ended <- err
	}()
	go func() { _, err := a.DeleteUser(ctx, "ada"); ended <- err }()
	awaitTransactions(t, env, 2, "x.trx_state = 'LOCK WAIT'") // both wait for the lock
	cancel()
	for range 2 {
		err := <-ended
		assert.ErrorIsf(t, err, context.Canceled, "got %v, want context.Canceled", err)
	}
	require.NoError(t, lock.Commit())
	awaitTransactions(t, env, 0, "TRUE") // until the server has ended the abandoned ones
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
	connector := must(driver.NewConnector(c))(t)
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
		assert.ErrorContains(t, err, want)
	}
	assert.Nil(t, must(on(t, env.Admin).GetUser(t.Context(), "x"))(t), "a refused call has stored")
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
		must(env.Admin.ExecContext(ctx, s))(t)
	}
	image := "topsecret"
	must(a.CreateUser(ctx, adapter.User{ID: "1", Image: &image}))(t)
	_, err := a.CreateUser(ctx, adapter.User{ID: "2", Image: &image})
	assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !strings.Contains(err.Error(), "topsecret"),
		"a key of the site: %v", err)
	_, err = a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: "1", Expires: time.Now()})
	assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) &&
		!strings.Contains(err.Error(), "topsecret"), "a trigger of the site: %v", err)
	assert.Nil(t, must(a.GetUser(ctx, "2"))(t), "a refused user is stored")
}

// TestServerThatRefusesTheAccount: the error of a connection that the server refuses has its
// number and not its text.
func TestServerThatRefusesTheAccount(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, account := t.Context(), "refused_"+strings.ToLower(rand.Text())[:12]
	statement(t, env.Admin, "CREATE USER "+account+" IDENTIFIED BY 'topsecret'")
	t.Cleanup(func() { _, _ = env.Admin.ExecContext(context.WithoutCancel(ctx), "DROP USER "+account) })
	statement(t, env.Admin, "GRANT ALL ON "+databaseOf(t, env)+".* TO "+account)
	db := pool(t, databaseOf(t, env), func(c *driver.Config) { c.User, c.Passwd = account, "topsecret" })
	db.SetMaxIdleConns(-1)
	a := on(t, db)
	require.NoError(t, a.EnsureSchema(ctx))
	statement(t, env.Admin, "ALTER USER "+account+" IDENTIFIED BY 'another'")
	for method, call := range map[string]func() error{
		"read":         func() error { return erred(a.GetUser(ctx, "nobody")) },
		"write":        func() error { return erred(a.CreateUser(ctx, adapter.User{ID: "x"})) },
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
	must(on(t, env.Admin).CreateUser(ctx, taken))(t)
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
		tx := must(db.BeginTx(ctx, nil))(t)
		check("tx", tx)
		_, _ = tx.Rollback(), db.Close()
	}
	if t.Logf("the server says it in %d ways", len(messages)); len(messages) < 4 {
		t.Errorf("the server has messages in too few languages: %v", messages)
	}
}
