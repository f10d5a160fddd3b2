package wirings_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/stretchr/testify/assert"
)

// absent has the functions that the harness of an adapter leaves out. Without a
// function, the clauses that need it are not verified, and no other test fails.
var absent = map[string]string{
	"memory":   "CheckHandle Clock Connections Corrupt Faults Foreign Inspect Limited Namespace NewID Pooled Quoting ReadOnly Reduced Refusing Reopen Settings Sweep",
	"sqlite":   "Clock NewID Pooled ReadOnly Reduced Sweep",
	"postgres": "Clock NewID Sweep",
	"mysql":    "Clock NewID Pooled Sweep",
	"redis":    "Clock NewID Pooled Sweep",
	"mongo":    "Clock Pooled Sweep",
}

// TestHarnessesKeepTheirFunctions compares the functions of the bundled harnesses
// with absent.
func TestHarnessesKeepTheirFunctions(t *testing.T) {
	servers := wiringstest.Servers(t, stores.Options{})
	seen := map[string]bool{}
	for _, w := range wirings.All() {
		if seen[w.Adapter] {
			continue
		}
		seen[w.Adapter] = true
		t.Run(w.Adapter, func(t *testing.T) {
			o := wiringstest.Open(t, w, servers)
			assert.Equal(t, absent[w.Adapter], strings.Join(functionsWithout(o.Harness), " "), "the harness leaves out")
		})
	}
}

// functionsWithout returns the names of the functions that a harness leaves out.
func functionsWithout(h adaptertest.Harness) (names []string) {
	for f, v := range reflect.ValueOf(h).Fields() {
		if f.Type.Kind() == reflect.Func && v.IsNil() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}
