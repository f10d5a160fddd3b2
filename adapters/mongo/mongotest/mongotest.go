// Package mongotest is the harness of the mongo adapter for the conformance
// suite. It serves the adapter's own tests and the matrix of all adapters. The
// package promises nothing: it changes in any version, as the tests need.
package mongotest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Settings say how the adapters of an environment are used.
type Settings struct {
	// URL names the server, and Users one whose clients must sign in, with a user that may
	// make others.
	URL, Users string
	// Prisma: the collections are those of Prisma, with what IndexChanges adds unless they
	// are served as they are.
	Prisma, AsTheyAre bool
}

// Env is a server with two stores, each a database of its own.
type Env struct {
	Settings
	admin, users *mgo.Client
	stores       [2]store
}

// store is a database whose collections and indexes are made when an adapter is first opened there.
type store struct {
	database string
	prepare  func() error
}

// Open returns the environment for the servers.
func Open(s Settings) (*Env, error) {
	e := &Env{Settings: s}
	var err error
	if e.admin, err = connect(s.URL); err == nil && s.Users != "" {
		e.users, err = connect(s.Users)
	}
	for i := range e.stores {
		name := newName()
		e.stores[i] = store{name, sync.OnceValue(func() error { return e.prepare(context.Background(), name, "") })}
	}
	return e, err
}

func connect(url string) (*mgo.Client, error) {
	return mgo.Connect(options.Client().ApplyURI(url).SetWriteConcern(writeconcern.Majority()))
}

// Close drops the two stores and closes the clients of the environment.
func (e *Env) Close(ctx context.Context) error {
	var err error
	for _, s := range e.stores {
		err = errors.Join(err, drop(ctx, e.admin, s.database))
	}
	err = errors.Join(err, e.admin.Disconnect(ctx))
	if e.users != nil {
		err = errors.Join(err, e.users.Disconnect(ctx))
	}
	return err
}

// Handle is an adapter with its own client, which connects through its own proxy.
type Handle struct {
	*mongo.Adapter
	Client   *mgo.Client
	Database string
	Proxy    *fault.Proxy
	prefix   string
	close    func() error // closes the client, once
}

// The connections of an adapter.
const (
	plenty = 16
	few    = 4
)

// Harness returns the harness over the server.
func (e *Env) Harness() adaptertest.Harness {
	var opened atomic.Int64
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return e.Handle(t, a.(*Handle).Database, plenty)
	}
	h := adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter { // consecutive adapters are on different stores
			return e.inStore(t, opened.Add(1)%2, plenty)
		},
		Second: another,
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			b := another(t, a)
			check(t, b.(*Handle).EnsureIndexes(t.Context()))
			return b
		},
		Close: func(a adapter.Adapter) error { return a.(*Handle).close() },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			b := *a.(*Handle)
			var err error
			b.prefix = name
			if b.Adapter, err = mongo.New(b.Client.Database(b.Database), e.options(name)...); err != nil {
				return nil, err
			}
			if err := e.prepare(t.Context(), b.Database, name); err != nil {
				return nil, err
			}
			return &b, b.EnsureIndexes(t.Context())
		},
		Faults:      func(a adapter.Adapter) fault.Control { return a.(*Handle).Proxy },
		Connections: func(a adapter.Adapter) int { return a.(*Handle).Proxy.Stats().Open },
		Corrupt:     e.corrupt,
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			collection, filter, _ := e.find(a, r)
			n, err := collection.CountDocuments(ctx, filter)
			return n > 0, err
		},
		Single:      func(t testing.TB) adapter.Adapter { return e.inStore(t, 0, 1) },
		Limited:     func(t testing.TB) adapter.Adapter { return e.inStore(t, 0, few) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).Client.Ping(ctx, nil) },
		NewID:       func() string { return bson.NewObjectID().Hex() },
		InternalNames: []string{"users", "accounts", "sessions", "verification_tokens", "authenticators", "passwords", "_id_", "email_unique",
			"sessionToken_1", "provider_1_providerAccountId_1"},
		// After a lost connection the driver waits until it has asked the server again, at most twice a second.
		Parallel:      8,
		Declarations:  adaptertest.Declarations{AssignsIDs: true, NoPooler: "the driver of MongoDB speaks to the servers themselves"},
		ClauseTimeout: 3 * time.Minute, // a cancelled call closes a connection, and the machine may be busy
	}
	e.siteFields(&h)
	if e.Prisma && e.AsTheyAre {
		h.Waivers = waivers
	}
	return h
}

// inStore opens an adapter on one of the two stores.
func (e *Env) inStore(t testing.TB, i int64, conns uint64) *Handle {
	t.Helper()
	check(t, e.stores[i].prepare())
	return e.Handle(t, e.stores[i].database, conns)
}

func newName() string { return "gatehouse_" + strings.ToLower(rand.Text()) }

