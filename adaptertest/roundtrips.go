package adaptertest

import "testing"

// Trips has the numbers of round trips that calls of one method take.
type Trips struct {
	First int64 // the first call on a handle
	Later int64 // the median of the calls after it
}

// RoundTrips counts the steps of each method with Harness.Faults: round trips
// through a [fault.Proxy], statements through a [fault.Driver]. For each method
// Harness.Second opens a new handle. To keep the opening of connections out of
// the count, Second should return a handle with a single connection that it has
// already used.
func RoundTrips(tb testing.TB, h Harness) map[string]Trips {
	tb.Helper()
	if h.Second == nil || h.Faults == nil {
		tb.Fatal("adaptertest: counting round trips takes Harness.Second and Harness.Faults")
	}
	s := newBenchmarks(tb, h, nil, 1)
	trips := map[string]Trips{}
	for _, w := range workloads {
		if s.c.works(w.method) {
			trips[w.method] = s.roundTrips(tb, w)
		}
	}
	return trips
}

// roundTrips counts the steps of a few calls.
func (s *benchmarks) roundTrips(tb testing.TB, w workload) Trips {
	tb.Helper()
	h := s.c.harness()
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
	trips.Later = median(later)
	return trips
}
