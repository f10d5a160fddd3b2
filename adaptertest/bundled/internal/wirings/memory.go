package wirings

import (
	"context"

	"github.com/gatehouse-go/gatehouse/adapters/memory/memorytest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func memoryWirings() []Wiring {
	return []Wiring{{Adapter: "memory", Name: "one process",
		open: func(context.Context, *stores.Stores) (*Opened, error) {
			return &Opened{Server: "Go maps", Harness: memorytest.Harness()}, nil
		}}}
}
