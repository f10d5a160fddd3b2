package redis_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
)

const (
	redisURL     = "GATEHOUSE_REDIS_URL"
	redisCluster = "GATEHOUSE_REDIS_CLUSTER"
)

// TestMain prints once which servers are missing.
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

// setting returns the address of a server. Without one it skips or fails
// the test.
func setting(t testing.TB, name, need string) string {
	t.Helper()
	s := os.Getenv(name)
	switch {
	case s != "":
	case skipStores():
		t.Skipf("LEFT OUT: %s is not set and GATEHOUSE_SKIP_STORES=1", name)
	default:
		t.Fatalf("%s is not set: this test needs %s", name, need)
	}
	return s
}

// wiring is one way to reach Redis.
type wiring struct {
	name    string
	cluster bool
	options []redis.Option
}

var (
	standalone = wiring{name: "standalone"}
	declared   = wiring{name: "declared", options: []redis.Option{redis.WithDeclaredKeys()}}
	cluster    = wiring{name: "cluster", cluster: true}
	wirings    = []wiring{standalone, cluster}
)

func (w wiring) server(t testing.TB) redistest.Server {
	t.Helper()
	if w.cluster {
		return redistest.Cluster(strings.Split(setting(t, redisCluster, "the addresses of a Redis Cluster, host:port,host:port,host:port"), ",")...)
	}
	return redistest.URL(setting(t, redisURL, "the URL of a Redis server"), 0)
}

// env is a prefix whose keys are removed at the end of the test, so that test
// runs can share a server.
func (w wiring) env(t testing.TB) *redistest.Env {
	t.Helper()
	e := must(redistest.Open(w.server(t), w.options...))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		assert.NoError(t, e.Close(ctx))
	})
	return e
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

// refused fails the test unless a call has no record and the error.
func refused[T any](got *T, err error) func(t testing.TB, what string, want error) {
	return func(t testing.TB, what string, want error) {
		t.Helper()
		assert.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
	}
}

// client opens a client that is closed at the end of the test.
func (w wiring) client(t testing.TB, conns int) goredis.UniversalClient {
	t.Helper()
	c := must(w.server(t).Client(redistest.Settings{Conns: conns}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// adapter opens an adapter on a client.
func (w wiring) adapter(t testing.TB, client goredis.UniversalClient, prefix string) *redis.Adapter {
	t.Helper()
	return must(redis.New(client, append([]redis.Option{redis.WithPrefix(prefix)}, w.options...)...))(t)
}

// keysOf returns all keys that match the pattern.
func keysOf(t testing.TB, client goredis.UniversalClient, pattern string) []string {
	t.Helper()
	var mu sync.Mutex // the client calls the servers of a cluster concurrently
	var found []string
	err := redistest.EachKeys(t.Context(), client, pattern, func(_ context.Context, _ goredis.Cmdable, keys []string) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, keys...)
		return nil
	})
	require.NoError(t, err)
	return found
}
