package kit

import (
	"reflect"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
)

// Same compares a record or a list with the wanted one and reports a difference as a breach. Lists are compared as
// multisets, and nil is an empty list.
func (c *Context) Same(what string, got, want any) bool {
	if d := c.Unlike(got, want); d != "" {
		c.Errorf("%s: %s", what, d)
		return false
	}
	return true
}

// Absent reports a breach if a lookup found a record or failed.
func (c *Context) Absent(what string, record any, err error) bool {
	switch {
	case err != nil:
		c.Errorf("%s: got error %v, want absent", what, err)
	case !IsNilRecord(record):
		c.Errorf("%s: got %s, want absent", what, diff.Show(record))
	default:
		return true
	}
	return false
}

// IsNilRecord reports whether a result holds no record.
func IsNilRecord(record any) bool {
	v := reflect.ValueOf(record)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// IsNothing reports whether a call found nothing: no record, an empty list, or no record that it could delete.
func IsNothing(result any) bool {
	v := reflect.ValueOf(result)
	return IsNilRecord(result) || v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() == reflect.Int64 && v.Int() == 0
}

// Fails reports a breach unless a call failed.
func (c *Context) Fails(what string, record any, err error) bool {
	if err == nil {
		c.Errorf("%s: succeeded with %s, want an error", what, diff.Show(record))
		return false
	}
	return true
}

// Sees compares what a lookup finds with the wanted record or list, if the adapter has the
// lookup. Without a wanted record the lookup must find nothing.
func Sees(c *Context, what string, lookup Call, want any) {
	if !c.Works(lookup.Method) {
		return
	}
	if got := Of[any](c, lookup); want == nil {
		c.Absent(what, got, nil)
	} else {
		c.Same(what, got, want)
	}
}

// FindsNothing reports a breach unless the call succeeds and finds no record.
func FindsNothing(c *Context, what string, call Call) {
	got, err := call.Do(c.Ctx, c.Adapter)
	c.Absent(what, got, err)
}

// IsRefused reports a breach unless the call fails.
func IsRefused(c *Context, what string, call Call) bool {
	got, err := call.Do(c.Ctx, c.Adapter)
	return c.Fails(what, got, err)
}
