package fault

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Proxy is a TCP proxy in front of one store, and the [Control] of what passes
// through it. It knows no protocol: a step begins with the first bytes that a
// client sends after the store has answered (or at all), and its answer is what
// the store sends until the client sends again. For protocols in which client
// and store take turns, which is what the usual stores speak, a step is
// therefore one round trip; what a store sends unasked belongs to the step
// before.
//
// All faults are supported. FailRequest, LoseReply, Cut and Down reset the
// connection; CutReply and HalfClose end it in order. A client that leaves
// during a Stall takes what it sent with it: the store never sees it.
type Proxy struct {
	sched    schedule
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string
	routes map[string]string // the address that a client of DialContext asked for, by the client's own
	links  map[*link]struct{}
	opened int64
	closed bool
}

// NewProxy listens on a free port of the loopback interface and passes every
// connection on to target, an address as for net.Dial("tcp", target). The
// target need not listen yet. Close ends the proxy.
func NewProxy(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault: %w", err)
	}
	p := &Proxy{listener: ln, target: target, routes: make(map[string]string), links: make(map[*link]struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is the address that clients connect to, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// DialContext connects to addr through the proxy, whatever its target is. As the
// dialer of a client it puts one proxy, whose steps are counted over all
// connections, in front of all nodes of a cluster.
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock() // the connection is accepted after its route is known
	defer p.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, p.Addr())
	if err != nil {
		return nil, err
	}
	p.routes[conn.LocalAddr().String()] = addr
	return conn, nil
}

// Retarget sends later connections to another address, as when the store was
// started again on another port. Open connections stay where they are.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Close stops listening, breaks all connections, heals, and returns when no
// goroutine of the proxy is left. Calls after the first do nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.breakAll()
	p.Heal()
	p.wg.Wait()
	return err
}

// Inject implements [Control].
func (p *Proxy) Inject(kind Kind, step int) (Injection, error) { return p.sched.inject(kind, step) }

// Steps implements [Control]: the number of round trips so far.
func (p *Proxy) Steps() int64 { return p.sched.count() }

// Heal implements [Control].
func (p *Proxy) Heal() { p.sched.heal() }

// ProxyStats counts what passed through a Proxy.
type ProxyStats struct {
	// Open is the number of client connections open now.
	Open int
	// Opened is the number of connections that clients have made.
	Opened int64
	// RoundTrips is the number of steps.
	RoundTrips int64
}

// Stats returns the counts so far.
func (p *Proxy) Stats() ProxyStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := ProxyStats{Opened: p.opened, RoundTrips: p.sched.count()}
	for l := range p.links {
		if !l.lost.Load() {
			s.Open++
		}
	}
	return s
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		ctx, l := newLink(p, conn.(*net.TCPConn))
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			l.shatter()
			return
		}
		p.opened++
		p.links[l] = struct{}{}
		client := conn.RemoteAddr().String()
		l.target = p.routes[client]
		delete(p.routes, client)
		p.mu.Unlock()
		p.wg.Go(func() { l.serve(ctx) })
	}
}

func (p *Proxy) dial(ctx context.Context, target string) (*net.TCPConn, error) {
	if target == "" {
		p.mu.Lock()
		target = p.target
		p.mu.Unlock()
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

func (p *Proxy) breakAll() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.shatter()
	}
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// reset closes a connection so that the other end sees a reset.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails on a connection that is closed already
	_ = conn.Close()
}
