package sqlite

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sweepBatch is how many rows DeleteExpired removes in one statement, while
// other writers wait.
const sweepBatch = 500

// DeleteExpired removes the sessions and verification tokens whose Expires is
// at or before now, in batches, so that other writers come in between. When it
// fails half-way, the batches until then are gone and are counted.
// [EXP-01] [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	var swept adapter.Swept
	for _, table := range []struct {
		query string
		count *int64
	}{
		{`DELETE FROM "session" WHERE sessionToken IN (
			SELECT sessionToken FROM "session" WHERE expires <= ? LIMIT ?)`, &swept.Sessions},
		{`DELETE FROM "verificationToken" WHERE (identifier, token) IN (
			SELECT identifier, token FROM "verificationToken" WHERE expires <= ? LIMIT ?)`, &swept.VerificationTokens},
	} {
		var err error
		if *table.count, err = a.inBatches(ctx, table.query, now.UnixMilli()); err != nil {
			return swept, failed(ctx, "delete expired", err)
		}
	}
	return swept, nil
}

// inBatches repeats a statement that deletes some of the records, as many as its
// last argument says, until none is left. It returns how many it deleted, also
// with an error.
func (a *Adapter) inBatches(ctx context.Context, query string, args ...any) (total int64, err error) {
	args = append(args, sweepBatch)
	for more := true; more; {
		deleted, err := a.exec(ctx, query, args...)
		if err != nil {
			return total, err
		}
		total += deleted
		more = deleted == sweepBatch
	}
	return total, nil
}
