package fault_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers is a store of numbers with two statements, "add" and "list".
type numbers struct {
	mu     sync.Mutex
	values []int64
	conns  int
	resets int
}

func (n *numbers) list() []int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.values)
}

func (n *numbers) open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conns
}

// plainConn has no optional methods.
type plainConn struct {
	store   *numbers
	inTx    bool
	pending []int64
}

func newPlainConn(n *numbers) *plainConn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns++
	return &plainConn{store: n}
}

func (c *plainConn) Close() error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.conns--
	return nil
}

func (c *plainConn) Prepare(query string) (driver.Stmt, error) {
	if query != "add" && query != "list" {
		return nil, fmt.Errorf("no such statement: %q", query)
	}
	return &plainStmt{c, query}, nil
}

func (c *plainConn) Begin() (driver.Tx, error) {
	if c.inTx {
		return nil, errors.New("a transaction is open")
	}
	c.inTx = true
	return &plainTx{c}, nil
}

func (c *plainConn) add(v int64) {
	if c.inTx {
		c.pending = append(c.pending, v)
		return
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.values = append(c.store.values, v)
}

type plainTx struct{ c *plainConn }

func (t *plainTx) Commit() error {
	t.c.inTx = false
	for _, v := range t.c.pending {
		t.c.add(v)
	}
	t.c.pending = nil
	return nil
}

func (t *plainTx) Rollback() error {
	t.c.inTx, t.c.pending = false, nil
	return nil
}

type plainStmt struct {
	c     *plainConn
	query string
}

func (s *plainStmt) Close() error { return nil }

func (s *plainStmt) NumInput() int {
	if s.query == "add" {
		return 1
	}
	return 0
}

func (s *plainStmt) Exec(args []driver.Value) (driver.Result, error) {
	v, ok := args[0].(int64)
	if !ok {
		return nil, fmt.Errorf("not a number: %T", args[0])
	}
	s.c.add(v)
	return driver.RowsAffected(1), nil
}

func (s *plainStmt) Query([]driver.Value) (driver.Rows, error) {
	return &plainRows{values: s.c.store.list()}, nil
}

type plainRows struct{ values []int64 }

func (r *plainRows) Columns() []string { return []string{"n", "text"} }
func (r *plainRows) Close() error      { return nil }

func (r *plainRows) Next(dest []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	dest[0], dest[1] = r.values[0], []byte(fmt.Sprint(r.values[0]))
	r.values = r.values[1:]
	return nil
}

// double is an argument type that only fullConn accepts.
type double int64

// fullConn has the optional methods.
type fullConn struct {
	*plainConn
	skips bool // ExecContext and QueryContext leave it to a prepared statement
}

func (c fullConn) Ping(context.Context) error { return nil }
func (c fullConn) IsValid() bool              { return true }

func (c fullConn) ResetSession(context.Context) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.resets++
	return nil
}

func (c fullConn) CheckNamedValue(v *driver.NamedValue) error {
	if d, ok := v.Value.(double); ok {
		v.Value = 2 * int64(d)
		return nil
	}
	return driver.ErrSkip
}

func (c fullConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	return fullStmt{s.(*plainStmt)}, ctx.Err()
}

func (c fullConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts.ReadOnly && opts.Isolation != driver.IsolationLevel(sql.LevelSerializable) {
		return nil, errors.New("the options got lost")
	}
	return c.Begin()
}

func (c fullConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.skips {
		return nil, driver.ErrSkip
	}
	return fullStmt{&plainStmt{c.plainConn, query}}.ExecContext(ctx, args)
}

func (c fullConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.skips {
		return nil, driver.ErrSkip
	}
	return fullStmt{&plainStmt{c.plainConn, query}}.QueryContext(ctx, args)
}

type fullStmt struct{ *plainStmt }

func (s fullStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Exec([]driver.Value{args[0].Value})
}

