package sqlite_test

import (
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
)

func TestConformance(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		if testing.Short() && w.name != wirings[0].name {
			t.Skip("LEFT OUT: -short runs the suite with one driver")
		}
		conform(t, w.name, w.settings(t))
	})
}

// TestConformanceOfSites runs the suite on the tables of other products, as they are and
// after SchemaChanges.
func TestConformanceOfSites(t *testing.T) {
	if os.Getenv("ADAPTERTEST_ROUNDS") == "" {
		t.Setenv("ADAPTERTEST_ROUNDS", "0.2") // TestConformance runs all rounds of the races in the same code
	}
	for _, site := range []string{"Prisma", "Drizzle"} {
		for name, asTheyAre := range map[string]bool{"as they are": true, "after SchemaChanges": false} {
			t.Run(site+", "+name, func(t *testing.T) {
				if testing.Short() && !asTheyAre {
					t.Skip("LEFT OUT: -short runs the suite on the tables as they are")
				}
				s := wirings[0].settings(t)
				s.Site, s.AsTheyAre = site, asTheyAre
				conform(t, site+", "+name, s)
			})
		}
	}
}

// conform runs the suite. Every clause must be verified.
func conform(t *testing.T, name string, s sqlitetest.Settings) {
	t.Helper()
	h := s.Harness()
	h.Name = "sqlite (" + name + ")"
	for _, x := range adaptertest.Run(t, h).With(adaptertest.NotVerified) {
		t.Errorf("%s is not verified: %s", x.Clause.ID, x.Reason)
	}
}

// settings open files with the driver of the wiring.
func (w wiring) settings(t testing.TB) sqlitetest.Settings {
	t.Helper()
	db := w.openDB(t, ":memory:")
	return sqlitetest.Settings{Driver: db.Driver(), Parameters: parameters, Conns: 8}
}
