package wire

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
)

// FuzzCSRF: only a cookie whose hash was made with a secret verifies.
func FuzzCSRF(f *testing.F) {
	keys := NewHashKeys([]string{"0123456789abcdef0123456789abcdef", "earlier-secret"})
	specs := NewCookieSpecs(false)
	good := "token|" + keys.Hash("token")
	for _, s := range []string{"", "|", good, "token|" + HashWith("token", "earlier-secret"), "token|", "|" + HashWith("", "x"), good + "|x", "a|b|c"} {
		f.Add(s, "token")
	}
	f.Fuzz(func(t *testing.T, cookie, submitted string) {
		got, fresh, err := CheckCSRF(keys, rand.Reader, &specs.CSRF, cookie, http.MethodPost, submitted)
		if err != nil || got.Token == "" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if (fresh == nil) != strings.HasPrefix(cookie, got.Token+"|") {
			t.Fatalf("%q: token %q, fresh cookie %v", cookie, got.Token, fresh)
		}
		if got.Verified && (fresh != nil || submitted != got.Token || !keys.Matches(got.Token, strings.Split(cookie, "|")[1])) {
			t.Fatalf("%q verified with %q", cookie, submitted)
		}
	})
}
