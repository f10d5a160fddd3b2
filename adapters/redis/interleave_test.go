package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A turnstile lets a call send one command at a time.
type turnstile struct {
	waiting chan struct{} // the call is about to send a command
	next    chan struct{} // the call may send the command
	done    chan error    // the call has ended
}

func (g *turnstile) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (g *turnstile) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		g.waiting <- struct{}{}
		<-g.next
		return next(ctx, cmd)
	}
}

func (g *turnstile) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		g.waiting <- struct{}{}
		<-g.next
		return next(ctx, cmds)
	}
}

// interleave runs two calls, command by command. Before each command it may
// switch to the other call: choices says where. After the last choice it does not
// switch any more. It returns the errors of the calls and all choices that were
// possible.
func interleave(gates [2]*turnstile, calls [2]func() error, choices []bool) (errs [2]error, made []bool) {
	running := [2]bool{true, true}
	arrive := func(i int) {
		select {
		case <-gates[i].waiting:
		case errs[i] = <-gates[i].done:
			running[i] = false
		}
	}
	for i, call := range calls {
		go func() { gates[i].done <- call() }()
		arrive(i)
	}
	for i := 0; running[0] || running[1]; {
		if running[0] && running[1] {
			turn := len(made) < len(choices) && choices[len(made)]
			made = append(made, turn)
			if turn {
				i = 1 - i
			}
		} else if !running[i] {
			i = 1 - i
		}
		gates[i].next <- struct{}{}
		arrive(i)
	}
	return errs, made
}

// mostSwitches is the largest number of switches between the calls in one
// order.
const mostSwitches = 3

// following returns the next choices in order, or nil after the last ones.
func following(made []bool) []bool {
	for i := len(made) - 1; i >= 0; i-- {
		switches := 0
		for _, turn := range made[:i] {
			if turn {
				switches++
			}
		}
		if !made[i] && switches < mostSwitches {
			return append(slices.Clone(made[:i]), true)
		}
	}
	return nil
}

type call = func(ctx context.Context, a adapter.Adapter) error

func creates(id, email string) call {
	return func(ctx context.Context, a adapter.Adapter) error {
		return erred(a.CreateUser(ctx, adapter.User{ID: id, Email: email}))
	}
}

func moves(id, email string) call {
	return func(ctx context.Context, a adapter.Adapter) error {
		u, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Email: adapter.To(email), Name: adapter.To(new("with " + email))})
		if err == nil && (u.Email != email || *u.Name != "with "+email) {
			return fmt.Errorf("the update to %q returned %q, named %q", email, u.Email, *u.Name)
		}
		return err
	}
}

func deletes(id string) call {
	return func(ctx context.Context, a adapter.Adapter) error { _, err := a.DeleteUser(ctx, id); return err }
}

func links(id string) call {
	return func(ctx context.Context, a adapter.Adapter) error { return erred(a.LinkAccount(ctx, account(id))) }
}

func signsIn(id string) call {
	return func(ctx context.Context, a adapter.Adapter) error { return erred(a.CreateSession(ctx, session(id))) }
}

// deletedSession carries the session that a call deleted to the check.
type deletedSession struct{ *adapter.Session }

func (deletedSession) Error() string { return "deleted" }

// oneWins checks that exactly one call succeeded and that the other returned a
// conflict.
func oneWins(s scene, errs [2]error) (winner int) {
	s.Helper()
	if errs[0] != nil {
		winner = 1
	}
	assert.NoError(s, errs[winner], "neither call succeeded")
	assert.ErrorIs(s, errs[1-winner], adapter.ErrConflict, "the other call")
	return winner
}

func allWin(s scene, errs [2]error) {
	s.Helper()
	assert.NoError(s, errors.Join(errs[:]...), "want two successes")
}

// holds checks that the user has the address, and that the others are free.
func (s scene) holds(id, email string, others ...string) {
	s.Helper()
	u := s.user(id)
	if u == nil || u.Email != email {
		s.Errorf("the user is %+v, want %s", u, email)
		return
	}
	s.same("by e-mail", s.byEmail(email), u)
	_, err := s.a.CreateUser(s.Context(), adapter.User{Email: email})
	assert.ErrorIsf(s, err, adapter.ErrConflict, "a second user with %s", email)
	for _, other := range others {
		s.free(other)
	}
}

