package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestHome: a site below a path is led to its own home, and not to the root of
// the host, which may be another site.
func TestHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, basePath, home, routes, want string }{
		{origin, "", "", "/auth", origin},
		{origin, "/api/auth", "", "/api/auth", origin},
		{origin, "/app/auth", "", "/app/auth", origin + "/app"},
		{origin, "/app/api/auth", "", "/app/api/auth", origin + "/app"},
		{origin + "/app/api/auth", "", "", "/app/api/auth", origin + "/app"},
		{origin + "/app/auth/", "/app/auth", "", "/app/auth", origin + "/app"},
		{origin, "/login", "", "/login", origin},
		{origin, "/app/auth", "/start", "/app/auth", origin + "/start"},
		{origin, "/auth", "https://www.example.com/", "/auth", "https://www.example.com/"},
	} {
		h := newHandler(t, auth.Config{URL: c.url, BasePath: c.basePath, Home: c.home, Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}})
		for callbackURL, want := range map[string]string{
			"": c.want, "https://evil.example/": c.want, "//evil.example": origin + "//evil.example", "/app/x": origin + "/app/x", origin + "/y": origin + "/y",
		} {
			b := newBrowser(t, h)
			page := b.get(c.routes + "/csrf")
			_, token, _ := strings.Cut(page.body, `"csrfToken":"`)
			fields := []string{"csrfToken", token[:64], "username", "ada", "password", "lovelace"}
			if callbackURL != "" {
				fields = append(fields, "callbackUrl", callbackURL)
			}
			b.submit(c.routes+"/callback/credentials", fields...).wantLocation(t, want)
		}
		b := newBrowser(t, h)
		if page := b.get(c.routes + "/error"); !strings.Contains(page.body, `href="`+c.want+`"`) {
			t.Errorf("%+v: the error page links elsewhere: %s", c, page.body)
		}
		r := httptest.NewRequest(http.MethodPost, origin+"/app/out", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		result, err := h.SignOut(r, "")
		if err != nil || strings.TrimSuffix(result.Location, "/") != strings.TrimSuffix(c.want, "/") {
			t.Errorf("%+v: SignOut leads to %v, %v", c, result, err)
		}
	}
}

// TestURLAndBasePathAreNotDropped: what a URL or a base path says besides origin
// and path is refused, and so are two paths that differ.
func TestURLAndBasePathAreNotDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, basePath, home, want string }{
		{origin + "/a", "/b", "", "BasePath"},
		{origin + "?a=b", "", "", "no query"},
		{origin + "#a", "", "", "no fragment"},
		{"https://user:secret@app.example.com", "", "", "no user"},
		{origin, "https://app.example.com/auth", "", "must be a path"},
		{origin, "", "//evil.example", "Config.Home"},
		{origin, "", "app", "Config.Home"},
		{origin, "", "javascript:alert(1)", "Config.Home"},
	} {
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: c.url, BasePath: c.basePath, Home: c.home})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "user:secret") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}
