package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// scene is a store in which a call was interrupted.
type scene struct {
	*testing.T
	a      *redis.Adapter // a handle that did not make the call
	client goredis.UniversalClient
	prefix string
}

var later = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func ada() adapter.User {
	return adapter.User{ID: "ada", Name: new("Ada"), Email: "ada@example.com", EmailVerified: new(later), Image: new("i")}
}

func (s scene) create(u adapter.User) *adapter.User {
	s.Helper()
	return must(s.a.CreateUser(s.Context(), u))(s)
}

func (s scene) user(id string) *adapter.User {
	s.Helper()
	return must(s.a.GetUser(s.Context(), id))(s)
}

func (s scene) byEmail(email string) *adapter.User {
	s.Helper()
	return must(s.a.GetUserByEmail(s.Context(), email))(s)
}

func (s scene) same(what string, got, want any) {
	s.Helper()
	assert.Empty(s, cmp.Diff(want, got), what+" (-want +got)")
}

// free checks that no user has the address and that a new user can take it.
func (s scene) free(email string) {
	s.Helper()
	assert.Nil(s, s.byEmail(email), email+" leads to a user")
	u := s.create(adapter.User{Email: email})
	s.same("the new user of "+email, s.byEmail(email), u)
}

// nothing checks that no record of the user is left.
func (s scene) nothing() {
	s.Helper()
	ctx := s.Context()
	assert.Nil(s, must(s.a.GetUserByAccount(ctx, account("ada").Key()))(s), "the account leads to a user")
	assert.Nil(s, must(s.a.GetAccount(ctx, "1", "p"))(s), "the account is there")
	assert.Nil(s, must(s.a.GetSessionAndUser(ctx, "secret"))(s), "the session leads to a user")
	assert.Nil(s, must(s.a.GetAuthenticator(ctx, "credential"))(s), "the authenticator leads to a user")
	assert.Empty(s, must(s.a.ListAuthenticatorsByUserID(ctx, "ada"))(s), "authenticators that are listed")
}

func account(userID string) adapter.Account {
	return adapter.Account{UserID: userID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1", AccessToken: new("t")}
}

func session(userID string) adapter.Session {
	return adapter.Session{SessionToken: "secret", UserID: userID, Expires: later}
}

// everything gives the user one record of each kind.
func (s scene) everything(userID string) {
	s.Helper()
	ctx := s.Context()
	must(s.a.LinkAccount(ctx, account(userID)))(s)
	must(s.a.CreateSession(ctx, session(userID)))(s)
	must(s.a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "credential", UserID: userID, CredentialPublicKey: "k"}))(s)
}

