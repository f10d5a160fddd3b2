package auth_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// storedSite is a handler over a store in which "token" is the session of Ada.
func storedSite(t *testing.T, config auth.Config) (h *auth.Handler, s *store, reads *int) {
	t.Helper()
	s, reads = newStore(), new(int)
	s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
	s.sessions["token"] = adapter.Session{SessionToken: "token", UserID: "u", Expires: time.Now().Add(30 * 24 * time.Hour)}
	s.before = counting("getSessionAndUser", reads)
	config.Adapter = s
	return newHandler(t, config), s, reads
}

func pageRequest(method, target, cookie string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	if cookie != "" {
		r.Header.Set("Cookie", jwt.SecureCookieName+"="+cookie)
	}
	return r
}

// TestLoadReadsTheStoreOnce: a request with several layers and readers reads
// the store once.
func TestLoadReadsTheStoreOnce(t *testing.T) {
	h, _, reads := storedSite(t, auth.Config{})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			session, err := auth.FromContext(r.Context())
			require.Truef(t, err == nil && session.User.ID == "u", "got %+v, %v", session, err)
			again, err := h.Session(r)
			assert.Truef(t, err == nil && again == session, "Session: got %+v, %v", again, err)
			again, err = h.Refresh(w, r)
			assert.Truef(t, err == nil && again == session, "Refresh: got %+v, %v", again, err)
		}
	})
	w := serve(h.Require(h.Require(page)), pageRequest(http.MethodGet, "/", "token"))
	assert.Equal(t, 1, *reads, "readings of the store")
	assert.Len(t, w.Result().Cookies(), 1, "the session cookie is set more than once")
}

// TestLoadedByAnotherHandler: a session that one site has loaded is not a
// session of another site.
func TestLoadedByAnotherHandler(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{})
	other := newHandler(t, auth.Config{Adapter: newStore()})
	r := must(h.Load(httptest.NewRecorder(), pageRequest(http.MethodGet, "/", "token")))(t)
	session, err := other.Session(r)
	assert.Truef(t, session == nil && err == nil, "another handler: got %+v, %v, want nobody", session, err)
	w := serve(other.Require(http.NotFoundHandler()), r)
	assert.Equal(t, http.StatusSeeOther, w.Code, "another handler lets the session of the first through: status")
}

// TestFailingStoreIsNotNobody: if the store fails, then Load, a read after it,
// Require and SessionByToken return an error. None of them says that nobody is
// signed in.
func TestFailingStoreIsNotNobody(t *testing.T) {
	h, s, _ := storedSite(t, auth.Config{})
	s.before = func(string, ...any) error { return errors.New("down") }
	w := httptest.NewRecorder()
	r, err := h.Load(w, pageRequest(http.MethodGet, "/", "token"))
	assert.Truef(t, errors.Is(err, auth.ErrAdapter) && !errors.Is(err, auth.ErrNoSession), "Load: got %v", err)
	_, err = auth.FromContext(r.Context())
	assert.Truef(t, errors.Is(err, auth.ErrAdapter) && !errors.Is(err, auth.ErrNoSession), "FromContext: got %v", err)
	_, err = h.Session(r)
	assert.ErrorIs(t, err, auth.ErrAdapter, "Session")
	_, err = h.SessionByToken(t.Context(), "token")
	assert.Truef(t, errors.Is(err, auth.ErrAdapter) && !errors.Is(err, auth.ErrNoSession), "SessionByToken: got %v", err)
	assert.Emptyf(t, w.Header()["Set-Cookie"], "a store that fails changes the cookies: %v", w.Header())
	for _, accept := range []string{"text/html", "application/json"} {
		r := pageRequest(http.MethodGet, "/", "token")
		r.Header.Set("Accept", accept)
		w := serve(h.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("let through") })), r)
		assert.Truef(t, w.Code == http.StatusServiceUnavailable && w.Header().Get("Location") == "" && w.Header().Get("Cache-Control") != "",
			"%s: got %d, %v", accept, w.Code, w.Header())
		assert.Equalf(t, accept == "application/json", json.Valid(w.Body.Bytes()), "%s: got %s", accept, w.Body)
	}
}

// TestFromContextWithoutLoad: a program that forgot Load gets an error, and not
// the answer that nobody is signed in.
func TestFromContextWithoutLoad(t *testing.T) {
	_, err := auth.FromContext(t.Context())
	assert.Truef(t, err != nil && !errors.Is(err, auth.ErrNoSession) && strings.Contains(err.Error(), "Require"),
		"got %v", err)
	h, _, _ := storedSite(t, auth.Config{})
	r := must(h.Load(httptest.NewRecorder(), pageRequest(http.MethodGet, "/", "")))(t)
	type key struct{}
	ctx := context.WithValue(r.Context(), key{}, 1)
	_, err = auth.FromContext(ctx)
	assert.ErrorIs(t, err, auth.ErrNoSession)
}

