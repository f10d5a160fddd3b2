package bench

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// Trips has the numbers of round trips that calls of one method take.
type Trips struct {
	First int64 // the first call on a handle
	Later int64 // the median of the calls after it
}

// RoundTrips counts the steps of each method with adaptertest.Harness.Faults: round trips
// through a [fault.Proxy], statements through a [fault.Driver]. For each method
// Harness.Second opens a new handle. To keep the opening of connections out of
// the count, Second should return a handle with a single connection that it has
// already used.
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
