package sqlite_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
)

func TestConformance(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		if testing.Short() && w.name != wirings[0].name {
			t.Skip("LEFT OUT: -short runs the suite with one driver")
		}
		h := w.settings(t).Harness()
		h.Name = "sqlite (" + w.name + ")"
		for _, x := range adaptertest.Run(t, h).With(adaptertest.NotVerified) {
			t.Errorf("%s is not verified: %s", x.Clause.ID, x.Reason)
		}
	})
}

// settings open files with the driver of the wiring.
func (w wiring) settings(t testing.TB) sqlitetest.Settings {
	t.Helper()
	db := w.openDB(t, ":memory:")
	return sqlitetest.Settings{Driver: db.Driver(), Parameters: parameters, Conns: 8}
}