func (s fullStmt) QueryContext(ctx context.Context, _ []driver.NamedValue) (driver.Rows, error) {
	r, err := s.Query(nil)
	if err != nil {
		return nil, err
	}
	return &fullRows{plainRows: r.(*plainRows)}, ctx.Err()
}

// fullRows has a second result set and describes its columns.
type fullRows struct {
	*plainRows
	second bool
}

func (r *fullRows) HasNextResultSet() bool { return !r.second }

func (r *fullRows) NextResultSet() error {
	if r.second {
		return io.EOF
	}
	r.second = true
	r.values = []int64{-1}
	return nil
}

func (r *fullRows) ColumnTypeScanType(int) reflect.Type               { return reflect.TypeFor[int64]() }
func (r *fullRows) ColumnTypeDatabaseTypeName(int) string             { return "NUMBER" }
func (r *fullRows) ColumnTypeLength(int) (int64, bool)                { return 19, true }
func (r *fullRows) ColumnTypeNullable(int) (nullable, ok bool)        { return false, true }
func (r *fullRows) ColumnTypePrecisionScale(int) (p, s int64, k bool) { return 19, 2, true }

// convertingConn's statements have a ColumnConverter.
type convertingConn struct{ *plainConn }

func (c convertingConn) Prepare(query string) (driver.Stmt, error) {
	s, err := c.plainConn.Prepare(query)
	return convertingStmt{s}, err
}

type convertingStmt struct{ driver.Stmt }

func (convertingStmt) ColumnConverter(int) driver.ValueConverter { return negative{} }

type negative struct{}

func (negative) ConvertValue(v any) (driver.Value, error) { return -int64(v.(int)), nil }

// connector opens connections of one of the kinds above.
type connector func() driver.Conn

func (c connector) Connect(context.Context) (driver.Conn, error) { return c(), nil }
func (c connector) Driver() driver.Driver                        { return nil }

var connKinds = map[string]func(*numbers) driver.Conn{
	"plain":    func(n *numbers) driver.Conn { return newPlainConn(n) },
	"full":     func(n *numbers) driver.Conn { return fullConn{plainConn: newPlainConn(n)} },
	"skipping": func(n *numbers) driver.Conn { return fullConn{plainConn: newPlainConn(n), skips: true} },
}

// forEachConn runs a test with each kind of connection, and checks that nothing
// is left open.
func forEachConn(t *testing.T, test func(*testing.T, *numbers, *fault.Driver, *sql.DB)) {
	for name, kind := range connKinds {
		t.Run(name, func(t *testing.T) {
			n := &numbers{}
			d := fault.NewDriver(connector(func() driver.Conn { return kind(n) }))
			db := sql.OpenDB(d)
			test(t, n, d, db)
			// database/sql opens and closes connections in the background.
			eventually(t, "the connections are counted alike", func() bool { return d.Stats().Open == n.open() })
			s := d.Stats()
			assert.Truef(t, s.Rows == 0 && s.Transactions == 0, "got %+v, want nothing open but connections", s)
			assert.NoError(t, db.Close())
			eventually(t, "no connection is open", func() bool { return d.Stats().Open == 0 && n.open() == 0 })
		})
	}
}

func add(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, v int) error {
	_, err := db.ExecContext(ctx, "add", v)
	return err
}

