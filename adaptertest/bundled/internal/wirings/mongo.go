package wirings

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mongoWiring is one deployment of a server of MongoDB's protocol.
type mongoWiring struct {
	name  string
	needs stores.Kind
}

func mongoWirings() []Wiring {
	var all []Wiring
	for _, w := range []mongoWiring{
		{name: "standalone", needs: stores.KindMongo},
		{name: "replica set", needs: stores.KindMongoReplica},
		{name: "replica set of three", needs: stores.KindMongoSet},
	} {
		// After a lost connection the driver waits until it has asked the server again, which it does twice a second at most.
		all = append(all, Wiring{Adapter: "mongo", Name: w.name, Needs: []stores.Kind{w.needs}, Parallel: 16, open: w.open})
	}
	return all
}

// mongoHandle is an adapter with the client under it.
type mongoHandle struct {
	*mongo.Adapter
	*link
	client *mgo.Client
	name   string // of the database
}

// mongoHouse is a server on which every adapter that New opens has a database of its own.
type mongoHouse struct {
	url   string
	admin *mgo.Client
}

func (w mongoWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	server, err := s.Find(ctx, w.needs)
	if err != nil {
		return nil, err
	}
	client, err := mgo.Connect(options.Client().ApplyURI(server.URL))
	if err != nil {
		return nil, err
	}
	house := &mongoHouse{url: server.URL, admin: client}
	opened := &Opened{
		Server: server.Name, Version: server.Version, Store: server, Harness: house.harness(),
		close: client.Disconnect,
	}
	return opened, nil
}

// fresh opens an adapter on a new database, which is dropped at the end of the clause.
func (h *mongoHouse) fresh(t testing.TB, conns uint64) *mongoHandle {
	t.Helper()
	name := "gatehouse_" + strings.ToLower(rand.Text())
	a, err := mongo.New(h.admin.Database(name))
	if err == nil {
		err = a.EnsureIndexes(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var err error
		for range 3 { // connections may be from before the server was killed
			if err = h.admin.Database(name).Drop(context.WithoutCancel(t.Context())); err == nil {
				return
			}
		}
		t.Error(err)
	})
	return h.handle(t, name, conns)
}

// handle opens an adapter on a database with a client of its own.
func (h *mongoHouse) handle(t testing.TB, name string, conns uint64) *mongoHandle {
	t.Helper()
	handle := &mongoHandle{name: name}
	handle.link = newLink(t, func(proxy *fault.Proxy) (_ func() error, err error) {
		handle.client, err = mgo.Connect(options.Client().ApplyURI(h.url).
			SetDialer(proxy).
			SetMaxPoolSize(conns).
			// The driver asks the server how it is, on connections of its own. Seldom, so that the steps are the adapter's.
			SetServerMonitoringMode("poll").SetHeartbeatInterval(time.Minute).
			// A server that is down is an error before the default of 30 seconds; a connection that is awaited on a busy
			// machine is none.
			SetServerSelectionTimeout(10 * time.Second))
		if err != nil {
			return nil, err
		}
		return func() error { return handle.client.Disconnect(context.WithoutCancel(t.Context())) }, nil
	})
	a, err := mongo.New(handle.client.Database(name))
	if err != nil {
		t.Fatal(err)
	}
	handle.Adapter = a
	return handle
}

func (h *mongoHouse) harness() adaptertest.Harness {
	const plenty = 16
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return h.handle(t, a.(*mongoHandle).name, plenty)
	}
	return linked(adaptertest.Harness{
		New:    func(t testing.TB) adapter.Adapter { return h.fresh(t, plenty) },
		Second: another,
		Reopen: another,
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			of := a.(*mongoHandle)
			under, err := mongo.New(of.client.Database(of.name), mongo.WithCollections(mongo.Collections{
				Users: name + "users", Accounts: name + "accounts", Sessions: name + "sessions",
				VerificationTokens: name + "verification_tokens", Authenticators: name + "authenticators",
			}))
			if err != nil {
				return nil, err
			}
			if err := under.EnsureIndexes(t.Context()); err != nil {
				return nil, err
			}
			return &mongoHandle{Adapter: under, link: of.link, client: of.client, name: of.name}, nil
		},
		Corrupt: h.corrupt,
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			collection, filter := h.find(a, r)
			n, err := collection.CountDocuments(ctx, filter)
			return n > 0, err
		},
		Single:  func(t testing.TB) adapter.Adapter { return h.fresh(t, 1) },
		Limited: func(t testing.TB) adapter.Adapter { return h.fresh(t, 4) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error {
			return a.(*mongoHandle).client.Ping(ctx, nil)
		},
		NewID:         func() string { return bson.NewObjectID().Hex() },
		InternalNames: []string{"users", "accounts", "sessions", "verification_tokens", "authenticators", "_id_"},
		Declarations:  adaptertest.Declarations{AssignsIDs: true, NoPooler: "the driver of MongoDB speaks to the servers themselves"},
	})
}

// find returns the collection of a kind of record, and the filter that finds the record.
func (h *mongoHouse) find(a adapter.Adapter, r adaptertest.Record) (*mgo.Collection, bson.D) {
	db := h.admin.Database(a.(*mongoHandle).name)
	switch r.Kind {
	case adaptertest.UserRecord:
		id, err := bson.ObjectIDFromHex(r.Key)
		if err != nil {
			return db.Collection("users"), bson.D{{Key: "_id", Value: r.Key}}
		}
		return db.Collection("users"), bson.D{{Key: "_id", Value: id}}
	case adaptertest.AccountRecord:
		return db.Collection("accounts"), bson.D{{Key: "provider", Value: r.Account.Provider}, {Key: "providerAccountId", Value: r.Account.ProviderAccountID}}
	case adaptertest.SessionRecord:
		return db.Collection("sessions"), bson.D{{Key: "sessionToken", Value: r.Key}}
	case adaptertest.VerificationTokenRecord:
		return db.Collection("verification_tokens"), bson.D{{Key: "identifier", Value: r.Token.Identifier}, {Key: "token", Value: r.Token.Token}}
	default:
		return db.Collection("authenticators"), bson.D{{Key: "credentialID", Value: r.Key}}
	}
}

// corrupt stores a text where there is an instant or a number.
func (h *mongoHouse) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	field := map[adaptertest.Kind]string{
		adaptertest.UserRecord:              "emailVerified",
		adaptertest.AccountRecord:           "expires_at",
		adaptertest.SessionRecord:           "expires",
		adaptertest.VerificationTokenRecord: "expires",
		adaptertest.AuthenticatorRecord:     "counter",
	}[r.Kind]
	collection, filter := h.find(a, r)
	raw, err := collection.FindOne(t.Context(), filter).Raw()
	if err != nil {
		t.Fatal(err)
	}
	before := raw.Lookup(field)
	update := func(operator string, value any) {
		t.Helper()
		if _, err := collection.UpdateOne(t.Context(), filter, bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}); err != nil {
			t.Fatal(err)
		}
	}
	update("$set", "damaged")
	return func() {
		if before.IsZero() {
			update("$unset", "")
		} else {
			update("$set", before)
		}
	}
}
