package adaptertest

import "strings"

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// swapCase swaps the case of ASCII letters.
func swapCase(s string) string {
	b := []byte(s)
	for i, x := range b {
		switch {
		case 'a' <= x && x <= 'z':
			b[i] = x - 'a' + 'A'
		case 'A' <= x && x <= 'Z':
			b[i] = x - 'A' + 'a'
		}
	}
	return string(b)
}

// invalidUTF8 holds bytes that are never UTF-8, a surrogate, an overlong slash
// and a character cut short.
var invalidUTF8 = []string{"\xff\xfe", "\xed\xa0\x80", "\xc0\xaf", "\xe2\x82"}
