// Package redistest opens Redis adapters for the tests of this module and for
// the tests of all bundled adapters. The package promises nothing: it changes in
// any version, as the tests need.
package redistest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Settings are the settings of a client that a test may change.
type Settings struct {
	// Dial opens connections; nil means the client's own dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Conns is the largest number of connections; 0 means 16.
	Conns int
	// User and Password are those of a user of the servers; empty means that of the URL.
	User, Password string
	// Protocol is the version of the protocol; 0 means that of the server.
	Protocol int
	// Change changes further options, if it is not nil.
	Change func(o *goredis.UniversalOptions)
}

// universal are the options of a client of any kind.
func (s Settings) universal() *goredis.UniversalOptions {
	o := &goredis.UniversalOptions{Dialer: s.Dial, PoolSize: s.Conns, ContextTimeoutEnabled: true, Username: s.User, Password: s.Password, Protocol: s.Protocol}
	if s.Change != nil {
		s.Change(o)
	}
	return o
}

// A Server is a way to reach Redis: it opens a client.
type Server func(s Settings) (goredis.UniversalClient, error)

// URL is one server. Protocol is 2 or 3, or 0 for the client's default.
func URL(url string, protocol int) Server {
	return func(s Settings) (goredis.UniversalClient, error) {
		options, err := goredis.ParseURL(url)
		if err != nil {
			return nil, errors.New("redistest: the URL of Redis can't be parsed")
		}
		if s.User == "" {
			s.User, s.Password = options.Username, options.Password
		}
		s.Protocol = cmp.Or(s.Protocol, protocol)
		o := s.universal()
		o.Addrs, o.DB, o.TLSConfig = []string{options.Addr}, cmp.Or(o.DB, options.DB), options.TLSConfig
		return goredis.NewClient(o.Simple()), nil
	}
}

// Cluster is a cluster with nodes at the addresses.
func Cluster(addrs ...string) Server {
	return func(s Settings) (goredis.UniversalClient, error) {
		o := s.universal()
		o.Addrs = addrs
		return goredis.NewClusterClient(o.Cluster()), nil
	}
}

// Sentinel is the server that the sentinels report as the master of the name.
func Sentinel(master string, sentinels ...string) Server {
	return func(s Settings) (goredis.UniversalClient, error) {
		o := s.universal()
		o.MasterName, o.Addrs = master, sentinels
		return goredis.NewFailoverClient(o.Failover()), nil
	}
}

// Client opens a client.
func (s Server) Client(settings Settings) (goredis.UniversalClient, error) {
	if settings.Conns == 0 {
		settings.Conns = 16
	}
	return s(settings)
}

// Env is a new prefix in a server.
type Env struct {
	// Prefix is the prefix of the keys. It has no character that must be
	// escaped.
	Prefix string
	// Admin is a client without a proxy.
	Admin   goredis.UniversalClient
	server  Server
	options []redis.Option
}

// Open returns an Env on the server. Adapters get the options. Close removes the
// keys.
func Open(server Server, options ...redis.Option) (*Env, error) {
	admin, err := server.Client(Settings{})
	if err != nil {
		return nil, err
	}
	return &Env{Prefix: "gatehouse-" + strings.ToLower(rand.Text()), Admin: admin, server: server, options: options}, nil
}

// Close removes every key under the prefix.
func (e *Env) Close(ctx context.Context) error {
	return errors.Join(e.remove(ctx, e.Prefix), e.Admin.Close())
}

// remove removes every key whose prefix begins so.
func (e *Env) remove(ctx context.Context, prefix string) error {
	return EachKeys(ctx, e.Admin, "*"+prefix+"*", func(ctx context.Context, c goredis.Cmdable, keys []string) error {
		pipe := c.Pipeline()
		for _, key := range keys { // one by one, because each is in its own slot
			pipe.Unlink(ctx, key)
		}
		_, err := pipe.Exec(ctx)
		return err
	})
}

// EachKeys calls f for all keys that match the pattern, some at a time, on their
// server.
func EachKeys(ctx context.Context, client goredis.UniversalClient, pattern string, f func(ctx context.Context, c goredis.Cmdable, keys []string) error) error {
	one := func(ctx context.Context, c goredis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, pattern, 1000).Result()
			if err == nil && len(keys) > 0 {
				err = f(ctx, c, keys)
			}
			if cursor = next; err != nil || cursor == 0 {
				return err
			}
		}
	}
	if c, ok := client.(*goredis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return one(ctx, c) })
	}
	return one(ctx, client)
}

// Handle is an adapter with its client, proxy and prefix.
type Handle struct {
	*redis.Adapter
	Client goredis.UniversalClient
	Proxy  *fault.Proxy
	Prefix string
}

// Handle opens an adapter with its own client and proxy, which are closed at the
// end of the test.
func (e *Env) Handle(t testing.TB, prefix string, conns int) *Handle {
	t.Helper()
	proxy := must(fault.NewProxy(""))(t) // the client's dialer names the target
	t.Cleanup(func() { _ = proxy.Close() })
	h := &Handle{Proxy: proxy, Prefix: prefix}
	h.Client = must(e.server.Client(Settings{Dial: proxy.DialContext, Conns: conns}))(t)
	t.Cleanup(func() {
		proxy.Heal() // a client may wait for answers before it closes
		_ = h.Client.Close()
	})
	h.Adapter = e.adapter(t, h.Client, prefix)
	return h
}

