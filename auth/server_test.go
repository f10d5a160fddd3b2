package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// request is a request of the browser to a page of the application.
func (b *browser) request(path string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, origin+path, nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	b.addCookies(r)
	return r
}

// take stores the cookies of a result.
func (b *browser) take(result *auth.Result) {
	w := httptest.NewRecorder()
	result.Send(w)
	b.keep(w.Result().Cookies())
}

// keep stores cookies.
func (b *browser) keep(cookies []*http.Cookie) {
	for _, c := range cookies {
		b.cookies[c.Name] = c
	}
}

func TestServerSignInAndOut(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	b := newBrowser(t, h)
	good := url.Values{"username": {"ada"}, "password": {"lovelace"}}

	_, err := h.SignIn(b.request("/login"), "credentials", auth.SignInOptions{Form: url.Values{"username": {"ada"}}})
	var failure *auth.Error
	require.Truef(t, errors.As(err, &failure) && failure.Type == auth.ErrCredentialsSignin, "wrong password: got %v", err)
	page := must(h.SignIn(b.request("/login"), "", auth.SignInOptions{RedirectTo: "/x"}))(t)
	require.Equal(t, origin+"/auth/signin?callbackUrl=%2Fx", page.Location, "no provider")
	for to, want := range map[string]string{"/inbox": origin + "/inbox", "https://evil.example/": origin, "": origin + "/"} {
		result, err := h.SignIn(b.request("/login"), "credentials", auth.SignInOptions{Form: good, RedirectTo: to})
		require.Truef(t, err == nil && result.Location == want, "to %q: got %+v, %v, want %s", to, result, err, want)
		b.take(result)
	}
	session, err := h.Session(b.request("/"))
	require.Truef(t, err == nil && session != nil && session.User.ID == "ada-1" && session.User.Name == "Ada Lovelace",
		"got %+v, %v", session, err)
	assert.NotContains(t, b.session(), "ada-1", "the client is shown the ID")
	r := b.request("/")
	r.Header.Set("Referer", origin+"/page")
	result, err := h.SignOut(r, "")
	require.Truef(t, err == nil && result.Location == origin+"/page", "got %+v, %v", result, err)
	b.cookies = map[string]*http.Cookie{}
	assert.Nil(t, must(h.Session(b.request("/")))(t), "signed out")
}

// TestRefusalHasACode: an error about credentials that were refused has a code,
// whatever Authorize returned.
func TestRefusalHasACode(t *testing.T) {
	t.Parallel()
	shared := &auth.Error{Type: auth.ErrCredentialsSignin, Message: "m"}
	for name, c := range map[string]struct {
		returned   error
		code, text string
	}{
		"nil":         {nil, "credentials", "Authorize refused"},
		"an error":    {shared, "credentials", "auth: CredentialsSignin: m"},
		"a type":      {auth.ErrCredentialsSignin, "credentials", "auth: CredentialsSignin"},
		"wrapped":     {fmt.Errorf("row: %w", shared), "credentials", "row: auth: CredentialsSignin: m"},
		"with a code": {&auth.Error{Type: auth.ErrCredentialsSignin, Code: "locked"}, "locked", "auth: CredentialsSignin"},
	} {
		p := &auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return nil, c.returned }}
		var event auth.SignInFailedEvent
		h := newHandler(t, auth.Config{Providers: []auth.Provider{p}, Events: auth.Events{
			SignInFailed: on(func(e auth.SignInFailedEvent) { event = e }),
		}})
		b := newBrowser(t, h)
		_, err := h.SignIn(b.request("/login"), "credentials", auth.SignInOptions{})
		for from, err := range map[string]error{"SignIn": err, "SignInFailed": event.Err} {
			var failure *auth.Error
			assert.Truef(t, errors.As(err, &failure) && failure.Type == auth.ErrCredentialsSignin && failure.Code == c.code &&
				strings.Contains(failure.Error(), c.text),
				"%s: %s: got %v with the code %q, want %q", name, from, err, failure.Code, c.code)
		}
		b.post("/auth/callback/credentials").wantLocation(t, origin+"/auth/signin?error=CredentialsSignin&code="+c.code)
	}
	assert.Empty(t, shared.Code, "the error of the application was changed")
}

