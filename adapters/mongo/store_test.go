package mongo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
)

// The variables that name the servers.
const (
	mongoURL   = "GATEHOUSE_MONGO_URL"
	replicaURL = "GATEHOUSE_MONGO_REPLICA_URL"
	usersURL   = "GATEHOUSE_MONGO_USERS_URL"
)

// server is a deployment on which the tests run.
type server struct{ name, variable string }

// standalone does not support transactions, replicaSet does. The clients of withUsers must
// sign in.
var (
	standalone = server{"standalone", mongoURL}
	replicaSet = server{"replica set", replicaURL}
	withUsers  = server{"standalone with users", usersURL}
)

// onEachServer runs a test on the standalone server and on the replica set.
func onEachServer(t *testing.T, test func(t *testing.T, s server)) {
	for _, s := range []server{standalone, replicaSet} {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

// url returns the server's URL. Without one it skips or fails the test.
func (s server) url(t testing.TB) string {
	t.Helper()
	url := os.Getenv(s.variable)
	switch {
	case url != "":
	case skipStores():
		t.Skipf("LEFT OUT: %s is not set and GATEHOUSE_SKIP_STORES=1", s.variable)
	default:
		t.Fatalf("%s is not set: this test needs MongoDB, a %s", s.variable, s.name)
	}
	return url
}

// env opens the environment of the harness. It is closed at the end of the
// test.
func (s server) env(t testing.TB) *mongotest.Env {
	t.Helper()
	env := must(mongotest.Open(mongotest.Settings{URL: s.url(t), Users: withUsers.url(t)}))(t)
	t.Cleanup(func() { assert.NoError(t, env.Close(context.Background())) })
	return env
}

func (s server) version(t testing.TB) string {
	t.Helper()
	var info struct {
		Version string `bson:"version"`
	}
	err := s.connect(t).Database("admin").RunCommand(t.Context(), bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info)
	require.NoError(t, err)
	return info.Version
}

// TestMain prints once which servers are missing.
func TestMain(m *testing.M) {
	if os.Getenv(mongoURL) == "" {
		if !skipStores() {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need MongoDB, such as mongodb://127.0.0.1:27017/?directConnection=true, where they may create databases, "+
				"and a replica set in %s; GATEHOUSE_SKIP_STORES=1 leaves them out\n", mongoURL, replicaURL)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "*** SKIPPED: every test that needs MongoDB, since %s is not set and GATEHOUSE_SKIP_STORES=1 ***\n", mongoURL)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func skipStores() bool { return os.Getenv("GATEHOUSE_SKIP_STORES") == "1" }

// connect opens a client that is closed at the end of the test.
func (s server) connect(t testing.TB, change ...func(*options.ClientOptions)) *mgo.Client {
	t.Helper()
	o := options.Client().ApplyURI(s.url(t))
	for _, c := range change {
		c(o)
	}
	client := must(mgo.Connect(o))(t)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// newDatabase names a database that is dropped at the end of the test.
func (s server) newDatabase(t testing.TB) string {
	t.Helper()
	return mongotest.NewDatabase(t, s.connect(t))
}

// newStore returns an adapter on its own database, with the indexes.
func (s server) newStore(t testing.TB) (*mongo.Adapter, *mgo.Database) {
	t.Helper()
	db := s.connect(t).Database(s.newDatabase(t))
	a := newAdapter(t, db)
	require.NoError(t, a.EnsureIndexes(t.Context()))
	return a, db
}

func newAdapter(t testing.TB, db *mgo.Database, opts ...mongo.Option) *mongo.Adapter {
	t.Helper()
	return must(mongo.New(db, opts...))(t)
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	require.NotNilf(t, got, "%s: got nil", what)
	require.Empty(t, cmp.Diff(want, *got), what)
}

// refused fails the test unless a call has no record and the error.
func refused[T any](got *T, err error) func(t testing.TB, what string, want error) {
	return func(t testing.TB, what string, want error) {
		t.Helper()
		require.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
	}
}
