package auth_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/cookiejar"
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

// scoped is a browser that tells cookies of one name apart by their domains.
type scoped struct {
	t   *testing.T
	jar *cookiejar.Jar
}

func newScoped(t *testing.T) *scoped {
	t.Helper()
	return &scoped{t, must(cookiejar.New(nil))(t)}
}

var siteURL = orPanic(url.Parse(origin))

func (b *scoped) do(h http.Handler, method, path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, origin+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, c := range b.jar.Cookies(siteURL) {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	w := serve(h, r)
	b.jar.SetCookies(siteURL, w.Result().Cookies())
	return w
}

func (b *scoped) session(h http.Handler) string {
	b.t.Helper()
	return b.do(h, http.MethodGet, "/auth/session", nil).Body.String()
}

// sessions are the values of the session cookies that the browser sends.
func (b *scoped) sessions() (values []string) {
	for _, c := range b.jar.Cookies(siteURL) {
		if strings.HasPrefix(c.Name, sessionCookie) {
			values = append(values, c.Value)
		}
	}
	return values
}

// userWith is the user as whom a request with the header Cookie is signed in. For
// nobody it has no ID.
func userWith(t *testing.T, h *auth.Handler, cookies string) auth.User {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, origin, nil)
	r.Header.Set("Cookie", cookies)
	session := must(h.Session(r))(t)
	if session == nil {
		return auth.User{}
	}
	require.NotEmpty(t, session.User.ID)
	return *session.User
}

// TestDomainOfTheSessionCookieChanges: a site begins to share its session cookie
// with its subdomains, or stops that. A browser that is signed in stays so, and
// neither a sign-in nor a sign-out leaves a cookie behind.
func TestDomainOfTheSessionCookieChanges(t *testing.T) {
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		for name, domains := range map[string][2]string{"introduced": {"", "example.com"}, "given up": {"example.com", ""}, "changed": {"app.example.com", "example.com"}} {
			t.Run(string(strategy)+"/"+name, func(t *testing.T) {
				s := newStore()
				s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
				clock := newClock()
				site := func(domain string, former ...string) *auth.Handler {
					c := auth.Config{Adapter: s, Clock: clock.Now, Providers: []auth.Provider{&auth.Credentials{UsesAdapterIDs: true,
						Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
							return &auth.User{ID: "u", Email: "ada@example.com"}, nil
						}}}}
					c.Session.Strategy = strategy
					c.Cookies.SessionToken.Domain = domain
					c.Cookies.FormerDomains = former
					return newHandler(t, c)
				}
				before, after := site(domains[0]), site(domains[1], domains[0])
				b := newScoped(t)
				signIn := url.Values{"username": {"ada"}}
				b.do(before, http.MethodPost, "/auth/callback/credentials", signIn)
				require.Contains(t, b.session(after), "ada@example.com", "after the change the session")
				clock.advance(25 * time.Hour)
				for range 2 {
					require.Contains(t, b.session(after), "ada@example.com", "a renewed session")
				}
				old := b.sessions()
				b.do(after, http.MethodPost, "/auth/callback/credentials", signIn)
				if got := b.sessions(); len(got) != 1 || !strings.Contains(b.session(after), "ada@example.com") {
					t.Errorf("a sign-in leaves the cookies %v", got)
				}
				b.jar.SetCookies(siteURL, []*http.Cookie{{Name: sessionCookie, Value: old[0], Domain: domains[0], Path: "/", Secure: true}})
				old = b.sessions()
				b.do(after, http.MethodPost, "/auth/signout", url.Values{})
				got := b.sessions()
				assert.Falsef(t, strategy == auth.StrategyJWT && len(got) != 0, "a sign-out leaves the cookies %v", got)
				for _, value := range old {
					session, err := after.SessionByToken(t.Context(), value)
					assert.Nilf(t, session, "after the sign-out there is a session: %+v, %v", session, err)
				}
			})
		}
	}
}

