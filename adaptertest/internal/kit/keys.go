package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	Refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

// With returns a call with the key.
func (m Method) With(c *Context, key []string) Call {
	args := make([]any, len(key))
	for i, part := range key {
		args[i] = part
	}
	if m.args != nil {
		args = m.args(c, key)
	}
	return newCall(m.Name, args...)
}

// Call makes the call with the key. A result without a record is nil.
func (m Method) Call(c *Context, a adapter.Adapter, key []string) (any, error) {
	got, err := m.With(c, key).Do(c.Ctx, a)
	if IsNothing(got) {
		return nil, err
	}
	return got, err
}

// RecordOrNil returns a nil any for a nil pointer.
func RecordOrNil[T any](r *T, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// Lookup reports whether the method only reads a record or uses it up.
func (m Method) Lookup() bool { return IsLookup(m.Name) || m.Name == "UseVerificationToken" }

// IsLookup reports whether the method only reads.
func IsLookup(method string) bool {
	return strings.HasPrefix(method, "Get") || strings.HasPrefix(method, "List")
}

// KeyedMethods returns the methods that take a key: lookups, then those of optional
// interfaces, then the others.
func KeyedMethods() []Method {
	keyed := slices.DeleteFunc(slices.Clone(methods), func(m Method) bool { return m.Parts == nil })
	slices.SortStableFunc(keyed, func(a, b Method) int { return keyOrder(a) - keyOrder(b) })
	return keyed
}

func keyOrder(m Method) int {
	switch {
	case m.Lookup():
		return 0
	case m.Optional():
		return 1
	default:
		return 2
	}
}

// UnknownKey returns a key of the method that no record has.
func (m Method) UnknownKey(c *Context) []string {
	key := make([]string, len(m.Parts))
	for i, part := range m.Parts {
		if key[i] = c.Unique(part); part == "user id" {
			key[i] = c.ID()
		}
	}
	return key
}

// MethodsWithKey returns the methods that the adapter has; the clause does not apply if
// there is none.
func MethodsWithKey(c *Context) []Method {
	have := slices.DeleteFunc(KeyedMethods(), func(m Method) bool { return !c.Works(m.Name) })
	if len(have) == 0 {
		c.NotApplicable("the adapter has no method that takes a key")
	}
	return have
}

// Lookups returns the keyed methods that only read a record or use it up.
func Lookups(c *Context) []Method {
	return slices.DeleteFunc(MethodsWithKey(c), func(m Method) bool { return !m.Lookup() })
}

// Misses reports a breach unless the method treats the key as unknown.
func Misses(c *Context, k Method, key []string) {
	got, err := k.Call(c, c.Adapter, key)
	what := fmt.Sprintf("%s(%s)", k.Name, ShowKey(key))
	switch {
	case k.Unknown == Refusal:
		c.Fails(what, got, err)
	case k.Unknown == either && err != nil && got == nil:
	default:
		c.Absent(what, got, err)
	}
}

// With returns key with part i replaced.
func With(key []string, i int, s string) []string {
	key = slices.Clone(key)
	key[i] = s
	return key
}

func ShowKey(key []string) string {
	values := make([]any, len(key))
	for i, k := range key {
		values[i] = k
	}
	return diff.Show(values...)
}
