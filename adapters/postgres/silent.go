package postgres

import (
	"context"
	"errors"
)

// errNotDone means that a statement changed nothing, and that the records don't explain
// it: a trigger returned null, a rule or row security left the row out, or a further
// unique key of the site refused it.
var errNotDone = errors.New("the site refused the change without an error: a trigger, a rule, row security or a further unique key of the table")

// surely runs a write that returns no row. A new record that is not stored has a key that
// another record has, and a record that is not changed is absent. If the key says something
// else, somebody may have changed the record in between, so the write is tried again.
func surely[T any](ctx context.Context, db link, write func() (*T, error), taken bool, read string, key ...any) (*T, error) {
	for range 3 {
		written, err := write()
		if err != nil || written != nil {
			return written, err
		}
		there, err := exists(ctx, db, read, key...)
		if err != nil || there == taken {
			return nil, err
		}
	}
	return nil, errNotDone
}

// exists reports whether a statement finds a record.
func exists(ctx context.Context, db link, read string, key ...any) (bool, error) {
	rows, err := db.query(ctx, read, key...)
	found, err := first(rows, err, ignoreColumns)
	return found != nil, err
}

// countSurely runs a deletion of many records. It returns how many are deleted.
func countSurely(ctx context.Context, db link, deletion, read string, key ...any) (deleted int64, err error) {
	_, err = surely(ctx, db, func() (*int64, error) {
		n, err := db.exec(ctx, deletion, key...)
		if deleted += n; n == 0 {
			return nil, err
		}
		return &n, err
	}, false, read, key...)
	return deleted, err
}
