package mongo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestDocuments reads documents as Auth.js and other programs write them.
func TestDocuments(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	id := bson.NewObjectID()
	at := time.Date(2040, 2, 29, 23, 59, 59, 987e6, time.UTC)
	put := func(collection string, document bson.D) {
		t.Helper()
		must(db.Collection(collection).InsertOne(ctx, document))(t)
	}
	put("users", bson.D{{Key: "_id", Value: id}, {Key: "name", Value: nil}, {Key: "email", Value: "ada@example.com"}, {Key: "emailVerified", Value: at},
		{Key: "role", Value: "admin"}, {Key: "image", Value: nil}})
	same(t, "GetUser", must(a.GetUser(ctx, id.Hex()))(t), adapter.User{ID: id.Hex(), Email: "ada@example.com", EmailVerified: &at})

	for name, c := range map[string]struct {
		expiresAt any
		want      *int64
		fails     bool
	}{
		"int32":         {int32(1700000000), new(int64(1700000000)), false},
		"int64":         {int64(4102444800), new(int64(4102444800)), false},
		"double":        {4102444800.0, new(int64(4102444800)), false},
		"null":          {nil, nil, false},
		"half a second": {0.5, nil, true},
		"text":          {"soon", nil, true},
		"too large":     {1e300, nil, true},
	} {
		put("accounts", bson.D{{Key: "userId", Value: id}, {Key: "type", Value: "oidc"}, {Key: "provider", Value: "p"}, {Key: "providerAccountId", Value: name},
			{Key: "expires_at", Value: c.expiresAt}, {Key: "scope", Value: nil}, {Key: "ext_expires_in", Value: int32(3600)}, {Key: "not-before-policy", Value: 0.0}})
		account, err := a.GetAccount(ctx, name, "p")
		if c.fails {
			assert.Truef(t, account == nil && err != nil && !strings.Contains(err.Error(), "soon"),
				"expires_at is %s: got %v, %v, want an error that does not quote it", name, account, err)
			continue
		}
		require.NoError(t, err)
		same(t, name, account, adapter.Account{UserID: id.Hex(), Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: name, ExpiresAt: c.want})
	}

	put("sessions", bson.D{{Key: "sessionToken", Value: "s"}, {Key: "userId", Value: id.Hex()}, {Key: "expires", Value: at}})
	session, err := a.GetSessionAndUser(ctx, "s")
	assert.Errorf(t, err, "a session whose userId is no ObjectID: got %v, want an error", session)
}

// TestDetailsInTheStore: details that look like operators or paths, and numbers
// that BSON would change, come back unchanged.
func TestDetailsInTheStore(t *testing.T) {
	a, _ := standalone.newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{Email: "ada@example.com"}))(t)
	for _, details := range []string{
		`[]`, `[{"type":"payment","amount":{"value":12.5,"units":9007199254740993}},{"actions":["read"],"until":null,"ok":false}]`,
		`[{"$where":"sleep(1)","a.b":{"$gt":""},"":0}]`, `[1.10,1e400,-0.0]`, `["\ud800"]`, `{"a":1,"a":2}`, `"123"`,
		strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300),
	} {
		account := adapter.Account{UserID: user.ID, Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: details, AuthorizationDetails: []byte(details)}
		must(a.LinkAccount(ctx, account))(t)
		same(t, "GetAccount", must(a.GetAccount(ctx, details, "p"))(t), account)
	}
}

// TestEnsureIndexesAtOnce: several processes start at once on an empty database.
func TestEnsureIndexesAtOnce(t *testing.T) {
	name := standalone.newDatabase(t)
	const processes = 6
	adapters := make([]*mongo.Adapter, processes)
	for i := range adapters {
		adapters[i] = newAdapter(t, standalone.connect(t).Database(name))
	}
	errs := make([]error, processes)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, a := range adapters {
		wg.Go(func() {
			<-start
			errs[i] = a.EnsureIndexes(t.Context())
		})
	}
	close(start)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	must(adapters[0].CreateUser(t.Context(), adapter.User{Email: "ada@example.com"}))(t)
	got, err := adapters[1].CreateUser(t.Context(), adapter.User{Email: "ada@example.com"})
	refused(got, err)(t, "CreateUser again", adapter.ErrConflict)
}

