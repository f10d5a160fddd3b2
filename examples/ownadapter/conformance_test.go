// Package ownadapter shows how the author of an adapter runs the conformance
// suite. The memory adapter stands for the author's own.
package ownadapter

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter { return memory.New() },
	})
}
