package main

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return memory.New() }})
}
