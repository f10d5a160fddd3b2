package adaptertest

import (
	"reflect"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// same compares a record with the wanted one and reports a difference as a
// breach.
func (c *clauseContext) same(what string, got, want any) bool {
	if d := c.unlike(got, want); d != "" {
		c.Errorf("%s: %s", what, d)
		return false
	}
	return true
}

// absent reports a breach if a lookup found a record or failed.
func (c *clauseContext) absent(what string, record any, err error) bool {
	switch {
	case err != nil:
		c.Errorf("%s: got error %v, want absent", what, err)
	case !isNilRecord(record):
		c.Errorf("%s: got %s, want absent", what, diff.Show(record))
	default:
		return true
	}
	return false
}

func isNilRecord(record any) bool {
	v := reflect.ValueOf(record)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// isNothing reports whether a call found nothing: no record, an empty list, or no
// record that it could delete.
func isNothing(result any) bool {
	v := reflect.ValueOf(result)
	return isNilRecord(result) || v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() == reflect.Int64 && v.Int() == 0
}

// fails reports a breach unless a call failed.
func (c *clauseContext) fails(what string, record any, err error) bool {
	if err == nil {
		c.Errorf("%s: succeeded with %s, want an error", what, diff.Show(record))
		return false
	}
	return true
}

// sameAuthenticators compares lists as multisets.
func (c *clauseContext) sameAuthenticators(what string, got, want []adapter.Authenticator) {
	if len(got) != len(want) {
		c.Errorf("%s: got %d authenticators, want %d", what, len(got), len(want))
	}
	rest := append([]adapter.Authenticator(nil), got...)
next:
	for _, w := range want {
		for i, g := range rest {
			if c.unlike(g, w) == "" {
				rest = append(rest[:i], rest[i+1:]...)
				continue next
			}
		}
		c.Errorf("%s: %s is missing or changed", what, diff.Show(w))
	}
	for _, g := range rest {
		c.Errorf("%s: %s is not expected", what, diff.Show(g))
	}
}

// shownAsBefore reports a breach if the name or an instant of an authenticator
// was stored before and is missing now: a store keeps these fields always or
// never.
func (c *clauseContext) shownAsBefore(what string, got, before *adapter.Authenticator) {
	if got == nil || before == nil {
		return
	}
	if before.Name != nil && got.Name == nil || before.Created != nil && got.Created == nil || before.LastUsed != nil && got.LastUsed == nil {
		c.Errorf("%s: got %s, which has lost what was shown before: %s", what, diff.Show(got), diff.Show(before))
	}
}
