package redis_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// rights are the rights that a user of the server needs, as in the README.
const rights = "-@all +get +set +setnx +mset +msetnx +exists +unlink +rename +type +scan +pexpireat +pttl +time +hset +hget +hgetall +hdel +hlen " +
	"+zadd +zrem +zrange +zscan +zremrangebyscore +evalsha +eval +script|load +info +ping +hello +client|setinfo"

// as opens a client of a server user with the rights, until the end of the
// test.
func as(t *testing.T, e *redistest.Env, rights string) goredis.UniversalClient {
	t.Helper()
	ctx, name := t.Context(), strings.ToLower(rand.Text())
	args := []any{"acl", "setuser", name, "on", ">secret", "~{" + e.Prefix + "}:*", "~" + e.Prefix + ":*"}
	for right := range strings.FieldsSeq(rights) {
		known := must(e.Admin.Do(ctx, "command", "info", strings.Trim(right, "+-")).Slice())(t)
		if known[0] != nil || right == "-@all" { // Redis before 7.2 does not have client|setinfo
			args = append(args, right)
		}
	}
	must(e.Admin.Do(ctx, args...).Result())(t)
	admin := e.Admin.(*goredis.Client).Options()
	client := goredis.NewClient(&goredis.Options{Addr: admin.Addr, DB: admin.DB, Username: name, Password: "secret", ContextTimeoutEnabled: true})
	t.Cleanup(func() {
		_ = client.Close()
		must(e.Admin.Do(context.WithoutCancel(ctx), "acl", "deluser", name).Result())(t)
	})
	return client
}

// TestRights: a server user with the rights in the README, on the keys of its
// prefix, can call every method. If a right is missing, the error names it.
func TestRights(t *testing.T) {
	e := standalone.env(t)
	ctx := t.Context()
	a := standalone.adapter(t, as(t, e, rights), e.Prefix)
	require.NoError(t, a.EnsureScripts(ctx))
	s := scene{T: t, a: a, client: e.Admin, prefix: e.Prefix}
	s.create(ada())
	s.everything("ada")
	must(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))(t)
	must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: later}))(t)
	must(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: "t"}))(t)
	must(a.DeleteVerificationTokens(ctx, "i"))(t)
	must(a.ListSessionsByUserID(ctx, "ada"))(t)
	must(a.DeleteSessionsByUserID(ctx, "ada", "secret"))(t)
	must(a.DeleteExpired(ctx, time.Now()))(t)
	for range 150 { // more than one script deletes
		must(a.CreateSession(ctx, adapter.Session{SessionToken: rand.Text(), UserID: "ada", Expires: later}))(t)
	}
	must(a.DeleteUser(ctx, "ada"))(t)
	s.nothing()

	for _, right := range []string{"evalsha", "msetnx", "get"} {
		a := standalone.adapter(t, as(t, e, rights+" -"+right), e.Prefix)
		_, created := a.CreateUser(ctx, adapter.User{ID: "bob"})
		_, linked := a.LinkAccount(ctx, adapter.Account{UserID: "bob", Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1"})
		_, read := a.GetUser(ctx, "bob")
		var named bool
		for _, err := range []error{created, linked, read} {
			named = named || err != nil && strings.Contains(err.Error(), "NOPERM") && strings.Contains(err.Error(), right)
		}
		assert.Truef(t, named, "without %s: got %v, %v and %v, want one that names it", right, created, linked, read)
	}
}

// TestDatabase: an adapter stays in the numbered database of its client.
func TestDatabase(t *testing.T) {
	e := standalone.env(t)
	admin := e.Admin.(*goredis.Client).Options()
	client := goredis.NewClient(&goredis.Options{Addr: admin.Addr, DB: 7, Username: admin.Username, Password: admin.Password, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	ctx, a, other := t.Context(), standalone.adapter(t, client, e.Prefix), e.Direct(t)
	s := scene{T: t, a: a}
	s.create(ada())
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "old", UserID: "ada", Expires: time.Now().Add(-time.Second)}))(t)
	assert.Nil(t, must(other.GetUser(ctx, "ada"))(t), "a user is in two databases")
	n := must(other.DeleteExpired(ctx, time.Now()))(t)
	assert.Truef(t, n.Sessions == 0, "another database's sweep took %d sessions", n.Sessions)
	n = must(a.DeleteExpired(ctx, time.Now()))(t)
	assert.Truef(t, n.Sessions == 1, "the sweep took %d sessions, want 1", n.Sessions)
	must(a.DeleteUser(ctx, "ada"))(t)
	must(client.Del(ctx, "{"+e.Prefix+"}:layout").Result())(t)
}
