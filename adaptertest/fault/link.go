package fault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	delay      = 50 * time.Millisecond
	chunkBytes = 32 << 10
	// chunksHeld is the number of chunks of one direction that the proxy holds
	// before the sender must wait.
	chunksHeld = 64
	// drainTime limits how long the store may take to finish an answer that is
	// being lost.
	drainTime = 5 * time.Second
	// leaveTime is how long a request waits after a stall for the news that
	// its sender has closed the connection.
	leaveTime = 5 * time.Millisecond
)

// link is one connection through the proxy. Each direction has a goroutine
// that reads and one that writes, so that the proxy notices a closed end while
// it holds data of that end back. While there is no fault, the goroutine that reads
// passes the data on itself, which saves a change of goroutines.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	target         string // the address of the store, if it differs from the proxy's target
	requests       chan []byte
	answers        chan chunk
	left           chan struct{}   // closed when the client has ended its stream
	over           <-chan struct{} // closed when the link is broken
	cancel         context.CancelFunc
	end            sync.Once
	queued         atomic.Int64 // requests that the writing goroutine has not passed on
	undelivered    atomic.Int64 // answers of the same kind
	lost           atomic.Bool  // the client's side was reset to lose an answer
	deaf           atomic.Bool  // the client's stream was ended by HalfClose

	mu       sync.Mutex
	current  *exchange
	answered bool
}

// exchange is a step on this link.
type exchange struct {
	faults stepFaults
	delay  *injection
	hold   *injection
}

// chunk is a piece of an answer; first is set on the first piece of an
// exchange.
type chunk struct {
	data    []byte
	arrived time.Time
	first   *exchange
}

// newLink returns the link of a client, and the context that ends with it.
func newLink(p *Proxy, client *net.TCPConn) (context.Context, *link) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, &link{
		proxy:    p,
		client:   client,
		requests: make(chan []byte, chunksHeld),
		answers:  make(chan chunk, chunksHeld),
		left:     make(chan struct{}),
		over:     ctx.Done(),
		cancel:   cancel,
	}
}

// shatter breaks both sides at once. The client sees a reset.
func (l *link) shatter() { l.endWith(func() { reset(l.client) }) }

// finish closes both sides without a reset.
func (l *link) finish() { l.endWith(func() { _ = l.client.Close() }) }

func (l *link) endWith(closeClient func()) {
	l.end.Do(func() {
		l.cancel()
		closeClient()
		l.mu.Lock()
		if l.server != nil {
			_ = l.server.Close()
		}
		l.mu.Unlock()
		l.proxy.forget(l)
	})
}

// connect dials the store. It reports false if that fails or the link is
// broken.
func (l *link) connect(ctx context.Context) bool {
	server, err := l.proxy.dial(ctx, l.target)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.over:
		_ = server.Close()
		return false
	default:
		l.server = server
		return true
	}
}

func (l *link) serve(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(l.readClient)
	if l.proxy.sched.lasting(Down) != nil || !l.passStall() || !l.connect(ctx) {
		l.shatter()
		return
	}
	wg.Go(l.readServer)
	wg.Go(l.deliver)
	l.forward()
}

func (l *link) readClient() {
	defer close(l.requests)
	defer close(l.left)
	b := make([]byte, chunkBytes)
	for {
		n, err := l.client.Read(b)
		if n > 0 && !l.passes(b[:n]) {
			l.queued.Add(1)
			select {
			case l.requests <- bytes.Clone(b[:n]):
			case <-l.over:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !l.lost.Load() {
				l.shatter()
			}
			return
		}
	}
}

// passes writes a request to the store if nothing delays it and no fault waits for it.
func (l *link) passes(b []byte) bool {
	if l.queued.Load() > 0 {
		return false
	}
	l.mu.Lock()
	begins := l.current == nil || l.answered
	if l.server == nil || !l.proxy.sched.quiet(begins) {
		l.mu.Unlock()
		return false
	}
	if begins {
		l.current, l.answered = &exchange{}, false
	}
	l.mu.Unlock()
	l.send(b)
	return true
}

// send writes a request to the store, and reports whether that succeeded.
func (l *link) send(b []byte) bool {
	_, err := l.server.Write(b)
	if err != nil && !l.lost.Load() {
		l.shatter()
	}
	return err == nil
}

// forward passes requests to the store.
func (l *link) forward() {
	for b := range l.requests {
		if l.begins() && !l.begin() {
			return
		}
		if !l.passStall() {
			l.shatter()
			return
		}
		if !l.send(b) {
			return
		}
		l.queued.Add(-1)
	}
	_ = l.server.CloseWrite() // an error means that the link is broken already
}

// begins reports whether the data that the client sends now begins a step.
func (l *link) begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current == nil || l.answered
}

