package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DB has the methods of a database that an Adapter needs. *sql.DB, *sql.Conn and
// *sql.Tx implement it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Adapter keeps records in a MariaDB or MySQL database. All methods are safe for
// concurrent use. Instants are kept to the millisecond, rounded down. A write fails if
// its instant is outside the years 1 to 9999 [TIME-02] [TIME-05].
//
// With a *sql.DB each write is a transaction, which is repeated after a deadlock. With a
// *sql.Conn it is a transaction too, or a savepoint in the transaction that the connection
// is in. With a *sql.Tx it is a savepoint. In a transaction of the caller nothing is
// repeated: a deadlock undoes the whole of it, and the error says so. Calls on one
// connection wait for each other.
//
// The driver closes the connection of a call whose context ends. A COMMIT that waits then
// is killed over another connection of the pool, within a second. On a *sql.Conn the call
// waits for it, up to 5 s.
type Adapter struct {
	db     DB
	pool   *sql.DB // db, if it is a *sql.DB
	inTx   bool    // db is a *sql.Tx
	prefix string
	names  *strings.Replacer // puts the prefix before the names of tables, keys and indexes
	filled *sync.Map         // statements as they are sent, without values
	turn   chan struct{}     // the turn on a single connection; nil with a pool

	layout    *Layout // of a site's tables; nil for the adapter's own
	shape     *atomic.Pointer[shape]
	newTables bool // may stand beside those of another library
	ready     *atomic.Bool
	demotion  *demotion
	texts     *atomic.Bool  // the driver returns instants as texts, and not as time.Time
	galera    *atomic.Bool  // the server is a node of a Galera cluster
	tidb      *atomic.Bool  // the server is TiDB
	vitess    *atomic.Bool  // the server is Vitess
	packet    *atomic.Int64 // the longest statement that the server takes, in bytes; 0 is not known
	lease     time.Duration // to change the tables
}

var (
	_ adapter.Adapter              = (*Adapter)(nil)
	_ adapter.Sweeper              = (*Adapter)(nil)
	_ adapter.SignUps              = (*Adapter)(nil)
	_ adapter.AccountLists         = (*Adapter)(nil)
	_ adapter.SessionLists         = (*Adapter)(nil)
	_ adapter.AuthenticatorEdits   = (*Adapter)(nil)
	_ adapter.AuthenticatorBackups = (*Adapter)(nil)
	_ adapter.TokenEdits           = (*Adapter)(nil)
	_ adapter.Passwords            = (*Adapter)(nil)
)

// table returns the name of a table in the database.
func (a *Adapter) table(name string) string {
	if a.layout != nil {
		name = a.layout.tableNames()[name]
	}
	return a.prefix + name
}

// New returns an adapter over db, which the caller closes. New sends nothing to the
// server; its error means that an argument is wrong. [Adapter.EnsureSchema] makes the
// tables.
func New(db DB, opts ...Option) (*Adapter, error) {
	pool, isPool := db.(*sql.DB)
	_, inTx := db.(*sql.Tx)
	var o options
	var problems []error
	if db == nil || isPool && pool == nil {
		problems = append(problems, errors.New("db is nil"))
	}
	for _, opt := range opts {
		if err := opt.apply(&o); err != nil {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("mysql: new: %w", err)
	}
	a := &Adapter{db: db, pool: pool, inTx: inTx, prefix: o.prefix, names: withPrefix(o.prefix, o.layout), filled: new(sync.Map),
		layout: o.layout, shape: new(atomic.Pointer[shape]), newTables: o.newTables, ready: new(atomic.Bool), demotion: new(demotion),
		texts: new(atomic.Bool), galera: new(atomic.Bool), tidb: new(atomic.Bool), vitess: new(atomic.Bool),
		packet: new(atomic.Int64), lease: leaseLength}
	if !isPool {
		a.turn = make(chan struct{}, 1)
	}
	return a, nil
}

// withPrefix puts a prefix before the names of this package, which stand in backticks in
// statements, or before those of the site.
func withPrefix(prefix string, layout *Layout) *strings.Replacer {
	var pairs []string
	for _, t := range tables {
		if layout != nil {
			pairs = append(pairs, "`"+t.name+"`", "`"+prefix+layout.tableNames()[t.name]+"`")
			continue
		}
		for _, name := range append(t.keyNames(), t.name) {
			pairs = append(pairs, "`"+name+"`", "`"+prefix+name+"`")
		}
	}
	pairs = append(pairs, "`"+versionTable+"`", "`"+prefix+versionTable+"`")
	return strings.NewReplacer(pairs...)
}
