package main

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

func visit(t *testing.T) *visitor.Visitor {
	t.Helper()
	return visitor.New(t, "http://"+serve(t, auth.Config{}))
}

// serve starts the site and returns its address.
func serve(t *testing.T, config auth.Config) string {
	t.Helper()
	config.Secret, config.Logger = []string{strings.Repeat("router-secret", 3)}, slog.New(slog.DiscardHandler)
	site, err := newSite(config)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- site.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		assert.NoError(t, site.Shutdown())
		assert.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visit(t).Guarded("only.") }

// TestCookieWithoutAName: a cookie without a name, which a sibling subdomain can
// set, is not read as the cookie that its value spells.
func TestCookieWithoutAName(t *testing.T) {
	address := serve(t, auth.Config{URL: "https://app.example.com"})
	const head = "Host: app.example.com\nConnection: close\nSec-Fetch-Site: same-site\nOrigin: https://evil.example.com\n"
	csrf := visitor.Ask(t, address, "GET /auth/csrf HTTP/1.1\n"+head+"\n")
	var token struct{ CSRFToken string }
	require.NoError(t, json.Unmarshal([]byte(csrf.Body), &token), csrf.Body)
	cookie, err := http.ParseSetCookie(csrf.Header.Get("Set-Cookie"))
	require.NoError(t, err)
	planted := cookie.Name + "=" + cookie.Value
	form := url.Values{"csrfToken": {token.CSRFToken}, "username": {"ada"}, "password": {"lovelace"}}.Encode()
	for cookie, ok := range map[string]bool{planted: true, "a=b; " + planted: true, "=" + planted: false, "==" + planted: false, "a=b; =" + planted: false} {
		a := visitor.Ask(t, address, "POST /auth/callback/credentials HTTP/1.1\n"+head+"Content-Type: application/x-www-form-urlencoded\nCookie: "+cookie+
			"\nContent-Length: "+strconv.Itoa(len(form))+"\n\n"+form)
		if signedIn := strings.Contains(strings.Join(a.Header["Set-Cookie"], " "), "session-token="); signedIn != ok {
			t.Errorf("Cookie: %.30s…: signed in %v, want %v (%d to %s)", cookie, signedIn, ok, a.Status, a.Header.Get("Location"))
		}
	}
}

func TestSite(t *testing.T) { visit(t).SignInAndOut("For Ada only.") }
