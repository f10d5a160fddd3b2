package mysql_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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

// opened opens a pool of two connections with the options of a DSN.
func opened(t *testing.T, database, options string) *sql.DB {
	t.Helper()
	u := strings.TrimSuffix(strings.TrimPrefix(os.Getenv(serverURL), "mysql://"), "/")
	user, addr, _ := strings.Cut(u, "@")
	c := must(driver.ParseDSN(user + "@tcp(" + addr + ")/" + database + "?" + options))(t)
	c.Logger = &driver.NopLogger{}
	connector := must(driver.NewConnector(c))(t)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// records writes a record of each kind through one adapter, and reads them through another.
func records(t *testing.T, options, id string, writes, reads *mysql.Adapter) {
	t.Helper()
	ctx := t.Context()
	at := time.Date(2031, 3, 28, 2, 30, 0, 987e6, time.UTC)
	name := `Zoë 🗝 \' " -- ; ` + "\x00\n "
	user := adapter.User{ID: id, Name: &name, Email: id + "@example.com", EmailVerified: &at}
	account := adapter.Account{UserID: id, Type: adapter.AccountOIDC, Provider: "p ",
		ProviderAccountID: id, ExpiresAt: new(int64(1) << 53),
		AuthorizationDetails: json.RawMessage(`[{"n":9007199254740993}]`)}
	session := adapter.Session{SessionToken: "s " + id, UserID: id, Expires: at}
	token := adapter.VerificationToken{Identifier: id, Token: "t", Expires: at}
	passkey := adapter.Authenticator{CredentialID: "c" + id, UserID: id, ProviderAccountID: id,
		Counter: 1 << 40, CredentialBackedUp: true}
	must(writes.CreateUserWithAccount(ctx, user, account, nil))(t)
	must(writes.CreateSession(ctx, session))(t)
	must(writes.CreateVerificationToken(ctx, token))(t)
	must(writes.CreateAuthenticator(ctx, passkey))(t)
	both := &adapter.SessionAndUser{Session: session, User: user}
	assert.Equal(t, both, must(reads.GetSessionAndUser(ctx, session.SessionToken))(t), options)
	assert.Equal(t, &account, must(reads.GetAccount(ctx, account.ProviderAccountID, account.Provider))(t), options)
	assert.Nil(t, must(reads.GetAccount(ctx, account.ProviderAccountID, "p"))(t), options) // without the space
	assert.Equal(t, []adapter.Authenticator{passkey}, must(reads.ListAuthenticatorsByUserID(ctx, id))(t), options)
	assert.Equal(t, &token, must(reads.UseVerificationToken(ctx, token.Key()))(t), options)
	assert.Nil(t, must(writes.UseVerificationToken(ctx, token.Key()))(t), options)
	user.Image = new("")
	for range 2 { // the second time it changes nothing
		updated := must(reads.UpdateUser(ctx, adapter.UserUpdate{ID: id, Image: adapter.To(user.Image)}))(t)
		assert.Equal(t, &user, updated, options)
	}
	assert.Equal(t, &user, must(writes.GetUser(ctx, id))(t), options)
	assert.Equal(t, &user, must(reads.DeleteUser(ctx, id))(t), options)
	assert.Nil(t, must(writes.GetUser(ctx, id))(t), options)
}

// TestOptionsThatChangeNothing: with these options of the DSN the adapter makes the same tables,
// writes the same records and reads what others have written.
func TestOptionsThatChangeNothing(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	database, plain := databaseOf(t, env), on(t, env.Admin)
	all := []string{
		"multiStatements=true", "columnsWithAlias=true", "allowOldPasswords=true", "compress=true", "rejectReadOnly=true",
		"maxAllowedPacket=0", "maxAllowedPacket=4096", "timeTruncate=1h", "clientFoundRows=true&interpolateParams=true",
		"parseTime=true&loc=America%2FNew_York&time_zone='-05:00'", "collation=utf8mb4_unicode_ci", "charset=utf8mb4,latin1",
		"sql_auto_is_null=1", "innodb_strict_mode=0", "default_storage_engine=MyISAM",
		"explicit_defaults_for_timestamp=0",
		"sql_mode='ALLOW_INVALID_DATES,ANSI_QUOTES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES," +
			"NO_UNSIGNED_SUBTRACTION,NO_ZERO_DATE,NO_ZERO_IN_DATE,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,REAL_AS_FLOAT'",
	}
	if isMariaDB(env) {
		all = append(all, "sql_mode='TIME_ROUND_FRACTIONAL,SIMULTANEOUS_ASSIGNMENT,MSSQL,MAXDB,DB2'",
			"storage_engine=MyISAM", "old_mode=''")
	}
	for i, options := range all {
		db, name := opened(t, database, options), fmt.Sprint("o", i)
		with, made := on(t, db), []mysql.Option{mysql.WithPrefix(name + "_")}
		records(t, options, name+"w", with, plain)
		records(t, options, name+"r", plain, with)
		if !strings.Contains(options, "mode") && !strings.Contains(options, "default") {
			continue // it does not concern tables, which take longest
		}
		err := errors.Join(on(t, db, made...).EnsureSchema(t.Context()), on(t, env.Admin, made...).CheckSchema(t.Context()))
		assert.NoErrorf(t, err, "%s, the tables", options)
	}
}

// TestOptionsThatChangeResults are refused by the first call, which names the setting.
func TestOptionsThatChangeResults(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	database := databaseOf(t, env)
	for options, want := range map[string]string{
		"charset=utf8": "character_set_client", "charset=utf8,utf8mb4": "character_set_client",
		"charset=gbk":    "character_set_client",
		"charset=binary": "character_set_results", "collation=latin1_swedish_ci": "character_set_connection",
		"character_set_results=NULL": "character_set_results", "character_set_client=latin1": "character_set_client",
		"completion_type=1": "completion_type is CHAIN",
		"completion_type=2": "completion_type is RELEASE",
	} {
		_, err := on(t, opened(t, database, options)).GetUser(t.Context(), "nobody")
		assert.ErrorContains(t, err, want, options)
	}
}

// TestRejectReadOnly: with this option the driver closes a connection that a read-only server
// refuses. Writes then reach the server that takes them, and where there is none the error says
// why. Reads work.
func TestRejectReadOnly(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, readOnly := t.Context(), "transaction_read_only=1"
	if isMariaDB(env) {
		readOnly = "tx_read_only=1" // the name that 10.6 has too
	}
	never := on(t, opened(t, databaseOf(t, env), readOnly+"&rejectReadOnly=true"))
	assert.Nil(t, must(never.GetUser(ctx, "x"))(t), "a read of a read-only server")
	for range 3 {
		_, err := never.CreateUser(ctx, adapter.User{ID: "x"})
		assert.ErrorContains(t, err, "the server is read-only", "a write on a read-only server")
	}
	db := opened(t, databaseOf(t, env), "rejectReadOnly=true")
	a := on(t, db)
	require.NoError(t, a.CheckSchema(ctx))
	var demoted []*sql.Conn
	for range 2 {
		conn := must(db.Conn(ctx))(t)
		statement(t, conn, "SET SESSION TRANSACTION READ ONLY")
		demoted = append(demoted, conn)
	}
	for _, conn := range demoted {
		_ = conn.Close() // returns it to the pool
	}
	for _, id := range []string{"1", "2", "3"} {
		_, err := a.CreateUser(ctx, adapter.User{ID: id})
		assert.NoError(t, err, "a write after the server of the connections has become read-only")
	}
}

// TestReadOnlyServersAreLeft: the numbers of servers that read and refuse writes, one of which
// only a server of another vendor sends. The trigger refuses on the connections of before.
func TestReadOnlyServersAreLeft(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	for i, code := range []int{1290, 1792, 1836} {
		db := opened(t, databaseOf(t, env), "")
		a := on(t, db)
		id := fmt.Sprint("before", i)
		var all []*sql.Conn
		must(a.CreateUser(ctx, adapter.User{ID: id}))(t)
		for range 2 {
			all = append(all, must(db.Conn(ctx))(t))
		}
		for _, conn := range all {
			_ = conn.Close() // returns it to the pool
		}
		newest := number(t, env.Admin, "SELECT MAX(id) FROM information_schema.processlist")
		name := fmt.Sprint("refuse", code)
		statement(t, env.Admin, fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON `user` FOR EACH ROW IF NEW.id LIKE 'after%d%%' AND CONNECTION_ID() <= %d "+
			"THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'read-only'; END IF", name, i, newest, code))
		for n := range 4 {
			_, err := a.CreateUser(ctx, adapter.User{ID: fmt.Sprint("after", i, "-", n)})
			assert.NoErrorf(t, err, "%d: write %d", code, n)
		}
		assert.NotNilf(t, must(a.GetUser(ctx, id))(t), "%d: a read", code)
	}
}
