package mongo_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// TestConformance runs the clauses on each server. A SHOULD counts as a MUST,
// every clause is verified, and nothing is waived.
func TestConformance(t *testing.T) {
	t.Setenv("ADAPTERTEST_STRICT", "1")
	onEachServer(t, func(t *testing.T, s server) {
		h := s.env(t).Harness()
		h.Name, h.Version = "mongo, "+s.name, s.version(t)
		for _, x := range adaptertest.Run(t, h).With(adaptertest.NotVerified) {
			t.Errorf("%s is not verified: %s", x.Clause.ID, x.Reason)
		}
	})
}
