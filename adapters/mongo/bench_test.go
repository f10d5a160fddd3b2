package mongo_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 1_000, "BenchmarkSessions goes up to this many; FerretDB reads all of them to find one")

// direct is an adapter on a database of its own, with nothing on the way to it.
type direct struct {
	*mongo.Adapter
	db *mgo.Database
}

// benchHarness opens adapters directly, and a second handle on one connection
// through a proxy that counts.
func benchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			a, db := newStore(t)
			return direct{a, db}
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			h := open(t, a.(direct).db.Name(), 1)
			if err := h.client.Ping(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			return h
		},
		Faults:       func(a adapter.Adapter) fault.Control { return a.(*handle).proxy },
		NewID:        func() string { return bson.NewObjectID().Hex() },
		Declarations: adaptertest.Declarations{AssignsIDs: true},
	}
}

func BenchmarkAdapter(b *testing.B) { adaptertest.Bench(b, benchHarness(), newFloor) }

func BenchmarkSessions(b *testing.B) {
	adaptertest.BenchSessions(b, benchHarness(), newFloor, *mostSessions, func(tb testing.TB, a adapter.Adapter, from, to int) {
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
		sessions = append(sessions, bson.D{{Key: "userId", Value: numbered(n / 10 * 10)}, {Key: "sessionToken", Value: adaptertest.SessionToken(n)}, {Key: "expires", Value: later}})
	}
	must(db.Collection("users").InsertMany(tb.Context(), users))(tb)
	must(db.Collection("sessions").InsertMany(tb.Context(), sessions))(tb)
}

func numbered(n int) (id bson.ObjectID) {
	binary.BigEndian.PutUint64(id[4:], uint64(n))
	return id
}

// TestRoundTrips counts what each method takes at most: what it looks for, what
// it writes, and what it looks for to keep its promise.
func TestRoundTrips(t *testing.T) {
	most := map[string]int64{
		"CreateUser": 1, "GetUser": 1, "GetUserByEmail": 1, "GetUserByAccount": 2, "UpdateUser": 2, "DeleteUser": 5,
		"LinkAccount": 3, "UnlinkAccount": 3, "GetAccount": 2,
		"CreateSession": 3, "GetSessionAndUser": 2, "UpdateSession": 5, "DeleteSession": 3,
		"CreateVerificationToken": 1, "UseVerificationToken": 2,
		"CreateAuthenticator": 3, "GetAuthenticator": 2, "ListAuthenticatorsByUserID": 2, "UpdateAuthenticatorCounter": 3,
	}
	trips := adaptertest.RoundTrips(t, benchHarness())
	for method, want := range most {
		if n := trips[method].Later; n > want || n == 0 {
			t.Errorf("%s takes %d round trips, want at most %d", method, n, want)
		}
	}
}
