package main

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinkThatABrowserOpensTwice: a browser opens a mail link, and opens it once
// more. The link is used once, and the browser shows the page that the sign-in leads
// to both times.
func TestLinkThatABrowserOpensTwice(t *testing.T) {
	links, used := make(chan string, 1), make(chan struct{}, 8)
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		h, err := auth.New(auth.Config{
			URL: site, Secret: []string{strings.Repeat("twice-secret", 3)}, Logger: slog.New(slog.DiscardHandler), Adapter: memory.New(),
			Providers: []auth.Provider{&auth.Email{SendVerificationRequest: func(_ context.Context, v auth.VerificationRequest) error {
				links <- v.URL
				return nil
			}}},
			Callbacks: auth.Callbacks{SignIn: func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
				if !p.VerificationRequest {
					used <- struct{}{}
				}
				return auth.Allow(), nil
			}},
		})
		require.NoError(t, err)
		mux := http.NewServeMux()
		mux.Handle("/auth/", h)
		mux.Handle("/", home(h))
		return mux, nil
	})

	b := chromium.New(t)
	b.Go(site + "/auth/signin")
	b.Fill("[name=email]", "ada@example.com")
	b.Click("#submitButton")
	link := <-links
	b.Until(`location.pathname === "/auth/verify-request"`)
	b.Go(link)
	b.Reads("This is the home of ada@example.com")
	b.Go(link)
	b.Reads("This is the home of ada@example.com")
	assert.Len(t, used, 1, "the uses of the link")
}

// TestAnswersAgainAndLate: a person goes back to the page of the provider and confirms once
// more, also in a sign-in that was ended long ago, and comes back after 20 minutes.
func TestAnswersAgainAndLate(t *testing.T) {
	var later atomic.Int64
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		h, err := auth.New(auth.Config{
			URL: site, Secret: cookieSecret, Logger: slog.New(slog.DiscardHandler),
			Clock: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
			Providers: []auth.Provider{&auth.OAuth{
				ID: "idp", Name: "Idp", ClientID: "id", ClientSecret: "secret",
				Authorization: auth.AuthorizationEndpoint{URL: site + "/login"},
				Token:         auth.TokenEndpoint{URL: site + "/token"}, UserInfo: auth.UserInfoEndpoint{URL: site + "/me"},
				Profile: func(_ context.Context, p auth.Profile, _ auth.TokenSet) (*auth.User, error) {
					return &auth.User{ID: fmt.Sprint(p["id"]), Name: fmt.Sprint(p["name"])}, nil
				},
			}},
		})
		require.NoError(t, err)
		mux := http.NewServeMux()
		mux.Handle("/auth/", h)
		mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
			answer := r.FormValue("redirect_uri") + "?" + url.Values{"code": {"code"}, "state": {r.FormValue("state")}}.Encode()
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Cache-Control", "no-store") // the browser asks again when a person goes back
			_, _ = fmt.Fprintf(w, `<!DOCTYPE html><p>Is it you?</p><a id="yes" href="%s">Yes</a>`, html.EscapeString(answer))
		})
		mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"access_token":"token","token_type":"bearer"}`)
		})
		mux.HandleFunc("/me", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"id":"1","name":"Ada"}`)
		})
		mux.Handle("/{$}", home(h))
		return mux, nil
	})

	b := chromium.New(t)
	b.Go(site + "/auth/signin")
	b.Click("form button")
	b.Reads("Is it you?")
	b.Click("#yes")
	b.Reads("This is the home of Ada")

	b.Back()
	b.Reads("Is it you?")
	b.Click("#yes")
	b.Reads("This is the home of Ada")

	other := chromium.New(t)
	other.Go(site + "/auth/signin")
	other.Click("form button")
	other.Reads("Is it you?")
	later.Store(int64(20 * time.Minute))
	other.Click("#yes")
	other.Until(`/try.*again/i.test(document.body.innerText)`)
	assert.NotContains(t, chromium.Await[string](other, "document.body.innerText"), "server configuration",
		"the person reads")
	other.Go(site)
	other.Reads("This is the home of nobody")
}

// home is a page that says who is signed in: the address, or else the name.
func home(h *auth.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if s, err := h.Session(r); err == nil && s != nil && s.User != nil {
			who = cmp.Or(s.User.Email, s.User.Name)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html><title>Home</title><p>This is the home of %s</p>", html.EscapeString(who))
	})
}
