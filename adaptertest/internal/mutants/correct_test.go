package mutants

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCorrectAdaptersOfOtherKinds runs the quick groups of the suite on each. The
// command has a flag for all groups.
func TestCorrectAdaptersOfOtherKinds(t *testing.T) {
	for _, k := range AllCorrect() {
		t.Run(strings.ReplaceAll(k.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			report, err := adaptertest.Check(t.Context(), k.Harness(), adaptertest.Options{Only: k.Quick(), Rounds: rounds(0.03, 0.2)})
			require.NoError(t, err)
			for _, x := range report.With(adaptertest.Fail) {
				assert.Containsf(t, k.Except, x.Clause.ID,
					"%s %s: %s\n%s", x.Clause.Level, x.Clause.ID, x.Clause.Rule, strings.Join(x.Evidence, "\n"))
			}
		})
	}
}
