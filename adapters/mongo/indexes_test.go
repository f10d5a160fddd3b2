package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// addressesBefore is the index of addresses that earlier versions made.
func addressesBefore() mgo.IndexModel {
	filter := bson.D{{Key: "email", Value: bson.D{{Key: "$type", Value: "string"}}}}
	return mgo.IndexModel{Keys: bson.D{{Key: "email", Value: int32(1)}}, Options: options.Index().SetUnique(true).SetPartialFilterExpression(filter)}
}

// TestEnsureIndexesReplaces replaces the index of addresses that earlier
// versions made, while users sign up: no two users get the same address.
func TestEnsureIndexesReplaces(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	a, users := newAdapter(t, db), db.Collection("users")
	must(users.Indexes().CreateOne(ctx, addressesBefore()))(t)
	assert.ErrorContains(t, a.CheckIndexes(ctx), "users (email)", "CheckIndexes over the old index")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	made := make([]map[string]int, 4)
	for i := range made {
		made[i] = map[string]int{}
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				email := fmt.Sprint(n, "@example.com")
				if _, err := a.CreateUser(ctx, adapter.User{Email: email}); err == nil {
					made[i][email]++
				} else if !errors.Is(err, adapter.ErrConflict) {
					t.Errorf("CreateUser: %v", err)
				}
			}
		})
	}
	for range 3 {
		require.NoError(t, a.EnsureIndexes(ctx))
	}
	close(stop)
	wg.Wait()
	all := map[string]int{}
	for _, m := range made {
		for email, n := range m {
			all[email] += n
			assert.Truef(t, all[email] <= 1, "%d users have the address %s", all[email], email)
		}
	}
	assert.NotEmpty(t, all, "nobody signed up meanwhile")
	specs := must(users.Indexes().ListSpecifications(ctx))(t)
	assert.Lenf(t, specs, 2, "users has the indexes %v, want that of _id and that of addresses", specs)
	assert.NoError(t, a.CheckIndexes(ctx), "CheckIndexes afterwards")
	for range 2 {
		must(a.CreateUser(ctx, adapter.User{}))(t)
	}
}

// TestIndexesThatDiffer: an index on the right fields that does something else
// is refused, and the error says what to change.
func TestIndexesThatDiffer(t *testing.T) {
	ctx := t.Context()
	german := &options.Collation{Locale: "de", Strength: 2}
	texts := bson.D{{Key: "email", Value: bson.D{{Key: "$gt", Value: ""}}}}
	unique := func() *options.IndexOptionsBuilder { return options.Index().SetUnique(true) }
	for _, c := range []struct {
		name, collection string
		fields           []string
		index            *options.IndexOptionsBuilder
		says             string
	}{
		{"not unique", "sessions", []string{"sessionToken"}, options.Index(), "does not make the keys unique"},
		{"unique owner", "sessions", []string{"userId"}, unique(), "one record for each key only"},
		{"plain unique address", "users", []string{"email"}, unique(), "only one user have no address"},
		{"address with another filter", "users", []string{"email"}, unique().SetPartialFilterExpression(bson.D{{Key: "name", Value: "Ada"}}), "another filter"},
		{"address that folds case", "users", []string{"email"}, unique().SetPartialFilterExpression(texts).SetCollation(german), "collation"},
		{"token that folds case", "sessions", []string{"sessionToken"}, unique().SetCollation(german), "collation"},
		{"sparse", "authenticators", []string{"credentialID"}, unique().SetSparse(true), "sparse"},
		{"partial", "accounts", []string{"provider", "providerAccountId"}, unique().SetPartialFilterExpression(bson.D{{Key: "type", Value: "oidc"}}), "by a filter"},
		{"hidden", "accounts", []string{"userId"}, options.Index().SetHidden(true), "hidden"},
		{"no end", "sessions", []string{"expires"}, options.Index(), "expireAfterSeconds"},
		{"too soon", "verification_tokens", []string{"expires"}, options.Index().SetExpireAfterSeconds(0), "0 seconds"},
		{"an end for accounts", "accounts", []string{"userId"}, options.Index().SetExpireAfterSeconds(60), "removes records"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			a, indexes := newAdapter(t, db), db.Collection(c.collection).Indexes()
			var keys bson.D
			for _, f := range c.fields {
				keys = append(keys, bson.E{Key: f, Value: int32(1)})
			}
			must(indexes.CreateOne(ctx, mgo.IndexModel{Keys: keys, Options: c.index.SetName("theirs")}))(t)
			what := c.collection + " (" + strings.Join(c.fields, ", ") + ")"
			for call, err := range map[string]error{"EnsureIndexes": a.EnsureIndexes(ctx), "CheckIndexes": a.CheckIndexes(ctx)} {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), "theirs") && strings.Contains(err.Error(), what) && strings.Contains(err.Error(), c.says),
					"%s: got %v, want an error that names the index, %q and %q", call, err, what, c.says)
			}
			store(t, db, ada(), nil)
			follow(t, db, a.CheckIndexes)
			assert.NoError(t, a.EnsureIndexes(ctx), "after the commands")
			isAda(t, a)
		})
	}
}

