package mongo_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 1_000, "BenchmarkPopulation goes up to this many sessions")

// method is one method as a benchmark calls it: prepare makes what one call
// needs, outside the measured time, and returns the call.
type method struct {
	name    string
	prepare func(a adapter.Adapter) (call func(a adapter.Adapter) error)
}

// methods returns all nineteen, on records of one user.
func methods(ctx context.Context, b testing.TB, a adapter.Adapter) []method {
	later := time.Now().Add(time.Hour)
	user := must(a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: rand.Text(), EmailVerified: &later, Image: new("https://example.com/i.png")}))(b)
	makeAccount := func() adapter.Account {
		return adapter.Account{UserID: user.ID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: rand.Text(), AccessToken: new("at"), Scope: new("s")}
	}
	makeSession := func() adapter.Session {
		return adapter.Session{SessionToken: rand.Text(), UserID: user.ID, Expires: later}
	}
	makeToken := func() adapter.VerificationToken {
		return adapter.VerificationToken{Identifier: "x@example.com", Token: rand.Text(), Expires: later}
	}
	makeCredential := func() adapter.Authenticator {
		return adapter.Authenticator{CredentialID: rand.Text(), UserID: user.ID, CredentialPublicKey: "key", CredentialDeviceType: "singleDevice"}
	}
	account := must(a.LinkAccount(ctx, makeAccount()))(b)
	session := must(a.CreateSession(ctx, makeSession()))(b)
	credential := must(a.CreateAuthenticator(ctx, makeCredential()))(b)
	lister := must(a.CreateUser(ctx, adapter.User{Email: rand.Text()}))(b)
	for range 3 {
		c := makeCredential()
		c.UserID = lister.ID
		must(a.CreateAuthenticator(ctx, c))(b)
	}
	n := int64(0)
	type call = func(adapter.Adapter) error
	always := func(f call) func(adapter.Adapter) call { return func(adapter.Adapter) call { return f } }
	return []method{
		{"CreateUser", func(adapter.Adapter) call {
			u := adapter.User{Name: new("Ada"), Email: rand.Text()}
			return func(a adapter.Adapter) error { _, err := a.CreateUser(ctx, u); return err }
		}},
		{"GetUser", always(func(a adapter.Adapter) error { _, err := a.GetUser(ctx, user.ID); return err })},
		{"GetUserByEmail", always(func(a adapter.Adapter) error { _, err := a.GetUserByEmail(ctx, user.Email); return err })},
		{"GetUserByAccount", always(func(a adapter.Adapter) error { _, err := a.GetUserByAccount(ctx, account.Key()); return err })},
		{"UpdateUser", always(func(a adapter.Adapter) error {
			_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: lister.ID, Name: adapter.To(new("Bob"))})
			return err
		})},
		{"DeleteUser", func(a adapter.Adapter) call {
			u := must(a.CreateUser(ctx, adapter.User{Email: rand.Text()}))(b)
			return func(a adapter.Adapter) error { _, err := a.DeleteUser(ctx, u.ID); return err }
		}},
		{"LinkAccount", func(adapter.Adapter) call {
			c := makeAccount()
			return func(a adapter.Adapter) error { _, err := a.LinkAccount(ctx, c); return err }
		}},
		{"UnlinkAccount", func(a adapter.Adapter) call {
			c := must(a.LinkAccount(ctx, makeAccount()))(b)
			return func(a adapter.Adapter) error { _, err := a.UnlinkAccount(ctx, c.Key()); return err }
		}},
		{"GetAccount", always(func(a adapter.Adapter) error {
			_, err := a.GetAccount(ctx, account.ProviderAccountID, account.Provider)
			return err
		})},
		{"CreateSession", func(adapter.Adapter) call {
			s := makeSession()
			return func(a adapter.Adapter) error { _, err := a.CreateSession(ctx, s); return err }
		}},
		{"GetSessionAndUser", always(func(a adapter.Adapter) error { _, err := a.GetSessionAndUser(ctx, session.SessionToken); return err })},
		{"UpdateSession", always(func(a adapter.Adapter) error {
			_, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: session.SessionToken, Expires: adapter.To(later)})
			return err
		})},
		{"DeleteSession", func(a adapter.Adapter) call {
			s := must(a.CreateSession(ctx, makeSession()))(b)
			return func(a adapter.Adapter) error { _, err := a.DeleteSession(ctx, s.SessionToken); return err }
		}},
		{"CreateVerificationToken", func(adapter.Adapter) call {
			v := makeToken()
			return func(a adapter.Adapter) error { _, err := a.CreateVerificationToken(ctx, v); return err }
		}},
		{"UseVerificationToken", func(a adapter.Adapter) call {
			v := must(a.CreateVerificationToken(ctx, makeToken()))(b)
			return func(a adapter.Adapter) error { _, err := a.UseVerificationToken(ctx, v.Key()); return err }
		}},
		{"CreateAuthenticator", func(adapter.Adapter) call {
			c := makeCredential()
			return func(a adapter.Adapter) error { _, err := a.CreateAuthenticator(ctx, c); return err }
		}},
		{"GetAuthenticator", always(func(a adapter.Adapter) error { _, err := a.GetAuthenticator(ctx, credential.CredentialID); return err })},
		{"ListAuthenticatorsByUserID", always(func(a adapter.Adapter) error { _, err := a.ListAuthenticatorsByUserID(ctx, lister.ID); return err })},
		{"UpdateAuthenticatorCounter", always(func(a adapter.Adapter) error {
			n++
			_, err := a.UpdateAuthenticatorCounter(ctx, credential.CredentialID, n)
			return err
		})},
	}
}

