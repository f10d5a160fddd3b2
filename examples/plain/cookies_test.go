package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var cookieSecret = []string{strings.Repeat("cookie-secret", 3)}

// TestDomainOfTheSessionCookieChanges: the site gives its session cookie a domain. A browser
// that was signed in before has two session cookies after its next change. It stays signed
// in, and a sign-out ends both, whatever the site is told about the domain later.
func TestDomainOfTheSessionCookieChanges(t *testing.T) {
	var handler atomic.Value
	home := visitor.Serve(t, func(string) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.Load().(http.Handler).ServeHTTP(w, r)
		}), nil
	})
	home = strings.Replace(home, "127.0.0.1", "app.site.localhost", 1)
	var later time.Duration
	deploy := func(cookies auth.Cookies) {
		later += time.Minute // a new version runs later than the one before
		now := later
		h, err := site(auth.Config{
			URL: home, Secret: cookieSecret, Logger: slog.New(slog.DiscardHandler), Cookies: cookies,
			Clock: func() time.Time { return time.Now().Add(now) },
		})
		require.NoError(t, err)
		handler.Store(h)
	}
	deploy(auth.Cookies{})

	b := chromium.New(t)
	b.Go(home)
	signIn(b)
	deploy(auth.Cookies{SessionToken: auth.CookieConfig{Domain: "site.localhost"}})
	b.Go(home)
	b.Reads("Signed in as Ada")
	b.Click("#rename")
	b.Reads("Signed in as Augusta")
	b.Go(home)
	b.Reads("Signed in as Augusta")
	b.Click("#signout")
	b.Reads("Nobody is signed in")
	for _, cookies := range []auth.Cookies{{}, {SessionToken: auth.CookieConfig{Domain: "site.localhost"}}} {
		deploy(cookies)
		b.Go(home)
		b.Reads("Nobody is signed in")
	}
}

// TestAbandonedSignIns: a browser begins sign-ins and never ends them. Its cookies stay
// small, so that no server in front of the site refuses its requests.
func TestAbandonedSignIns(t *testing.T) {
	const maxCookies = 6 << 10
	var largest atomic.Int64
	home := visitor.Serve(t, func(home string) (http.Handler, error) {
		h, err := auth.New(auth.Config{
			URL: home, Secret: cookieSecret, Logger: slog.New(slog.DiscardHandler),
			Providers: []auth.Provider{&auth.OAuth{
				ID: "slow", Name: "Slow", ClientID: "id", ClientSecret: "secret",
				Authorization: auth.AuthorizationEndpoint{URL: home + "/login"},
				Token:         auth.TokenEndpoint{URL: home + "/token"}, UserInfo: auth.UserInfoEndpoint{URL: home + "/me"},
			}},
			Callbacks: auth.Callbacks{Redirect: func(_ context.Context, p auth.RedirectParams) (string, error) { return p.URL, nil }},
		})
		require.NoError(t, err)
		mux := http.NewServeMux()
		mux.Handle("/auth/", h)
		mux.HandleFunc("/login", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<!DOCTYPE html><p>The provider waits</p>")
		})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			largest.Store(max(largest.Load(), int64(len(r.Header.Get("Cookie")))))
			mux.ServeHTTP(w, r)
		}), nil
	})

	b := chromium.New(t)
	for n := range 7 {
		b.Go(home + "/auth/signin?callbackUrl=" + url.QueryEscape(home+"/"+strings.Repeat(fmt.Sprint(n), 1000)))
		b.Click("form button")
		b.Reads("The provider waits")
	}
	b.Go(home + "/auth/signin")
	n := largest.Load()
	assert.Truef(t, n != 0 && n <= maxCookies, "the browser sent %d bytes of cookies, want at most %d", n, maxCookies)
}