// TestLoadWithoutResponse reads and renews no cookies; a later Load with a
// response does.
func TestLoadWithoutResponse(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{})
	r := must(h.Load(nil, pageRequest(http.MethodGet, "/", "token")))(t)
	must(auth.FromContext(r.Context()))(t)
	w := httptest.NewRecorder()
	must(h.Load(w, r))(t)
	assert.Len(t, w.Header()["Set-Cookie"], 1)
}

// TestUpdateOfLoadedSession: code that reads the session after the update sees
// the update.
func TestUpdateOfLoadedSession(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{Callbacks: auth.Callbacks{Session: changingSession(func(p auth.SessionParams) {
		p.Session.Extra = map[string]any{"trigger": p.Trigger}
	})}})
	w := httptest.NewRecorder()
	r := must(h.Load(w, pageRequest(http.MethodGet, "/", "token")))(t)
	must(h.UpdateSession(w, r, 1))(t)
	session, err := auth.FromContext(r.Context())
	assert.Truef(t, err == nil && session.Extra["trigger"] == auth.TriggerUpdate, "got %+v, %v", session, err)
}

func TestRequireSendsToSignIn(t *testing.T) {
	at := func(path string) string { return "/auth/signin?callbackUrl=" + url.QueryEscape(path) }
	for name, c := range map[string]struct {
		config         auth.Config
		method, target string
		header         http.Header
		want           string
	}{
		"page": {target: "/inbox?page=2&x=%2F", want: at("/inbox?page=2&x=%2F")},
		"URL": {
			config: auth.Config{URL: origin}, target: "http://10.0.0.7/inbox",
			want: origin + at(origin+"/inbox"),
		},
		"own page":                {config: auth.Config{Pages: auth.Pages{SignIn: "/login?a=b"}}, target: "/inbox", want: "/login?a=b&callbackUrl=%2Finbox"},
		"base path":               {config: auth.Config{BasePath: "/api/auth"}, target: "/", want: "/api/auth/signin?callbackUrl=%2F"},
		"another host in path":    {target: "//evil.example/x", want: at("/evil.example/x")},
		"backslash":               {target: `/\evil.example`, want: at("/evil.example")},
		"post from page":          {method: http.MethodPost, target: "/save", header: http.Header{"Referer": {"https://example.com/edit?id=1"}}, want: at("/edit?id=1")},
		"post from another site":  {method: http.MethodPost, target: "/save", header: http.Header{"Referer": {"https://evil.example/x"}}, want: at("/")},
		"post from lookalike":     {method: http.MethodPost, target: "/save", header: http.Header{"Referer": {"https://example.com.evil.example/x"}}, want: at("/")},
		"post from nowhere known": {method: http.MethodPost, target: "/save", want: at("/")},
		"browser": {
			target: "/", header: http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "Sec-Fetch-Dest": {"document"}}, want: at("/"),
		},
		"browser with a script that wants a page": {target: "/", header: http.Header{"Accept": {"text/html"}, "Sec-Fetch-Dest": {"empty"}}, want: at("/")},
		"JSON refused": {target: "/", header: http.Header{"Accept": {"application/json;q=0, text/html;q=0.1"}}, want: at("/")},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.config
			config.Secret, config.Logger = []string{secret}, slog.New(slog.DiscardHandler)
			h := must(auth.New(config))(t)
			r := httptest.NewRequest(cmp.Or(c.method, http.MethodGet), "https://example.com/", nil)
			// As a server does it: a path is never treated as a host.
			r.URL, r.RequestURI = must(url.ParseRequestURI(strings.ReplaceAll(c.target, `\`, "%5C")))(t), c.target
			maps.Copy(r.Header, c.header)
			w := serve(h.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("let through") })), r)
			assert.Truef(t, w.Code == http.StatusSeeOther && w.Header().Get("Location") == c.want,
				"got %d, %q, want %q", w.Code, w.Header().Get("Location"), c.want)
			assert.Contains(t, w.Header().Get("Cache-Control"), "no-store", "the redirect may be cached")
		})
	}
}

// TestHiddenUserIsNobody: if Callbacks.Session returns no user, or
// Callbacks.JWT no claims, nobody is signed in, with both strategies.
func TestHiddenUserIsNobody(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]auth.Strategy{"database": auth.StrategyDatabase, "token": auth.StrategyJWT} {
		for which, hide := range map[string]func(c *auth.Callbacks, locked *bool){
			"no user": func(c *auth.Callbacks, locked *bool) {
				c.Session = changingSession(func(p auth.SessionParams) {
					if *locked {
						p.Session.User = nil
					}
				})
			},
			"no session": func(c *auth.Callbacks, locked *bool) {
				c.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
					if *locked {
						return nil, nil
					}
					return p.Session, nil
				}
			},
			"no claims": func(c *auth.Callbacks, locked *bool) {
				c.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
					if *locked && p.User == nil {
						return nil, nil
					}
					return p.Token, nil
				}
			},
		} {
			if which == "no claims" && strategy == auth.StrategyDatabase {
				continue
			}
			t.Run(name+", "+which, func(t *testing.T) {
				t.Parallel()
				locked := false
				st := newStage(t, func(_ *stage, c *auth.Config) {
					c.Session.Strategy = strategy
					hide(&c.Callbacks, &locked)
				})
				b := newBrowser(t, st)
				st.at(b, "idp", "ada").wantLocation(t, origin)
				began := st.start(b, "/auth/signin/other?login_hint=ada-there")
				locked = true
				required := st.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("Require lets the request continue") }))
				r := b.request("/")
				w := serve(required, r)
				assert.Equal(t, http.StatusSeeOther, w.Code, "Require: status")
				session, err := auth.FromContext(must(st.Load(nil, r))(t).Context())
				assert.Truef(t, session == nil && errors.Is(err, auth.ErrNoSession), "FromContext: got %+v, %v", session, err)
				session, err = st.SessionByToken(t.Context(), b.token())
				assert.Truef(t, session == nil && errors.Is(err, auth.ErrNoSession), "SessionByToken: got %+v, %v", session, err)
				session, err = st.Session(r)
				assert.Falsef(t, err != nil || session != nil && session.User != nil, "Session: got %+v, %v", session, err)
				list, err := st.Sessions(r)
				assert.ErrorIsf(t, err, auth.ErrNoSession, "Sessions: got %v,", list)
				ended, err := st.RevokeSession(r, "x")
				assert.ErrorIsf(t, err, auth.ErrNoSession, "RevokeSession: got %v,", ended)
				b.clone(st).get("/auth/callback/other?"+st.idp.authorize(t, began).Encode()).wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
				assert.Len(t, st.store.accounts, 1, "an account was linked to a user who is not signed in")
				locked = false
				began = st.start(b, "/auth/signin/other?login_hint=ada-there")
				b.get("/auth/callback/other?"+st.idp.authorize(t, began).Encode()).wantLocation(t, origin)
				assert.Len(t, st.store.accounts, 2, "the accounts of the signed-in user")
				assert.Len(t, st.store.users, 1)
			})
		}
	}
}

// TestRequireBehindStripPrefix: the browser comes back to the whole path.
func TestRequireBehindStripPrefix(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{})
	w := serve(http.StripPrefix("/app", h.Require(http.NotFoundHandler())), httptest.NewRequest(http.MethodGet, "/app/inbox?a=1", nil))
	got, want := w.Header().Get("Location"), origin+"/auth/signin?callbackUrl="+url.QueryEscape(origin+"/app/inbox?a=1")
	assert.Equal(t, want, got)
}

// TestRequireAnswersHTMX: the sign-in page is not shown in a part of a page,
// and the browser does not come back to a part of a page.
func TestRequireAnswersHTMX(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{})
	for from, want := range map[string]string{
		origin + "/inbox?a=1": "/inbox?a=1", "https://evil.example/": "/", origin + ".evil.example/x": "/", "": "/",
	} {
		r := httptest.NewRequest(http.MethodGet, origin+"/part", nil)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Current-URL", from)
		w := serve(h.Require(http.NotFoundHandler()), r)
		if got := w.Header().Get("HX-Redirect"); w.Code != http.StatusUnauthorized || got != origin+"/auth/signin?callbackUrl="+url.QueryEscape(origin+want) || w.Header().Get("Location") != "" {
			t.Errorf("%s: got %d, %q", from, w.Code, got)
		}
	}
}

func TestRequireAnswersJSON(t *testing.T) {
	h, _, _ := storedSite(t, auth.Config{})
	for name, header := range map[string]http.Header{
		"JSON":        {"Accept": {"application/json"}},
		"axios":       {"Accept": {"application/json, text/plain, */*"}},
		"problem":     {"Accept": {"Application/Problem+JSON"}},
		"preference":  {"Accept": {"text/html;q=0.5, application/json"}},
		"second line": {"Accept": {"text/plain", "application/json"}},
		"fetch":       {"Accept": {"*/*"}, "Sec-Fetch-Dest": {"empty"}},
		"jQuery":      {"X-Requested-With": {"XMLHttpRequest"}},
		"Auth.js":     {"X-Auth-Return-Redirect": {"1"}},
	} {
		r := httptest.NewRequest(http.MethodGet, "/inbox", nil)
		r.Header = header
		w := serve(h.Require(http.NotFoundHandler()), r)
		var body struct{ Message, URL string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusUnauthorized ||
			body.URL != origin+"/auth/signin?callbackUrl="+url.QueryEscape(origin+"/inbox") || w.Header().Get("Content-Type") != "application/json" ||
			w.Header().Get("WWW-Authenticate") == "" || w.Header().Get("Location") != "" {
			t.Errorf("%s: got %d, %v, %s", name, w.Code, w.Header(), w.Body)
		}
	}
}

// TestSessionByToken: with both strategies, and under both names of the cookie.
func TestSessionByToken(t *testing.T) {
	stored, _, _ := storedSite(t, auth.Config{})
	claims := auth.Claims{"sub": "u", "email": "ada@example.com"}
	token := func(salt string, claims auth.Claims) string {
		return must(jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{secret}, Salt: salt}))(t)
	}
	long := auth.Claims{"sub": "u", "email": "ada@example.com", "blob": strings.Repeat("x", 9000)}
	open := must(auth.New(auth.Config{Secret: []string{secret}, Logger: slog.New(slog.DiscardHandler)}))(t)
	secure := newHandler(t, auth.Config{})
	for name, c := range map[string]struct {
		h     *auth.Handler
		token string
		found bool
	}{
		"stored":         {stored, "token", true},
		"stored, void":   {stored, "tokem", false},
		"stored, forged": {stored, "x; " + jwt.SecureCookieName + "=token", false},
		"https":          {open, token(jwt.SecureCookieName, claims), true},
		"http":           {open, token(jwt.CookieName, claims), true},
		"long":           {open, token(jwt.SecureCookieName, long), true},
		"https only":     {secure, token(jwt.SecureCookieName, claims), true},
		"of http":        {secure, token(jwt.CookieName, claims), false},
		"garbage":        {secure, "garbage", false},
		"empty":          {secure, "", false},
		"empty, stored":  {stored, "", false},
	} {
		session, err := c.h.SessionByToken(t.Context(), c.token)
		assert.Falsef(t, c.found && (err != nil || session.User.ID != "u" || session.User.Email != "ada@example.com"),
			"%s: got %+v, %v", name, session, err)
		assert.Falsef(t, !c.found && (session != nil || !errors.Is(err, auth.ErrNoSession)),
			"%s: got %+v, %v, want ErrNoSession", name, session, err)
	}
}

// TestCSRFTokenForOwnPage: an application's own form can post to our routes. It
// works for a page with several forms, and with or without the cookie in the
// browser.
func TestCSRFTokenForOwnPage(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	b := newBrowser(t, h)
	for range 2 {
		w := httptest.NewRecorder()
		r := b.request("/login")
		token, err := h.CSRFToken(w, r)
		require.Truef(t, err == nil && token != "" && strings.Contains(w.Header().Get("Cache-Control"), "no-store"),
			"got %q, %v, %v", token, err, w.Header())
		second, err := h.CSRFToken(w, r)
		require.Truef(t, err == nil && second == token, "the second form: got %q, %v, want %q", second, err, token)
		b.keep(w.Result().Cookies())
		b.submit("/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "lovelace")
		b.wantSession("Ada Lovelace")
		b.submit("/auth/signout", "csrfToken", token)
		b.wantNoSession()
	}
	off := newHandler(t, auth.Config{SkipCSRFCheck: auth.SkipCSRFCheck})
	w := httptest.NewRecorder()
	assert.Empty(t, must(off.CSRFToken(w, b.request("/")))(t), "with the protection off")
	assert.Empty(t, w.Header(), "with the protection off")
}

// TestAnonymousLoadAllocates: besides the allocations of reading, Load
// allocates only the context and the request.
func TestAnonymousLoadAllocates(t *testing.T) {
	h := newHandler(t, auth.Config{})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	refresh := testing.AllocsPerRun(100, func() { _, _ = h.Refresh(w, r) })
	load := testing.AllocsPerRun(100, func() { _, _ = h.Load(w, r) })
	assert.Truef(t, !(load > refresh+2), "Load: %v allocations, Refresh: %v; want at most two more", load, refresh)
}
