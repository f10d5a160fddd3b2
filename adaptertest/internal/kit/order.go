package kit

import (
	"cmp"
	"maps"
	"slices"
)

// Median sorts the values and returns the one in the middle.
func Median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// SortedKeys returns the keys of a map in their order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// Find returns the first of all that is accepts.
func Find[T any](all []T, is func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// Map returns what of makes of each of all.
func Map[T, U any](all []T, of func(T) U) (made []U) {
	for _, x := range all {
		made = append(made, of(x))
	}
	return made
}

// Numbered returns what of makes of the numbers 0 to n-1.
func Numbered[T any](n int, of func(i int) T) (made []T) {
	for i := range n {
		made = append(made, of(i))
	}
	return made
}

// Keep returns those that is accepts.
func Keep[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !is(x) })
}
