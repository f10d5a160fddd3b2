package mongo_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	everyClause = flag.Bool("every-clause", false, "run everything as often over FerretDB as over MongoDB, which takes minutes")
	only        = flag.String("only", "", "run only these clauses and groups, separated by commas")
)

// longOverFerretDB are the clauses that take longest over FerretDB: they fill
// collections, which it reads from end to end.
var longOverFerretDB = []string{"VOL-02", "VOL-04"}

// TestConformance runs the clauses, some side by side: after a lost connection
// the driver asks the server again before the next call, at most twice a second.
func TestConformance(t *testing.T) {
	o := adaptertest.Options{Parallel: 16}
	if askServer(t).ferretDB() && !*everyClause {
		t.Logf("LEFT OUT over FerretDB: %v; go test -every-clause and make conformance run them", longOverFerretDB)
		o.Rounds = 0.1
		for _, c := range adaptertest.Clauses() {
			if !slices.Contains(longOverFerretDB, c.ID) {
				o.Only = append(o.Only, c.ID)
			}
		}
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	o.Again = func(ctx context.Context) (*exec.Cmd, error) {
		return exec.CommandContext(ctx, os.Args[0], "-test.run=^TestConformance$", "-only=TIME"), nil
	}
	report, err := adaptertest.Check(t.Context(), harness(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("ADAPTERTEST_REPORT"); path != "" {
		var b bytes.Buffer
		if err := errors.Join(report.WriteJSON(&b), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if len(report.Failed()) > 0 {
		t.Error(text.String())
	} else {
		t.Log(text.String())
	}
}

// handle is an adapter and what the harness keeps with it.
type handle struct {
	*mongo.Adapter
	client   *mgo.Client
	database string
	proxy    *fault.Proxy
}

// open opens an adapter with a client and a proxy of its own.
func open(t testing.TB, database string, poolSize uint64) *handle {
	t.Helper()
	proxy, err := fault.NewProxy("") // the client says where to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	client := connect(t, func(o *options.ClientOptions) { o.SetDialer(proxy).SetMaxPoolSize(poolSize) })
	t.Cleanup(proxy.Heal)
	return &handle{newAdapter(t, client.Database(database)), client, database, proxy}
}

// close closes the client and waits until its farewells have passed the proxy.
func (h *handle) close() error {
	if err := h.client.Disconnect(context.Background()); err != nil && !errors.Is(err, mgo.ErrClientDisconnected) {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for h.proxy.Stats().Open > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the client is closed and connections are open")
		}
	}
	return nil
}

func harness(t *testing.T) adaptertest.Harness {
	const plenty = 16
	server := askServer(t)
	admin := connect(t)
	// Each clause has a database of its own: a server that scans whole
	// collections would otherwise take ever longer.
	fresh := func(t testing.TB, poolSize uint64) *handle {
		database := newDatabase(t)
		h := open(t, database, poolSize)
		if err := newAdapter(t, admin.Database(database)).EnsureIndexes(t.Context()); err != nil {
			t.Fatal(err)
		}
		return h
	}
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter { return open(t, a.(*handle).database, plenty) }
	collection := func(a adapter.Adapter, name string) *mgo.Collection {
		return admin.Database(a.(*handle).database).Collection(name)
	}
	h := adaptertest.Harness{
		Name:    "mongo on " + server.name,
		Version: server.version,
		New:     func(t testing.TB) adapter.Adapter { return fresh(t, plenty) },
		Second:  another,
		Close:   func(a adapter.Adapter) error { return a.(*handle).close() },
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			b := another(t, a)
			if err := b.(*handle).EnsureIndexes(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b
		},
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			b := *a.(*handle)
			var err error
			b.Adapter, err = mongo.New(b.client.Database(b.database), mongo.WithCollections(mongo.Collections{
				Users: name + "users", Accounts: name + "accounts", Sessions: name + "sessions",
				VerificationTokens: name + "verification_tokens", Authenticators: name + "authenticators",
			}))
			if err != nil {
				return nil, err
			}
			return &b, b.EnsureIndexes(t.Context())
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*handle).proxy },
		Corrupt: func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() {
			name, filter, field := where(r)
			return corrupt(t, collection(a, name), filter, field)
		},
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			name, filter, _ := where(r)
			n, err := collection(a, name).CountDocuments(ctx, filter)
			return n > 0, err
		},
		Single:      func(t testing.TB) adapter.Adapter { return fresh(t, 1) },
		Limited:     func(t testing.TB) adapter.Adapter { return fresh(t, 4) },
		Connections: func(a adapter.Adapter) int { return a.(*handle).proxy.Stats().Open },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*handle).client.Ping(ctx, nil) },
		NewID:       func() string { return bson.NewObjectID().Hex() },
		InternalNames: []string{"users", "accounts", "sessions", "verification_tokens", "authenticators", "_id", "email_1",
			"sessionToken_1", "provider_1_providerAccountId_1"},
		Declarations: adaptertest.Declarations{AssignsIDs: true, NoPooler: "the driver of MongoDB speaks to the servers themselves"},
		// After a lost connection the driver asks the server again before the next
		// call, at most twice a second: faults take their time.
		ClauseTimeout: 5 * time.Minute,
	}
	if server.ferretDB() {
		h.Waivers = ferretDBWaivers
		h.Declarations.Scans = scansCollections
	}
	return h
}

