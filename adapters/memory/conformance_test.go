package memory_test

import (
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestConformance(t *testing.T) {
	open := func(testing.TB) adapter.Adapter { return memory.New() }
	adaptertest.Run(t, adaptertest.Harness{
		Name: "memory",
		New:  open,
		Second: func(_ testing.TB, a adapter.Adapter) adapter.Adapter {
			second := *a.(*memory.Adapter)
			return &second
		},
		Close:  func(adapter.Adapter) error { return nil }, // there is nothing to close
		Single: open,                                       // one lock is as narrow as one connection
		Declarations: adaptertest.Declarations{
			Volatile:  "the records are in the memory of the process",
			Precision: time.Nanosecond,
			Timeless:  true,
		},
	})
}