// TestServerSession: server code gets the result of Callbacks.Session, and the
// update reaches the callback. A store that fails is an error, and does not
// mean that nobody is signed in.
func TestServerSession(t *testing.T) {
	h := newHandler(t, auth.Config{
		Providers: []auth.Provider{password()},
		Callbacks: auth.Callbacks{
			JWT: func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
				if p.Trigger == auth.TriggerUpdate {
					var v struct{ Role string }
					if err := json.Unmarshal(p.Session, &v); err != nil {
						return nil, err
					}
					p.Token["role"] = v.Role
				}
				return p.Token, nil
			},
			Session: changingSession(func(p auth.SessionParams) {
				p.Session.Extra = map[string]any{"role": p.Token["role"]}
			}),
		},
	})
	b := newBrowser(t, h)
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace")
	w := httptest.NewRecorder()
	session, err := h.UpdateSession(w, b.request("/"), map[string]string{"role": "admin"})
	require.Truef(t, err == nil && session.Extra["role"] == "admin", "got %+v, %v", session, err)
	b.keep(w.Result().Cookies())
	b.wantSession(`"role":"admin"`)
	assert.Equal(t, http.StatusServiceUnavailable, b.post("/auth/session", "data", "x").StatusCode,
		"an update that the callback refuses: status")
	b.wantSession(`"role":"admin"`)

	s := newStore()
	s.before = func(string, ...any) error { return errors.New("down") }
	h = newHandler(t, auth.Config{Adapter: s})
	r := httptest.NewRequest(http.MethodGet, origin, nil)
	r.Header.Set("Cookie", "__Secure-authjs.session-token=x")
	if session, err := h.Session(r); session != nil || !errors.Is(err, auth.ErrAdapter) || !errors.Is(err, auth.ErrSessionToken) {
		t.Errorf("got %+v, %v", session, err)
	}
}

// TestDatabaseSession: a database session is extended at most once per
// UpdateAge. It is removed when it has ended. It is gone if its user is gone,
// or if it is deleted during the request.
func TestDatabaseSession(t *testing.T) {
	s, c := newStore(), newClock()
	s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
	s.sessions["s"] = adapter.Session{SessionToken: "s", UserID: "u", Expires: c.Now().Add(10 * time.Hour)}
	writes := 0
	s.before = counting("updateSession", &writes)
	h := newHandler(t, auth.Config{Adapter: s, Clock: c.Now, Session: auth.SessionConfig{MaxAge: 10 * time.Hour, UpdateAge: new(time.Hour)}})
	b := newBrowser(t, h)
	cookie := &http.Cookie{Name: "__Secure-authjs.session-token", Value: "s"}
	b.cookies[cookie.Name] = cookie
	for i, step := range []struct {
		wait   time.Duration
		writes int
	}{{0, 0}, {59 * time.Minute, 0}, {time.Minute, 1}, {time.Minute, 1}, {59 * time.Minute, 2}, {9*time.Hour + 59*time.Minute, 3}} {
		c.advance(step.wait)
		b.wantSession("ada@example.com")
		assert.Equalf(t, step.writes, writes, "step %d: writes", i)
	}
	c.advance(10*time.Hour - time.Minute)
	b.wantSession("ada@example.com") // extended a minute ago
	s.sessions["s"] = adapter.Session{SessionToken: "s", UserID: s.sessions["s"].UserID, Expires: c.Now()}
	must(h.Session(b.request("/")))(t) // the last instant is part of the session
	c.advance(11 * time.Hour)
	b.wantNoSession()
	assert.Truef(t, len(s.sessions) == 0 && b.cookies[cookie.Name] == nil,
		"left: %v, %v", s.sessions, b.cookies[cookie.Name])

	s.sessions["s"] = adapter.Session{SessionToken: "s", UserID: "u", Expires: c.Now().Add(time.Hour)}
	b.cookies[cookie.Name] = cookie
	s.before = func(method string, _ ...any) error {
		if method == "updateSession" { // signed out in another window
			s.mu.Lock()
			defer s.mu.Unlock()
			clear(s.sessions)
		}
		return nil
	}
	b.wantNoSession()
	assert.Empty(t, s.sessions, "a deleted session came back")
}

// TestSessionCallbackGetsTheOwner: with database sessions the session of the
// callback has the ID of its owner, and not its key. The client sees neither.
func TestSessionCallbackGetsTheOwner(t *testing.T) {
	t.Parallel()
	hide := false
	h, _, _ := storedSite(t, auth.Config{Callbacks: auth.Callbacks{Session: changingSession(func(p auth.SessionParams) {
		if text, err := json.Marshal(p); err != nil || p.Session.UserID != "u" || strings.Contains(string(text), `"token"`) {
			t.Errorf("the callback gets %s, %v, with the owner %q", text, err, p.Session.UserID)
		}
		if hide {
			p.Session.User = nil
		}
	})}})
	for _, hide = range []bool{false, true} {
		session, err := h.Session(pageRequest(http.MethodGet, origin+"/", "token"))
		assert.Truef(t, err == nil && session != nil && (session.UserID == "u") != hide,
			"hidden: %v: server code gets %+v, %v", hide, session, err)
		b := newBrowser(t, h)
		b.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: "token"}
		body := b.session()
		assert.Truef(t, !strings.Contains(body, `"u"`) && !strings.Contains(body, "userId"), "the client sees %s", body)
	}
}

