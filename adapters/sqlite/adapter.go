package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DB is what an Adapter needs of a database. *sql.DB, *sql.Conn and *sql.Tx
// have it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Adapter keeps records in a SQLite database. All methods are safe for
// concurrent use as far as the DB is. Instants are kept to the millisecond,
// rounded down, in the years 0 to 9999; a write with another one fails
// [TIME-02] [TIME-05].
//
// With a *sql.DB the adapter prepares each statement once and keeps it until
// the DB is closed, so make one Adapter per DB, not one per request. With a
// *sql.Conn or *sql.Tx it prepares nothing, and an Adapter costs nothing.
type Adapter struct {
	db     DB
	pool   *sql.DB // db, if it is one
	prefix string
	schema *schema

	checked    *atomic.Bool // the tables were compared with the schema, and nothing is lacking
	statements *sync.Map    // from a query of this package to its *statement
}

var (
	_ adapter.Adapter            = (*Adapter)(nil)
	_ adapter.Sweeper            = (*Adapter)(nil)
	_ adapter.SignUps            = (*Adapter)(nil)
	_ adapter.AccountLists       = (*Adapter)(nil)
	_ adapter.SessionLists       = (*Adapter)(nil)
	_ adapter.AuthenticatorEdits = (*Adapter)(nil)
	_ adapter.TokenEdits         = (*Adapter)(nil)
)

// New returns an adapter over db, which the caller closes. New does not use db, and
// an error is a wrong argument. [Adapter.EnsureSchema] makes the tables. The first
// call of a method compares them with the schema, and fails with a text that says what
// is lacking.
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
	return &Adapter{db: db, pool: pool, prefix: o.prefix, schema: currentSchema, checked: new(atomic.Bool), statements: new(sync.Map)}, nil
}

// named gives the tables, indexes and triggers of a query their prefix: every
// name in double quotes is one of them.
func (a *Adapter) named(query string) string {
	return quotedName.ReplaceAllString(query, `"`+a.prefix+`$1"`)
}

var quotedName = regexp.MustCompile(`"(\w+)"`)