// crashes are calls that send several commands, with the check after an
// interruption between any two of them.
var crashes = []struct {
	name    string
	prepare func(s scene)
	call    func(ctx context.Context, a adapter.Adapter) error
	check   func(s scene)
}{
	{
		"CreateUser", func(scene) {},
		func(ctx context.Context, a adapter.Adapter) error { _, err := a.CreateUser(ctx, ada()); return err },
		func(s scene) {
			want := ada()
			byEmail, byID := s.byEmail(want.Email), s.user(want.ID)
			s.same("by ID and by e-mail", byID, byEmail)
			if byEmail == nil {
				s.create(want)
			}
			s.same("the user", s.user(want.ID), &want)
			_, err := s.a.CreateUser(s.Context(), adapter.User{Email: want.Email})
			assert.ErrorIs(s, err, adapter.ErrConflict, "a second user with the address")
		},
	},
	{
		"CreateUser, and another takes the address", func(scene) {},
		func(ctx context.Context, a adapter.Adapter) error { _, err := a.CreateUser(ctx, ada()); return err },
		func(s scene) {
			other, err := s.a.CreateUser(s.Context(), adapter.User{ID: "other", Email: ada().Email})
			if err == nil {
				s.same("by e-mail", s.byEmail(ada().Email), other)
				s.same("the user that was not made", s.user("ada"), (*adapter.User)(nil))
				return
			}
			require.ErrorIs(s, err, adapter.ErrConflict)
			want := ada()
			s.same("by e-mail", s.byEmail(want.Email), &want)
			s.same("the user that was refused", s.user("other"), (*adapter.User)(nil))
		},
	},
	{
		"UpdateUser", func(s scene) { s.create(ada()) },
		func(ctx context.Context, a adapter.Adapter) error {
			return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com"), Name: adapter.To(new("New")), EmailVerified: adapter.To[*time.Time](nil)}))
		},
		func(s scene) {
			before, after := ada(), ada()
			after.Email, after.Name, after.EmailVerified = "new@example.com", new("New"), nil
			if u := s.user("ada"); u.Email == before.Email {
				s.same("the user", u, &before)
				s.same("by the old address", s.byEmail(before.Email), u)
				s.free(after.Email)
			} else {
				s.same("the user", u, &after)
				s.same("by the new address", s.byEmail(after.Email), u)
				s.free(before.Email)
			}
		},
	},
	{
		"UpdateUser, tried again", func(s scene) { s.create(ada()) },
		func(ctx context.Context, a adapter.Adapter) error {
			return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")}))
		},
		func(s scene) {
			want := ada()
			want.Email, want.EmailVerified = "new@example.com", nil
			s.same("the user", must(s.a.UpdateUser(s.Context(), adapter.UserUpdate{ID: "ada", Email: adapter.To(want.Email)}))(s), &want)
			s.same("by the new address", s.byEmail(want.Email), &want)
			s.free(ada().Email)
		},
	},
	{
		"LinkAccount", func(s scene) { s.create(ada()); s.create(adapter.User{ID: "other"}) },
		func(ctx context.Context, a adapter.Adapter) error { return erred(a.LinkAccount(ctx, account("ada"))) },
		func(s scene) {
			ctx, want := s.Context(), account("other")
			if u := must(s.a.GetUserByAccount(ctx, want.Key()))(s); u != nil {
				s.same("the owner", u, new(ada()))
				s.same("the account", must(s.a.UnlinkAccount(ctx, want.Key()))(s), new(account("ada")))
			}
			must(s.a.LinkAccount(ctx, want))(s)
			s.same("the account", must(s.a.GetAccount(ctx, "1", "p"))(s), &want)
			must(s.a.DeleteUser(ctx, "ada"))(s)
			s.same("the account", must(s.a.GetAccount(ctx, "1", "p"))(s), &want)
		},
	},
	{
		"CreateSession", func(s scene) { s.create(ada()); s.create(adapter.User{ID: "other"}) },
		func(ctx context.Context, a adapter.Adapter) error { return erred(a.CreateSession(ctx, session("ada"))) },
		func(s scene) {
			ctx := s.Context()
			if found := must(s.a.GetSessionAndUser(ctx, "secret"))(s); found != nil {
				s.same("the session", found, &adapter.SessionAndUser{Session: session("ada"), User: ada()})
				must(s.a.DeleteSession(ctx, "secret"))(s)
			}
			must(s.a.CreateSession(ctx, session("other")))(s)
			must(s.a.DeleteUser(ctx, "ada"))(s)
			s.same("the owner", must(s.a.GetSessionAndUser(ctx, "secret"))(s).User.ID, "other")
		},
	},
	{
		"UpdateSession to another user", func(s scene) { s.create(ada()); s.create(adapter.User{ID: "other"}); s.everything("ada") },
		func(ctx context.Context, a adapter.Adapter) error {
			return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", UserID: adapter.To("other")}))
		},
		func(s scene) {
			ctx := s.Context()
			owner := must(s.a.GetSessionAndUser(ctx, "secret"))(s).User.ID
			gone := map[string]string{"ada": "other", "other": "ada"}[owner]
			must(s.a.DeleteUser(ctx, gone))(s)
			require.NotNilf(s, must(s.a.GetSessionAndUser(ctx, "secret"))(s), "the session of %s went with %s", owner, gone)
			must(s.a.DeleteUser(ctx, owner))(s)
			s.nothing()
		},
	},
	{
		"DeleteUser", func(s scene) { s.create(ada()); s.everything("ada") },
		func(ctx context.Context, a adapter.Adapter) error { _, err := a.DeleteUser(ctx, "ada"); return err },
		func(s scene) {
			ctx := s.Context()
			if u := s.user("ada"); u != nil {
				s.same("the user", u, new(ada()))
				s.same("by e-mail", s.byEmail(u.Email), u)
				s.same("by account", must(s.a.GetUserByAccount(ctx, account("ada").Key()))(s), u)
				s.same("by session", &must(s.a.GetSessionAndUser(ctx, "secret"))(s).User, u)
			} else {
				s.nothing()
			}
			must(s.a.DeleteUser(ctx, "ada"))(s)
			s.noLitter()
			s.free(ada().Email)
		},
	},
	{
		"DeleteUser with many sessions", func(s scene) {
			s.create(ada())
			s.everything("ada")
			for i := range 150 {
				must(s.a.CreateSession(s.Context(), adapter.Session{SessionToken: fmt.Sprint("another", i), UserID: "ada", Expires: later}))(s)
			}
		},
		func(ctx context.Context, a adapter.Adapter) error { _, err := a.DeleteUser(ctx, "ada"); return err },
		func(s scene) {
			if s.user("ada") == nil {
				s.nothing()
				s.noLitter()
				s.create(ada())
			}
			for i := range 150 {
				found := must(s.a.GetSessionAndUser(s.Context(), fmt.Sprint("another", i)))(s)
				require.False(s, found != nil && must(s.a.GetSessionAndUser(s.Context(), "secret"))(s) == nil,
					"one session is there, and another is not")
			}
		},
	},
	{
		"DeleteUser, and the ID comes back", func(s scene) { s.create(ada()); s.everything("ada") },
		func(ctx context.Context, a adapter.Adapter) error { _, err := a.DeleteUser(ctx, "ada"); return err },
		func(s scene) {
			if s.user("ada") != nil {
				return
			}
			s.create(ada())
			s.nothing()
			must(s.a.LinkAccount(s.Context(), account("ada")))(s) // no key is blocked
			must(s.a.CreateAuthenticator(s.Context(), adapter.Authenticator{CredentialID: "credential", UserID: "ada", CredentialPublicKey: "k"}))(s)
		},
	},
}

