package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// on is what the statements of a call run on: the pool, a connection, or the caller's
// transaction.
type on struct {
	a      *Adapter
	db     DB
	theirs bool // db is in the caller's transaction
	shape  *shape
}

// on returns what the statements of a call run on, after the tables were compared.
func (a *Adapter) on(db DB, theirs bool) on { return on{a, db, theirs, a.shape.Load()} }

// statement returns the text that is sent. The server answers to a text that is too long for
// it by closing the connection, which does not say why.
func (o on) statement(query string, args []any) (string, error) {
	query, err := o.filled(query, args)
	if most := o.a.packet.Load(); err == nil && most > 0 && int64(len(query)) >= most {
		err = fmt.Errorf("a value is longer than max_allowed_packet: the statement has %d bytes, and the server takes %d",
			len(query), most)
	}
	return query, err
}

// castToText makes the server write an instant. A driver that parses it would put it into its
// zone, in which an hour may be missing. For others the server writes it anyway, in less time.
var castToText = regexp.MustCompile(`CAST\((\w\.\w+) AS CHAR\)`)

// locksOfTiDB has the locks that TiDB knows. It refuses shared ones, and locks nothing where it should skip what is locked.
var locksOfTiDB = strings.NewReplacer(" LOCK IN SHARE MODE", " FOR UPDATE", " SKIP LOCKED", "")

// notShared begins a reading of Vitess. Without it, a reading gets the answer of an equal one that another connection has
// begun earlier, and so may miss what was stored in between.
const notShared = "SELECT /*vt+ CONSOLIDATOR=disabled */ "

// filled returns the statement with its names and values.
func (o on) filled(query string, args []any) (string, error) {
	if o.a.tidb.Load() {
		query = locksOfTiDB.Replace(query)
	}
	if rest, reads := strings.CutPrefix(query, "SELECT "); reads && o.a.vitess.Load() {
		query = notShared + rest
	}
	switch {
	case o.shape != nil:
		query, err := o.shape.fill(o.a.names, query)
		return fill(query, args), err
	case o.a.prefix != "" || o.a.layout != nil || o.a.texts.Load():
		filled, ok := o.a.filled.Load(query)
		if !ok { // the statements of this package are few
			plain := query
			if o.a.texts.Load() {
				plain = castToText.ReplaceAllString(query, "$1")
			}
			filled = o.a.names.Replace(plain)
			o.a.filled.Store(query, filled)
		}
		query = filled.(string) //nolint:forcetypeassert // nothing else is stored
	}
	return fill(query, args), nil
}

