package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// visitor is somebody with a browser.
type visitor struct {
	t    *testing.T
	site string
	http.Client
}

func visit(t *testing.T) *visitor {
	t.Helper()
	site, err := newSite(auth.Config{Secret: []string{strings.Repeat("router-secret", 3)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, server.URL, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// does sends a request, from a page of the origin, and checks the answer. A
// text that begins with a slash is where a redirect leads.
func (v *visitor) does(method, path, origin string, form url.Values, status int, want string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.site+path, strings.NewReader(form.Encode()))
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
	if strings.HasPrefix(want, "/") {
		got = strings.TrimPrefix(res.Header.Get("Location"), v.site)
	}
	if res.StatusCode != status || !strings.Contains(got, want) {
		v.t.Fatalf("%s %s: got %d, %.300q, want %d, %q", method, path, res.StatusCode, got, status, want)
	}
}

// TestSite: signs in, sees what is private, signs out; and nobody does so from
// another site.
func TestSite(t *testing.T) {
	v := visit(t)
	form := url.Values{"providerId": {"credentials"}, "username": {"ada"}, "password": {"lovelace"}, "redirectTo": {"/"}}
	v.does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?callbackUrl=%2Fprivate")
	v.does(http.MethodGet, "/auth/session", "", nil, http.StatusOK, "null")
	v.does(http.MethodPost, "/signin", "https://evil.example", form, http.StatusForbidden, "does not come from this site")
	v.does(http.MethodPost, "/signin", v.site, url.Values{"providerId": {"credentials"}, "username": {"eve"}}, http.StatusSeeOther, "/auth/signin?error=CredentialsSignin")
	v.does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.does(http.MethodPost, "/signin", v.site, form, http.StatusSeeOther, "/")
	v.does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, Ada!")
	v.does(http.MethodGet, "/private", "", nil, http.StatusOK, "<b>For Ada only.</b>")
	v.does(http.MethodPost, "/signout", "https://evil.example", nil, http.StatusForbidden, "does not come from this site")
	v.does(http.MethodGet, "/private", "", nil, http.StatusOK, "<b>For Ada only.</b>")
	v.does(http.MethodPost, "/signout", v.site, nil, http.StatusSeeOther, "/")
	v.does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?")
}

// TestFragmentAsksToSignIn: htmx, which can't show a sign-in page in a part of
// another page, is told to go there, and comes back to the page that it is on.
func TestFragmentAsksToSignIn(t *testing.T) {
	v := visit(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.site+"/private", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", v.site+"/?tab=1")
	res, err := v.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("HX-Redirect"); res.StatusCode != http.StatusUnauthorized || got != "/auth/signin?callbackUrl=%2F%3Ftab%3D1" {
		t.Errorf("got %d, %q", res.StatusCode, got)
	}
}
