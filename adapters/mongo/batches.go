package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// batch is how many documents are deleted in one request: few enough that
	// nobody else waits for long.
	batch = 1000
	// batchTime bounds a request on the server, which would otherwise go on when
	// nobody waits for it any more.
	batchTime = 10 * time.Second
)

// onlyID leaves out all fields but _id.
func onlyID() *driver.FindOneOptionsBuilder {
	return driver.FindOne().SetProjection(bson.D{{Key: "_id", Value: int32(1)}})
}

// deleteInBatches deletes all documents that match and returns their number,
// also in front of an error. After each batch it rests for pause times as long
// as the batch took.
func (c collection) deleteInBatches(ctx context.Context, filter bson.D, pause float64) (deleted int64, err error) {
	for {
		start := time.Now()
		ids, err := c.batchOf(ctx, filter)
		if err != nil || len(ids) == 0 {
			return deleted, err
		}
		// What matches no longer stays: it may have changed since.
		n, err := c.deleteBatch(ctx, append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, filter...))
		deleted += n
		if err != nil || len(ids) < batch {
			return deleted, err
		}
		if err := rest(ctx, time.Duration(pause*float64(time.Since(start)))); err != nil {
			return deleted, err
		}
	}
}

// thin deletes documents that match, in batches, until fewer than a batch are
// left.
func (c collection) thin(ctx context.Context, filter bson.D) error {
	for {
		ids, err := c.batchOf(ctx, filter)
		if err != nil || len(ids) < batch {
			return err
		}
		if _, err := c.deleteBatch(ctx, append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, filter...)); err != nil {
			return err
		}
	}
}

// batchOf returns the ids of some documents that match: of all if they are fewer
// than a batch.
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

// deleteBatch deletes what matches, within the time of a batch.
func (c collection) deleteBatch(ctx context.Context, filter bson.D) (int64, error) {
	var said struct {
		N      int64            `bson:"n"`
		Errors []mgo.WriteError `bson:"writeErrors"`
	}
	err := c.Database().RunCommand(abortable{ctx}, bson.D{
		{Key: "delete", Value: c.Name()},
		{Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: int32(0)}}}},
		{Key: "maxTimeMS", Value: batchTime.Milliseconds()},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	}).Decode(&said)
	if err == nil && len(said.Errors) > 0 {
		err = said.Errors[0]
	}
	return said.N, ended(ctx, err)
}

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
