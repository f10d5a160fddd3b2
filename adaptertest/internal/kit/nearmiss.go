package kit

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NearMiss is a key that a careless comparison treats as equal to another key.
type NearMiss struct {
	Name, Value string
}

// MissedKey is a key to store, with the near misses that are tried of it.
type MissedKey struct {
	Value string
	Near  func(key string) []NearMiss
}

// OtherCases returns the key in other cases.
func OtherCases(key string) []NearMiss {
	return without(key, []NearMiss{
		{"lower case", strings.ToLower(key)},
		{"upper case", strings.ToUpper(key)},
		{"lower case in ASCII", LowerASCII(key)},
		{"upper case in ASCII", UpperASCII(key)},
		{"one letter in upper case", strings.Replace(key, "a", "A", 1)},
		{"one letter in lower case", strings.Replace(key, "A", "a", 1)},
	})
}

// NearMisses returns keys that are similar to the key and not equal [SESS-04] [VTOK-13] [ACCT-08] [AUTHN-15].
func NearMisses(key string) []NearMiss {
	first, firstSize := utf8.DecodeRuneInString(key)
	last, lastSize := utf8.DecodeLastRuneInString(key)
	half := len(key) / 2
	for !utf8.RuneStart(key[half]) {
		half++
	}
	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(key) }
	once := func(old, replacement string) string { return strings.Replace(key, old, replacement, 1) }
	return without(key, append(OtherCases(key), []NearMiss{
		{"a leading blank", " " + key},
		{"a trailing blank", key + " "},
		{"a trailing tab", key + "\t"},
		{"a trailing newline", key + "\n"},
		{"a trailing no-break space", key + "\u00a0"},
		{"the first half", key[:half]},
		{"the second half", key[half:]},
		{"without its last letter", key[:len(key)-lastSize]},
		{"without its first letter", key[firstSize:]},
		{"a letter after it", key + "x"},
		{"a letter before it", "x" + key},
		{"another last letter", key[:len(key)-lastSize] + string(last+1)},
		{"another first letter", string(first+1) + key[firstSize:]},
		{"300 letters after it", key + strings.Repeat("y", 300)},
		{"itself twice", key + key},
		{"decomposed accents", swap("é", "e\u0301", "É", "E\u0301", "ü", "u\u0308")},
		{"no accents", swap("é", "e", "É", "E", "ü", "u")},
		{"a full-width letter", once("a", "ａ")},
		{"a Kelvin sign", swap("K", "\u212a")},
		{"a long s", swap("s", "ſ")},
		{"a zero-width space", once("a", "a\u200b")},
		{"a byte order mark", "\ufeff" + key},
		{"a letter percent-encoded", once("a", "%61")},
		{"a percent encoding decoded", once("%41", "A")},
		{"percent-encoded", url.QueryEscape(key)},
		{"a blank for the plus sign", swap("+", " ")},
		{"the other base64 alphabet", swap("+", "-", "/", "_", "-", "+", "_", "/")},
		{"no padding", strings.TrimRight(key, "=")},
		{"more padding", key + "="},
		{"hyphens for underscores", swap("_", "-")},
		{"underscores for hyphens", swap("-", "_")},
		{"no hyphens", swap("-", "")},
		{"a colon for the slash", swap("/", ":")},
		{"a slash for the colon", swap(":", "/")},
		{"no leading zero", strings.TrimLeft(key, "0")},
		{"one more leading zero", "0" + key},
		{"a leading plus sign", "+" + key},
		{"quoted", `"` + key + `"`},
		{"a NUL after it", key + "\x00"},
		{"a NUL and more after it", key + "\x00x"},
		{"a NUL before it", "\x00" + key},
		{"a NUL within", key[:half] + "\x00" + key[half:]},
	}...))
}

// FreshNearMisses returns the near misses of a unique text that no other unique text can be equal to.
func FreshNearMisses(key string) []NearMiss {
	return slices.DeleteFunc(NearMisses(key), func(m NearMiss) bool { return len(m.Value) < len(key) || m.Name == "another last letter" })
}

// without returns the near misses that are not the key, each once.
func without(key string, all []NearMiss) (misses []NearMiss) {
	seen := map[string]bool{key: true}
	for _, m := range all {
		if !seen[m.Value] {
			seen[m.Value] = true
			misses = append(misses, m)
		}
	}
	return misses
}

// Refusable reports whether a store may refuse to store the value: blanks at its ends [DATA-10], control characters
// [DATA-11], more than the guaranteed length [DATA-08].
func (m NearMiss) Refusable() bool {
	return strings.TrimSpace(m.Value) != m.Value || strings.ContainsFunc(m.Value, unicode.IsControl) || utf8.RuneCountInString(m.Value) > 255
}