// TestEnsureIndexesOverDuplicates: the error names the duplicates without their
// secrets, no record is lost, and the call succeeds when the records are
// corrected.
func TestEnsureIndexesOverDuplicates(t *testing.T) {
	ctx := t.Context()
	id := bson.NewObjectID()
	for name, c := range map[string]struct {
		collection, fields, secret string
		document                   bson.D
	}{
		"users":    {"users", "email", "ada@example.com", bson.D{{Key: "email", Value: "ada@example.com"}, {Key: "emailVerified", Value: nil}}},
		"sessions": {"sessions", "sessionToken", "secret", bson.D{{Key: "sessionToken", Value: "secret"}, {Key: "userId", Value: id}, {Key: "expires", Value: time.Now()}}},
		"accounts": {"accounts", "provider, providerAccountId", "sub", bson.D{{Key: "provider", Value: "p"}, {Key: "providerAccountId", Value: "sub"}, {Key: "userId", Value: id}}},
		"tokens":   {"verification_tokens", "identifier, token", "hash", bson.D{{Key: "identifier", Value: "x"}, {Key: "token", Value: "hash"}, {Key: "expires", Value: time.Now()}}},
	} {
		t.Run(name, func(t *testing.T) {
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			a, records := newAdapter(t, db), db.Collection(c.collection)
			first := must(records.InsertOne(ctx, c.document))(t)
			must(records.InsertOne(ctx, c.document))(t)
			err := a.EnsureIndexes(ctx)
			require.ErrorIs(t, err, adapter.ErrConflict)
			assert.ErrorContains(t, err, c.collection+" ("+c.fields+")")
			assert.NotContains(t, err.Error(), c.secret)
			assert.EqualValues(t, 2, must(records.CountDocuments(ctx, bson.D{}))(t), "documents that are left")
			must(records.DeleteOne(ctx, bson.D{{Key: "_id", Value: first.InsertedID}}))(t)
			assert.NoError(t, a.EnsureIndexes(ctx), "after mending")
		})
	}
}

// TestEnsureIndexesTakesWhatIsThere: indexes that an application made for
// Auth.js stay; one that does not make its fields unique is an error.
func TestEnsureIndexesTakesWhatIsThere(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	a, users := newAdapter(t, db), db.Collection("users")
	create := func(c *mgo.Collection, name string, unique bool, field string) {
		t.Helper()
		must(c.Indexes().CreateOne(ctx, mgo.IndexModel{Keys: bson.D{{Key: field, Value: int32(-1)}}, Options: options.Index().SetName(name).SetUnique(unique)}))(t)
	}
	create(db.Collection("sessions"), "by token", true, "sessionToken")
	create(users, "by address", false, "email")
	require.ErrorContains(t, a.EnsureIndexes(ctx), "by address")
	require.NoError(t, users.Indexes().DropOne(ctx, "by address"))
	for range 2 {
		require.NoError(t, a.EnsureIndexes(ctx))
	}
	for _, c := range []struct {
		collection string
		indexes    int
	}{{"users", 2}, {"accounts", 3}, {"sessions", 4}, {"verification_tokens", 3}, {"authenticators", 3}} {
		specs := must(db.Collection(c.collection).Indexes().ListSpecifications(ctx))(t)
		assert.Equalf(t, c.indexes, len(specs), "%s has %d indexes, want %d: %v", c.collection, len(specs), c.indexes, specs)
	}
}

