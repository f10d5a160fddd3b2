package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Floor opens the floor under an adapter that the harness opened: the same work
// on the same store, done by hand with the raw client, with nothing of the
// adapter in between. It returns a value with any of the methods of an adapter,
// as [adapter.Partial] takes it; a method that it lacks has no floor.
type Floor func(tb testing.TB, a adapter.Adapter) any

// Bench measures each method of the adapter over a population of 1000 users who
// have one of everything; ADAPTERTEST_POPULATION sets another number. For each
// method there are up to three benchmarks:
//
//	GetSessionAndUser/adapter  the method, and with Harness.Faults the steps it takes (steps/op)
//	GetSessionAndUser/floor    its floor
//	GetSessionAndUser/ratio    both by turns, and how many times the floor the method costs (x-floor)
//
// The floor may be nil. Preparing what a call needs is not measured.
func Bench(b *testing.B, h Harness, floor Floor) {
	b.Helper()
	s, err := newBenchmarks(b, h, floor)
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range workloads {
		if !s.c.works(w.method) {
			continue
		}
		b.Run(w.method, func(b *testing.B) {
			b.Run("adapter", func(b *testing.B) { s.measure(b, w, s.adapter, true) })
			if s.floor == nil || slices.Contains(adapter.Missing(s.floor), w.method) {
				return
			}
			b.Run("floor", func(b *testing.B) { s.measure(b, w, s.floor, false) })
			b.Run("ratio", func(b *testing.B) { s.compare(b, w) })
		})
	}
}

// benchmarks is what the benchmarks of one adapter have in common.
type benchmarks struct {
	c       *C // for its fixtures
	adapter adapter.Adapter
	floor   adapter.Adapter // nil if there is none
	people  []cast
}

const (
	defaultPopulation = 1000
	// benchBatch is the number of calls that are prepared at a time.
	benchBatch = 64
)

func newBenchmarks(b *testing.B, h Harness, floor Floor) (*benchmarks, error) {
	r, err := newRun(&h, Options{})
	if err != nil {
		return nil, err
	}
	population := defaultPopulation
	if v := os.Getenv("ADAPTERTEST_POPULATION"); v != "" {
		if population, err = strconv.Atoi(v); err != nil || population < 1 {
			return nil, fmt.Errorf("adaptertest: ADAPTERTEST_POPULATION is %q, want a number of users", v)
		}
	}
	s := &benchmarks{c: r.newC(Clause{ID: "BENCH"})}
	s.c.ctx = b.Context()
	s.adapter = h.New(b)
	s.c.Raw, s.c.missing = s.adapter, adapter.Missing(s.adapter)
	if floor != nil {
		if s.floor, err = adapter.Partial(floor(b, s.adapter)); err != nil {
			return nil, fmt.Errorf("adaptertest: the floor: %w", err)
		}
	}
	for range population {
		k, err := s.person()
		if err != nil {
			return nil, fmt.Errorf("adaptertest: the population: %w", err)
		}
		s.people = append(s.people, *k)
	}
	return s, nil
}

// person creates a user with one of everything.
func (s *benchmarks) person() (*cast, error) {
	c, ctx, a := s.c, s.c.ctx, s.adapter
	k := &cast{user: c.newUser()}
	if c.works("CreateUser") {
		u, err := a.CreateUser(ctx, k.user)
		if err != nil || u == nil {
			return nil, fmt.Errorf("CreateUser: got %s, error %w", show(u), err)
		}
		k.user = *u
	}
	k.account, k.session, k.authenticator = c.newAccount(k.user.ID), c.newSession(k.user.ID), c.newAuthenticator(k.user.ID)
	for _, m := range c.working([]call{linkAccount(k.account), createSession(k.session), createAuthenticator(k.authenticator)}) {
		if _, err := m.do(ctx, a); err != nil {
			return nil, fmt.Errorf("%s: %w", m.method, err)
		}
	}
	return k, nil
}

// workload is what is measured of one method. prepare returns a call about
// somebody of the population, for whom it may have created what the call takes
// away.
type workload struct {
	method  string
	prepare func(s *benchmarks, k *cast) (call, error)
}

// reading measures a lookup of somebody.
func reading(method string) workload {
	return workload{method, func(_ *benchmarks, k *cast) (call, error) { return k.callOf(method), nil }}
}

// after prepares with one call and measures another.
func (s *benchmarks) after(first, measured call) (call, error) {
	if _, err := first.do(s.c.ctx, s.adapter); err != nil {
		return call{}, fmt.Errorf("%s: %w", first.method, err)
	}
	return measured, nil
}

