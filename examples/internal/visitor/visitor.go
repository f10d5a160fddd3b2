// Package visitor visits the examples in their tests.
package visitor

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Visitor is a person with a browser.
type Visitor struct {
	t    testing.TB
	Site string
	http.Client
}

// Serve serves the site until the test ends, and returns a visitor of it.
func Serve(t testing.TB, site http.Handler) *Visitor {
	t.Helper()
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return New(t, server.URL)
}

// New returns a visitor, without cookies, of the site at the origin.
func New(t testing.TB, site string) *Visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Visitor{t, site, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Does sends a request from a page of the origin, and checks the response. If
// want begins with a slash, it is the target of a redirect.
func (v *Visitor) Does(method, path, origin string, form url.Values, status int, want string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.Site+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Header.Set("Referer", origin+"/")
	}
	res, err := v.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	got := string(body)
	cache := res.Header.Get("Cache-Control")
	if strings.Contains(got, "Ada") && !strings.Contains(cache, "private") && !strings.Contains(cache, "no-store") {
		v.t.Errorf("%s %s: a shared cache may store what one person gets: Cache-Control is %q", method, path, cache)
	}
	if strings.HasPrefix(want, "/") {
		got = strings.TrimPrefix(res.Header.Get("Location"), v.Site)
	}
	if res.StatusCode != status || !strings.Contains(got, want) {
		v.t.Fatalf("%s %s: got %d, %.300q, want %d, %q", method, path, res.StatusCode, got, status, want)
	}
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
