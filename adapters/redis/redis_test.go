package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestNewRefuses(t *testing.T) {
	if _, err := redis.New(nil); err == nil {
		t.Error("a nil client is accepted")
	}
	client := goredis.NewClient(&goredis.Options{})
	defer func() { _ = client.Close() }()
	if _, err := redis.New(client, redis.WithPrefix("")); err == nil {
		t.Error("an empty prefix is accepted")
	}
}

// TestRoundTrips counts on the wire. The README tells the same numbers.
func TestRoundTrips(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			trips := adaptertest.RoundTrips(t, w.benchHarness())
			for method, want := range map[string]struct{ standalone, cluster int64 }{
				"CreateUser": {3, 3}, "GetUser": {1, 1}, "GetUserByEmail": {2, 2}, "GetUserByAccount": {1, 2}, "UpdateUser": {2, 2}, "DeleteUser": {10, 10},
				"LinkAccount": {3, 3}, "UnlinkAccount": {3, 4}, "GetAccount": {1, 2},
				"CreateSession": {3, 3}, "GetSessionAndUser": {1, 2}, "UpdateSession": {3, 4}, "DeleteSession": {3, 4},
				"CreateVerificationToken": {1, 1}, "UseVerificationToken": {1, 1},
				"CreateAuthenticator": {3, 3}, "GetAuthenticator": {1, 2}, "ListAuthenticatorsByUserID": {3, 3}, "UpdateAuthenticatorCounter": {2, 3},
			} {
				n := want.standalone
				if w.cluster {
					n = want.cluster
				}
				if got := trips[method].Later; got != n {
					t.Errorf("%s takes %d round trips, want %d", method, got, n)
				}
			}
		})
	}
}

// TestScriptFlush: a server that was restarted has no scripts.
func TestScriptFlush(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			a, client, prefix := w.newStore(t)
			s := scene{T: t, a: a, client: client, prefix: prefix}
			s.create(ada())
			for _, step := range []func(){
				func() { s.everything("ada") },
				func() { s.same("the owner", must(a.GetSessionAndUser(t.Context(), "secret"))(t).User, ada()) },
				func() {
					must(a.UpdateUser(t.Context(), adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))(t)
				},
				func() { must(a.DeleteUser(t.Context(), "ada"))(t); s.nothing() },
			} {
				if err := client.ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				step()
			}
		})
	}
}

// TestTimeToLive: the server removes nothing before it expires, and everything
// some time after.
func TestTimeToLive(t *testing.T) {
	a, client, prefix := standalone.newStore(t)
	s := scene{T: t, a: a}
	s.create(ada())
	ctx := t.Context()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	check := func(what, key string, expires time.Time) {
		t.Helper()
		at := time.UnixMilli(must(client.PExpireTime(ctx, key).Result())(t).Milliseconds())
		if at.Before(expires) || at.After(expires.Add(2*time.Minute)) {
			t.Errorf("%s: removed at %v, want at or soon after %v", what, at, expires)
		}
	}
	sessionKey := key(prefix, adaptertest.Record{Kind: adaptertest.SessionRecord, Key: "secret"})
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "secret", UserID: "ada", Expires: expires}))(t)
	check("a new session", sessionKey, expires)
	for _, d := range []time.Duration{24 * time.Hour, time.Minute} {
		must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", Expires: adapter.To(expires.Add(d))}))(t)
		check("a session that was extended or shortened", sessionKey, expires.Add(d))
	}
	must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", UserID: adapter.To("ada")}))(t)
	check("a session that kept its expiry", sessionKey, expires.Add(time.Minute))
	v := adapter.VerificationToken{Identifier: "i", Token: "t", Expires: expires}
	must(a.CreateVerificationToken(ctx, v))(t)
	check("a token", key(prefix, adaptertest.Record{Kind: adaptertest.VerificationTokenRecord, Token: v.Key()}), expires)
	for _, k := range keysOf(t, client, prefix+":receipt:*") {
		if ttl := must(client.PTTL(ctx, k).Result())(t); ttl <= 0 || ttl > time.Minute {
			t.Errorf("the receipt %s is kept %v, want a minute at most", k, ttl)
		}
	}
	if ttl := must(client.PTTL(ctx, key(prefix, adaptertest.Record{Kind: adaptertest.UserRecord, Key: "ada"})).Result())(t); ttl != -1 {
		t.Errorf("the user is removed after %v, want never", ttl)
	}
}