var workloads = []workload{
	{"CreateUser", func(s *benchmarks, _ *cast) (call, error) { return createUser(s.c.newUser()), nil }},
	reading("GetUser"),
	reading("GetUserByEmail"),
	reading("GetUserByAccount"),
	{"UpdateUser", func(s *benchmarks, k *cast) (call, error) {
		return updateUser(s.c.userUpdate(k.user.ID, []string{"name", "image"})), nil
	}},
	{"DeleteUser", func(s *benchmarks, _ *cast) (call, error) {
		k, err := s.person()
		if err != nil {
			return call{}, err
		}
		return deleteUser(k.user.ID), nil
	}},
	{"LinkAccount", func(s *benchmarks, k *cast) (call, error) { return linkAccount(s.c.newAccount(k.user.ID)), nil }},
	{"UnlinkAccount", func(s *benchmarks, k *cast) (call, error) {
		a := s.c.newAccount(k.user.ID)
		return s.after(linkAccount(a), unlinkAccount(a.Key()))
	}},
	reading("GetAccount"),
	{"CreateSession", func(s *benchmarks, k *cast) (call, error) { return createSession(s.c.newSession(k.user.ID)), nil }},
	reading("GetSessionAndUser"),
	{"UpdateSession", func(s *benchmarks, k *cast) (call, error) {
		return updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(s.c.instant(2 * time.Hour))}), nil
	}},
	{"DeleteSession", func(s *benchmarks, k *cast) (call, error) {
		session := s.c.newSession(k.user.ID)
		return s.after(createSession(session), deleteSession(session.SessionToken))
	}},
	{"CreateVerificationToken", func(s *benchmarks, _ *cast) (call, error) { return createToken(s.c.newToken()), nil }},
	{"UseVerificationToken", func(s *benchmarks, _ *cast) (call, error) {
		t := s.c.newToken()
		return s.after(createToken(t), useToken(t.Key()))
	}},
	{"CreateAuthenticator", func(s *benchmarks, k *cast) (call, error) {
		return createAuthenticator(s.c.newAuthenticator(k.user.ID)), nil
	}},
	reading("GetAuthenticator"),
	reading("ListAuthenticatorsByUserID"),
	{"UpdateAuthenticatorCounter", func(s *benchmarks, k *cast) (call, error) {
		k.authenticator.Counter++
		return updateCounter(k.authenticator.CredentialID, k.authenticator.Counter), nil
	}},
}

// batch prepares calls.
func (s *benchmarks) batch(b *testing.B, w workload) []call {
	b.Helper()
	calls := make([]call, benchBatch)
	for i := range calls {
		var err error
		if calls[i], err = w.prepare(s, &s.people[rand.IntN(len(s.people))]); err != nil {
			b.Fatal(err)
		}
	}
	return calls
}

func (s *benchmarks) measure(b *testing.B, w workload, a adapter.Adapter, count bool) {
	b.ReportAllocs()
	steps := func() int64 { return 0 }
	if faults := s.c.faults(); count && faults != nil {
		steps = faults.Steps
	}
	var calls []call
	var taken, since int64
	next := 0
	for b.Loop() {
		if next == len(calls) {
			b.StopTimer()
			taken += steps() - since
			calls, next = s.batch(b, w), 0
			since = steps()
			b.StartTimer()
		}
		s.call(b, calls[next], a)
		next++
	}
	if taken += steps() - since; taken > 0 {
		b.ReportMetric(float64(taken)/float64(b.N), "steps/op")
	}
}

func (s *benchmarks) call(b *testing.B, k call, a adapter.Adapter) {
	if _, err := k.do(s.c.ctx, a); err != nil {
		b.Fatalf("%s: %v", k.method, err)
	}
}

// compare calls the method and its floor by turns, so that both have the same
// weather, and reports the median of the ratios of the batches.
func (s *benchmarks) compare(b *testing.B, w workload) {
	var ratios []float64
	var calls []call
	var took [2]time.Duration
	both := []adapter.Adapter{s.adapter, s.floor}
	settle := func() {
		if took[0] > 0 && took[1] > 0 {
			ratios = append(ratios, float64(took[0])/float64(took[1]))
		}
		took = [2]time.Duration{}
	}
	next := 0
	for b.Loop() {
		if next == len(calls) {
			b.StopTimer()
			settle()
			calls, next = s.batch(b, w), 0
			b.StartTimer()
		}
		who := (next + next/2) % 2 // each goes first as often as second
		start := time.Now()
		s.call(b, calls[next], both[who])
		took[who] += time.Since(start)
		next++
	}
	if settle(); len(ratios) > 0 {
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "x-floor")
	}
	b.ReportMetric(0, "ns/op") // of both together: of no interest
}
