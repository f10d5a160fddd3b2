package redis

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sweepBatch is how many keys are looked at in one round trip.
const sweepBatch = 500

// DeleteExpired implements adapter.Sweeper. Redis removes expired sessions and
// tokens by itself, a minute after their expiry; a sweep is for those who want
// it sooner, and scans all keys of the adapter's prefix.
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	var sessions, tokens atomic.Int64
	err := a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
		if err := a.sweep(ctx, server, kindSession, now, &sessions); err != nil {
			return err
		}
		return a.sweep(ctx, server, kindToken, now, &tokens)
	})
	return adapter.Swept{Sessions: sessions.Load(), VerificationTokens: tokens.Load()}, wrap("delete expired", err)
}

func (a *Adapter) sweep(ctx context.Context, server goredis.Cmdable, kind kind, now time.Time, removed *atomic.Int64) error {
	pattern := globEscape(a.keys.start(kind)) + "*"
	for cursor := uint64(0); ; {
		names, next, err := server.Scan(ctx, cursor, pattern, sweepBatch).Result()
		if err != nil {
			return err
		}
		if len(names) > 0 {
			pipe := server.Pipeline()
			var answers []*goredis.Cmd
			for _, name := range names {
				answers = append(answers, scriptExpire.Eval(ctx, pipe, []string{name}, formatTime(now)))
			}
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
			for _, answer := range answers {
				n, err := answer.Int64()
				if err != nil {
					return err
				}
				removed.Add(n)
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// globEscape makes a string match itself in a pattern of SCAN.
func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(s)
}
