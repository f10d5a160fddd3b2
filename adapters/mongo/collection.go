package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// collection has the operations of the adapter on a collection.
type collection struct {
	*mgo.Collection
	// ready checks the database before the first operation.
	ready func(ctx context.Context) error
	// unique are the fields of the adapter's own unique indexes.
	unique [][]string
	// demotion leaves a server that is no longer the primary.
	demotion *demotion
	// stamped: documents have createdAt and updatedAt, as those of Prisma.
	stamped bool
}

// collection returns a collection with the settings that the contract needs,
// independent of the client's settings. Reads go to the primary. Writes wait for
// a majority, so that a failover does not undo an acknowledged write. Documents
// are encoded without the client's options.
func (s *site) collection(name string, unique ...[]string) collection {
	own := s.db.Collection(name, options.Collection().
		SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Local()).
		SetWriteConcern(writeconcern.Majority()).
		SetRegistry(bson.NewRegistry()).
		SetBSONOptions(&options.BSONOptions{}))
	return collection{Collection: own, ready: s.check, demotion: s.demotion, unique: append(unique, []string{"_id"})}
}

// find returns the one document that matches, or nil.
func (c collection) find(ctx context.Context, filter bson.D) (bson.Raw, error) {
	return c.findOne(ctx, filter)
}

func (c collection) findOne(ctx context.Context, filter bson.D, with ...options.Lister[options.FindOneOptions]) (bson.Raw, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	return c.one(ctx, rightFind, c.FindOne(abortable{ctx}, filter, with...))
}

func (c collection) insert(ctx context.Context, document fields) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	if c.stamped {
		now := date(time.Now())
		document = slices.Concat(document, fields{{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now}})
	}
	return c.write(ctx, rightInsert, func() error {
		_, err := c.InsertOne(abortable{ctx}, bson.D(document))
		return err
	})
}

// write does a write, and once more if the server refuses it because it is no longer the
// primary.
func (c collection) write(ctx context.Context, right string, do func() error) error {
	began := time.Now()
	err := c.done(ctx, right, do())
	if c.demotion.again(ctx, began, err) {
		err = c.done(ctx, right, do())
	}
	return err
}

// writeOne does a write of one document, and returns the document, or nil if none matches.
func (c collection) writeOne(ctx context.Context, right string, do func() *mgo.SingleResult) (raw bson.Raw, err error) {
	err = c.write(ctx, right, func() (err error) {
		raw, err = do().Raw()
		return err
	})
	if errors.Is(err, mgo.ErrNoDocuments) {
		return nil, nil
	}
	return raw, err
}

// change changes the one document that matches and returns the changed document,
// or nil if none matches.
func (c collection) change(ctx context.Context, filter, changes any) (bson.Raw, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if update, ok := changes.(bson.D); ok && c.stamped {
		changes = append(slices.Clip(update), bson.E{Key: "$currentDate", Value: bson.D{{Key: "updatedAt", Value: true}}})
	}
	return c.writeOne(ctx, rightUpdate, func() *mgo.SingleResult {
		return c.FindOneAndUpdate(abortable{ctx}, filter, changes, options.FindOneAndUpdate().SetReturnDocument(options.After))
	})
}

// take deletes the one document that matches and returns it, or nil if none
// matches. Of concurrent calls one gets the document.
func (c collection) take(ctx context.Context, filter bson.D) (bson.Raw, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	return c.writeOne(ctx, rightRemove, func() *mgo.SingleResult { return c.FindOneAndDelete(abortable{ctx}, filter) })
}

func (c collection) one(ctx context.Context, right string, result *mgo.SingleResult) (bson.Raw, error) {
	raw, err := result.Raw()
	if errors.Is(err, mgo.ErrNoDocuments) {
		return nil, nil
	}
	return raw, c.done(ctx, right, err)
}

// aggregate returns all documents of a pipeline.
func (c collection) aggregate(ctx context.Context, pipeline ...bson.D) ([]bson.Raw, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	return c.aggregateNow(ctx, pipeline...)
}

// aggregateNow is aggregate for the check itself.
func (c collection) aggregateNow(ctx context.Context, pipeline ...bson.D) ([]bson.Raw, error) {
	cursor, err := c.Aggregate(abortable{ctx}, mgo.Pipeline(pipeline))
	if err != nil {
		return nil, c.done(ctx, rightFind, err)
	}
	var documents []bson.Raw
	err = cursor.All(abortable{ctx}, &documents)
	return documents, c.done(ctx, rightFind, err)
}

// delete deletes the documents that match.
func (c collection) delete(ctx context.Context, filter bson.D) (int64, error) {
	if err := c.ready(ctx); err != nil {
		return 0, err
	}
	return c.deleteMany(ctx, func() (*mgo.DeleteResult, error) { return c.DeleteMany(abortable{ctx}, filter) })
}

// deleteMany returns how many documents a deletion has deleted.
func (c collection) deleteMany(ctx context.Context, do func() (*mgo.DeleteResult, error)) (n int64, err error) {
	err = c.write(ctx, rightRemove, func() error {
		result, err := do()
		if err == nil {
			n = result.DeletedCount
		}
		return err
	})
	return n, err
}

// abortable is a context whose deadline the driver sees as a cancellation. At a
// deadline the driver keeps the connection open and waits for the answer, so a
// request that has not reached the server yet may still take effect after its
// call has failed. At a cancellation the driver closes the connection [CTX-07].
type abortable struct{ context.Context }

func (abortable) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

func (c abortable) Err() error {
	if c.Context.Err() != nil {
		return context.Canceled
	}
	return nil
}

// ended adds the reason why the context ended to an error of the driver.
func ended(ctx context.Context, err error) error {
	if reason := ctx.Err(); errors.Is(err, context.Canceled) && reason != nil && !errors.Is(err, reason) {
		return fmt.Errorf("%w: %s", reason, err.Error())
	}
	return err
}
