package fault

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// conn wraps a connection. It has all optional methods of a connection. If
// the wrapped connection lacks one, the method does what database/sql does
// without it.
type conn struct {
	driver *Driver
	conn   driver.Conn
	bad    atomic.Bool
	closed sync.Once
	tx     *tx // the open transaction

	// skipped are the faults of a step that the wrapped driver declined with
	// driver.ErrSkip. database/sql tries that step again as a prepared
	// statement.
	skipped *stepFaults
}

// spoil marks the connection as one that the pool must close.
func (c *conn) spoil() {
	if c != nil {
		c.bad.Store(true)
	}
}

// wait waits for the release of a fault or for the timer. If the context ends
// first, the connection is bad, like any connection with an outstanding
// answer.
func (c *conn) wait(ctx context.Context, i *injection, timer <-chan time.Time) error {
	select {
	case <-i.done:
		return nil
	case <-timer:
		return nil
	case <-ctx.Done():
		c.spoil()
		return ctx.Err()
	}
}

func (c *conn) Close() error {
	var err error
	c.closed.Do(func() {
		c.spoil()
		if c.tx != nil {
			c.tx.over()
		}
		err = c.conn.Close()
		c.driver.mu.Lock()
		delete(c.driver.conns, c)
		c.driver.mu.Unlock()
	})
	return err
}

func (c *conn) IsValid() bool {
	if c.bad.Load() {
		return false
	}
	v, ok := c.conn.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) ResetSession(ctx context.Context) error {
	if c.bad.Load() {
		return driver.ErrBadConn
	}
	if r, ok := c.conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// step runs do as a step on the connection, with the faults that a step begun before carried over.
func (c *conn) step(ctx context.Context, name string, carried *stepFaults, do func() (answer, error)) error {
	if c.bad.Load() {
		return driver.ErrBadConn
	}
	c.skipped = nil
	return c.driver.step(ctx, c, name, carried, do)
}

func (c *conn) Ping(ctx context.Context) error {
	return c.step(ctx, "ping", nil, func() (answer, error) {
		if p, ok := c.conn.(driver.Pinger); ok {
			return answer{}, p.Ping(ctx)
		}
		return answer{}, nil
	})
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.bad.Load() {
		return nil, driver.ErrBadConn
	}
	under, err := c.prepare(ctx, query)
	if err != nil {
		c.skipped = nil
		return nil, err
	}
	s := &stmt{conn: c, stmt: under}
	if cc, ok := under.(columnConverter); ok {
		return convertingStmt{s, cc}, nil
	}
	return s, nil
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.conn.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	s, err := c.conn.Prepare(query)
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), s.Close())
	}
	return s, err
}

func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	t := &tx{conn: c, ctx: ctx}
	err := c.step(ctx, "begin", nil, func() (answer, error) {
		under, err := c.begin(ctx, opts)
		if err != nil {
			return answer{}, err
		}
		t.tx = under
		c.tx = t
		c.driver.transactions.Add(1)
		return answer{}, nil
	})
	if err != nil {
		return nil, err // if the transaction was begun, the connection is bad
	}
	return t, nil
}

func (c *conn) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("fault: the driver does not support non-default isolation levels")
	}
	if opts.ReadOnly {
		return nil, errors.New("fault: the driver does not support read-only transactions")
	}
	t, err := c.conn.Begin() //nolint:staticcheck // the only way to begin with a driver that lacks ConnBeginTx
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), t.Rollback())
	}
	return t, err
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	exec, ok := c.conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip // database/sql prepares the statement
	}
	return c.exec(ctx, nil, func() (driver.Result, error) { return exec.ExecContext(ctx, query, args) })
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	queryer, ok := c.conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip // database/sql prepares the statement
	}
	return c.query(ctx, nil, func() (driver.Rows, error) { return queryer.QueryContext(ctx, query, args) })
}

func (c *conn) exec(ctx context.Context, carried *stepFaults, do func() (driver.Result, error)) (driver.Result, error) {
	var result driver.Result
	err := c.step(ctx, "exec", carried, func() (answer, error) {
		var err error
		result, err = do()
		if errors.Is(err, driver.ErrSkip) {
			return answer{skipped: true}, err
		}
		c.driver.statements.Add(1)
		return answer{}, err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (c *conn) query(ctx context.Context, carried *stepFaults, do func() (driver.Rows, error)) (driver.Rows, error) {
	var r *rows
	err := c.step(ctx, "query", carried, func() (answer, error) {
		under, err := do()
		if errors.Is(err, driver.ErrSkip) {
			return answer{skipped: true}, err
		}
		c.driver.statements.Add(1)
		if err != nil {
			return answer{}, err
		}
		c.driver.rows.Add(1)
		r = &rows{conn: c, Rows: under}
		return answer{finish: r.finish, cut: r.cutShort, discard: func() { _ = r.Close() }}, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// tx wraps a transaction.
type tx struct {
	conn  *conn
	ctx   context.Context // the context of the begin
	tx    driver.Tx
	ended bool
}

func (t *tx) Commit() error { return t.end("commit", t.tx.Commit) }

func (t *tx) Rollback() error { return t.end("rollback", t.tx.Rollback) }

func (t *tx) end(name string, do func() error) error {
	err := t.conn.step(t.ctx, name, nil, func() (answer, error) {
		err := do()
		if err == nil {
			t.over()
		}
		return answer{}, err
	})
	if err != nil {
		t.conn.spoil() // it may still be open
	}
	return err
}

func (t *tx) over() {
	if !t.ended {
		t.ended = true
		t.conn.tx = nil
		t.conn.driver.transactions.Add(-1)
	}
}

// stmt wraps a prepared statement.
type stmt struct {
	conn *conn
	stmt driver.Stmt
}

// columnConverter is driver.ColumnConverter, which is deprecated but in use.
type columnConverter interface {
	ColumnConverter(i int) driver.ValueConverter
}

// convertingStmt is a statement with a ColumnConverter, the one optional
// interface whose presence changes what database/sql does.
type convertingStmt struct {
	*stmt
	converter columnConverter
}

func (s convertingStmt) ColumnConverter(i int) driver.ValueConverter {
	return s.converter.ColumnConverter(i)
}

func (s *stmt) Close() error  { return s.stmt.Close() }
func (s *stmt) NumInput() int { return s.stmt.NumInput() }

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.exec(ctx, s.conn.skipped, func() (driver.Result, error) {
		if e, ok := s.stmt.(driver.StmtExecContext); ok {
			return e.ExecContext(ctx, args)
		}
		values, err := unnamed(ctx, args)
		if err != nil {
			return nil, err
		}
		return s.stmt.Exec(values) //nolint:staticcheck // the only way with a driver that lacks StmtExecContext
	})
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(ctx, s.conn.skipped, func() (driver.Rows, error) {
		if q, ok := s.stmt.(driver.StmtQueryContext); ok {
			return q.QueryContext(ctx, args)
		}
		values, err := unnamed(ctx, args)
		if err != nil {
			return nil, err
		}
		return s.stmt.Query(values) //nolint:staticcheck // the only way with a driver that lacks StmtQueryContext
	})
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

func unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	out := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("fault: the driver does not support named parameters")
		}
		out[i] = a.Value
	}
	return out, ctx.Err()
}
