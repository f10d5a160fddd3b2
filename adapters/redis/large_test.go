package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var many = flag.Int("many", 2000, "TestOthersDuringLargeDeletions removes this many sessions; with 10,000 or more it measures what others wait")

// between is a hook of a client. It calls do after every step of the client, and
// records the largest step: the number of keys and members that the server
// processes before it serves another client.
type between struct {
	do      func()
	steps   int
	largest int
}

func (b *between) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (b *between) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		b.step(cmd)
		return err
	}
}

func (b *between) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		b.step(cmds...)
		return err
	}
}

// step counts the arguments and the answers of commands that are sent together.
func (b *between) step(cmds ...goredis.Cmder) {
	size := 0
	for _, cmd := range cmds {
		size += len(cmd.Args())
		switch answer := cmd.(type) {
		case *goredis.StringSliceCmd:
			size += len(answer.Val())
		case *goredis.ScanCmd:
			names, _ := answer.Val()
			size += len(names)
		}
	}
	b.steps++
	b.largest = max(b.largest, size)
	b.do()
}

// TestOthersDuringLargeDeletions deletes a user with many sessions, deletes the
// sessions of such a user, and sweeps a tenth of them. No step grows with the
// number of sessions, and after each step other calls read and write as usual.
func TestOthersDuringLargeDeletions(t *testing.T) {
	const measured = 10_000
	ctx := t.Context()
	for name, remove := range map[string]func(a *redis.Adapter, userID string) (int64, error){
		"delete user": func(a *redis.Adapter, id string) (int64, error) {
			gone, err := a.DeleteUser(ctx, id)
			if gone == nil {
				return 0, err
			}
			return int64(*many), err
		},
		"end sessions": func(a *redis.Adapter, id string) (int64, error) { return a.DeleteSessionsByUserID(ctx, id, "") },
		"sweep": func(a *redis.Adapter, _ string) (int64, error) {
			swept, err := a.DeleteExpired(ctx, time.Now().Add(12*time.Hour))
			return 10 * swept.Sessions, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := standalone.env(t)
			others := standalone.adapter(t, e.Admin, e.Prefix)
			client := standalone.client(t, 0)
			a := standalone.adapter(t, client, e.Prefix)
			user, other := must(a.CreateUser(ctx, adapter.User{}))(t), must(a.CreateUser(ctx, adapter.User{}))(t)
			fillSessions(t, e.Admin, e.Prefix, user.ID)
			calls := 0
			call := func() {
				calls++
				token := fmt.Sprint("other", calls)
				_, err := others.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: other.ID, Expires: time.Now().Add(48 * time.Hour)})
				found, err2 := others.GetSessionAndUser(ctx, token)
				assert.NoError(t, errors.Join(err, err2), "a session of another user")
				assert.NotNil(t, found, "a session of another user")
			}
			hook := &between{do: func() {}}
			client.AddHook(hook)
			if *many < measured {
				hook.do = call
			} else {
				alone, done := timed(call, time.After(3*time.Second)), make(chan time.Time)
				var during []time.Duration
				var wg sync.WaitGroup
				wg.Go(func() { during = timed(call, done) })
				began := time.Now()
				defer func() {
					lasted := time.Since(began)
					close(done)
					wg.Wait()
					t.Logf("%d sessions, %v, %d steps; two calls alone: median %v, p99 %v, longest %v; meanwhile, %d times: median %v, p99 %v, longest %v", *many, lasted, hook.steps,
						alone[len(alone)/2], alone[len(alone)*99/100], alone[len(alone)-1], len(during), during[len(during)/2], during[len(during)*99/100], during[len(during)-1])
				}()
			}
			assert.Equal(t, int64(*many), must(remove(a, user.ID))(t), "removed sessions")
			assert.LessOrEqualf(t, hook.largest, 1200, "arguments and answers of the largest of %d steps", hook.steps)
			assert.GreaterOrEqualf(t, hook.steps, *many/500, "steps for %d sessions", *many)
		})
	}
}

// fillSessions writes the sessions of a user as the adapter does. A tenth of them
// expire in an hour.
func fillSessions(t *testing.T, client goredis.UniversalClient, prefix, userID string) {
	t.Helper()
	ctx := t.Context()
	var user struct{ Inc string }
	require.NoError(t, json.Unmarshal([]byte(must(client.Get(ctx, "{"+prefix+"}:user:"+userID).Result())(t)), &user))
	for from := 0; from < *many; from += 1000 {
		pipe := client.Pipeline()
		for n := from; n < min(from+1000, *many); n++ {
			token, expires := bench.SessionToken(n), time.Now().Add(24*time.Hour)
			if n%10 == 0 {
				expires = time.Now().Add(time.Hour)
			}
			pipe.Set(ctx, prefix+":session:"+token, fmt.Sprintf(`{"user":%q,"inc":%q,"expires":"%d"}`, userID, user.Inc, expires.UnixMicro()), 24*time.Hour)
			pipe.ZAdd(ctx, "{"+prefix+"}:sessions:"+userID, goredis.Z{Score: float64(expires.UnixMilli()), Member: token})
		}
		must(pipe.Exec(ctx))(t)
	}
}

// timed repeats the call until done is closed, and returns the sorted times that
// the calls took.
func timed(call func(), done <-chan time.Time) (took []time.Duration) {
	for {
		began := time.Now()
		call()
		took = append(took, time.Since(began))
		select {
		case <-done:
			slices.Sort(took)
			return took
		default:
		}
	}
}