// list reads the numbers, and the error that ended reading.
func list(ctx context.Context, db *sql.DB) ([]int64, error) {
	rows, err := db.QueryContext(ctx, "list")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var v int64
		var text string
		if err := rows.Scan(&v, &text); err != nil {
			return out, err
		}
		if text != fmt.Sprint(v) {
			return out, fmt.Errorf("got the text %q with %d", text, v)
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

func wantList(t *testing.T, n *numbers, want ...int64) {
	t.Helper()
	assert.Equal(t, want, n.list(), "the store holds")
}

func TestDriverCounts(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		steps := func(what string, want int64, do func()) {
			t.Helper()
			before := d.Steps()
			do()
			assert.Equalf(t, want, d.Steps()-before, "%s: steps", what)
		}
		steps("connect and ping", 2, func() { require.NoError(t, db.PingContext(ctx)) })
		steps("exec", 1, func() { require.NoError(t, add(ctx, db, 1)) })
		steps("query", 1, func() {
			got, err := list(ctx, db)
			assert.NoError(t, err)
			assert.Equal(t, []int64{1}, got)
		})
		steps("transaction", 3, func() {
			tx := must(db.BeginTx(ctx, nil))(t)
			assert.Equal(t, 1, d.Stats().Transactions, "open transactions")
			require.NoError(t, add(ctx, tx, 2))
			require.NoError(t, tx.Commit())
		})
		steps("rolled back", 3, func() {
			tx := must(db.BeginTx(ctx, nil))(t)
			require.NoError(t, add(ctx, tx, 3))
			require.NoError(t, tx.Rollback())
		})
		steps("prepared", 2, func() {
			s := must(db.PrepareContext(ctx, "add"))(t)
			defer func() { require.NoError(t, s.Close()) }()
			for i := range 2 {
				must(s.ExecContext(ctx, 4+i))(t)
			}
		})
		wantList(t, n, 1, 2, 4, 5)
		assert.Equal(t, fault.DriverStats{Open: 1, Opened: 1, Statements: 6}, d.Stats())
	})
}

func TestDriverFailRequest(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		i := inject(t, d, fault.FailRequest, 1)
		assert.ErrorIs(t, db.PingContext(ctx), fault.ErrInjected) // connect
		waitHit(t, i)
		require.NoError(t, db.PingContext(ctx))
		inject(t, d, fault.FailRequest, 1)
		assert.ErrorIs(t, db.PingContext(ctx), fault.ErrInjected)
		inject(t, d, fault.FailRequest, 2)
		require.NoError(t, add(ctx, db, 1))
		assert.ErrorIs(t, add(ctx, db, 2), fault.ErrInjected)
		inject(t, d, fault.FailRequest, 1)
		_, err := list(ctx, db)
		assert.ErrorIs(t, err, fault.ErrInjected)
		inject(t, d, fault.FailRequest, 1)
		_, err = db.BeginTx(ctx, nil)
		assert.ErrorIs(t, err, fault.ErrInjected)
		assert.EqualValues(t, 1, d.Stats().Opened, "connections; the first one serves on")
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			tx := must(db.BeginTx(ctx, nil))(t)
			require.NoError(t, add(ctx, tx, 3))
			inject(t, d, fault.FailRequest, 1)
			assert.ErrorIs(t, end(tx), fault.ErrInjected)
		}
		require.NoError(t, add(ctx, db, 4))
		wantList(t, n, 1, 4)
	})
}

func TestDriverLoseReply(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		i := inject(t, d, fault.LoseReply, 1)
		assert.ErrorIs(t, db.PingContext(ctx), fault.ErrInjected) // connect
		waitHit(t, i)
		require.NoError(t, db.PingContext(ctx))
		inject(t, d, fault.LoseReply, 1)
		assert.ErrorIs(t, add(ctx, db, 1), fault.ErrInjected)
		assert.Zero(t, n.open(), "open connections; that of the lost answer is closed")
		require.NoError(t, db.PingContext(ctx))
		inject(t, d, fault.LoseReply, 1)
		_, err := list(ctx, db)
		assert.ErrorIs(t, err, fault.ErrInjected)
		tx := must(db.BeginTx(ctx, nil))(t)
		require.NoError(t, add(ctx, tx, 2))
		inject(t, d, fault.LoseReply, 1)
		assert.ErrorIs(t, tx.Commit(), fault.ErrInjected)
		tx = must(db.BeginTx(ctx, nil))(t)
		inject(t, d, fault.LoseReply, 1)
		assert.ErrorIs(t, add(ctx, tx, 3), fault.ErrInjected)
		assert.ErrorIs(t, add(ctx, tx, 4), driver.ErrBadConn, "on a connection that was lost")
		_ = tx.Rollback() // on a connection that was lost
		wantList(t, n, 1, 2)
	})
}