// TestSeveralSessionCookies: of several cookies of one name, those that are
// sessions here count if they are one person's.
func TestSeveralSessionCookies(t *testing.T) {
	now := time.Now()
	s, calls := newStore(), 0
	s.users["u"], s.users["m"] = adapter.User{ID: "u", Email: "ada@example.com"}, adapter.User{ID: "m", Email: "mallory@example.com"}
	tokens := map[string]string{"x": "x", "y": "y", "z": "z", "w": "w"}
	mint := func(name, sub string, size int, left time.Duration) {
		tokens[name+" jwt"] = must(jwt.Encode(jwt.EncodeParams{
			Token: auth.Claims{"sub": sub, "email": name, "blob": strings.Repeat("x", size)}, Secrets: []string{secret}, Salt: sessionCookie, MaxAge: left,
		}))(t)
		s.sessions[name] = adapter.Session{SessionToken: name, UserID: sub, Expires: now.Add(left)}
		tokens[name] = name
	}
	mint("early", "u", 1, time.Hour)
	mint("late", "u", 1, 2*time.Hour)
	mint("mallory", "m", 1, 3*time.Hour)
	mint("big", "u", 5000, 3*time.Hour)
	mint("bigger", "u", 9000, 4*time.Hour)
	mint("bigmallory", "m", 5000, 3*time.Hour)
	s.before = counting("getSessionAndUser", &calls)
	sites := map[string]*auth.Handler{"": newHandler(t, auth.Config{Adapter: s}), " jwt": newHandler(t, auth.Config{})}
	for kind, h := range sites {
		for sent, want := range map[string]string{
			"early": "u", "early late": "u late", "late early": "u late", "x late y": "u late", "early early": "u", "x": "", "x y": "",
			"early mallory": "", "mallory early": "", "early mallory late": "", "x mallory": "m", "x y z w early": "", "big early": "u",
			"big bigger": "u", "bigmallory big": "", "big bigmallory early": "",
		} {
			if kind == "" && strings.Contains(sent, "big") {
				continue // keys of the store fit in one cookie
			}
			var pairs []string
			for _, name := range strings.Fields(sent) {
				for _, c := range jwt.SplitChunks(sessionCookie, cmp.Or(tokens[name+kind], tokens[name])) {
					pairs = append(pairs, c.Name+"="+c.Value)
				}
			}
			calls = 0
			user := userWith(t, h, strings.Join(pairs, "; "))
			who, which, _ := strings.Cut(want, " ")
			assert.Equalf(t, who, user.ID, "%s%s", sent, kind)
			if kind != "" && which != "" {
				assert.Equalf(t, which, user.Email, "%s%s: the session that counts", sent, kind)
			}
			assert.Falsef(t, len(strings.Fields(sent)) == 1 && kind == "" && calls != 1,
				"%s: %d store calls for one cookie", sent, calls)
		}
	}
}

// TestSessionsOfTwoPeopleEnd: the sign-in page ends the sessions of two people
// in one browser and says so. HEAD changes nothing, and a browser with the
// session of one person keeps it.
func TestSessionsOfTwoPeopleEnd(t *testing.T) {
	s := newStore()
	s.users["u"], s.users["m"] = adapter.User{ID: "u", Email: "ada@example.com"}, adapter.User{ID: "m", Email: "mallory@example.com"}
	for token, user := range map[string]string{"good": "u", "planted": "m"} {
		s.sessions[token] = adapter.Session{SessionToken: token, UserID: user, Expires: time.Now().Add(time.Hour)}
	}
	h := newHandler(t, auth.Config{Adapter: s, Cookies: auth.Cookies{FormerDomains: []string{"example.com"}}})
	ask := func(method, cookies string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, origin+"/auth/signin", nil)
		r.Header.Set("Cookie", cookies)
		w := serve(h, r)
		return w
	}
	const good, planted = sessionCookie + "=good", sessionCookie + "=planted"
	ask(http.MethodHead, good+"; "+planted)
	ask(http.MethodGet, good)
	ask(http.MethodGet, good+"; "+sessionCookie+"=garbage")
	require.Len(t, s.sessions, 2, "sessions were ended")
	response := ask(http.MethodGet, good+"; "+planted)
	body := response.Body.String()
	assert.Truef(t, strings.Contains(body, "sessions of two people") && len(s.sessions) == 0,
		"%v go on, and the page is\n%s", s.sessions, body)
	scopes := map[string]bool{}
	for _, c := range response.Result().Cookies() {
		if c.Name == sessionCookie && c.MaxAge < 0 {
			scopes[c.Domain] = true
		}
	}
	assert.Truef(t, scopes[""] && scopes["example.com"], "the cookies are deleted under %v", scopes)
}

