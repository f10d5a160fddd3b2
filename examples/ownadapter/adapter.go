// Package ownadapter is the adapter that docs/write-an-adapter.md builds. It
// uses database/sql, here with SQLite, and keeps every promise of the contract
// in few lines.
package ownadapter

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter stores records in the tables of EnsureSchema. It uses a handle of the
// application and never closes it.
type Adapter struct{ db *sql.DB }

var (
	_ adapter.Adapter = Adapter{}
	_ adapter.Sweeper = Adapter{}
)

// New returns an adapter for a database. The connections of db need
// foreign_keys switched on, and a busy_timeout.
func New(db *sql.DB) Adapter { return Adapter{db} }

// failed returns an error of the kind that the contract requires: a key that
// exists is a conflict, an absent owner is not found, and a call whose context
// has ended fails with the error of the context.
func failed(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	var coded *sqlite.Error
	if errors.As(err, &coded) {
		switch coded.Code() {
		case 1555, 2067: // SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE
			return fmt.Errorf("ownadapter: %s: %w", op, adapter.ErrConflict)
		case 787: // SQLITE_CONSTRAINT_FOREIGNKEY
			return fmt.Errorf("ownadapter: %s: no such user: %w", op, adapter.ErrNotFound)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("ownadapter: %s: %w: %w", op, ctx.Err(), err)
	}
	return fmt.Errorf("ownadapter: %s: %w", op, err)
}

// one runs a statement that yields one row or none. A missing row is not an error: the
// record is nil.
func one[T any](ctx context.Context, a Adapter, op string, scan func(func(...any) error) (*T, error), query string, args ...any) (*T, error) {
	found, err := all(ctx, a, op, scan, query, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// all runs a statement and reads all of its rows. A row that can't be read is
// an error, never a shorter list.
func all[T any](ctx context.Context, a Adapter, op string, scan func(func(...any) error) (*T, error), query string, args ...any) (list []T, err error) {
	rows, err := a.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	list = []T{}
	for rows.Next() {
		record, err := scan(rows.Scan)
		if err != nil {
			return nil, failed(ctx, op, err)
		}
		list = append(list, *record)
	}
	if err := rows.Err(); err != nil {
		return nil, failed(ctx, op, err)
	}
	return list, nil
}

// required returns an error if a record would be created without its key.
func required(op string, keys ...string) error {
	for _, key := range keys {
		if key == "" {
			return fmt.Errorf("ownadapter: %s: a part of the key is empty", op)
		}
	}
	return nil
}

// millis returns an instant as it is stored: in milliseconds, rounded down.
func millis(op string, t time.Time) (int64, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return 0, fmt.Errorf("ownadapter: %s: the year %d can't be stored", op, year)
	}
	return t.UnixMilli(), nil
}

func instant(ms int64) (time.Time, error) {
	t := time.UnixMilli(ms).UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return t, errors.New("a stored instant is outside the years 0 to 9999")
	}
	return t, nil
}

func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}
