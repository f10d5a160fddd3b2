package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

const (
	redisURL     = "GATEHOUSE_REDIS_URL"
	redisCluster = "GATEHOUSE_REDIS_CLUSTER"
)

// TestMain says once what is missing.
func TestMain(m *testing.M) {
	if os.Getenv(redisURL) == "" {
		if !skipStores() {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need a Redis server, such as redis://127.0.0.1:6379/0, where they may write keys; "+
				"GATEHOUSE_SKIP_STORES=1 leaves them out\n", redisURL)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "*** SKIPPED: every test that needs Redis, since %s is not set and GATEHOUSE_SKIP_STORES=1 ***\n", redisURL)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func skipStores() bool { return os.Getenv("GATEHOUSE_SKIP_STORES") == "1" }

// setting returns the address of a server, which must be there.
func setting(t testing.TB, name, need string) string {
	t.Helper()
	s := os.Getenv(name)
	switch {
	case s != "":
	case skipStores():
		t.Skipf("%s is not set and GATEHOUSE_SKIP_STORES=1", name)
	default:
		t.Fatalf("%s is not set: this test needs %s", name, need)
	}
	return s
}

// wiring is one way to reach Redis.
type wiring struct {
	name    string
	cluster bool
}

var (
	standalone = wiring{name: "standalone"}
	cluster    = wiring{name: "cluster", cluster: true}
	wirings    = []wiring{standalone, cluster}
)

// settings are what a test changes of the client.
type settings struct {
	dial       func(ctx context.Context, network, addr string) (net.Conn, error)
	conns      int
	maxRetries int // -1: none
}

// client opens a client that is closed at the end of the test.
func (w wiring) client(t testing.TB, s settings) goredis.UniversalClient {
	t.Helper()
	if s.conns == 0 {
		s.conns = 16
	}
	var c goredis.UniversalClient
	if w.cluster {
		addrs := setting(t, redisCluster, "the addresses of a Redis Cluster, host:port,host:port,host:port")
		c = goredis.NewClusterClient(&goredis.ClusterOptions{
			Addrs: strings.Split(addrs, ","), Dialer: s.dial, PoolSize: s.conns, MaxRetries: s.maxRetries, MaxRedirects: s.maxRetries,
			ContextTimeoutEnabled: true,
		})
	} else {
		options, err := goredis.ParseURL(setting(t, redisURL, "the URL of a Redis server"))
		if err != nil {
			t.Fatal(err)
		}
		options.Dialer, options.PoolSize, options.MaxRetries, options.ContextTimeoutEnabled = s.dial, s.conns, s.maxRetries, true
		c = goredis.NewClient(options)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// handle is an adapter and what it was opened with.
type handle struct {
	*redis.Adapter
	wiring wiring
	client goredis.UniversalClient
	proxy  *fault.Proxy
	prefix string
}

// open opens an adapter on a client and a proxy of its own.
func (w wiring) open(t testing.TB, prefix string, s settings) *handle {
	t.Helper()
	proxy, err := fault.NewProxy("") // the client's dialer says where to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	s.dial = proxy.DialContext
	h := &handle{wiring: w, client: w.client(t, s), proxy: proxy, prefix: prefix}
	t.Cleanup(proxy.Heal)
	h.Adapter = newAdapter(t, h.client, redis.WithPrefix(prefix))
	return h
}

// close closes the client and waits until its farewells have passed the proxy.
func (h *handle) close() error {
	err := h.client.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for h.proxy.Stats().Open > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the client is closed and connections are open")
		}
	}
	if errors.Is(err, goredis.ErrClosed) { // closed before
		return nil
	}
	return err
}

func newAdapter(t testing.TB, client goredis.UniversalClient, options ...redis.Option) *redis.Adapter {
	t.Helper()
	a, err := redis.New(client, options...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newPrefix returns a prefix whose keys are removed at the end of the test, so
// that test runs can share a server.
func (w wiring) newPrefix(t testing.TB) string {
	t.Helper()
	prefix, admin := "gatehouse-"+strings.ToLower(rand.Text()), w.client(t, settings{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := eachKeys(ctx, admin, prefix+"*", func(ctx context.Context, c goredis.Cmdable, keys []string) error {
			pipe := c.Pipeline()
			for _, key := range keys { // each in a slot of its own
				pipe.Unlink(ctx, key)
			}
			_, err := pipe.Exec(ctx)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	return prefix
}

// newStore returns an adapter with a prefix of its own, and no proxy.
func (w wiring) newStore(t testing.TB) (*redis.Adapter, goredis.UniversalClient, string) {
	t.Helper()
	prefix := w.newPrefix(t)
	client := w.client(t, settings{})
	return newAdapter(t, client, redis.WithPrefix(prefix)), client, prefix
}

// eachKeys calls f for all keys that match the pattern, some at a time, on their
// server.
func eachKeys(ctx context.Context, client goredis.UniversalClient, pattern string, f func(ctx context.Context, c goredis.Cmdable, keys []string) error) error {
	one := func(ctx context.Context, c *goredis.Client) error {
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
	switch c := client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, one)
	case *goredis.Client:
		return one(ctx, c)
	default:
		return fmt.Errorf("a client of type %T", client)
	}
}

// keysOf returns all keys that match the pattern.
func keysOf(t testing.TB, client goredis.UniversalClient, pattern string) []string {
	t.Helper()
	var mu sync.Mutex // the servers of a cluster are asked at once
	var found []string
	err := eachKeys(t.Context(), client, pattern, func(_ context.Context, _ goredis.Cmdable, keys []string) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, keys...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// must returns the value of a call that may not fail.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
