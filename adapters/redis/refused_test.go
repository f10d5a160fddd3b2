package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// midway are calls during which the server refuses a command. Those that delete may have
// deleted; of the others nothing is left.
var midway = []struct {
	name    string
	deletes bool
	call    func(ctx context.Context, a *redis.Adapter) error
}{
	{"CreateUserWithPassword", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.CreateUserWithPassword(ctx, adapter.User{ID: "new", Email: "new@example.com"}, adapter.Password{Hash: "h"}))
	}},
	{"UpdateUser", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))
	}},
	{"UpdateUser, no address", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("")}))
	}},
	{"LinkAccount", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.LinkAccount(ctx, adapter.Account{UserID: "ada", Provider: "p", ProviderAccountID: "2"}))
	}},
	{"UnlinkAccount", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.UnlinkAccount(ctx, account("ada").Key()))
	}},
	{"CreateSession", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "new", UserID: "other", Expires: later}))
	}},
	{"UpdateSession", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", Expires: adapter.To(later.AddDate(1, 0, 0))}))
	}},
	{"UpdateSession to another user", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", UserID: adapter.To("other")}))
	}},
	{"CreateVerificationToken", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: later}))
	}},
	{"CreateAuthenticator", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "new", UserID: "ada", CredentialPublicKey: "k"}))
	}},
	{"DeleteAuthenticator", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.DeleteAuthenticator(ctx, "ada", "credential", true))
	}},
	{"SetPassword", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.SetPassword(ctx, adapter.Password{UserID: "ada", Hash: "new"}))
	}},
	{"DeletePassword", false, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.DeletePassword(ctx, "ada", true))
	}},
	{"DeleteSession", true, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.DeleteSession(ctx, "secret"))
	}},
	{"DeleteSessionsByUserID", true, func(ctx context.Context, a *redis.Adapter) error {
		return erred(a.DeleteSessionsByUserID(ctx, "ada", ""))
	}},
	{"DeleteUser", true, func(ctx context.Context, a *redis.Adapter) error { return erred(a.DeleteUser(ctx, "ada")) }},
}

// sent are the commands of the calls.
var sent = strings.Fields("get set mset msetnx exists unlink rename pexpireat hset hdel zadd zrem zrange zremrangebyscore")

// TestRefusedMidway: the user of the server loses a right after the first call, as it lacks one
// on a server that does not tell beforehand. A call that is refused stores nothing that counts,
// and succeeds when the right is back.
func TestRefusedMidway(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.env(t)
			node := []string{"+ping", "+hello", "+info", "+command", "+cluster|slots", "+cluster|shards", "+cluster|nodes", "+readonly", "+asking"}
			settings := e.SignIn(t, slices.Concat([]string{"~*"}, node, redistest.Rights))
			client := must(w.server(t).Client(settings))(t)
			t.Cleanup(func() { _ = client.Close() })
			refused := 0
			for i, c := range midway {
				for _, right := range sent {
					s := scene{T: t, client: e.Admin, prefix: fmt.Sprint(e.Prefix, i, right)}
					s.a = w.adapter(t, s.client, s.prefix)
					s.create(ada())
					s.create(adapter.User{ID: "other"})
					s.everything("ada")
					must(s.a.SetPassword(t.Context(), adapter.Password{UserID: "ada", Hash: "h"}))(t)
					a := w.adapter(t, client, s.prefix)
					require.NoError(t, a.EnsureScripts(t.Context()))
					before := s.everythingOf()
					allow(t, e, settings.User, "-"+right)
					err := c.call(t.Context(), a)
					allow(t, e, settings.User, "+"+right)
					if err == nil {
						continue
					}
					refused++
					assert.Truef(t, goredis.HasErrorPrefix(err, "NOPERM"), "%s without %s: %v", c.name, right, err)
					if !c.deletes {
						s.same(c.name+" without "+right, s.everythingOf(), before)
					}
					err = c.call(t.Context(), a)
					assert.Truef(t, err == nil || c.deletes && errors.Is(err, adapter.ErrNotFound),
						"%s with %s again: %v", c.name, right, err)
					for _, id := range []string{"ada", "other", "new"} {
						must(s.a.DeleteUser(t.Context(), id))(t)
					}
					s.nothing()
					s.noLitter()
				}
			}
			assert.Truef(t, refused >= len(midway), "%d calls were refused, want at least one of each", refused)
		})
	}
}

// allow changes the rights of a user on all servers.
func allow(t *testing.T, e *redistest.Env, user, rule string) {
	t.Helper()
	set := func(ctx context.Context, c *goredis.Client) error {
		return c.Do(ctx, "acl", "setuser", user, rule).Err()
	}
	var err error
	if c, ok := e.Admin.(*goredis.ClusterClient); ok {
		err = c.ForEachMaster(t.Context(), set)
	} else {
		err = set(t.Context(), e.Admin.(*goredis.Client))
	}
	require.NoError(t, err)
}

// everythingOf describes all that the adapter finds.
func (s scene) everythingOf() string {
	s.Helper()
	var all []any
	ctx := s.Context()
	for _, id := range []string{"ada", "other", "new"} {
		sessions := must(s.a.ListSessionsByUserID(ctx, id))(s)
		all = append(all, id, s.user(id), must(s.a.ListAccountsByUserID(ctx, id))(s), must(s.a.ListAuthenticatorsByUserID(ctx, id))(s),
			sessions, must(s.a.GetPassword(ctx, id))(s))
	}
	for _, email := range []string{ada().Email, "new@example.com"} {
		all = append(all, s.byEmail(email))
	}
	for _, id := range []string{"1", "2"} {
		all = append(all, must(s.a.GetAccount(ctx, id, "p"))(s), must(s.a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: id}))(s))
	}
	for _, token := range []string{"secret", "new"} {
		all = append(all, must(s.a.GetSessionAndUser(ctx, token))(s))
	}
	all = append(all, must(s.a.GetAuthenticator(ctx, "credential"))(s), must(s.a.GetAuthenticator(ctx, "new"))(s))
	for _, key := range keysOf(s, s.client, "*"+s.prefix+":token:*") {
		all = append(all, must(s.client.HGetAll(ctx, key).Result())(s))
	}
	return strings.ReplaceAll(string(must(json.MarshalIndent(all, "", " "))(s)), s.prefix, "")
}
