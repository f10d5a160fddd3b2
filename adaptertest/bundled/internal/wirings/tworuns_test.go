package wirings_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
)

// atMost is how long a wiring may take. A server that hangs must not take the time of the others.
const atMost = 10 * time.Minute

// TestSuiteRunsTwiceOverOneStore runs two clauses that store keys which resemble others or look like numbers, twice with
// one seed over one store of each wiring. The second run meets the records of the first. TestTwoRunsShareNoKeys of
// adaptertest compares the keys of all clauses. Without -whole it takes the first wiring of each adapter.
func TestSuiteRunsTwiceOverOneStore(t *testing.T) {
	servers := wiringstest.Servers(t, stores.Options{Fast: true})
	var seen []string
	for _, w := range wirings.All() {
		store, _, _ := strings.Cut(w.String(), ",")
		if !*whole && slices.Contains(seen, store) {
			continue
		}
		seen = append(seen, store)
		t.Run(strings.ReplaceAll(w.String(), ", ", "/"), func(t *testing.T) {
			t.Parallel() // mostly waits for servers that start
			ctx, cancel := context.WithTimeout(t.Context(), atMost)
			t.Cleanup(cancel)
			h := wiringstest.Open(t, w, servers).Harness
			store := h.New(t)
			h = adaptertest.Harness{
				New:          func(testing.TB) adapter.Adapter { return store },
				Declarations: h.Declarations, NewID: h.NewID, Waivers: h.Waivers,
			}
			for range 2 {
				report, err := adaptertest.Check(ctx, h, adaptertest.Options{Seed: 1, Rounds: adaptertest.QuickRounds, Only: []string{"SESS-04", "DATA-05"}, Parallel: 2})
				require.NoError(t, err)
				for _, x := range report.Failed() {
					t.Errorf("%s: %s", x.Clause.ID, strings.Join(x.Evidence, "\n"))
				}
			}
		})
	}
}
