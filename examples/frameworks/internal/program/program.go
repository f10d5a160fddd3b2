// Package program tests the programs in examples/frameworks.
package program

import (
	"bufio"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

const site = "http://localhost"

// request is a request and its response: the status, and the target of a redirect
// (without the query, if want ends with a question mark), or a text that the body
// has.
type request struct {
	method, path string
	signedIn     bool
	status       int
	want         string
}

const private = "callbackUrl=http%3A%2F%2Flocalhost%2Fprivate"

// programs has the requests for each program: visitors are asked to sign in, and
// signed-in users are greeted.
var programs = map[string][]request{
	"compiledui": {
		{"GET", "/private", false, 303, site + "/auth/signin?" + private},
		{"GET", "/private", true, 200, "Hello, Ada!"},
		{"GET", "/auth/providers", false, 200, site + "/auth/callback/github"},
		{"POST", "/signin", false, 303, site + "/auth/signin?"},
	},
	"fullstack": {
		{"GET", "/private", false, 303, site + "/api/auth/signin?" + private},
		{"GET", "/private", true, 200, "Hello, Ada!"},
		{"GET", "/api/auth/providers", false, 200, site + "/api/auth/callback/github"},
		{"POST", "/login", false, 303, "https://github.com/login/oauth/authorize?"},
	},
	"middleware": {
		{"GET", "/", false, 303, site + "/auth/signin?callbackUrl=http%3A%2F%2Flocalhost%2F"},
		{"GET", "/", true, 200, "Hello, Ada!"},
		{"GET", "/auth/providers", false, 200, site + "/auth/callback/github"},
	},
	"reactive": {
		{"GET", "/private", false, 303, "/"},
		{"GET", "/private", true, 200, "Hello, Ada!"},
		{"GET", "/api/auth/providers", false, 200, site + "/api/auth/callback/github"},
	},
	"resumable": {
		{"GET", "/", false, 200, "null\n"},
		{"GET", "/", true, 200, `"name":"Ada"`},
		{"GET", "/auth/providers", false, 200, site + "/auth/callback/github"},
		{"POST", "/login?providerId=github", false, 303, site + "/auth/signin?"},
	},
}

// Test starts the named program, whose function main says where it listens, and sends its requests to the site that
// newSite makes.
func Test(t *testing.T, name string, newSite func(auth.Config) (http.Handler, error), main func()) {
	if os.Getenv("PROGRAM_MAIN") != "" {
		main() // in the process that started has started
	}
	secrets := []string{strings.Repeat("program-secret", 3)}
	t.Setenv("AUTH_SECRET", secrets[0])
	t.Setenv("AUTH_GITHUB_ID", "id")
	t.Setenv("AUTH_GITHUB_SECRET", "secret")
	started(t)
	h, err := newSite(auth.Config{
		Secret: secrets, URL: site, Logger: slog.New(slog.DiscardHandler), Providers: []auth.Provider{providers.GitHub()},
	})
	require.NoError(t, err)
	token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": "Ada"}, Secrets: secrets, Salt: jwt.CookieName})
	require.NoError(t, err)
	require.NotEmptyf(t, programs[name], "the table has no program %q", name)
	for _, c := range programs[name] {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Origin", site)
		if c.signedIn {
			r.AddCookie(&http.Cookie{Name: jwt.CookieName, Value: token})
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		found := strings.Contains(w.Body.String(), c.want)
		if c.status == http.StatusSeeOther {
			location := w.Header().Get("Location")
			found = location == c.want || strings.HasSuffix(c.want, "?") && strings.HasPrefix(location, c.want)
		}
		assert.Truef(t, w.Code == c.status && found, "%s %s, signed in %t: got %d, Location %q, %s, want %d, %q",
			c.method, c.path, c.signedIn, w.Code, w.Header().Get("Location"), w.Body, c.status, c.want)
	}
}

// started runs the program in a process of its own until its first line.
func started(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "PROGRAM_MAIN=1")
	out, err := cmd.StderrPipe() // of package log
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.Containsf(t, line, "open http://localhost:3000\n", "error %v, want where it listens", err)
}
