package wirings

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func memoryWirings() []Wiring {
	return []Wiring{{Adapter: "memory", Name: "one process",
		open: func(context.Context, *stores.Stores) (*Opened, error) {
			open := func(testing.TB) adapter.Adapter { return memory.New() }
			return &Opened{Server: "Go maps", Harness: adaptertest.Harness{
				New:    open,
				Single: open, // its lock is as narrow as one connection
				Second: func(_ testing.TB, a adapter.Adapter) adapter.Adapter {
					second := *a.(*memory.Adapter)
					return &second
				},
				Declarations: adaptertest.Declarations{Volatile: "records live as long as the adapter", Precision: time.Nanosecond, Timeless: true, NoPooler: "maps have no pooler"},
			}}, nil
		}}}
}