// compare takes turns between the adapter and the floor, so that what else the
// machine does hits both, and reports medians.
func compare(b *testing.B, m method, a adapter.Adapter, f adapter.Adapter) {
	b.Helper()
	measure := func(on adapter.Adapter) time.Duration {
		call := m.prepare(a)
		start := time.Now()
		if err := call(on); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for range 20 {
		measure(a)
		measure(f)
	}
	var ours, theirs []time.Duration
	for b.Loop() {
		if len(ours)%2 == 0 {
			ours, theirs = append(ours, measure(a)), append(theirs, measure(f))
		} else {
			theirs, ours = append(theirs, measure(f)), append(ours, measure(a))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(ours)), "adapter-ns/op")
	b.ReportMetric(float64(median(theirs)), "floor-ns/op")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// allocations counts what one call allocates.
func allocations(b *testing.B, m method, a adapter.Adapter, on adapter.Adapter) float64 {
	const calls = 50
	var before, after runtime.MemStats
	var total uint64
	for range calls {
		call := m.prepare(a)
		runtime.ReadMemStats(&before)
		err := call(on)
		runtime.ReadMemStats(&after)
		if err != nil {
			b.Fatal(err)
		}
		total += after.Mallocs - before.Mallocs
	}
	return float64(total) / calls
}

// BenchmarkMethods compares every method with the floor, and counts round trips
// on the wire and allocations.
func BenchmarkMethods(b *testing.B) {
	a, db := newStore(b)
	f := newFloor(db)
	counted := open(b, db.Name(), 1)
	for _, m := range methods(b.Context(), b, a) {
		b.Run(m.name, func(b *testing.B) {
			compare(b, m, a, f)
			b.ReportMetric(float64(roundTrips(b, m, a, counted)), "roundtrips/op")
			b.ReportMetric(allocations(b, m, a, a), "adapter-allocs/op")
			b.ReportMetric(allocations(b, m, a, f), "floor-allocs/op")
		})
	}
}

// roundTrips counts those of one call on a connection that is open, the least of
// a few: the driver asks the server how it is now and then.
func roundTrips(t testing.TB, m method, a adapter.Adapter, counted *handle) int64 {
	t.Helper()
	least := int64(math.MaxInt64)
	for range 4 {
		call := m.prepare(a)
		before := counted.proxy.Steps()
		if err := call(counted); err != nil {
			t.Fatal(m.name, err)
		}
		least = min(least, counted.proxy.Steps()-before)
	}
	return least
}

// TestRoundTrips counts what each method takes at most: what it looks for, what
// it writes, and what it looks for to keep its promise.
func TestRoundTrips(t *testing.T) {
	a, db := newStore(t)
	counted := open(t, db.Name(), 1)
	most := map[string]int64{
		"CreateUser": 1, "GetUser": 1, "GetUserByEmail": 1, "GetUserByAccount": 2, "UpdateUser": 2, "DeleteUser": 5,
		"LinkAccount": 3, "UnlinkAccount": 3, "GetAccount": 2,
		"CreateSession": 3, "GetSessionAndUser": 2, "UpdateSession": 5, "DeleteSession": 3,
		"CreateVerificationToken": 1, "UseVerificationToken": 2,
		"CreateAuthenticator": 3, "GetAuthenticator": 2, "ListAuthenticatorsByUserID": 2, "UpdateAuthenticatorCounter": 3,
	}
	for _, m := range methods(t.Context(), t, a) {
		if n := roundTrips(t, m, a, counted); n > most[m.name] || n == 0 {
			t.Errorf("%s takes %d round trips, want at most %d", m.name, n, most[m.name])
		}
	}
}

// BenchmarkPopulation reads sessions out of ever more, ten to a user.
func BenchmarkPopulation(b *testing.B) {
	a, db := newStore(b)
	later := time.Now().Add(time.Hour)
	users, sessions := db.Collection("users"), db.Collection("sessions")
	have := 0
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if size > *mostSessions {
			continue
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for ; have < size; have += 1000 { // b.Run may call this several times
				var u, s []any
				for n := have; n < have+1000; n++ {
					if n%10 == 0 {
						u = append(u, bson.D{{Key: "_id", Value: numbered(n)}, {Key: "email", Value: fmt.Sprint(n, "@example.com")}, {Key: "emailVerified", Value: nil}})
					}
					s = append(s, bson.D{{Key: "userId", Value: numbered(n / 10 * 10)}, {Key: "sessionToken", Value: fmt.Sprint("s", n)}, {Key: "expires", Value: later}})
				}
				must(users.InsertMany(b.Context(), u))(b)
				must(sessions.InsertMany(b.Context(), s))(b)
			}
			n := 0
			compare(b, method{"GetSessionAndUser", func(adapter.Adapter) func(adapter.Adapter) error {
				n += 7919 // never the one that the other has just warmed up
				token := fmt.Sprint("s", n%size)
				return func(a adapter.Adapter) error {
					found, err := a.GetSessionAndUser(b.Context(), token)
					if err == nil && found == nil {
						err = fmt.Errorf("no session %s", token)
					}
					return err
				}
			}}, a, newFloor(db))
		})
	}
}

func numbered(n int) (id bson.ObjectID) {
	binary.BigEndian.PutUint64(id[4:], uint64(n))
	return id
}
