package main

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
)

// TestLinkThatABrowserOpensTwice: a browser opens a mail link, and opens it once
// more. The link is used once, and the browser shows the page that the sign-in leads
// to both times.
func TestLinkThatABrowserOpensTwice(t *testing.T) {
	links, used := make(chan string, 1), make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(nil)
	site := "http://" + server.Listener.Addr().String()
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
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", h)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if s, err := h.Session(r); err == nil && s != nil && s.User != nil {
			who = s.User.Email
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html><title>Home</title><p>This is the home of %s</p>", html.EscapeString(who))
	})
	server.Config.Handler = mux
	server.Start()
	t.Cleanup(server.Close)

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
	if n := len(used); n != 1 {
		t.Errorf("the link was used %d times", n)
	}
}