// frozen is a store whose reads show sessions as they were at first: the reads
// began before any write.
type frozen struct {
	*store
	first adapter.Session
}

func (f frozen) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	found, err := f.store.GetSessionAndUser(ctx, token)
	if found != nil {
		found.Session = f.first
	}
	return found, err
}

// TestConcurrentReadsExtendOnce: of concurrent requests with a session that is
// due, one extends it, and no other waits for it. One that fails leaves the
// session to the next. With an UpdateAge of zero, every access extends.
func TestConcurrentReadsExtendOnce(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(config auth.Config) http.Handler{
		"New": func(config auth.Config) http.Handler { return newHandler(t, config) },
		"Raw": func(config auth.Config) http.Handler { return eachTime(true, func() auth.Config { return config }) },
		"New each time": func(config auth.Config) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { newHandler(t, config).ServeHTTP(w, r) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := newClock(), newStore()
			s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
			s.sessions["s"] = adapter.Session{SessionToken: "s", UserID: "u", Expires: c.Now().Add(8 * time.Hour)}
			store := &frozen{s, s.sessions["s"]}
			begun, release := make(chan struct{}, 100), make(chan error)
			s.before = func(method string, _ ...any) error {
				if method != "updateSession" {
					return nil
				}
				begun <- struct{}{}
				return <-release
			}
			config := auth.Config{
				Secret: []string{secret}, URL: origin, Logger: slog.New(slog.DiscardHandler), Adapter: store, Clock: c.Now,
				Session: auth.SessionConfig{MaxAge: 10 * time.Hour, UpdateAge: new(time.Hour)},
			}
			h := serve(config)
			read := func() *reply {
				b := newBrowser(t, h)
				b.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: "s"}
				return b.get("/auth/session")
			}
			extending := func(err error, status int) {
				t.Helper()
				done := make(chan *reply)
				go func() { done <- read() }()
				<-begun
				for range 16 { // these would hang if they waited
					assert.Contains(t, read().body, "ada@example.com", "beside the one that extends")
				}
				release <- err
				res := <-done
				assert.Equal(t, status, res.StatusCode, "the one that extends: status")
				assert.Emptyf(t, begun, "%d more requests extend the session", len(begun))
			}
			extending(errors.New("down"), http.StatusServiceUnavailable)
			extending(nil, http.StatusOK)
			for range 4 { // they have read the session before it was extended
				read()
			}
			assert.Emptyf(t, begun, "%d late requests extend the session again", len(begun))
			c.advance(time.Hour)
			extending(nil, http.StatusOK)

			config.Session.UpdateAge = new(time.Duration)
			h = serve(config)
			close(release)
			for range 3 {
				read()
			}
			assert.Lenf(t, begun, 3, "%d of 3 accesses extend the session with an UpdateAge of zero", len(begun))
		})
	}
}

// TestTokenSession: a session in chunks survives growing and shrinking, and the
// expiry moves with each reading.
func TestTokenSession(t *testing.T) {
	c := newClock()
	size := 0
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Clock: c.Now, Callbacks: auth.Callbacks{
		JWT: changingToken(func(p auth.JWTParams) { p.Token["blob"] = strings.Repeat("x", size) }),
	}})
	b := newBrowser(t, h)
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace")
	for _, size = range []int{0, 4000, 12000, 3000, 0} {
		b.wantSession("Ada Lovelace")
		c.advance(29 * 24 * time.Hour)
		b.wantSession("Ada Lovelace")
		chunks := 0
		for name := range b.cookies {
			if strings.HasPrefix(name, jwt.SecureCookieName) {
				chunks++
			}
		}
		assert.Equalf(t, (size*4/3+500)/jwt.ChunkSize+1, chunks, "size %d: cookies", size)
	}
	c.advance(30*24*time.Hour + 16*time.Second)
	b.wantNoSession()
}

