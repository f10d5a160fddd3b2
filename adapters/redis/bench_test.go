package redis_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkPopulation goes up to this many sessions")

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
	a, client, prefix := standalone.newStore(b)
	counted := standalone.open(b, prefix, settings{conns: 1})
	f := newFloor(b, client, prefix)
	if err := a.EnsureScripts(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, m := range methods(b.Context(), b, a) {
		b.Run(m.name, func(b *testing.B) {
			compare(b, m, a, f)
			if err := m.prepare(a)(counted); err != nil { // opens the connection
				b.Fatal(err)
			}
			call := m.prepare(a)
			before := counted.proxy.Steps()
			if err := call(counted); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(counted.proxy.Steps()-before), "roundtrips/op")
			b.ReportMetric(allocations(b, m, a, a), "adapter-allocs/op")
			b.ReportMetric(allocations(b, m, a, f), "floor-allocs/op")
		})
	}
}

// BenchmarkPopulation reads sessions out of ever more, ten to a user.
func BenchmarkPopulation(b *testing.B) {
	a, client, prefix := standalone.newStore(b)
	f := newFloor(b, client, prefix)
	have := 0
	for _, size := range []int{1_000, 100_000, 1_000_000} {
		if size > *mostSessions {
			continue
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for ; have < size; have += 1000 { // b.Run may call this several times
				populate(b, client, prefix, have, have+1000)
			}
			n := 0
			compare(b, method{"GetSessionAndUser", func(adapter.Adapter) func(adapter.Adapter) error {
				token := fmt.Sprint("s", n*7919%size) // never the one that the other has just warmed up
				n++
				return func(a adapter.Adapter) error {
					found, err := a.GetSessionAndUser(b.Context(), token)
					if err == nil && found == nil {
						err = fmt.Errorf("no session %s", token)
					}
					return err
				}
			}}, a, f)
		})
	}
}

// populate writes users and sessions as the adapter does, in one pipeline.
func populate(b *testing.B, client goredis.UniversalClient, prefix string, from, to int) {
	b.Helper()
	expires := time.Now().Add(time.Hour)
	pipe := client.Pipeline()
	for n := from; n < to; n++ {
		owner := fmt.Sprint("u", n/10)
		if n%10 == 0 {
			pipe.HSet(b.Context(), prefix+":user:{"+owner+"}", "inc", "I"+owner, "name", "User", "email", "")
		}
		token := fmt.Sprint("s", n)
		pipe.HSet(b.Context(), prefix+":session:{"+token+"}", "nonce", "N"+token, "owner", owner, "inc", "I"+owner,
			"expires", strconv.FormatInt(expires.UnixMicro(), 10))
		pipe.PExpireAt(b.Context(), prefix+":session:{"+token+"}", expires)
	}
	if _, err := pipe.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
}

var _ adapter.Adapter = (*floor)(nil)
