package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DB has the methods of a database handle that the adapter needs. *pgxpool.Pool,
// *pgx.Conn, *pgxpool.Conn and pgx.Tx implement it.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Adapter implements [adapter.Adapter], [adapter.Sweeper] and all optional interfaces of package adapter. It
// is safe for concurrent use on every kind of handle: on a single connection or a transaction its calls take
// turns.
type Adapter struct {
	db      DB  // nil with database/sql
	std     SQL // nil with pgx
	names   names
	schema  *schema
	ready   *atomic.Pointer[statements] // holds nil until the tables were compared with the schema
	served  *atomic.Pointer[statements] // the last ones that fitted the tables; nil until these were complete once
	broken  *atomic.Int64               // the last time that a connection of the pool broke, in nanoseconds since 1970
	demoted *demotion
	conn    *pgx.Conn     // nil on a pool
	turn    chan struct{} // holds an item while a call uses conn; nil on a pool
	inTx    bool
	utf8    *atomic.Bool // with database/sql: the first call has looked at client_encoding
	late    *late        // the statements of database/sql
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

// New returns an adapter on db, which the caller closes. New does not touch the
// network. It fails if db is nil or if an option has a name that PostgreSQL can't use.
//
// [Adapter.EnsureSchema] makes the tables. The first call of any method compares
// the tables with the schema; if something is missing, it fails with an error that
// names it.
//
// After a server has restarted or failed over, a call may fail because its connection
// is broken. The same call succeeds the second time, even if other connections of the
// pool are broken too.
//
// On a pool every call is its own transaction. The call tries it up to forty times if
// the server ends it because of a deadlock or a serialization failure. On a pgx.Tx
// every call is part of the caller's transaction. The call is not repeated there.
// After an [adapter.ErrConflict] or [adapter.ErrNotFound] the transaction is still
// usable; every other error of the server aborts it.
//
// The calls of two adapters that New made on one *pgx.Conn or pgx.Tx do not take
// turns. Use one adapter there, or [Adapter.On].
func New(db DB, opts ...Option) (*Adapter, error) {
	if db == nil {
		return nil, errors.New("postgres: New: db is nil")
	}
	a, err := newAdapter(opts)
	if err != nil {
		return nil, fmt.Errorf("postgres: New: %w", err)
	}
	return a.On(db), nil
}

// newAdapter returns an adapter without a handle.
func newAdapter(opts []Option) (*Adapter, error) {
	var o options
	for _, opt := range opts {
		opt.apply(&o)
	}
	n, err := newNames(o)
	if err != nil {
		return nil, err
	}
	return &Adapter{names: n, schema: currentSchema, ready: new(atomic.Pointer[statements]), served: new(atomic.Pointer[statements]), broken: new(atomic.Int64), demoted: new(demotion), late: new(late)}, nil
}

// On returns an adapter with the same options on another handle, such as a
// transaction:
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		_, err := store.On(tx).CreateUser(ctx, user)
//		return err
//	})
//
// It is cheap: the new adapter shares the result of the comparison of the tables with
// the schema.
func (a *Adapter) On(db DB) *Adapter {
	b := *a
	b.db, b.std, b.conn, b.turn = db, nil, nil, nil
	_, b.inTx = db.(pgx.Tx)
	switch on := db.(type) {
	case *pgx.Conn:
		b.conn = on
	case interface{ Conn() *pgx.Conn }:
		b.conn = on.Conn()
	}
	if b.conn != nil {
		b.turn = make(chan struct{}, 1)
	}
	return &b
}

// isPool reports whether the handle is a pool that may commit without waiting for the disk.
func (a *Adapter) isPool() bool {
	_, pgx := a.db.(*pgxpool.Pool)
	_, std := a.std.(*sql.DB)
	return pgx || std
}
