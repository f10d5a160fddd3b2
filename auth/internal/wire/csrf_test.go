package wire

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.Truef(t, err == nil && got.Token != "", "got %+v, %v", got, err)
		require.Equalf(t, strings.HasPrefix(cookie, got.Token+"|"), fresh == nil,
			"%q: token %q, fresh cookie %v", cookie, got.Token, fresh)
		require.Falsef(t, got.Verified && (fresh != nil || submitted != got.Token || !keys.Matches(got.Token, strings.Split(cookie, "|")[1])),
			"%q verified with %q", cookie, submitted)
	})
}
