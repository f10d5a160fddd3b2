package auth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/authjs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// localSite is a site that both Gatehouse and the real Auth.js serve.
const localSite = "http://localhost:3000"

// localBrowser is a browser on localSite.
func localBrowser(t *testing.T, h http.Handler) *browser {
	t.Helper()
	b := newBrowser(t, h)
	b.site = localSite
	return b
}

// askAuthJS sends a request of a browser on localSite to the real Auth.js.
func askAuthJS(b *browser, config map[string]any, method, target, form string) *authJSAnswer {
	b.t.Helper()
	var pairs []string
	for _, c := range b.cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	request := map[string]any{
		"method": method, "url": localSite + target,
		"headers": map[string]string{"cookie": strings.Join(pairs, "; "), "content-type": "application/x-www-form-urlencoded"},
	}
	if form != "" {
		request["body"] = form
	}
	var answers []authJSAnswer
	authjs.Call(b.t, "auth.mjs", []any{map[string]any{"config": config, "request": request}}, &answers)
	require.Truef(b.t, len(answers) == 1 && answers[0].Error == "", "Auth.js: %+v", answers)
	for _, line := range answers[0].SetCookie {
		c := must(http.ParseSetCookie(line))(b.t)
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return &answers[0]
}

type authJSAnswer struct {
	Status    int
	Headers   map[string]string
	SetCookie []string
	Body      string
	Error     string
}

func (a *authJSAnswer) location() string { return a.Headers["location"] }

// authJSProvider returns the Auth.js configuration of a client of the provider.
func (p *idp) authJSProvider(checks ...string) map[string]any {
	return map[string]any{
		"id": "idp", "name": "idp", "type": "oauth", "clientId": idpClient, "clientSecret": idpSecret, "checks": checks,
		"authorization": p.URL + "/authorize", "token": p.URL + "/token", "userinfo": p.URL + "/userinfo",
	}
}

// authJSToken returns a CSRF token, and sets the cookie with which Auth.js with
// the secret accepts the token.
func (b *browser) authJSToken(secret string) string {
	token := strings.Repeat("ab", 32)
	sum := sha256.Sum256([]byte(token + secret))
	b.cookies["authjs.csrf-token"] = &http.Cookie{Name: "authjs.csrf-token", Value: token + "%7C" + hex.EncodeToString(sum[:])}
	return token
}

// TestSignInAcrossAuthJS starts a sign-in in Gatehouse and finishes it in the
// real Auth.js, with the same secret and on the same site, and the other way
// round: each reads the check cookies of the other.
func TestSignInAcrossAuthJS(t *testing.T) {
	p := newIDP(t, time.Now)
	o := p.provider()
	plain(token("id_token", nil))(p, o)
	h := newHandler(t, auth.Config{URL: localSite, Providers: []auth.Provider{o}})
	config := map[string]any{"secret": secret, "basePath": "/auth", "providers": []any{p.authJSProvider("state", "pkce")}}
	signedIn := func(t *testing.T, b *browser, end string) {
		t.Helper()
		require.Equal(t, localSite, end, "the sign-in ends at")
		b.wantSession(`"name":"userinfo of ada"`)
		for name := range b.cookies {
			assert.Truef(t, !strings.Contains(name, "pkce") && !strings.HasSuffix(name, ".state"), "%s is left behind", name)
		}
	}
	t.Run("from Gatehouse to Auth.js", func(t *testing.T) {
		b := localBrowser(t, h)
		answer := p.authorize(t, b.post("/auth/signin/idp").location())
		signedIn(t, b, askAuthJS(b, config, http.MethodGet, "/auth/callback/idp?"+answer.Encode(), "").location())
	})
	t.Run("from Auth.js to Gatehouse", func(t *testing.T) {
		b := localBrowser(t, h)
		csrf := b.authJSToken(secret)
		answer := p.authorize(t, askAuthJS(b, config, http.MethodPost, "/auth/signin/idp", url.Values{"csrfToken": {csrf}}.Encode()).location())
		signedIn(t, b, b.get("/auth/callback/idp?"+answer.Encode()).location())
	})
}

// TestStaleTicketBeatsNoNewerCheck: at a provider without a state, all sign-ins
// of a browser share one ticket, which Auth.js neither replaces nor deletes.
// The check cookie of a later sign-in is used instead of the ticket. If nothing
// newer was begun with its provider, the ticket still finishes its sign-in.
func TestStaleTicketBeatsNoNewerCheck(t *testing.T) {
	p := newIDP(t, time.Now)
	o := p.provider()
	plain(token("id_token", nil))(p, o)
	o.Checks = []auth.Check{auth.CheckPKCE}
	other := *o
	other.ID = "other"
	h := newHandler(t, auth.Config{URL: localSite, Providers: []auth.Provider{o, &other}})
	config := map[string]any{"secret": secret, "basePath": "/auth", "providers": []any{p.authJSProvider("pkce")}}
	t.Run("begun here, then at Auth.js", func(t *testing.T) {
		b := localBrowser(t, h)
		b.post("/auth/signin/idp", "callbackUrl", "/old")
		answer := p.authorize(t, askAuthJS(b, config, http.MethodPost, "/auth/signin/idp", url.Values{"csrfToken": {b.csrf()}, "callbackUrl": {"/new"}}.Encode()).location())
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, localSite+"/new")
		b.wantSession(`"name":"userinfo of ada"`)
		for name := range b.cookies {
			assert.Truef(t, !strings.Contains(name, "pkce") && !strings.Contains(name, ".state."), "%s is left behind", name)
		}
	})
	t.Run("another provider in between", func(t *testing.T) {
		b := localBrowser(t, h)
		answer := p.authorize(t, b.post("/auth/signin/idp", "callbackUrl", "/old").location())
		b.post("/auth/signin/other", "callbackUrl", "/new")
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, localSite+"/old")
		b.wantSession(`"name":"userinfo of ada"`)
	})
}

