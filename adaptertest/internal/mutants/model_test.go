package mutants

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory/memorytest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBrokenModelIsNoticed breaks the model that histories and sequences are judged with. Correct
// adapters, which have no code of the model, fail then.
func TestBrokenModelIsNoticed(t *testing.T) { // not parallel: the model is one for all
	memory := memorytest.Harness()
	memory.Name = "adapters/memory"
	t.Cleanup(func() { model.Broken = "" })
	for _, h := range append(Bases(), memory) {
		for _, method := range []string{"UpdateUser", "UpdateSession", "UseVerificationToken", "UpdateAuthenticatorCounter"} {
			for _, clause := range []string{"CONC-14", "ISO-05"} {
				noticed := false
				for try := 0; try < 50 && !noticed; try++ { // the method may not be among the few calls of a short run on a busy machine
					model.Broken = method
					report, err := adaptertest.Check(t.Context(), h, adaptertest.Options{Only: []string{clause}, Rounds: 0.1})
					model.Broken = ""
					require.NoError(t, err)
					result, _ := report.Result(clause)
					noticed = result.Outcome == adaptertest.Fail
				}
				assert.Truef(t, noticed, "%s passes %s with a model that loses the change of %s", h.Name, clause, method)
			}
		}
	}
}
