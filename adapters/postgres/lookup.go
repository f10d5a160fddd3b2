package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// lookup runs a statement whose arguments are the parts of a key. A key that
// nothing can have is a miss without a question.
func lookup[T any](ctx context.Context, a *Adapter, op string, scan func(pgx.Rows) (T, error), sql string, key ...string) (*T, error) {
	var found *T
	err := a.call(ctx, op, func(db DB) error {
		if !lookable(key...) {
			return nil
		}
		args := make([]any, len(key))
		for i, part := range key {
			args[i] = part
		}
		rows, err := db.Query(ctx, sql, args...)
		found, err = first(rows, err, scan)
		return err
	})
	return found, err
}

// list runs a statement that takes the ID of a user. An ID that nobody can have
// has an empty list without a question; the list is never nil.
func list[T any](ctx context.Context, a *Adapter, op string, scan func(pgx.Rows) (T, error), userID string, statement func(*idStatements) string) ([]T, error) {
	found := []T{}
	err := a.call(ctx, op, func(db DB) error {
		sql, owner, err := a.owner(ctx, db, userID)
		if err != nil || owner == nil {
			return err
		}
		rows, err := db.Query(ctx, statement(sql), owner)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (T, error) { return scan(rows) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// owner returns the statements and the argument for the ID of a user; nil if
// nobody can have the ID, or if another part of a key is one that nothing has.
func (a *Adapter) owner(ctx context.Context, db DB, userID string, key ...string) (*idStatements, any, error) {
	if !lookable(userID) || !lookable(key...) {
		return nil, nil, nil
	}
	sql, err := a.learn(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	if arg, ok := sql.kind.arg(userID); ok {
		return sql, arg, nil
	}
	return sql, nil, nil
}

// count runs a statement that deletes records, and returns their number.
func count(ctx context.Context, db DB, sql string, args ...any) (int64, error) {
	rows, err := db.Query(ctx, sql, args...)
	if _, err = first(rows, err, noColumns); err != nil {
		return 0, err
	}
	return rows.CommandTag().RowsAffected(), nil
}

// second reads the results of two statements that are one transaction, and
// returns the first row of the second. The commit is part of it: an error there
// is an error of both.
func second[T any](results pgx.BatchResults, scan func(pgx.Rows) (T, error)) (*T, error) {
	var found *T
	rows, err := results.Query()
	if _, err = first(rows, err, noColumns); err == nil {
		rows, err = results.Query()
		found, err = first(rows, err, scan)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}
