package redis_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// wrapped is a client around another one, such as one that traces.
type wrapped struct{ goredis.UniversalClient }

func (w wrapped) Unwrap() goredis.UniversalClient { return w.UniversalClient }

// ringAround embeds a Ring and has no method Unwrap.
type ringAround struct{ *goredis.Ring }

func TestNewRefuses(t *testing.T) {
	ring := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	client := goredis.NewClient(&goredis.Options{})
	t.Cleanup(func() { _ = errors.Join(ring.Close(), client.Close()) })
	for name, c := range map[string]struct {
		client  goredis.UniversalClient
		options []redis.Option
		want    string
	}{
		"no client":          {nil, nil, "client is nil"},
		"an empty wrapper":   {wrapped{}, nil, "client is nil"},
		"a Ring":             {ring, nil, "Ring"},
		"a wrapped Ring":     {wrapped{wrapped{ring}}, nil, "Ring"},
		"an embedded Ring":   {ringAround{ring}, nil, "Ring"},
		"replicas":           {goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadOnly: true}), nil, "replicas"},
		"the nearest":        {wrapped{goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, RouteByLatency: true})}, nil, "replicas"},
		"any of them":        {goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, RouteRandomly: true}), nil, "replicas"},
		"an empty prefix":    {client, []redis.Option{redis.WithPrefix("")}, "prefix is empty"},
		"a prefix, and none": {client, []redis.Option{redis.WithPrefix("a"), redis.WithPrefix("")}, "prefix is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := redis.New(c.client, c.options...); err == nil || a != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", a, err, c.want)
			}
		})
	}
}

// roundTrips has the numbers of round trips of each method, on one server and
// on a cluster. The README has the same numbers.
var roundTrips = map[string]struct{ one, cluster int64 }{
	"CreateUser": {1, 1}, "GetUser": {1, 1}, "GetUserByEmail": {1, 2}, "GetUserByAccount": {1, 2}, "UpdateUser": {1, 1}, "DeleteUser": {1, 5},
	"LinkAccount": {1, 1}, "UnlinkAccount": {1, 2}, "GetAccount": {1, 1},
	"CreateSession": {1, 3}, "GetSessionAndUser": {1, 2}, "UpdateSession": {1, 4}, "DeleteSession": {1, 4},
	"CreateVerificationToken": {1, 1}, "UseVerificationToken": {1, 1},
	"CreateAuthenticator": {1, 1}, "GetAuthenticator": {1, 1}, "ListAuthenticatorsByUserID": {1, 2}, "UpdateAuthenticatorCounter": {1, 1},
}

// TestRoundTrips counts the round trips with a proxy.
func TestRoundTrips(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for method, trips := range bench.RoundTrips(t, w.benchHarness(t)) {
				want := roundTrips[method].one
				if w.cluster {
					want = roundTrips[method].cluster
				}
				assert.Equalf(t, want, trips.Later, "%s takes %d round trips, want %d", method, trips.Later, want)
			}
		})
	}
}

// TestScriptFlush: calls work on a server that has lost its scripts, as after
// a restart.
func TestScriptFlush(t *testing.T) {
	for _, w := range []wiring{standalone, declared, cluster} {
		t.Run(w.name, func(t *testing.T) {
			e := w.env(t)
			a := e.Direct(t).Adapter
			s := scene{T: t, a: a, client: e.Admin, prefix: e.Prefix}
			s.create(ada())
			for _, step := range []func(){
				func() { s.everything("ada") },
				func() { s.same("the owner", must(a.GetSessionAndUser(t.Context(), "secret"))(t).User, ada()) },
				func() {
					must(a.UpdateUser(t.Context(), adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))(t)
				},
				func() { must(a.DeleteExpired(t.Context(), time.Now()))(t) },
				func() { must(a.DeleteUser(t.Context(), "ada"))(t); s.nothing() },
			} {
				require.NoError(t, e.Admin.ScriptFlush(t.Context()).Err())
				step()
			}
		})
	}
}

