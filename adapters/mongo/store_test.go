package mongo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
)

const mongoURL = "GATEHOUSE_MONGO_URL"

// TestMain says once what is missing.
func TestMain(m *testing.M) {
	if os.Getenv(mongoURL) == "" {
		if !skipStores() {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need MongoDB, or a server of its protocol, such as mongodb://127.0.0.1:27017/?directConnection=true, "+
				"where they may create databases; GATEHOUSE_SKIP_STORES=1 leaves them out\n", mongoURL)
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
func connect(t testing.TB, change ...func(*options.ClientOptions)) *mgo.Client {
	t.Helper()
	url := os.Getenv(mongoURL)
	if url == "" {
		t.Skipf("%s is not set and GATEHOUSE_SKIP_STORES=1", mongoURL)
	}
	o := options.Client().ApplyURI(url)
	for _, c := range change {
		c(o)
	}
	client, err := mgo.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// newDatabase names a database that is dropped at the end of the test.
func newDatabase(t testing.TB) string {
	t.Helper()
	name := "gatehouse_" + strings.ToLower(rand.Text())
	client := connect(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := client.Database(name).Drop(ctx); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return name
}

// newStore returns an adapter on a database of its own, with its indexes.
func newStore(t testing.TB) (*mongo.Adapter, *mgo.Database) {
	t.Helper()
	db := connect(t).Database(newDatabase(t))
	a := newAdapter(t, db)
	if err := a.EnsureIndexes(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, db
}

func newAdapter(t testing.TB, db *mgo.Database, opts ...mongo.Option) *mongo.Adapter {
	t.Helper()
	a, err := mongo.New(db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// server is what the server says it is.
type server struct {
	name, version string
}

func (s server) ferretDB() bool { return s.name == "FerretDB" }

func askServer(t testing.TB) server {
	t.Helper()
	var info struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	if err := connect(t).Database("admin").RunCommand(t.Context(), bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info); err != nil {
		t.Fatal(err)
	}
	if info.FerretDB != "" {
		return server{"FerretDB", info.FerretDB}
	}
	return server{"MongoDB", info.Version}
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	if got == nil {
		t.Fatalf("%s: got nil", what)
	}
	if d := cmp.Diff(want, *got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func refused[T any](t testing.TB, what string, got *T, err, want error) {
	t.Helper()
	if got != nil || !errors.Is(err, want) {
		t.Fatalf("%s: got %v, %v, want %v", what, got, err, want)
	}
}
