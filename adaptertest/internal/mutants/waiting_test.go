package mutants

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soon is how long the quick form may take on an adapter that waits.
const soon = 2 * time.Minute

// waiting are mutants whose calls wait for ever, or for the time-out of a lock.
var waiting = []string{
	"miss leaves a transaction open",
	"miss keeps the lock",
	"miss keeps its connection",
}

// TestWaitingMutantsEndSoon runs the quick form, as an author does: it fails in time, with clauses
// that were not reached and one call that hangs.
func TestWaitingMutantsEndSoon(t *testing.T) {
	found := map[string]Mutant{}
	for _, m := range All() {
		found[m.Name] = m
	}
	for i, name := range waiting {
		if testing.Short() && i > 0 {
			break // the others run without -short
		}
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			m, ok := found[name]
			require.True(t, ok, "there is no such mutant")
			h := m.Harness()
			h.Parallel = 4
			report, err := adaptertest.Check(t.Context(), h, adaptertest.Options{Rounds: adaptertest.QuickRounds})
			require.NoError(t, err)
			assert.Truef(t, report.Duration <= soon, "the run took %v, want at most %v", report.Duration, soon)
			var hang []string
			for _, x := range report.With(adaptertest.Fail) {
				if x.Reason == "a call hangs" {
					hang = append(hang, x.Clause.ID)
				}
			}
			assert.Truef(t, len(hang) == 1 && report.Verdict() == "fails" && len(report.With(adaptertest.NotReached)) > 0,
				"calls hang in %v, want one clause; %s", hang, report.Summary())
		})
	}
}
