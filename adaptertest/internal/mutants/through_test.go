package mutants

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/through"
)

// TestBasesThroughProtocol compares each verdict over the correct adapters through the
// protocol with that of the direct run.
func TestBasesThroughProtocol(t *testing.T) {
	for _, h := range Bases() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			options := adaptertest.Options{Rounds: adaptertest.QuickRounds, Parallel: 4}
			direct, err := adaptertest.Check(t.Context(), h, options)
			if err != nil {
				t.Fatal(err)
			}
			remote, err := adaptertest.Check(t.Context(), through.Harness(h), options)
			if err != nil {
				t.Fatal(err)
			}
			compareVerdicts(t, direct, remote)
		})
	}
}

// compareVerdicts reports the clauses whose outcomes differ, besides those that can't be
// verified through any program.
func compareVerdicts(t *testing.T, direct, remote *adaptertest.Report) {
	t.Helper()
	for _, d := range direct.Results {
		r, _ := remote.Result(d.Clause.ID)
		unverifiable := d.Clause.Group() == "ALIAS" || d.Clause.ID == "LIFE-04" || d.Clause.ID == "LIFE-09"
		if unverifiable && r.Outcome == adaptertest.NotVerified {
			continue
		}
		if d.Outcome != r.Outcome || unverifiable {
			t.Errorf("%s is %q directly, and through the protocol %q: %s\n%s", d.Clause.ID, d.Outcome, r.Outcome, r.Reason, strings.Join(r.Evidence, "\n"))
		}
	}
}
