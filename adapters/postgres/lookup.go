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
