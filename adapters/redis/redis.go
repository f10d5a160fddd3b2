package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter keeps all records in Redis. It is safe for concurrent use, never
// closes its client, and starts no goroutine that outlives a call.
type Adapter struct {
	client goredis.UniversalClient
	keys   keys
	// base is the client without its wrappers. Its type says whether there is
	// one server or a cluster.
	base goredis.UniversalClient
	// declared is set if a script may touch only the keys that the call
	// declares.
	declared bool
	// mayEvict is set if the application accepts that the server drops records.
	mayEvict bool
	// newKeys is set if the application accepts that keys of another library stay unknown.
	newKeys bool
	// common are the arguments that all scripts have in common.
	common []any
	// checked is set when check has found that the layout and the settings are
	// right.
	checked atomic.Bool
	// demotion notices that the server has become a replica.
	demotion demotion
}

var _ adapter.Adapter = (*Adapter)(nil)

// Option changes an Adapter. The functions of this package whose names begin
// with With return options.
type Option interface{ apply(a *Adapter) error }

type option func(*Adapter) error

func (o option) apply(a *Adapter) error { return o(a) }

// WithPrefix sets the prefix of the names of all keys; the default is
// "gatehouse". Adapters with different prefixes share no records, even if the
// prefixes contain special characters. The prefix must not be empty.
func WithPrefix(prefix string) Option {
	return option(func(a *Adapter) error {
		if prefix == "" {
			return errors.New("redis: WithPrefix: the prefix is empty")
		}
		a.keys.prefix = url.QueryEscape(prefix)
		return nil
	})
}

// WithDeclaredKeys makes every call of a script declare all keys that the script
// touches, as it always does on a cluster. Reads that follow a record to its
// user then take two round trips, and most writes do too. It is for servers and
// proxies that use the declared keys to find the right shard, and for servers
// such as Dragonfly, which run a script without declared keys under a global
// lock.
func WithDeclaredKeys() Option {
	return option(func(a *Adapter) error { a.declared = true; return nil })
}

// WithDangerousEviction accepts a server that drops records when its memory is
// full. Without it every call fails on a server that has a limit and another
// maxmemory-policy than noeviction: "allkeys" policies drop users and addresses,
// so that a second user can get an address that already has an owner. "volatile"
// policies drop sessions, mail links and the lists of sessions, so that the
// deletion of all sessions of a user misses some.
func WithDangerousEviction() Option {
	return option(func(a *Adapter) error { a.mayEvict = true; return nil })
}

// WithNewKeys lets the adapter begin beside keys of @auth/upstash-redis-adapter. The users in
// those are then unknown to the adapter. Without this option the first call fails, because a
// forgotten copy is the usual reason.
func WithNewKeys() Option {
	return option(func(a *Adapter) error { a.newKeys = true; return nil })
}

// New returns an adapter over the client, which the caller closes. New does not
// touch the network. Set ContextTimeoutEnabled in the options of the client:
// without it go-redis uses its own time-outs and ignores the deadline of a
// context [CTX-02].
//
// A *Ring is refused: while one of its servers is down, records of that server read as absent. A
// *ClusterClient that reads from replicas is refused too: a deleted session could be read again, and a new
// session could be absent. A client that wraps another one should have a method Unwrap()
// redis.UniversalClient, so that New finds the wrapped client. A client of an unknown type is used like a
// cluster client.
func New(client goredis.UniversalClient, options ...Option) (*Adapter, error) {
	base, err := unwrap(client)
	if err != nil {
		return nil, fmt.Errorf("redis: New: %w", err)
	}
	_, single := base.(*goredis.Client)
	a := &Adapter{client: client, base: base, keys: keys{prefix: "gatehouse"}, declared: !single}
	a.demotion.turn = make(chan struct{}, 1)
	for _, o := range options {
		if err := o.apply(a); err != nil {
			return nil, err
		}
	}
	a.common = []any{strconv.FormatBool(a.declared), a.keys.shared("")}
	return a, nil
}

// wrapper is a client around another one.
type wrapper interface {
	Unwrap() goredis.UniversalClient
}

// unwrap returns the innermost client, and an error if it can't be used.
func unwrap(client goredis.UniversalClient) (goredis.UniversalClient, error) {
	for {
		switch c := client.(type) {
		case nil:
			return nil, errors.New("the client is nil")
		case wrapper:
			client = c.Unwrap()
		case interface{ SetAddrs(addrs map[string]string) }: // *goredis.Ring, or a struct that embeds it
			return nil, errors.New("the client is a Ring, which reports a record as absent while its server is down: use a Client or a ClusterClient")
		default:
			if cluster, ok := c.(*goredis.ClusterClient); ok && cluster.Options().ReadOnly {
				return nil, errors.New("the client reads from replicas, which may be out of date: set ReadOnly, RouteByLatency and RouteRandomly to false")
			}
			return c, nil
		}
	}
}

var errNoUser = fmt.Errorf("the user does not exist: %w", adapter.ErrNotFound)

// wrap puts the operation before an error, unless the error is nil. If the
// deadline of the context has passed, it adds the context's error: the connection,
// which has the same deadline, reports only a time-out.
func wrap(ctx context.Context, operation string, err *error) {
	if *err == nil {
		return
	}
	*err = withoutValues(*err)
	if end, limited := ctx.Deadline(); ctx.Err() != nil || limited && !time.Now().Before(end) {
		*err = fmt.Errorf("%w: %w", cmp.Or(ctx.Err(), context.DeadlineExceeded), *err)
	}
	*err = fmt.Errorf("redis: %s: %w", operation, *err)
}

// required returns an error if a key is empty [INPUT-14]. Its arguments are
// names and values in turn.
func required(fields ...string) error {
	if i := slices.Index(fields, ""); i > 0 {
		return fmt.Errorf("%s is empty", fields[i-1])
	}
	return nil
}

// ttlMargin is how long a record is kept beyond its expiry, so that a server
// whose clock is a little ahead removes no record early [EXP-01].
const ttlMargin = time.Minute + time.Millisecond

// deadline is the instant at which the server may remove a record that expires
// at t, in milliseconds since the Unix epoch. It is never before t.
func deadline(t time.Time) int64 { return max(1, t.Add(ttlMargin).UnixMilli()) }

// eachServer calls f for every server that holds keys.
func (a *Adapter) eachServer(ctx context.Context, f func(context.Context, goredis.Cmdable) error) error {
	if c, ok := a.base.(*goredis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return f(ctx, c) })
	}
	return f(ctx, a.client)
}
