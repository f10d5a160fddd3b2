package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.Sweeper = (*Adapter)(nil)

// The number of keys that a server processes before it serves another client: in a
// script, which reads and deletes records, and in a page of key names.
const (
	sweepBatch = 50
	sweepPage  = 80
)

// DeleteExpired implements adapter.Sweeper. Redis removes expired sessions and tokens
// by itself, a minute after their expiry; a sweep removes them sooner. It goes through
// all keys of the servers. For each page of key names it reads the sessions and
// deletes the expired ones, and then rests for as long as that took.
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (_ adapter.Swept, err error) {
	defer wrap(ctx, "delete expired", &err)
	if err := a.check(ctx); err != nil {
		return adapter.Swept{}, err
	}
	var sessions, tokens atomic.Int64
	err = a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
		for cursor := uint64(0); ; {
			start := time.Now()
			names, next, err := server.Scan(ctx, cursor, a.keys.prefix+":*", sweepPage).Result()
			if err != nil {
				return err
			}
			keys, err := a.mayBeOver(ctx, server, names, now)
			if err != nil {
				return err
			}
			for some := range slices.Chunk(keys, sweepBatch) {
				s, t, err := a.sweep(ctx, some, micros(now), "")
				sessions.Add(s)
				tokens.Add(t)
				if err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
			if err := rest(ctx, time.Since(start)); err != nil {
				return err
			}
		}
	})
	return adapter.Swept{Sessions: sessions.Load(), VerificationTokens: tokens.Load()}, err
}

// mayBeOver returns the keys of all tokens and of the expired sessions.
func (a *Adapter) mayBeOver(ctx context.Context, server goredis.Cmdable, names []string, now time.Time) (keys []any, err error) {
	pipe := server.Pipeline()
	sessions := map[string]*goredis.StringCmd{}
	for _, name := range names {
		if strings.HasPrefix(name, a.keys.session("")) {
			sessions[name] = pipe.Get(ctx, name)
		} else if strings.HasPrefix(name, a.keys.tokens("")) {
			keys = append(keys, name)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for name, read := range sessions {
		value, err := read.Result()
		if err != nil && !errors.Is(err, goredis.Nil) && !goredis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
		if s, err := decode(value, new(sessionRecord)); err == nil && *s.Expires <= now.UnixMicro() {
			keys = append(keys, name)
		}
	}
	return keys, nil
}

// sweep deletes the expired sessions and tokens among the keys, and the sessions of
// the incarnation.
func (a *Adapter) sweep(ctx context.Context, keys []any, now, inc string) (sessions, tokens int64, err error) {
	together := max(1, len(keys)) // the number of keys for one script
	if a.declared {
		together = 1
	}
	pipe, chunks := a.client.Pipeline(), slices.Collect(slices.Chunk(keys, together))
	sent := make([]*goredis.Cmd, len(chunks))
	for i, some := range chunks {
		sent[i] = goredis.NewCmd(ctx, a.command("sweep", some, []any{now, inc})...)
		_ = pipe.Process(ctx, write{sent[i]})
	}
	if _, err := pipe.Exec(ctx); err != nil && !goredis.HasErrorPrefix(err, "NOSCRIPT") {
		return 0, 0, err
	}
	for i, cmd := range sent {
		r, err := cmd.Slice()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			r, err = a.run(ctx, "sweep", chunks[i], now, inc)
		}
		if err != nil {
			return sessions, tokens, err
		}
		sessions += at[int64](r, 1)
		tokens += at[int64](r, 2)
	}
	return sessions, tokens, nil
}
