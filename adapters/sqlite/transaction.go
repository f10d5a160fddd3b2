package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// atomically calls run, whose statements all take effect or none. With a pool
// it uses a transaction, which takes the write lock when it begins and is
// repeated as a whole while the database is busy. On the caller's connection
// or transaction it uses a savepoint.
func (a *Adapter) atomically(ctx context.Context, run func(ctx context.Context, tx *Adapter) error) error {
	if a.pool == nil {
		return a.inSavepoint(ctx, run)
	}
	leave, err := a.turns.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return a.refused(a.patiently(ctx, func() error { return a.inTransaction(ctx, run) }))
}

// inTransaction calls run in a transaction of its own.
func (a *Adapter) inTransaction(ctx context.Context, run func(ctx context.Context, tx *Adapter) error) error {
	conn, err := a.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns conn to the pool
	tx := *a
	tx.db, tx.pool = conn, nil
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err == nil {
		err = run(ctx, &tx)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		rollBack(ctx, conn)
	}
	return err
}

// rollBackTime is the time that a driver has to end a transaction. SQLite needs
// none; a driver that reaches a server may hang.
const rollBackTime = 5 * time.Second

// rollBack ends the transaction of conn, if it has one, also when ctx has ended. It
// can't know: a driver returns the error of a context that ends during a BEGIN or
// COMMIT that takes effect, and SQLite itself rolls back a transaction after some
// errors. If rollBack fails, conn leaves the pool.
func rollBack(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
	defer cancel()
	_, _ = conn.ExecContext(ctx, "BEGIN") // takes no lock; fails inside a transaction
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
	}
}

// discard takes conn out of the pool, which closes it.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// inSavepoint calls run in a savepoint of the caller's connection or
// transaction. To begin it, and to undo it, takes no lock: neither has to end
// with ctx, and so neither leaves a doubt about its effect. If undoing fails,
// the caller's connection leaves its pool.
func (a *Adapter) inSavepoint(ctx context.Context, run func(ctx context.Context, tx *Adapter) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	patient := context.WithoutCancel(ctx)
	if _, err := a.db.ExecContext(patient, "SAVEPOINT gatehouse"); err != nil {
		return err
	}
	err := run(ctx, a)
	if err == nil {
		if _, err = a.db.ExecContext(ctx, "RELEASE gatehouse"); err == nil {
			return nil
		}
	}
	if _, undoErr := a.db.ExecContext(patient, "ROLLBACK TO gatehouse; RELEASE gatehouse"); undoErr != nil {
		if conn, ok := a.db.(*sql.Conn); ok {
			discard(conn)
		}
	}
	return err
}