// TestHowTheClientIsSetUp: the client's own settings do not change the adapter's
// behaviour.
func TestHowTheClientIsSetUp(t *testing.T) {
	ctx := t.Context()
	client := standalone.connect(t, func(o *options.ClientOptions) {
		o.SetWriteConcern(writeconcern.Unacknowledged()).SetReadPreference(readpref.SecondaryPreferred()).
			SetBSONOptions(&options.BSONOptions{ObjectIDAsHexString: true, NilSliceAsEmpty: true, OmitEmpty: true})
	})
	a := newAdapter(t, client.Database(standalone.newDatabase(t)))
	require.NoError(t, a.EnsureIndexes(ctx))
	for range 20 {
		token := adapter.VerificationToken{Identifier: "x", Token: "t", Expires: time.Now().UTC().Truncate(time.Millisecond)}
		must(a.CreateVerificationToken(ctx, token))(t)
		same(t, "UseVerificationToken", must(a.UseVerificationToken(ctx, token.Key()))(t), token)
	}
}

// TestClientTimeout makes calls with a client that has a timeout of its own: the
// driver sends it with each command.
func TestClientTimeout(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		ctx := t.Context()
		client := s.connect(t, func(o *options.ClientOptions) {
			o.SetTimeout(30 * time.Second).SetRetryWrites(false).SetRetryReads(false)
		})
		db := client.Database(s.newDatabase(t))
		a := newAdapter(t, db)
		require.NoError(t, a.EnsureIndexes(ctx))
		fillRecords(t, db, 0, 10, time.Now().Add(time.Hour))
		callEverything(ctx, t, a)
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		for i := range 3 {
			must(a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprint(i), UserID: user.ID, Expires: time.Now().Add(time.Duration(i-1) * time.Hour)}))(t)
		}
		swept := must(a.DeleteExpired(ctx, time.Now()))(t)
		assert.Truef(t, swept.Sessions == 2, "the sweep deleted %+v, want 2 sessions", swept)
		n := must(a.DeleteSessionsByUserID(ctx, user.ID, ""))(t)
		assert.Truef(t, n == 1, "%d sessions were deleted, want 1", n)
	})
}

// TestValidator: when the validator of a collection refuses a document, the
// error says so and quotes no field of it.
func TestValidator(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		ctx := t.Context()
		db := s.connect(t).Database(s.newDatabase(t))
		for collection, field := range map[string]string{"users": "email", "sessions": "sessionToken", "accounts": "access_token"} {
			rule := bson.D{{Key: "$jsonSchema", Value: bson.D{{Key: "properties", Value: bson.D{{Key: field, Value: bson.D{{Key: "bsonType", Value: "int"}}}}}}}}
			require.NoError(t, db.CreateCollection(ctx, collection, options.CreateCollection().SetValidator(rule)))
		}
		a := newAdapter(t, db)
		require.NoError(t, a.EnsureIndexes(ctx))
		const secret = "secret@example.com"
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		account := adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: "1", AccessToken: new(secret)}
		for method, call := range map[string]func() error{
			"CreateUser": func() error { return erred(a.CreateUser(ctx, adapter.User{Email: secret})) },
			"UpdateUser": func() error {
				return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Email: adapter.To(secret)}))
			},
			"CreateSession": func() error {
				return erred(a.CreateSession(ctx, adapter.Session{SessionToken: secret, UserID: user.ID, Expires: time.Now()}))
			},
			"LinkAccount":           func() error { return erred(a.LinkAccount(ctx, account)) },
			"CreateUserWithAccount": func() error { return erred(a.CreateUserWithAccount(ctx, adapter.User{}, account, nil)) },
		} {
			err := call()
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "validator of the collection refused") || errors.Is(err, adapter.ErrConflict) {
				t.Errorf("%s: got %v, want an error that says what happened and does not quote the record", method, err)
			}
		}
	})
}

// TestNew refuses arguments that can't work.
func TestNew(t *testing.T) {
	_, err := mongo.New(nil)
	assert.Error(t, err, "no database: got no error")
	db := standalone.connect(t).Database("never_used")
	_, err = mongo.New(db, mongo.WithCollections(mongo.Collections{Sessions: "users"}))
	assert.Error(t, err, "sessions in the collection of users: got no error")
}
