package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// TestProgram: visitors are asked to sign in, and signed-in users are greeted.
func TestProgram(t *testing.T) {
	t.Setenv("AUTH_GITHUB_ID", "id")
	t.Setenv("AUTH_GITHUB_SECRET", "secret")
	secret := strings.Repeat("program-secret", 3)
	site, err := newSite(auth.Config{
		Secret: []string{secret}, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler), Providers: []auth.Provider{providers.GitHub()},
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": "Ada"}, Secrets: []string{secret}, Salt: jwt.CookieName})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Origin", "http://localhost")
		if cookie != "" {
			r.AddCookie(&http.Cookie{Name: jwt.CookieName, Value: cookie})
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w
	}
	if w := ask(http.MethodGet, "/private", ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "http://localhost/auth/signin?callbackUrl=http%3A%2F%2Flocalhost%2Fprivate" {
		t.Errorf("a stranger: got %d, %v, %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(http.MethodGet, "/private", token); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Ada") {
		t.Errorf("signed in: got %d, %s", w.Code, w.Body)
	}
	if w := ask(http.MethodGet, "/auth/providers", ""); !strings.Contains(w.Body.String(), "http://localhost/auth/callback/github") {
		t.Errorf("the routes: got %d, %s", w.Code, w.Body)
	}
	if w := ask(http.MethodPost, "/signin", ""); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "http://localhost/auth/signin?") {
		t.Errorf("sign-in: got %d, %v", w.Code, w.Header())
	}
}
