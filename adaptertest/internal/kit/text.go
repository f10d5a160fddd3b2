package kit

import "strings"

// Indent indents lines of evidence.
func Indent(lines []string) string {
	return "    " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n    ")
}

// LowerASCII returns the text with the letters A to Z in lower case.
func LowerASCII(s string) string { return otherCase(s, 'A', 'Z') }

// UpperASCII returns the text with the letters a to z in upper case.
func UpperASCII(s string) string { return otherCase(s, 'a', 'z') }

// otherCase changes the case of the ASCII letters from the first to the last.
func otherCase(s string, first, last rune) string {
	return strings.Map(func(r rune) rune {
		if first <= r && r <= last {
			return r ^ ('a' - 'A')
		}
		return r
	}, s)
}
