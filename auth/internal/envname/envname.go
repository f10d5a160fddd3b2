// Package envname names the environment variables of a provider.
package envname

import (
	"strings"
	"unicode"
)

// Of returns the texts that mean the ID of a provider in the names of
// environment variables. The first is the ID in upper snake case. The second,
// if there is one, is the ID in upper case with _ in place of -, which is what
// Auth.js uses.
func Of(id string) []string {
	snake, upper := upperSnake(id), strings.ToUpper(strings.ReplaceAll(id, "-", "_"))
	if snake == upper {
		return []string{snake}
	}
	return []string{snake, upper}
}

// upperSnake returns a text in upper snake case: dot.ted becomes DOT_TED,
// camelCase becomes CAMEL_CASE, and HTTPServer becomes HTTP_SERVER.
func upperSnake(id string) string {
	var b strings.Builder
	letters := []rune(id)
	for i, c := range letters {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = '_'
		case i > 0 && unicode.IsUpper(c):
			before := letters[i-1]
			word := unicode.IsLower(before) || unicode.IsDigit(before)
			if word || unicode.IsUpper(before) && i+1 < len(letters) && unicode.IsLower(letters[i+1]) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return b.String()
}
