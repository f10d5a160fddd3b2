package auth_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// TestSameOrigin: a page of another site, or of a sibling domain, can't make a
// request that is accepted. A request that does not say where it comes from is
// not accepted either.
func TestSameOrigin(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for name, config := range map[string]auth.Config{
		"URL": {URL: origin}, "trusted host": {TrustHost: new(true)}, "foreign host": {TrustHost: new(false)},
	} {
		config.Secret, config.Logger = []string{secret}, quiet
		h := must(auth.New(config))(t)
		for _, c := range []struct {
			header http.Header
			ok     bool // with Config.URL or a trusted host
			always bool
		}{
			{http.Header{"Sec-Fetch-Site": {"same-origin"}}, true, true},
			{http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {origin}}, true, true},
			{http.Header{"Origin": {origin}}, true, false},
			{http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://evil.example.com"}}, false, false},
			{http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {origin}}, false, false},
			{http.Header{"Sec-Fetch-Site": {"cross-site"}}, false, false},
			{http.Header{"Sec-Fetch-Site": {"none"}}, false, false},
			{http.Header{"Sec-Fetch-Site": {""}, "Origin": {origin}}, false, false},
			{http.Header{"Sec-Fetch-Site": {"same-origin", "cross-site"}}, false, false},
			{http.Header{"Origin": {"https://evil.example"}}, false, false},
			{http.Header{"Origin": {origin + ".evil.example"}}, false, false},
			{http.Header{"Origin": {"http://app.example.com"}}, false, false},
			{http.Header{"Origin": {"https://app.example.com:8443"}}, false, false},
			{http.Header{"Origin": {"null"}}, false, false},
			{http.Header{"Origin": {origin, origin}}, false, false},
			{http.Header{"Referer": {origin + "/"}}, false, false},
			{nil, false, false},
		} {
			r := httptest.NewRequest(http.MethodPost, origin+"/save", nil)
			r.Header = c.header
			err := h.SameOrigin(r)
			want := c.always || c.ok && name != "foreign host"
			assert.Equalf(t, want, err == nil, "%s: %v: got %v, want allowed: %v", name, c.header, err, want)
			assert.Truef(t, err == nil || errors.Is(err, auth.ErrMissingCSRF) || errors.Is(err, auth.ErrUntrustedHost),
				"%s: %v: got %v", name, c.header, err)
		}
	}
}

// TestRoutesTakeOwnPagesWithoutToken: a POST of a page of this site needs no
// CSRF token, and a stale one does no harm. A POST of another site needs the
// token.
func TestRoutesTakeOwnPagesWithoutToken(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		token  string
		ok     bool
	}{
		{http.Header{"Sec-Fetch-Site": {"same-origin"}}, "", true},
		{http.Header{"Origin": {origin}}, "", true},
		{http.Header{"Sec-Fetch-Site": {"same-origin"}}, "&csrfToken=stale", true},
		{http.Header{"Sec-Fetch-Site": {"same-origin"}}, "&csrfToken=", true},
		{http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {origin}}, "&csrfToken=stale", false},
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, "&csrfToken=stale", false},
		{http.Header{}, "&csrfToken=stale", false},
		{http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {origin}}, "", false},
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, "", false},
		{http.Header{"Origin": {"https://evil.example"}}, "", false},
		{http.Header{}, "", false},
	} {
		b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}}))
		c.header.Set("Content-Type", "application/x-www-form-urlencoded")
		b.do(http.MethodPost, "/auth/callback/credentials", strings.NewReader("username=ada&password=lovelace"+c.token), c.header)
		assert.Equalf(t, c.ok, b.session() != "null", "%v, %q: signed in", c.header, c.token)
		b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace")
		b.do(http.MethodPost, "/auth/signout", strings.NewReader(c.token), c.header)
		assert.Equalf(t, c.ok, b.session() == "null", "%v, %q: signed out", c.header, c.token)
	}
}

// TestTwoTabsAtTheFirstVisit: a browser without cookies opens two pages at
// once. The form of the first has the token of a cookie that the second page
// replaced. Its browser says that the form is of this site, so it is accepted. A
// form of another site is not.
func TestTwoTabsAtTheFirstVisit(t *testing.T) {
	t.Parallel()
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	stale := newBrowser(t, h).csrf()
	for site, accepted := range map[string]bool{"same-origin": true, "same-site": false, "cross-site": false, "none": false} {
		b := newBrowser(t, h)
		b.csrf()
		r := b.do(http.MethodPost, "/auth/callback/credentials", strings.NewReader("csrfToken="+stale+"&username=ada&password=lovelace"), http.Header{
			"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {site}, "Origin": {origin},
		})
		signedIn := b.session() != "null"
		assert.Equalf(t, accepted, signedIn, "%s: signed in: %v, sent to %s", site, signedIn, r.location())
	}
}
