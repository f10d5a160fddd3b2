// Package bench compares an adapter with hand-written code for the same work, and counts
// the round trips of its methods. It needs a harness of package adaptertest, of which it reads
// New and, to count round trips, Second and Faults.
package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline opens the baseline for an adapter that the harness opened. A baseline does the same work on the same
// store with the least code that the client library allows, with the same connection settings and without the
// adapter. The result has any of the methods of an adapter, as [adapter.Partial] accepts it; a method that it
// lacks has no baseline. The benchmark fails if a lookup of the baseline returns another record than the adapter.
// The baseline may also be another product: see [Sessions].
type Baseline func(tb testing.TB, a adapter.Adapter) any

// Run measures each method of the adapter, in a store with 100 users who have one record of each kind;
// ADAPTERTEST_POPULATION sets another number. The line of each method has these values:
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
func Run(b *testing.B, h adaptertest.Harness, baseline Baseline) {
	b.Helper()
	population, err := population()
	if err != nil {
		b.Fatal(err)
	}
	s := newBenchmarks(b, h, baseline, population)
	s.agree(b)
	for _, w := range workloads {
		if s.c.Works(w.method) {
			b.Run(w.method, func(b *testing.B) { s.measure(b, w) })
		}
	}
}

// Sessions measures GetSessionAndUser as [Run] does, among 1,000, 100,000 and 1,000,000 sessions, but not among
// more than the number most. Its time should not grow faster than that of its baseline. Each call reads a random
// session. Ten sessions belong to one user.
//
// Fill writes the sessions with the tokens SessionToken(from) to SessionToken(to-1), and their users, to the
// store of the adapter. It may write to the store without the adapter, if the records are the same as those that
// the adapter writes. The records must stay until the clean-up of the adapter that was opened. If Fill is nil,
// the adapter writes the sessions, which may take long.
//
// The baseline may be another product that reads a session from the same server: it must only return a record.
func Sessions(b *testing.B, h adaptertest.Harness, baseline Baseline, most int, fill func(tb testing.TB, a adapter.Adapter, from, to int)) {
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
				s.measure(b, workload{"GetSessionAndUser", func(testing.TB, *benchmarks, *kit.Records) kit.Call {
					k := kit.Records{Draft: kit.Draft{Session: adapter.Session{SessionToken: SessionToken(rand.IntN(size))}}}
					return finding(k.CallOf("GetSessionAndUser"))
				}})
			})
		}
	})
}

// Trips has the numbers of round trips that calls of one method take.
type Trips struct {
	First int64 // the first call on a handle
	Later int64 // the median of the calls after it
}

// RoundTrips counts the steps of each method with adaptertest.Harness.Faults: round trips through a [fault.Proxy],
// statements through a [fault.Driver]. For each method Harness.Second opens a new handle. To keep the opening of
// connections out of the count, Second should return a handle with a single connection that it has already used.
func RoundTrips(tb testing.TB, h adaptertest.Harness) map[string]Trips {
	tb.Helper()
	if h.Second == nil || h.Faults == nil {
		tb.Fatal("adaptertest: counting round trips takes Harness.Second and Harness.Faults")
	}
	s := newBenchmarks(tb, h, nil, 1)
	trips := map[string]Trips{}
	for _, w := range workloads {
		if s.c.Works(w.method) {
			trips[w.method] = s.roundTrips(tb, w)
		}
	}
	return trips
}

func newBenchmarks(tb testing.TB, h adaptertest.Harness, baseline Baseline, population int) *benchmarks {
	tb.Helper()
	if h.New == nil {
		tb.Fatal("adaptertest: Harness.New is nil: it must open the adapter under test")
	}
	run := kit.NewRun(&kit.Harness{New: h.New, Second: h.Second, Faults: h.Faults}, rand.Uint64(), 1)
	s := &benchmarks{c: run.NewContext("BENCH")}
	s.c.Ctx = tb.Context()
	s.adapter = h.New(tb)
	s.c.Raw = s.adapter
	s.c.Missing, _ = kit.MissingMethods(s.adapter)
	s.c.Optional = kit.MethodsThat(kit.Method.Optional) // the 19 methods are measured
	if baseline != nil {
		var err error
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
