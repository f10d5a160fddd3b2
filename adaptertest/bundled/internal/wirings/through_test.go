package wirings_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/through"
	"github.com/stretchr/testify/assert"
)

var whole = flag.Bool("whole", false, "run the tests of many wirings, methods and rounds as a whole, which takes long")

// mostCost is how much longer the full form may take through the protocol over PostgreSQL.
const mostCost = 1.5

// TestThroughProtocol compares the verdicts over adapters through the protocol with those of
// direct runs, and prints what the protocol costs.
func TestThroughProtocol(t *testing.T) {
	chosen, rounds := []string{"memory, one process"}, adaptertest.QuickRounds
	if *whole {
		chosen, rounds = append(chosen, "postgres, cached statements"), 1
	}
	servers := wiringstest.Servers(t, stores.Options{Fast: true})
	for _, name := range chosen {
		t.Run(name, func(t *testing.T) {
			o := wiringstest.Open(t, named(name), servers)
			cost := throughCost(t, o.Harness, adaptertest.Options{Seed: 1, Rounds: rounds})
			assert.Falsef(t, strings.HasPrefix(name, "postgres") && cost > mostCost,
				"the run through the protocol took %.2f times the direct one, want at most %v", cost, mostCost)
		})
	}
}

func named(name string) wirings.Wiring {
	all := wirings.All()
	return all[slices.IndexFunc(all, func(w wirings.Wiring) bool { return w.String() == name })]
}

// throughCost runs the suite directly and through the protocol, compares the verdicts, and returns
// how many times as long the second run took.
func throughCost(t *testing.T, h adaptertest.Harness, options adaptertest.Options) float64 {
	t.Helper()
	var reports []*adaptertest.Report
	for _, h := range []adaptertest.Harness{h, through.Harness(h)} {
		report := must(adaptertest.Check(t.Context(), h, options))(t)
		reports = append(reports, report)
	}
	direct, remote := reports[0], reports[1]
	for _, d := range through.Differences(direct, remote) {
		t.Error(d)
	}
	cost := float64(remote.Duration) / float64(direct.Duration)
	t.Logf("directly %v, through the protocol %v: %.2f times", direct.Duration.Round(time.Millisecond), remote.Duration.Round(time.Millisecond), cost)
	return cost
}
