package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/assert"
)

// TestCountOfProxies: with n trusted proxies the n-th value from the right
// counts, in every header. A client can add values only on the left.
func TestCountOfProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n                   int
		addresses           []string
		protos, hosts       []string
		client, url, reason string
	}{
		{0, nil, nil, nil, "10.0.0.1", "http://app.example.com", ""},
		{0, []string{"1.1.1.1, 2.2.2.2"}, []string{"https"}, []string{"shop.example.com"}, "10.0.0.1", "https://shop.example.com", ""},
		{0, nil, []string{"https, http"}, nil, "10.0.0.1", "", "X-Forwarded-Proto"},
		{0, nil, nil, []string{"evil.example", "shop.example.com"}, "10.0.0.1", "", "X-Forwarded-Host"},
		{1, []string{"1.1.1.1, 2.2.2.2"}, []string{"http, https"}, []string{"evil.example, shop.example.com"}, "2.2.2.2", "https://shop.example.com", ""},
		{2, []string{"1.1.1.1, 2.2.2.2", "3.3.3.3"}, []string{"http, https, http"}, []string{"evil.example, shop.example.com, inner"}, "2.2.2.2", "https://shop.example.com", ""},
		{2, []string{"2.2.2.2, 3.3.3.3"}, []string{"https"}, []string{"shop.example.com"}, "2.2.2.2", "https://shop.example.com", ""},
		{2, []string{"3.3.3.3"}, nil, nil, "10.0.0.1", "http://app.example.com", ""},
		{3, nil, []string{"https, http"}, nil, "10.0.0.1", "", "fewer"},
		{1, nil, []string{"javascript"}, nil, "10.0.0.1", "", "malformed"},
		{1, nil, nil, []string{"a b"}, "10.0.0.1", "", "malformed"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.RemoteAddr = "app.example.com", "10.0.0.1:4000"
		r.Header["X-Forwarded-For"], r.Header["X-Forwarded-Proto"], r.Header["X-Forwarded-Host"] = c.addresses, c.protos, c.hosts
		config := auth.Config{TrustedProxyCount: c.n}
		assert.Equalf(t, c.client, newHandler(t, config).ClientAddress(r), "%+v: the client", c)
		u, err := auth.ForwardedURL(r, config)
		switch {
		case c.reason != "":
			assert.Falsef(t, err == nil || !strings.Contains(err.Error(), c.reason) || c.n == 0 && !strings.Contains(err.Error(), "Config.TrustedProxyCount"),
				"%+v: got %v, %v", c, u, err)
		case err != nil || u.String() != c.url:
			t.Errorf("%+v: got %v, %v", c, u, err)
		}
	}
}

// TestNetworksOfProxies: the same with the networks of the proxies. A client
// that comes by no proxy names nothing.
func TestNetworksOfProxies(t *testing.T) {
	t.Parallel()
	config := auth.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for peer, want := range map[string]string{"10.0.0.1:4000": "https://shop.example.com", "203.0.113.9:4000": "http://app.example.com"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.RemoteAddr = "app.example.com", peer
		r.Header.Set("X-Forwarded-For", "1.1.1.1, 2.2.2.2, 10.0.0.2")
		r.Header.Set("X-Forwarded-Proto", "http, https, http")
		r.Header.Set("X-Forwarded-Host", "evil.example, shop.example.com, inner")
		u, err := auth.ForwardedURL(r, config)
		assert.Truef(t, err == nil && u.String() == want, "%s: got %v, %v, want %s", peer, u, err, want)
	}
}

