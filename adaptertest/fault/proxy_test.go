package fault_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience limits every wait of these tests. A wait in a test that passes is
// shorter.
const patience = 10 * time.Second

// lineServer answers each line with "ok " and the line.
type lineServer struct {
	addr string
	mu   sync.Mutex
	seen []string
}

func newLineServer(t *testing.T) *lineServer {
	t.Helper()
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &lineServer{addr: ln.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *lineServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, strings.TrimSpace(line))
		s.mu.Unlock()
		if _, err := fmt.Fprintf(conn, "ok %s", line); err != nil {
			return
		}
	}
}

func (s *lineServer) saw(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, line)
}

// client is a connection through the proxy.
type client struct {
	*net.TCPConn
	r *bufio.Reader
}

func newClient(conn net.Conn) *client { return &client{conn.(*net.TCPConn), bufio.NewReader(conn)} }

func dial(t *testing.T, p *fault.Proxy) *client {
	t.Helper()
	return connected(net.Dial("tcp", p.Addr()))(t)
}

// connected makes a client of a new connection, which must be there.
func connected(conn net.Conn, err error) func(*testing.T) *client {
	return func(t *testing.T) *client {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		return newClient(conn)
	}
}

// ask sends a line and returns the answer.
func (c *client) ask(line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return c.answer()
}

func (c *client) answer() (string, error) {
	s, err := c.r.ReadString('\n')
	return strings.TrimSpace(s), err
}

// send sends a line and does not wait for the answer.
func (c *client) send(t *testing.T, line string) {
	t.Helper()
	must(io.WriteString(c, line+"\n"))(t)
}

// wantAnswer waits for the answer to a line.
func (c *client) wantAnswer(t *testing.T, line string) {
	t.Helper()
	got, err := c.answer()
	require.NoErrorf(t, err, "the answer to %q", line)
	require.Equal(t, "ok "+line, got)
}

func (c *client) mustAsk(t *testing.T, line string) {
	t.Helper()
	c.send(t, line)
	c.wantAnswer(t, line)
}

// askAnew asks on a new connection, which may be reset while it is being made.
func askAnew(t *testing.T, p *fault.Proxy, line string) error {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = newClient(conn).ask(line)
	return err
}

// silent fails the test if data arrives within a short time.
func (c *client) silent(t *testing.T) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	got, err := c.answer()
	assert.Truef(t, errors.Is(err, os.ErrDeadlineExceeded) && got == "", "got %q, %v; want silence", got, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
}

func wantReset(t *testing.T, err error) {
	t.Helper()
	assert.Truef(t, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE),
		"got %v, want a reset connection", err)
}

func newProxy(t *testing.T, target string) *fault.Proxy {
	t.Helper()
	p := must(fault.NewProxy(target))(t)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// serveOnce serves one connection, closes it, and returns the address.
func serveOnce(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = ln.Close() })
	wg.Go(func() {
		if conn, err := ln.Accept(); err == nil {
			serve(conn)
			_ = conn.Close()
		}
	})
	return ln.Addr().String()
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// newServed returns a server and the proxy in front of it.
func newServed(t *testing.T) (*lineServer, *fault.Proxy) {
	t.Helper()
	s := newLineServer(t)
	return s, newProxy(t, s.addr)
}

func inject(t *testing.T, c fault.Control, kind fault.Kind, step int) fault.Injection {
	t.Helper()
	return must(c.Inject(kind, step))(t)
}

func isHit(i fault.Injection) bool {
	select {
	case <-i.Hit():
		return true
	default:
		return false
	}
}

func waitHit(t *testing.T, i fault.Injection) {
	t.Helper()
	select {
	case <-i.Hit():
	case <-time.After(patience):
		t.Fatal("the fault did not take effect")
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, patience, time.Millisecond, what)
}

func TestProxyCounts(t *testing.T) {
	_, p := newServed(t)
	a, b := dial(t, p), dial(t, p)
	a.mustAsk(t, "one")
	b.mustAsk(t, "two")
	a.mustAsk(t, "three")
	assert.Equal(t, fault.ProxyStats{Open: 2, Opened: 2, RoundTrips: 3}, p.Stats())
	_ = a.Close()
	_ = b.Close()
	eventually(t, "no connection is open", func() bool { return p.Stats().Open == 0 })
	assert.EqualValues(t, 3, p.Steps(), "steps")
}

// A request in several pieces, and an answer in several, are one step.
func TestProxyStepsOfPieces(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	line := strings.Repeat("x", 1<<20)
	c.mustAsk(t, line)
	assert.EqualValues(t, 1, p.Steps(), "steps")
	for _, piece := range []string{"a", "b", "c\n"} {
		must(io.WriteString(c, piece))(t)
		eventually(t, "two steps", func() bool { return p.Steps() == 2 })
	}
	c.wantAnswer(t, "abc")
	assert.EqualValues(t, 2, p.Steps(), "steps")
}