func TestDriverHoldReply(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		for _, v := range []int{1, 2, 3} {
			require.NoError(t, add(ctx, db, v))
		}
		i := inject(t, d, fault.HoldReply, 1)
		var got []int64
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = list(ctx, db)
		}()
		waitHit(t, i)
		require.NoError(t, add(ctx, db, 4))
		select {
		case <-done:
			t.Errorf("got %v, %v while the answer was held", got, err)
		default:
		}
		i.Release()
		<-done
		require.NoError(t, err)
		assert.Equal(t, []int64{1, 2, 3}, got, "what the store held when it acted")

		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			tx := must(db.BeginTx(ctx, nil))(t)
			require.NoError(t, add(ctx, tx, 5))
			i = inject(t, d, fault.HoldReply, 1)
			ended := make(chan error, 1)
			go func() { ended <- end(tx) }()
			waitHit(t, i)
			i.Release()
			require.NoError(t, <-ended)
		}
		wantList(t, n, 1, 2, 3, 4, 5)
	})
}

func TestDriverHeldAnswersKeepTheirShape(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, add(ctx, db, 7))
		type shape struct {
			types  []string
			values []int64
		}
		read := func() (s shape) {
			rows, err := db.QueryContext(ctx, "list")
			require.NoError(t, err)
			defer rows.Close()
			types := must(rows.ColumnTypes())(t)
			for _, ct := range types {
				length, hasLength := ct.Length()
				nullable, known := ct.Nullable()
				precision, scale, hasScale := ct.DecimalSize()
				s.types = append(s.types, fmt.Sprint(ct.Name(), ct.ScanType(), ct.DatabaseTypeName(), length, hasLength, nullable, known, precision, scale, hasScale))
			}
			for more := true; more; more = rows.NextResultSet() {
				for rows.Next() {
					var v int64
					var text string
					require.NoError(t, rows.Scan(&v, &text))
					s.values = append(s.values, v)
				}
			}
			require.NoError(t, rows.Err())
			return s
		}
		straight := read()
		inject(t, d, fault.Delay, 1)
		held := read()
		assert.Equal(t, straight, held)
		if t.Name() == "TestDriverHeldAnswersKeepTheirShape/full" {
			assert.Equal(t, []int64{7, -1}, straight.values)
			assert.Contains(t, straight.types[0], "NUMBER", "the driver's own types")
		}
	})
}

func TestDriverStall(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		require.NoError(t, add(t.Context(), db, 1))
		i := inject(t, d, fault.Stall, 1)
		ctx, cancel := context.WithCancel(t.Context())
		stalled := make(chan error, 1)
		go func() { stalled <- add(ctx, db, 2) }()
		waitHit(t, i)
		patient := make(chan error, 1)
		go func() { patient <- add(t.Context(), db, 3) }()
		cancel()
		assert.ErrorIs(t, <-stalled, context.Canceled)
		wantList(t, n, 1)
		i.Release()
		require.NoError(t, <-patient)
		wantList(t, n, 1, 3)
	})
}

// A commit or rollback has no context of its own: a fault on it ends with the
// context of the begin.
func TestDriverContextEndsHeldSteps(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		for _, kind := range []fault.Kind{fault.Stall, fault.HoldReply} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			i := inject(t, d, kind, 2) // after the connect
			assert.ErrorIsf(t, add(ctx, db, 1), context.DeadlineExceeded, "kind %d", kind)
			cancel()
			i.Release()

			ctx, cancel = context.WithCancel(t.Context())
			tx := must(db.BeginTx(ctx, nil))(t)
			require.NoError(t, add(ctx, tx, 2))
			i = inject(t, d, kind, 1)
			ended := make(chan error, 1)
			go func() { ended <- tx.Commit() }()
			waitHit(t, i)
			cancel()
			assert.ErrorIsf(t, <-ended, context.Canceled, "kind %d", kind)
			i.Release()
			eventually(t, "the pool closes the connection", func() bool { return n.open() == 0 })
		}
		wantList(t, n, 1, 2) // the store had executed the step whose answer was held
	})
}

