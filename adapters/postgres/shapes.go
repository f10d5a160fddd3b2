package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// get runs a find, and its sure form if the quick one finds nothing, or if its instants can't
// be read.
func get[T any](ctx context.Context, db link, statement find, scan func(rows, *T) error, args ...any) (*T, error) {
	rows, err := db.query(ctx, statement.quick, args...)
	found, err := first(rows, err, scan)
	if found != nil || err != nil && !isUnread(ctx, err) {
		return found, err
	}
	rows, err = db.query(ctx, statement.sure, args...)
	return first(rows, err, scan)
}

// lookup runs a find whose arguments are the parts of a key. For a key that no record can
// have, it returns nil without a query.
func lookup[T any](ctx context.Context, a *Adapter, op string, scan func(rows, *T) error, statement func(*statements) find, key ...string) (found *T, err error) {
	err = a.call(ctx, op, func(db link, sql *statements) (err error) {
		if statement(sql).sure == "" {
			return errNoAuthenticators
		}
		if possibleKey(key...) {
			found, err = get(ctx, db, statement(sql), scan, keyArgs(key)...)
		}
		return err
	})
	return found, err
}

// remove runs a statement that deletes the record with a key. read finds the record.
func remove[T any](ctx context.Context, a *Adapter, op string, scan func(rows, *T) error, statement, read func(*statements) string, key ...string) (removed *T, err error) {
	err = a.call(ctx, op, func(db link, sql *statements) (err error) {
		if !possibleKey(key...) {
			return nil
		}
		args := keyArgs(key)
		removed, err = surely(ctx, db, func() (*T, error) {
			rows, err := db.query(ctx, statement(sql), args...)
			return first(rows, err, scan)
		}, false, read(sql), args...)
		return err
	})
	return removed, err
}

func keyArgs(key []string) []any {
	args := make([]any, len(key))
	for i, part := range key {
		args[i] = part
	}
	return args
}

// list runs a find whose argument is the ID of a user. For an ID that no
// user can have, it returns an empty list without a query. The list is never
// nil.
func list[T any](ctx context.Context, a *Adapter, op string, scan func(rows, *T) error, statement func(*statements) find, userID string) ([]T, error) {
	found := []T{}
	err := a.call(ctx, op, func(db link, sql *statements) error {
		of := statement(sql)
		if of.sure == "" {
			return errNoAuthenticators
		}
		id, ok := sql.ids.arg(userID)
		if !ok {
			return nil
		}
		if of.quick != of.sure {
			rows, err := db.query(ctx, of.quick, id)
			quick := &telling{rows: rows, owner: userID}
			found, err = collect(quick, err, scan)
			if len(found) > 0 && !quick.hidden || err != nil && !isUnread(ctx, err) {
				return err
			}
		}
		rows, err := db.query(ctx, of.sure, id)
		found, err = collect(rows, err, scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// telling are the rows of the quick form of a list: see listing.
type telling struct {
	rows
	owner  string // the first value of each record
	hidden bool   // others may be hidden
}

func (r *telling) Scan(dest ...any) error {
	*dest[0].(*string), dest[0] = r.owner, &r.hidden
	return r.rows.Scan(dest...)
}

// create runs a statement that stores a record of the owner, whose ID is the
// last argument. The values are those of the columns. It distinguishes a key that is already used from an absent
// owner.
func create[T any](ctx context.Context, a *Adapter, op string, scan func(rows, *T) error, statement func(*statements) string, p problems, ownerID, columns string, values []any) (*T, error) {
	var made *T
	err := a.call(ctx, op, func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		if statement(sql) == "" {
			return errNoAuthenticators
		}
		owner, ok := sql.ids.arg(ownerID)
		if !ok {
			return adapter.ErrNotFound
		}
		args, err := sql.args(columns, values)
		if err != nil {
			return err
		}
		read, parts := sql.keyOf(columns)
		err = a.guard(ctx, db, func(db link) (err error) {
			made, err = surely(ctx, db, func() (*T, error) {
				rows, err := db.query(ctx, statement(sql), append(args, owner)...)
				return first(rows, err, scan)
			}, true, read, args[:parts]...)
			return err
		})
		switch {
		case sql.own.violated(err, foreignKeyViolation):
			return adapter.ErrNotFound
		case err == nil && made == nil:
			return adapter.ErrConflict
		}
		return err
	})
	return made, err
}

// keyOf returns the statement that finds a new record by its key, which is the first
// columns, and how many these are.
func (s *statements) keyOf(columns string) (read string, parts int) {
	switch columns {
	case newAccount:
		return s.getAccount.sure, 2
	case newSession:
		return s.getSession, 1
	}
	return s.getAuthenticator.sure, 1
}

// guard runs f under a savepoint if db is a transaction of the caller. The
// transaction then stays usable when the server refuses a statement of f.
func (a *Adapter) guard(ctx context.Context, db link, f func(link) error) error {
	if !a.inTx {
		return f(db)
	}
	return db.savepoint(ctx, f)
}

// inTurn runs two statements in one transaction, and returns the first row of the second.
func inTurn[T any](ctx context.Context, db link, one, two query, scan func(rows, *T) error) (found *T, err error) {
	err = db.inTurn(ctx, one, two, func(rows rows, err error) error {
		found, err = first(rows, err, scan)
		return err
	})
	if err != nil { // also of the commit: both have failed
		return nil, err
	}
	return found, nil
}
