package main

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The README shows this test.
func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{
		New:      func(t testing.TB) adapter.Adapter { return memory.New() },
		Parallel: 4, // clauses at once, each with an adapter of its own
	})
}
