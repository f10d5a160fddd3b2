package postgres_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
)

var everyWiring = flag.Bool("every-wiring", false, "TestConformance runs in every wiring, which takes minutes")

// TestConformance runs the suite for each wiring in its own database; by
// default it takes only the wirings that differ most. TestMethods calls every
// method in all of them.
func TestConformance(t *testing.T) {
	for _, w := range slices.Concat(wirings, siteWirings) {
		if !*everyWiring && !w.telling {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := w.env(t).Harness()
			h.Name = "postgres, " + w.name
			adaptertest.Run(t, h)
		})
	}
}

// env makes a database that is dropped at the end of the test.
func (w wiring) env(t testing.TB) *postgrestest.Env {
	t.Helper()
	settings := postgrestest.Settings{URL: serverURL(t, postgresURL), PooledURL: os.Getenv(pgbouncerURL),
		OnlyPooled: w.pooler, Mode: w.mode, Conns: w.maxConns, Zone: w.zone, AuthJS: w.authJS, Site: w.site, AsTheyAre: w.asIs, Driver: w.driver}
	env := must(postgrestest.Open(t.Context(), settings))(t)
	t.Cleanup(func() { assert.NoError(t, env.Close(context.Background())) })
	return env
}