// encounters are pairs of calls that change the same records.
var encounters = []struct {
	name    string
	prepare func(s scene)
	calls   [2]call
	check   func(s scene, errs [2]error)
}{
	{
		"two users take one address", func(scene) {}, [2]call{creates("a", "x"), creates("b", "x")},
		func(s scene, errs [2]error) {
			winner := oneWins(s, errs)
			s.holds([]string{"a", "b"}[winner], "x")
			s.same("the other", s.user([]string{"b", "a"}[winner]), (*adapter.User)(nil))
		},
	},
	{
		"two users take one ID", func(scene) {}, [2]call{creates("a", "x"), creates("a", "y")},
		func(s scene, errs [2]error) {
			winner := oneWins(s, errs)
			s.holds("a", []string{"x", "y"}[winner], []string{"y", "x"}[winner])
		},
	},
	{
		"a user moves to an address that another takes", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), creates("b", "y")},
		func(s scene, errs [2]error) {
			if oneWins(s, errs) == 0 {
				s.holds("a", "y", "x")
			} else {
				s.holds("a", "x")
				s.holds("b", "y")
			}
		},
	},
	{
		"a user leaves an address that another takes", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), creates("b", "x")},
		func(s scene, errs [2]error) {
			s.holds("a", "y")
			if errs[1] == nil {
				s.holds("b", "x")
			} else {
				s.free("x")
			}
		},
	},
	{
		"two users move to one address", func(s scene) {
			s.create(adapter.User{ID: "a", Email: "x"})
			s.create(adapter.User{ID: "b", Email: "y"})
		},
		[2]call{moves("a", "z"), moves("b", "z")},
		func(s scene, errs [2]error) {
			if oneWins(s, errs) == 0 {
				s.holds("a", "z", "x")
				s.holds("b", "y")
			} else {
				s.holds("b", "z", "y")
				s.holds("a", "x")
			}
		},
	},
	{
		"two users exchange addresses", func(s scene) {
			s.create(adapter.User{ID: "a", Email: "x"})
			s.create(adapter.User{ID: "b", Email: "y"})
		},
		[2]call{moves("a", "y"), moves("b", "x")},
		func(s scene, errs [2]error) {
			for _, id := range []string{"a", "b"} {
				u := s.user(id)
				s.same("by e-mail", s.byEmail(u.Email), u)
			}
			assert.NotEqual(s, s.user("a").Email, s.user("b").Email, "both have one address")
		},
	},
	{
		"one user moves twice", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), moves("a", "z")},
		func(s scene, errs [2]error) {
			allWin(s, errs)
			if email := s.user("a").Email; email == "y" {
				s.holds("a", "y", "x", "z")
			} else {
				s.holds("a", "z", "x", "y")
			}
			s.same("the name", *s.user("a").Name, "with "+s.user("a").Email)
		},
	},
	{
		"one user moves twice to one address", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), moves("a", "y")},
		func(s scene, errs [2]error) {
			allWin(s, errs)
			s.holds("a", "y", "x")
		},
	},
	{
		"a user moves on from where a move led", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), func(ctx context.Context, a adapter.Adapter) error {
			if u, err := a.GetUserByEmail(ctx, "y"); err != nil || u == nil {
				return errors.Join(err, errors.New("nobody there"))
			}
			return moves("a", "z")(ctx, a)
		}},
		func(s scene, errs [2]error) {
			if errs[1] == nil {
				s.holds("a", "z", "x", "y") // the first change happened earlier, and not a second time
			} else {
				s.holds("a", "y", "x")
			}
		},
	},
	{
		"a user moves and gives the address up", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), moves("a", "")},
		func(s scene, errs [2]error) {
			allWin(s, errs)
			if s.user("a").Email == "" {
				s.free("y")
			} else {
				s.holds("a", "y")
			}
			s.free("x")
		},
	},
	{
		"a user moves and is deleted", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{moves("a", "y"), deletes("a")},
		func(s scene, errs [2]error) {
			assert.NoError(s, errs[1])
			assert.Truef(s, errs[0] == nil || errors.Is(errs[0], adapter.ErrNotFound), "got %v", errs[0])
			s.same("the user", s.user("a"), (*adapter.User)(nil))
			s.free("x")
			s.free("y")
		},
	},
	{
		"a user is made and deleted", func(scene) {}, [2]call{creates("a", "x"), deletes("a")},
		func(s scene, errs [2]error) {
			allWin(s, errs)
			if s.user("a") == nil {
				s.free("x")
			} else {
				s.holds("a", "x")
			}
		},
	},
	{
		"two users link one account", func(s scene) { s.create(adapter.User{ID: "a"}); s.create(adapter.User{ID: "b"}) },
		[2]call{links("a"), links("b")},
		func(s scene, errs [2]error) {
			want := []string{"a", "b"}[oneWins(s, errs)]
			s.same("the owner", must(s.a.GetUserByAccount(s.Context(), account("").Key()))(s).ID, want)
		},
	},
	{
		"a user signs in and is deleted", func(s scene) { s.create(adapter.User{ID: "a", Email: "x"}) },
		[2]call{signsIn("a"), deletes("a")},
		func(s scene, errs [2]error) {
			assert.NoError(s, errs[1])
			assert.Truef(s, errs[0] == nil || errors.Is(errs[0], adapter.ErrNotFound), "got %v", errs[0])
			s.nothing()
			s.create(adapter.User{ID: "a", Email: "x"})
			s.nothing()
		},
	},
	{
		"a session is extended and deleted", func(s scene) {
			s.create(adapter.User{ID: "a"})
			must(s.a.CreateSession(s.Context(), session("a")))(s)
		},
		[2]call{func(ctx context.Context, a adapter.Adapter) error {
			extended, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", Expires: adapter.To(later.Add(time.Hour))})
			if err == nil && extended == nil {
				err = adapter.ErrNotFound
			}
			return err
		}, func(ctx context.Context, a adapter.Adapter) error {
			s, err := a.DeleteSession(ctx, "secret")
			return errors.Join(err, deletedSession{s})
		}},
		func(s scene, errs [2]error) {
			want := session("a")
			if errs[0] == nil { // and therefore before its deletion
				want.Expires = want.Expires.Add(time.Hour)
			}
			var deleted deletedSession
			_ = errors.As(errs[1], &deleted)
			s.same("the deleted session", deleted.Session, &want)
			s.nothing()
		},
	},
	{
		"a session moves and its first owner is deleted", func(s scene) {
			s.create(adapter.User{ID: "a"})
			s.create(adapter.User{ID: "b"})
			must(s.a.CreateSession(s.Context(), session("a")))(s)
		},
		[2]call{func(ctx context.Context, a adapter.Adapter) error {
			moved, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "secret", UserID: adapter.To("b")})
			if err == nil && moved == nil {
				err = adapter.ErrNotFound
			}
			return err
		}, deletes("a")},
		func(s scene, errs [2]error) {
			found := must(s.a.GetSessionAndUser(s.Context(), "secret"))(s)
			assert.Truef(s, (errs[0] == nil) == (found != nil) && errs[1] == nil,
				"the session moved: %v; deleted: %v; found afterwards: %v", errs[0], errs[1], found != nil)
		},
	},
}

