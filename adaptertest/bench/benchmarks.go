package bench

import (
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
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// finding returns a call that fails if the lookup finds nothing.
func finding(k kit.Call) kit.Call {
	do := k.Do
	k.Do = func(ctx context.Context, a adapter.Adapter) (any, error) {
		record, err := do(ctx, a)
		if err == nil && kit.IsNilRecord(record) {
			err = errors.New("found nothing")
		}
		return record, err
	}
	return k
}

// SessionToken is the token of the n-th session that [Sessions] reads.
func SessionToken(n int) string { return fmt.Sprintf("session-%d", n) }

// fill writes sessions through the adapter.
func (s *benchmarks) fill(tb testing.TB, a adapter.Adapter, from, to int) {
	tb.Helper()
	var owner *adapter.User
	for n := from; n < to; n++ {
		var err error
		if n%10 == 0 {
			if owner, err = a.CreateUser(s.c.Ctx, s.c.NewUser()); err != nil {
				tb.Fatal(err)
			}
		}
		if _, err := a.CreateSession(s.c.Ctx, adapter.Session{SessionToken: SessionToken(n), UserID: owner.ID, Expires: s.c.Instant(time.Hour)}); err != nil {
			tb.Fatal(err)
		}
	}
}

// benchmarks is the common state of the benchmarks of one adapter.
type benchmarks struct {
	c        *kit.Context // for its fixtures
	adapter  adapter.Adapter
	baseline adapter.Adapter // nil if there is none
	people   []kit.Records
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

// person creates a user with one record of each kind.
func (s *benchmarks) person() (*kit.Records, error) {
	c, ctx, a := s.c, s.c.Ctx, s.adapter
	k := kit.RecordsOf(new(c.NewUser()))
	if c.Works("CreateUser") {
		u, err := a.CreateUser(ctx, k.User)
		if err != nil || u == nil {
			return nil, fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
		}
		k.User = *u
	}
	k.Account, k.Session, k.Authenticator = c.NewAccount(k.User.ID), c.NewSession(k.User.ID), c.NewAuthenticator(k.User.ID)
	for _, m := range c.Working([]kit.Call{kit.LinkAccount(k.Account), kit.CreateSession(k.Session), kit.CreateAuthenticator(k.Authenticator)}) {
		if _, err := m.Do(ctx, a); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Method, err)
		}
	}
	return k, nil
}

// prepare returns a call for a user of the population.
func (s *benchmarks) prepare(tb testing.TB, w workload) kit.Call {
	tb.Helper()
	var k *kit.Records
	if len(s.people) > 0 {
		k = &s.people[rand.IntN(len(s.people))]
	}
	return w.prepare(tb, s, k)
}

func (s *benchmarks) call(tb testing.TB, k kit.Call, a adapter.Adapter) any {
	result, err := k.Do(s.c.Ctx, a)
	if err != nil {
		tb.Fatalf("%s: %v", k.Method, err)
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

// agree fails the benchmark if a lookup of the baseline returns less than the adapter's.
func (s *benchmarks) agree(tb testing.TB) {
	tb.Helper()
	for _, k := range s.c.Working(s.people[0].Reads()) {
		for _, side := range s.sides(k.Method)[1:] {
			want, got := s.call(tb, finding(k), s.adapter), s.call(tb, finding(k), side)
			if d := s.c.Unlike(got, want); d != "" {
				tb.Fatalf("the baseline of %s does not return what the adapter does: %s", k.Method, d)
			}
		}
	}
}

const (
	warmUp      = 20 // rounds that are not measured
	allocations = 50 // calls whose allocations are counted
)

// measure lets the sides take turns and reports medians. The ratio is the median of the ratios of the turns.
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
		b.ReportMetric(kit.Median(ratios), "x-baseline")
	}
	for i, prefix := range []string{"", "baseline-"}[:len(sides)] {
		count, size := s.allocations(b, w, sides[i])
		b.ReportMetric(float64(kit.Median(took[i])), prefix+"ns/op")
		b.ReportMetric(count, prefix+"allocs/op")
		if prefix == "" {
			b.ReportMetric(size, "B/op")
		}
	}
	if h := s.c.Harness(); h.Second != nil && h.Faults != nil {
		b.ReportMetric(float64(s.roundTrips(b, w).Later), "round-trips/op")
	}
}

// allocations returns the number of allocations of one call, and their bytes.
func (s *benchmarks) allocations(b *testing.B, w workload, side adapter.Adapter) (count, size float64) {
	calls := make([]kit.Call, allocations)
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

// roundTrips counts the steps of a few calls.
func (s *benchmarks) roundTrips(tb testing.TB, w workload) Trips {
	tb.Helper()
	h := s.c.Harness()
	second := h.Second(tb, s.adapter)
	faults := h.Faults(second)
	count := func() int64 {
		k := s.prepare(tb, w)
		before := faults.Steps()
		s.call(tb, k, second)
		return faults.Steps() - before
	}
	trips := Trips{First: count()}
	later := make([]int64, 5)
	for i := range later {
		later[i] = count()
	}
	trips.Later = kit.Median(later)
	return trips
}
