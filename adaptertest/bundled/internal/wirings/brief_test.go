package wirings_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
)

// TestMySQLInBrief runs the suite with few rounds over MySQL 9. The tests of adapters/mysql run it over MariaDB.
func TestMySQLInBrief(t *testing.T) {
	o := wiringstest.Open(t, named("mysql, MySQL 9"), wiringstest.Servers(t, stores.Options{Fast: true}))
	report := must(adaptertest.Check(t.Context(), o.Harness, adaptertest.Options{Rounds: adaptertest.QuickRounds}))(t)
	for _, r := range report.Failed() {
		t.Errorf("%s: %s %s", r.Clause.ID, r.Reason, strings.Join(r.Evidence, "\n"))
	}
	t.Log(report.Verdict())
}
