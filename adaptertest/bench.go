package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline opens the baseline for an adapter that the harness opened. A baseline
// does the same work on the same store with the least code that the client library
// allows, with the same connection settings and without the adapter. The result
// has any of the methods of an adapter, as [adapter.Partial] accepts it; a method
// that it lacks has no baseline. The benchmark fails if a lookup of the baseline
// returns another record than the adapter. The baseline may also be another
// product: see [BenchSessions].
type Baseline func(tb testing.TB, a adapter.Adapter) any

// Bench measures each method of the adapter, in a store with 100 users who have
// one record of each kind; ADAPTERTEST_POPULATION sets another number. The line
// of each method has these values:
//
//	ns/op                   the median time of a call
//	baseline-ns/op             that of its baseline
//	x-baseline                 how many times the baseline the method takes: the median of
//	                        all turns, which need not be that of the two times
//	round-trips/op          the median number of steps, see below
//	B/op, allocs/op         what a call allocates
//	baseline-allocs/op         what a call of the baseline allocates
//
// The calls of the adapter and the baseline alternate, so that other work on the machine slows
// both calls of a turn in the same way, and the ratio is comparable on a busy machine. The
// preparation of a call is not measured. The baseline may be nil.
//
// Steps are counted as in [RoundTrips] if the harness has Second and Faults. So
// New can open the adapter without a proxy or wrapper, and Second with one.
func Bench(b *testing.B, h Harness, baseline Baseline) {
	b.Helper()
	population, err := population()
	if err != nil {
		b.Fatal(err)
	}
	s := newBenchmarks(b, h, baseline, population)
	s.agree(b)
	for _, w := range workloads {
		if s.c.works(w.method) {
			b.Run(w.method, func(b *testing.B) { s.measure(b, w) })
		}
	}
}

// BenchSessions measures GetSessionAndUser as [Bench] does, among 1,000, 100,000
// and 1,000,000 sessions, but not among more than the number most. Its time
// should not grow faster than that of its baseline. Each call reads a random
// session. Ten sessions belong to one user.
//
// Fill writes the sessions with the tokens SessionToken(from) to
// SessionToken(to-1), and their users, to the store of the adapter. It may write
// to the store without the adapter, if the records are the same as those that
// the adapter writes. The records must stay until the clean-up of the adapter
// that was opened. If Fill is nil, the adapter writes the sessions, which may
// take long.
//
// The baseline may be another product that reads a session from the same server:
// it must only return a record.
func BenchSessions(b *testing.B, h Harness, baseline Baseline, most int, fill func(tb testing.TB, a adapter.Adapter, from, to int)) {
	b.Helper()
	s := newBenchmarks(b, h, baseline, 0)
	if fill == nil {
		fill = s.fill
	}
	have := 0
	b.Run("GetSessionAndUser", func(b *testing.B) {
		for _, size := range []int{1_000, 100_000, 1_000_000} {
			if size > most {
				break
			}
			b.Run(fmt.Sprintf("sessions=%d", size), func(b *testing.B) {
				if have < size { // b.Run may call this several times
					fill(b, s.adapter, have, size)
					have = size
				}
				s.measure(b, workload{"GetSessionAndUser", func(*benchmarks, *fixture) (call, error) {
					k := fixture{session: adapter.Session{SessionToken: SessionToken(rand.IntN(size))}}
					return finding(k.callOf("GetSessionAndUser")), nil
				}})
			})
		}
	})
}

// finding returns a call that fails if the lookup finds nothing.
func finding(k call) call {
	do := k.do
	k.do = func(ctx context.Context, a adapter.Adapter) (any, error) {
		record, err := do(ctx, a)
		if err == nil && isNilRecord(record) {
			err = errors.New("found nothing")
		}
		return record, err
	}
	return k
}

// SessionToken is the token of the n-th session that [BenchSessions] reads.
func SessionToken(n int) string { return fmt.Sprintf("session-%d", n) }

// fill writes sessions through the adapter.
func (s *benchmarks) fill(tb testing.TB, a adapter.Adapter, from, to int) {
	tb.Helper()
	var owner *adapter.User
	for n := from; n < to; n++ {
		var err error
		if n%10 == 0 {
			if owner, err = a.CreateUser(s.c.ctx, s.c.newUser()); err != nil {
				tb.Fatal(err)
			}
		}
		if _, err := a.CreateSession(s.c.ctx, adapter.Session{SessionToken: SessionToken(n), UserID: owner.ID, Expires: s.c.instant(time.Hour)}); err != nil {
			tb.Fatal(err)
		}
	}
}

// benchmarks is the common state of the benchmarks of one adapter.
type benchmarks struct {
	c        *clauseContext // for its fixtures
	adapter  adapter.Adapter
	baseline adapter.Adapter // nil if there is none
	people   []fixture
}

