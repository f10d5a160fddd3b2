package auth

import (
	"errors"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// maxEmail is the length in bytes of the longest address (RFC 5321 section
// 4.5.3.1).
const maxEmail = 254

var errBadEmail = errors.New("the e-mail address is malformed")

// NormalizeEmail returns the normalized form of an address that a person typed.
// It replaces compatibility characters (NFKC), makes letters lower case and
// removes surrounding space. A text is refused if it could be read as more than
// one address, or as another address by a mail program: if it has quotes,
// several at signs, commas, semicolons, angle brackets, control characters or
// inner space. Also refused are a leading hyphen, which a mail program may take
// for an option, encoded words (RFC 2047), characters that are not shown, and
// the full stop of Chinese and Japanese, which is a dot in domain names.
func NormalizeEmail(submitted string) (string, error) {
	if submitted == "" {
		return "", errNoEmail
	}
	if len(submitted) > 4*maxEmail { // before it costs time; no legitimate address is as long
		return "", errBadEmail
	}
	email := strings.TrimSpace(cases.Lower(language.Und).String(norm.NFKC.String(submitted)))
	local, domain, ok := strings.Cut(email, "@")
	if !ok || local == "" || domain == "" || len(email) > maxEmail || strings.Contains(domain, "@") {
		return "", errBadEmail
	}
	if strings.ContainsFunc(email, func(r rune) bool {
		return strings.ContainsRune("\"<>()[],;:\\\u200b\ufeff", r) || unicode.IsSpace(r) || unicode.IsControl(r) ||
			unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}) {
		return "", errBadEmail
	}
	if email[0] == '-' || strings.Contains(email, "=?") || strings.ContainsFunc(email, ignorable) {
		return "", errBadEmail
	}
	if strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") || strings.Contains(domain, "..") {
		return "", errBadEmail
	}
	return email, nil
}

// ignorable reports whether a character is not shown (Unicode's
// Default_Ignorable_Code_Point) or is read as a dot.
func ignorable(r rune) bool {
	switch r {
	case '\u3002', '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0':
		return true
	}
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}
