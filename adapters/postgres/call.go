package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// maxTries bounds how often a call is tried when the server ends its
// transaction for the sake of another. [CONC-15] [FAULT-12]
const maxTries = 40

// call runs f, which is one transaction, when it is its turn, and again if it
// lost against another transaction. Errors come back wrapped with op.
func (a *Adapter) call(ctx context.Context, op string, f func(db DB, sql *statements) error) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return wrap(ctx, op, err)
	}
	defer leave()
	for try := 1; ; try++ {
		err := a.once(ctx, func(db DB) error {
			sql, err := a.statements(ctx, db)
			if err != nil {
				return err
			}
			return f(db, sql)
		})
		if err == nil {
			return nil
		}
		if a.inTx || try == maxTries || !isCode(err, serializationFailure, deadlockDetected) || !pause(ctx, try) {
			return wrap(ctx, op, err)
		}
	}
}

// exclusively runs f on a connection when it is its turn.
func (a *Adapter) exclusively(ctx context.Context, f func(db DB) error) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return a.once(ctx, f)
}

// enter waits for the turn of a call, on a single connection, and returns what
// ends the turn.
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

// statements returns the SQL of the methods. The first call in the life of an
// adapter compares the tables with the schema, one more round trip, unless
// EnsureSchema or CheckSchema has done so.
func (a *Adapter) statements(ctx context.Context, db DB) (*statements, error) {
	if s := a.ready.Load(); s != nil {
		return s, nil
	}
	tables, err := a.look(ctx, db)
	if err != nil {
		return nil, err
	}
	compared := a.schema.compare(a.names, tables)
	if err := compared.err(); err != nil {
		return nil, err
	}
	s := newStatements(a.names, compared.ids)
	a.ready.Store(s)
	return s, nil
}

// once runs f on one connection.
func (a *Adapter) once(ctx context.Context, f func(db DB) error) error {
	pool, ok := a.db.(acquirer)
	if !ok {
		defer reset(a.conn)
		return withoutValues(f(a.db))
	}
	conn, err := a.acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer reset(conn.Conn())
	err = f(conn)
	if conn.Conn().IsClosed() && ctx.Err() == nil {
		a.broken.Store(time.Now().UnixNano())
	}
	return withoutValues(err)
}

// acquirer is a *pgxpool.Pool.
type acquirer interface {
	Acquire(ctx context.Context) (*pgxpool.Conn, error)
}

// acquire takes a connection out of the pool. For a second after one has broken it
// passes by those that have broken too: when a server restarts or fails over, a call
// fails for the connection that it was using, and not for each that was idle in the
// pool. Connections that were idle for longer pgxpool looks at itself.
func (a *Adapter) acquire(ctx context.Context, pool acquirer) (conn *pgxpool.Conn, err error) {
	const most = 1000 // dead connections in a pool
	for range most {
		conn, err = pool.Acquire(ctx)
		if err != nil || time.Now().UnixNano()-a.broken.Load() > time.Second.Nanoseconds() {
			return conn, err
		}
		//nolint:staticcheck // Ping is a round trip; a server that has gone without a word is not what this is for
		if conn.Conn().PgConn().CheckConn() == nil {
			return conn, nil
		}
		conn.Release() // it is closed, and leaves the pool
	}
	return nil, errors.New("every connection of the pool breaks at once")
}

// pause waits a random while, up to 2 ms after the first try and never more
// than 64 ms. It reports false if ctx ended first.
func pause(ctx context.Context, try int) bool {
	return sleep(ctx, rand.N(time.Millisecond<<min(try, 6))) == nil
}

// sleep waits, and returns the error of ctx if that ends first.
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
