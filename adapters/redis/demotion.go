package redis

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
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

	turn    chan struct{}         // full while one of the writes that wait is sent
	refused atomic.Pointer[error] // the refusal of the last write, nil after one that was done
	next    time.Time             // when the next write may be sent
	pause   time.Duration
}

// While every server is a replica, the connections are tried ever more seldom, so that
// reads go on.
const (
	shortestWait = time.Second
	longestWait  = time.Minute

	shortestPause = 8 * time.Millisecond // between two tries of a write that the server refuses
	longestPause  = 256 * time.Millisecond
)

// begin waits until a write may be sent. While every server is a replica, the writes that wait
// take turns, because the client opens a connection for each. It reports whether the caller has
// the turn, which end gives back. If no turn comes in time, it returns the refusal.
func (d *demotion) begin(ctx context.Context, within time.Duration) (turn bool, refused error) {
	was := d.refused.Load()
	if was == nil {
		return false, nil
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case d.turn <- struct{}{}:
	case <-late.C:
		return false, *was
	case <-ctx.Done():
		return false, *was
	}
	if wait := d.resting(); wait > 0 && rest(ctx, wait) != nil {
		<-d.turn
		return false, *was
	}
	if d.refused.Load() == nil { // a server takes writes again
		<-d.turn
		return false, nil
	}
	return true, nil
}

// beginNow is begin for what does not wait.
func (d *demotion) beginNow() (turn bool, refused error) {
	was := d.refused.Load()
	if was == nil {
		return false, nil
	}
	if d.resting() <= 0 {
		select {
		case d.turn <- struct{}{}:
			return true, nil
		default:
		}
	}
	return false, *was
}

// end keeps the result of a write.
func (d *demotion) end(turn bool, err error) {
	d.note(err)
	if turn {
		<-d.turn
	}
}

// resting returns how long no write may be sent.
func (d *demotion) resting() time.Duration {
	if d.refused.Load() == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.next)
}

// note keeps what a server has answered to a write. A write without an answer changes nothing.
func (d *demotion) note(err error) {
	if err == nil && d.refused.Load() == nil {
		return
	}
	var said goredis.Error
	switch {
	case err == nil:
		d.refused.Store(nil)
	case !errors.As(err, &said), goredis.HasErrorPrefix(err, "NOSCRIPT"): // a replica says that too
	case !goredis.HasErrorPrefix(err, "READONLY"):
		d.refused.Store(nil)
	default:
		d.mu.Lock()
		defer d.mu.Unlock()
		last := err
		if d.refused.Swap(&last) == nil {
			d.pause = shortestPause
		}
		d.next = time.Now().Add(d.pause)
		d.pause = min(2*d.pause, longestPause)
	}
}

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

// leave tries every idle connection at once, so that the client closes those of a replica: at
// once if a server takes writes again, or else when it is due.
func (d *demotion) leave(again bool, idle uint32, try func()) {
	if !again && !d.due() {
		return
	}
	var wg sync.WaitGroup
	for range idle {
		wg.Go(try)
	}
	wg.Wait()
}

// sendWrite sends a write once, when it has its turn.
func (a *Adapter) sendWrite(ctx context.Context, cmd *goredis.Cmd, within time.Duration) error {
	one, turn := isOne(a.base), false
	var err error
	if one {
		if _, limited := ctx.Deadline(); limited {
			within = math.MaxInt64
		}
		if turn, err = a.demotion.begin(ctx, within); err != nil {
			return err
		}
	}
	if err = a.checkNow(ctx); err == nil {
		err = a.client.Process(ctx, write{cmd})
	}
	if err = withoutValues(err); !one {
		return err
	}
	a.demotion.end(turn, err)
	if refused := goredis.HasErrorPrefix(err, "READONLY"); refused || turn && err == nil {
		a.demotion.leave(!refused, a.base.PoolStats().IdleConns, func() { // by a write that changes nothing
			_ = a.client.Process(ctx, write{goredis.NewCmd(ctx, "setnx", a.keys.shared("layout"), layout)})
		})
	}
	return err
}

// sendRead sends a script that only reads, once. It waits for no turn.
func (a *Adapter) sendRead(ctx context.Context, cmd *goredis.Cmd, _ time.Duration) error {
	err := a.check(ctx)
	if err == nil {
		err = a.client.Process(ctx, write{cmd})
	}
	return err
}
