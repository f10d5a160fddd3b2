package kit

import "strings"

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
