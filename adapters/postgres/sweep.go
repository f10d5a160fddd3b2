package postgres

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sweepBatch is how many records one statement of DeleteExpired removes, so
// that it never holds many locks.
const sweepBatch = 1000

// DeleteExpired implements [adapter.Sweeper]. It deletes in batches of 1,000,
// each a transaction of its own on a pool, and passes by records that somebody
// else is writing just now. Any number of processes may sweep at once. On an
// error the result says what had been removed by then. [EXP-05] [EXP-06]
// [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	if swept.Sessions, err = a.sweep(ctx, a.sql.sweepSessions, now); err != nil {
		return swept, err
	}
	swept.VerificationTokens, err = a.sweep(ctx, a.sql.sweepVerificationTokens, now)
	return swept, err
}

func (a *Adapter) sweep(ctx context.Context, sql string, now time.Time) (total int64, err error) {
	for n := int64(sweepBatch); n == sweepBatch; total += n {
		err := a.call(ctx, "delete expired", func(db DB) error {
			var p problems
			p.instant("now", now)
			if err := p.err(); err != nil {
				return err
			}
			var err error
			n, err = count(ctx, db, sql, instantArg(now), int64(sweepBatch))
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
