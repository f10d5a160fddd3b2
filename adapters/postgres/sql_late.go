package postgres

import (
	"context"
	"io"
	"sync"
	"time"
)

// closeAfter is how long a driver may take to end a statement whose context has ended. A
// driver that works cancels the statement on the server meanwhile.
const closeAfter = 500 * time.Millisecond

// late closes the connection of a driver that does not end a statement when its context ends.
// [CTX-02]
type late struct {
	dc      io.Closer
	unwatch func() bool
	lock    sync.Mutex
	ended   bool // the statement
}

// closeLate begins to watch. It returns nil if there is nothing to watch.
func closeLate(ctx context.Context, dc io.Closer) *late {
	if dc == nil || ctx.Done() == nil {
		return nil
	}
	l := &late{dc: dc}
	l.unwatch = context.AfterFunc(ctx, l.begin)
	return l
}

func (l *late) begin() { time.AfterFunc(closeAfter, l.close) }

func (l *late) close() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if !l.ended {
		_ = l.dc.Close() // what the driver waits for fails
	}
}

// stop ends the watch. The caller calls it when the statement has ended.
func (l *late) stop() {
	if l == nil || l.unwatch() {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.ended = true
}
