package redis_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestConformance(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, w.harness(t))
		})
	}
}

func (w wiring) harness(t *testing.T) adaptertest.Harness {
	prefix, other, admin := w.newPrefix(t), w.newPrefix(t), w.client(t, settings{})
	var opened atomic.Int64
	return adaptertest.Harness{
		Name:    "redis, " + w.name,
		Version: version(t, admin),
		New: func(t testing.TB) adapter.Adapter { // each on another store than the one before
			return w.open(t, []string{prefix, other}[opened.Add(1)%2], settings{})
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			return w.open(t, a.(*handle).prefix, settings{})
		},
		Close: func(a adapter.Adapter) error { return a.(*handle).close() },
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			b := w.open(t, a.(*handle).prefix, settings{})
			if err := b.EnsureScripts(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b
		},
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			b := *a.(*handle)
			b.prefix += name
			var err error
			b.Adapter, err = redis.New(b.client, redis.WithPrefix(b.prefix))
			return &b, err
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*handle).proxy },
		Corrupt: func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() {
			return corrupt(t, admin, key(a.(*handle).prefix, r), r.Kind)
		},
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			n, err := admin.Exists(ctx, key(a.(*handle).prefix, r)).Result()
			return n == 1, err
		},
		Single:      func(t testing.TB) adapter.Adapter { return w.open(t, prefix, settings{conns: 1}) },
		Limited:     func(t testing.TB) adapter.Adapter { return w.open(t, prefix, settings{conns: 4}) },
		Connections: func(a adapter.Adapter) int { return a.(*handle).proxy.Stats().Open },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*handle).client.Ping(ctx).Err() },
		InternalNames: []string{"user", "email", "account", "session", "token", "receipt", "authenticator", "sessions",
			prefix, prefix + ":user:{"},
	}
}

func version(t testing.TB, client goredis.UniversalClient) string {
	t.Helper()
	info := must(client.Info(t.Context(), "server").Result())(t)
	found := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(info)
	if found == nil {
		t.Fatal("the server tells no version")
	}
	return "Redis " + found[1]
}

// key returns the key of a record as the README describes it.
func key(prefix string, r adaptertest.Record) string {
	parts := []string{r.Key}
	kind := string(r.Kind)
	switch r.Kind {
	case adaptertest.AccountRecord:
		parts = []string{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.VerificationTokenRecord:
		kind, parts = "token", []string{r.Token.Identifier, r.Token.Token}
	}
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return escape(prefix) + ":" + kind + ":{" + strings.Join(parts, ":") + "}"
}

// escape writes every byte that is not plain as %XX.
func escape(s string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@+=/"
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			b.Write([]byte{'%', hex[s[i]>>4], hex[s[i]&15]})
		}
	}
	return b.String()
}

// corrupt writes a number that is none.
func corrupt(t testing.TB, client goredis.UniversalClient, key string, kind adaptertest.Kind) (repair func()) {
	t.Helper()
	ctx := t.Context()
	field := map[adaptertest.Kind]string{
		adaptertest.UserRecord:              "emailVerified",
		adaptertest.AccountRecord:           "expires_at",
		adaptertest.SessionRecord:           "expires",
		adaptertest.AuthenticatorRecord:     "counter",
		adaptertest.VerificationTokenRecord: "", // a string, not a hash
	}[kind]
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if field == "" {
		before := must(client.Get(ctx, key).Result())(t)
		check(client.Set(ctx, key, "damaged", goredis.KeepTTL).Err())
		return func() { check(client.Set(ctx, key, before, goredis.KeepTTL).Err()) }
	}
	before, err := client.HGet(ctx, key, field).Result()
	had := !errors.Is(err, goredis.Nil)
	if had {
		check(err)
	}
	check(client.HSet(ctx, key, field, "damaged").Err())
	return func() {
		if had {
			check(client.HSet(ctx, key, field, before).Err())
		} else {
			check(client.HDel(ctx, key, field).Err())
		}
	}
}
