package kit

import (
	"time"
)

// Pause waits for d. It is for events that give no signal.
func Pause(c *Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.Ctx.Done():
		c.Fatalf("the clause ran out of time")
	}
}
