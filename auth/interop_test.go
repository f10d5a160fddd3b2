package auth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/authjs"
)

// TestSignInAcrossAuthJS starts a sign-in here and finishes it at the real
// Auth.js, with the same secret and on the same site, and the other way round:
// the cookies of the checks are those of either.
func TestSignInAcrossAuthJS(t *testing.T) {
	const site = "http://localhost:3000"
	p := newIDP(t, time.Now)
	o := p.provider()
	plain(token("id_token", nil))(p, o)
	h := newHandler(t, auth.Config{URL: site, Providers: []auth.Provider{o}})
	config := map[string]any{"secret": secret, "basePath": "/auth", "providers": []any{map[string]any{
		"id": "idp", "name": "idp", "type": "oauth", "clientId": idpClient, "clientSecret": idpSecret, "checks": []string{"state", "pkce"},
		"authorization": p.URL + "/authorize", "token": p.URL + "/token", "userinfo": p.URL + "/userinfo",
	}}}
	// ask has Auth.js serve a request of the browser.
	ask := func(b *browser, method, target, form string) string {
		var pairs []string
		for _, c := range b.cookies {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		var answers []struct {
			Headers   map[string]string
			SetCookie []string
			Error     string
		}
		request := map[string]any{
			"method": method, "url": site + target,
			"headers": map[string]string{"cookie": strings.Join(pairs, "; "), "content-type": "application/x-www-form-urlencoded"},
		}
		if form != "" {
			request["body"] = form
		}
		authjs.Call(t, "auth.mjs", []any{map[string]any{"config": config, "request": request}}, &answers)
		if len(answers) != 1 || answers[0].Error != "" {
			t.Fatalf("Auth.js: %+v", answers)
		}
		for _, line := range answers[0].SetCookie {
			c, err := http.ParseSetCookie(line)
			if err != nil {
				t.Fatal(err)
			}
			if b.cookies[c.Name] = c; c.MaxAge < 0 {
				delete(b.cookies, c.Name)
			}
		}
		return answers[0].Headers["location"]
	}
	newBrowser := func() *browser {
		b := newBrowser(t, h)
		b.site = site
		return b
	}
	signedIn := func(b *browser, end string) {
		t.Helper()
		if end != site {
			t.Fatalf("the sign-in ends at %s", end)
		}
		b.wantSession(`"name":"userinfo of ada"`)
		for name := range b.cookies {
			if strings.Contains(name, "pkce") || strings.HasSuffix(name, ".state") {
				t.Errorf("%s is left behind", name)
			}
		}
	}
	t.Run("from Gatehouse to Auth.js", func(t *testing.T) {
		b := newBrowser()
		answer := p.authorize(t, b.post("/auth/signin/idp").location())
		signedIn(b, ask(b, http.MethodGet, "/auth/callback/idp?"+answer.Encode(), ""))
	})
	t.Run("from Auth.js to Gatehouse", func(t *testing.T) {
		b := newBrowser()
		csrf := strings.Repeat("ab", 32)
		sum := sha256.Sum256([]byte(csrf + secret))
		b.cookies["authjs.csrf-token"] = &http.Cookie{Name: "authjs.csrf-token", Value: csrf + "%7C" + hex.EncodeToString(sum[:])}
		answer := p.authorize(t, ask(b, http.MethodPost, "/auth/signin/idp", url.Values{"csrfToken": {csrf}}.Encode()))
		signedIn(b, b.get("/auth/callback/idp?"+answer.Encode()).location())
	})
}