// noLitter checks that all remaining keys expire.
func (s scene) noLitter() {
	s.Helper()
	for _, key := range keysOf(s, s.client, "*"+s.prefix+"*") {
		ttl := must(s.client.PTTL(s.Context(), key).Result())(s)
		assert.Truef(s, ttl >= 0 || strings.HasSuffix(key, "}:layout"), "%s is left", key)
	}
}

// TestCrash interrupts every call between any two commands, before and
// after the server has executed the command, and checks the result through
// another handle.
func TestCrash(t *testing.T) {
	for _, w := range []wiring{standalone, declared, cluster} {
		for _, c := range crashes {
			for acted, what := range map[bool]string{false: "request", true: "reply"} {
				t.Run(fmt.Sprintf("%s/%s/%s lost", w.name, c.name, what), func(t *testing.T) {
					t.Parallel()
					s := scene{T: t}
					e := w.env(t)
					s.client = e.Admin
					for step := 1; ; step++ {
						s.prefix = fmt.Sprint(e.Prefix, step)
						s.a = w.adapter(t, s.client, s.prefix)
						c.prepare(s)
						crash := &crash{step: step, acted: acted}
						client := w.client(t, 0)
						a := w.adapter(t, client, s.prefix)
						require.NoError(t, a.EnsureScripts(t.Context()))
						client.AddHook(crash)
						err := c.call(t.Context(), a)
						if crash.seen < step {
							require.NoErrorf(t, err, "%d commands, and %v; want no error", crash.seen, err)
							return
						}
						require.ErrorIsf(t, err, errCrash,
							"the call ended at command %d: got %v, want the error of the command", step, err)
						c.check(s)
						require.Falsef(t, t.Failed(), "the call ended at command %d", step)
					}
				})
			}
		}
	}
}

var errCrash = errors.New("the process is gone")

// crash simulates a process that ends at one of its commands: neither that
// command nor a later one is sent. If acted is set, the server still gets
// that command.
type crash struct {
	step, seen int
	acted      bool
}

func (c *crash) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *crash) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if greets(cmd) {
			return next(ctx, cmd)
		}
		err := c.command(func() error { return next(ctx, cmd) })
		if errors.Is(err, errCrash) {
			cmd.SetErr(err)
		} else if err != nil && goredis.HasErrorPrefix(err, "NOSCRIPT") {
			c.seen-- // the client sends the command again, with the script's text
		}
		return err
	}
}

func (c *crash) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if greets(cmds[0]) {
			return next(ctx, cmds)
		}
		return c.command(func() error { return next(ctx, cmds) })
	}
}

// greets reports whether the client sends the command when it opens a
// connection.
func greets(cmd goredis.Cmder) bool { return cmd.Name() == "hello" || cmd.Name() == "client" }

func (c *crash) command(send func() error) error {
	c.seen++
	if c.seen < c.step {
		return send()
	}
	if c.seen == c.step && c.acted {
		if err := send(); err != nil && !errors.Is(err, goredis.Nil) {
			return err
		}
	}
	return errCrash
}
