package postgres

import (
	"context"
	"io"
	"sync"
	"time"
)

// A driver has half a second to end a statement whose context has ended. One that works
// cancels the statement on the server meanwhile.
const (
	lookEvery = 250 * time.Millisecond
	lateAfter = 3 // looks that find the context ended
)

// late closes the connections of a driver that does not end its statements when their
// contexts end. It looks at all of them by one timer, which costs a statement less than a
// function after its context. [CTX-02]
type late struct {
	lock    sync.Mutex
	first   *statement
	looking bool // a look follows
}

// statement is one that the driver is running.
type statement struct {
	ctx    context.Context
	dc     io.Closer     // the connection of the driver
	looks  int           // since the context has ended
	closed chan struct{} // is closed after dc; nil before a look closes it

	next, before *statement
}

// begin begins to watch a statement. It returns nil if there is nothing to watch.
func (l *late) begin(ctx context.Context, dc io.Closer) *statement {
	if dc == nil || ctx.Done() == nil {
		return nil
	}
	s := &statement{ctx: ctx, dc: dc}
	l.lock.Lock()
	defer l.lock.Unlock()
	if s.next = l.first; s.next != nil {
		s.next.before = s
	}
	l.first = s
	if !l.looking {
		l.looking = true
		time.AfterFunc(lookEvery, l.look)
	}
	return s
}

// end ends the watch of a statement that has ended. After it nothing closes the connection.
func (l *late) end(s *statement) {
	if s == nil {
		return
	}
	l.lock.Lock()
	if s.before == nil {
		l.first = s.next
	} else {
		s.before.next = s.next
	}
	if s.next != nil {
		s.next.before = s.before
	}
	closed := s.closed
	l.lock.Unlock()
	if closed != nil {
		<-closed
	}
}

// look closes the connections whose statements are late, and sees to the next look.
func (l *late) look() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for s := l.first; s != nil; s = s.next {
		if s.ctx.Err() == nil {
			continue
		}
		if s.looks++; s.looks != lateAfter {
			continue
		}
		s.closed = make(chan struct{})
		go func() {
			defer close(s.closed)
			_ = s.dc.Close() // what the driver waits for fails
		}()
	}
	if l.looking = l.first != nil; l.looking {
		time.AfterFunc(lookEvery, l.look)
	}
}
