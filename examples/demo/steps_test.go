package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/limit"
	"github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// links keeps the link of the last mail.
type links struct {
	mu   sync.Mutex
	last string
}

func (l *links) keep(url string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = url
	return nil
}

func (l *links) open() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// stepsSite is a site with every built-in page.
func stepsSite(site string, store *memory.Adapter, mails *links) (http.Handler, error) {
	h, err := auth.New(auth.Config{
		URL: site, Secret: []string{"for this demonstration only, 0123456789"}, Adapter: store, Theme: auth.Theme{Logo: logo, BrandColor: "#8a2be2"},
		Limit: limit.New(limit.Options{}), Experimental: auth.Experimental{EnableWebAuthn: true},
		Providers: []auth.Provider{
			webauthn.Passkey(),
			&auth.Email{Code: true, SendVerificationRequest: func(_ context.Context, r auth.VerificationRequest) error { return mails.keep(r.URL) }},
			password.Provider(store, password.Settings{Send: func(_ context.Context, m password.Mail) error {
				if m.URL == "" {
					return nil
				}
				return mails.keep(m.URL)
			}}),
			&auth.OAuth{ID: "example", Name: "Example", ClientID: "id", ClientSecret: "secret", Issuer: site},
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", h)
	mux.Handle("/passkeys", h.PasskeysPage())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("home")) })
	return mux, nil
}

// serveSteps starts stepsSite.
func serveSteps(t *testing.T, store *memory.Adapter) (site string, mails *links) {
	t.Helper()
	mails = &links{}
	return serve(t, func(site string) (http.Handler, error) { return stepsSite(site, store, mails) }), mails
}

// TestLooksOfSteps looks at the pages that a person meets on the way: after a mail,
// after a mistake, and in other languages.
func TestLooksOfSteps(t *testing.T) {
	store := memory.New()
	site, mails := serveSteps(t, store)
	_, err := store.CreateUserWithAccount(t.Context(), adapter.User{ID: "held", Email: "held@example.com"},
		adapter.Account{Type: adapter.AccountOAuth, Provider: "example", ProviderAccountID: "1"}, nil)
	require.NoError(t, err)
	b, script := newLooker(t)
	// post sends a form from the page that is shown, and waits for a text.
	post := func(path string, fields map[string]string, text string) {
		t.Helper()
		object, err := json.Marshal(fields)
		require.NoError(t, err)
		get(b, chromedp.Evaluate[int](fmt.Sprintf(`(() => { const form = document.createElement("form")
			form.method = "POST"; form.action = %q; const fields = %s
			const token = document.querySelector("input[name=csrfToken]"); if (token) fields.csrfToken = token.value
			for (const name in fields) { const i = document.createElement("input"); i.type = "hidden"; i.name = name; i.value = fields[name]; form.append(i) }
			document.body.append(form); window.before = true; setTimeout(() => form.submit()); return 0 })()`, site+path, object)))
		for range 20 { // an error says that the page is being replaced
			if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`!window.before && document.readyState === "complete"`)); err == nil {
				break
			}
		}
		b.reads(text)
	}
	forget := func() {
		t.Helper()
		_, err := chromedp.Call(b.ctx, storage.ClearCookies, storage.ClearCookiesParams{})
		require.NoError(t, err)
		b.goTo(site + "/auth/signin")
	}
	look := func(name, title string) { t.Helper(); b.look("steps-"+name, title, script, 320, 1280) }
	b.goTo(site + "/auth/signin")
	look("signin", "Sign in to ")
	post("/auth/callback/password", map[string]string{"email": "ada@example.com", "password": "not the right one"}, "")
	look("signin-wrong-password", "Sign in to ")

	b.goTo(site + "/auth/signin")
	post("/auth/signin/email", map[string]string{"email": "new@example.com"}, "Code")
	look("code", "Check your email")
	post("/auth/callback/email", map[string]string{"code": "000000"}, "does not count")
	look("code-wrong", "")
	link := mails.open()
	forget()
	b.goTo(link)
	look("confirm-link", "Sign in?")
	b.goTo(site + "/auth/signin")
	post("/auth/signin/email", map[string]string{"email": "held@example.com"}, "Code")
	b.goTo(mails.open())
	look("held-address", "This address is in use")
	for range 4 {
		b.goTo(site + "/auth/signin")
		post("/auth/signin/email", map[string]string{"email": "often@example.com"}, "")
	}
	b.reads("too many attempts")
	look("too-many", "Too many attempts")
	b.goTo(site + "/auth/nowhere")
	look("nowhere", "")

	_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	for _, language := range []string{"ar", "de", "ja"} {
		_, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}})
		require.NoError(t, err)
		for _, page := range []string{"signin", "signout", "error?error=Verification", "password/sign-up", "verify-request"} {
			b.goTo(site + "/auth/" + page)
			assert.Equalf(t, language, get(b, chromedp.Evaluate[string]("document.documentElement.lang")), "%s is in", page)
			name, _, _ := strings.Cut(page, "?")
			look(language+"-"+strings.ReplaceAll(name, "/", "-"), "")
		}
	}
}
