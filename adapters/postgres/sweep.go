package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sweepBatch is the largest number of records that one statement of
// DeleteExpired removes. It limits the number of locks that a sweep holds.
const sweepBatch = 150

// DeleteExpired implements [adapter.Sweeper]. It deletes in batches of 150. On
// a pool each batch is its own transaction, and a pause as long as the batch
// follows, so that other calls have the server for at least half of the time. It
// skips records that others are writing at the moment. Any number of processes
// may sweep at once. With an error, the result counts the records that were
// removed before it. [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	if swept.Sessions, err = a.sweep(ctx, now, func(sql *statements) string { return sql.sweepSessions }, 1); err != nil {
		return swept, err
	}
	swept.VerificationTokens, err = a.sweep(ctx, now, func(sql *statements) string { return sql.sweepVerificationTokens }, 2)
	return swept, err
}

// place is the position of a sweep in its index: the expiry and the key, of one
// or two parts, of the last record that it deleted.
type place struct {
	expires pgtype.Timestamptz // may be infinite in a row that another product wrote
	key     [2]string
}

func (a *Adapter) sweep(ctx context.Context, now time.Time, statement func(*statements) string, keyParts int) (total int64, err error) {
	const op = "delete expired"
	var p problems
	p.instant("now", now)
	at := place{expires: pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}}
	for {
		var deleted *int64
		next := at
		began := time.Now()
		err := a.call(ctx, op, func(db DB, sql *statements) error {
			if err := p.err(); err != nil {
				return err
			}
			args := []any{instantArg(now), at.expires, at.key[0], int64(sweepBatch), at.key[1]}
			rows, err := db.Query(ctx, statement(sql), args[:3+keyParts]...)
			deleted, err = first(rows, err, func(rows pgx.Rows) (n int64, err error) {
				return n, rows.Scan(&n, &next.expires, &next.key[0], &next.key[1])
			})
			return err
		})
		if err != nil || deleted == nil {
			return total, err
		}
		total += *deleted
		at = next
		if !a.inTx && sleep(ctx, time.Since(began)) != nil {
			return total, wrap(ctx, op, ctx.Err())
		}
	}
}
