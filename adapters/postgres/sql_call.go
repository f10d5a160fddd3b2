package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// onceSQL runs f on one connection of database/sql.
func (a *Adapter) onceSQL(ctx context.Context, f func(db link) error) error {
	switch db := a.std.(type) {
	case *sql.DB:
		conn, err := a.takeConn(ctx, db)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // returns it to the pool
		if err = a.onConn(ctx, conn, f); err == nil {
			return nil
		}
		if lost := isLost(err); lost || ctx.Err() != nil {
			if lost && ctx.Err() == nil {
				a.broken.Store(time.Now().UnixNano())
			}
			discard(conn)
		}
		return withoutValues(err)
	case *sql.Conn:
		return withoutValues(a.onConn(ctx, db, f))
	}
	return withoutValues(a.inUTF8(ctx, sqlLink{db: a.std, late: a.late, theirs: true}, f))
}

// onConn runs f on a connection. If the driver is that of pgx, the statements are sent by
// pgx itself.
func (a *Adapter) onConn(ctx context.Context, conn *sql.Conn, f func(db link) error) error {
	db := sqlLink{db: conn, late: a.late, pooled: a.turn == nil}
	var result error
	ran := false
	err := conn.Raw(func(dc any) error {
		on, ok := dc.(pgxDriver)
		if !ok {
			db.dc, _ = dc.(io.Closer)
			return nil
		}
		ran = true
		if on.Conn().PgConn().TxStatus() != 'I' && !on.Conn().IsClosed() {
			result = errors.New("the *sql.Conn is in a transaction: give OnSQL the *sql.Tx")
			return nil
		}
		result = onPgx(ctx, pgxLink{on.Conn(), on.Conn()}, f)
		if on.Conn().IsClosed() {
			return driver.ErrBadConn // conn leaves its pool
		}
		return nil
	})
	switch {
	case ran:
		return result
	case err != nil:
		return err
	}
	return a.inUTF8(ctx, db, f)
}

// pgxDriver is the connection of pgx's driver, *stdlib.Conn.
type pgxDriver interface{ Conn() *pgx.Conn }

// inUTF8 runs f after the first call of the adapter has found that the server takes texts
// for UTF-8.
func (a *Adapter) inUTF8(ctx context.Context, db sqlLink, f func(db link) error) error {
	if !a.utf8.Load() {
		rows, err := db.query(ctx, `SELECT current_setting('client_encoding')`)
		encoding, err := first(rows, err, scanOne[string])
		if err != nil {
			return err
		}
		if *encoding != "UTF8" && *encoding != "SQL_ASCII" { // no server converts the latter
			return fmt.Errorf("client_encoding is %s, but the texts are UTF-8: remove the setting", *encoding)
		}
		a.utf8.Store(true)
	}
	return f(db)
}

// takeConn takes a connection out of the pool, as acquire does. It also learns that
// connections have broken if the pool has fewer of them than a moment ago: database/sql
// then has found some by itself.
func (a *Adapter) takeConn(ctx context.Context, db *sql.DB) (conn *sql.Conn, err error) {
	const most = 1000 // broken connections in a pool
	for range most {
		before := db.Stats()
		conn, err = connect(ctx, db, before.Idle > 0)
		if db.Stats().OpenConnections < before.OpenConnections {
			a.broken.Store(time.Now().UnixNano())
		}
		if err != nil || !lately(a.broken) || isAlive(ctx, conn) {
			return conn, err
		}
		discard(conn)
		_ = conn.Close()
	}
	return nil, errors.New("all connections that the pool returned were broken")
}

// connect takes a connection out of the pool. If there is none, it returns when ctx ends:
// lib/pq waits for the greeting of the server for any time.
func connect(ctx context.Context, db *sql.DB, idle bool) (*sql.Conn, error) {
	if idle {
		return db.Conn(ctx)
	}
	type taken struct {
		conn *sql.Conn
		err  error
	}
	done := make(chan taken, 1)
	go func() {
		conn, err := db.Conn(ctx)
		done <- taken{conn, err}
	}()
	select {
	case t := <-done:
		return t.conn, t.err
	case <-ctx.Done():
		go func() {
			if t := <-done; t.err == nil {
				_ = t.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// isAlive reports whether a connection works: with the driver of pgx by a look at its
// socket, otherwise by a round trip.
func isAlive(ctx context.Context, conn *sql.Conn) bool {
	known := false
	err := conn.Raw(func(dc any) error {
		on, ok := dc.(pgxDriver)
		if known = ok; !ok {
			return nil
		}
		return on.Conn().PgConn().CheckConn() //nolint:staticcheck // as in acquire
	})
	if err == nil && !known {
		err = conn.PingContext(ctx)
	}
	return err == nil
}

// discard takes conn out of its pool, which closes it.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// closeIdle closes the connections that the pool does not use.
func closeIdle(ctx context.Context, pool *sql.DB) {
	for range pool.Stats().Idle {
		conn, err := connect(ctx, pool, pool.Stats().Idle > 0)
		if err != nil {
			return
		}
		discard(conn)
		_ = conn.Close()
	}
}

// isLost reports whether the connection is the reason of an error, and not the statement.
func isLost(err error) bool {
	var pgErr *pgconn.PgError
	var network net.Error
	switch {
	case errors.As(err, &pgErr):
		return false
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// isUnread reports whether the client could not read what the server has sent.
func isUnread(ctx context.Context, err error) bool {
	var pgErr *pgconn.PgError
	return err != nil && ctx.Err() == nil && !errors.As(err, &pgErr) && !isLost(err)
}
