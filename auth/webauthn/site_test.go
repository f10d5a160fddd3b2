package webauthn_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/require"
)

const (
	origin = "https://app.example.com"
	secret = "a-secret-for-tests-a-secret-for-t"
)

// site is a site that users visit with a passkey.
type site struct {
	*auth.Handler
	store adapter.Adapter
	log   *logBook
	clock *clock
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logBook collects the log as text.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newSite makes a site with a passkey provider and a store in memory; change
// may set other fields. Options that are nil are left out.
func newSite(t testing.TB, change func(c *auth.Config), options ...webauthn.Option) *site {
	t.Helper()
	options = slices.DeleteFunc(options, func(o webauthn.Option) bool { return o == nil })
	s := &site{log: &logBook{}, clock: &clock{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}}
	config := auth.Config{
		Secret: []string{secret}, URL: origin, Adapter: memory.New(), Clock: s.clock.Now,
		Providers:    []auth.Provider{webauthn.Passkey(options...)},
		Experimental: auth.Experimental{EnableWebAuthn: true},
		Logger:       slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	if change != nil {
		change(&config)
	}
	h := must(auth.New(config))(t)
	s.Handler, s.store = h, config.Adapter
	return s
}

// browser keeps cookies and follows no redirects.
type browser struct {
	t       testing.TB
	h       http.Handler
	origin  string
	cookies map[string]*http.Cookie
	// provider is the ID of the provider that the helpers use.
	provider string
}

func newBrowser(t testing.TB, h http.Handler) *browser {
	return &browser{t: t, h: h, origin: origin, cookies: map[string]*http.Cookie{}, provider: "passkey"}
}

type reply struct {
	*http.Response
	body string
}

func (r *reply) location() string { return r.Header.Get("Location") }

func (b *browser) do(method, path, body string, header http.Header) *reply {
	b.t.Helper()
	r := httptest.NewRequest(method, b.origin+path, strings.NewReader(body))
	if strings.Contains(b.origin, "//localhost") {
		r.RemoteAddr = "127.0.0.1:4000" // only a client on this machine may name this machine
	}
	for name, v := range header {
		r.Header[name] = v
	}
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	res := w.Result()
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c
	}
	return &reply{res, w.Body.String()}
}

func (b *browser) get(path string) *reply { b.t.Helper(); return b.do(http.MethodGet, path, "", nil) }

// begun is the response of webauthn-options.
type begun struct {
	Action  string
	Options json.RawMessage
}

// options begins a ceremony with a query.
func (b *browser) options(query string) begun {
	b.t.Helper()
	res := b.get("/auth/webauthn-options/" + b.provider + "?" + query)
	var o begun
	err := json.Unmarshal([]byte(res.body), &o)
	require.Truef(b.t, err == nil && res.StatusCode == http.StatusOK, "options: status %d, %s", res.StatusCode, res.body)
	return o
}

// finish posts an answer, as a script of the site does.
func (b *browser) finish(action, data string, more ...string) *reply {
	b.t.Helper()
	form := url.Values{"action": {action}, "data": {data}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return b.do(http.MethodPost, "/auth/callback/"+b.provider, form.Encode(), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.origin}, "Sec-Fetch-Site": {"same-origin"},
	})
}

func (b *browser) client() softkey.Client { return softkey.Client{Origin: b.origin} }

// register makes a new user with an address, or adds a passkey to the signed-in
// user.
func (b *browser) register(k *softkey.Key, email string) *reply {
	b.t.Helper()
	o := b.options("action=register&email=" + url.QueryEscape(email))
	return b.finish("register", k.Register(b.t, o.Options, b.client()))
}

func (b *browser) signIn(k *softkey.Key) *reply {
	b.t.Helper()
	o := b.options("action=authenticate")
	return b.finish("authenticate", k.Authenticate(b.t, o.Options, b.client()))
}

func (b *browser) signOut() {
	for name := range b.cookies {
		if strings.Contains(name, "session-token") {
			delete(b.cookies, name)
		}
	}
}

// takeSession gives the browser the session of another browser.
func (b *browser) takeSession(other *browser) {
	for name, c := range other.cookies {
		if strings.Contains(name, "session-token") {
			b.cookies[name] = c
		}
	}
}

// answerTo returns the method of a key that answers the options of an action.
func answerTo(action string, k *softkey.Key) func(t testing.TB, options []byte, c softkey.Client) string {
	if action == "authenticate" {
		return k.Authenticate
	}
	return k.Register
}

// session returns the session of the browser as JSON.
func (b *browser) session() string { b.t.Helper(); return b.get("/auth/session").body }

func (b *browser) wantSession(want string) {
	b.t.Helper()
	got := b.session()
	require.Containsf(b.t, got, want, "session: got %s, want one with %s", got, want)
}

func (b *browser) wantNobody() {
	b.t.Helper()
	require.Equal(b.t, "null", b.session(), "session")
}

// wantDone checks that a ceremony succeeded.
func (b *browser) wantDone(r *reply) {
	b.t.Helper()
	require.Equalf(b.t, b.origin, r.location(),
		"the ceremony ends at %q (status %d, %s)", r.location(), r.StatusCode, r.body)
}

// wantRefused checks that a ceremony ended on a page that says what to do.
func (b *browser) wantRefused(r *reply, code string) {
	b.t.Helper()
	want := b.origin + "/auth/error?error=WebAuthnVerificationError&code=" + code
	require.Equalf(b.t, want, r.location(),
		"the ceremony ends at %q (status %d), want %q", r.location(), r.StatusCode, want)
	for _, c := range r.Cookies() {
		require.False(b.t, strings.Contains(c.Name, "session-token") && c.Value != "",
			"a refused ceremony sets a session cookie")
	}
}

func b64std(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