func TestDriverCutReply(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, db.PingContext(ctx))
		i := inject(t, d, fault.CutReply, 1)
		got, err := list(ctx, db)
		assert.Empty(t, got)
		assert.ErrorIs(t, err, fault.ErrInjected, "in place of the end")
		waitHit(t, i)
		for _, v := range []int{1, 2, 3} {
			require.NoError(t, add(ctx, db, v))
		}
		inject(t, d, fault.CutReply, 1)
		got, err = list(ctx, db)
		assert.Equal(t, []int64{1}, got)
		assert.ErrorIs(t, err, fault.ErrInjected)
		require.NoError(t, db.PingContext(ctx))
		i = inject(t, d, fault.CutReply, 1)
		assert.ErrorIs(t, add(ctx, db, 4), fault.ErrInjected)
		waitHit(t, i)
		wantList(t, n, 1, 2, 3, 4)
	})
}

func TestDriverCut(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, add(ctx, db, 1))
		require.NoError(t, add(ctx, db, 2))
		tx := must(db.BeginTx(ctx, nil))(t)
		require.NoError(t, add(ctx, tx, 9))
		rows, err := db.QueryContext(ctx, "list")
		require.NoError(t, err)
		defer rows.Close()
		i := inject(t, d, fault.Cut, 2)
		require.NoError(t, add(ctx, db, 3)) // the second step, after the connect: tried again on another connection
		waitHit(t, i)
		assert.False(t, rows.Next())
		assert.ErrorIs(t, rows.Err(), driver.ErrBadConn, "rows on a connection that was cut")
		assert.ErrorIs(t, tx.Commit(), driver.ErrBadConn, "a transaction on a connection that was cut")
		require.NoError(t, add(ctx, db, 4))
		wantList(t, n, 1, 2, 3, 4)
	})
}

func TestDriverDown(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, add(ctx, db, 1))
		i := inject(t, d, fault.Down, 1)
		for range 3 {
			assert.ErrorIs(t, add(ctx, db, 2), fault.ErrInjected)
			waitHit(t, i)
		}
		i.Release()
		require.NoError(t, add(ctx, db, 3))
		wantList(t, n, 1, 3)
	})
}

func TestDriverDelay(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, db.PingContext(ctx))
		i := inject(t, d, fault.Delay, 1)
		for range 2 {
			start := time.Now()
			require.NoError(t, add(ctx, db, 1))
			took := time.Since(start)
			assert.Truef(t, took >= 50*time.Millisecond, "took %v, want 50ms", took)
		}
		waitHit(t, i)
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, add(short, db, 2), context.DeadlineExceeded)
		i.Release()
		start := time.Now()
		for range 100 {
			require.NoError(t, db.PingContext(ctx))
		}
		took := time.Since(start)
		assert.Truef(t, took <= 100*50*time.Millisecond, "still delayed after the release: 100 pings took %v", took)
	})
}

func TestDriverRefusesHalfClose(t *testing.T) {
	d := fault.NewDriver(nil)
	_, err := d.Inject(fault.HalfClose, 1)
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestDriverHeal(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		ctx := t.Context()
		require.NoError(t, db.PingContext(ctx))
		down, later := inject(t, d, fault.Down, 1), inject(t, d, fault.FailRequest, 3)
		assert.ErrorIs(t, add(ctx, db, 1), fault.ErrInjected)
		d.Heal()
		for range 3 {
			require.NoError(t, add(ctx, db, 1))
		}
		assert.True(t, isHit(down) && !isHit(later), "want the first fault hit and the second disarmed")
	})
}