// A client may end its stream and still read the answer.
func TestProxyClientHalfCloses(t *testing.T) {
	p := newProxy(t, serveOnce(t, func(conn net.Conn) {
		if b, err := io.ReadAll(conn); err == nil {
			slices.Reverse(b)
			_, _ = conn.Write(b)
		}
	}))
	c := dial(t, p)
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(rand.IntN(256))
	}
	must(c.Write(sent))(t)
	require.NoError(t, c.CloseWrite())
	got, err := io.ReadAll(c)
	slices.Reverse(got)
	assert.Truef(t, err == nil && bytes.Equal(got, sent),
		"got %d bytes, %v; want the %d that were sent, in reverse", len(got), err, len(sent))
	eventually(t, "no connection is open", func() bool { return p.Stats().Open == 0 })
}

func TestProxyFailRequest(t *testing.T) {
	s, p := newServed(t)
	c := dial(t, p)
	other := dial(t, p)
	other.mustAsk(t, "other")
	i := inject(t, p, fault.FailRequest, 2)
	c.mustAsk(t, "one")
	assert.False(t, isHit(i), "hit at step 1, want 2")
	_, err := c.ask("two")
	wantReset(t, err)
	waitHit(t, i)
	assert.False(t, s.saw("two"), "the store saw the request that failed")
	other.mustAsk(t, "three")
}

func TestProxyLoseReply(t *testing.T) {
	s, p := newServed(t)
	c := dial(t, p)
	i := inject(t, p, fault.LoseReply, 1)
	got, err := c.ask("one")
	wantReset(t, err)
	assert.Emptyf(t, got, "got %q of a lost answer", got)
	waitHit(t, i)
	assert.True(t, s.saw("one"), "the store did not see the request whose answer was lost")
	assert.Zero(t, p.Stats().Open, "open connections")
	dial(t, p).mustAsk(t, "two")
}

func TestProxyHoldReply(t *testing.T) {
	s, p := newServed(t)
	c, other := dial(t, p), dial(t, p)
	i := inject(t, p, fault.HoldReply, 1)
	c.send(t, "one")
	waitHit(t, i)
	assert.True(t, s.saw("one"), "held an answer before the store had acted")
	other.mustAsk(t, "two")
	c.silent(t)
	c.send(t, "three") // before the answer arrived
	eventually(t, "the store acts on what follows", func() bool { return s.saw("three") })
	c.silent(t)
	i.Release()
	i.Release()
	c.wantAnswer(t, "one")
	c.wantAnswer(t, "three")
}

func TestProxyHoldReplyOfClientThatLeaves(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	i := inject(t, p, fault.HoldReply, 1)
	c.send(t, "one")
	waitHit(t, i)
	_ = c.Close()
	eventually(t, "no connection is open", func() bool { return p.Stats().Open == 0 })
}

func TestProxyStall(t *testing.T) {
	s, p := newServed(t)
	c, other, leaver := dial(t, p), dial(t, p), dial(t, p)
	leaver.mustAsk(t, "hello")
	i := inject(t, p, fault.Stall, 2)
	c.mustAsk(t, "one")
	for conn, line := range map[*client]string{c: "two", other: "three", leaver: "four", dial(t, p): "five"} {
		conn.send(t, line)
	}
	waitHit(t, i)
	c.silent(t)
	other.silent(t)
	for _, line := range []string{"two", "three", "four", "five"} {
		assert.Falsef(t, s.saw(line), "the store saw %q", line)
	}
	_ = leaver.Close()
	i.Release()
	c.wantAnswer(t, "two")
	other.wantAnswer(t, "three")
	c.mustAsk(t, "six")
	eventually(t, "the store sees what a new connection sent", func() bool { return s.saw("five") })
	eventually(t, "the client that left is gone", func() bool { return p.Stats().Open == 3 })
	assert.False(t, s.saw("four"), "the store saw what was sent by a client that left during the stall")
}

// TestProxyStallOfABusyProcess: if a client closes its connection before the
// stall ends, the store does not see its data, even if all processors are busy
// and the proxy learns of the close late.
func TestProxyStallOfABusyProcess(t *testing.T) {
	s, p := newServed(t)
	var over atomic.Bool
	var busy sync.WaitGroup
	defer busy.Wait()
	defer over.Store(true)
	for range 4 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for n := 0; !over.Load(); {
				n++
			}
		})
	}
	for n := range 3 {
		c := dial(t, p)
		c.mustAsk(t, "hello")
		i := inject(t, p, fault.Stall, 1)
		line := fmt.Sprint("left ", n)
		c.send(t, line)
		waitHit(t, i)
		_ = c.Close()
		i.Release()
		eventually(t, "the client that left is gone", func() bool { return p.Stats().Open == 0 })
		require.Falsef(t, s.saw(line), "the store saw %q, which was sent by a client that left during the stall", line)
	}
}

