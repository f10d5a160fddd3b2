package kit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// stateError is an error with a code of PostgreSQL.
type stateError string

func (e stateError) Error() string    { return "the store said no" }
func (e stateError) SQLState() string { return string(e) }

// TestWaitedCallsEndTheRun counts the calls that failed after a long wait: the second one is the
// finding of its clause, and other clauses are not reached and find no breach.
func TestWaitedCallsEndTheRun(t *testing.T) {
	locked := errors.New("database is locked")
	for what, x := range map[string]struct {
		err          error
		took         time.Duration
		asked, ended bool
		beside, want bool
	}{
		"a wait":                            {err: locked, took: 5 * time.Second, want: true},
		"a failure at once":                 {err: locked, took: time.Second},
		"a slow success":                    {took: 5 * time.Second},
		"a slow refusal":                    {err: adapter.ErrConflict, took: 5 * time.Second},
		"a deadlock":                        {err: stateError("40P01"), took: 5 * time.Second},
		"a wait under a fault":              {err: locked, took: 5 * time.Second, asked: true},
		"a wait that the suite has ended":   {err: context.Canceled, took: 5 * time.Second, ended: true},
		"a wait while another call goes on": {err: locked, took: 5 * time.Second, beside: true},
	} {
		r := NewRun(&Harness{}, 1, 1)
		ctx, end := context.WithCancel(t.Context())
		if x.ended {
			end()
		}
		c, other := r.NewContext("VTOK-02"), r.NewContext("USER-01")
		c.Ctx, c.asked = ctx, x.asked
		if x.beside {
			c.Trace.Begin(Call{Method: "GetUser"})
		}
		c.Trace.add("UseVerificationToken", []any{"x"}, nil, nil)
		for range 2 {
			waited(c, MadeCall{Method: "CreateUser", Args: []any{"y"}, Err: x.err}, x.took)
		}
		c.Errorf("this follows from it")
		other.Errorf("and this, too")
		end()
		f := finding(c)
		assert.Equalf(t, x.want, f.Reason == Hangs, "%s: got %+v, want a call that hangs: %t", what, f, x.want)
		if !x.want {
			continue
		}
		assert.Truef(t, len(f.Evidence) == 1 && strings.HasPrefix(f.Evidence[0], `CreateUser("y") = nil, error: database is locked`) &&
			strings.Contains(f.Evidence[0], "the last calls before it:\n  UseVerificationToken(\"x\")"),
			"%s: got the evidence %q", what, f.Evidence)
		o := finding(other)
		assert.Truef(t, o.Outcome == NotReached && o.Reason == "calls hang, see VTOK-02",
			"%s: another clause is %+v", what, o)
	}
}
