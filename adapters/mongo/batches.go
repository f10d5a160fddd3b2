package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// batch is how many documents are deleted in one request: few enough that
	// nobody else waits for long.
	batch = 250
	// batchTime bounds a deletion on the server, which would otherwise go on when
	// nobody waits for it any more.
	batchTime = 10 * time.Second
)

// onlyID leaves out all fields but _id.
func onlyID() *driver.FindOneOptionsBuilder {
	return driver.FindOne().SetProjection(bson.D{{Key: "_id", Value: int32(1)}})
}

// deleteInBatches deletes all documents that match and returns how many it has
// deleted, also beside an error. After each batch it rests for as long as the batch
// took, so that others have at least half of the server.
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
// than least, and rests after a full one. It reports whether there may be more.
func (c collection) deleteOneBatch(ctx context.Context, filter bson.D, least int) (deleted int64, more bool, err error) {
	start := time.Now()
	ids, err := c.batchOf(ctx, filter)
	if err != nil || len(ids) < least {
		return 0, false, err
	}
	// What matches no longer stays: it may have changed since.
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
	// With another index the server may read all that matches for each batch.
	result, err := c.DeleteMany(bounded{abortable{ctx}, time.Now().Add(batchTime)}, filter, driver.DeleteMany().SetHint(bson.D{{Key: "_id", Value: int32(1)}}))
	if err != nil {
		return 0, ended(ctx, err)
	}
	return result.DeletedCount, nil
}

// bounded is a context with a deadline for the driver, which sends the remaining
// time to the server as maxTimeMS. A timeout of the client does not apply then.
type bounded struct {
	abortable
	deadline time.Time
}

func (b bounded) Deadline() (deadline time.Time, ok bool) { return b.deadline, true }

// rest waits, or returns why the context has ended.
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
