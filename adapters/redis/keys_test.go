package redis

import (
	"path"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// FuzzKeys looks for two choices of parts that make one key, for a key whose
// braces do not mark the parts, and for a prefix that reaches into another.
func FuzzKeys(f *testing.F) {
	for _, s := range [][4]string{
		{"a", "b:c", "a:b", "c"}, {"a", "", "", "a"}, {"%3A", ":", ":", "%3A"}, {"{", "}", "}{", ""}, {"a%", "3A", "a", "%3A"},
		{"ß", "\xff\x00", "\xff", "\x00"}, {"user", "a", "use", "ra"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		k := keys{prefix: escaped(a)}
		one, two := k.account(adapter.AccountKey{Provider: a, ProviderAccountID: b}), k.account(adapter.AccountKey{Provider: c, ProviderAccountID: d})
		if (one == two) != (a == c && b == d) {
			t.Fatalf("(%q, %q) and (%q, %q) make %q and %q", a, b, c, d, one, two)
		}
		if k.user(a) == k.user(b) != (a == b) {
			t.Fatalf("%q and %q make one key", a, b)
		}
		if k.owned(a, kindSession) == k.owned(b, kindSession) != (a == b) {
			t.Fatalf("%q and %q make one register", a, b)
		}
		all := []string{
			k.user(b), k.email(b), k.session(b), k.authenticator(b), one, k.token(adapter.VerificationTokenKey{Identifier: a, Token: b}),
			k.owned(b, kindSession), k.owned(b, kindAccount), k.receipt(k.user(b), "N"), k.receipt(k.session(b), "M"),
		}
		for i, key := range all {
			if strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
				t.Fatalf("%q has other braces than those of the parts", key)
			}
			for _, other := range all[:i] {
				if key == other {
					t.Fatalf("two kinds make the key %q", key)
				}
			}
			if a != c {
				o := keys{prefix: escaped(c)}
				if strings.HasPrefix(key, o.start(kindUser)) || strings.HasPrefix(key, o.start(kindSession)) {
					t.Fatalf("%q under the prefix %q is found under the prefix %q", key, a, c)
				}
			}
		}
		if tag(k.receipt(one, "N")) != tag(one) || tag(k.owned(b, kindSession)) != tag(k.user(b)) {
			t.Fatal("keys that one script touches are in two slots")
		}
		back, err := unescape(escaped(b))
		if err != nil || back != b {
			t.Fatalf("%q comes back as %q, %v", b, back, err)
		}
		if ok, err := path.Match(globEscape(k.start(kindSession))+"x", k.start(kindSession)+"x"); err != nil || !ok && !strings.Contains(k.prefix, "/") {
			t.Fatalf("the pattern for %q does not match it: %v", k.start(kindSession), err)
		}
	})
}

// tag is what a cluster computes the slot from.
func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	t, _, _ := strings.Cut(rest, "}")
	return t
}
