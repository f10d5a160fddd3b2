package frameworks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/require"
)

const secret = "current-secret-current-secret-01"

// wiring is one way to set a site up. Every promise is proved in all of them.
type wiring struct {
	http2, database, prefixed, url bool
}

func wirings() (all []wiring) {
	for i := range 16 {
		all = append(all, wiring{i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0})
	}
	return all
}

func (x wiring) String() string {
	words := []string{"http1", "jwt", "root", "anyhost"}
	for i, w := range []struct {
		is   bool
		word string
	}{{x.http2, "http2"}, {x.database, "database"}, {x.prefixed, "prefix"}, {x.url, "url"}} {
		if w.is {
			words[i] = w.word
		}
	}
	return strings.Join(words, "-")
}

// world is a site on a real server with the browser of a visitor.
type world struct {
	testing.TB
	wiring
	// origin is the origin of the site; prefix is the path above it, or "".
	origin, prefix string
	config         auth.Config
	store          *store
	log            *logBook

	mux    *http.ServeMux
	server *httptest.Server
	client *http.Client
}

func newWorld(t testing.TB, x wiring) *world {
	t.Helper()
	w := &world{TB: t, wiring: x, mux: http.NewServeMux(), store: newStore(), log: &logBook{}}
	w.server = httptest.NewUnstartedServer(w.mux)
	w.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.origin = "http://" + w.server.Listener.Addr().String()
	if x.http2 {
		w.origin = "https://" + w.server.Listener.Addr().String()
		w.server.EnableHTTP2 = true
		w.server.StartTLS()
	} else {
		w.server.Start()
	}
	t.Cleanup(w.server.Close)
	w.client = w.newBrowser()
	if x.prefixed {
		w.prefix = "/app"
	}
	w.config = auth.Config{
		Secret: []string{secret}, Logger: w.log.logger(),
		Providers: []auth.Provider{gitHub(), password("credentials"), password("pass")},
	}
	if x.url {
		w.config.URL = w.origin
	}
	if x.database {
		w.config.Adapter = w.store
		w.config.Providers = []auth.Provider{gitHub(), &auth.Email{SendVerificationRequest: func(context.Context, auth.VerificationRequest) error { return nil }}}
	}
	return w
}

// again returns a world of its own with the same configuration.
func (w *world) again() *world {
	other := newWorld(w.TB, w.wiring)
	other.config.Callbacks = w.config.Callbacks
	return other
}

// beside returns a world with the same configuration and store, and a router of
// its own.
func (w *world) beside() *world {
	other := w.again()
	other.config = w.config
	return other
}

func (w *world) newBrowser() *http.Client {
	jar := must(cookiejar.New(nil))(w)
	c := *w.server.Client()
	c.Jar = jar
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// gitHub is an OAuth provider; no request is sent to it.
func gitHub() *auth.OAuth {
	return &auth.OAuth{
		ID: "github", ClientID: "id", ClientSecret: "secret",
		Authorization: auth.AuthorizationEndpoint{URL: "https://github.example/authorize"},
		Token:         auth.TokenEndpoint{URL: "https://github.example/token"}, UserInfo: auth.UserInfoEndpoint{URL: "https://github.example/user"},
		Profile: func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error) {
			return &auth.User{ID: "1"}, nil
		},
	}
}

func password(id string) *auth.Credentials {
	return &auth.Credentials{
		ID: id, Fields: []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
		Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
			if f.Get("password") != "lovelace" {
				return nil, &auth.Error{Type: auth.ErrCredentialsSignin, Code: "wrong"}
			}
			return &auth.User{ID: "u", Name: "Ada", Email: "ada@example.com"}, nil
		},
	}
}

func (w *world) cookieName() string {
	if w.http2 {
		return jwt.SecureCookieName
	}
	return jwt.CookieName
}

// signedIn gives the browser a session.
func (w *world) signedIn() *world {
	w.Helper()
	token := "token"
	if !w.database {
		claims := auth.Claims{"sub": "u", "email": "ada@example.com", "name": "Ada"}
		token = must(jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{secret}, Salt: w.cookieName()}))(w)
	} else {
		w.store.seed()
	}
	u, _ := url.Parse(w.origin)
	w.client.Jar.SetCookies(u, []*http.Cookie{{Name: w.cookieName(), Value: token, Path: "/"}})
	return w
}

// failing gives the browser a session and makes the store fail. With token
// sessions no store is read: a missing key would mean that nobody is signed in,
// which is no failure. Only database sessions therefore have this case.
func (w *world) failing() *world {
	w.signedIn()
	w.store.fail.Store(true)
	return w
}

// reply is a response whose body has been read.
type reply struct {
	*http.Response
	t    testing.TB
	body string
}

// do sends a request. header holds names and values in turns.
func (w *world) do(method, path string, header []string, body io.Reader) *reply {
	w.Helper()
	r := must(http.NewRequestWithContext(context.Background(), method, w.origin+path, body))(w)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.send(r)
}

// under requests a page with another host in the request, and with the cookies
// of the browser.
func (w *world) under(host, path string) *reply {
	w.Helper()
	r := must(http.NewRequestWithContext(context.Background(), http.MethodGet, w.origin+path, nil))(w)
	for _, c := range w.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	r.Host = host
	return w.send(r)
}

func (w *world) send(r *http.Request) *reply {
	w.Helper()
	res, err := w.client.Do(r)
	require.NoError(w, err)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(w)
	require.Equal(w, map[bool]int{false: 1, true: 2}[w.http2], res.ProtoMajor, "the version of HTTP")
	return &reply{res, w.TB, string(text)}
}

func (w *world) get(path string, header ...string) *reply {
	w.Helper()
	return w.do(http.MethodGet, path, header, nil)
}

