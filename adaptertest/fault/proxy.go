package fault

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
)

// Proxy is a TCP proxy in front of one store, and the [Control] of its traffic.
// It does not interpret the protocol. A step begins with the first bytes that a
// client sends on a connection, or sends after an answer of the store. Its
// answer is all data from the store until the client sends again. In most
// stores' protocols client and store take turns, so a step is one round trip.
// Data that a store sends without a request belongs to the step before.
//
// All faults are supported. FailRequest, LoseReply, Cut and Down reset the
// connection; CutReply and HalfClose end it without a reset. If a client
// closes its connection during a Stall, the store never sees the data that
// the client sent during it.
type Proxy struct {
	sched    schedule
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string
	routes map[string]string // from the local address of a client of DialContext to the address that it asked for
	links  map[*link]struct{}
	opened int64
	closed bool
}

// NewProxy listens on a free port of the loopback interface and passes every
// connection on to target, an address as for net.Dial("tcp", target). The
// target may start to listen later. Close ends the proxy.
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

// DialContext connects to addr through the proxy, instead of to the proxy's
// target. If it is the dialer of a client, one proxy is in front of all nodes of
// a cluster, and counts steps over all connections.
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock() // the proxy accepts the connection only after its route is stored
	defer p.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, p.Addr())
	if err != nil {
		return nil, err
	}
	p.routes[conn.LocalAddr().String()] = addr
	return conn, nil
}

// Retarget sends later connections to another address, for example after the
// store was started again on another port. Open connections keep their
// address.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Close stops listening, breaks all connections, heals, and returns when all
// goroutines of the proxy have ended. Calls after the first do nothing.
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

// ProxyStats has the counts of a Proxy.
type ProxyStats struct {
	// Open is the number of open client connections.
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
	links := slices.Collect(maps.Keys(p.links))
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
	_ = conn.SetLinger(0) // an error means that the connection is closed already
	_ = conn.Close()
}
