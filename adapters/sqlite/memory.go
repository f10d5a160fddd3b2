package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// oneMemory returns an error for a database in memory, if each connection of the pool
// has its own: what one stores, the others don't find.
func (a *Adapter) oneMemory(ctx context.Context) error {
	if a.pool == nil || a.pool.Stats().MaxOpenConnections == 1 {
		return nil
	}
	file := ""
	rows, err := a.pool.QueryContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`)
	if err := drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&file) }); err != nil || file != "" {
		return err
	}
	first, err := a.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }() // returns it to the pool
	second, err := a.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }()
	const probe = 0x67617465 // an application ID that lasts for a moment
	var before, seen int64
	if err := first.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&before); err != nil {
		return err
	}
	if _, err := first.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, probe)); err != nil {
		return err
	}
	err = second.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&seen)
	if _, restoreErr := first.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(`PRAGMA application_id = %d`, before)); err == nil {
		err = restoreErr
	}
	if err != nil || seen == probe { // both have one database
		return err
	}
	return errors.New("the database is in memory, and each connection of the pool has its own: call SetMaxOpenConns(1) and SetConnMaxLifetime(0), or use a file or the memory adapter")
}
