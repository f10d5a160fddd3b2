package postgres

import (
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

// left closes the connections of a pool after one of them has refused a write. It
// reports whether a call that began then should try again: its connection was older.
func (d *demotion) left(db DB, began time.Time) bool {
	pool, ok := db.(interface{ Reset() })
	if !ok {
		return false // a connection or a transaction of the caller
	}
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
	pool.Reset()
	return true
}