func population() (int, error) {
	v := os.Getenv("ADAPTERTEST_POPULATION")
	if v == "" {
		return 100, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("adaptertest: ADAPTERTEST_POPULATION is %q, want a number of users", v)
	}
	return n, nil
}

func newBenchmarks(tb testing.TB, h Harness, baseline Baseline, population int) *benchmarks {
	tb.Helper()
	r, err := newRun(&h, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	s := &benchmarks{c: r.newC(Clause{ID: "BENCH"})}
	s.c.ctx = tb.Context()
	s.adapter = h.New(tb)
	s.c.raw = s.adapter
	s.c.missing, _ = missingMethods(s.adapter)
	s.c.optional = methodsThat(func(m method) bool { return m.capability != "" }) // the 19 methods are measured
	if baseline != nil {
		if s.baseline, err = adapter.Partial(baseline(tb, s.adapter)); err != nil {
			tb.Fatalf("adaptertest: the baseline: %v", err)
		}
	}
	for range population {
		k, err := s.person()
		if err != nil {
			tb.Fatalf("adaptertest: the population: %v", err)
		}
		s.people = append(s.people, *k)
	}
	return s
}

// person creates a user with one record of each kind.
func (s *benchmarks) person() (*fixture, error) {
	c, ctx, a := s.c, s.c.ctx, s.adapter
	k := &fixture{user: c.newUser()}
	if c.works("CreateUser") {
		u, err := a.CreateUser(ctx, k.user)
		if err != nil || u == nil {
			return nil, fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
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

// prepare returns a call for a user of the population.
func (s *benchmarks) prepare(tb testing.TB, w workload) call {
	tb.Helper()
	var k *fixture
	if len(s.people) > 0 {
		k = &s.people[rand.IntN(len(s.people))]
	}
	c, err := w.prepare(s, k)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func (s *benchmarks) call(tb testing.TB, k call, a adapter.Adapter) any {
	result, err := k.do(s.c.ctx, a)
	if err != nil {
		tb.Fatalf("%s: %v", k.method, err)
	}
	return result
}

// sides are the adapter and, if the method has one, its baseline.
func (s *benchmarks) sides(method string) []adapter.Adapter {
	if s.baseline == nil || slices.Contains(adapter.Missing(s.baseline), method) {
		return []adapter.Adapter{s.adapter}
	}
	return []adapter.Adapter{s.adapter, s.baseline}
}

// agree fails the benchmark if a lookup of the baseline returns less than the
// adapter's.
func (s *benchmarks) agree(tb testing.TB) {
	tb.Helper()
	for _, k := range s.c.working(s.people[0].reads()) {
		for _, side := range s.sides(k.method)[1:] {
			want, got := s.call(tb, finding(k), s.adapter), s.call(tb, finding(k), side)
			if d := s.c.unlike(got, want); d != "" {
				tb.Fatalf("the baseline of %s does not return what the adapter does: %s", k.method, d)
			}
		}
	}
}

const (
	warmUp      = 20 // rounds that are not measured
	allocations = 50 // calls whose allocations are counted
)

// measure lets the sides take turns and reports medians. The ratio is the median
// of the ratios of the turns.
func (s *benchmarks) measure(b *testing.B, w workload) {
	b.ReportAllocs()
	sides := s.sides(w.method)
	took := make([][]time.Duration, len(sides))
	round := func(n int) {
		for i := range sides {
			who := (n + i) % len(sides) // each side is first as often as second
			k := s.prepare(b, w)
			start := time.Now()
			s.call(b, k, sides[who])
			took[who] = append(took[who], time.Since(start))
		}
	}
	for n := range warmUp {
		round(n)
	}
	for i := range took {
		took[i] = took[i][:0]
	}
	for n := 0; b.Loop(); n++ {
		round(n)
	}
	if len(sides) == 2 {
		ratios := make([]float64, len(took[0]))
		for n := range ratios {
			ratios[n] = float64(took[0][n]) / float64(max(1, took[1][n]))
		}
		b.ReportMetric(median(ratios), "x-baseline")
	}
	for i, prefix := range []string{"", "baseline-"}[:len(sides)] {
		count, size := s.allocations(b, w, sides[i])
		b.ReportMetric(float64(median(took[i])), prefix+"ns/op")
		b.ReportMetric(count, prefix+"allocs/op")
		if prefix == "" {
			b.ReportMetric(size, "B/op")
		}
	}
	if h := s.c.harness(); h.Second != nil && h.Faults != nil {
		b.ReportMetric(float64(s.roundTrips(b, w).Later), "round-trips/op")
	}
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// allocations returns the number of allocations of one call, and their bytes.
func (s *benchmarks) allocations(b *testing.B, w workload, side adapter.Adapter) (count, size float64) {
	calls := make([]call, allocations)
	for i := range calls {
		calls[i] = s.prepare(b, w)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, k := range calls {
		s.call(b, k, side)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / allocations, float64(after.TotalAlloc-before.TotalAlloc) / allocations
}