// TestRaw: Raw returns errors unchanged, and results that were not sent.
func TestRaw(t *testing.T) {
	config := auth.Config{Secret: []string{secret}, TrustHost: new(true), Providers: []auth.Provider{password()}, SkipCSRFCheck: auth.SkipCSRFCheck, Logger: slog.New(slog.DiscardHandler)}
	post := func(header http.Header) (*auth.Result, error) {
		r := httptest.NewRequest(http.MethodPost, origin+"/auth/callback/credentials", strings.NewReader("username=eve"))
		r.Header = header
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return auth.Raw(r, config)
	}
	_, err := post(http.Header{})
	assert.ErrorIs(t, err, auth.ErrCredentialsSignin)
	result, err := post(http.Header{"X-Auth-Return-Redirect": {"1"}})
	assert.Truef(t, err == nil && string(result.Body) == `{"url":"`+origin+`/auth/signin?error=CredentialsSignin&code=credentials"}`,
		"got %+v, %v", result, err)
	result = must(auth.Raw(httptest.NewRequest(http.MethodGet, origin+"/auth/csrf", nil), config))(t)
	assert.Equal(t, http.StatusNotFound, result.Status)
}

// TestApplicationMayFail: a panic or an error in the application's code makes
// at most the request fail, and never the server.
func TestApplicationMayFail(t *testing.T) {
	for name, c := range map[string]struct {
		config auth.Config
		want   string
	}{
		"authorize": {auth.Config{Providers: []auth.Provider{&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
			panic("boom")
		}}}}, "/auth/error?error=Configuration"},
		"signIn": {auth.Config{Callbacks: auth.Callbacks{SignIn: func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
			panic("boom")
		}}}, "/auth/error?error=AccessDenied"},
		"jwt": {auth.Config{Callbacks: auth.Callbacks{JWT: func(context.Context, auth.JWTParams) (auth.Claims, error) {
			panic("boom")
		}}}, "/auth/error?error=Configuration"},
		"redirect": {auth.Config{Callbacks: auth.Callbacks{Redirect: func(context.Context, auth.RedirectParams) (string, error) {
			panic("boom")
		}}}, "/auth/error?error=Configuration"},
		"event": {auth.Config{Events: auth.Events{SignIn: func(context.Context, auth.SignInEvent) error { panic("boom") }}}, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			var book logBook
			c.config.Logger = book.logger()
			if c.config.Providers == nil {
				c.config.Providers = []auth.Provider{password()}
			}
			b := newBrowser(t, newHandler(t, c.config))
			token := b.csrf()
			b.submit("/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "lovelace", "callbackUrl", "/").wantLocation(t, origin+c.want)
			assert.Contains(t, book.String(), "boom", "log")
		})
	}
}

// TestMarkupNeverReachesPages feeds markup into every parameter of every page.
func TestMarkupNeverReachesPages(t *testing.T) {
	const markup = `"'><script>alert(1)</script>`
	h := newHandler(t, auth.Config{Adapter: newStore(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{(&outbox{}).provider(), password()}})
	b := newBrowser(t, h)
	query := url.Values{}
	for _, name := range []string{"error", "email", "callbackUrl", "code", "provider", "type", "csrfToken", "theme"} {
		query.Set(name, markup)
	}
	query.Set("callbackUrl", "/"+markup)
	for _, page := range []string{"signin", "signout", "error", "verify-request"} {
		res := b.get("/auth/" + page + "?" + query.Encode())
		assert.Truef(t, res.StatusCode == http.StatusOK && !strings.Contains(res.body, "<script") && !strings.Contains(res.body, `"'>`),
			"%s: status %d\n%s", page, res.StatusCode, res.body)
		assert.NotEmptyf(t, res.Header.Get("Content-Security-Policy"), "%s: no policy", page)
	}
	for _, page := range []string{"signin", "error"} {
		location := b.get("/auth/callback/" + page + "?" + query.Encode()).location()
		assert.Falsef(t, strings.ContainsAny(location, "\"'<> "), "location %q", location)
	}
}

// TestEmptyNameIsShownAsNull: a name or picture that a store keeps as an empty
// text is shown as null, and server code reads an empty text.
func TestEmptyNameIsShownAsNull(t *testing.T) {
	for name, stored := range map[string]*string{"null": nil, "empty": new("")} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com", Name: stored, Image: stored}
			s.sessions["t"] = adapter.Session{SessionToken: "t", UserID: "u", Expires: time.Now().Add(time.Hour)}
			b := newBrowser(t, newHandler(t, auth.Config{Adapter: s}))
			b.cookies["__Secure-authjs.session-token"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: "t"}
			b.wantSession(`"name":null`)
			b.wantSession(`"image":null`)
		})
	}
}

