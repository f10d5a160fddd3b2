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

// collection is what the adapter does with a collection.
type collection struct{ *mgo.Collection }

// newCollection returns a collection that is read and written in a way that the
// promises can rest on, however the client is set up: reads ask the primary,
// writes wait for a majority, so that no failover takes back what was
// acknowledged, and documents are encoded in the plain way.
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
	raw, err := c.FindOne(abortable{ctx}, filter).Raw()
	if errors.Is(err, mgo.ErrNoDocuments) {
		return nil, nil
	}
	return raw, ended(ctx, err)
}

// findAll returns all documents that match.
func (c collection) findAll(ctx context.Context, filter bson.D) ([]bson.Raw, error) {
	cursor, err := c.Find(abortable{ctx}, filter)
	if err != nil {
		return nil, ended(ctx, err)
	}
	var documents []bson.Raw
	err = cursor.All(abortable{ctx}, &documents)
	return documents, ended(ctx, err)
}

func (c collection) insert(ctx context.Context, document fields) error {
	_, err := c.InsertOne(abortable{ctx}, bson.D(document))
	return ended(ctx, err)
}

// update changes the document and reports whether it is there.
func (c collection) update(ctx context.Context, id bson.ObjectID, changes bson.D) (found bool, err error) {
	result, err := c.UpdateByID(abortable{ctx}, id, changes)
	if err != nil {
		return false, ended(ctx, err)
	}
	return result.MatchedCount == 1, nil
}

// delete deletes the document and reports whether this call did it.
func (c collection) delete(ctx context.Context, id bson.ObjectID) (deleted bool, err error) {
	result, err := c.DeleteOne(abortable{ctx}, bson.D{{Key: "_id", Value: id}})
	if err != nil {
		return false, ended(ctx, err)
	}
	return result.DeletedCount == 1, nil
}

// deleteAll deletes all documents that match and returns their number.
func (c collection) deleteAll(ctx context.Context, filter bson.D) (int64, error) {
	result, err := c.DeleteMany(abortable{ctx}, filter)
	if err != nil {
		return 0, ended(ctx, err)
	}
	return result.DeletedCount, nil
}

// abortable is a context whose deadline looks to the driver like a cancellation.
// At a deadline the driver would keep the connection and wait for the answer,
// so that a request that is still under way takes effect after its call has
// failed. At a cancellation it closes the connection [CTX-07].
type abortable struct{ context.Context }

func (abortable) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

func (c abortable) Err() error {
	if c.Context.Err() != nil {
		return context.Canceled
	}
	return nil
}

// ended gives an error of the driver the reason for which the context ended.
func ended(ctx context.Context, err error) error {
	if reason := ctx.Err(); errors.Is(err, context.Canceled) && reason != nil && !errors.Is(err, reason) {
		return fmt.Errorf("%w: %s", reason, err.Error())
	}
	return err
}
