package auth_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proxySite is a redirect proxy with the provider of the tests, and another one.
func proxySite(t *testing.T, change func(*auth.Config)) *site {
	return newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) {
		c.RedirectProxyURL, c.RedirectProxyOrigins = origin+"/auth", []string{"https://app.example.com:8443", "*.preview.example.com"}
		evil := *o
		evil.ID = "evil"
		c.Providers = append(c.Providers, &evil)
		if change != nil {
			change(c)
		}
	})
}

// sealedState is the state of a deployment that shares the secret.
func sealedState(t *testing.T, s *site, target string) string {
	return must(jwt.Encode(jwt.EncodeParams{
		Token: auth.Claims{"random": "r", "origin": target}, Secrets: []string{secret}, Salt: "encodedState", MaxAge: 900e9, Now: s.clock.Now,
	}))(t)
}

// TestRedirectProxyMixUp: the proxy sends an answer on only to the callback
// route of the provider that sent it, at a deployment on its list.
func TestRedirectProxyMixUp(t *testing.T) {
	t.Parallel()
	s := proxySite(t, nil)
	for target, relayed := range map[string]bool{
		"https://pr-1.preview.example.com/auth/callback/idp":         true,
		"https://pr-1.preview.example.com/sub/callback/idp":          true, // with another base path
		"https://app.example.com:8443/auth/callback/idp":             true,
		"https://PR-1.preview.example.com/auth/callback/idp":         true,
		"https://pr-1.preview.example.com:443/auth/callback/idp":     true,
		"https://pr-1.preview.example.com/auth/callback/evil":        false,
		"https://pr-1.preview.example.com/auth/callback/idp/":        false,
		"https://pr-1.preview.example.com/auth/callback/idp?x=1":     false,
		"https://pr-1.preview.example.com/auth/callback/idp#x":       false,
		"https://pr-1.preview.example.com/auth/callback/evil?/idp":   false,
		"https://pr-1.preview.example.com/auth/xcallback/idp":        false,
		"https://u@pr-1.preview.example.com/auth/callback/idp":       false,
		"http://pr-1.preview.example.com/auth/callback/idp":          false,
		"http://localhost/auth/callback/idp":                         false,
		"https://preview.example.com/auth/callback/idp":              false,
		"https://a.b.preview.example.com/auth/callback/idp":          false,
		"https://.preview.example.com/auth/callback/idp":             false,
		"https://pr-1.preview.example.com:8443/auth/callback/idp":    false,
		"https://app.example.com:8444/auth/callback/idp":             false,
		"https://evilpreview.example.com/auth/callback/idp":          false,
		"https://pr-1.preview.example.com.evil.ex/auth/callback/idp": false,
		"https://evil.example/pr-1.preview.example.com/callback/idp": false,
		"javascript:alert(1)//callback/idp":                          false,
		"//pr-1.preview.example.com/callback/idp":                    false,
		"/callback/idp": false,
		"":              false,
	} {
		b := newBrowser(t, s)
		answer := url.Values{"code": {"c"}, "state": {sealedState(t, s, target)}}
		end := b.get(callback(answer))
		assert.Equalf(t, relayed, strings.Contains(end.location(), "code=c"),
			"%s: the answer goes to %s, want it relayed: %v", target, end.location(), relayed)
		if !relayed {
			end.wantLocation(t, lateAnswer)
		}
		b.wantNoSession()
	}
	assert.Zero(t, s.idp.count("/token"), "how often a code was sent to the provider")
}

// TestRedirectProxyThatIsNone: a deployment that takes its origin from the
// request relays no answer, for any Host header.
func TestRedirectProxyThatIsNone(t *testing.T) {
	t.Parallel()
	s := proxySite(t, nil)
	h := must(auth.New(auth.Config{
		Secret: []string{secret}, TrustHost: new(true), RedirectProxyURL: origin + "/auth", Clock: s.clock.Now, Logger: s.log.logger(), Providers: []auth.Provider{s.idp.provider()},
	}))(t)
	answer := url.Values{"code": {"c"}, "state": {sealedState(t, s, "https://pr-1.preview.example.com/auth/callback/idp")}}
	newBrowser(t, h).get(callback(answer)).wantLocation(t, lateAnswer)
}

// TestPreviewNeedsNoURL: a deployment behind the proxy needs neither a URL nor
// a list, also if a server in front of it ends TLS.
func TestPreviewNeedsNoURL(t *testing.T) {
	t.Parallel()
	s := proxySite(t, nil)
	preview := must(auth.New(auth.Config{
		Secret: []string{secret}, TrustHost: new(true), UseSecureCookies: new(true), RedirectProxyURL: origin + "/auth", Clock: s.clock.Now, Logger: s.log.logger(),
		Providers: []auth.Provider{s.idp.provider()},
	}))(t)
	away := newBrowser(t, preview)
	away.site = "http://pr-7.preview.example.com" // as the handler sees it
	answer := s.idp.authorize(t, away.post("/auth/signin/idp").location())
	back := newBrowser(t, s).get(callback(answer)).location()
	const want = "https://pr-7.preview.example.com/auth/callback/idp?"
	require.Truef(t, strings.HasPrefix(back, want), "the proxy sends the browser to %s, want %s", back, want)
	away.get(strings.TrimPrefix(back, "https://pr-7.preview.example.com")).wantLocation(t, "http://pr-7.preview.example.com")
	away.wantSession(`"name":"ada"`)
}

// TestRedirectProxyOriginsThatCannotWork are refused at the start.
func TestRedirectProxyOriginsThatCannotWork(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"https://a.example.com": "", "*.preview.example.com": "", "https://*.preview.example.com:8443": "", "localhost": "",
		"*": "not an https origin", "http://a.example.com": "not an https origin", "https://a.example.com/": "not an https origin", "": "not an https origin",
		"https://*.*.example.com": "not an https origin", "pr-*.example.com": "not an https origin", "https://a.example.com?x": "not an https origin",
		"*.com": "top-level domain", "*.localhost:8443": "top-level domain",
	} {
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, RedirectProxyURL: origin + "/auth", RedirectProxyOrigins: []string{entry}})
		assert.Falsef(t, want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)),
			"%q: got %v, want %q", entry, err, want)
	}
	_, err := auth.New(auth.Config{Secret: []string{secret}, TrustHost: new(true), RedirectProxyURL: origin + "/auth", RedirectProxyOrigins: []string{"a.example.com"}})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "needs Config.URL"), "a proxy without a URL: %v", err)
}
