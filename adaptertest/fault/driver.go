package fault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Driver wraps a database/sql driver and is the [Control] of its traffic. It
// is a [driver.Connector]:
//
//	faults := fault.NewDriver(connector)
//	db := sql.OpenDB(faults)
//
// A step is a statement that is executed or queried, a begin, commit or
// rollback, a ping, or the opening of a connection. Preparing a statement and
// reading its rows are not steps.
//
// HalfClose is not supported. A FailRequest, Down, LoseReply or CutReply fails
// the step with ErrInjected; CutReply on a query does so after the first row.
// A Cut step fails with driver.ErrBadConn, and so do all later steps on the
// connections that were open, so that database/sql opens others. A held, lost
// or delayed query has been read to its end, so the store has executed it
// completely. A stalled, held or delayed step ends early with the error of its
// context; for a commit or rollback that is the context of the begin. After
// that, and after a lost or cut answer or a failed commit or rollback, the
// connection is bad. The pool closes it, which ends open transactions and
// results on it.
type Driver struct {
	sched     schedule
	connector driver.Connector

	mu    sync.Mutex
	conns map[*conn]struct{}

	opened, statements atomic.Int64
	rows, transactions atomic.Int64
}

// NewDriver wraps the driver behind a connector. [Connector] makes a connector
// from a driver and a data source name.
func NewDriver(connector driver.Connector) *Driver {
	return &Driver{connector: connector, conns: make(map[*conn]struct{})}
}

// Connector returns a connector that opens connections of a driver with a data
// source name, like sql.Open.
func Connector(drv driver.Driver, dsn string) (driver.Connector, error) {
	if d, ok := drv.(driver.DriverContext); ok {
		return d.OpenConnector(dsn)
	}
	return dsnConnector{drv, dsn}, nil
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// Connect implements [driver.Connector].
func (d *Driver) Connect(ctx context.Context) (driver.Conn, error) {
	var wrapped *conn
	err := d.step(ctx, nil, "connect", nil, func() (answer, error) {
		under, err := d.connector.Connect(ctx)
		if err != nil {
			return answer{}, err
		}
		wrapped = &conn{driver: d, conn: under}
		d.opened.Add(1)
		d.mu.Lock()
		d.conns[wrapped] = struct{}{}
		d.mu.Unlock()
		return answer{discard: func() { _ = wrapped.Close() }}, nil
	})
	if err != nil {
		return nil, err
	}
	return wrapped, nil
}

// Driver implements [driver.Connector]. It returns the wrapped driver.
func (d *Driver) Driver() driver.Driver { return d.connector.Driver() }

// Close closes the wrapped connector, if it can be closed. (*sql.DB).Close calls
// it.
func (d *Driver) Close() error {
	if c, ok := d.connector.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Inject implements [Control].
func (d *Driver) Inject(kind Kind, step int) (Injection, error) {
	return d.sched.inject(kind, step, HalfClose)
}

// Steps implements [Control].
func (d *Driver) Steps() int64 { return d.sched.count() }

// Heal implements [Control].
func (d *Driver) Heal() { d.sched.heal() }

// DriverStats has the counts of a Driver.
type DriverStats struct {
	// Open, Rows and Transactions are the numbers of open connections, results
	// and transactions.
	Open, Rows, Transactions int
	// Opened is the number of connections that were opened. Statements is the
	// number of executed and queried statements that reached the driver.
	Opened, Statements int64
}

// Stats returns the counts so far.
func (d *Driver) Stats() DriverStats {
	d.mu.Lock()
	open := len(d.conns)
	d.mu.Unlock()
	return DriverStats{
		Open:         open,
		Rows:         int(d.rows.Load()),
		Transactions: int(d.transactions.Load()),
		Opened:       d.opened.Load(),
		Statements:   d.statements.Load(),
	}
}

// answer is the store's answer to a step.
type answer struct {
	// finish reads the answer to its end, so that the store completes the
	// step.
	finish func()
	// cut makes the answer break off in the middle. If it is nil, a cut answer
	// is lost as a whole.
	cut func()
	// discard closes an answer that the caller will not receive.
	discard func()
	// skipped says that the driver left the step to another of its methods.
	skipped bool
}

// step runs do, which calls the wrapped driver, as one step on c (nil while c is
// being opened). If carried is not nil, it has the faults of a step that was
// begun before.
func (d *Driver) step(ctx context.Context, c *conn, name string, carried *stepFaults, do func() (answer, error)) error {
	var f stepFaults
	if carried != nil {
		f = *carried
	} else {
		f = d.sched.begin()
	}
	if err := d.request(ctx, c, name, f); err != nil {
		return err
	}
	if i := f.take(Delay); i != nil {
		i.struck()
	}
	delayed := d.sched.lasting(Delay)

	a, err := do()
	if a.skipped {
		c.skipped = &f
		return err
	}
	return d.answer(ctx, c, name, f, delayed, a, err)
}

// request causes the faults that happen before the store sees a step.
func (d *Driver) request(ctx context.Context, c *conn, name string, f stepFaults) error {
	if i := f.take(Stall); i != nil {
		i.struck()
	}
	for i := d.sched.lasting(Stall); i != nil; i = d.sched.lasting(Stall) {
		if err := c.wait(ctx, i, nil); err != nil {
			return err
		}
	}
	if i := f.take(Down); i != nil {
		i.struck()
	}
	if d.sched.lasting(Down) != nil {
		return injected(name)
	}
	if i := f.take(FailRequest); i != nil {
		i.struck()
		return injected(name)
	}
	if i := f.take(Cut); i != nil {
		d.breakAll()
		i.struck()
		return driver.ErrBadConn
	}
	return nil
}

// answer causes the faults that happen between the store and the caller.
func (d *Driver) answer(ctx context.Context, c *conn, name string, f stepFaults, delayed *injection, a answer, err error) error {
	lose, hold, cut := f.take(LoseReply), f.take(HoldReply), f.take(CutReply)
	if lose == nil && (a.cut == nil || err != nil) {
		lose, cut = cut, nil
	}
	if a.finish != nil && (lose != nil || hold != nil || delayed != nil) {
		a.finish()
	}
	if hold != nil {
		hold.struck()
		if waited := c.wait(ctx, hold, nil); waited != nil {
			a.drop()
			return waited
		}
	}
	if lose != nil {
		c.spoil()
		a.drop()
		lose.struck()
		return injected(name)
	}
	if delayed != nil {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		if waited := c.wait(ctx, delayed, timer.C); waited != nil {
			a.drop()
			return waited
		}
	}
	if cut != nil {
		a.cut()
		c.spoil()
		cut.struck()
	}
	return err
}

func (a answer) drop() {
	if a.discard != nil {
		a.discard()
	}
}

func (d *Driver) breakAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		c.spoil()
	}
}

func injected(step string) error { return fmt.Errorf("%s: %w", step, ErrInjected) }
