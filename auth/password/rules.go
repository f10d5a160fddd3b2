package password

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // the form of lists of breached passwords
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxCharacters is the number of Unicode code points of the longest password that
// is accepted.
const MaxCharacters = 128

// Refusal is why a new password is not accepted.
type Refusal string

// The refusals of [Rules.Check].
const (
	TooShort   Refusal = "too-short"
	TooLong    Refusal = "too-long"
	NotText    Refusal = "not-text" // no valid UTF-8, or control characters
	TooCommon  Refusal = "too-common"
	TooObvious Refusal = "too-obvious" // it consists of the site's name, the address or the name
	IsBreached Refusal = "breached"
)

// Error names the refusal.
func (r Refusal) Error() string { return "password: refused: " + string(r) }

// Rules say which new passwords are accepted (NIST SP 800-63B-4 section 3.1.1.2).
// There are no rules about kinds of characters. The zero value is a good one.
type Rules struct {
	// MinCharacters is the number of Unicode code points of the shortest password;
	// the default is 15. A lower number, down to 8, is for sites whose passwords are
	// never the only factor.
	MinCharacters int
	// Words are names of the site: a password of nothing but these, the address and
	// the name of the user is refused.
	Words []string
	// Breached returns the ends of the hashes in a list of breached passwords that
	// begin with prefix, five hexadecimal digits of a SHA-1 hash, which is the form
	// of Have I Been Pwned's range search. It learns nothing else. If it fails, or
	// does not answer within BreachedTimeout, the password is accepted.
	Breached func(ctx context.Context, prefix string) (suffixes []string, err error)
	// BreachedTimeout is at most how long Breached may take; the default is two
	// seconds.
	BreachedTimeout time.Duration
}

// Validate says what is wrong with the rules.
func (r Rules) Validate() error {
	if r.MinCharacters != 0 && (r.MinCharacters < 8 || r.MinCharacters > 64) {
		return fmt.Errorf("password: Rules.MinCharacters is %d, want 8 to 64", r.MinCharacters)
	}
	return nil
}

// Min is the number of code points of the shortest password.
func (r Rules) Min() int { return cmp.Or(r.MinCharacters, 15) }

// Check returns a Refusal if a new password is not accepted. The words are those
// of the user, such as the address and the name. Code points are counted in NFC.
func (r Rules) Check(ctx context.Context, password string, words ...string) error {
	if len(password) > MaxBytes {
		return TooLong
	}
	if !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl) {
		return NotText
	}
	text := norm.NFC.String(password)
	switch n := utf8.RuneCountInString(text); {
	case n < r.Min():
		return TooShort
	case n > MaxCharacters:
		return TooLong
	}
	lower := strings.ToLower(text)
	switch {
	case isCommon(lower), isCommon(separators.Replace(lower)):
		return TooCommon
	case consistsOf(lower, slices.Concat(r.Words, words)):
		return TooObvious
	case r.breached(ctx, text):
		return IsBreached
	}
	return nil
}

//go:embed common.txt.gz
var commonList []byte

var common = sync.OnceValue(func() map[string]struct{} {
	unzipped, err := gzip.NewReader(bytes.NewReader(commonList))
	if err != nil {
		panic("password: the list of common passwords: " + err.Error())
	}
	list, err := io.ReadAll(unzipped)
	if err != nil {
		panic("password: the list of common passwords: " + err.Error())
	}
	set := make(map[string]struct{}, 50_000)
	for word := range strings.Lines(string(list)) {
		set[strings.TrimSuffix(word, "\n")] = struct{}{}
	}
	return set
})

// separators are what people put between words.
var separators = strings.NewReplacer(" ", "", "-", "", "_", "", ".", "")

// isCommon says that a password is on the list, or is a repetition of one that is
// or of at most four characters.
func isCommon(lower string) bool {
	if lower == "" {
		return true
	}
	unit := repeated([]rune(lower))
	if _, ok := common()[string(unit)]; ok {
		return true
	}
	return len(unit) <= 4 || isRow(unit)
}

// repeated returns the shortest text of which another is a repetition. The last
// one may be cut.
func repeated(text []rune) []rune {
	for n := 1; n < len(text); n++ {
		if slices.Equal(text[n:], text[:len(text)-n]) {
			return text[:n]
		}
	}
	return text
}

// isRow says that each character is the next one of the alphabet or the digits,
// forwards or backwards: 0 follows 9, a follows z.
func isRow(text []rune) bool {
	step := func(a, b rune) rune {
		switch {
		case a == '9' && b == '0' || a == 'z' && b == 'a':
			return 1
		case a == '0' && b == '9' || a == 'a' && b == 'z':
			return -1
		}
		return b - a
	}
	for i := 2; i < len(text); i++ {
		if s := step(text[i-1], text[i]); s != 1 && s != -1 || s != step(text[0], text[1]) {
			return false
		}
	}
	return len(text) > 2
}

// consistsOf says that fewer than eight letters and digits are left of a password
// without these words.
func consistsOf(lower string, words []string) bool {
	var parts []string
	for _, word := range words {
		word = strings.ToLower(norm.NFC.String(word))
		parts = append(parts, lettersAndDigits(word))
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			parts = append(parts, lettersAndDigits(part))
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	rest, found := lettersAndDigits(lower), false
	for _, part := range parts {
		if utf8.RuneCountInString(part) >= 3 && strings.Contains(rest, part) {
			rest, found = strings.ReplaceAll(rest, part, ""), true
		}
	}
	return found && utf8.RuneCountInString(rest) < 8
}

// lettersAndDigits is a text without other characters.
func lettersAndDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// breached asks the list of breached passwords.
func (r Rules) breached(ctx context.Context, text string) bool {
	if r.Breached == nil {
		return false
	}
	timeout := r.BreachedTimeout
	if timeout <= 0 {
		timeout = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sum := sha1.Sum([]byte(text)) //nolint:gosec // the form of lists of breached passwords
	digits := strings.ToUpper(hex.EncodeToString(sum[:]))
	found := make(chan bool, 1)
	go func() {
		defer func() {
			if recover() != nil {
				found <- false
			}
		}()
		suffixes, err := r.Breached(ctx, digits[:5])
		found <- err == nil && slices.ContainsFunc(suffixes, func(s string) bool { return strings.EqualFold(s, digits[5:]) })
	}()
	select {
	case is := <-found:
		return is
	case <-ctx.Done():
		return false
	}
}
