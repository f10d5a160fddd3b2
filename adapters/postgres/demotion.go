package postgres

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// demotion notices that the server of a pool has become a standby, while the
// connections of the pool live on: it answers reads, from data that get old, and refuses
// writes. All connections of the pool are then closed, so that the next ones reach the
// new primary.
type demotion struct {
	mu   sync.Mutex
	last time.Time     // when the connections were closed
	wait time.Duration // until they may be closed again
}

// While every server is read-only, the connections are closed ever more seldom, so that
// reads go on.
const (
	shortestWait = time.Second
	longestWait  = time.Minute
)

// leave closes the connections of the pool after one of them has refused a write. It
// reports whether a call that began then should try again: its connection was older. It
// leaves a connection or a transaction of the caller alone.
func (a *Adapter) leave(ctx context.Context, began time.Time) bool {
	if pool, ok := a.std.(*sql.DB); ok {
		return a.demoted.left(began, func() { closeIdle(ctx, pool) })
	}
	pool, ok := a.db.(interface{ Reset() })
	return ok && a.demoted.left(began, pool.Reset)
}

// left closes all connections, unless that was done a moment ago.
func (d *demotion) left(began time.Time, closeAll func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := time.Since(d.last)
	switch {
	case began.Before(d.last):
		return true
	case since < d.wait:
		return false
	case since < 2*d.wait:
		d.wait = min(2*d.wait, longestWait)
	default:
		d.wait = shortestWait
	}
	d.last = time.Now()
	closeAll()
	return true
}
