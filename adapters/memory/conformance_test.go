package memory_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory/memorytest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
)

func TestConformance(t *testing.T) { adaptertest.Run(t, memorytest.Harness()) }