// TestTimeToLive: the server removes no record before its expiry, and every
// expired record some time after it.
func TestTimeToLive(t *testing.T) {
	for _, w := range []wiring{standalone, cluster} {
		t.Run(w.name, func(t *testing.T) {
			e := w.env(t)
			a, ctx := e.Direct(t).Adapter, t.Context()
			s := scene{T: t, a: a, client: e.Admin, prefix: e.Prefix}
			s.create(ada())
			expires := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
			check := func(what, key string, expires time.Time) {
				t.Helper()
				at := time.Now().Add(must(e.Admin.PTTL(ctx, key).Result())(t))
				assert.Truef(t, !at.Before(expires.Add(-time.Second)) && !at.After(expires.Add(2*time.Minute)),
					"%s: removed at %v, want at or soon after %v", what, at, expires)
			}
			session := redistest.Key(e.Prefix, adaptertest.Record{Kind: adaptertest.SessionRecord, Key: "secret"})
			list := "{" + e.Prefix + "}:sessions:ada"
			must(a.CreateSession(ctx, adapter.Session{SessionToken: "secret", UserID: "ada", Expires: expires}))(t)
			check("a new session", session, expires)
			check("its list", list, expires)
			for _, d := range []time.Duration{time.Minute, 24 * time.Hour} {
				must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", Expires: adapter.To(expires.Add(d))}))(t)
				check("a session that was extended", session, expires.Add(d))
				check("its list", list, expires.Add(d))
			}
			must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", Expires: adapter.To(expires)}))(t)
			check("a session that was shortened", session, expires)
			must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", UserID: adapter.To("ada")}))(t)
			check("a session that kept its expiry", session, expires)

			token := adapter.VerificationToken{Identifier: "i", Token: "t", Expires: expires}
			tokens := redistest.Key(e.Prefix, adaptertest.Record{Kind: adaptertest.VerificationTokenRecord, Token: token.Key()})
			must(a.CreateVerificationToken(ctx, token))(t)
			check("a token", tokens, expires)
			must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "brief", Expires: expires.Add(-time.Minute)}))(t)
			check("a token, and one that ends before it", tokens, expires)
			must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "long", Expires: expires.Add(time.Hour)}))(t)
			check("a token, and one that ends after it", tokens, expires.Add(time.Hour))
			for _, key := range []string{"user:ada", "email:ada@example.com"} {
				ttl := must(e.Admin.PTTL(ctx, "{"+e.Prefix+"}:"+key).Result())(t)
				assert.Truef(t, ttl == -1, "%s is removed after %v, want never", key, ttl)
			}
		})
	}
}

// TestListedSessions: the list of a user's sessions does not grow without
// limit, and a valid session stays listed.
func TestListedSessions(t *testing.T) {
	for _, w := range []wiring{standalone, cluster} {
		t.Run(w.name, func(t *testing.T) {
			e := w.env(t)
			a, ctx := e.Direct(t).Adapter, t.Context()
			scene{T: t, a: a}.create(ada())
			for i := range 5 { // expired for two days, so the key is removed at once
				must(a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprint("old", i), UserID: "ada", Expires: time.Now().Add(-48 * time.Hour)}))(t)
			}
			must(a.CreateSession(ctx, session("ada")))(t)
			got := must(e.Admin.ZRange(ctx, "{"+e.Prefix+"}:sessions:ada", 0, -1).Result())(t)
			assert.Truef(t, slices.Equal(got, []string{"secret"}), "listed are %v, want what lives", got)
		})
	}
}

