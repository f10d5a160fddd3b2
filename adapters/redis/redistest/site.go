package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// siteFields sets the fields of the harness about sites that exist.
func (e *Env) siteFields(h *adaptertest.Harness) {
	h.Settings, h.Reduced = e.settings, e.reduced
	h.ReadOnly = func(t testing.TB) (adapter.Adapter, func()) {
		return e.refusing(t, &refuser{answer: func([]string) string { return "READONLY You can't write against a read only replica." }})
	}
	h.Quoting = func(t testing.TB) (adapter.Adapter, func()) {
		return e.refusing(t, &refuser{later: true, answer: func(command []string) string {
			said := fmt.Sprintf("ERR unknown command '%s', with args beginning with:", command[0])
			for _, word := range command[1:] {
				said += " '" + strings.NewReplacer("\r", " ", "\n", " ").Replace(word) + "'"
			}
			return said
		}})
	}
	h.Refusing = func(t testing.TB) (adapter.Adapter, func()) {
		return e.refusing(t, &refuser{later: true, answer: func([]string) string {
			return "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
		}})
	}
	if _, cluster := e.Admin.(*goredis.ClusterClient); cluster {
		h.Declarations.NoSite = map[string]string{"Foreign": "a cluster has one database, in which the other clauses begin with nobody"}
	} else {
		h.Foreign = e.foreign
	}
}

// with opens an adapter under a prefix, over a client of its own. It is closed at the end of
// the test.
func (e *Env) with(t testing.TB, s Settings, prefix string) *Handle {
	t.Helper()
	client := must(e.server.Client(s))(t)
	t.Cleanup(func() { _ = client.Close() })
	return &Handle{Adapter: e.adapter(t, client, prefix), Client: client, Prefix: prefix}
}

// apart is a prefix whose keys are removed at the end of the test.
func (e *Env) apart(t testing.TB) string {
	prefix := e.Prefix + "-" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		if err := e.remove(context.WithoutCancel(t.Context()), prefix); err != nil {
			t.Error(err)
		}
	})
	return prefix
}

// refusing opens an adapter whose connections refuse writes after a call.
func (e *Env) refusing(t testing.TB, r *refuser) (adapter.Adapter, func()) {
	return e.with(t, Settings{Dial: r.dial, Conns: 4}, e.apart(t)), r.refuse
}

// apartDB is a database of the server in which no other test begins with nobody.
const apartDB = 9

// foreign writes the keys of @auth/upstash-redis-adapter for a person, into a database of
// their own. The adapter must refuse to begin beside them.
func (e *Env) foreign(t testing.TB) []adaptertest.Foreign {
	client := must(e.server.Client(Settings{Change: func(o *goredis.UniversalOptions) { o.DB = apartDB }}))(t)
	t.Cleanup(func() { _ = client.Close() })
	base, prefix := "app-"+strings.ToLower(rand.Text())+":", e.apart(t)
	ctx := t.Context()
	user := adapter.User{ID: rand.Text(), Email: strings.ToLower(rand.Text()) + "@example.com"}
	session := adapter.Session{SessionToken: rand.Text(), UserID: user.ID, Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}
	account := adapter.AccountKey{Provider: "p", ProviderAccountID: rand.Text()}
	keys := map[string]string{
		"user:" + user.ID:                             fmt.Sprintf(`{"id":%q,"email":%q,"emailVerified":null}`, user.ID, user.Email),
		"user:email:" + user.Email:                    user.ID,
		"user:account:p:" + account.ProviderAccountID: fmt.Sprintf(`{"id":"p:%s","userId":%q,"provider":"p","providerAccountId":%[1]q,"type":"oidc"}`, account.ProviderAccountID, user.ID),
		"user:session:" + session.SessionToken: fmt.Sprintf(`{"id":%q,"sessionToken":%[1]q,"userId":%q,"expires":%q}`, session.SessionToken, user.ID,
			session.Expires.Format("2006-01-02T15:04:05.000Z")),
	}
	for name, value := range keys {
		check(t, client.Set(ctx, base+name, value, time.Hour).Err())
	}
	return []adaptertest.Foreign{{
		Name: "@auth/upstash-redis-adapter",
		Open: func(t testing.TB) (adapter.Adapter, error) {
			a := must(redis.New(client, append([]redis.Option{redis.WithPrefix(prefix)}, e.options...)...))(t)
			return &Handle{Adapter: a, Client: client, Prefix: prefix}, a.EnsureScripts(t.Context())
		},
		User: user, Account: account, Session: session,
	}}
}