// post submits a form from a page of the site. fields holds names and values in
// turns.
func (w *world) post(path string, fields ...string) *reply {
	w.Helper()
	return w.submit(path, []string{"Sec-Fetch-Site", "same-origin"}, fields...)
}

func (w *world) submit(path string, header []string, fields ...string) *reply {
	w.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return w.do(http.MethodPost, path, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...), strings.NewReader(form.Encode()))
}

func (w *world) postJSON(path, body string) *reply {
	w.Helper()
	return w.do(http.MethodPost, path, []string{"Content-Type", "application/json", "Sec-Fetch-Site", "same-origin"}, strings.NewReader(body))
}

func (r *reply) wantStatus(want int) *reply {
	r.t.Helper()
	require.Equalf(r.t, want, r.StatusCode, "%s: status %d, want %d: %.300s", r.Request.URL, r.StatusCode, want, r.body)
	return r
}

func (r *reply) wantBody(want string) *reply {
	r.t.Helper()
	r.wantStatus(http.StatusOK)
	require.Containsf(r.t, r.body, want, "%s", r.Request.URL)
	return r
}

// wantRedirect checks that the response redirects, with status 303, to a path
// or URL. A path may have the origin in front, and so may the path in its
// callbackUrl.
func (r *reply) wantRedirect(want string) *reply {
	r.t.Helper()
	r.wantStatus(http.StatusSeeOther)
	origin := r.Request.URL.Scheme + "://" + r.Request.URL.Host
	got := r.Header.Get("Location")
	short := strings.TrimPrefix(strings.ReplaceAll(got, url.QueryEscape(origin), ""), origin)
	require.Truef(r.t, got == want || short == want, "%s: sent to %q, want %q", r.Request.URL, got, want)
	return r
}

func (r *reply) cookie(name string) *http.Cookie {
	for _, c := range r.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// wantSession checks whether the session route returns a session.
func (w *world) wantSession(base string, want bool) {
	w.Helper()
	res := w.get(base + "/session").wantStatus(http.StatusOK)
	require.Equalf(w, want, strings.Contains(res.body, "ada@example.com"), "signed in: %s", res.body)
}

// page writes who is signed in, as read finds it.
func page(read func(r *http.Request) (*auth.Session, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := read(r)
		switch {
		case err != nil:
			http.Error(w, "error: "+err.Error(), http.StatusTeapot)
		case s == nil || s.User == nil:
			_, _ = fmt.Fprint(w, "nobody")
		default:
			_, _ = fmt.Fprintf(w, "user %s <%s>", s.User.ID, s.User.Email)
		}
	})
}

func inContext(r *http.Request) (*auth.Session, error) {
	s, err := auth.FromContext(r.Context())
	if errors.Is(err, auth.ErrNoSession) {
		err = nil
	}
	return s, err
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// store is an adapter with one user, whose session is "token".
type store struct {
	adapter.Adapter // nil: the methods that are not called

	fail     atomic.Bool
	mu       sync.Mutex
	sessions map[string]adapter.Session
	reads    atomic.Int64
}

func newStore() *store { return &store{sessions: map[string]adapter.Session{}} }

func (s *store) seed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions["token"] = adapter.Session{SessionToken: "token", UserID: "u", Expires: time.Now().Add(30 * 24 * time.Hour)}
}

func (s *store) has(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[token]
	return ok
}

func (s *store) enter() error {
	if s.fail.Load() {
		return errors.New("the store is down")
	}
	return nil
}

func (s *store) GetUserByEmail(context.Context, string) (*adapter.User, error) { return nil, s.enter() }

func (s *store) CreateVerificationToken(_ context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &t, s.enter()
}

func (s *store) GetSessionAndUser(_ context.Context, token string) (*adapter.SessionAndUser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads.Add(1)
	session, ok := s.sessions[token]
	if err := s.enter(); err != nil || !ok {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: session, User: adapter.User{ID: "u", Email: "ada@example.com", Name: new("Ada")}}, nil
}

func (s *store) DeleteSession(_ context.Context, token string) (*adapter.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.sessions[token]
	delete(s.sessions, token)
	if err := s.enter(); err != nil || !ok {
		return nil, err
	}
	return &session, nil
}

func (s *store) UpdateSession(context.Context, adapter.SessionUpdate) (*adapter.Session, error) {
	return nil, errors.New("no session here is due")
}

// logBook collects the log.
type logBook struct {
	mu sync.Mutex
	b  strings.Builder
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

func (l *logBook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// csrf fetches the CSRF token of the browser.
func (w *world) csrf(base string) string {
	w.Helper()
	var v struct{ CSRFToken string }
	err := json.Unmarshal([]byte(w.get(base+"/csrf").body), &v)
	require.Truef(w, err == nil && v.CSRFToken != "", "no CSRF token: %v", err)
	return v.CSRFToken
}

func escaped(s string) string { return url.QueryEscape(s) }

// raw requests a path exactly as it is written. It follows only redirects of
// the router that clean the path.
func (w *world) raw(path string) int {
	w.Helper()
	for range 3 {
		r := must(http.NewRequest(http.MethodGet, w.origin, nil))(w)
		r.URL.Opaque = "//" + r.URL.Host + path
		res, err := w.client.Do(r)
		require.NoError(w, err)
		res.Body.Close()
		to := res.Header.Get("Location")
		if res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusMovedPermanently {
			return res.StatusCode
		}
		path = to
	}
	w.Fatal("redirects without end")
	return 0
}

// localRequest makes a request of a program on this machine.
func localRequest(method, target string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = "127.0.0.1:50000"
	return r
}
