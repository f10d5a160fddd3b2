package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/alexedwards/scs/goredisstore"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const sessions = 100_000

// handle is an adapter with its client, which scs shares.
type handle struct {
	*redis.Adapter
	client  *goredis.Client
	prefix  string
	written *int // the number of sessions, which are removed at the end
}

func open(tb testing.TB) adapter.Adapter {
	url := os.Getenv("GATEHOUSE_REDIS_URL")
	require.NotEmpty(tb, url,
		"GATEHOUSE_REDIS_URL is not set: this benchmark needs a Redis server where it may write keys")
	options, err := goredis.ParseURL(url)
	require.NoError(tb, err)
	options.ContextTimeoutEnabled = true
	h := handle{client: goredis.NewClient(options), prefix: "gatehouse-" + rand.Text(), written: new(int)}
	tb.Cleanup(func() { _ = h.client.Close() })
	tb.Cleanup(func() { h.remove(tb) })
	h.Adapter, err = redis.New(h.client, redis.WithPrefix(h.prefix))
	require.NoError(tb, err)
	require.NoError(tb, h.EnsureScripts(tb.Context()))
	return h
}

// The keys of a session and its owner, and of the session of scs.
func (h handle) session(n int) string {
	return h.prefix + ":session:" + bench.SessionToken(n)
}
func (h handle) user(n int) string { return fmt.Sprintf("{%s}:user:u%d", h.prefix, n/10) }
func (h handle) scs() string       { return h.prefix + ":scs:" }

// fill writes sessions for the adapter and for scs.
func fill(tb testing.TB, a adapter.Adapter, from, to int) {
	h := a.(handle)
	ctx := tb.Context()
	baseline, err := redistest.NewBaseline(ctx, h.client, h.prefix)
	if err == nil {
		err = baseline.AddSessions(ctx, from, to)
	}
	require.NoError(tb, err)
	h.each(ctx, tb, from, to, func(pipe goredis.Pipeliner, n int) {
		pipe.Set(ctx, h.scs()+bench.SessionToken(n), fmt.Sprint("u", n/10), time.Hour)
	})
	*h.written = to
}

func (h handle) remove(tb testing.TB) {
	ctx := context.Background()
	h.each(ctx, tb, 0, *h.written, func(pipe goredis.Pipeliner, n int) {
		pipe.Unlink(ctx, h.session(n), h.user(n), h.scs()+bench.SessionToken(n))
	})
}

// each sends commands for sessions, for a thousand sessions at a time.
func (h handle) each(ctx context.Context, tb testing.TB, from, to int, f func(pipe goredis.Pipeliner, n int)) {
	for ; from < to; from += 1000 {
		pipe := h.client.Pipeline()
		for n := from; n < from+1000; n++ {
			f(pipe, n)
		}
		_, err := pipe.Exec(ctx)
		require.NoError(tb, err)
	}
}

// scs reads a blob by its key: an encoded session without its user.
type scs struct{ store *goredisstore.RedisStore }

func (s scs) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	_, found, err := s.store.FindCtx(ctx, token)
	if err != nil || !found {
		return nil, err
	}
	return &adapter.SessionAndUser{}, nil
}

// BenchmarkGoredisstore takes the store of scs as the baseline.
func BenchmarkGoredisstore(b *testing.B) {
	bench.Sessions(b, adaptertest.Harness{New: open}, func(_ testing.TB, a adapter.Adapter) any {
		h := a.(handle)
		return scs{goredisstore.NewWithPrefix(h.client, h.scs())}
	}, sessions, fill)
}
