package mysql

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

// demotion notices that the server of a pool has become read-only, as a replica is, while
// the connections of the pool live on: it answers reads and refuses writes. The pool's
// connections are then closed, so that the next ones reach the server that takes writes.
// [SITE-03]
type demotion struct {
	mu   sync.Mutex
	last atomic.Pointer[time.Time] // when the connections were closed; nil if they never were
	wait time.Duration             // until they may be closed again
}

// While every server is read-only, the connections are closed ever more seldom.
const (
	shortestWait = time.Second
	longestWait  = time.Minute
)

// left closes the idle connections of the pool after a connection has refused a write. It
// reports whether a call that began then should leave its own connection and try again.
func (d *demotion) left(ctx context.Context, pool *sql.DB, began time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.last.Load(); last != nil {
		since := time.Since(*last)
		switch {
		case d.isOld(began):
			return true
		case since < d.wait:
			return false
		case since < 2*d.wait:
			d.wait = min(2*d.wait, longestWait)
		default:
			d.wait = shortestWait
		}
	} else {
		d.wait = shortestWait
	}
	d.last.Store(new(time.Now()))
	for range pool.Stats().Idle {
		conn, err := pool.Conn(ctx)
		if err != nil {
			break
		}
		discard(conn)
	}
	d.last.Store(new(time.Now())) // others may have taken an idle connection meanwhile
	return true
}

// isOld reports whether the connection of a call that began then may be older than the last
// time that the connections were closed.
func (d *demotion) isOld(began time.Time) bool {
	last := d.last.Load()
	return last != nil && began.Before(*last)
}

// release returns the connection of a call that began then to its pool, or closes it if
// the server may be one that was left: a replica would answer reads with old records.
func (d *demotion) release(conn *sql.Conn, began time.Time) {
	if d.isOld(began) {
		discard(conn)
	}
	_ = conn.Close() // returns it to the pool, unless it is closed
}
