package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strconv"
	"time"
)

// A statement that takes effect by itself, such as COMMIT, may wait in the server when its
// context ends. The driver then closes the connection, which does not end the statement: it
// would take effect after the call has returned. So it has a mark, by which another
// connection of the pool finds it and kills it. Vitess passes no mark on and kills nothing: there the call waits for it. [CTX-07]

// killTime is the time in which the server has to end a statement.
const killTime = time.Second

// errLate means that a statement could not be ended.
var errLate = errors.New("the server may still do it")

// lasting runs a statement that takes effect by itself.
func (o on) lasting(ctx context.Context, query string, args ...any) error {
	query, err := o.statement(query, args)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	mark, sent := " /* gatehouse "+rand.Text()+" */", ctx
	unseen, within := o.a.pool == nil, rollBackTime // no other connection finds the statement: it has some time
	if !unseen && o.a.vitess.Load() {
		unseen, within = true, killTime
	}
	if unseen {
		var end func()
		sent, end = endingAfter(ctx, within)
		defer end()
	}
	_, err = o.db.ExecContext(sent, query+mark)
	switch {
	case err == nil || ctx.Err() == nil || isServers(err):
		return o.a.refusalOf(err)
	case unseen:
		return errors.Join(err, errLate)
	}
	if conn, single := o.db.(*sql.Conn); single {
		discard(conn) // the pool may have one connection only
	}
	return errors.Join(err, o.a.end(ctx, mark))
}

// endingAfter returns a context that ends when d has passed since the end of ctx.
func endingAfter(ctx context.Context, d time.Duration) (later context.Context, end func()) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return later, func() {
		stop()
		cancel()
	}
}

// end kills the connection on which a statement with the mark runs, and returns when none does.
func (a *Adapter) end(ctx context.Context, mark string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	conn, err := a.connection(ctx)
	if err != nil {
		return errLate
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	o := on{a, conn, false, nil}
	for {
		running, err := one(ctx, o, "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE ? AND ID <> CONNECTION_ID()",
			readNumber, "%"+mark)
		switch {
		case err != nil:
			return errLate
		case running == nil:
			return nil
		}
		_, _ = conn.ExecContext(ctx, "KILL "+strconv.FormatInt(*running, 10)) // it may have ended meanwhile
		if sleep(ctx, time.Millisecond) != nil {
			return errLate
		}
	}
}
