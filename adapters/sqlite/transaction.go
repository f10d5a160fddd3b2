package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// atomically calls run, whose statements all take effect or none. With a pool
// it uses a transaction, which takes the write lock when it begins and is
// repeated as a whole while the database is busy. On the caller's connection
// or transaction it uses a savepoint.
func (a *Adapter) atomically(ctx context.Context, run func(ctx context.Context, tx *Adapter) error) error {
	if a.pool == nil {
		return bracket(ctx, a.db, "SAVEPOINT gatehouse", "RELEASE gatehouse", "ROLLBACK TO gatehouse; RELEASE gatehouse",
			func() error { return run(ctx, a) })
	}
	return a.patiently(ctx, func() error {
		conn, err := a.pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // returns conn to the pool
		tx := *a
		tx.db, tx.pool = conn, nil
		return bracket(ctx, conn, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", func() error { return run(ctx, &tx) })
	})
}

// bracket executes begin, calls do, and executes end. If do or end fails, it
// executes abandon, which undoes the changes. If abandon fails too, the
// connection leaves the pool.
func bracket(ctx context.Context, db DB, begin, end, abandon string, do func() error) error {
	if _, err := db.ExecContext(ctx, begin); err != nil {
		return err
	}
	err := do()
	if err == nil {
		if _, err = db.ExecContext(ctx, end); err == nil {
			return nil
		}
	}
	if _, abandonErr := db.ExecContext(context.WithoutCancel(ctx), abandon); abandonErr != nil {
		if conn, ok := db.(*sql.Conn); ok {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}
	return err
}
