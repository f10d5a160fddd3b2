package kit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// shortOfTime is a clause of a brief run that has had its time.
func shortOfTime(seed uint64) *Context {
	c := &Context{Budget: newBudget(0.1, true, rand.New(rand.NewPCG(seed, 0)))}
	c.enoughAt = time.Now().Add(-time.Second)
	return c
}

func TestOneCaseIsTriedInAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		c := shortOfTime(seed)
		came := 0
		Each(c, []string{"absent", "GetUser", "UpdateUser"}, func(method string) []string { return []string{method} }, func(method string) bool {
			if method == "absent" {
				return false // which is no case
			}
			came++
			return true
		})
		assert.Equalf(t, 1, came, "seed %d: %d cases, want 1", seed, came)
	}
}

func TestOneStepIsTriedInAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		for steps := range 6 {
			came := 0
			InTurn(shortOfTime(seed), 40, func(step int) bool {
				if step > steps {
					return false
				}
				came++
				return true
			})
			want := min(steps, 1)
			assert.Equalf(t, want, came, "seed %d, a call of %d steps: %d steps, want %d", seed, steps, came, want)
		}
	}
}
