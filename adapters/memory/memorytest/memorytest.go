// Package memorytest opens in-memory adapters for the tests of this module and for
// the tests of all bundled adapters. The package promises nothing: it changes in
// any version, as the tests need.
package memorytest

import (
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Open returns an adapter without records.
func Open(testing.TB) adapter.Adapter { return memory.New() }

// inProcess says why nobody else uses, fills or guards the records.
const inProcess = "the records are in the memory of the process"

// Harness opens adapters that share no records.
func Harness() adaptertest.Harness {
	return adaptertest.Harness{
		Name:     "memory",
		Parallel: 8,
		New:      Open,
		Second: func(_ testing.TB, a adapter.Adapter) adapter.Adapter {
			second := *a.(*memory.Adapter) // another handle on the same maps
			return &second
		},
		Close:  func(adapter.Adapter) error { return nil }, // there is nothing to close
		Single: Open,                                       // one lock is as narrow as one connection
		Declarations: adaptertest.Declarations{
			Volatile:  "the records are in the memory of the process",
			Precision: time.Nanosecond,
			Timeless:  true,
			NoPooler:  "maps have no pooler",
			NoSite: map[string]string{"Foreign": inProcess, "Settings": inProcess, "ReadOnly": inProcess, "Quoting": inProcess,
				"Reduced": inProcess, "Refusing": inProcess},
		},
	}
}
