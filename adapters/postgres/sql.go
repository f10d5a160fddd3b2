package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
)

// SQL has the methods of database/sql that the adapter needs. *sql.DB, *sql.Conn and
// *sql.Tx implement it, and so do the handles of libraries that embed one of them, such as
// *sqlx.DB, *sqlx.Tx, *bun.DB, bun.Tx and the ConnPool of GORM.
type SQL interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// NewSQL is [New] for a program that holds PostgreSQL by database/sql. The driver is the
// one of pgx (github.com/jackc/pgx/v5/stdlib) or lib/pq, or one around them that passes
// statements on, as those for traces do. The adapter keeps the promises that New states:
// a *sql.DB is a pool, and on a *sql.Tx every call is part of the caller's transaction.
//
// What differs from New:
//
//   - lib/pq describes each statement before it runs it, which is one more round trip for
//     every statement. With the setting binary_parameters=yes it is none.
//   - DeleteAuthenticator, DeletePassword, and DeleteUser where a trigger of the site may
//     keep what belongs to the user, are one round trip with the driver of pgx. With others,
//     and in a *sql.Tx, their statements are sent one by one, and those of a transaction.
//   - A call in a *sql.Tx whose context ends returns when the driver does: lib/pq waits for
//     the answer of the server, even if the network is down. Elsewhere the adapter closes
//     the connection 0.5 to 0.75 seconds after the context has ended.
//   - A *sql.Conn must not be in a transaction: give [Adapter.OnSQL] the *sql.Tx.
//   - The first call of an adapter on a *sql.Tx takes one round trip more. It fails if
//     client_encoding is not UTF8, which only statements of pgx change and give back.
func NewSQL(db SQL, opts ...Option) (*Adapter, error) {
	a, err := newAdapter(opts)
	if err == nil {
		_, err = handleOf(db)
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: NewSQL: %w", err)
	}
	return a.OnSQL(db), nil
}

// OnSQL is [Adapter.On] for a handle of database/sql, such as a transaction:
//
//	tx, err := db.BeginTx(ctx, nil)
//	…
//	user, err := store.OnSQL(tx).CreateUser(ctx, user)
//
// If db is none that [NewSQL] accepts, every call of the adapter fails.
func (a *Adapter) OnSQL(db SQL) *Adapter {
	b := *a
	b.db, b.conn, b.turn, b.inTx = nil, nil, nil, false
	b.utf8 = new(atomic.Bool)
	var err error
	if b.std, err = handleOf(db); err != nil {
		b.std = refusedSQL{err}
	}
	switch b.std.(type) {
	case *sql.DB:
	case *sql.Conn:
		b.turn = make(chan struct{}, 1)
	default:
		b.turn, b.inTx = make(chan struct{}, 1), true
	}
	return &b
}

// refusedSQL is a handle that fails.
type refusedSQL struct{ err error }

func (r refusedSQL) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, r.err
}

func (r refusedSQL) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, r.err
}

// handleOf returns db, or the handle of database/sql that it embeds: the methods of bun,
// for instance, look for placeholders of their own in a statement.
func handleOf(db SQL) (SQL, error) {
	v := reflect.ValueOf(db)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("db is nil")
	}
	if inner := embeddedIn(v); inner != nil {
		return inner, nil
	}
	if _, ok := db.(interface {
		Commit() error
		Rollback() error
	}); ok {
		return db, nil
	}
	return nil, fmt.Errorf("%T is neither a pool, a connection nor a transaction: give the *sql.DB, *sql.Conn or *sql.Tx of which it is made", db)
}

// embeddedIn returns v, or what it embeds, if that is a handle of database/sql.
func embeddedIn(v reflect.Value) SQL {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		if v.CanInterface() {
			switch db := v.Interface().(type) {
			case *sql.DB:
				return db
			case *sql.Conn:
				return db
			case *sql.Tx:
				return db
			}
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	for f, field := range v.Fields() {
		if !f.Anonymous {
			continue
		}
		if inner := embeddedIn(field); inner != nil {
			return inner
		}
	}
	return nil
}