// begin counts a step and causes the faults of its request. It reports whether
// the request may pass.
func (l *link) begin() bool {
	sched := &l.proxy.sched
	f := sched.begin()
	if i := f.take(Down); i != nil {
		l.proxy.breakAll()
		i.struck()
	}
	if sched.lasting(Down) != nil {
		l.shatter()
		return false
	}
	if i := f.take(Stall); i != nil {
		i.struck()
		if !l.passStall() {
			l.shatter()
			return false
		}
	}
	if i := f.take(FailRequest); i != nil {
		l.shatter()
		i.struck()
		return false
	}
	if i := f.take(Cut); i != nil {
		l.proxy.breakAll()
		i.struck()
		return false
	}
	if i := f.take(HalfClose); i != nil {
		l.deaf.Store(true)
		_ = l.client.CloseWrite() // an error means that the client has closed already
		i.struck()
	}
	if i := f.take(Delay); i != nil {
		i.struck()
	}
	l.mu.Lock()
	l.current = &exchange{faults: f, delay: sched.lasting(Delay)}
	l.answered = false
	l.mu.Unlock()
	return true
}

// passStall waits while a Stall is in force. It reports false if the link ended
// or the client closed during the wait.
func (l *link) passStall() bool {
	waited := false
	for i := l.proxy.sched.lasting(Stall); i != nil; i = l.proxy.sched.lasting(Stall) {
		waited = true
		select {
		case <-i.done:
		case <-l.left:
			return false
		case <-l.over:
			return false
		}
	}
	if !waited {
		return true
	}
	timer := time.NewTimer(leaveTime)
	defer timer.Stop()
	select {
	case <-l.left:
		return false
	case <-l.over:
		return false
	case <-timer.C:
		return !hasEnded(l.client)
	}
}

func (l *link) readServer() {
	defer close(l.answers)
	b := make([]byte, chunkBytes)
	for {
		n, err := l.server.Read(b)
		if n > 0 && !l.delivers(b[:n]) {
			l.undelivered.Add(1)
			select {
			case l.answers <- l.arrive(bytes.Clone(b[:n])):
			case <-l.over:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !l.lost.Load() {
				l.shatter()
			}
			return
		}
	}
}

// arrive records that a piece of an answer has come from the store.
func (l *link) arrive(b []byte) chunk {
	c := chunk{data: b, arrived: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil || l.answered {
		return c
	}
	l.answered = true
	c.first = l.current
	if i := c.first.faults.take(HoldReply); i != nil {
		c.first.hold = i
		i.struck()
	}
	return c
}

// delivers writes an answer to the client if nothing delays it and no fault waits for
// it.
func (l *link) delivers(b []byte) bool {
	if l.undelivered.Load() > 0 || l.lost.Load() || l.deaf.Load() {
		return false
	}
	l.mu.Lock()
	e := l.current
	if e != nil && !l.answered && (len(e.faults) > 0 || e.delay != nil) || !l.proxy.sched.quiet(false) {
		l.mu.Unlock()
		return false
	}
	l.answered = true
	l.mu.Unlock()
	if _, err := l.client.Write(b); err != nil {
		l.shatter()
	}
	return true
}

// deliver passes answers to the client.
func (l *link) deliver() {
	for c := range l.answers {
		if !l.deliverChunk(c) {
			return
		}
		l.undelivered.Add(-1)
	}
	l.finish()
}

// deliverChunk passes one piece of an answer to the client, unless it is lost. It
// reports false if the link has ended.
func (l *link) deliverChunk(c chunk) bool {
	if l.lost.Load() {
		return true
	}
	if e := c.first; e != nil && !l.answerFaults(e, c) {
		return true
	}
	if !l.passStall() {
		l.shatter()
		return false
	}
	if l.deaf.Load() {
		return true
	}
	if _, err := l.client.Write(c.data); err != nil {
		l.shatter()
		return false
	}
	return true
}

// answerFaults causes the faults of an answer, of which c is the first piece.
// It reports whether the answer may pass.
func (l *link) answerFaults(e *exchange, c chunk) bool {
	if i := e.faults.take(LoseReply); i != nil {
		l.lost.Store(true)
		reset(l.client)
		_ = l.server.SetReadDeadline(time.Now().Add(drainTime))
		_ = l.server.CloseWrite()
		i.struck()
		return false
	}
	if e.hold != nil && !l.wait(e.hold, nil) {
		l.shatter()
		return false
	}
	if i := e.faults.take(CutReply); i != nil {
		_, _ = l.client.Write(c.data[:len(c.data)/2]) // the connection ends either way
		l.finish()
		i.struck()
		return false
	}
	if e.delay != nil {
		timer := time.NewTimer(time.Until(c.arrived.Add(delay)))
		defer timer.Stop()
		if !l.wait(e.delay, timer.C) {
			l.shatter()
			return false
		}
	}
	return true
}

// wait waits until the fault is released or the timer fires. It reports false
// if the link ended or the client closed during that time.
func (l *link) wait(i *injection, timer <-chan time.Time) bool {
	left := l.left
	if timer != nil {
		left = nil // a client may end its stream and wait for the answer
	}
	select {
	case <-i.done:
		return true
	case <-timer:
		return true
	case <-left:
		return false
	case <-l.over:
		return false
	}
}
