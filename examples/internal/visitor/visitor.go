// Package visitor serves and visits the examples in their tests.
package visitor

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Visitor is a person with a browser.
type Visitor struct {
	t    testing.TB
	Site string
	http.Client
}

// Serve serves a site until the test ends, and returns its URL, which newSite gets.
func Serve(t testing.TB, newSite func(url string) (http.Handler, error)) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	url = "http://" + server.Listener.Addr().String()
	site, err := newSite(url)
	require.NoError(t, err)
	server.Config.Handler = site
	server.Start()
	t.Cleanup(server.Close)
	return url
}

// Visit serves the site of a program, and returns a visitor of it.
func Visit(t testing.TB, newSite func(auth.Config) (http.Handler, error)) *Visitor {
	t.Helper()
	return New(t, Serve(t, func(string) (http.Handler, error) {
		secrets := []string{strings.Repeat("router-secret", 3)}
		return newSite(auth.Config{Secret: secrets, Logger: slog.New(slog.DiscardHandler)})
	}))
}

// New returns a visitor, without cookies, of the site at the origin.
func New(t testing.TB, site string) *Visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &Visitor{t, site, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Does sends a request from a page of the origin, and checks the response. If
// want begins with a slash, it is the target of a redirect.
func (v *Visitor) Does(method, path, origin string, form url.Values, status int, want string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.Site+path, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Header.Set("Referer", origin+"/")
	}
	res, err := v.Do(r)
	require.NoError(v.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	got := string(body)
	cache := res.Header.Get("Cache-Control")
	if strings.Contains(got, "Ada") {
		assert.Regexpf(v.t, "private|no-store", cache, "%s %s: a shared cache may store what one person gets", method, path)
	}
	if strings.HasPrefix(want, "/") {
		got = strings.TrimPrefix(res.Header.Get("Location"), v.Site)
	}
	require.Truef(v.t, res.StatusCode == status && strings.Contains(got, want),
		"%s %s: got %d, %.300q, want %d, %q", method, path, res.StatusCode, got, status, want)
}

// SignInAndOut uses a site that signs in and out by its own routes. The visitor
// signs in, sees the private text, and signs out. Another site can't do this in
// the visitor's name.
func (v *Visitor) SignInAndOut(private string) {
	v.t.Helper()
	form := url.Values{"providerId": {"credentials"}, "username": {"ada"}, "password": {"lovelace"}, "redirectTo": {"/"}}
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?callbackUrl=%2Fprivate")
	v.Does(http.MethodGet, "/auth/session", "", nil, http.StatusOK, "null")
	v.Does(http.MethodPost, "/signin", "https://evil.example", form, http.StatusForbidden, "from a page of this site")
	v.Does(http.MethodPost, "/signin", v.Site, url.Values{"providerId": {"credentials"}, "username": {"eve"}}, http.StatusSeeOther, "/auth/signin?error=CredentialsSignin")
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.Does(http.MethodPost, "/signin", v.Site, form, http.StatusSeeOther, "/")
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, Ada!")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusOK, private)
	v.Does(http.MethodPost, "/signout", "https://evil.example", nil, http.StatusForbidden, "from a page of this site")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusOK, private)
	v.Does(http.MethodPost, "/signout", v.Site, nil, http.StatusSeeOther, "/")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?")
}
