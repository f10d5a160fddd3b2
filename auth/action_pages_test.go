package auth_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestPagesWithTokenAreNotStored: a page whose forms have the CSRF token of the
// browser must not be cached. Pages without the token may be cached.
func TestPagesWithTokenAreNotStored(t *testing.T) {
	t.Parallel()
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}})
	for path, want := range map[string]bool{
		"/auth/signin": true, "/auth/signin?error=CredentialsSignin": true, "/auth/signout": true,
		"/auth/error": false, "/auth/verify-request": false,
	} {
		r := newBrowser(t, h).get(path)
		if has := strings.Contains(r.body, `name="csrfToken"`); has != want {
			t.Errorf("%s: has a token: %v, want %v", path, has, want)
		}
		if got := strings.Contains(r.Header.Get("Cache-Control"), "no-store"); got != want {
			t.Errorf("%s: Cache-Control is %q", path, r.Header.Get("Cache-Control"))
		}
	}
}

// TestCredentialsWithoutFieldsHaveAButton: a provider without fields has a
// button, as in Auth.js.
func TestCredentialsWithoutFieldsHaveAButton(t *testing.T) {
	t.Parallel()
	bare := password()
	bare.ID, bare.Fields = "bare", nil
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password(), bare}}))
	if page := b.get("/auth/signin").body; !strings.Contains(page, "/auth/callback/bare") {
		t.Error("a provider without fields has no button")
	}
}