const (
	updatesAreNotAtomic = "FerretDB 1.24 reads a document, changes it and writes it back whole, so that what others wrote in between is lost"
	deletesAreNotAtomic = "FerretDB 1.24 looks for what to delete and deletes it by _id, whatever has become of it"
	scansCollections    = "FerretDB 1.24 uses an index for _id only and reads the whole collection for every other filter"
	updateIssue         = "https://github.com/FerretDB/FerretDB/issues/3040"
	pushdown            = "https://blog.ferretdb.io/ferretdb-fetches-data-query-pushdown/"
)

// ferretDBWaivers are what FerretDB can't do, whatever the adapter does.
var ferretDBWaivers = []adaptertest.Waiver{
	{Clause: "CONC-08", Reason: updatesAreNotAtomic, Link: updateIssue, Racy: true},
	{Clause: "CONC-14", Reason: updatesAreNotAtomic, Link: updateIssue, Racy: true},
	{Clause: "EXP-07", Reason: deletesAreNotAtomic, Link: updateIssue, Racy: true},
	{Clause: "VOL-04", Reason: scansCollections, Link: pushdown},
}

// where returns the collection of a record, the filter that finds it, and a
// field that must be there.
func where(r adaptertest.Record) (collection string, filter bson.D, field string) {
	switch r.Kind {
	case adaptertest.UserRecord:
		id, err := bson.ObjectIDFromHex(r.Key)
		if err != nil {
			return "users", bson.D{{Key: "_id", Value: r.Key}}, "email"
		}
		return "users", bson.D{{Key: "_id", Value: id}}, "email"
	case adaptertest.AccountRecord:
		return "accounts", bson.D{{Key: "provider", Value: r.Account.Provider}, {Key: "providerAccountId", Value: r.Account.ProviderAccountID}}, "type"
	case adaptertest.SessionRecord:
		return "sessions", bson.D{{Key: "sessionToken", Value: r.Key}}, "expires"
	case adaptertest.VerificationTokenRecord:
		return "verification_tokens", bson.D{{Key: "identifier", Value: r.Token.Identifier}, {Key: "token", Value: r.Token.Token}}, "expires"
	case adaptertest.AuthenticatorRecord:
		return "authenticators", bson.D{{Key: "credentialID", Value: r.Key}}, "counter"
	default:
		panic(fmt.Sprintf("unknown kind of record %q", r.Kind))
	}
}

// corrupt puts a document where the field has another type.
func corrupt(t testing.TB, c *mgo.Collection, filter bson.D, field string) (repair func()) {
	t.Helper()
	var stored bson.D
	if err := c.FindOne(t.Context(), filter).Decode(&stored); err != nil {
		t.Fatal(err)
	}
	var before any
	for _, e := range stored {
		if e.Key == field {
			before = e.Value
		}
	}
	set := func(v any) {
		if _, err := c.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: stored[0].Value}}, bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: v}}}}); err != nil {
			t.Fatal(err)
		}
	}
	set(bson.D{{Key: "damaged", Value: true}})
	return func() { set(before) }
}
