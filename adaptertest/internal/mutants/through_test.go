package mutants

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/through"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBasesThroughProtocol compares each verdict over the correct adapters through the
// protocol with that of the direct run. adaptertest/bundled does so for adapters in use.
func TestBasesThroughProtocol(t *testing.T) {
	if !*whole {
		t.Skip("LEFT OUT: the bases run through the protocol with -whole, as in make whole")
	}
	for _, h := range Bases() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			options := adaptertest.Options{Rounds: adaptertest.QuickRounds, Parallel: 4}
			direct, err := adaptertest.Check(t.Context(), h, options)
			require.NoError(t, err)
			remote, err := adaptertest.Check(t.Context(), through.Harness(h), options)
			require.NoError(t, err)
			for _, d := range through.Differences(direct, remote) {
				t.Error(d)
			}
		})
	}
}

// sampled is the share of the broken adapters that TestMutantsThroughProtocol judges: one of so many.
const sampled = 16

// The reasons why the suite does not notice a broken adapter through the protocol.
const (
	noMemory  = "programs share no memory"
	neverCall = "a method that the program does not name is never called"
	noCause   = "an answer says that the context has ended, and not why"
)

// unnoticed are the broken adapters that the suite does not notice through the protocol.
var unnoticed = map[string]string{
	"argument is tidied up":                       noMemory,
	"argument kept":                               noMemory,
	"authorization details of the argument kept":  noMemory,
	"concurrent lists share one slice":            noMemory,
	"concurrent reads share one record":           noMemory,
	"details of listed accounts lie in one array": noMemory,
	"list shares its elements":                    noMemory,
	"listed accounts share equal texts":           noMemory,
	"sign-up changes the caller's authenticator":  noMemory,
	"sign-up names the owner in the argument":     noMemory,
	"stored object handed out":                    noMemory,
	"token type of the argument is folded":        noMemory,
	"update kept in a cache":                      noMemory,
	"updated authorization details kept":          noMemory,
	"updated session handed out":                  noMemory,
	"user of a sign-up kept":                      noMemory,
	"missing method fails like any other":         neverCall,
	"missing method panics":                       neverCall,
	"missing method reports success":              neverCall,
	"cause in place of the context's error":       noCause,
	"cause in place of the error of a lookup":     noCause,
	"each call watches its context":               "the server ends the context of each call with the call",
	"cache is shared by all adapters":             "a program may have one store for all that it opens",
	"monotonic clock stored as text":              "an instant of the protocol has no reading of a monotonic clock",
	"taken credential is not found":               "an error of the protocol has one kind",
}

// aloneTries is how often a broken adapter is judged when no other is.
const aloneTries = 5

// TestMutantsThroughProtocol judges broken adapters through the protocol: each of them fails a
// clause that is named for it. One whose times tell it, or whose race did not show beside the
// others, is judged alone afterwards, since on a busy machine a run may notice neither.
func TestMutantsThroughProtocol(t *testing.T) {
	known := map[string]bool{}
	var mu sync.Mutex
	var alone []Mutant
	later := func(m Mutant) {
		mu.Lock()
		defer mu.Unlock()
		alone = append(alone, m)
	}
	t.Run("together", func(t *testing.T) {
		for i, m := range All() {
			known[m.Name] = true
			if len(m.clauses()) == 0 || !*whole && i%sampled != 0 {
				continue
			}
			if slices.Contains(m.Fails, "VOL-04") {
				later(m)
				continue
			}
			t.Run(strings.ReplaceAll(m.Name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				missed, reason := missedThrough(t, m), unnoticed[m.Name]
				switch {
				case missed != "" && reason == "":
					later(m)
				case missed == "" && reason != "":
					t.Errorf("%s: noticed through the protocol, and yet a reason is given why it is not: %s", m.Fault, reason)
				}
			})
		}
	})
	for _, m := range alone {
		t.Run(strings.ReplaceAll(m.Name, " ", "-"), func(t *testing.T) {
			missed := missedThrough(t, m)
			for try := 1; missed != "" && try < aloneTries; try++ {
				missed = missedThrough(t, m)
			}
			assert.Emptyf(t, missed, "%s: not noticed through the protocol, and no reason is given", m.Fault)
		})
	}
	for name := range unnoticed {
		assert.Truef(t, known[name], "there is no broken adapter %q", name)
	}
}

// missedThrough judges a broken adapter through the protocol. It returns the outcomes of the clauses
// that are named for it if it fails none of them.
func missedThrough(t *testing.T, m Mutant) string {
	t.Helper()
	v, err := Judge(t.Context(), m, false, Protocol)
	require.NoError(t, err)
	if len(v.Failed) > 0 {
		return ""
	}
	return fmt.Sprint(v.Missed)
}
