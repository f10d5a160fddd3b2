package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ttlMargin is how long the server keeps what has expired: long enough that no
// difference between clocks removes anything early.
const ttlMargin = time.Hour

// index is one index, and what to make of it on a server that lacks the option.
type index struct {
	collection collection
	fields     []string
	unique     bool
	// texts: only documents whose field is a text.
	texts bool
	// ttl: the server removes documents that have expired. Without it nothing
	// but DeleteExpired does.
	ttl bool
}

func (a *Adapter) indexes() []index {
	return []index{
		{collection: a.users, fields: []string{"email"}, unique: true, texts: true},
		{collection: a.accounts, fields: []string{"provider", "providerAccountId"}, unique: true},
		{collection: a.accounts, fields: []string{"userId"}},
		{collection: a.sessions, fields: []string{"sessionToken"}, unique: true},
		{collection: a.sessions, fields: []string{"userId"}},
		{collection: a.sessions, fields: []string{"expires"}, ttl: true},
		{collection: a.tokens, fields: []string{"identifier", "token"}, unique: true},
		{collection: a.tokens, fields: []string{"expires"}, ttl: true},
		{collection: a.authenticators, fields: []string{"credentialID"}, unique: true},
		{collection: a.authenticators, fields: []string{"userId"}},
	}
}

// EnsureIndexes creates the indexes that are missing: the unique keys that the
// guarantees rest on, those that lookups need, and TTL indexes that let the
// server remove sessions and tokens an hour after their expiry. It may be called
// by several processes at once and changes no record [CAP-03]. An index that is
// there already, under whatever name, stays as it is.
//
// If stored records share a unique key, as in a database that was used without
// one, the error matches adapter.ErrConflict and names the collection and its
// fields. Nothing is lost; mend the records and call again. An index on the
// same fields that does not make them unique is an error, too.
//
// On a server without partial indexes, addresses are unique all the same. On
// one without TTL indexes, call DeleteExpired now and then.
func (a *Adapter) EnsureIndexes(ctx context.Context) error {
	there := map[string][]existing{}
	for _, i := range a.indexes() {
		name := i.collection.Name()
		err := error(nil)
		if _, asked := there[name]; !asked {
			there[name], err = list(ctx, i.collection)
		}
		if err == nil {
			err = i.ensure(ctx, there[name])
		}
		if err != nil && i.isShared(ctx, err) {
			return &conflict{operation: "ensure indexes", what: i.String() + ": stored records share a key", cause: err}
		}
		if err != nil {
			return fmt.Errorf("mongo: ensure indexes: %s: %w", i, err)
		}
	}
	return nil
}

// existing is an index that the server has.
type existing struct {
	Name    string   `bson:"name"`
	Key     bson.Raw `bson:"key"`
	Unique  bool     `bson:"unique"`
	Partial bson.Raw `bson:"partialFilterExpression"`
}

func list(ctx context.Context, c collection) ([]existing, error) {
	cursor, err := c.Indexes().List(ctx)
	if err != nil {
		return nil, err
	}
	var all []existing
	err = cursor.All(ctx, &all)
	return all, err
}

// String names the index by what it is on.
func (i index) String() string {
	return fmt.Sprintf("%s (%s)", i.collection.Name(), strings.Join(i.fields, ", "))
}

func (i index) ensure(ctx context.Context, there []existing) error {
	for _, e := range there {
		if !i.on(e.Key) {
			continue
		}
		if i.unique && (!e.Unique || e.Partial != nil && !i.texts) {
			return fmt.Errorf("the index %s is there and does not make all keys unique: drop it and call again", e.Name)
		}
		return nil
	}
	full := options.Index().SetUnique(i.unique)
	if i.texts {
		full.SetPartialFilterExpression(bson.D{{Key: i.fields[0], Value: bson.D{{Key: "$type", Value: "string"}}}})
	}
	if i.ttl {
		full.SetExpireAfterSeconds(int32(ttlMargin / time.Second))
	}
	err := i.create(ctx, full)
	if isNotImplemented(err) {
		err = i.create(ctx, options.Index().SetUnique(i.unique))
	}
	return err
}

// on reports whether a key is on the fields in their order; what direction each
// has does not matter.
func (i index) on(key bson.Raw) bool {
	elements, err := key.Elements()
	if err != nil || len(elements) != len(i.fields) {
		return false
	}
	for n, e := range elements {
		if e.Key() != i.fields[n] || !e.Value().IsNumber() {
			return false
		}
	}
	return true
}

func (i index) create(ctx context.Context, o *options.IndexOptionsBuilder) error {
	var keys bson.D
	for _, f := range i.fields {
		keys = append(keys, bson.E{Key: f, Value: int32(1)})
	}
	_, err := i.collection.Indexes().CreateOne(ctx, mgo.IndexModel{Keys: keys, Options: o})
	return err
}

// isShared reports whether records that share a key are why the index could not
// be made. Not every server names a violated unique index: then the adapter
// looks itself.
func (i index) isShared(ctx context.Context, err error) bool {
	if mgo.IsDuplicateKeyError(err) {
		return true
	}
	if !i.unique || !errors.As(err, new(mgo.ServerError)) || mgo.IsNetworkError(err) {
		return false
	}
	cursor, e := i.collection.Find(ctx, bson.D{})
	if e != nil {
		return false
	}
	defer func() { _ = cursor.Close(ctx) }()
	seen := map[string]bool{}
	for cursor.Next(ctx) {
		var key []byte
		for _, f := range i.fields {
			v := cursor.Current.Lookup(f)
			if v.IsZero() || v.Type == bson.TypeNull {
				continue // no server that gets here counts these
			}
			key = append(append(key, byte(v.Type)), v.Value...)
		}
		if seen[string(key)] && key != nil {
			return true
		}
		seen[string(key)] = true
	}
	return false
}

// isNotImplemented reports whether the server lacks an option.
func isNotImplemented(err error) bool {
	const notImplemented = 238
	var c mgo.CommandError
	return errors.As(err, &c) && c.Code == notImplemented
}