// TestCookieOfAnotherProgramStays: a sign-out deletes nothing under a domain if
// one of the cookies is not a session here.
func TestCookieOfAnotherProgramStays(t *testing.T) {
	s := newStore()
	s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
	s.sessions["good"] = adapter.Session{SessionToken: "good", UserID: "u", Expires: time.Now().Add(time.Hour)}
	h := newHandler(t, auth.Config{Adapter: s, Cookies: auth.Cookies{FormerDomains: []string{"example.com"}}})
	for _, cookies := range []string{sessionCookie + "=good; " + sessionCookie + "=other", sessionCookie + "=other"} {
		r := httptest.NewRequest(http.MethodPost, origin+"/auth/signout", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", cookies)
		w := serve(h, r)
		for _, c := range w.Result().Cookies() {
			assert.Emptyf(t, c.Domain, "%s: deletes %v", cookies, c)
		}
	}
	assert.Empty(t, s.sessions, "the session goes on")
}

// TestTwoDifferentSessionCookiesAreNobody: a sibling subdomain sets a session
// cookie for the whole domain. The browser then sends two session cookies of
// the same name, and nobody is signed in.
func TestTwoDifferentSessionCookiesAreNobody(t *testing.T) {
	s := newStore()
	s.users["u"], s.users["m"] = adapter.User{ID: "u", Email: "ada@example.com"}, adapter.User{ID: "m", Email: "mallory@example.com"}
	for token, user := range map[string]string{"good": "u", "planted": "m"} {
		s.sessions[token] = adapter.Session{SessionToken: token, UserID: user, Expires: time.Now().Add(time.Hour)}
	}
	h := newHandler(t, auth.Config{Adapter: s})
	const name = "__Secure-authjs.session-token="
	for cookies, want := range map[string]string{
		name + "good": "u", name + "good; x=1; " + name + "good": "u",
		name + "good; " + name + "planted": "", name + "planted; " + name + "good": "", name + "; " + name + "good": "",
		name + strings.Repeat("x", 4097): "",
	} {
		assert.Equalf(t, want, userWith(t, h, cookies).ID, "%.60s", cookies)
	}
}

// TestHugeSessionKeyIsNotLookedUp: a key of over 4 KB causes no call of the
// store.
func TestHugeSessionKeyIsNotLookedUp(t *testing.T) {
	s, calls := newStore(), 0
	s.before = func(string, ...any) error { calls++; return nil }
	h := newHandler(t, auth.Config{Adapter: s})
	chunk := "=" + strings.Repeat("x", 3900)
	assert.Empty(t, userWith(t, h, sessionCookie+".0"+chunk+"; "+sessionCookie+".1"+chunk))
	assert.Zero(t, calls, "calls of the store")
}

// TestPlantedTokenBesideChunks: a sibling subdomain plants a whole session
// cookie beside the chunks of the victim's, or chunks beside the victim's whole
// cookie. It can't be known which token is meant, so nobody is signed in.
// Chunks that are left over from an earlier token of the same person do no
// harm.
func TestPlantedTokenBesideChunks(t *testing.T) {
	t.Parallel()
	const name = jwt.SecureCookieName
	mint := func(sub string, size int) (pairs []string) {
		token := must(jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": sub, "blob": strings.Repeat("x", size)}, Secrets: []string{secret}, Salt: name}))(t)
		for _, c := range jwt.SplitChunks(name, token) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		return pairs
	}
	h := newHandler(t, auth.Config{})
	for what, c := range map[string]struct {
		cookies []string
		want    string
	}{
		"whole planted beside chunks": {append(mint("victim", 6000), mint("mallory", 1)...), ""},
		"chunks planted beside whole": {append(mint("mallory", 6000), mint("victim", 1)...), ""},
		"a stale token in chunks":     {append(mint("victim", 6000), mint("victim", 1)...), "victim"},
		"a stale chunk":               {append(mint("mallory", 6000)[1:], mint("victim", 1)...), "victim"},
		"garbage in a chunk":          {append([]string{name + ".0=x"}, mint("victim", 1)...), "victim"},
		"chunks":                      {mint("victim", 6000), "victim"},
	} {
		cookies := strings.Join(c.cookies, "; ")
		assert.Equal(t, c.want, userWith(t, h, cookies).ID, what)
		params := jwt.GetTokenParams{Header: http.Header{"Cookie": {cookies}}, Secrets: []string{secret}, URL: origin}
		claims := must(jwt.GetToken(t.Context(), params))(t)
		assert.Equalf(t, c.want, claims.String("sub"), "%s: GetToken gives", what)
	}
}