// TestAuthJSTakesWhatAListOfSecretsMade: Auth.js hashes CSRF tokens and mail
// links with all secrets of its list, joined by commas, and so does Gatehouse.
func TestAuthJSTakesWhatAListOfSecretsMade(t *testing.T) {
	secrets := []string{secret, oldSecret}
	s, box := newStore(), &outbox{}
	h := newHandler(t, auth.Config{URL: localSite, Secret: secrets, Adapter: s, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{box.provider()}})
	b := localBrowser(t, h)
	csrf := b.csrf()
	theirs := askAuthJS(b, map[string]any{"secret": secrets, "basePath": "/auth"}, http.MethodGet, "/auth/csrf", "")
	assert.Truef(t, len(theirs.SetCookie) <= 0 && strings.Contains(theirs.Body, csrf),
		"Auth.js replaces our CSRF cookie: %s, cookies %q", theirs.Body, theirs.SetCookie)
	out := askAuthJS(b, map[string]any{"secret": secrets, "basePath": "/auth"}, http.MethodPost, "/auth/signout", "csrfToken="+csrf)
	assert.Equal(t, localSite, out.location(), "Auth.js signs out with our token and goes to")
	b.post("/auth/signin/email", "email", "ada@example.com")
	stored := slices.Collect(maps.Values(s.tokens))
	require.Len(t, stored, 1, "the store has the tokens")
	link := must(url.Parse(box.last(t)))(t)
	end := askAuthJS(b, map[string]any{"secret": secrets, "basePath": "/auth", "verificationTokens": []any{
		map[string]any{"identifier": stored[0].Identifier, "token": stored[0].Token, "expires": stored[0].Expires},
	}}, http.MethodGet, link.RequestURI(), "")
	assert.Equal(t, localSite, end.location(), "the link leads at Auth.js to")
	b.wantSession("ada@example.com")
}