// TestInterleavings runs pairs of calls in every order of their commands that
// takes at most three switches from one to the other. If scripts touch declared
// keys only, a call has several commands.
func TestInterleavings(t *testing.T) {
	for _, e := range encounters {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := scene{T: t}
			store := declared.env(t)
			s.client = store.Admin
			var gates [2]*turnstile
			var clients [2]goredis.UniversalClient
			for i := range gates {
				gates[i] = &turnstile{make(chan struct{}), make(chan struct{}), make(chan error)}
				clients[i] = declared.client(t, 1)
				require.NoError(t, declared.adapter(t, clients[i], store.Prefix).EnsureScripts(t.Context()))
				clients[i].AddHook(gates[i])
			}
			runs := 0
			for choices := []bool{}; choices != nil; runs++ {
				prefix := fmt.Sprint(store.Prefix, runs)
				s.a = declared.adapter(t, s.client, prefix)
				e.prepare(s)
				var calls [2]func() error
				for i, c := range e.calls {
					a := declared.adapter(t, clients[i], prefix)
					calls[i] = func() error { return c(t.Context(), a) }
				}
				errs, made := interleave(gates, calls, choices)
				e.check(s, errs)
				require.Falsef(t, t.Failed(), "in the order %v", made)
				choices = following(made)
			}
			t.Logf("%d orders", runs)
		})
	}
}