// query runs a statement that yields rows, and passes each to read. It reads to the end:
// only then is it certain that no row is missing. [FAULT-09]
func (o on) query(ctx context.Context, query string, read func(*sql.Rows) error, args ...any) error {
	query, err := o.statement(query, args)
	if err != nil {
		return err
	}
	rows, err := o.db.QueryContext(ctx, query)
	if err != nil {
		return o.a.refusalOf(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return o.a.refusalOf(rows.Err())
}

// exec runs a statement that yields no rows, and returns the number of rows that it
// changed.
func (o on) exec(ctx context.Context, query string, args ...any) (int64, error) {
	query, err := o.statement(query, args)
	if err != nil {
		return 0, err
	}
	result, err := o.db.ExecContext(ctx, query)
	if err != nil {
		return 0, o.a.refusalOf(err)
	}
	return result.RowsAffected()
}

// one returns the result of read for the row of a query that yields one or none, or nil.
func one[T any](ctx context.Context, o on, query string, read func(*sql.Rows) (*T, error), args ...any) (record *T,
	err error) {
	err = o.query(ctx, query, func(rows *sql.Rows) (err error) {
		record, err = read(rows)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return record, nil
}

// everything is the limit of a list: without one, sql_select_limit would shorten it.
const everything = " LIMIT 18446744073709551615"

// get reads one record.
func get[T any](ctx context.Context, a *Adapter, op, query string, read func(*sql.Rows) (*T, error),
	args ...any) (record *T, err error) {
	err = a.read(ctx, op, func(o on) error {
		record, err = one(ctx, o, query, read, args...)
		return err
	})
	return record, err
}

// list reads records. It never returns a nil slice without an error.
func list[T any](ctx context.Context, a *Adapter, op, query string, read func(*sql.Rows) (*T, error),
	args ...any) (records []T, err error) {
	err = a.read(ctx, op, func(o on) error {
		records = []T{}
		return o.query(ctx, query+everything, func(rows *sql.Rows) error {
			record, err := read(rows)
			if err == nil {
				records = append(records, *record)
			}
			return err
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// connection takes a connection of the pool.
func (a *Adapter) connection(ctx context.Context) (*sql.Conn, error) {
	conn, err := a.pool.Conn(ctx)
	return conn, a.refusalOf(err)
}

// read runs statements that read.
func (a *Adapter) read(ctx context.Context, op string, run func(o on) error) error {
	return a.call(ctx, op, func() error {
		if a.pool == nil { // a connection may be in a transaction of the caller
			return ofCaller(run(a.on(a.db, a.inTx)))
		}
		began := time.Now()
		conn, err := a.connection(ctx)
		if err != nil {
			return err
		}
		defer a.demotion.release(conn, began)
		err = run(a.on(conn, false))
		if isNumber(err, noCluster) && a.demotion.left(ctx, a.pool, began) {
			return fmt.Errorf("%w: %w", errLeft, err)
		}
		return err
	})
}

// callersError is an error in a transaction of the caller: nothing is tried again there.
type callersError struct{ error }

func (e callersError) Unwrap() error { return e.error }

// ofCaller returns the error of a call in a transaction of the caller.
func ofCaller(err error) error {
	switch {
	case err == nil:
		return nil
	case isNumber(err, deadlock, checkedRead):
		err = fmt.Errorf("the server has undone the whole transaction of the caller: %w", err)
	}
	return callersError{err}
}

// write runs statements that all take effect or none.
func (a *Adapter) write(ctx context.Context, op string, run func(o on) error) error {
	return a.call(ctx, op, func() error {
		switch db := a.db.(type) {
		case *sql.DB:
			began := time.Now()
			conn, err := a.connection(ctx)
			if err != nil {
				return err
			}
			defer a.demotion.release(conn, began)
			return a.inTransaction(ctx, conn, run)
		case *sql.Conn:
			inside, err := a.inside(ctx, db)
			if err != nil {
				return err
			}
			if !inside {
				return a.inTransaction(ctx, db, run)
			}
		}
		return ofCaller(a.inSavepoint(ctx, run))
	})
}

// maxTries limits how often a call tries its transaction when the server ends it because
// of another one. [CONC-15] [FAULT-12]
const maxTries = 40

// call waits for its turn, makes the adapter ready, and runs f. It runs f again if the
// server has undone its transaction because of another one, and if the server of the
// connection has become read-only.
func (a *Adapter) call(ctx context.Context, op string, f func() error) error {
	leave, err := a.enter(ctx)
	if err != nil {
		return failed(ctx, op, err)
	}
	defer leave()
	if !a.ready.Load() {
		if err := a.prepare(ctx); err != nil {
			return failed(ctx, op, err)
		}
	}
	for try := 1; ; try++ {
		err := f()
		if err == nil {
			return nil
		}
		again := isNumber(err, deadlock, lockWaitTimeout, checkedRead) || errors.Is(err, errLeft) ||
			a.tidb.Load() && (isNumber(err, unknownError, writeConflict) || vanished(err)) ||
			a.vitess.Load() && isNumber(err, tooMany)
		if callers := (callersError{}); errors.As(err, &callers) {
			return failed(ctx, op, callers.error)
		}
		if !again || try == maxTries || sleep(ctx, rand.N(time.Millisecond<<min(try, 6))) != nil {
			return failed(ctx, op, err)
		}
	}
}

// enter waits for the turn of a call on a single connection. It returns the function that
// ends the turn.
func (a *Adapter) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.turn == nil {
		return func() {}, nil
	}
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inTransaction runs statements in a transaction. A statement that waits for a lock when
// ctx ends may still run on the server, but it is never committed, except for COMMIT itself,
// which is ended.
func (a *Adapter) inTransaction(ctx context.Context, conn *sql.Conn, run func(o on) error) error {
	began := time.Now()
	_, err := conn.ExecContext(ctx, "START TRANSACTION")
	if err == nil {
		err = run(a.on(conn, false))
	}
	if err == nil {
		err = on{a, conn, false, nil}.lasting(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	err = a.refusalOf(err)
	switch {
	case a.pool != nil && ctx.Err() != nil:
		discard(conn)
	case a.pool != nil && (closed(err) || isNumber(err, optionPrevents, readOnlyTx, readOnlyMode, noCluster)) && a.demotion.left(ctx, a.pool, began):
		discard(conn)
		return fmt.Errorf("%w: %w", errLeft, err)
	default:
		rollBack(ctx, conn)
	}
	return err
}

// errLeft means that a connection was left, because its server refuses writes, or everything.
var errLeft = errors.New("the connection was closed")

// rollBackTime is the time that the server has to undo a transaction.
const rollBackTime = 5 * time.Second

// rollBack undoes the transaction of conn. If that fails, conn leaves its pool, and the
// server undoes it.
func rollBack(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
	}
}

// discard takes conn out of its pool, which closes it.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// inside reports whether the caller's connection is in a transaction: only there can a
// savepoint be rolled back to.
func (a *Adapter) inside(ctx context.Context, conn *sql.Conn) (bool, error) {
	if _, err := conn.ExecContext(ctx, "SAVEPOINT gatehouse"); err != nil {
		return false, a.refusalOf(err)
	}
	_, err := conn.ExecContext(ctx, "ROLLBACK TO SAVEPOINT gatehouse")
	switch {
	case err == nil:
		return true, nil
	case isNumber(err, noSavepoint):
		return false, nil
	}
	return false, a.refusalOf(err)
}

// inSavepoint runs statements in a savepoint of the caller's transaction.
func (a *Adapter) inSavepoint(ctx context.Context, run func(o on) error) error {
	if _, err := a.db.ExecContext(ctx, "SAVEPOINT gatehouse"); err != nil {
		return a.refusalOf(err)
	}
	err := run(a.on(a.db, true))
	if err == nil {
		_, err = a.db.ExecContext(ctx, "RELEASE SAVEPOINT gatehouse")
		return a.refusalOf(err)
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
	defer cancel()
	_, undoing := a.db.ExecContext(undo, "ROLLBACK TO SAVEPOINT gatehouse")
	if undoing != nil && !isNumber(err, deadlock, checkedRead) {
		err = errors.Join(err, errors.New("the savepoint could not be undone: roll the transaction back"))
	}
	return err
}

// sleep waits for d. It returns the error of ctx if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
