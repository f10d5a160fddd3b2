package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// batch is the number of documents that one request deletes: so few that other
	// calls do not wait for long.
	batch = 250
	// batchTime limits a deletion on the server, which otherwise continues after
	// its caller has given up.
	batchTime = 10 * time.Second
)

// onlyID leaves out all fields except _id.
func onlyID() *driver.FindOneOptionsBuilder {
	return driver.FindOne().SetProjection(bson.D{{Key: "_id", Value: int32(1)}})
}

// deleteInBatches deletes all documents that match and returns the number of
// deleted documents, even with an error. After each batch it rests for as long as
// the batch took, so that other calls have the server for at least half of the
// time.
func (c collection) deleteInBatches(ctx context.Context, filter bson.D) (deleted int64, err error) {
	for {
		n, more, err := c.deleteOneBatch(ctx, filter, 1)
		deleted += n
		if err != nil || !more {
			return deleted, err
		}
	}
}

// thin deletes documents that match, as deleteInBatches does, until fewer than a
// batch are left.
func (c collection) thin(ctx context.Context, filter bson.D) error {
	for {
		if _, more, err := c.deleteOneBatch(ctx, filter, batch); err != nil || !more {
			return err
		}
	}
}

// deleteOneBatch deletes a batch of documents that match, unless there are fewer
// than least, and rests after a full one. It reports whether more documents may
// match.
func (c collection) deleteOneBatch(ctx context.Context, filter bson.D, least int) (deleted int64, more bool, err error) {
	start := time.Now()
	ids, err := c.batchOf(ctx, filter)
	if err != nil || len(ids) < least {
		return 0, false, err
	}
	// The filter is applied again: a document that has changed since and no longer
	// matches is kept.
	deleted, err = c.deleteBatch(ctx, ids, filter)
	if err != nil || len(ids) < batch {
		return deleted, false, err
	}
	return deleted, true, rest(ctx, time.Since(start))
}

// batchOf returns the ids of up to a batch of documents that match.
func (c collection) batchOf(ctx context.Context, filter bson.D) (bson.A, error) {
	cursor, err := c.Find(abortable{ctx}, filter, driver.Find().SetProjection(bson.D{{Key: "_id", Value: int32(1)}}).SetLimit(batch).SetBatchSize(batch))
	if err != nil {
		return nil, ended(ctx, err)
	}
	var found []bson.Raw
	if err := cursor.All(abortable{ctx}, &found); err != nil {
		return nil, ended(ctx, err)
	}
	ids := make(bson.A, len(found))
	for i, raw := range found {
		ids[i] = raw.Lookup("_id")
	}
	return ids, nil
}

// deleteBatch deletes the documents with the ids that match the filter, within
// the time of a batch.
func (c collection) deleteBatch(ctx context.Context, ids bson.A, filter bson.D) (int64, error) {
	filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, filter...)
	// With another index the server may read all matching documents for each
	// batch.
	result, err := c.DeleteMany(bounded{abortable{ctx}, time.Now().Add(batchTime)}, filter, driver.DeleteMany().SetHint(bson.D{{Key: "_id", Value: int32(1)}}))
	if err != nil {
		return 0, ended(ctx, err)
	}
	return result.DeletedCount, nil
}

// bounded is a context with a deadline for the driver, which sends the remaining
// time to the server as maxTimeMS. With it, the driver does not apply the client's
// own timeout.
type bounded struct {
	abortable
	deadline time.Time
}

func (b bounded) Deadline() (deadline time.Time, ok bool) { return b.deadline, true }

// rest waits for d. It returns the context's error if the context ends first.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
