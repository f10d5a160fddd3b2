package mongotest

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// siteFields sets the fields of the harness about sites that exist.
func (e *Env) siteFields(h *adaptertest.Harness) {
	h.Foreign, h.Settings, h.Quoting, h.Refusing = e.foreign, e.settings, e.validated, e.validated
	h.Declarations.NoSite = map[string]string{
		"ReadOnly": "the driver itself leaves a server that is no primary",
		"Reduced":  "the servers of the tests have no users",
	}
}

// foreign makes the collections of @auth/mongodb-adapter with a person in them.
func (e *Env) foreign(t testing.TB) []adaptertest.Foreign {
	h := e.fresh(t, plenty)
	db := h.Client.Database(h.Database)
	id := bson.NewObjectID()
	email, token := strings.ToLower(rand.Text())+"@example.com", rand.Text()
	verified, expires := time.Date(2020, 1, 2, 3, 4, 5, 678e6, time.UTC), time.Date(2040, 1, 2, 12, 0, 0, 123e6, time.UTC)
	for collection, document := range map[string]bson.M{
		"users":    {"_id": id, "email": email, "emailVerified": verified},
		"accounts": {"userId": id, "type": "oidc", "provider": "p", "providerAccountId": "1"},
		"sessions": {"sessionToken": token, "userId": id, "expires": expires},
	} {
		if _, err := db.Collection(collection).InsertOne(t.Context(), document); err != nil {
			t.Fatal(err)
		}
	}
	return []adaptertest.Foreign{{
		Name: "@auth/mongodb-adapter",
		Open: func(t testing.TB) (adapter.Adapter, error) {
			a := e.Handle(t, h.Database, plenty)
			return a, a.EnsureIndexes(t.Context())
		},
		User:    adapter.User{ID: id.Hex(), Email: email, EmailVerified: &verified},
		Account: adapter.AccountKey{Provider: "p", ProviderAccountID: "1"},
		Session: adapter.Session{SessionToken: token, UserID: id.Hex(), Expires: expires},
	}}
}

// settings opens a handle whose client has other options.
func (e *Env) settings(t testing.TB, a adapter.Adapter) []adapter.Adapter {
	client, err := mgo.Connect(options.Client().ApplyURI(e.url).SetRetryWrites(false).SetReadConcern(readconcern.Majority()).
		SetBSONOptions(&options.BSONOptions{UseLocalTimeZone: true, NilMapAsEmpty: true, NilSliceAsEmpty: true, DefaultDocumentM: true}))
	if err != nil {
		t.Fatal(err)
	}
	h := &Handle{Client: client, Database: a.(*Handle).Database}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	if h.Adapter, err = mongo.New(client.Database(h.Database)); err != nil {
		t.Fatal(err)
	}
	return []adapter.Adapter{h}
}

// validated opens an adapter over collections to which refuse gives a validator that
// accepts no document. The error of the server describes the document.
func (e *Env) validated(t testing.TB) (adapter.Adapter, func()) {
	h := e.fresh(t, plenty)
	db := e.admin.Database(h.Database)
	return h, func() {
		names, err := db.ListCollectionNames(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			never := bson.M{"$jsonSchema": bson.M{"required": bson.A{"of_site"}}}
			if err := db.RunCommand(t.Context(), bson.D{{Key: "collMod", Value: name}, {Key: "validator", Value: never}}).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