// TestPrefixes: sweeps and deletions touch only keys with their prefix, even if
// it contains pattern characters.
func TestPrefixes(t *testing.T) {
	e := standalone.env(t)
	var stores []*redis.Adapter
	for _, p := range []string{"", "x", "x*", "*", "?", "[a-z]", `\`, ":user", ":session:", "{", "}", "%", "^", " ", "+"} {
		stores = append(stores, standalone.adapter(t, e.Admin, e.Prefix+p))
	}
	ctx, past := t.Context(), time.Now().Add(-time.Second)
	for _, a := range stores {
		s := scene{T: t, a: a}
		s.create(ada())
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "old", UserID: "ada", Expires: past}))(t)
		must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: past}))(t)
		s.everything("ada")
	}
	for _, a := range stores {
		s := scene{T: t, a: a}
		got := must(a.DeleteExpired(ctx, time.Now()))(t)
		assert.Truef(t, got.Sessions == 1 && got.VerificationTokens == 1, "swept %+v, want one of each", got)
		assert.NotNil(t, must(a.GetSessionAndUser(ctx, "secret"))(t), "a session went with another prefix")
		must(a.DeleteUser(ctx, "ada"))(t)
		s.nothing()
	}
}

// TestLayout: keys of another layout are refused, by reads and by writes.
func TestLayout(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			e := w.env(t)
			must(e.Direct(t).CreateUser(t.Context(), ada()))(t)
			key := "{" + e.Prefix + "}:layout"
			assert.Equal(t, "1", must(e.Admin.Get(t.Context(), key).Result())(t), "a new store has layout")
			require.NoError(t, e.Admin.Set(t.Context(), key, "0.9", 0).Err())
			a := e.Direct(t).Adapter
			_, read := a.GetUser(t.Context(), "ada")
			_, written := a.CreateUser(t.Context(), adapter.User{ID: "bob"})
			for _, err := range []error{read, written, a.EnsureScripts(t.Context())} {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), `"0.9"`) && strings.Contains(err.Error(), `"1"`),
					"got %v, want an error that names both layouts", err)
			}
		})
	}
}

// TestNothingIsLeft: when all users are deleted and all expiring keys have
// expired, the store has the same keys as a new one.
func TestNothingIsLeft(t *testing.T) {
	for _, w := range []wiring{standalone, declared, cluster} {
		t.Run(w.name, func(t *testing.T) {
			e := w.env(t)
			a, ctx := e.Direct(t).Adapter, t.Context()
			s := scene{T: t, a: a, client: e.Admin, prefix: e.Prefix}
			s.create(ada())
			s.everything("ada")
			must(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))(t)
			must(a.CreateUserWithAccount(ctx, adapter.User{ID: "bob", Email: "bob@example.com"}, adapter.Account{Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: "2"}, nil))(t)
			must(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "2"}))(t)
			must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: later}))(t)
			must(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: "t"}))(t)
			must(a.DeleteUser(ctx, "ada"))(t)
			must(a.DeleteUser(ctx, "bob"))(t)
			assert.Equal(t, []string{"{" + e.Prefix + "}:layout"}, keysOf(t, e.Admin, "*"+e.Prefix+"*"), "what is left")
		})
	}
}

// TestNotUTF8: a text that JSON can't hold is refused, and nothing is written.
func TestNotUTF8(t *testing.T) {
	a, ctx, bad := standalone.env(t).Direct(t).Adapter, t.Context(), "\xff"
	scene{T: t, a: a}.create(ada())
	for name, err := range map[string]error{
		"ID":       second(a.CreateUser(ctx, adapter.User{ID: bad})),
		"e-mail":   second(a.CreateUser(ctx, adapter.User{Email: bad})),
		"name":     second(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Name: adapter.To(&bad)})),
		"provider": second(a.LinkAccount(ctx, adapter.Account{UserID: "ada", Type: adapter.AccountOIDC, Provider: bad, ProviderAccountID: "1"})),
		"account":  second(a.LinkAccount(ctx, adapter.Account{UserID: "ada", Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: bad})),
		"details": second(a.LinkAccount(ctx, adapter.Account{UserID: "ada", Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1",
			AuthorizationDetails: json.RawMessage(`"` + bad + `"`)})),
		"credential": second(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: "ada", CredentialID: bad})),
	} {
		assert.ErrorContains(t, err, "UTF-8", name)
	}
	assert.Equal(t, "Ada", *must(a.GetUser(ctx, "ada"))(t).Name, "the name")
}

func second[T any](_ T, err error) error { return err }