// TestCollationOfACollection refuses a collection that treats two different
// texts as equal.
func TestCollationOfACollection(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	err := db.CreateCollection(ctx, "users", options.CreateCollection().SetCollation(&options.Collation{Locale: "en", Strength: 1}))
	require.NoError(t, err)
	store(t, db, ada(), nil)
	a := newAdapter(t, db)
	assert.ErrorContains(t, a.EnsureIndexes(ctx), "collation")
	follow(t, db, a.EnsureIndexes)
	isAda(t, a)
}

// follow runs the commands of errors until the call has none.
func follow(t *testing.T, db *mgo.Database, call func(context.Context) error) {
	t.Helper()
	for range 3 {
		err := call(t.Context())
		if err == nil {
			return
		}
		require.Containsf(t, err.Error(), "run db.runCommand(", "no command in %v", err)
		require.NoError(t, mongotest.Run(t.Context(), db, err.Error()))
	}
	require.NoError(t, call(t.Context()), "after the commands")
}

// TestKindsOfCollections refuses collections that lose records by themselves,
// or that can't be changed.
func TestKindsOfCollections(t *testing.T) {
	ctx := t.Context()
	for says, create := range map[string]func(db *mgo.Database) error{
		"sessions is capped": func(db *mgo.Database) error {
			return db.CreateCollection(ctx, "sessions", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20))
		},
		"users is a view": func(db *mgo.Database) error { return db.CreateView(ctx, "users", "people", bson.A{}) },
		"accounts is a timeseries": func(db *mgo.Database) error {
			return db.CreateCollection(ctx, "accounts", options.CreateCollection().SetTimeSeriesOptions(options.TimeSeries().SetTimeField("t")))
		},
	} {
		t.Run(says, func(t *testing.T) {
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			require.NoError(t, create(db))
			a := newAdapter(t, db)
			for call, err := range map[string]error{"EnsureIndexes": a.EnsureIndexes(ctx), "CheckIndexes": a.CheckIndexes(ctx)} {
				assert.ErrorContains(t, err, says, call)
			}
			if strings.Contains(says, "capped") {
				store(t, db, ada(), nil)
				follow(t, db, a.EnsureIndexes)
				isAda(t, a)
			}
		})
	}
}

// TestCheckIndexes names all missing indexes, and creates none.
func TestCheckIndexes(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	a := newAdapter(t, db)
	err := a.CheckIndexes(ctx)
	require.Error(t, err, "an empty database: got no error")
	for _, want := range []string{"users (email)", `{"email":{"$gt":""}}`, "sessions (expires)", `"expireAfterSeconds":3600`, "authenticators (userId)"} {
		assert.Containsf(t, err.Error(), want, "the error does not say %s: %v", want, err)
	}
	assert.Empty(t, must(db.ListCollectionNames(ctx, bson.D{}))(t), "CheckIndexes made")
	follow(t, db, a.CheckIndexes)
}
