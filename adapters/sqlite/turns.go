package sqlite

import (
	"context"
	"database/sql"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"
)

// SQLite wakes nobody who waits for its write lock: each waiting connection tries again
// after a while, and luck decides. So the writes that adapters make on a pool queue for a
// turn, in the order in which they came. A write on a connection or
// transaction of the caller takes no turn, because the caller may hold the lock while
// others wait for it.
//
// A queue is a channel with room for one: the runtime wakes its senders in order.
type queue chan struct{}

// pools has the queue of each pool, by its weak.Pointer[sql.DB].
var pools sync.Map

// turnsOf returns the queue of a pool, which is one for all adapters.
func turnsOf(pool *sql.DB) queue {
	if pool == nil {
		return nil
	}
	key := weak.Make(pool)
	turns, known := pools.LoadOrStore(key, make(queue, 1))
	if !known {
		runtime.AddCleanup(pool, func(key weak.Pointer[sql.DB]) { pools.Delete(key) }, key)
	}
	return turns.(queue)
}

// enter waits for a turn, until ctx ends. After busyWait it goes on without a turn: then
// another process holds the lock, and everybody in the queue waits for that process.
// leave ends the turn.
func (q queue) enter(ctx context.Context) (leave func(), err error) {
	if q == nil {
		return func() {}, ctx.Err()
	}
	select {
	case q <- struct{}{}:
		return func() { <-q }, nil
	default:
	}
	timer := time.NewTimer(busyWait)
	defer timer.Stop()
	select {
	case q <- struct{}{}:
		return func() { <-q }, nil
	case <-timer.C:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inTurn runs a query that is patient. A query that writes waits for its turn first, and
// then looks at the file.
func (a *Adapter) inTurn(ctx context.Context, query string, run func() error) error {
	if strings.HasPrefix(strings.TrimLeft(query, "\n\t "), "SELECT") {
		return a.patiently(ctx, run)
	}
	if a.pool != nil {
		leave, err := a.turns.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
	}
	if err := a.file.same(); err != nil {
		return err
	}
	return a.patiently(ctx, run)
}
