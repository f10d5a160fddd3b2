package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

// TestInteropInABrowser signs in with oidc-provider, a certified OpenID
// provider, in headless Chromium. The provider is on another site than ours, so
// that a form_post response is a POST across sites.
func TestInteropInABrowser(t *testing.T) {
	issuer := startProvider(t)
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		for _, mode := range []string{"query", "form_post"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				store := memory.New()
				site := visitor.Serve(t, func(site string) (http.Handler, error) {
					return newRelyingParty(t, issuer, site, mode, store)
				})
				b := newBrowser(t, scripts)
				b.goTo(site + "/auth/signin?callbackUrl=/hello")
				b.click("form[action$='/signin/op'] button")
				b.fill("input[name=login]", "ada")
				b.fill("input[name=password]", "any")
				b.click("button[type=submit]")
				b.reads("scopes:")
				b.click("button[type=submit]")
				if mode == "form_post" && !scripts {
					b.click("button[type=submit]") // the button of the form that a script would submit
					b.click("#submitButton")       // the button of our own page, from which the browser sends its cookies
				}
				b.do(chromedp.WaitVisible("#hello"))
				b.reads("Hello, ada of the id_token!")
				b.goTo(site + "/auth/session")
				b.reads("ada@example.com")
				for _, prefix := range []string{"authjs.state", "authjs.pkce", "authjs.nonce"} {
					assert.Empty(t, b.cookies(prefix), "cookies that are left")
				}
				user, err := store.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "op", ProviderAccountID: "ada"})
				assert.Truef(t, err == nil && user != nil && user.Email == "ada@example.com",
					"the account belongs to %v, error %v", user, err)
				b.endSession(site)
			})
		}
	}
}

// newRelyingParty makes a site whose users sign in with the provider.
func newRelyingParty(t *testing.T, issuer, site, mode string, store adapter.Adapter) (http.Handler, error) {
	t.Helper()
	id, secret := register(t, issuer, site+"/auth/callback/op")
	h, err := auth.New(auth.Config{
		URL: site, Secret: []string{"a secret of the tests, 32 bytes and more"}, Adapter: store,
		Providers: []auth.Provider{&auth.OAuth{
			ID: "op", Type: auth.TypeOIDC, Issuer: issuer, ClientID: id, ClientSecret: secret,
			Authorization: auth.AuthorizationEndpoint{Params: url.Values{"response_mode": {mode}}},
			Checks:        []auth.Check{auth.CheckState, auth.CheckPKCE, auth.CheckNonce},
		}},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", h)
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		session, err := h.Session(r)
		if err != nil || session == nil {
			http.Error(w, "nobody is signed in", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<p id="hello">Hello, %s!</p>`, html.EscapeString(session.User.Name))
	})
	return mux, nil
}

// register registers a client (RFC 7591).
func register(t *testing.T, issuer, redirectURI string) (id, secret string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/reg", strings.NewReader(`{"redirect_uris":["`+redirectURI+`"]}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err = json.NewDecoder(res.Body).Decode(&client)
	require.Truef(t, err == nil && client.ID != "", "registration: status %d, %v", res.StatusCode, err)
	return client.ID, client.Secret
}

// startProvider starts the provider and returns its issuer.
func startProvider(t *testing.T) string {
	t.Helper()
	cmd := authjs.Command(t, "nobody signed in with oidc-provider", "../../interop/oidc", "provider.mjs")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // the provider then ends
		_ = cmd.Wait() // the end of the test may have killed it
	})
	slow := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer slow.Stop()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the provider does not start")
	return lines.Text()
}
