package mongo

import (
	"bytes"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// batch is the number of documents that one request deletes: so few that other
	// calls do not wait for long.
	batch = 30
	// batchTime limits a deletion on the server, which otherwise continues after
	// its caller has given up.
	batchTime = 10 * time.Second
)

// onlyID leaves out all fields except _id.
func onlyID() *driver.FindOneOptionsBuilder {
	return driver.FindOne().SetProjection(bson.D{{Key: "_id", Value: int32(1)}})
}

// deleteInBatches deletes all documents that match and returns the number of
// deleted documents, even with an error.
func (c collection) deleteInBatches(ctx context.Context, filter bson.D) (deleted int64, err error) {
	return c.deleteBatches(ctx, filter, 1)
}

// thin deletes documents that match, as deleteInBatches does, until fewer than a
// batch are left.
func (c collection) thin(ctx context.Context, filter bson.D) error {
	_, err := c.deleteBatches(ctx, filter, batch)
	return err
}

// deleteBatches deletes documents that match, until fewer than least are left.
// After each full batch it rests for as long as the batch took, so that other
// calls have the server for at least half of the time. One query finds the
// documents of all batches. A new query for each batch would read again all index
// entries of deleted documents, which a replica set keeps for some minutes.
func (c collection) deleteBatches(ctx context.Context, filter bson.D, least int) (deleted int64, err error) {
	if err := c.ready(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	cursor, err := c.Find(abortable{ctx}, filter, driver.Find().SetProjection(bson.D{{Key: "_id", Value: int32(1)}}).SetBatchSize(batch))
	if err != nil {
		return 0, c.done(ctx, rightFind, err)
	}
	defer func() { _ = cursor.Close(abortable{ctx}) }() // the server closes a cursor that nobody uses
	for {
		ids, err := c.nextBatch(ctx, cursor)
		if err != nil || len(ids) < least {
			return deleted, err
		}
		// The filter is applied again: a document that has changed since and no longer
		// matches is kept.
		n, err := c.deleteBatch(ctx, ids, filter)
		deleted += n
		if err != nil || len(ids) < batch {
			return deleted, err
		}
		if err := rest(ctx, time.Since(start)); err != nil {
			return deleted, err
		}
		start = time.Now()
	}
}

// nextBatch returns the ids of up to a batch of documents.
func (c collection) nextBatch(ctx context.Context, cursor *mgo.Cursor) (bson.A, error) {
	ids := make(bson.A, 0, batch)
	for len(ids) < batch && cursor.Next(abortable{ctx}) {
		ids = append(ids, bson.Raw(bytes.Clone(cursor.Current)).Lookup("_id"))
	}
	return ids, c.done(ctx, rightFind, cursor.Err())
}

// deleteBatch deletes the documents with the ids that match the filter, within
// the time of a batch.
func (c collection) deleteBatch(ctx context.Context, ids bson.A, filter bson.D) (int64, error) {
	filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, filter...)
	// With another index the server may read all matching documents for each
	// batch.
	return c.deleteMany(ctx, func() (*mgo.DeleteResult, error) {
		return c.DeleteMany(bounded{abortable{ctx}, time.Now().Add(batchTime)}, filter, driver.DeleteMany().SetHint(bson.D{{Key: "_id", Value: int32(1)}}))
	})
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
