package wirings

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// redisWiring is one way to reach Redis.
type redisWiring struct {
	name    string
	needs   stores.Kind
	find    func(*stores.Stores, context.Context) (*stores.Store, error)
	cluster bool
}

func redisWirings() []Wiring {
	var all []Wiring
	for _, w := range []redisWiring{
		{name: "one server", needs: stores.KindRedis, find: (*stores.Stores).Redis},
		{name: "cluster of three", needs: stores.KindRedisCluster, find: (*stores.Stores).RedisCluster, cluster: true},
	} {
		all = append(all, Wiring{Adapter: "redis", Name: w.name, Needs: []stores.Kind{w.needs}, open: w.open})
	}
	return all
}

// redisHandle is an adapter with the client under it.
type redisHandle struct {
	*redis.Adapter
	*link
	client goredis.UniversalClient
	prefix string // of the keys
}

// redisHouse is a key prefix of its own for one wiring.
type redisHouse struct {
	redisWiring
	store  *stores.Store
	prefix string
	admin  goredis.UniversalClient
}

func (w redisWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	store, err := w.find(s, ctx)
	if err != nil {
		return nil, err
	}
	house := &redisHouse{redisWiring: w, store: store, prefix: "gatehouse-" + strings.ToLower(rand.Text())}
	if house.admin, err = house.client(nil, 8); err != nil {
		return nil, err
	}
	return &Opened{
		Server: store.Name, Version: store.Version, Store: store, Harness: house.harness(),
		close: func(ctx context.Context) error { return errors.Join(house.empty(ctx), house.admin.Close()) },
	}, nil
}

// client connects through the proxy, if there is one.
func (h *redisHouse) client(proxy *fault.Proxy, conns int) (goredis.UniversalClient, error) {
	options, err := goredis.ParseURL(h.store.URL)
	if err != nil {
		return nil, errors.New("the URL of Redis can't be parsed")
	}
	var dial func(ctx context.Context, network, addr string) (net.Conn, error)
	if proxy != nil {
		dial = proxy.DialContext
	}
	if h.cluster {
		return goredis.NewClusterClient(&goredis.ClusterOptions{
			Addrs: h.store.Addrs, Username: options.Username, Password: options.Password, TLSConfig: options.TLSConfig,
			Dialer: dial, PoolSize: conns, ContextTimeoutEnabled: true,
		}), nil
	}
	options.Dialer, options.PoolSize, options.ContextTimeoutEnabled = dial, conns, true
	return goredis.NewClient(options), nil
}

// handle opens an adapter with a client of its own.
func (h *redisHouse) handle(t testing.TB, prefix string, conns int) *redisHandle {
	t.Helper()
	handle := &redisHandle{prefix: prefix}
	handle.link = newLink(t, func(proxy *fault.Proxy) (_ func() error, err error) {
		if handle.client, err = h.client(proxy, conns); err != nil {
			return nil, err
		}
		return handle.client.Close, nil
	})
	a, err := redis.New(handle.client, redis.WithPrefix(prefix))
	if err != nil {
		t.Fatal(err)
	}
	handle.Adapter = a
	return handle
}

func (h *redisHouse) harness() adaptertest.Harness {
	const plenty = 16
	stores := [2]string{h.prefix, h.prefix + "-other"}
	var opened atomic.Int64
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return h.handle(t, a.(*redisHandle).prefix, plenty)
	}
	return linked(adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter { // each over another store than the one before
			return h.handle(t, stores[opened.Add(1)%2], plenty)
		},
		Second: another,
		Reopen: another,
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			of := a.(*redisHandle)
			prefix := of.prefix + name
			under, err := redis.New(of.client, redis.WithPrefix(prefix))
			if err != nil {
				return nil, err
			}
			return &redisHandle{Adapter: under, link: of.link, client: of.client, prefix: prefix}, nil
		},
		Corrupt: h.corrupt,
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			n, err := h.admin.Exists(ctx, redisKey(a, r)).Result()
			return n == 1, err
		},
		Single:  func(t testing.TB) adapter.Adapter { return h.handle(t, h.prefix, 1) },
		Limited: func(t testing.TB) adapter.Adapter { return h.handle(t, h.prefix, 4) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error {
			return a.(*redisHandle).client.Ping(ctx).Err()
		},
		Declarations:  adaptertest.Declarations{NoPooler: "a client of Redis speaks to the servers themselves"},
		InternalNames: []string{"user", "email", "account", "session", "token", "receipt", "authenticator"},
	})
}

// redisKey returns the key of a record of a: prefix:kind:{part:part}, every byte of a part that means something in a key or a
// pattern written as %XX.
func redisKey(a adapter.Adapter, r adaptertest.Record) string {
	var kind string
	parts := []string{r.Key}
	switch r.Kind {
	case adaptertest.UserRecord:
		kind = "user"
	case adaptertest.SessionRecord:
		kind = "session"
	case adaptertest.AuthenticatorRecord:
		kind = "authenticator"
	case adaptertest.AccountRecord:
		kind, parts = "account", []string{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.VerificationTokenRecord:
		kind, parts = "token", []string{r.Token.Identifier, r.Token.Token}
	}
	for i, part := range parts {
		parts[i] = escapeKey(part)
	}
	return a.(*redisHandle).prefix + ":" + kind + ":{" + strings.Join(parts, ":") + "}"
}

func escapeKey(s string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@+=/"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// corrupt writes a number that is none.
func (h *redisHouse) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	key, ctx := redisKey(a, r), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, goredis.Nil) {
			t.Fatal(err)
		}
	}
	if r.Kind == adaptertest.VerificationTokenRecord { // a string: the expiry
		before, err := h.admin.Get(ctx, key).Result()
		must(err)
		must(h.admin.Set(ctx, key, "damaged", goredis.KeepTTL).Err())
		return func() { must(h.admin.Set(ctx, key, before, goredis.KeepTTL).Err()) }
	}
	field := map[adaptertest.Kind]string{
		adaptertest.UserRecord:          "emailVerified",
		adaptertest.AccountRecord:       "expires_at",
		adaptertest.SessionRecord:       "expires",
		adaptertest.AuthenticatorRecord: "counter",
	}[r.Kind]
	before, err := h.admin.HGet(ctx, key, field).Result()
	had := err == nil
	must(err)
	must(h.admin.HSet(ctx, key, field, "damaged").Err())
	return func() {
		if had {
			must(h.admin.HSet(ctx, key, field, before).Err())
		} else {
			must(h.admin.HDel(ctx, key, field).Err())
		}
	}
}

// empty removes every key under the prefix.
func (h *redisHouse) empty(ctx context.Context) error {
	clear := func(ctx context.Context, c *goredis.Client) error {
		keys := c.Scan(ctx, 0, h.prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := c.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	switch c := h.admin.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, clear)
	case *goredis.Client:
		return clear(ctx, c)
	default:
		return fmt.Errorf("wirings: a Redis client of type %T", c)
	}
}
