package faults

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/stretchr/testify/assert"
)

// A clause of a brief run that has had its time tries one point.
func TestOnePointIsTriedInAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := kit.NewRun(&kit.Harness{}, seed+1, 0.1)
			r.Hurried = true
			c := r.NewContext("CTX-01")
			_ = c.Enough()          // its time begins
			time.Sleep(time.Second) // of the bubble, which takes no time
			came := 0
			eachPoint(c, []string{"one", "two", "three"}, 4, 1, func(method string, _ int) bool {
				if method == "two" {
					came++
				}
				return method == "two"
			})
			assert.Equalf(t, 1, came, "seed %d: %d points, want 1", seed, came)
		})
	}
}
