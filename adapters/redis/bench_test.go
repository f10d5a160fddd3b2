package redis_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// direct is an adapter on keys of its own, with nothing on the way to them.
type direct struct {
	*redis.Adapter
	client goredis.UniversalClient
	prefix string
}

// benchHarness opens adapters directly, and a second handle on one connection
// through a proxy that counts.
func (w wiring) benchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			a, client, prefix := w.newStore(t)
			return direct{a, client, prefix}
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			h := w.open(t, a.(direct).prefix, settings{conns: 1})
			if err := h.EnsureScripts(t.Context()); err != nil {
				t.Fatal(err)
			}
			return h
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*handle).proxy },
	}
}

func BenchmarkAdapter(b *testing.B) { adaptertest.Bench(b, standalone.benchHarness(), newFloor) }

func BenchmarkSessions(b *testing.B) {
	adaptertest.BenchSessions(b, standalone.benchHarness(), newFloor, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
		for ; from < to; from += 1000 {
			writeSessions(tb, a.(direct), from, from+1000)
		}
	})
}

// writeSessions writes users and sessions as the adapter does, in one pipeline.
func writeSessions(tb testing.TB, d direct, from, to int) {
	tb.Helper()
	ctx, expires := tb.Context(), time.Now().Add(time.Hour)
	pipe := d.client.Pipeline()
	for n := from; n < to; n++ {
		owner := fmt.Sprint("u", n/10)
		if n%10 == 0 {
			pipe.HSet(ctx, d.prefix+":user:{"+owner+"}", "inc", "I"+owner, "name", "User", "email", "")
		}
		token := adaptertest.SessionToken(n)
		pipe.HSet(ctx, d.prefix+":session:{"+token+"}", "nonce", "N"+token, "owner", owner, "inc", "I"+owner,
			"expires", strconv.FormatInt(expires.UnixMicro(), 10))
		pipe.PExpireAt(ctx, d.prefix+":session:{"+token+"}", expires)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		tb.Fatal(err)
	}
}
