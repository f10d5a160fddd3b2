package auth_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
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
		assert.Equalf(t, want, strings.Contains(r.body, `name="csrfToken"`), "%s: has a token", path)
		assert.Equalf(t, want, strings.Contains(r.Header.Get("Cache-Control"), "no-store"),
			"%s: Cache-Control is %q", path, r.Header.Get("Cache-Control"))
	}
}

// TestCredentialsWithoutFieldsHaveAButton: a provider without fields has a
// button, as in Auth.js.
func TestCredentialsWithoutFieldsHaveAButton(t *testing.T) {
	t.Parallel()
	bare := password()
	bare.ID, bare.Fields = "bare", nil
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password(), bare}}))
	assert.Contains(t, b.get("/auth/signin").body, "/auth/callback/bare", "a provider without fields has no button")
}

// navigation are the headers of a browser that opens a page, and script those of
// a script.
var (
	navigation = http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "Sec-Fetch-Dest": {"document"}}
	script     = http.Header{"Accept": {"application/json"}}
)

// TestEveryStatusIsInTheLookOfTheSite: whatever refuses a browser, the person
// sees a page of the site. A script gets JSON with the same status.
func TestEveryStatusIsInTheLookOfTheSite(t *testing.T) {
	t.Parallel()
	theme := auth.Theme{BrandColor: "#123456"}
	form := "application/x-www-form-urlencoded"
	h := newHandler(t, auth.Config{
		Providers: []auth.Provider{password()}, Theme: theme,
		Limit: func(context.Context, auth.Attempt) error { return &auth.TooManyAttempts{RetryAfter: 90 * time.Second} },
	})
	misplaced := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := auth.Config{Theme: theme, Secret: []string{secret}, Logger: slog.New(slog.DiscardHandler)}
		forward(w, auth.Auth(r, c)) //nolint:bodyclose // forward closes it
	})
	for name, c := range map[string]struct {
		h            http.Handler
		method, path string
		body         string
		status       int
		says         string
	}{
		"limit":         {h, http.MethodPost, "/auth/callback/credentials", "username=ada", 429, "Please try again later"},
		"no action":     {h, http.MethodGet, "/auth/nothing", "", 400, "Nothing can be done with this address"},
		"long query":    {h, http.MethodGet, "/auth/signin?" + strings.Repeat("x", 40000), "", 400, "try again"},
		"method":        {h, http.MethodDelete, "/auth/signin", "", 405, "try again"},
		"large body":    {h, http.MethodPost, "/auth/callback/credentials", strings.Repeat("x", 70000), 413, "too large"},
		"foreign form":  {failing(h), http.MethodPost, "/own", "", 403, "does not come from a page of this site"},
		"configuration": {misplaced, http.MethodGet, "/auth/callback/idp", "", 500, "problem with this site"},
	} {
		for kind, header := range map[string]http.Header{"page": navigation, "script": script} {
			header = header.Clone()
			header.Set("Content-Type", form)
			b, body := newBrowser(t, c.h), c.body
			if c.h == http.Handler(h) {
				body = strings.Replace(body, "username=ada", "username=ada&csrfToken="+b.csrf(), 1)
			}
			r := b.do(c.method, c.path, strings.NewReader(body), header)
			assert.Equalf(t, c.status, r.StatusCode, "%s, %s: status", name, kind)
			page := strings.Contains(r.body, "<main") && strings.Contains(r.body, theme.BrandColor) && strings.Contains(r.body, c.says) &&
				strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") && strings.Contains(r.Header.Get("Cache-Control"), "no-store")
			assert.Equalf(t, kind == "page", page, "%s, %s: got %v\n%.300s", name, kind, r.Header, r.body)
			assert.Falsef(t, kind == "script" && !json.Valid([]byte(r.body)), "%s: a script gets %q", name, r.body)
			assert.Falsef(t, c.status == 429 && r.Header.Get("Retry-After") != "90" || c.status == 405 && r.Header.Get("Allow") != "GET, HEAD, POST",
				"%s, %s: the headers are %v", name, kind, r.Header)
		}
	}
}

// failing is a handler of the application whose form came from elsewhere.
func failing(h *auth.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Fail(w, r, &auth.Error{Type: auth.ErrMissingCSRF})
	})
}
