package password

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRules(t *testing.T) {
	for password, want := range map[string]error{
		"correct horse battery staple":                  nil,
		"a fine sentence":                               nil,
		"a fine sentenc":                                TooShort,
		strings.Repeat("x y", 43):                       TooLong,
		"#" + strings.Repeat("e\u0301 z ", 31) + "abc":  nil, // 128 code points in NFC
		"#" + strings.Repeat("e\u0301 z ", 31) + "abcd": TooLong,
		"\u5bc6\u7801\u5f88\u957f\u5f88\u957f\u4e0d\u5bb9\u6613\u731c\u5230\u7684\u53e5\u5b50\u54e6": nil,
		"\xff a fine sentence":        NotText,
		"a fine\x00 sentence":         NotText,
		"a fine\n sentence":           NotText,
		"passwordpassword":            TooCommon,
		"PasswordPasswordPass":        TooCommon,
		"password password":           TooCommon,
		"Pass-Word.pass_word":         TooCommon,
		"1234 5678 9012 3456":         TooCommon,
		"- - - - - - - - - -":         TooCommon,
		"correct horse battery":       nil,
		"horse horse staple bread":    nil,
		"qwertyqwertyqwerty":          TooCommon,
		"aaaaaaaaaaaaaaaaaa":          TooCommon,
		"abcdabcdabcdabcdabcd":        TooCommon,
		"123456789012345":             TooCommon,
		"zyxwvutsrqponmlkj":           TooCommon,
		"Example Shop 2026":           TooObvious,
		"ada.lovelace@example.org":    TooObvious,
		"ada-lovelace-ada-lovelace":   TooObvious,
		"Ada Lovelace 1815!!":         TooObvious,
		"ada likes 4857194857 trains": nil,
	} {
		r := Rules{Words: []string{"Example Shop"}}
		assert.ErrorIsf(t, r.Check(t.Context(), password, "ada.lovelace@example.org", "Ada Lovelace"), want, "%q", password)
	}
	assert.Truef(t, len(common()) >= 10_000, "the list has %d passwords", len(common()))
}

func TestShorterPasswords(t *testing.T) {
	r := Rules{MinCharacters: 8}
	for password, want := range map[string]error{"sunshine": TooCommon, "BaseBall1": TooCommon, "kq8 wn2": TooShort, "kq8 wn2x": nil} {
		assert.ErrorIsf(t, r.Check(t.Context(), password), want, "%q", password)
	}
	for n, ok := range map[int]bool{7: false, 8: true, 15: true, 65: false, -1: false} {
		err := (Rules{MinCharacters: n}).Validate()
		assert.Equalf(t, ok, err == nil, "%d: %v", n, err)
	}
}

// TestBreached checks that the hook gets five digits of the hash and nothing else,
// and that a hook that fails, hangs or panics refuses no password.
func TestBreached(t *testing.T) {
	const password = "correct horse battery staple" // ABF7AAD6438836DBE526AA231ABDE2D0EEF74D42
	hook := func(f func(ctx context.Context, prefix string) ([]string, error)) error {
		return Rules{Breached: f, BreachedTimeout: 20 * time.Millisecond}.Check(t.Context(), password)
	}
	asked := ""
	err := hook(func(_ context.Context, prefix string) ([]string, error) {
		asked = prefix
		return []string{"000", "ad6438836dbe526aa231abde2d0eef74d42"}, nil
	})
	assert.Truef(t, errors.Is(err, IsBreached) && asked == "ABF7A", "asked for %q: %v", asked, err)
	for name, f := range map[string]func(ctx context.Context, prefix string) ([]string, error){
		"others": func(context.Context, string) ([]string, error) { return []string{"000"}, nil },
		"failure": func(context.Context, string) ([]string, error) {
			return []string{"AD6438836DBE526AA231ABDE2D0EEF74D42"}, errors.New("down")
		},
		"panic": func(context.Context, string) ([]string, error) { panic("hook") },
		"hangs": func(context.Context, string) ([]string, error) { select {} },
	} {
		assert.NoError(t, hook(f), name)
	}
}
