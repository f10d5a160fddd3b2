package redis

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/limit/counts"
)

//go:embed limits/take.lua
var takeText string

var takeScript = goredis.NewScript(takeText)

// Limits keeps the counts of package limit for all processes of a site, in keys
// that expire:
//
//	limit.New(limit.Options{Store: &redis.Limits{Client: client}, Secret: secret})
//
// An attempt is one round trip. The keys stand in one slot of a cluster, and hold
// hashes in place of addresses. A server that is full must not evict them, as for an
// Adapter (maxmemory-policy noeviction): it then returns an error, and each process
// counts alone.
type Limits struct {
	// Client is the client, which the caller closes. ContextTimeoutEnabled should be
	// set in its options, so that a server that hangs holds nobody up for longer than
	// the limiter waits.
	Client goredis.UniversalClient
	// Prefix begins the names of all keys; the default is "gatehouse".
	Prefix string
}

var _ counts.Store = (*Limits)(nil)

// Take counts an attempt in each of the buckets, or returns how long it has to
// wait. The clock is that of the server.
func (l *Limits) Take(ctx context.Context, buckets []counts.Bucket) (wait time.Duration, err error) {
	if len(buckets) == 0 {
		return 0, nil
	}
	defer wrap(ctx, "take an attempt", &err)
	prefix := cmp.Or(l.Prefix, "gatehouse")
	keys := make([]string, len(buckets))
	args := make([]any, 0, 5*len(buckets))
	for i, b := range buckets {
		keys[i] = fmt.Sprintf("{%s:limit}:%s", prefix, b.Key)
		args = append(args, b.Rule.Free, millis(b.Rule.Wait), millis(b.Rule.MaxWait), millis(b.Rule.Forget), b.Rule.Most())
	}
	ms, err := takeScript.Run(ctx, l.Client, keys, args...).Int64()
	return time.Duration(ms) * time.Millisecond, err
}

// millis returns a duration in milliseconds, at least one.
func millis(d time.Duration) int64 { return max(1, d.Milliseconds()) }
