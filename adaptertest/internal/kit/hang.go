package kit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/deadlock"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/goroutines"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// hangs reports that no call of a clause has returned for a time. It is one finding in the whole run: the first
// clause has it, and the others name that clause. What the clause finds later follows from it, and is no breach.
func hangs(c *Context, what string, waited time.Duration) {
	stacks := goroutines.Others()
	said := what + " hangs: no call has returned"
	if calls := c.Trace.underWay(); len(calls) > 0 {
		said = strings.Join(calls, " or ") + " has not returned"
	}
	hang(c, fmt.Sprintf("%s for %v; %s\nthis was during %s; %s\n%s", said, waited.Round(time.Millisecond),
		goroutines.InAdapter(stacks), what, c.Trace.before(), goroutines.FirstLines(stacks)), 1)
}

// waited reports that a call failed after a long wait, though no other call was under way: an
// earlier call keeps what it waited for. The second such call of a run ends the run, because
// each clause would wait and then fail for this reason.
func waited(c *Context, m MadeCall, took time.Duration) {
	if took < longWait || m.Err == nil || c.asked || c.Ctx.Err() != nil || deadlock.Code(m.Err) != "" ||
		errors.Is(m.Err, adapter.ErrConflict) || errors.Is(m.Err, adapter.ErrNotFound) || len(c.Trace.underWay()) > 0 {
		return
	}
	if c.Run.waits.Add(1) > 1 {
		hang(c, fmt.Sprintf("%s\nthe call waited for %v; %s", m, took.Round(time.Millisecond), c.Trace.before()), HangLimit)
	}
}

// longWait is shorter than the time-outs for locks that drivers have.
const longWait = 4 * time.Second

// hang keeps what hangs in a clause, once, and so many hangs of the run.
func hang(c *Context, what string, count int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.hang != "" {
		return
	}
	r := c.Run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hangs, r.hang = r.hangs+count, cmp.Or(r.hang, c.Clause)
	c.hang, c.hangsAs = what, r.hang
}
