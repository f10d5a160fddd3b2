package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// atomically runs what takes several statements: all of them take effect or
// none. With a pool that is a transaction, which has the write lock from its
// beginning and is repeated as a whole while the database is busy; on the
// caller's connection or transaction it is a savepoint.
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
		defer func() { _ = conn.Close() }() // back to the pool
		tx := *a
		tx.db, tx.pool = conn, nil
		return bracket(ctx, conn, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", func() error { return run(ctx, &tx) })
	})
}

// bracket runs do between begin and end, or abandons what do did. A connection
// that can do neither is not used again.
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
