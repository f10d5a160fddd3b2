package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DB has the methods of a database that an Adapter needs. *sql.DB, *sql.Conn and
// *sql.Tx implement it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Adapter keeps records in a SQLite database. All methods are safe for concurrent use
// as far as the DB is. Instants are kept to the millisecond, rounded down. A write
// fails if its instant is outside the years 0 to 9999 [TIME-02] [TIME-05].
//
// With a *sql.DB the adapter prepares each statement once and keeps it until the DB is
// closed, so make one Adapter per DB, not one per request. With a *sql.Conn or *sql.Tx
// it prepares nothing, and making an Adapter is cheap.
type Adapter struct {
	db     DB
	pool   *sql.DB // db, if it is a *sql.DB
	prefix string
	layout Layout
	schema *schema
	tables map[string]string // the names of the tables by their default names, without the prefix

	foreign   bool // the layout is of others: EnsureSchema changes nothing
	told      bool // the layout says how instants are stored
	newTables bool // may stand beside those of another library

	checked    *atomic.Bool           // the tables were compared with the schema, and nothing is lacking
	shape      *atomic.Pointer[shape] // of the tables that were compared
	file       *databaseFile          // of the database, noted by the first call
	turns      queue                  // of the writes on the pool, shared by all its adapters
	statements *sync.Map              // from a query of this package to its *statement
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
	_ adapter.EmailRequirer        = (*Adapter)(nil)
	_ adapter.Passwords            = (*Adapter)(nil)
)

// New returns an adapter over db, which the caller closes. New sends nothing to the
// database; its error means that an argument is wrong. [Adapter.EnsureSchema] makes
// the tables. The first call of any method compares the tables with the schema; if
// something is missing, it fails with an error that names it.
func New(db DB, opts ...Option) (*Adapter, error) {
	pool, isPool := db.(*sql.DB)
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
		return nil, fmt.Errorf("sqlite: new: %w", err)
	}
	a := &Adapter{db: db, pool: pool, prefix: o.prefix, schema: currentSchema, foreign: o.layout != nil, newTables: o.newTables,
		checked: new(atomic.Bool), shape: new(atomic.Pointer[shape]), file: new(databaseFile), turns: turnsOf(pool), statements: new(sync.Map)}
	if a.foreign {
		a.layout = *o.layout
	}
	if a.told = a.layout.Instants != 0; !a.told {
		a.layout.Instants = Milliseconds
	}
	a.tables = a.layout.tableNames()
	return a, nil
}

// named puts the names of the tables, and the prefix, in place of the default names of
// tables, indexes and triggers in a query, which are the names in double quotes.
func (a *Adapter) named(query string) string {
	return quotedName.ReplaceAllStringFunc(query, a.quoted)
}

func (a *Adapter) quoted(name string) string { return `"` + a.bare(strings.Trim(name, `"`)) + `"` }

// bare returns the name of a table by its default name, with the prefix.
func (a *Adapter) bare(name string) string {
	if other, ok := a.tables[name]; ok {
		name = other
	}
	return a.prefix + name
}

var quotedName = regexp.MustCompile(`"(\w+)"`)
