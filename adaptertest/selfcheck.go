package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// selfCheck tries the harness before the clauses, so that its errors are not
// reported as breaches of the adapter.
func (r *run) selfCheck(ctx context.Context) error {
	c := r.newC(Clause{ID: "HARNESS", Level: Must})
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("adaptertest: the harness is wrong: "+format, args...))
	}
	finished := c.phase(ctx, r.harness.clauseTimeout(), "trying the harness", func() { c.tryHarness(wrong) })
	if !finished {
		return nil // the clauses report it
	}
	c.cleanUp(ctx)
	return errors.Join(problems...)
}

// tryHarness opens and closes adapters in the same way as the clauses.
func (c *clauseContext) tryHarness(wrong func(format string, args ...any)) {
	h := c.harness()
	a := h.New(c.tb)
	if a == nil {
		wrong("New returned nil")
		return
	}
	c.raw = a
	c.missing, c.optional = missingMethods(a)
	if h.Second != nil {
		second := h.Second(c.tb, a)
		switch {
		case second == nil:
			wrong("Second returned nil")
		case reflect.ValueOf(a).Comparable() && reflect.ValueOf(second).Comparable() && second == a:
			wrong("Second returned the adapter that it was given: it must open another handle on the same data")
		default:
			_, optional := missingMethods(second)
			if len(optional) > len(c.optional) {
				wrong("the adapter of Second lacks %v, which the one of New has: a type that embeds an adapter must declare the methods of its optional interfaces", optional)
			}
		}
	}
	if h.Clock != nil && h.Clock(a) == nil {
		wrong("Clock returned nil")
	}
	if h.Declarations.Timeless && c.endsInTime() {
		wrong("Declarations.Timeless says that neither the adapter nor its store looks at a clock, and a session is absent when it has expired")
	}
	if h.Close == nil {
		return
	}
	other := h.New(c.tb)
	before := c.looksUp(other)
	if err := h.Close(a); err != nil {
		return // a clause reports it
	}
	if after := c.looksUp(other); before == nil && after != nil {
		wrong("Close of one adapter ends another that New opened: %v; it must close what the adapter was opened with, and no more", after)
	}
	if h.Reopen == nil {
		return
	}
	again := h.Reopen(c.tb, a)
	if again == nil {
		wrong("Reopen returned nil")
		return
	}
	if err := c.looksUp(again); before == nil && err != nil {
		wrong("the adapter that Reopen returned does not work: %v", err)
	}
}

// endsInTime reports whether a session that was there is absent, or not listed, after its
// expiry. It waits for that in earnest.
func (c *clauseContext) endsInTime() bool {
	if !c.works("CreateUser") || !c.works("CreateSession") || !c.works("GetSessionAndUser") {
		return false
	}
	u, err := c.raw.CreateUser(c.ctx, c.newUser())
	if err != nil || u == nil {
		return false // clauses report it, here and below
	}
	s := c.newSession(u.ID)
	s.Expires = time.Now().Add(100 * time.Millisecond).UTC()
	if _, err := c.raw.CreateSession(c.ctx, s); err != nil {
		return false
	}
	found := func() (n int) {
		if got, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken); err != nil || got != nil {
			n++
		}
		if c.works("ListSessionsByUserID") {
			list, err := optional[adapter.SessionLists](c.raw).ListSessionsByUserID(c.ctx, u.ID)
			if err != nil || len(list) > 0 {
				n++
			}
		}
		return n
	}
	before := found()
	select {
	case <-time.After(time.Until(s.Expires) + 10*time.Millisecond):
	case <-c.ctx.Done():
		return false
	}
	after := found()
	if c.works("DeleteUser") {
		_, _ = c.raw.DeleteUser(c.ctx, u.ID)
	}
	return after < before
}

// looksUp makes a lookup that finds nothing.
func (c *clauseContext) looksUp(a adapter.Adapter) error {
	for _, k := range keyedMethods {
		if !k.lookup || !c.works(k.method) || k.method == "UseVerificationToken" {
			continue
		}
		key := make([]string, len(k.parts))
		for i, part := range k.parts {
			if key[i] = c.unique(part); part == "user id" {
				key[i] = c.id()
			}
		}
		_, err := k.call(c, a, key)
		return err
	}
	return nil
}
