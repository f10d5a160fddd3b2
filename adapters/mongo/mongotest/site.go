package mongotest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// siteFields sets the fields of the harness about sites that exist.
func (e *Env) siteFields(h *adaptertest.Harness) {
	h.Foreign, h.Settings, h.ReadOnly, h.Quoting, h.Refusing = e.foreign, e.settings, e.readOnly, e.validated, e.validated
	if e.users != nil {
		h.Reduced = e.reduced
	} else {
		h.Declarations.NoSite = map[string]string{"Reduced": "no server with users was given"}
	}
}

// foreign makes the collections of each product with a person in them. Without the right
// option the adapter must find the person, or refuse the database.
func (e *Env) foreign(t testing.TB) (all []adaptertest.Foreign) {
	verified, expires := time.Date(2020, 1, 2, 3, 4, 5, 678e6, time.UTC), time.Date(2040, 1, 2, 12, 0, 0, 123e6, time.UTC)
	dates := func(at time.Time) any { return at }
	type stored struct {
		id, owner any
		instant   func(time.Time) any
	}
	objectID := bson.NewObjectID()
	prisma := mongo.WithCollections(mongo.Prisma())
	for _, p := range []struct {
		name    string
		names   mongo.Collections
		stored  stored
		options []mongo.Option
	}{
		{"@auth/mongodb-adapter", mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions"}, stored{objectID, objectID, dates}, nil},
		{"Prisma", mongo.Prisma(), stored{objectID, objectID, dates}, []mongo.Option{prisma}},
		{"Prisma without WithCollections", mongo.Prisma(), stored{objectID, objectID, dates}, nil},
		{"Prisma without db.ObjectId", mongo.Prisma(), stored{"cm5x1q2w3", "cm5x1q2w3", dates}, []mongo.Option{prisma}},
		{"texts as references", mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions"}, stored{objectID, objectID.Hex(), dates}, nil},
		{"numbers as IDs", mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions"}, stored{int32(7), int32(7), dates}, nil},
		{"milliseconds", mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions"},
			stored{objectID, objectID, func(at time.Time) any { return at.UnixMilli() }}, nil},
		{"texts as instants", mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions"},
			stored{objectID, objectID, func(at time.Time) any { return at.Format(time.RFC3339Nano) }}, nil},
	} {
		name := NewDatabase(t, e.admin)
		db := e.admin.Database(name)
		email, token := strings.ToLower(rand.Text())+"@example.com", rand.Text()
		if p.names.Users == "User" {
			check(t, MakePrisma(t.Context(), db, ""))
		}
		for collection, document := range map[string]bson.M{
			p.names.Users:    {"_id": p.stored.id, "email": email, "emailVerified": p.stored.instant(verified)},
			p.names.Accounts: {"userId": p.stored.owner, "type": "oidc", "provider": "p", "providerAccountId": "1"},
			p.names.Sessions: {"sessionToken": token, "userId": p.stored.owner, "expires": p.stored.instant(expires)},
		} {
			must(db.Collection(collection).InsertOne(t.Context(), document))(t)
		}
		all = append(all, adaptertest.Foreign{
			Name: p.name,
			Open: func(t testing.TB) (adapter.Adapter, error) {
				h := e.Handle(t, name, plenty)
				h.Adapter = must(mongo.New(h.Client.Database(name), p.options...))(t)
				return h, h.EnsureIndexes(t.Context())
			},
			User:    adapter.User{ID: objectID.Hex(), Email: email, EmailVerified: &verified},
			Account: adapter.AccountKey{Provider: "p", ProviderAccountID: "1"},
			Session: adapter.Session{SessionToken: token, UserID: objectID.Hex(), Expires: expires},
		})
	}
	return all
}

// otherSettings may change what an operation waits for, which member answers it, and how
// values are read and written.
func otherSettings() []*options.ClientOptions {
	return []*options.ClientOptions{
		options.Client().SetRetryWrites(false).SetRetryReads(false).SetReadConcern(readconcern.Majority()).
			SetBSONOptions(&options.BSONOptions{UseLocalTimeZone: true, NilMapAsEmpty: true, NilSliceAsEmpty: true, DefaultDocumentM: true, ObjectIDAsHexString: true}),
		options.Client().SetWriteConcern(writeconcern.Unacknowledged()).SetReadPreference(readpref.SecondaryPreferred()).
			SetReadConcern(readconcern.Available()).SetCompressors([]string{"zlib"}),
		options.Client().SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1).SetStrict(true).SetDeprecationErrors(true)).
			SetWriteConcern(writeconcern.W1()).SetTimeout(30 * time.Second).SetReadPreference(readpref.Nearest()),
	}
}

// settings opens handles whose clients have other options.
func (e *Env) settings(t testing.TB, a adapter.Adapter) (all []adapter.Adapter) {
	for _, other := range otherSettings() {
		client := must(mgo.Connect(options.Client().ApplyURI(e.URL), other))(t)
		h := &Handle{Client: client, Database: a.(*Handle).Database}
		t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
		h.Adapter = must(mongo.New(client.Database(h.Database), e.options("")...))(t)
		e.look(t, h)
		all = append(all, h)
	}
	return all
}

// validated opens an adapter over collections to which refuse gives a validator that
// accepts no document. The error of the server describes the document.
func (e *Env) validated(t testing.TB) (adapter.Adapter, func()) {
	name := NewDatabase(t, e.admin)
	check(t, e.prepare(t.Context(), name, ""))
	h, db := e.Handle(t, name, plenty), e.admin.Database(name)
	return h, func() {
		names := must(db.ListCollectionNames(t.Context(), bson.D{}))(t)
		for _, name := range names {
			never := bson.M{"$jsonSchema": bson.M{"required": bson.A{"of_site"}}}
			check(t, db.RunCommand(t.Context(), bson.D{{Key: "collMod", Value: name}, {Key: "validator", Value: never}}).Err())
		}
	}
}

// reduced makes a role for each right, which has all others.
func (e *Env) reduced(t testing.TB) (all []adaptertest.Reduced) {
	database := NewDatabase(t, e.users)
	db := e.users.Database(database)
	on := Settings{URL: e.Users, Prisma: e.Prisma, AsTheyAre: e.AsTheyAre}
	admin := &Env{Settings: on, admin: e.users}
	check(t, admin.prepare(t.Context(), database, ""))
	witness := admin.Handle(t, database, plenty)
	names := []string{"users", "accounts", "sessions", "verification_tokens", "authenticators", "passwords"}
	if e.Prisma {
		p := mongo.Prisma()
		names = []string{p.Users, p.Accounts, p.Sessions, p.VerificationTokens, p.Authenticators, "passwords"}
	}
	rights := []string{"find", "insert", "update", "remove"}
	for i, right := range rights {
		role := "role_" + strings.ToLower(rand.Text())
		client := must(SignIn(t, db, e.Users, role, names, func(collection, action string) bool {
			return action != right || collection != names[(i+3)%len(names)] && collection != names[i]
		}))(t)
		all = append(all, adaptertest.Reduced{Right: right,
			Open: func(t testing.TB) adapter.Adapter {
				h := &Handle{Client: client, Database: database}
				h.Adapter = must(mongo.New(client.Database(database), e.options("")...))(t)
				return h
			},
			Prepare: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).EnsureIndexes(ctx) },
			Witness: func(testing.TB) adapter.Adapter { return witness }})
	}
	return all
}