// TestPrefixes: sweeps and deletions stay under their prefix, whatever it holds.
func TestPrefixes(t *testing.T) {
	base, client := standalone.newPrefix(t), standalone.client(t, settings{})
	var stores []*redis.Adapter
	for _, p := range []string{"", "x", "x*", "*", "?", "[a-z]", `\`, ":user", ":session:{", "{", "}", "%", "^"} {
		stores = append(stores, newAdapter(t, client, redis.WithPrefix(base+p)))
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
		if got := must(a.DeleteExpired(ctx, time.Now()))(t); got.Sessions != 1 || got.VerificationTokens != 1 {
			t.Errorf("swept %+v, want one of each", got)
		}
		if got := must(a.GetSessionAndUser(ctx, "secret"))(t); got == nil {
			t.Error("a session went with another prefix")
		}
		must(a.DeleteUser(ctx, "ada"))(t)
		s.nothing()
	}
}

// TestPendingExpires: what a crash left of a creation is not kept for good.
func TestPendingExpires(t *testing.T) {
	a, client, prefix := standalone.newStore(t)
	crashing := standalone.client(t, settings{})
	if err := a.EnsureScripts(t.Context()); err != nil {
		t.Fatal(err)
	}
	crashing.AddHook(&crash{step: 2})
	if _, err := newAdapter(t, crashing, redis.WithPrefix(prefix)).CreateUser(t.Context(), ada()); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	ttl := must(client.PTTL(t.Context(), key(prefix, adaptertest.Record{Kind: adaptertest.UserRecord, Key: "ada"})).Result())(t)
	if ttl <= 0 || ttl > time.Hour {
		t.Errorf("the pending user is kept %v, want at most an hour", ttl)
	}
	scene{T: t, a: a}.create(ada())
	if ttl := must(client.PTTL(t.Context(), key(prefix, adaptertest.Record{Kind: adaptertest.UserRecord, Key: "ada"})).Result())(t); ttl != -1 {
		t.Errorf("the user is kept %v, want for good", ttl)
	}
}

// repeat sends every script twice, as a client does that lost the reply, and
// calls between before it does.
type repeat struct{ between func() }

func (r *repeat) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r *repeat) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (r *repeat) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && strings.HasPrefix(cmd.Name(), "evalsha") {
			r.between()
			err = next(ctx, cmd)
		}
		return err
	}
}

// TestRepeatedCommands: a command that is repeated brings back nothing that was
// spent, deleted or changed between its two executions.
func TestRepeatedCommands(t *testing.T) {
	a, _, prefix := standalone.newStore(t)
	s := scene{T: t, a: a}
	if err := a.EnsureScripts(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	// repeating returns an adapter that repeats scripts, with the call in between
	// as soon as it succeeds.
	repeating := func(between func() bool) *redis.Adapter {
		client, done := standalone.client(t, settings{}), false
		client.AddHook(&repeat{between: func() { done = done || between() }})
		t.Cleanup(func() {
			if !done {
				t.Error("nothing came between")
			}
		})
		return newAdapter(t, client, redis.WithPrefix(prefix))
	}
	v := adapter.VerificationToken{Identifier: "i", Token: rand.Text(), Expires: later}
	use := func() bool { return must(a.UseVerificationToken(ctx, v.Key()))(t) != nil }
	must(repeating(use).CreateVerificationToken(ctx, v))(t)
	if use() {
		t.Error("a token is spent twice")
	}

	must(repeating(func() bool { return must(a.DeleteUser(ctx, "bob"))(t) != nil }).CreateUser(ctx, adapter.User{ID: "bob"}))(t)
	s.same("a user that was deleted", s.user("bob"), (*adapter.User)(nil))

	s.create(ada())
	must(repeating(func() bool { return must(a.DeleteSession(ctx, "secret"))(t) != nil }).CreateSession(ctx, session("ada")))(t)
	must(repeating(func() bool { return must(a.UnlinkAccount(ctx, account("").Key()))(t) != nil }).LinkAccount(ctx, account("ada")))(t)
	s.nothing()

	var once sync.Once
	rename := func() (did bool) {
		once.Do(func() {
			must(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Name: adapter.To(new("last"))}))(t)
			did = true
		})
		return did
	}
	must(repeating(rename).UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Name: adapter.To(new("first"))}))(t)
	s.same("the name", *s.user("ada").Name, "last")
}
