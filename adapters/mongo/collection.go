package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// collection has the operations of the adapter on a collection.
type collection struct{ *mgo.Collection }

// newCollection returns a collection with the settings that the contract needs,
// independent of the client's settings. Reads go to the primary. Writes wait for
// a majority, so that a failover does not undo an acknowledged write. Documents
// are encoded without the client's options.
func newCollection(db *mgo.Database, name string) collection {
	return collection{db.Collection(name, options.Collection().
		SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Local()).
		SetWriteConcern(writeconcern.Majority()).
		SetRegistry(bson.NewRegistry()).
		SetBSONOptions(&options.BSONOptions{}))}
}

// find returns the one document that matches, or nil.
func (c collection) find(ctx context.Context, filter bson.D) (bson.Raw, error) {
	return one(ctx, c.FindOne(abortable{ctx}, filter))
}

func (c collection) insert(ctx context.Context, document fields) error {
	_, err := c.InsertOne(abortable{ctx}, bson.D(document))
	return ended(ctx, err)
}

// change changes the one document that matches and returns the changed document,
// or nil if none matches.
func (c collection) change(ctx context.Context, filter, changes any) (bson.Raw, error) {
	return one(ctx, c.FindOneAndUpdate(abortable{ctx}, filter, changes, options.FindOneAndUpdate().SetReturnDocument(options.After)))
}

// take deletes the one document that matches and returns it, or nil if none
// matches. Of concurrent calls one gets the document.
func (c collection) take(ctx context.Context, filter bson.D) (bson.Raw, error) {
	return one(ctx, c.FindOneAndDelete(abortable{ctx}, filter))
}

func one(ctx context.Context, result *mgo.SingleResult) (bson.Raw, error) {
	raw, err := result.Raw()
	if errors.Is(err, mgo.ErrNoDocuments) {
		return nil, nil
	}
	return raw, ended(ctx, err)
}

// aggregate returns all documents of a pipeline.
func (c collection) aggregate(ctx context.Context, pipeline ...bson.D) ([]bson.Raw, error) {
	cursor, err := c.Aggregate(abortable{ctx}, mgo.Pipeline(pipeline))
	if err != nil {
		return nil, ended(ctx, err)
	}
	var documents []bson.Raw
	err = cursor.All(abortable{ctx}, &documents)
	return documents, ended(ctx, err)
}

// delete deletes the documents that match.
func (c collection) delete(ctx context.Context, filter bson.D) (int64, error) {
	result, err := c.DeleteMany(abortable{ctx}, filter)
	if err != nil {
		return 0, ended(ctx, err)
	}
	return result.DeletedCount, nil
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