func TestDriverPassesOptionalMethods(t *testing.T) {
	ctx := t.Context()
	n := &numbers{}
	full := sql.OpenDB(fault.NewDriver(connector(func() driver.Conn { return fullConn{plainConn: newPlainConn(n)} })))
	defer full.Close()
	must(full.ExecContext(ctx, "add", double(21)))(t)
	s := must(full.PrepareContext(ctx, "add"))(t)
	defer func() { require.NoError(t, s.Close()) }()
	must(s.ExecContext(ctx, double(22)))(t)
	tx := must(full.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true}))(t)
	require.NoError(t, tx.Rollback())
	wantList(t, n, 42, 44)
	assert.NotEqual(t, 0, n.resets, "ResetSession was never called")

	plain := sql.OpenDB(fault.NewDriver(connector(func() driver.Conn { return newPlainConn(n) })))
	defer plain.Close()
	_, err := plain.ExecContext(ctx, "add", double(21))
	assert.NoError(t, err, "the default conversion of a kind of int64")
	_, err = plain.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	assert.Error(t, err, "began a read-only transaction with a driver that has none")
	_, err = plain.ExecContext(ctx, "add", sql.Named("n", 1))
	assert.Error(t, err, "passed a named argument to a driver that takes none")
	_, err = plain.ExecContext(ctx, "drop")
	assert.Error(t, err, "a statement that can't be prepared was executed")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, add(cancelled, plain, 1), context.Canceled)

	n = &numbers{}
	converting := sql.OpenDB(fault.NewDriver(connector(func() driver.Conn { return convertingConn{newPlainConn(n)} })))
	defer converting.Close()
	require.NoError(t, add(ctx, converting, 5))
	wantList(t, n, -5)
}

// dsnDriver records the names that it is opened with.
type dsnDriver struct{ names *[]string }

func (d dsnDriver) Open(name string) (driver.Conn, error) {
	*d.names = append(*d.names, name)
	return newPlainConn(&numbers{}), nil
}

type contextDriver struct{ dsnDriver }

func (d contextDriver) OpenConnector(name string) (driver.Connector, error) {
	return connector(func() driver.Conn {
		*d.names = append(*d.names, "connector:"+name)
		return newPlainConn(&numbers{})
	}), nil
}

func TestConnector(t *testing.T) {
	var names []string
	for _, drv := range []driver.Driver{dsnDriver{&names}, contextDriver{dsnDriver{&names}}} {
		c := must(fault.Connector(drv, "x"))(t)
		db := sql.OpenDB(fault.NewDriver(c))
		require.NoError(t, db.PingContext(t.Context()))
		require.NoError(t, db.Close())
	}
	assert.Equal(t, []string{"x", "connector:x"}, names)
}

// All kinds of faults under load: no call hangs, nothing is left open, and
// each step that was reported as successful was executed exactly once.
func TestDriverUnderLoad(t *testing.T) {
	forEachConn(t, func(t *testing.T, n *numbers, d *fault.Driver, db *sql.DB) {
		db.SetMaxOpenConns(4)
		var wg sync.WaitGroup
		var mu sync.Mutex
		done := map[int64]bool{}
		stop := make(chan struct{})
		for g := range 8 {
			wg.Go(func() {
				for k := 0; ; k++ {
					select {
					case <-stop:
						return
					default:
					}
					v := g*1_000_000 + k
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if add(ctx, db, v) == nil {
						mu.Lock()
						done[int64(v)] = true
						mu.Unlock()
					}
					cancel()
				}
			})
		}
		for range 3 {
			for kind := fault.FailRequest; kind <= fault.Delay; kind++ {
				if kind == fault.HalfClose {
					continue
				}
				i := inject(t, d, kind, 3)
				waitHit(t, i)
				i.Release()
			}
		}
		close(stop)
		wg.Wait()
		count := map[int64]int{}
		for _, v := range n.list() {
			count[v]++
		}
		for v := range done {
			assert.Equalf(t, 1, count[v], "%d is there %d times, want once", v, count[v])
		}
		for v, c := range count {
			assert.Truef(t, c <= 1, "%d is there %d times", v, c)
		}
	})
}
