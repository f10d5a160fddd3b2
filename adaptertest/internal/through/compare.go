package through

import (
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// Differences describes the clauses whose outcome through the protocol is not that of the direct
// run. The clauses about memory are not verified through any program.
func Differences(direct, through *adaptertest.Report) (found []string) {
	for _, d := range direct.Results {
		t, _ := through.Result(d.Clause.ID)
		want := d.Outcome
		if d.Clause.Group() == "ALIAS" && want != adaptertest.NotApplicable {
			want = adaptertest.NotVerified
		}
		if t.Outcome != want {
			found = append(found, fmt.Sprintf("%s is %q directly, and through the protocol %q: %s\n%s\n%s",
				d.Clause.ID, d.Outcome, t.Outcome, t.Reason, strings.Join(d.Evidence, "\n"), strings.Join(t.Evidence, "\n")))
		}
	}
	return found
}