func TestProxyCutReply(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	i := inject(t, p, fault.CutReply, 1)
	got, err := c.ask("0123456789")
	assert.Truef(t, errors.Is(err, io.EOF) && got == "ok 0123",
		"got %q, %v; want half of the answer and the end of the stream", got, err)
	waitHit(t, i)
	dial(t, p).mustAsk(t, "two")
}

func TestProxyCut(t *testing.T) {
	s, p := newServed(t)
	c, other := dial(t, p), dial(t, p)
	other.mustAsk(t, "one")
	i := inject(t, p, fault.Cut, 1)
	_, err := c.ask("two")
	wantReset(t, err)
	waitHit(t, i)
	_, err = other.answer()
	wantReset(t, err)
	assert.False(t, s.saw("two"), "the store saw the request that was cut")
	dial(t, p).mustAsk(t, "three")
}

func TestProxyDown(t *testing.T) {
	s, p := newServed(t)
	c, other := dial(t, p), dial(t, p)
	other.mustAsk(t, "one")
	i := inject(t, p, fault.Down, 1)
	_, err := c.ask("two")
	wantReset(t, err)
	waitHit(t, i)
	_, err = other.answer()
	wantReset(t, err)
	for range 3 {
		wantReset(t, askAnew(t, p, "three"))
	}
	i.Release()
	dial(t, p).mustAsk(t, "four")
	assert.True(t, !s.saw("two") && !s.saw("three"), "the store saw a request while it was down")
}

func TestProxyHalfClose(t *testing.T) {
	s, p := newServed(t)
	c := dial(t, p)
	i := inject(t, p, fault.HalfClose, 1)
	got, err := c.ask("one")
	assert.Truef(t, errors.Is(err, io.EOF) && got == "", "got %q, %v; want the end of the stream", got, err)
	waitHit(t, i)
	_, err = io.WriteString(c, "two\n")
	assert.NoError(t, err, "the client may no longer send")
	eventually(t, "the store sees what is sent", func() bool { return s.saw("two") })
}

func TestProxyDelay(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	i := inject(t, p, fault.Delay, 2)
	c.mustAsk(t, "one")
	for _, line := range []string{"two", "three"} {
		start := time.Now()
		c.mustAsk(t, line)
		took := time.Since(start)
		assert.Truef(t, took >= 50*time.Millisecond, "%s took %v, want 50ms", line, took)
	}
	waitHit(t, i)
	i.Release()
	start := time.Now()
	for range 100 {
		c.mustAsk(t, "four")
	}
	took := time.Since(start)
	assert.Truef(t, took <= 100*50*time.Millisecond, "still delayed after the release: 100 round trips took %v", took)
}

func TestProxyReleaseDisarms(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	released := inject(t, p, fault.FailRequest, 1)
	healed := []fault.Injection{inject(t, p, fault.Down, 1), inject(t, p, fault.HoldReply, 2), inject(t, p, fault.Stall, 3)}
	released.Release()
	p.Heal()
	for range 5 {
		c.mustAsk(t, "one")
	}
	for _, i := range append(healed, released) {
		assert.False(t, isHit(i), "a fault that was disarmed took effect")
	}
}

func TestProxyHealEndsWhatIsInForce(t *testing.T) {
	_, p := newServed(t)
	a, b := dial(t, p), dial(t, p)
	hold, stall := inject(t, p, fault.HoldReply, 1), inject(t, p, fault.Stall, 2)
	a.send(t, "one")
	waitHit(t, hold)
	b.send(t, "two")
	waitHit(t, stall)
	p.Heal()
	a.wantAnswer(t, "one")
	b.wantAnswer(t, "two")
}

func TestProxyCountsFromEachInjection(t *testing.T) {
	_, p := newServed(t)
	c := dial(t, p)
	c.mustAsk(t, "one")
	second := inject(t, p, fault.CutReply, 2)
	c.mustAsk(t, "two")
	first := inject(t, p, fault.HoldReply, 1) // the same step as second
	c.send(t, "three")
	waitHit(t, first)
	assert.False(t, isHit(second), "the answer was cut while it was held")
	first.Release()
	got, err := c.answer()
	assert.ErrorIsf(t, err, io.EOF, "got %q, %v; want the end of the stream", got, err)
	waitHit(t, second)
}

