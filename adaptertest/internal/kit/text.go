package kit

import (
	"cmp"
	"slices"
	"strings"
)

// Median sorts the values and returns the one in the middle.
func Median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// SortedKeys returns the keys of a map in their order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Indent indents lines of evidence.
func Indent(lines []string) string {
	return "    " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n    ")
}

// LowerASCII returns the text with the letters A to Z in lower case.
func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// UpperASCII returns the text with the letters a to z in upper case.
func UpperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}
