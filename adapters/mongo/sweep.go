package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DeleteExpired implements adapter.Sweeper. It deletes in batches and rests
// between them, so that other calls are hardly slower. After an error the
// counted records are deleted. The server removes expired records too, an hour
// after their expiry; see EnsureIndexes.
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	expired := bson.D{{Key: "expires", Value: bson.D{{Key: "$lte", Value: date(now)}}}}
	var swept adapter.Swept
	var err error
	if swept.Sessions, err = a.sessions.deleteInBatches(ctx, expired); err != nil {
		return swept, wrap("delete expired", err)
	}
	swept.VerificationTokens, err = a.tokens.deleteInBatches(ctx, expired)
	return swept, wrap("delete expired", err)
}
