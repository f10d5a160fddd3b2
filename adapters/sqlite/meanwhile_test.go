package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestChangesMeanwhile: while the adapter runs, somebody changes the tables in ways that leave
// them usable. It keeps the clauses all the same, also those about conflicts.
func TestChangesMeanwhile(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		path := filepath.Join(t.TempDir(), "test.db")
		a, other := newAdapter(t, w.openDB(t, path)), w.openDB(t, path)
		newUser(t, a, "somebody@example.com")
		for _, change := range []string{
			`ALTER TABLE "user" ADD own TEXT`, `ALTER TABLE "session" ADD own INTEGER NOT NULL DEFAULT 1`, `ALTER TABLE "user" DROP own`,
			`CREATE INDEX own ON "user" (name)`, `CREATE TABLE log (id TEXT)`,
			`CREATE TRIGGER noted AFTER INSERT ON "user" BEGIN INSERT INTO log VALUES (NEW.id); END`, `VACUUM`, `ANALYZE`, `REINDEX`,
		} {
			run(t, other, change)
			report := must(adaptertest.Check(t.Context(), adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return a }},
				adaptertest.Options{Rounds: adaptertest.QuickRounds, Only: []string{
					"ACCT-06", "ACCT-16", "SESS-02", "SESS-05", "SESS-08", "USER-11", "USER-22", "ERR-05", "ERR-06", "ERR-11",
				}}))(t)
			for _, r := range report.Failed() {
				t.Errorf("%s: %s: %s %s", change, r.Clause.ID, r.Reason, strings.Join(r.Evidence, "\n"))
			}
		}
	})
}
