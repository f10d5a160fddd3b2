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
		for more := true; more; {
			var deleted int64
			err := a.patiently(ctx, func() error {
				result, err := a.db.ExecContext(ctx, a.statement(table.query).text, now.UnixMilli(), sweepBatch)
				if err != nil {
					return err
				}
				deleted, err = result.RowsAffected()
				return err
			})
			if err != nil {
				return swept, failed(ctx, "delete expired", err)
			}
			*table.count += deleted
			more = deleted == sweepBatch
		}
	}
	return swept, nil
}
