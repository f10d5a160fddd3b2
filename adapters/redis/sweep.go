package redis

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.Sweeper = (*Adapter)(nil)

// sweepBatch is how many keys a server looks at in one step. Other clients wait
// for one step at most.
const sweepBatch = 50

// DeleteExpired implements adapter.Sweeper. Redis removes expired sessions and
// tokens by itself, a minute after their expiry; a sweep is for those who want
// it sooner, and goes through all keys of the servers. It rests after each step
// for as long as the step took.
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (_ adapter.Swept, err error) {
	defer wrap("delete expired", &err)
	if err := a.check(ctx); err != nil {
		return adapter.Swept{}, err
	}
	var sessions, tokens atomic.Int64
	err = a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
		for cursor := uint64(0); ; {
			start := time.Now()
			names, next, err := server.Scan(ctx, cursor, a.keys.prefix+":*", sweepBatch).Result()
			if err != nil {
				return err
			}
			var keys []any
			for _, name := range names {
				if strings.HasPrefix(name, a.keys.session("")) || strings.HasPrefix(name, a.keys.tokens("")) {
					keys = append(keys, name)
				}
			}
			s, t, err := a.sweep(ctx, server, keys, micros(now), "")
			sessions.Add(s)
			tokens.Add(t)
			if cursor = next; err != nil || cursor == 0 {
				return err
			}
			if err := rest(ctx, time.Since(start)); err != nil {
				return err
			}
		}
	})
	return adapter.Swept{Sessions: sessions.Load(), VerificationTokens: tokens.Load()}, err
}

// sweep deletes the sessions and tokens among the keys that are over, and the
// sessions of the incarnation. The server is the one that has the keys, or a
// client that finds that server.
func (a *Adapter) sweep(ctx context.Context, server goredis.Cmdable, keys []any, now, inc string) (sessions, tokens int64, err error) {
	together := len(keys) // how many keys one script takes
	if a.declared {
		together = 1
	}
	if len(keys) == 0 {
		return 0, 0, nil
	}
	for range attempts {
		pipe := server.Pipeline()
		var sent []*goredis.Cmd
		for some := range slices.Chunk(keys, together) {
			cmd := goredis.NewCmd(ctx, a.command("sweep", some, []any{now, inc})...)
			_ = pipe.Process(ctx, write{cmd})
			sent = append(sent, cmd)
		}
		_, err = pipe.Exec(ctx)
		for _, cmd := range sent {
			r, _ := cmd.Slice()
			sessions += at[int64](r, 1)
			tokens += at[int64](r, 2)
		}
		if !goredis.HasErrorPrefix(err, "NOSCRIPT") {
			break
		}
		if err = a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
			return server.ScriptLoad(ctx, scripts["sweep"].text).Err()
		}); err != nil {
			break
		}
	}
	return sessions, tokens, err
}

// endSessions deletes the listed sessions of the incarnation but the one that is
// excepted, and returns how many it deleted. Redis removes a list that is empty.
func (a *Adapter) endSessions(ctx context.Context, list, inc, except string) (deleted int64, err error) {
	for skipped := int64(0); ; {
		tokens, err := a.client.ZRange(ctx, list, skipped, skipped+sweepBatch-1).Result()
		if err != nil || len(tokens) == 0 {
			return deleted, err
		}
		var keys []any
		ended := []any{"zrem", list}
		for _, token := range tokens {
			if token == except {
				skipped++
				continue
			}
			keys = append(keys, a.keys.session(token))
			ended = append(ended, token)
		}
		if len(keys) == 0 { // the one that stays is the last
			return deleted, nil
		}
		n, _, err := a.sweep(ctx, a.client, keys, "", inc)
		deleted += n
		if err == nil {
			err = a.send(ctx, ended...).Err()
		}
		if err != nil || len(tokens) < sweepBatch {
			return deleted, err
		}
	}
}
