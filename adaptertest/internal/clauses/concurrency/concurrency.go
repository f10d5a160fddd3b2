// Package concurrency has the clauses about calls at one time, and about handles and stores that must not mix.
package concurrency

import (
	"slices"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// Checks are the checks of the clauses.
var Checks = slices.Concat(concClauses, isoClauses)

// oneAmong returns a call that is the second of n calls, of which all others are the same.
func oneAmong(one, others kit.Call, n int) []kit.Call {
	return append([]kit.Call{others, one}, slices.Repeat([]kit.Call{others}, n-2)...)
}

// alternating returns n numbered calls, which the functions make in turn.
func alternating(n int, of ...func(i int) kit.Call) []kit.Call {
	return kit.Numbered(n, func(i int) kit.Call { return of[i%len(of)](i) })
}

// lookupsOfStored returns those of the lookups whose records the adapter can store.
func lookupsOfStored(c *kit.Context, lookups ...string) []string {
	return slices.DeleteFunc(c.Having(lookups), func(lookup string) bool {
		m, _ := kit.MethodNamed(lookup)
		return !c.Works(kit.KindOf(m.Kind).Create)
	})
}

// storedFor stores the record that a lookup is about, and its user. It returns both, and the lookup.
func storedFor(c *kit.Context, lookup string) (x *kit.Draft, read kit.Call) {
	m, _ := kit.MethodNamed(lookup)
	x = kit.StoredDraft(c, m.Kind)
	return x, (&kit.Records{Draft: *x}).CallOf(lookup)
}
