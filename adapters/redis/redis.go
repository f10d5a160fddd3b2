package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter keeps all records in Redis. It is safe for concurrent use, never
// closes its client and starts no goroutine.
type Adapter struct {
	client goredis.UniversalClient
	keys   keys
	// single is set if one script may read a record and its owner.
	single bool
	// What is read of children, and of those whose owner alone is looked for.
	accounts, sessions, authenticators, owner look
}

var (
	_ adapter.Adapter = (*Adapter)(nil)
	_ adapter.Sweeper = (*Adapter)(nil)
)

// Option changes an Adapter.
type Option func(*Adapter) error

// WithPrefix sets what the names of all keys begin with; the default is
// "gatehouse". Adapters with different prefixes share nothing, whatever
// characters the prefixes hold. It must not be empty.
func WithPrefix(prefix string) Option {
	return func(a *Adapter) error {
		if prefix == "" {
			return errors.New("redis: WithPrefix: the prefix is empty")
		}
		a.keys.prefix = escaped(prefix)
		return nil
	}
}

// New returns an adapter over the client, which stays the caller's. It does not
// touch the network. Set ContextTimeoutEnabled in the options of the client:
// without it go-redis minds its own time-outs and not the deadline of a context
// [CTX-02].
func New(client goredis.UniversalClient, options ...Option) (*Adapter, error) {
	if client == nil {
		return nil, errors.New("redis: New: the client is nil")
	}
	a := &Adapter{client: client, keys: keys{prefix: "gatehouse"}}
	_, a.single = client.(*goredis.Client)
	for _, o := range options {
		if err := o(a); err != nil {
			return nil, err
		}
	}
	a.accounts, a.sessions, a.authenticators = a.keys.look(accountFields...), a.keys.look(sessionFields...), a.keys.look(authenticatorFields...)
	a.owner = a.keys.look()
	return a, nil
}

// attempts bounds how often an operation starts again because another one came
// between two of its steps.
const attempts = 32

// errContention is what remains when attempts are used up.
var errContention = errors.New("gave up after too many concurrent changes of the same keys")

// nonce returns a random string that marks one write.
func nonce() string { return rand.Text() }

// wrap puts the operation before an error, unless it is nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis: %s: %w", operation, err)
}

// required refuses empty keys [INPUT-14].
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return fmt.Errorf("%s is empty", fields[i])
		}
	}
	return nil
}

// Instants are kept as microseconds since the Unix epoch.

func formatTime(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func parseTime(s string) (time.Time, error) {
	us, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, errors.New("an instant in the store can't be read")
	}
	return time.UnixMicro(us).UTC(), nil
}

// ttlMargin is how long a record is kept beyond its expiry, so that a server
// whose clock is a little ahead removes nothing early [EXP-01].
const ttlMargin = time.Minute

// deadline is the instant at which the server may remove what expires at t, in
// milliseconds, never before t.
func deadline(t time.Time) string {
	return strconv.FormatInt(t.Add(ttlMargin+time.Millisecond).UnixMilli(), 10)
}

// text returns a value of a reply as a string; ok is false for nil.
func text(v any) (s string, ok bool) {
	s, ok = v.(string)
	return s, ok
}

// EnsureScripts loads the scripts into every server, so that no first call takes
// a second round trip. It changes no data, may be called at any time by any
// number of processes, and may be left out.
func (a *Adapter) EnsureScripts(ctx context.Context) error {
	return wrap("load scripts", a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
		for _, s := range scripts {
			if err := s.Load(ctx, server).Err(); err != nil {
				return err
			}
		}
		return nil
	}))
}

// eachServer calls f for every server that holds keys.
func (a *Adapter) eachServer(ctx context.Context, f func(context.Context, goredis.Cmdable) error) error {
	server := func(ctx context.Context, c *goredis.Client) error { return f(ctx, c) }
	switch c := a.client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, server)
	case *goredis.Ring:
		return c.ForEachShard(ctx, server)
	default:
		return f(ctx, a.client)
	}
}
