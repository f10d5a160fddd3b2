package mysql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// vitess is a connector that makes of MariaDB what vtgate makes of MySQL.
type vitess struct {
	driver.Connector
	part     string                  // follows the name of the database, as in app@replica
	shards   []string                // of all keyspaces
	strategy string                  // to change tables
	once     *mysqldriver.MySQLError // refuses the next new session
	commit   chan chan struct{}      // takes a channel at each COMMIT, which waits until that is closed
	mu       sync.Mutex
	asked    []string
}

// vitessOf opens a pool of Vitess.
func vitessOf(t *testing.T, env *mysqltest.Env) (*vitess, *sql.DB) {
	t.Helper()
	v := &vitess{strategy: "direct"}
	pool(t, databaseOf(t, env), func(c *mysqldriver.Config) {
		var err error
		v.Connector, err = mysqldriver.NewConnector(c.Clone())
		require.NoError(t, err)
		v.shards = []string{c.DBName + "/0", c.DBName + "_other/-80", c.DBName + "_other/80-"}
	})
	db := sql.OpenDB(v)
	t.Cleanup(func() { _ = db.Close() })
	return v, db
}

// vtgate is a connection of it.
type vtgate struct {
	driver.Conn
	of *vitess
}

func (v *vitess) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := v.Connector.Connect(ctx)
	return &vtgate{conn, v}, err
}

// ask notes a statement, and returns it as MariaDB takes it.
func (v *vitess) ask(query string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, query)
	if query == "SHOW VITESS_SHARDS" {
		return "SELECT '" + strings.Join(v.shards, "' UNION SELECT '") + "'"
	}
	return strings.NewReplacer("@@ddl_strategy", "'"+v.strategy+"'", "@@version, DATABASE()",
		"CONCAT(@@version, '-Vitess'), CONCAT(DATABASE(), '"+v.part+"')").Replace(query)
}

var numberOfVitess = regexp.MustCompile(`\(errno (\d+)\) \(sqlstate (\w{5})\)`)

// as returns an error of MySQL as vtgate sends it, with the number that it finds first.
func (v *vitess) as(err error) error {
	var said *mysqldriver.MySQLError
	if !errors.As(err, &said) {
		return err
	}
	message := fmt.Sprintf("target: app.0.primary: vttablet: rpc error: code = AlreadyExists desc = %s (errno %d) (sqlstate %s) "+
		"(CallerID: userData1): Sql: \"insert into t(`name`) values (_utf8mb4 :vtg1 /* HEXVAL */)\", BindVars: {vtg1: \"type:HEXVAL "+
		"value:\\\"x'6162'\\\"\"}", said.Message, said.Number, said.SQLState[:])
	found := numberOfVitess.FindStringSubmatch(message)
	number, err := strconv.ParseUint(found[1], 10, 16)
	if err != nil {
		return err
	}
	return &mysqldriver.MySQLError{Number: uint16(number), SQLState: [5]byte([]byte(found[2])), Message: message}
}

func (g *vtgate) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := g.Conn.(driver.QueryerContext).QueryContext(ctx, g.of.ask(query), args)
	return rows, g.of.as(err)
}

