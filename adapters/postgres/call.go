package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// maxTries bounds how often a call is tried when the server ends its
// transaction for the sake of another. [CONC-15] [FAULT-12]
const maxTries = 40

// call runs f, which is one transaction, when it is its turn, and again if it
// lost against another transaction. Errors come back wrapped with op.
func (a *Adapter) call(ctx context.Context, op string, f func(db DB) error) error {
	if err := ctx.Err(); err != nil {
		return wrap(ctx, op, err)
	}
	if a.turn != nil {
		select {
		case a.turn <- struct{}{}:
			defer func() { <-a.turn }()
		case <-ctx.Done():
			return wrap(ctx, op, ctx.Err())
		}
	}
	for try := 1; ; try++ {
		err := a.once(ctx, f)
		if err == nil {
			return nil
		}
		if a.inTx || try == maxTries || !lostToAnother(err) || !pause(ctx, try) {
			return wrap(ctx, op, err)
		}
	}
}

// once runs f on one connection.
func (a *Adapter) once(ctx context.Context, f func(db DB) error) error {
	pool, ok := a.db.(interface {
		Acquire(ctx context.Context) (*pgxpool.Conn, error)
	})
	if !ok {
		defer abandon(a.conn)
		return f(a.db)
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer abandon(conn.Conn())
	return f(conn)
}

// lostToAnother reports whether the server undid the transaction because of a
// concurrent one, so that it may succeed when tried again.
func lostToAnother(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == serializationFailure || pgErr.Code == deadlockDetected)
}

// pause waits a random while, up to 2 ms after the first try and never more
// than 64 ms. It reports false if ctx ended first.
func pause(ctx context.Context, try int) bool {
	t := time.NewTimer(rand.N(time.Millisecond << min(try, 6)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
