package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// demotion leaves a server that has become a replica while the connections of the client live
// on: it answers reads, from data that get old, and refuses writes. The client closes a
// connection that refuses a write, and only that one.
type demotion struct {
	mu   sync.Mutex
	last time.Time     // when the connections were tried
	wait time.Duration // until they may be tried again
}

// While every server is a replica, the connections are tried ever more seldom, so that
// reads go on.
const (
	shortestWait = time.Second
	longestWait  = time.Minute
)

// due reports whether the connections are to be tried now.
func (d *demotion) due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := time.Since(d.last)
	switch {
	case since < d.wait:
		return false
	case since < 2*d.wait:
		d.wait = min(2*d.wait, longestWait)
	default:
		d.wait = shortestWait
	}
	d.last = time.Now()
	return true
}

// leave sends a write that changes nothing on every idle connection at once, so that the
// client closes those of a replica.
func (a *Adapter) leave(ctx context.Context) {
	if !isOne(a.base) || !a.demotion.due() {
		return
	}
	var wg sync.WaitGroup
	for range a.base.PoolStats().IdleConns {
		wg.Go(func() {
			_ = a.client.Process(ctx, write{goredis.NewCmd(ctx, "setnx", a.keys.shared("layout"), layout)})
		})
	}
	wg.Wait()
}