// SignIn makes a database user with a role, which has the rights of the README that are
// allowed, and opens a client of it.
func SignIn(t testing.TB, db *mgo.Database, url, role string, collections []string, allowed func(collection, action string) bool) (*mgo.Client, error) {
	ctx := t.Context()
	privileges := bson.A{bson.M{"resource": bson.M{"db": db.Name(), "collection": ""}, "actions": bson.A{"listCollections"}}}
	for _, collection := range collections {
		actions := bson.A{}
		for _, action := range []string{"find", "insert", "update", "remove", "listIndexes", "createIndex", "dropIndex"} {
			if allowed(collection, action) {
				actions = append(actions, action)
			}
		}
		privileges = append(privileges, bson.M{"resource": bson.M{"db": db.Name(), "collection": collection}, "actions": actions})
	}
	for _, command := range []bson.D{
		{{Key: "createRole", Value: role}, {Key: "privileges", Value: privileges}, {Key: "roles", Value: bson.A{}}},
		{{Key: "createUser", Value: role}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{role}}},
	} {
		if err := db.RunCommand(ctx, command).Err(); err != nil {
			return nil, err
		}
	}
	client, err := mgo.Connect(options.Client().ApplyURI(url).SetAuth(options.Credential{AuthSource: db.Name(), Username: role, Password: "secret"}))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		done := context.WithoutCancel(ctx)
		_ = client.Disconnect(done)
		_ = db.RunCommand(done, bson.D{{Key: "dropUser", Value: role}}).Err()
		_ = db.RunCommand(done, bson.D{{Key: "dropRole", Value: role}}).Err()
	})
	return client, nil
}
