package mysql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
)

// node is a connector to a server that says that it is a node of a Galera cluster. It keeps the statements that return
// no rows.
type node struct {
	driver.Connector
	alone bool   // it says that it is in no cluster
	zone  string // the time zone that the server says it has
	tidb  *tidb  // set if the server refuses what TiDB does
	mu    sync.Mutex
	execs []sent
}

// sent is a statement, and the time that it took.
type sent struct {
	query        string
	began, ended time.Time
}

// changes are the statements that change tables.
func (n *node) changes() (all []string) {
	for _, s := range n.execs {
		if strings.HasPrefix(s.query, "ALTER") || strings.HasPrefix(s.query, "CREATE") {
			all = append(all, s.query)
		}
	}
	return all
}

// link is a connection of a node.
type link struct {
	driver.Conn
	of *node
}

func (n *node) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := n.Connector.Connect(ctx)
	return &link{conn, n}, err
}

func (l *link) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !l.of.alone && strings.HasPrefix(query, "SHOW SESSION VARIABLES") {
		query = "SELECT 'wsrep_on', 'ON' UNION SELECT 'wsrep_sync_wait', '1'"
	}
	if l.of.tidb != nil {
		if err := l.of.tidb.refuses(query); err != nil {
			return nil, err
		}
		query = strings.ReplaceAll(query, "@@version", "CONCAT(@@version, '"+l.of.tidb.says+"')")
	}
	if l.of.zone != "" {
		query = strings.ReplaceAll(query, "@@GLOBAL.time_zone", "'"+l.of.zone+"'")
	}
	return l.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (l *link) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if l.of.tidb != nil {
		if err := l.of.tidb.refuses(query); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	result, err := l.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	l.of.mu.Lock()
	l.of.execs = append(l.of.execs, sent{query, began, time.Now()})
	l.of.mu.Unlock()
	return result, err
}

// nodeOf opens a pool of a node.
func nodeOf(t *testing.T, env *mysqltest.Env) (*node, *sql.DB) {
	t.Helper()
	n := new(node)
	pool(t, databaseOf(t, env), func(c *mysqldriver.Config) {
		var err error
		n.Connector, err = mysqldriver.NewConnector(c.Clone())
		require.NoError(t, err)
	})
	db := sql.OpenDB(n)
	t.Cleanup(func() { _ = db.Close() })
	return n, db
}

// TestTotalOrder: on a Galera cluster EnsureSchema makes tables, and alters none: it is refused before it has changed
// anything.
func TestTotalOrder(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	n, db := nodeOf(t, env)
	a := func() *mysql.Adapter { return on(t, db, mysql.WithPrefix("g_")) }
	require.NoError(t, errors.Join(a().EnsureSchema(t.Context()), a().CheckSchema(t.Context())))
	text := strings.Join(n.changes(), "\n")
	assert.Truef(t, !strings.Contains(text, "ALTER") && len(n.changes()) >= 7, "new tables took %s", text)
	for _, prepare := range []string{
		"ALTER TABLE g_session DROP KEY g_session_expires_idx",
		"ALTER TABLE g_gatehouse_schema DROP COLUMN until, DROP COLUMN migrating", // as the files of Schema make it
		"ALTER TABLE g_session ADD KEY g_session_expires_idx (expires)",
		"DROP TABLE g_passwords",
	} {
		statement(t, env.Admin, prepare)
		n.execs = nil
		err := a().EnsureSchema(t.Context())
		if whole := strings.Contains(prepare, "ADD KEY"); whole != (err == nil) {
			t.Errorf("%s: %v", prepare, err)
		} else if !whole && !strings.Contains(err.Error(), "on a Galera cluster all writes of all nodes wait while a table is changed") {
			t.Errorf("%s: %v", prepare, err)
		}
		assert.NotContainsf(t, strings.Join(n.changes(), "\n"), "ALTER", "%s: EnsureSchema has altered a table", prepare)
	}
}

// TestChangesAreOnline: EnsureSchema alters a table only in the way that lets the site write.
func TestChangesAreOnline(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	n, db := nodeOf(t, env)
	n.alone = true
	statement(t, env.Admin, "ALTER TABLE session DROP KEY session_expires_idx")
	statement(t, env.Admin, "ALTER TABLE gatehouse_schema DROP COLUMN until, DROP COLUMN migrating")
	require.NoError(t, on(t, db).EnsureSchema(t.Context()))
	altered := 0
	for _, change := range n.changes() {
		if strings.HasPrefix(change, "ALTER TABLE") {
			altered++
			assert.Contains(t, change, ", ALGORITHM=INPLACE, LOCK=NONE", "the table is not altered online")
		}
	}
	if altered != 2 {
		t.Errorf("altered: %q", n.changes())
	}
}
