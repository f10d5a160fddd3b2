package auth

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// maxEmail is the length in bytes of the longest address (RFC 5321 section
// 4.5.3.1).
const maxEmail = 254

var errBadEmail = errors.New("the e-mail address is malformed")

// FoldEmail returns the form in which addresses are compared: two addresses
// belong to one mailbox if their forms are equal. The ASCII letters of the local
// part become lower case. Other letters stay: the lower case of some is an ASCII
// letter, such as that of the Kelvin sign, so two mailboxes would become one. A
// domain in either spelling (RFC 5890 section 2.3.2.1) becomes the one with
// Unicode letters, by IDNA 2008 without transitional processing (RFC 5891
// section 5). The error says that the domain is none: it is not the same after a
// conversion to the other spelling and back, or it has a character that would
// become an ASCII one or disappear, which IDNA 2008 does not allow (RFC 5892).
func FoldEmail(email string) (string, error) {
	local, domain, ok := cutAddress(asciiLower(email))
	if !ok || isPlain(domain) {
		return asciiLower(email), nil
	}
	if strings.ContainsFunc(domain, disguised) {
		return "", errBadEmail
	}
	ascii, err := hostNames.ToASCII(domain)
	if err != nil {
		return "", errBadEmail
	}
	shown, err := hostNames.ToUnicode(ascii)
	if err != nil {
		return "", errBadEmail
	}
	if again, err := hostNames.ToASCII(shown); err != nil || again != ascii {
		return "", errBadEmail
	}
	return local + "@" + shown, nil
}

// disguised reports whether a conversion of domains for look-ups, which maps
// characters (UTS 46), turns a character into ASCII ones, as it does with the
// Kelvin sign, or leaves it out.
func disguised(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	isASCII := func(r rune) bool { return r < utf8.RuneSelf }
	joins := r == '\u200c' || r == '\u200d' // some scripts need them; hostNames checks where they are
	return r == '\uff61' || ignorable(r) || unicode.Is(unicode.Cf, r) && !joins || strings.ContainsFunc(norm.NFKC.String(string(unicode.ToLower(r))), isASCII)
}

// hostNames converts domains.
var hostNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// cutAddress cuts an address at its last at sign.
func cutAddress(email string) (local, domain string, ok bool) {
	i := strings.LastIndexByte(email, '@')
	if i < 0 {
		return email, "", false
	}
	return email[:i], email[i+1:], true
}

// isPlain reports whether a domain has one spelling only.
func isPlain(domain string) bool {
	return isASCII(domain) && !strings.Contains("."+domain, ".xn--")
}

// sameAddress reports whether two texts are one address.
func sameAddress(a, b string) bool {
	a, errA := FoldEmail(a)
	b, errB := FoldEmail(b)
	return a == b && errA == nil && errB == nil
}

// otherSpellings returns the spellings of an address in which a store may hold
// it, beside the given one: the domain with Unicode letters and in ASCII.
func otherSpellings(email string) []string {
	folded, err := FoldEmail(email)
	if err != nil {
		return nil
	}
	spellings := []string{folded}
	if ascii := asciiDomain(folded); ascii != folded {
		spellings = append(spellings, ascii)
	}
	return slices.DeleteFunc(spellings, func(s string) bool { return s == email })
}

// asciiDomain returns an address with its domain in ASCII (A-labels). What is no
// domain stays.
func asciiDomain(email string) string {
	local, domain, ok := cutAddress(email)
	if !ok || isPlain(domain) {
		return email
	}
	ascii, err := hostNames.ToASCII(domain)
	if err != nil {
		return email
	}
	return local + "@" + ascii
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// asciiLower makes the ASCII letters of a text lower case.
func asciiLower(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// NormalizeEmail returns the normalized form of an address that a person typed.
// It replaces compatibility characters (NFKC), such as letters of full width,
// folds the address (see FoldEmail) and removes surrounding space. A letter that
// NFKC would turn into an ASCII letter without being a form of it, such as the
// Kelvin sign, is refused. A text is refused if it could be read as more than
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
	if strings.ContainsFunc(submitted, imitates) {
		return "", errBadEmail
	}
	email := strings.TrimSpace(asciiLower(norm.NFKC.String(submitted)))
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
	return FoldEmail(email)
}

// imitates reports whether NFKC turns a character into an ASCII letter or digit
// although it is neither a wide form nor a ligature of ASCII letters.
func imitates(r rune) bool {
	if r < utf8.RuneSelf || r >= '\uff01' && r <= '\uff5e' || r >= '\ufb00' && r <= '\ufb06' {
		return false
	}
	return strings.ContainsFunc(norm.NFKC.String(string(r)), func(c rune) bool {
		return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c))
	})
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