func (g *vtgate) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query = g.of.ask(query)
	switch {
	case g.of.once != nil && strings.HasPrefix(query, "INSERT INTO `session`"):
		err := g.of.once
		g.of.once = nil
		return nil, err
	case g.of.commit != nil && strings.HasPrefix(query, "COMMIT"):
		answered := make(chan struct{})
		g.of.commit <- answered
		select {
		case <-answered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	result, err := g.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if err != nil && strings.HasPrefix(query, "UPDATE") { // as with foreignKeyMode = managed
		return nil, &mysqldriver.MySQLError{Number: 1452, Message: "Cannot add or update a child row: a foreign key constraint fails"}
	}
	return result, g.of.as(err)
}

// TestVitess: behind Vitess the tables are made, MySQL's errors are told apart although Vitess wraps them, no reading is
// shared with an earlier one, and a call waits for its turn.
func TestVitess(t *testing.T) {
	t.Parallel()
	v, db := vitessOf(t, open(t, mysqltest.Settings{}))
	require.NoError(t, on(t, db, mysql.WithPrefix("v_")).EnsureSchema(t.Context()))
	a, ctx := on(t, db), t.Context()
	user := must(a.CreateUser(ctx, adapter.User{Email: "' (errno 1213) (sqlstate 40001) '@example.com"}))(t)
	refused(a.CreateUser(ctx, adapter.User{Email: user.Email}))(t, "an address that is taken", adapter.ErrConflict)
	session := adapter.Session{SessionToken: "s", UserID: "nobody", Expires: time.Now().Add(time.Hour)}
	refused(a.CreateSession(ctx, session))(t, "a session of nobody", adapter.ErrNotFound)
	session.UserID = user.ID
	v.once = &mysqldriver.MySQLError{Number: 1203, Message: "target: app.0.primary: vttablet: rpc error: code = ResourceExhausted " +
		"desc = transaction pool connection limit exceeded (CallerID: userData1)"}
	must(a.CreateSession(ctx, session))(t)
	to := adapter.SessionUpdate{SessionToken: "s", UserID: adapter.To("nobody")}
	refused(a.UpdateSession(ctx, to))(t, "a session that nobody takes over", adapter.ErrNotFound)
	assert.NotNil(t, must(a.GetSessionAndUser(ctx, "s"))(t), "the session")
	reads := 0
	for _, query := range v.asked {
		if strings.HasPrefix(query, "SELECT") && strings.Contains(query, " FROM `") {
			reads++
			assert.Truef(t, strings.HasPrefix(query, "SELECT /*vt+ CONSOLIDATOR=disabled */ "),
				"a reading may be shared with an earlier one: %s", query)
		}
	}
	assert.NotEqualf(t, 0, reads, "nothing was read: %q", v.asked)
}

// TestVitessRefuses: a keyspace with shards is refused, since a key is unique in each alone, and so are a part of a keyspace
// and tables that are made later. Nothing is made then.
func TestVitessRefuses(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	for i, w := range []struct{ part, shard, strategy, want string }{
		{"", "", "direct", ""},
		{"@primary", "", "direct", ""},
		{"@replica", "", "direct", "@replica, where a read would miss what was just stored"},
		{":-80@primary", "", "direct", ":-80, where a read would miss"},
		{"", "80-", "direct", "the keyspace has 2 shards, and a key is unique in each alone"},
		{"", "", "vitess", `ddl_strategy is "vitess", with which Vitess changes tables later`},
	} {
		v, db := vitessOf(t, env)
		v.part, v.strategy = w.part, w.strategy
		if w.shard != "" {
			v.shards = append(v.shards, strings.TrimSuffix(v.shards[0], "0")+w.shard)
		}
		err := on(t, db, mysql.WithPrefix(fmt.Sprint("r", i, "_"))).EnsureSchema(t.Context())
		assert.Falsef(t, (err == nil) != (w.want == "") || err != nil && !strings.Contains(err.Error(), w.want),
			"%v: got %v", w, err)
		text := strings.Join(v.asked, "\n")
		assert.Falsef(t, err != nil && strings.Contains(text, "CREATE"), "%v: a table was made: %s", w, text)
	}
}

// TestVitessCommit: Vitess ends no COMMIT, so that a call whose context ends waits a second for it, and then says that it
// may come.
func TestVitessCommit(t *testing.T) {
	t.Parallel()
	for _, answers := range []bool{true, false} {
		v, db := vitessOf(t, open(t, mysqltest.Settings{}))
		a := on(t, db)
		require.NoError(t, a.CheckSchema(t.Context()))
		v.commit = make(chan chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := a.CreateUser(ctx, adapter.User{ID: "u"}); ended <- err }()
		answered := <-v.commit
		cancel()
		if answers {
			close(answered)
		}
		began := time.Now()
		err := <-ended
		late := errors.Is(err, context.Canceled) && strings.Contains(err.Error(), "the server may still do it")
		assert.Falsef(t, answers && err != nil || !answers && !late || time.Since(began) > 5*time.Second,
			"answered: %t: after %v: %v", answers, time.Since(began), err)
		if text := strings.Join(v.asked, "\n"); strings.Contains(text, "KILL") || strings.Contains(text, "PROCESSLIST") {
			t.Errorf("what vtgate passes to any MySQL, or kills among its own connections: %s", text)
		}
	}
}
