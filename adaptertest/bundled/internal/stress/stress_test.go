package stress_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
)

var (
	tokens = flag.Int("tokens", 320, "how many tokens are tested in each wiring")
	rounds = flag.Int("rounds", 1, "how often each server is killed")
	groups = flag.Bool("groups", false, "test Galera too, whose nodes take a while to start")
)

// galera are the wirings that are stressed with -groups.
var galera = []string{"mysql, Galera of three"}

// stressed are the wirings that the tests run over. Each keeps the tested promises in another way.
var stressed = []string{
	"memory, one process", "sqlite, modernc", "postgres, cached statements", "postgres, PgBouncer, transaction mode",
	"mysql, MariaDB", "mysql, MySQL 9",
	"redis, one server", "redis, cluster of three", "mongo, standalone", "mongo, replica set of three",
}

// each runs the test over every stressed wiring. If the server of a wiring is not available on this machine, the test is
// skipped with a message; with CI=true it fails.
func each(t *testing.T, servers *stores.Stores, test func(t *testing.T, w wirings.Wiring, o *wirings.Opened)) {
	t.Helper()
	inWirings(t, stressed, servers, test)
}

// onGalera runs the test over galera, as each does.
func onGalera(t *testing.T, test func(t *testing.T, w wirings.Wiring, o *wirings.Opened)) {
	t.Helper()
	if !*groups {
		t.Skip("LEFT OUT: Galera is stressed with -groups, as make stress does")
	}
	t.Setenv(stores.EnvGalera, "") // the test may kill only nodes that this run started
	inWirings(t, galera, wiringstest.Servers(t, stores.Options{}), test)
}

// inWirings runs the test over some of the stressed wirings, as each does.
func inWirings(t *testing.T, names []string, servers *stores.Stores, test func(t *testing.T, w wirings.Wiring, o *wirings.Opened)) {
	t.Helper()
	for _, w := range wirings.All() {
		if !slices.Contains(names, w.String()) {
			continue
		}
		t.Run(w.String(), func(t *testing.T) {
			if testing.Short() && w.String() != stressed[0] {
				t.Skip("LEFT OUT: -short tests memory only")
			}
			test(t, w, wiringstest.Open(t, w, servers))
		})
	}
}
