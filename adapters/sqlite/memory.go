package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
	if _, err := first.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer rollBack(ctx, first)
	if _, err := second.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return nil //nolint:nilerr // both have one database, which the first has locked
	}
	rollBack(ctx, second)
	return errors.New("the database is in memory, and each connection of the pool has its own: call SetMaxOpenConns(1) and SetConnMaxLifetime(0), or use a file or the memory adapter")
}
