package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// maxTries limits how often a call tries its transaction when the server ends it
// because of a conflict with another transaction. [CONC-15] [FAULT-12]
const maxTries = 40

// call runs f, which is one transaction, when it is its turn. It runs f again if
// the server ended the transaction because of a conflict with another one. Errors
// are wrapped with op.
func (a *Adapter) call(ctx context.Context, op string, f func(db link, sql *statements) error) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return wrap(ctx, op, err)
	}
	defer leave()
	began := time.Now()
	for try := 1; ; try++ {
		var sql *statements
		renamed := false
		err := a.once(ctx, func(db link) (err error) {
			if sql, err = a.statements(ctx, db); err != nil {
				return err
			}
			if err = f(db, sql); err == nil {
				return nil
			}
			renamed = sql.own.lacks(err)
			return refusalOf(err, sql.own)
		})
		if err == nil {
			return nil
		}
		if try < maxTries && isCode(err, readOnlyTransaction) && a.leave(ctx, began) {
			began = time.Now()
			continue // the server has refused the statement before it did anything
		}
		if try == 1 && !a.inTx && (renamed || isCode(err, featureNotSupported, invalidStatementName, invalidInstant, hiddenRows)) {
			a.ready.Store(nil) // somebody may have changed the tables: compare them again
			continue
		}
		if sql != nil && sql.own.violated(err, uniqueViolation) {
			err = fmt.Errorf("%w: %w", adapter.ErrConflict, err)
		}
		if a.inTx || try == maxTries || !isCode(err, serializationFailure, deadlockDetected) || !pause(ctx, try) {
			return wrap(ctx, op, err)
		}
	}
}

// exclusively runs f on a connection when it is its turn.
func (a *Adapter) exclusively(ctx context.Context, f func(db link) error) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return a.once(ctx, f)
}

// enter waits for the turn of a call on a single connection. It returns the
// function that ends the turn.
func (a *Adapter) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.turn == nil {
		return func() {}, nil
	}
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// statements returns the SQL of the methods. The first call of an adapter compares
// the tables with the schema, which takes one more round trip, unless EnsureSchema
// or CheckSchema has already found them complete.
func (a *Adapter) statements(ctx context.Context, db link) (*statements, error) {
	if s := a.ready.Load(); s != nil {
		return a.fitting(db, s), nil
	}
	compared, err := a.compare(ctx, db)
	usable := a.served.Load() != nil && len(compared.refused) == 0 && compared.shape != nil
	if err == nil && !usable { // what somebody changes meanwhile may be repaired by the next EnsureSchema
		err = compared.err()
	}
	if err != nil {
		return nil, err
	}
	return a.fitting(db, a.serve(compared)), nil
}

// serve notes that the tables were complete, and returns the statements that fit them.
func (a *Adapter) serve(compared comparison) *statements {
	s := newStatements(compared.shape)
	a.ready.Store(s)
	a.served.Store(s)
	return s
}

// fitting returns the statements for the settings of the connection.
func (a *Adapter) fitting(db link, s *statements) *statements {
	if db.styled() {
		return s.styled
	}
	return s
}

// once runs f on one connection.
func (a *Adapter) once(ctx context.Context, f func(db link) error) error {
	if a.std != nil {
		return a.onceSQL(ctx, f)
	}
	pool, ok := a.db.(acquirer)
	if !ok {
		return withoutValues(onPgx(ctx, pgxLink{a.db, a.conn}, f))
	}
	conn, err := a.acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = onPgx(ctx, pgxLink{conn, conn.Conn()}, f)
	if conn.Conn().IsClosed() && ctx.Err() == nil {
		a.broken.Store(time.Now().UnixNano())
	}
	return withoutValues(err)
}

// onPgx runs f with the settings that it needs.
func onPgx(ctx context.Context, db pgxLink, f func(db link) error) error {
	defer reset(db.conn)
	return withSettings(ctx, db, f)
}

// acquirer is the part of a *pgxpool.Pool that acquire uses.
type acquirer interface {
	Acquire(ctx context.Context) (*pgxpool.Conn, error)
}

// acquire takes a connection out of the pool. For a second after a connection has
// broken, it skips other broken connections. So when a server restarts or fails
// over, a call may fail because of the connection that it uses, but not because of
// connections that were idle in the pool. pgxpool itself checks connections that
// were idle for longer.
func (a *Adapter) acquire(ctx context.Context, pool acquirer) (conn *pgxpool.Conn, err error) {
	const most = 1000 // broken connections in a pool
	for range most {
		conn, err = pool.Acquire(ctx)
		if err != nil || !lately(a.broken) {
			return conn, err
		}
		//nolint:staticcheck // Ping is a round trip; this check is only for connections that the server has closed
		if conn.Conn().PgConn().CheckConn() == nil {
			return conn, nil
		}
		conn.Release() // conn is closed, and leaves the pool
	}
	return nil, errors.New("all connections that the pool returned were broken")
}

// lately reports whether an instant, in nanoseconds, was in the last second.
func lately(at *atomic.Int64) bool {
	n := at.Load()
	return n != 0 && time.Now().UnixNano()-n <= time.Second.Nanoseconds()
}

// pause waits for a random time: up to 2 ms after the first try, and never longer
// than 64 ms. It reports false if ctx ended first.
func pause(ctx context.Context, try int) bool {
	return sleep(ctx, rand.N(time.Millisecond<<min(try, 6))) == nil
}

// sleep waits for d. It returns the error of ctx if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