// settings opens handles with other clients: the other protocol, other waits and pools, and
// no deadlines of the caller.
func (e *Env) settings(t testing.TB, a adapter.Adapter) []adapter.Adapter {
	prefix := a.(*Handle).Prefix
	return []adapter.Adapter{
		e.with(t, Settings{Conns: 1, Protocol: 2}, prefix),
		e.with(t, Settings{Protocol: 3, Change: func(o *goredis.UniversalOptions) {
			o.PoolFIFO, o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity, o.ReadBufferSize = true, -1, false, true, 1024
		}}, prefix),
	}
}

// Rights are the rights that the README asks for, without those that are optional.
var Rights = strings.Fields("+get +set +setnx +mset +msetnx +exists +unlink +rename +type +scan +pexpireat +pttl +time +hset +hget +hgetall +hdel +hlen " +
	"+zadd +zrem +zrange +zscan +zremrangebyscore +evalsha +eval +script|load")

// reduced makes a user of the servers for each of some rights, which has all others, and one
// without the keys of sessions.
func (e *Env) reduced(t testing.TB) (all []adaptertest.Reduced) {
	prefix := e.apart(t)
	witness := e.with(t, Settings{}, prefix)
	keys := []string{"~{" + url.QueryEscape(prefix) + "}:*", "~" + url.QueryEscape(prefix) + ":*"}
	add := func(right string, rules []string) {
		settings := e.SignIn(t, append([]string{"-@all", "+ping", "+hello", "+info", "+cluster|slots", "+cluster|shards", "+cluster|nodes", "+command", "+readonly", "+asking"}, rules...))
		var opened *Handle // its client is for all handles of the user
		all = append(all, adaptertest.Reduced{Right: right,
			Open: func(t testing.TB) adapter.Adapter {
				if opened == nil {
					opened = e.with(t, settings, prefix)
				}
				return &Handle{Adapter: e.adapter(t, opened.Client, prefix), Client: opened.Client, Prefix: prefix}
			},
			Prepare: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).EnsureScripts(ctx) },
			Witness: func(testing.TB) adapter.Adapter { return witness }})
	}
	for _, right := range Rights {
		add(strings.TrimPrefix(right, "+"), append(append(Rights, keys...), "-"+right[1:]))
	}
	add(keys[1], append(append([]string{}, Rights...), keys[0]))
	return all
}

// SignIn makes a user of the servers with the rules, and returns the settings of its clients.
// The user is deleted at the end of the test.
func (e *Env) SignIn(t testing.TB, rules []string) Settings {
	t.Helper()
	name := strings.ToLower(rand.Text())
	args := []any{"acl", "setuser", name, "on", ">secret"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	e.eachMaster(t, args...)
	t.Cleanup(func() { e.eachMaster(t, "acl", "deluser", name) })
	return Settings{User: name, Password: "secret"}
}

// eachMaster sends a command to all servers that take writes.
func (e *Env) eachMaster(t testing.TB, args ...any) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	send := func(ctx context.Context, c goredis.Cmdable) error {
		return c.(interface {
			Do(ctx context.Context, args ...any) *goredis.Cmd
		}).Do(ctx, args...).Err()
	}
	var err error
	if c, ok := e.Admin.(*goredis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return send(ctx, c) })
	} else {
		err = send(ctx, e.Admin)
	}
	check(t, err)
}