// NewDatabase names a database that is dropped at the end of the test.
func NewDatabase(t testing.TB, client *mgo.Client) string {
	name := newName()
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context()), client, name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// drop drops a database. Connections may be older than a restart of the server.
func drop(ctx context.Context, client *mgo.Client, name string) (err error) {
	for range 3 {
		soon, cancel := context.WithTimeout(ctx, time.Minute)
		err = client.Database(name).Drop(soon)
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("drop %s: %w", name, err)
}

// prepare makes the indexes, and the collections of the site if there is one.
func (e *Env) prepare(ctx context.Context, database, prefix string) error {
	db := e.admin.Database(database)
	a, err := mongo.New(db, e.options(prefix)...)
	if err == nil && e.Prisma {
		if err = MakePrisma(ctx, db, prefix); err == nil && !e.AsTheyAre {
			err = ApplyIndexChanges(ctx, db, a)
		}
	}
	if err == nil {
		err = a.EnsureIndexes(ctx)
	}
	return err
}

// options are the options of an adapter.
func (e *Env) options(prefix string) []mongo.Option {
	all := []mongo.Option{mongo.WithPrefix(prefix)}
	if e.Prisma {
		all = append(all, mongo.WithCollections(mongo.Prisma()))
	}
	return all
}

// Handle opens an adapter on a database, with its own client and proxy, which
// are closed at the end of the test.
func (e *Env) Handle(t testing.TB, database string, conns uint64) *Handle {
	t.Helper()
	proxy := must(fault.NewProxy(""))(t) // the client's dialer names the target
	client, err := mgo.Connect(options.Client().ApplyURI(e.URL).
		SetDialer(proxy).
		SetMaxPoolSize(conns).
		// The driver monitors the server on separate connections. The interval is long, so that the proxy counts only
		// steps of the adapter.
		SetServerMonitoringMode("poll").SetHeartbeatInterval(time.Minute).
		// A server that is down is reported earlier than after the default of 30 seconds, but waiting for a
		// connection on a busy machine does not fail.
		SetServerSelectionTimeout(10 * time.Second))
	if err != nil {
		_ = proxy.Close()
		t.Fatal(err)
	}
	h := &Handle{Client: client, Database: database, Proxy: proxy}
	h.close = sync.OnceValue(func() error {
		err := client.Disconnect(context.WithoutCancel(t.Context()))
		h.drain()
		return err
	})
	t.Cleanup(func() {
		proxy.Heal() // a client may wait for answers before it closes
		_ = h.close()
		_ = proxy.Close()
	})
	h.Adapter = must(mongo.New(client.Database(database), e.options("")...))(t)
	e.look(t, h)
	return h
}

// look lets the adapter find out which collections a site has, as an application does before
// auth.New.
func (e *Env) look(t testing.TB, h *Handle) {
	t.Helper()
	if e.Prisma {
		_ = h.CheckIndexes(t.Context()) // the first call says what is wrong
	}
}

// drain returns when the proxy has seen the last bytes of the client: a client that closes sends a last message and
// does not wait for it to arrive.
func (h *Handle) drain() {
	const enough = 2 * time.Second
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(enough); h.Proxy.Stats().Open > 0 && time.Now().Before(end); {
		<-tick.C
	}
}

// find returns the collection of a record, the filter that finds it, and a field whose type the adapter checks.
func (e *Env) find(a adapter.Adapter, r adaptertest.Record) (c *mgo.Collection, filter bson.D, field string) {
	db, prefix := e.admin.Database(a.(*Handle).Database), a.(*Handle).prefix
	names, credential := mongo.Collections{Users: "users", Accounts: "accounts", Sessions: "sessions", VerificationTokens: "verification_tokens", Authenticators: "authenticators"}, "credentialID"
	if e.Prisma {
		names, credential = mongo.Prisma(), "_id"
	}
	switch r.Kind {
	case adaptertest.UserRecord:
		filter = bson.D{{Key: "_id", Value: r.Key}}
		if id, err := bson.ObjectIDFromHex(r.Key); err == nil {
			filter[0].Value = id
		}
		return db.Collection(prefix + names.Users), filter, "emailVerified"
	case adaptertest.AccountRecord:
		return db.Collection(prefix + names.Accounts), bson.D{{Key: "provider", Value: r.Account.Provider}, {Key: "providerAccountId", Value: r.Account.ProviderAccountID}}, "expires_at"
	case adaptertest.SessionRecord:
		return db.Collection(prefix + names.Sessions), bson.D{{Key: "sessionToken", Value: r.Key}}, "expires"
	case adaptertest.VerificationTokenRecord:
		return db.Collection(prefix + names.VerificationTokens), bson.D{{Key: "identifier", Value: r.Token.Identifier}, {Key: "token", Value: r.Token.Token}}, "expires"
	case adaptertest.AuthenticatorRecord:
		return db.Collection(prefix + names.Authenticators), bson.D{{Key: credential, Value: r.Key}}, "counter"
	default:
		panic(fmt.Sprintf("unknown kind of record %q", r.Kind))
	}
}

// corrupt stores a text in place of an instant or a number.
func (e *Env) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	collection, filter, field := e.find(a, r)
	raw := must(collection.FindOne(t.Context(), filter).Raw())(t)
	before := raw.Lookup(field)
	update := func(operator string, value any) {
		t.Helper()
		must(collection.UpdateOne(t.Context(), filter, bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}))(t)
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

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
