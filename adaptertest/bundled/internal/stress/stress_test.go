package stress_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/stretchr/testify/require"
)

var (
	tokens = flag.Int("tokens", 320, "how many tokens are tested in each wiring")
	rounds = flag.Int("rounds", 1, "how often each server is killed")
	groups = flag.Bool("groups", false, "test more than one wiring of each store, and groups of servers that take a while to start")
)

// galera are the wirings that are stressed with -groups.
var galera = []string{"mysql, Galera of three"}

// oneOfEach are the wirings that the tests run over, and further those that they also run over with -groups. Each keeps the
// tested promises in another way.
var (
	oneOfEach = []string{
		"memory, one process", "sqlite, modernc", "postgres, cached statements", "mysql, MariaDB", "redis, one server", "mongo, standalone",
	}
	further = []string{"postgres, PgBouncer, transaction mode", "mysql, MySQL 9", "redis, cluster of three", "mongo, replica set of three"}
)

// each runs the test over every stressed wiring. If the server of a wiring is not available on this machine, the test is
// skipped with a message; with CI=true it fails.
func each(t *testing.T, servers *stores.Stores, test func(t *testing.T, w wirings.Wiring, o *wirings.Opened)) {
	t.Helper()
	names := oneOfEach
	if *groups {
		names = slices.Concat(oneOfEach, further)
	}
	inWirings(t, names, servers, test)
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
			if testing.Short() && w.String() != oneOfEach[0] {
				t.Skip("LEFT OUT: -short tests memory only")
			}
			test(t, w, wiringstest.Open(t, w, servers))
		})
	}
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