// TestSignInLeaksNoQueryOfThePage: a page of the application starts a sign-in;
// the query of the page is not sent to the provider, but the parameters of the
// caller are.
func TestSignInLeaksNoQueryOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	r := httptest.NewRequest(http.MethodGet, origin+"/login?scope=all&invite=SECRET&prompt=none", nil)
	result := must(s.SignIn(r, "idp", auth.SignInOptions{AuthorizationParams: url.Values{"login_hint": {"ada@example.com"}, "client_id": {"evil"}}}))(t)
	u := must(url.Parse(result.Location))(t)
	q := u.Query()
	assert.Truef(t, !strings.Contains(result.Location, "SECRET") && q.Get("scope") != "all" && !q.Has("prompt") &&
		q.Get("client_id") == idpClient && q.Get("login_hint") == "ada@example.com",
		"the browser is sent to %s", result.Location)
}

// TestOtherSitesChangeNothing: only a POST of a page of this site signs in with
// credentials, sends a mail or signs out. For a request from another site, the
// browser gets a page that asks, or an error.
func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	box := &outbox{}
	h := newHandler(t, auth.Config{Adapter: newStore(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{password(), box.provider()}})
	b := newBrowser(t, h)
	token := b.csrf()
	good := url.Values{"username": {"ada"}, "password": {"lovelace"}, "email": {"ada@example.com"}}
	withToken := maps.Clone(good)
	withToken.Set("csrfToken", token)
	for _, c := range []struct {
		name, method string
		header       http.Header
		form         url.Values
		ok, page     bool
	}{
		{"POST of this site", http.MethodPost, http.Header{"Sec-Fetch-Site": {"same-origin"}}, good, true, false},
		{"POST with our origin", http.MethodPost, http.Header{"Origin": {origin}}, good, true, false},
		{"POST with our token", http.MethodPost, http.Header{"Sec-Fetch-Site": {"cross-site"}}, withToken, true, false},
		{"POST of another site", http.MethodPost, http.Header{"Sec-Fetch-Site": {"cross-site"}}, good, false, false},
		{"POST of a sibling", http.MethodPost, http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {origin}}, good, false, false},
		{"POST of another origin", http.MethodPost, http.Header{"Origin": {"https://evil.example"}}, good, false, false},
		{"POST of nobody knows where", http.MethodPost, nil, good, false, false},
		{"GET of another site", http.MethodGet, http.Header{"Sec-Fetch-Site": {"cross-site"}}, good, false, true},
		{"GET of this site", http.MethodGet, http.Header{"Sec-Fetch-Site": {"same-origin"}}, withToken, false, true},
	} {
		for _, provider := range []string{"credentials", "email", "sign-out"} {
			r := b.request("/login")
			r.Method, r.PostForm = c.method, c.form
			r.Header.Del("Sec-Fetch-Site")
			maps.Copy(r.Header, c.header)
			sent := len(box.mails)
			var result *auth.Result
			var err error
			page, want := origin+"/auth/signin?callbackUrl=%2Fx", origin+"/x"
			switch provider {
			case "sign-out":
				result, err = h.SignOut(r, "/x")
				page = origin + "/auth/signout?callbackUrl=%2Fx"
			case "email":
				want = origin + "/auth/verify-request?provider=email&type=email"
				result, err = h.SignIn(r, provider, auth.SignInOptions{Form: c.form, RedirectTo: "/x"})
			default:
				result, err = h.SignIn(r, provider, auth.SignInOptions{Form: c.form, RedirectTo: "/x"})
			}
			switch {
			case c.page && (err != nil || result.Location != page || len(result.Cookies) > 0):
				t.Errorf("%s, %s: got %+v, %v, want the page %s", c.name, provider, result, err, page)
			case c.ok && (err != nil || result.Location != want):
				t.Errorf("%s, %s: got %+v, %v, want %s", c.name, provider, result, err, want)
			case !c.ok && !c.page && (result != nil || !errors.Is(err, auth.ErrMissingCSRF)):
				t.Errorf("%s, %s: got %+v, %v, want it refused", c.name, provider, result, err)
			}
			assert.Truef(t, c.ok || len(box.mails) == sent, "%s: a mail was sent", c.name)
		}
	}
}

// TestRefreshedCookiesAreNotCached: a response with a session cookie is for one
// browser only.
func TestRefreshedCookiesAreNotCached(t *testing.T) {
	t.Parallel()
	h, now := tokenSite(t, nil)
	b := newBrowser(t, h)
	b.signIn()
	for _, due := range []bool{false, true} {
		if due {
			now.advance(25 * 60 * 60 * 1e9)
		}
		w := httptest.NewRecorder()
		must(h.Refresh(w, b.request("/")))(t)
		assert.Equalf(t, due, w.Header().Get("Cache-Control") == "private" && w.Header().Get("Vary") == "Cookie",
			"due: %v: the header is %v", due, w.Header())
	}
}
