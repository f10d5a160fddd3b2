package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"

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
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- site.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := site.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// answer is a response without its body, which was read.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
}

// ask sends a request as it stands and returns the answer and its body.
func ask(t *testing.T, address, request string) (answer, string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, res.Cookies()}, string(body)
}

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) {
	address := serve(t, auth.Config{})
	for _, target := range []string{
		"/private", "/private/", "//private", "/x/../private", "/PRIVATE", "/%70rivate", "/./private", "/private?x", "/private/x",
		"/private#x", "/private#", "/private#/../x", "/PRIVATE/#", "/x#/private", "/private\\x", "/private%23x", "/private;x", "http://localhost/private", "http://localhost/private#x",
	} {
		res, body := ask(t, address, "GET "+target+" HTTP/1.1\nHost: localhost\nConnection: close\n\n")
		if res.status == http.StatusOK || strings.Contains(body, "only.") {
			t.Errorf("%s: status %d, %s", target, res.status, body)
		}
	}
	for _, target := range []string{"/", "/?x=%23", "/auth/csrf"} { // the site goes on, and pages without a guard need nobody
		if res, _ := ask(t, address, "GET "+target+" HTTP/1.1\nHost: localhost\nConnection: close\n\n"); res.status != http.StatusOK {
			t.Errorf("%s: status %d", target, res.status)
		}
	}
}

// TestCookieWithoutAName: a cookie without a name, which a sibling subdomain can
// set, is not read as the cookie that its value spells.
func TestCookieWithoutAName(t *testing.T) {
	address := serve(t, auth.Config{URL: "https://app.example.com"})
	const head = "Host: app.example.com\nConnection: close\nSec-Fetch-Site: same-site\nOrigin: https://evil.example.com\n"
	res, body := ask(t, address, "GET /auth/csrf HTTP/1.1\n"+head+"\n")
	var token struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(body), &token); err != nil || len(res.cookies) == 0 {
		t.Fatal(body, err)
	}
	planted := res.cookies[0].Name + "=" + res.cookies[0].Value
	form := url.Values{"csrfToken": {token.CSRFToken}, "username": {"ada"}, "password": {"lovelace"}}.Encode()
	for cookie, ok := range map[string]bool{planted: true, "a=b; " + planted: true, "=" + planted: false, "==" + planted: false, "a=b; =" + planted: false} {
		res, _ := ask(t, address, "POST /auth/callback/credentials HTTP/1.1\n"+head+"Content-Type: application/x-www-form-urlencoded\nCookie: "+cookie+
			"\nContent-Length: "+strconv.Itoa(len(form))+"\n\n"+form)
		if signedIn := strings.Contains(strings.Join(res.header["Set-Cookie"], " "), "session-token="); signedIn != ok {
			t.Errorf("Cookie: %.30s…: signed in %v, want %v (%d to %s)", cookie, signedIn, ok, res.status, res.header.Get("Location"))
		}
	}
}

func TestSite(t *testing.T) { visit(t).SignInAndOut("For Ada only.") }
