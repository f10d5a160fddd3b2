package mongo_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// direct is an adapter on its own database, without a proxy.
type direct struct {
	*mongo.Adapter
	db *mgo.Database
}

// benchHarness opens adapters without a proxy, and a second handle on one
// connection through a proxy that counts round trips.
func benchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			a, db := standalone.newStore(t)
			return direct{a, db}
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			h := standalone.env(t).Handle(t, a.(direct).db.Name(), 1)
			require.NoError(t, h.Client.Ping(t.Context(), nil))
			return h
		},
		Faults:       func(a adapter.Adapter) fault.Control { return a.(*mongotest.Handle).Proxy },
		NewID:        func() string { return bson.NewObjectID().Hex() },
		Declarations: adaptertest.Declarations{AssignsIDs: true},
	}
}

func newBaseline(_ testing.TB, a adapter.Adapter) any { return mongotest.NewBaseline(a.(direct).db) }

func BenchmarkAdapter(b *testing.B) { bench.Run(b, benchHarness(), newBaseline) }

func BenchmarkSessions(b *testing.B) {
	bench.Sessions(b, benchHarness(), newBaseline, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
		for ; from < to; from += 1000 {
			writeSessions(tb, a.(direct).db, from, from+1000)
		}
	})
}

// writeSessions writes users and sessions as the adapter does, in two calls.
func writeSessions(tb testing.TB, db *mgo.Database, from, to int) {
	tb.Helper()
	later := time.Now().Add(time.Hour)
	var users, sessions []any
	for n := from; n < to; n++ {
		if n%10 == 0 {
			users = append(users, bson.D{{Key: "_id", Value: numbered(n)}, {Key: "email", Value: fmt.Sprint(n, "@example.com")}, {Key: "emailVerified", Value: nil}})
		}
		sessions = append(sessions, bson.D{{Key: "userId", Value: numbered(n / 10 * 10)}, {Key: "sessionToken", Value: bench.SessionToken(n)}, {Key: "expires", Value: later}})
	}
	must(db.Collection("users").InsertMany(tb.Context(), users))(tb)
	must(db.Collection("sessions").InsertMany(tb.Context(), sessions))(tb)
}

func numbered(n int) (id bson.ObjectID) {
	binary.BigEndian.PutUint64(id[4:], uint64(n))
	return id
}

// TestRoundTrips counts the round trips of each method: one, and one more if
// the owner of a new record must exist. Deleting a user takes six: one looks
// for many sessions, one deletes the user, and four delete the user's other
// records.
func TestRoundTrips(t *testing.T) {
	most := map[string]int64{"LinkAccount": 2, "CreateSession": 2, "CreateAuthenticator": 2, "DeleteUser": 6, "SetPassword": 2}
	trips := bench.RoundTrips(t, benchHarness())
	assert.Truef(t, len(trips) >= 19, "%d methods were counted, want all: %v", len(trips), trips)
	for method, n := range trips {
		want := max(1, most[method])
		assert.Equalf(t, want, n.Later, "%s takes %d round trips, want %d", method, n.Later, want)
	}
}
