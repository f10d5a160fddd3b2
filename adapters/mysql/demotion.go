package mysql

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// demotion notices that the server of a pool has become read-only, as a replica is, while
// the connections of the pool live on: it answers reads and refuses writes. The pool's
// connections are then closed, so that the next ones reach the server that takes writes.
// [SITE-03]
type demotion struct {
	mu   sync.Mutex
	last time.Time     // when the connections were closed
	wait time.Duration // until they may be closed again
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
	since := time.Since(d.last)
	switch {
	case began.Before(d.last): // its connection may be older, too
		return true
	case since < d.wait:
		return false
	case since < 2*d.wait:
		d.wait = min(2*d.wait, longestWait)
	default:
		d.wait = shortestWait
	}
	d.last = time.Now()
	for range pool.Stats().Idle {
		conn, err := pool.Conn(ctx)
		if err != nil {
			break
		}
		discard(conn)
	}
	return true
}