func TestProxyRefusesNonsense(t *testing.T) {
	p := newProxy(t, "127.0.0.1:1")
	for _, kind := range []fault.Kind{0, -1, fault.Delay + 1} {
		_, err := p.Inject(kind, 1)
		assert.ErrorIsf(t, err, errors.ErrUnsupported, "Inject(%d, 1): got %v, want ErrUnsupported", kind, err)
	}
	for _, step := range []int{0, -1} {
		_, err := p.Inject(fault.Cut, step)
		assert.Truef(t, err != nil && !errors.Is(err, errors.ErrUnsupported),
			"got %v, want an error about the step %d", err, step)
	}
}

func TestProxyWithoutTarget(t *testing.T) {
	s := newLineServer(t)
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = ln.Close()
	p := newProxy(t, ln.Addr().String())
	wantReset(t, askAnew(t, p, "one"))
	p.Retarget(s.addr)
	dial(t, p).mustAsk(t, "two")
}

// TestProxyDialContext checks that one proxy can be in front of several stores.
func TestProxyDialContext(t *testing.T) {
	one, two, three := newLineServer(t), newLineServer(t), newLineServer(t)
	p := newProxy(t, three.addr)
	through := func(s *lineServer) *client { return connected(p.DialContext(t.Context(), "tcp", s.addr))(t) }
	a, b := through(one), through(two)
	a.mustAsk(t, "a")
	b.mustAsk(t, "b")
	dial(t, p).mustAsk(t, "c")
	assert.True(t, one.saw("a") && two.saw("b") && three.saw("c") && !one.saw("b") && !two.saw("a"),
		"a connection went to another store than was asked for")
	lost := inject(t, p, fault.LoseReply, 2)
	a.mustAsk(t, "d")
	_, err := b.ask("e")
	wantReset(t, err)
	waitHit(t, lost)
	assert.True(t, two.saw("e"), "the reply was lost before the store had acted")
	assert.EqualValues(t, 5, p.Steps(), "steps over all stores")
}

func TestProxyStoreCloses(t *testing.T) {
	p := newProxy(t, serveOnce(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "hello and goodbye\n") // the store sends first
	}))
	c := dial(t, p)
	got, err := io.ReadAll(c)
	assert.Truef(t, string(got) == "hello and goodbye\n" && err == nil, "got %q, %v", got, err)
	eventually(t, "no connection is open", func() bool { return p.Stats().Open == 0 })
	assert.Zero(t, p.Steps(), "steps")
}

func TestProxyManyConnections(t *testing.T) {
	_, p := newServed(t)
	const clients, lines = 16, 50
	var wg sync.WaitGroup
	for n := range clients {
		c := dial(t, p)
		wg.Go(func() {
			defer func() { _ = c.Close() }()
			for k := range lines {
				line := fmt.Sprintf("%d/%d", n, k)
				if got, err := c.ask(line); err != nil || got != "ok "+line {
					t.Errorf("asked %q: got %q, %v", line, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "no connection is open", func() bool { return p.Stats().Open == 0 })
	assert.Equal(t, fault.ProxyStats{Opened: clients, RoundTrips: clients * lines}, p.Stats())
}

// Faults of every kind under load: the proxy neither hangs nor leaks, and every
// client sees complete answers or an error.
func TestProxyUnderLoad(t *testing.T) {
	_, p := newServed(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for n := range 8 {
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("tcp", p.Addr())
				if err != nil {
					wantReset(t, err)
					continue
				}
				c := newClient(conn)
				for range 5 {
					line := fmt.Sprintf("%d/%d", n, k)
					got, err := c.ask(line)
					if err != nil {
						break
					}
					assert.Equalf(t, "ok "+line, got, "asked %q", line)
				}
				_ = c.Close()
			}
		})
	}
	for range 5 {
		for kind := fault.FailRequest; kind <= fault.Delay; kind++ {
			i := inject(t, p, kind, 3)
			waitHit(t, i)
			i.Release()
		}
	}
	close(stop)
	wg.Wait()
	assert.NoError(t, p.Close())
	assert.NoError(t, p.Close())
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	assert.Truef(t, !bytes.Contains(stacks, []byte("fault.(*link)")) && !bytes.Contains(stacks, []byte("fault.(*Proxy)")),
		"goroutines of the proxy are left:\n%s", stacks)
	assert.Zero(t, p.Stats().Open, "open connections")
}

func TestProxyCloseWithFaultsInForce(t *testing.T) {
	s := newLineServer(t)
	for kind := fault.FailRequest; kind <= fault.Delay; kind++ {
		p := newProxy(t, s.addr)
		c := dial(t, p)
		i := inject(t, p, kind, 1)
		c.send(t, "one")
		waitHit(t, i)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		select {
		case err := <-closed:
			assert.NoError(t, err)
		case <-time.After(patience):
			t.Fatalf("kind %d: Close hangs", kind)
		}
	}
}
