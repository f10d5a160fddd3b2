package wirings

import (
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A link is the way from an adapter to its network store: a client of its own, through a proxy of its own.
type link struct {
	proxy *fault.Proxy
	close func() error // closes the client, once
}

// newLink returns a link that ends with the clause. open makes the client, which must dial through the proxy, and returns
// what closes it.
func newLink(t testing.TB, open func(proxy *fault.Proxy) (closeClient func() error, err error)) *link {
	t.Helper()
	proxy, err := fault.NewProxy("") // the client's dialer says where to
	if err != nil {
		t.Fatal(err)
	}
	closeClient, err := open(proxy)
	if err != nil {
		_ = proxy.Close()
		t.Fatal(err)
	}
	l := &link{proxy: proxy, close: sync.OnceValue(func() error {
		err := closeClient()
		drain(proxy)
		return err
	})}
	t.Cleanup(func() {
		proxy.Heal() // a client may wait for answers before it closes
		_ = l.close()
		_ = proxy.Close()
	})
	return l
}

// drain returns when the proxy has seen the end of what the client sent: a client says goodbye and does not wait.
func drain(proxy *fault.Proxy) {
	const enough = 2 * time.Second
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(enough); proxy.Stats().Open > 0 && time.Now().Before(end); {
		<-tick.C
	}
}

func (l *link) itself() *link { return l }

// linkOf returns the link of an adapter that a harness here opened.
func linkOf(a adapter.Adapter) *link { return a.(interface{ itself() *link }).itself() }

// linked sets what every harness of a network store does through the link.
func linked(h adaptertest.Harness) adaptertest.Harness {
	h.Close = func(a adapter.Adapter) error { return linkOf(a).close() }
	h.Faults = func(a adapter.Adapter) fault.Control { return linkOf(a).proxy }
	h.ClauseTimeout = 3 * time.Minute // a cancelled call costs a connection, and the machine may be busy
	h.Connections = func(a adapter.Adapter) int { return linkOf(a).proxy.Stats().Open }
	return h
}