func (e *Env) adapter(t testing.TB, client goredis.UniversalClient, prefix string) *redis.Adapter {
	t.Helper()
	a := must(redis.New(client, append([]redis.Option{redis.WithPrefix(prefix)}, e.options...)...))(t)
	return a
}

// Direct opens an adapter without a proxy, under the prefix of the Env.
func (e *Env) Direct(t testing.TB) *Handle {
	t.Helper()
	client := must(e.server.Client(Settings{}))(t)
	t.Cleanup(func() { _ = client.Close() })
	return &Handle{Adapter: e.adapter(t, client, e.Prefix), Client: client, Prefix: e.Prefix}
}

// close closes the client and waits until its last messages have passed the
// proxy.
func (h *Handle) close() error {
	err := h.Client.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for h.Proxy.Stats().Open > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the client is closed, but some of its connections are open")
		}
	}
	if errors.Is(err, goredis.ErrClosed) { // closed before
		return nil
	}
	return err
}

// Harness is the harness of the suite, on the server of the Env.
func (e *Env) Harness() adaptertest.Harness {
	const plenty = 16
	var opened atomic.Int64
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return e.Handle(t, a.(*Handle).Prefix, plenty)
	}
	h := adaptertest.Harness{
		// Each adapter has its own prefix. Its keys are removed at the end, because a sweep
		// reads the names of all keys of the server.
		New: func(t testing.TB) adapter.Adapter {
			prefix := fmt.Sprintf("%s-%d-", e.Prefix, opened.Add(1))
			t.Cleanup(func() {
				if err := e.remove(context.WithoutCancel(t.Context()), prefix); err != nil {
					t.Error(err)
				}
			})
			return e.Handle(t, prefix, plenty)
		},
		Second: another,
		Reopen: another,
		Close:  func(a adapter.Adapter) error { return a.(*Handle).close() },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			h := *a.(*Handle)
			h.Prefix += name
			var err error
			h.Adapter, err = redis.New(h.Client, append([]redis.Option{redis.WithPrefix(h.Prefix)}, e.options...)...)
			return &h, err
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*Handle).Proxy },
		Corrupt: func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() {
			return Corrupt(t, e.Admin, a.(*Handle).Prefix, r)
		},
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			key := Key(a.(*Handle).Prefix, r)
			if r.Kind == adaptertest.VerificationTokenRecord {
				return e.Admin.HExists(ctx, key, r.Token.Token).Result()
			}
			n, err := e.Admin.Exists(ctx, key).Result()
			return n == 1, err
		},
		Single:      func(t testing.TB) adapter.Adapter { return e.Handle(t, e.Prefix, 1) },
		Limited:     func(t testing.TB) adapter.Adapter { return e.Handle(t, e.Prefix, 4) },
		Connections: func(a adapter.Adapter) int { return a.(*Handle).Proxy.Stats().Open },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).Client.Ping(ctx).Err() },
		InternalNames: []string{
			"layout", "user", "email", "account", "authenticator", "password", "sessions", "ended", "session", "token", e.Prefix, "{" + e.Prefix + "-1-}:user:",
		},
		Declarations:  adaptertest.Declarations{NoPooler: "a client of Redis speaks to the servers themselves"},
		Parallel:      8,               // a clause often waits for its server, its deadlines and its faults
		ClauseTimeout: 3 * time.Minute, // a cancelled call closes a connection, and the machine may be busy
	}
	e.siteFields(&h)
	return h
}

// Key returns the key of a record as the README describes it.
func Key(prefix string, r adaptertest.Record) string {
	prefix = url.QueryEscape(prefix)
	shared := "{" + prefix + "}:"
	switch r.Kind {
	case adaptertest.UserRecord:
		return shared + "user:" + r.Key
	case adaptertest.AccountRecord:
		return shared + "account:" + url.QueryEscape(r.Account.Provider) + ":" + r.Account.ProviderAccountID
	case adaptertest.AuthenticatorRecord:
		return shared + "authenticator:" + r.Key
	case adaptertest.VerificationTokenRecord:
		return prefix + ":token:" + r.Token.Identifier
	default:
		return prefix + ":session:" + r.Key
	}
}

// Corrupt damages the stored record, and returns a function that repairs it.
func Corrupt(t testing.TB, client goredis.UniversalClient, prefix string, r adaptertest.Record) (repair func()) {
	t.Helper()
	ctx, key := context.WithoutCancel(t.Context()), Key(prefix, r)
	check := func(err error) {
		t.Helper()
		check(t, err)
	}
	if r.Kind == adaptertest.VerificationTokenRecord {
		before, err := client.HGet(ctx, key, r.Token.Token).Result()
		check(err)
		check(client.HSet(ctx, key, r.Token.Token, "damaged").Err())
		return func() { check(client.HSet(ctx, key, r.Token.Token, before).Err()) }
	}
	before, err := client.Get(ctx, key).Result()
	check(err)
	check(client.Set(ctx, key, "damaged", goredis.KeepTTL).Err())
	return func() { check(client.Set(ctx, key, before, goredis.KeepTTL).Err()) }
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
