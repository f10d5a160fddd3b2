package sqlite

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DeleteExpired removes the sessions and verification tokens whose Expires is
// at or before now, in short batches with pauses, so that other writers get the
// lock in between. If it fails half-way, the finished batches stay deleted, and
// the result counts them. [EXP-01] [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	var swept adapter.Swept
	for _, table := range []struct {
		query string
		count *int64
	}{
		{`DELETE FROM "session" WHERE {s.sessionToken} IN (
			SELECT {s.sessionToken} FROM "session" WHERE {due s.expires} ORDER BY {s.expires} LIMIT ?)`, &swept.Sessions},
		{`DELETE FROM "verificationToken" WHERE ({v.identifier}, {v.token}) IN (
			SELECT {v.identifier}, {v.token} FROM "verificationToken" WHERE {due v.expires} ORDER BY {v.expires} LIMIT ?)`, &swept.VerificationTokens},
	} {
		var err error
		if *table.count, err = a.inBatches(ctx, table.query, now.UnixMilli()); err != nil {
			return swept, failed(ctx, "delete expired", err)
		}
	}
	return swept, nil
}
