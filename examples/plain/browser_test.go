package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The states of the server, for the tests.
const (
	up int32 = iota
	unreachable
	failing
)

// serve starts the site.
func serve(t *testing.T) (url string, state *atomic.Int32) {
	t.Helper()
	handler, err := site(auth.Config{Secret: []string{strings.Repeat("plain-secret", 3)}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	state = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/auth/") || state.Load() == up:
			handler.ServeHTTP(w, r)
		case state.Load() == failing:
			http.Error(w, "the server is not well", http.StatusInternalServerError)
		default:
			panic(http.ErrAbortHandler) // closes the connection
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, state
}

func signIn(b *chromium.Tab) {
	b.Reads("Nobody is signed in")
	b.Fill("[name=username]", "ada")
	b.Fill("[name=password]", "lovelace")
	b.Click("#signin button")
	b.Reads("Signed in as Ada")
}

// TestTwoTabs: a sign-in, a change or a sign-out in one tab takes effect in the
// other.
func TestTwoTabs(t *testing.T) {
	url, _ := serve(t)
	one := chromium.New(t)
	two := one.NewTab()
	one.Go(url)
	two.Go(url)
	two.Reads("Nobody is signed in")
	signIn(one)
	two.Reads("Signed in as Ada")
	two.Click("#rename")
	two.Reads("Signed in as Augusta")
	one.Reads("Signed in as Augusta")
	two.Click("#signout")
	two.Reads("Nobody is signed in")
	one.Reads("Nobody is signed in")
}

// TestCredentialsCodes: the code of a refused sign-in reaches the page.
func TestCredentialsCodes(t *testing.T) {
	url, _ := serve(t)
	b := chromium.New(t)
	b.Go(url)
	b.Reads("Nobody is signed in")
	b.Fill("[name=username]", "ada")
	b.Fill("[name=password]", "wrong")
	b.Click("#signin button")
	b.Reads("Name or password is wrong.")
	b.Go(url)
	b.Reads("Nobody is signed in")
	b.Fill("[name=username]", "eve")
	b.Click("#signin button")
	b.Reads("This account is locked.")
}

// TestServerThatFails: a server that can't be reached, or that answers with an
// error, signs nobody out. The page shows the failure.
func TestServerThatFails(t *testing.T) {
	url, state := serve(t)
	b := chromium.New(t)
	b.Go(url)
	signIn(b)
	for _, how := range []int32{unreachable, failing} {
		state.Store(how)
		chromium.Await[bool](b, `dispatchEvent(new Event("online"))`)
		b.Reads("The server can't be reached.")
		b.Reads("Signed in as Ada")
		got := chromium.Await[bool](b, `import(document.querySelector("#app").dataset.module).then((m) => m.getSession()).then((s) => s === null)`)
		assert.True(t, got, "getSession is not null")
		state.Store(up)
		chromium.Await[bool](b, `dispatchEvent(new Event("online"))`)
		b.Until(`document.querySelector("#problem").textContent === ""`)
		b.Reads("Signed in as Ada")
	}
}

// TestFunctions calls each function of the module.
func TestFunctions(t *testing.T) {
	url, state := serve(t)
	b := chromium.New(t)
	b.Go(url)
	b.Reads("Nobody is signed in")
	module := `import(document.querySelector("#app").dataset.module)`
	for expression, want := range map[string]string{
		`m.getCsrfToken()`: `"`,
		`m.getProviders()`: `{"credentials":{"id":"credentials"`,
		`m.signIn("credentials", {redirect: false, username: "eve"})`: `{"error":"CredentialsSignin","code":"locked","status":200,"ok":true,"url":null}`,
		`m.getSession()`:        `null`,
		`m.update()`:            `null`,
		`m.update({name: "x"})`: `null`,
		`m.signOut({redirect: false, redirectTo: "/x"})`: `"url":"` + url + `/x"`,
	} {
		got := chromium.Await[string](b, module+`.then((m) => `+expression+`).then((v) => JSON.stringify(v))`)
		assert.Contains(t, got, want, expression)
	}
	b.Leave(module + `.then((m) => m.signIn("nobody-knows", {redirectTo: "/x"}))`)
	b.Until(`location.pathname === "/auth/signin" && location.search === "?callbackUrl=%2Fx"`)
	b.Go(url)
	b.Reads("Nobody is signed in")
	b.Leave(module + `.then((m) => m.signIn("credentials", {username: "ada", password: "lovelace", redirectTo: "/#there"}))`)
	b.Until(`location.hash === "#there"`)
	b.Reads("Signed in as Ada")
	state.Store(failing)
	b.Leave(module + `.then((m) => m.signIn("credentials"))`)
	b.Until(`location.pathname === "/auth/error"`)
}
