package sqlite

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// busyWait is the time after which a call stops trying again on a database
// that another connection has locked. A wait in the driver that has begun by
// then still ends first.
const busyWait = 10 * time.Second

// statement is a query that fits the tables. It is prepared if the adapter has a
// pool.
type statement struct {
	text      string
	arguments []argument
	absent    error // it needs a table that the site does not have
	same      bool  // the arguments of the call are those of the statement
	prepared  atomic.Pointer[sql.Stmt]
}

func (a *Adapter) statement(query string) *statement {
	s, ok := a.statements.Load(query)
	if !ok {
		s, _ = a.statements.LoadOrStore(query, a.shape.Load().fill(query, a.quoted))
	}
	return s.(*statement)
}

// on returns the statement prepared on the pool, where it stays until the pool
// is closed. If two callers prepare it at the same time, the slower one closes
// its own and takes the other, so that no caller waits for the context of
// another.
func (s *statement) on(ctx context.Context, pool *sql.DB) (*sql.Stmt, error) {
	if prepared := s.prepared.Load(); prepared != nil {
		return prepared, nil
	}
	prepared, err := pool.PrepareContext(ctx, s.text)
	if err != nil {
		return nil, err
	}
	if s.prepared.CompareAndSwap(nil, prepared) {
		return prepared, nil
	}
	return s.prepared.Load(), prepared.Close() //nolint:sqlclosecheck // closes the duplicate
}

func (a *Adapter) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	s := a.statement(query)
	args, err := s.bind(args)
	if err != nil {
		return nil, err
	}
	if a.pool == nil {
		return a.db.QueryContext(ctx, s.text, args...)
	}
	prepared, err := s.on(ctx, a.pool) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}

// ready compares the tables with the schema, once for each adapter, unless
// EnsureSchema or CheckSchema has already found them complete.
func (a *Adapter) ready(ctx context.Context) error {
	if a.checked.Load() {
		return a.file.sameLately()
	}
	if err := a.oneMemory(ctx); err != nil {
		return err
	}
	return a.check(ctx)
}

// one runs a query that yields one row or none. It returns the result of read
// for the row, or nil.
func one[T any](ctx context.Context, a *Adapter, query string, read func(*sql.Rows) (*T, error), args ...any) (*T, error) {
	for range mostSilent {
		var record *T
		err := a.inTurn(ctx, query, func() error {
			record = nil
			return a.each(ctx, query, args, func(rows *sql.Rows) (err error) {
				record, err = read(rows)
				return err
			})
		})
		again := false
		if err == nil && record == nil {
			again, err = a.silently(ctx, query, args)
		}
		if err != nil {
			return nil, a.refused(err)
		}
		if !again {
			return record, nil
		}
	}
	return nil, errNotDone
}

// mostSilent is how often a statement is tried that changes nothing although a record meets
// its condition: another caller may have made the record in between.
const mostSilent = 3

// all runs a query and returns the results of read for its rows, never a nil
// slice.
func all[T any](ctx context.Context, a *Adapter, query string, read func(*sql.Rows) (*T, error), args ...any) ([]T, error) {
	var list []T
	err := a.patiently(ctx, func() error {
		list = []T{}
		return a.each(ctx, query, args, func(rows *sql.Rows) error {
			record, err := read(rows)
			if err == nil {
				list = append(list, *record)
			}
			return err
		})
	})
	if err != nil {
		return nil, a.refused(err)
	}
	return list, nil
}

// exec runs a statement that yields no rows, and returns the number of rows
// that it changed.
func (a *Adapter) exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	for range mostSilent {
		err = a.inTurn(ctx, query, func() error {
			if err := a.ready(ctx); err != nil {
				return err
			}
			s := a.statement(query)
			bound, err := s.bind(args)
			if err != nil {
				return err
			}
			result, err := a.db.ExecContext(ctx, s.text, bound...)
			if err != nil {
				return err
			}
			changed, err = result.RowsAffected()
			return err
		})
		again := false
		if err == nil && changed == 0 {
			again, err = a.silently(ctx, query, args)
		}
		if err != nil || !again {
			return changed, a.refused(err)
		}
	}
	return 0, errNotDone
}

func readBool(rows *sql.Rows) (*bool, error) {
	v := new(bool)
	return v, rows.Scan(v)
}

// each passes every row of a query to read. It reads to the end of the rows: a
// statement with RETURNING commits after its last row, so its success is
// certain only then. [FAULT-01] [FAULT-09]
func (a *Adapter) each(ctx context.Context, query string, args []any, read func(*sql.Rows) error) error {
	rows, err := a.query(ctx, query, args)
	return drain(rows, err, read)
}

func drain(rows *sql.Rows, err error, read func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// With a pool, patiently calls run again while the database is busy: run is
// then a whole transaction, which the busy database has rolled back. Inside
// the caller's transaction patiently calls run once, because repeating one
// statement may not help; there only the driver's busy timeout applies.
// [CONC-15] [FAULT-12]
func (a *Adapter) patiently(ctx context.Context, run func() error) error {
	began := time.Now()
	for delay := time.Millisecond; ; delay = min(2*delay, 64*time.Millisecond) {
		err := run()
		if err == nil || a.pool == nil || !isBusy(err) || time.Since(began) > busyWait {
			return err
		}
		if sleep(ctx, delay/2+rand.N(delay)) != nil {
			return err
		}
	}
}