// TestActionURLBehindProxies: CreateActionURL reads the headers in the same way.
func TestActionURLBehindProxies(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Forwarded-Host": {"evil.example, shop.example.com"}, "X-Forwarded-Proto": {"http, https"}}
	u, err := auth.CreateActionURL(auth.ActionSession, "http", header, func(string) string { return "" }, auth.Config{})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "X-Forwarded-Host"), "got %v, %v", u, err)
	u, err = auth.CreateActionURL(auth.ActionSession, "http", header, func(string) string { return "" }, auth.Config{TrustedProxyCount: 1})
	assert.Truef(t, err == nil && strings.HasPrefix(u.String(), "https://shop.example.com/"), "got %v, %v", u, err)
	config := auth.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for addresses, want := range map[string]string{
		"1.1.1.1, 2.2.2.2":                     "http://inner/",
		"1.1.1.1, 2.2.2.2, 10.0.0.2":           "https://shop.example.com/",
		"1.1.1.1, 2.2.2.2, 10.0.0.3, 10.0.0.2": "http://evil.example/",
	} {
		header := http.Header{
			"X-Forwarded-For": {addresses}, "X-Forwarded-Host": {"evil.example, shop.example.com, inner"}, "X-Forwarded-Proto": {"http, https, http"},
		}
		u, err := auth.CreateActionURL(auth.ActionSession, "http", header, func(string) string { return "" }, config)
		assert.Truef(t, err == nil && strings.HasPrefix(u.String(), want), "%s: got %v, %v, want %s", addresses, u, err, want)
	}
}

// TestListedOrigins: a site with several hosts answers at each of them, with the
// scheme of its list also behind a proxy that ends TLS, and mails name the host that
// was asked. No header that an attacker sends puts another host into a mail.
func TestListedOrigins(t *testing.T) {
	t.Parallel()
	var box outbox
	coded := box.provider()
	coded.Code = true
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, _ *pw.Settings) {
		c.Origins = []string{"https://app.example.com", "https://shop.example.com:8443", "http://localhost:3000"}
		c.TrustHost, c.Providers = new(true), []auth.Provider{coded}
	})
	ask := func(made string, header http.Header) (mails []string, status int) {
		t.Helper()
		b := s.browser()
		b.site = made
		for path, sent := range map[string]func() int{
			"/auth/password/sign-up": func() int { return len(s.mails) }, "/auth/password/forgot": func() int { return len(s.mails) },
			"/auth/signin/email": func() int { return len(box.mails) },
		} {
			before, form := sent(), url.Values{"email": {"ada@example.com"}}
			var v struct{ CSRFToken string }
			_ = json.Unmarshal([]byte(b.do(http.MethodGet, "/auth/csrf", nil, header.Clone()).body), &v)
			form.Set("csrfToken", v.CSRFToken)
			h := header.Clone()
			h.Set("Content-Type", "application/x-www-form-urlencoded")
			r := b.do(http.MethodPost, path, strings.NewReader(form.Encode()), h)
			status = max(status, r.StatusCode)
			if sent() > before {
				mails = append(mails, path)
			}
		}
		for _, m := range s.mails {
			mails = append(mails, m.Subject, m.Text, m.HTML, m.URL)
		}
		for _, m := range box.mails {
			mails = append(mails, m.URL)
		}
		s.mails, box.mails = nil, nil
		s.clock.advance(3 * time.Hour)
		return mails, status
	}
	forged := http.Header{
		"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"http"}, "Forwarded": {"host=evil.example;proto=http"},
		"X-Host": {"evil.example"}, "X-Original-Host": {"evil.example"}, "Referer": {"https://evil.example/"},
	}
	for made, want := range map[string]string{
		"https://app.example.com": "https://app.example.com/", "http://app.example.com": "https://app.example.com/",
		"http://APP.example.com:443": "https://app.example.com/", "http://shop.example.com:8443": "https://shop.example.com:8443/",
		"http://localhost:3000": "http://localhost:3000/",
	} {
		mails, status := ask(made, forged)
		links := 0
		for _, m := range mails {
			assert.NotContainsf(t, m, "evil.example", "%s: a mail", made)
			if strings.HasPrefix(m, want) {
				links++
			}
		}
		assert.Truef(t, links == 3 && status < 400,
			"%s: status %d, %d links of %s in %.300q", made, status, links, want, mails)
	}
	for _, made := range []string{
		"https://evil.example", "http://evil.example", "https://app.example.com.evil.example", "https://app.example.com:8443", "https://shop.example.com",
		"http://localhost", "http://127.0.0.1:3000", "https://app.example.com.", "https://xapp.example.com",
	} {
		mails, status := ask(made, http.Header{"X-Forwarded-Host": {"app.example.com"}})
		assert.Truef(t, len(mails) == 0 && status == http.StatusInternalServerError, "%s: status %d, mails %q", made, status, mails)
	}
	assert.Containsf(t, s.log.String(), "none of Config.Origins", "the log does not say why: %s", s.log)
}
