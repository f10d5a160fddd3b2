package postgres

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sweepBatch is the largest number of records that one statement of
// DeleteExpired removes. It limits the number of locks that a sweep holds. It is
// part of the statement, so that the server plans the statement once and not for
// each batch.
const sweepBatch = "60"

// DeleteExpired implements [adapter.Sweeper]. It deletes in batches of 60. On
// a pool each batch is its own transaction, and a pause as long as the batch
// follows, so that other calls have the server for at least half of the time. On
// a *pgxpool.Pool or a *sql.DB these transactions do not wait for the disk
// (synchronous_commit): after a crash of the server the records of the last
// batches may exist again, still expired, and the next sweep removes them. It
// skips records that others are writing at the moment. Any number of processes
// may sweep at once. With an error, the result counts the records that were
// removed before it; there is one if a trigger or a rule of the site leaves expired
// records where they are. [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	if swept.Sessions, err = a.sweep(ctx, now, func(sql *statements) string { return sql.sweepSessions }, 1); err != nil {
		return swept, err
	}
	swept.VerificationTokens, err = a.sweep(ctx, now, func(sql *statements) string { return sql.sweepVerificationTokens }, 2)
	return swept, err
}

// place is the position of a sweep in its index: the expiry and the key, of one
// or two parts, of the last record that it found.
type place struct {
	expires string // as the server writes it: a row that another product wrote may have infinity
	key     [2]string
}

// sweep removes what has expired. What a batch does not remove, although it is due,
// somebody may have changed meanwhile, or the site refuses it: the next pass tells.
func (a *Adapter) sweep(ctx context.Context, now time.Time, statement func(*statements) string, keyParts int) (total int64, err error) {
	for range 3 {
		deleted, left, err := a.pass(ctx, now, statement, keyParts)
		if total += deleted; err != nil || left == 0 {
			return total, err
		}
	}
	return total, wrap(ctx, "delete expired", errNotDone)
}

// pass removes what has expired, once. It reports how many records it removed, and how
// many it could not remove.
func (a *Adapter) pass(ctx context.Context, now time.Time, statement func(*statements) string, keyParts int) (total, left int64, err error) {
	const op = "delete expired"
	var p problems
	p.instant("now", now)
	var commit *string // synchronous_commit; the transaction keeps its setting if nil
	if a.isPool() {
		commit = new("off")
	}
	var worked time.Duration
	began := time.Now()
	at := place{expires: "-infinity"}
	for {
		var found *int64
		var deleted int64
		next := at
		batch := time.Now()
		err := a.call(ctx, op, func(db link, sql *statements) error {
			if err := p.err(); err != nil {
				return err
			}
			args := []any{instantArg(now), at.expires, commit, at.key[0], at.key[1]}
			result, err := db.query(ctx, statement(sql), args[:3+keyParts]...)
			found, err = first(result, err, func(rows rows, n *int64) error {
				return rows.Scan(&deleted, n, &next.expires, &next.key[0], &next.key[1])
			})
			return err
		})
		if err != nil || found == nil {
			return total, left, err
		}
		total += deleted
		left += *found - deleted
		at = next
		worked += time.Since(batch)
		// A timer often ends a millisecond late, which the next rest makes up for.
		if !a.inTx && sleep(ctx, 2*worked-time.Since(began)) != nil {
			return total, left, wrap(ctx, op, ctx.Err())
		}
	}
}
