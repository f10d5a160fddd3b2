package kit

import (
	"reflect"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// tryHarness opens and closes adapters in the same way as the clauses.
func tryHarness(c *Context, wrong func(format string, args ...any)) {
	h := c.Harness()
	a := h.New(c.TB)
	if a == nil {
		wrong("New returned nil")
		return
	}
	c.Raw = a
	c.Missing, c.Optional = MissingMethods(a)
	if h.Second != nil {
		second := h.Second(c.TB, a)
		switch {
		case second == nil:
			wrong("Second returned nil")
		case reflect.ValueOf(a).Comparable() && reflect.ValueOf(second).Comparable() && second == a:
			wrong("Second returned the adapter that it was given: it must open another handle on the same data")
		default:
			_, optional := MissingMethods(second)
			if len(optional) > len(c.Optional) {
				wrong("the adapter of Second lacks %v, which the one of New has: a type that embeds an adapter must declare the methods of its optional interfaces", optional)
			}
		}
	}
	if h.Clock != nil && h.Clock(a) == nil {
		wrong("Clock returned nil")
	}
	if h.Declarations.Timeless && endsInTime(c) {
		wrong("Declarations.Timeless says that neither the adapter nor its store looks at a clock, and a session is absent when it has expired")
	}
	if h.Close == nil {
		return
	}
	other := h.New(c.TB)
	before := LooksUp(c, other)
	if err := h.Close(a); err != nil {
		return // a clause reports it
	}
	if after := LooksUp(c, other); before == nil && after != nil {
		wrong("Close of one adapter ends another that New opened: %v; it must close what the adapter was opened with, and no more", after)
	}
	if h.Reopen == nil {
		return
	}
	again := h.Reopen(c.TB, a)
	if again == nil {
		wrong("Reopen returned nil")
		return
	}
	if err := LooksUp(c, again); before == nil && err != nil {
		wrong("the adapter that Reopen returned does not work: %v", err)
	}
}

// endsInTime reports whether a session that was there is absent, or not listed, after its
// expiry. It waits for that in earnest.
func endsInTime(c *Context) bool {
	if !c.Works("CreateUser") || !c.Works("CreateSession") || !c.Works("GetSessionAndUser") {
		return false
	}
	u, err := c.Raw.CreateUser(c.Ctx, c.NewUser())
	if err != nil || u == nil {
		return false // clauses report it, here and below
	}
	s := c.NewSession(u.ID)
	s.Expires = time.Now().Add(100 * time.Millisecond).UTC()
	if _, err := c.Raw.CreateSession(c.Ctx, s); err != nil {
		return false
	}
	found := func() (n int) {
		if got, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken); err != nil || got != nil {
			n++
		}
		if c.Works("ListSessionsByUserID") {
			list, err := Optional[adapter.SessionLists](c.Raw).ListSessionsByUserID(c.Ctx, u.ID)
			if err != nil || len(list) > 0 {
				n++
			}
		}
		return n
	}
	before := found()
	select {
	case <-time.After(time.Until(s.Expires) + 10*time.Millisecond):
	case <-c.Ctx.Done():
		return false
	}
	after := found()
	if c.Works("DeleteUser") {
		_, _ = c.Raw.DeleteUser(c.Ctx, u.ID)
	}
	return after < before
}

// LooksUp makes a lookup that finds nothing.
func LooksUp(c *Context, a adapter.Adapter) error {
	for _, k := range KeyedMethods() {
		if !k.Lookup() || !c.Works(k.Name) || k.Name == "UseVerificationToken" {
			continue
		}
		_, err := k.Call(c, a, k.UnknownKey(c))
		return err
	}
	return nil
}
