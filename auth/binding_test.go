package auth_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// isHost reports whether no other host can set the cookie.
func isHost(name string) bool { return strings.HasPrefix(name, "__Host-") }

// TestPlantedCheckCookiesEndNoSignIn: a sibling subdomain plants the check
// cookies of the attacker's sign-in in the victim's browser, and sends it the
// answer. Nobody is signed in, and nothing is created or linked.
func TestPlantedCheckCookiesEndNoSignIn(t *testing.T) {
	for _, signedIn := range []bool{false, true} {
		for _, checks := range [][]auth.Check{nil, {auth.CheckPKCE}, {auth.CheckState}, {auth.CheckNonce}} {
			st := newStage(t, func(_ *stage, c *auth.Config) { c.Providers[0].(*auth.OAuth).Checks = checks })
			b, attacker := newBrowser(t, st), newBrowser(t, st)
			if signedIn {
				st.at(b, "other", "ada").wantLocation(t, origin)
			}
			accounts, users := len(st.store.accounts), len(st.store.users)
			answer := st.idp.authorize(t, st.start(attacker, "/auth/signin/idp?login_hint=mallory"))
			b.csrf()
			for name, c := range attacker.cookies {
				if !isHost(name) && !strings.Contains(name, "session-token") {
					b.cookies[name] = c
				}
			}
			before := b.cookies["__Secure-authjs.session-token"]
			b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, lateAnswer)
			if !strings.Contains(st.log.String(), "InvalidCheck") {
				t.Errorf("checks %v: the failure is no InvalidCheck", checks)
			}
			if b.cookies["__Secure-authjs.session-token"] != before || len(st.store.accounts) != accounts || len(st.store.users) != users {
				t.Errorf("checks %v, signed in %v: somebody was signed in or linked", checks, signedIn)
			}
		}
	}
}

// TestSignInEndsInTheBrowserThatBeganIt checks the legitimate sign-ins next to
// those with planted cookies: in several tabs, in a browser without a CSRF
// cookie, by server code, and at a site where the CSRF cookie can't be the
// mark.
func TestSignInEndsInTheBrowserThatBeganIt(t *testing.T) {
	for name, set := range map[string]func(c *auth.Config){
		"by the CSRF cookie":       func(*auth.Config) {},
		"CSRF cookie of a domain":  func(c *auth.Config) { c.Cookies.CSRFToken = auth.CookieConfig{Name: "csrf", Domain: "example.com"} },
		"protection of another":    func(c *auth.Config) { c.SkipCSRFCheck = auth.SkipCSRFCheck },
		"http on loopback":         func(c *auth.Config) { c.URL = "http://localhost:3000" },
		"plain cookies over https": func(c *auth.Config) { c.UseSecureCookies = new(false) },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, func(_ *stage, c *auth.Config) { set(c) })
			b := newBrowser(t, st)
			form := url.Values{}
			if name != "protection of another" {
				form.Set("csrfToken", b.csrf())
			}
			l := b.submit("/auth/signin/idp", "csrfToken", form.Get("csrfToken")).location()
			mark := false
			for cookie := range b.cookies {
				mark = mark || cookie == "__Host-authjs.browser" || cookie == "__Host-authjs.csrf-token" || name == "http on loopback" && cookie == "authjs.csrf-token"
			}
			if !mark {
				t.Fatalf("no cookie marks the browser: %v", b.cookies)
			}
			r := b.get("/auth/callback/idp?" + st.idp.authorize(t, l).Encode())
			if len(st.store.sessions) != 1 || strings.Contains(r.location(), "error") {
				t.Fatalf("the sign-in leads to %s; log: %s", r.location(), st.log)
			}
		})
	}
	t.Run("server code", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		result, err := st.SignIn(b.request("/login"), "idp", auth.SignInOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.take(result)
		b.get("/auth/callback/idp?"+st.idp.authorize(t, result.Location).Encode()).wantLocation(t, origin+"/")
	})
}

// TestSignInOfAnotherUserLinksNothing: during a sign-in, another user is signed
// in, for instance by the attacker's mail link. A new account is not linked to
// that user. An account that has an owner still signs in.
func TestSignInOfAnotherUserLinksNothing(t *testing.T) {
	const refused = origin + "/auth/signin?error=OAuthAccountNotLinked"
	t.Run("began as nobody", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp?login_hint=victim"))
		st.byMail(b).wantLocation(t, origin)
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, refused)
		if len(st.store.accounts) != 0 {
			t.Errorf("linked: %v", st.store.accounts)
		}
	})
	t.Run("began as another", func(t *testing.T) {
		st := newStage(t, nil)
		b, attacker := newBrowser(t, st), newBrowser(t, st)
		st.states = false
		st.at(b, "other", "victim").wantLocation(t, origin)
		st.at(attacker, "other", "mallory").wantLocation(t, origin)
		answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp?login_hint=victim"))
		b.cookies["__Secure-authjs.session-token"] = attacker.cookies["__Secure-authjs.session-token"]
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, refused)
		if len(st.store.accounts) != 2 {
			t.Errorf("linked: %v", st.store.accounts)
		}
	})
	t.Run("their own account", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		id := st.userOf(b).ID
		session := b.cookies["__Secure-authjs.session-token"]
		delete(b.cookies, "__Secure-authjs.session-token")
		answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp?login_hint=ada"))
		b.cookies["__Secure-authjs.session-token"] = session // another tab finished first
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, origin)
		if st.userOf(b).ID != id {
			t.Error("somebody else is signed in")
		}
	})
	t.Run("link while signed in", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		st.at(b, "other", "ada").wantLocation(t, origin)
		if len(st.store.users) != 1 || len(st.store.accounts) != 2 {
			t.Errorf("users %v, accounts %v", st.store.users, st.store.accounts)
		}
	})
}

// TestProviderWithoutChecksLinksNothing: nothing says who began such a sign-in.
func TestProviderWithoutChecksLinksNothing(t *testing.T) {
	st := newStage(t, func(_ *stage, c *auth.Config) { c.Providers[0].(*auth.OAuth).Checks = []auth.Check{auth.CheckNone} })
	b := newBrowser(t, st)
	st.at(b, "other", "ada").wantLocation(t, origin)
	st.at(b, "idp", "mallory").wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
	if len(st.store.accounts) != 1 {
		t.Errorf("linked: %v", st.store.accounts)
	}
	st.states = false
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin) // it signs in nevertheless
}

// TestCredentialsIDIsNoAdapterID: a person signs in with a password, and then
// at a provider. Their ID in the application's own table is the ID of another
// person's user in the adapter. Nothing is linked to that other person.
func TestCredentialsIDIsNoAdapterID(t *testing.T) {
	run := func(t *testing.T, usesAdapterIDs bool, token func(st *stage) string) *stage {
		t.Helper()
		st := newStage(t, func(_ *stage, c *auth.Config) {
			p := password()
			p.UsesAdapterIDs = usesAdapterIDs
			c.Providers, c.Session.Strategy = append(c.Providers, p), auth.StrategyJWT
		})
		st.store.users["ada-1"] = adapter.User{ID: "ada-1", Email: "somebody.else@example.com"}
		b := newBrowser(t, st)
		if token == nil {
			b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin)
		} else {
			b.cookies["s"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: token(st)}
		}
		b.wantSession(`"name"`)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		return st
	}
	linked := func(st *stage) bool {
		return st.store.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}].UserID == "ada-1"
	}
	ofAuthJS := func(st *stage) string {
		return must(jwt.Encode(jwt.EncodeParams{
			Token: jwt.Claims{"sub": "ada-1", "name": "Ada"}, Secrets: []string{secret}, Salt: "__Secure-authjs.session-token", Now: st.clock.Now,
		}))
	}
	if linked(run(t, false, nil)) {
		t.Error("an account was linked to a user who is somebody else")
	}
	if !linked(run(t, true, nil)) {
		t.Error("UsesAdapterIDs: the account was not linked")
	}
	if linked(run(t, false, ofAuthJS)) {
		t.Error("a token of Auth.js is taken for one of the adapter's IDs")
	}
	if !linked(run(t, true, ofAuthJS)) {
		t.Error("UsesAdapterIDs: a token of Auth.js is nobody")
	}
}

// TestSubjectOfTokenSurvivesCallbacks: a callback that makes new claims does
// not change which kind of ID the subject is. A callback that changes the
// subject does not make it an ID of the adapter.
func TestSubjectOfTokenSurvivesCallbacks(t *testing.T) {
	for name, c := range map[string]struct {
		sub  string
		want bool
	}{"kept": {"", true}, "replaced": {"user-2", false}} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, func(_ *stage, config *auth.Config) {
				config.Session.Strategy = auth.StrategyJWT
				config.Providers = append(config.Providers, password())
				config.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
					sub := p.Token.String("sub")
					if p.Trigger == auth.TriggerUpdate && c.sub != "" {
						sub = c.sub
					}
					return auth.Claims{"sub": sub, "name": p.Token["name"]}, nil
				}
			})
			st.store.users["user-2"] = adapter.User{ID: "user-2", Email: "somebody.else@example.com"}
			b := newBrowser(t, st)
			st.at(b, "idp", "ada").wantLocation(t, origin)
			b.post("/auth/session", "data", "x")
			r := st.at(b, "other", "ada")
			owner := st.store.accounts[adapter.AccountKey{Provider: "other", ProviderAccountID: "ada"}].UserID
			if c.want != (owner == "user-1") || owner == "user-2" {
				t.Errorf("the account is linked to %q; the browser is sent to %s", owner, r.location())
			}
		})
	}
}

// TestSessionIsRotated: the key of a session from before a sign-in, or from
// before an account was linked, is not valid afterwards.
func TestSessionIsRotated(t *testing.T) {
	st := newStage(t, nil)
	b := newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	for _, provider := range []string{"idp", "other"} {
		old := *b.cookies["__Secure-authjs.session-token"]
		st.at(b, provider, "ada").wantLocation(t, origin)
		if now := b.cookies["__Secure-authjs.session-token"].Value; now == old.Value {
			t.Errorf("%s: the session has the same key", provider)
		}
		if _, ok := st.store.sessions[old.Value]; ok || len(st.store.sessions) != 1 {
			t.Errorf("%s: the old session goes on: %v", provider, st.store.sessions)
		}
	}
	b.wantSession(`"name":"ada"`)
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
		r := httptest.NewRequest(http.MethodGet, origin, nil)
		r.Header.Set("Cookie", cookies)
		session, err := h.Session(r)
		if err != nil || want == "" != (session == nil) || session != nil && session.User.ID != want {
			t.Errorf("%.60s: got %+v, %v, want %q", cookies, session, err, want)
		}
	}
}

// TestHugeSessionKeyIsNotLookedUp: a key of over 4 KB causes no call of the
// store.
func TestHugeSessionKeyIsNotLookedUp(t *testing.T) {
	s, calls := newStore(), 0
	s.before = func(string, ...any) error { calls++; return nil }
	h := newHandler(t, auth.Config{Adapter: s})
	r := httptest.NewRequest(http.MethodGet, origin, nil)
	r.Header.Set("Cookie", "__Secure-authjs.session-token.0="+strings.Repeat("x", 3900)+"; __Secure-authjs.session-token.1="+strings.Repeat("x", 3900))
	if session, err := h.Session(r); session != nil || err != nil || calls != 0 {
		t.Errorf("got %+v, %v after %d calls", session, err, calls)
	}
}

// TestRefusalTellsNothingOfTheAddress: the duration of a refused sign-in does
// not show whether the address is verified, and is never more than 100 ms.
func TestRefusalTellsNothingOfTheAddress(t *testing.T) {
	for name, adapterOf := range map[string]func(s capable) adapter.Adapter{
		"with SignUps":    func(s capable) adapter.Adapter { return s },
		"without SignUps": func(s capable) adapter.Adapter { return withoutSignUps{s.store, s, s, s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, calls := map[bool]time.Duration{}, map[bool]int{}
				for _, verified := range []bool{false, true} {
					s := newCapable()
					u := adapter.User{ID: "u", Email: victim}
					if verified {
						u.EmailVerified = new(time.Now())
					}
					s.users["u"] = u
					s.before = func(string, ...any) error { calls[verified]++; <-time.After(time.Millisecond); return nil }
					h := newHandler(t, auth.Config{Adapter: adapterOf(s)})
					began := time.Now()
					_, err := h.Login(t.Context(), httptest.NewRequest(http.MethodGet, origin, nil), oauthIdentity("mallory", victim))
					if err == nil {
						t.Fatal("signed in")
					}
					took[verified] = time.Since(began)
				}
				if took[false] != took[true] || calls[false] != calls[true] {
					t.Errorf("took %v with %v calls", took, calls)
				}
				if took[true] > 100*time.Millisecond {
					t.Errorf("took %v", took[true])
				}
			})
		})
	}
}

// TestMarkIsKeptByConcurrentTabs: several tabs begin a sign-in at the same
// time, in a browser that has only the CSRF cookie. All sign-ins succeed.
func TestMarkIsKeptByConcurrentTabs(t *testing.T) {
	st := newStage(t, nil)
	b := newBrowser(t, st)
	b.csrf()
	first := &browser{t: t, h: st, site: origin, cookies: maps.Clone(b.cookies), born: map[string]int{}}
	second := &browser{t: t, h: st, site: origin, cookies: maps.Clone(b.cookies), born: map[string]int{}}
	answers := []url.Values{st.idp.authorize(t, st.start(first, "/auth/signin/idp")), st.idp.authorize(t, st.start(second, "/auth/signin/idp"))}
	maps.Copy(b.cookies, first.cookies)
	maps.Copy(b.cookies, second.cookies)
	for _, answer := range answers {
		delete(b.cookies, "__Secure-authjs.session-token")
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, origin)
	}
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
		token := must(jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": sub, "blob": strings.Repeat("x", size)}, Secrets: []string{secret}, Salt: name}))
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
		r := httptest.NewRequest(http.MethodGet, origin, nil)
		r.Header.Set("Cookie", strings.Join(c.cookies, "; "))
		session, err := h.Session(r)
		if err != nil || c.want == "" != (session == nil) || session != nil && session.User.ID != c.want {
			t.Errorf("%s: got %+v, %v, want %q", what, session, err, c.want)
		}
		claims, err := jwt.GetToken(t.Context(), jwt.GetTokenParams{Header: r.Header, Secrets: []string{secret}, URL: origin})
		if err != nil || claims.String("sub") != c.want {
			t.Errorf("%s: GetToken gives %q, %v, want %q", what, claims.String("sub"), err, c.want)
		}
	}
}

// TestPlantedMarkBehindTLS: behind a server that ends TLS, the request does not
// show that the site is https. If the configuration makes cookies secure, the
// mark of a browser and its links are nevertheless in cookies that no other
// host can set.
func TestPlantedMarkBehindTLS(t *testing.T) {
	var config auth.Config
	st := newStage(t, func(_ *stage, c *auth.Config) {
		c.Secret, c.TrustHost, c.UseSecureCookies = []string{secret}, new(true), new(true)
		c.Cookies.CSRFToken = auth.CookieConfig{Name: "csrf", Domain: "example.com"} // can't be the mark
		config = *c
	})
	st.Handler = must(auth.New(config))
	newBrowser := func() *browser {
		b := newBrowser(t, st)
		b.site = "http://app.example.com"
		return b
	}
	b, attacker := newBrowser(), newBrowser()
	answer := st.idp.authorize(t, st.start(attacker, "/auth/signin/idp?login_hint=mallory"))
	b.csrf()
	for name, c := range attacker.cookies {
		if !isHost(name) && !strings.Contains(name, "session-token") {
			b.cookies[name] = c
		}
	}
	if l := b.get("/auth/callback/idp?" + answer.Encode()).location(); !strings.Contains(l, "error=InvalidCheck") {
		t.Errorf("the sign-in of the attacker ends in the victim's browser at %q", l)
	}
	honest := newBrowser()
	answer = st.idp.authorize(t, st.start(honest, "/auth/signin/idp?login_hint=ada"))
	honest.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, "http://app.example.com")
}

// TestChecksThatDisagreeLinkNothing: of the check cookies of one sign-in, one
// says who began it and another does not, like a cookie that Auth.js made with
// the same secret for another browser. Whichever cookie that is, nothing is
// linked to the user who is signed in, and the user's own account can still
// sign in.
func TestChecksThatDisagreeLinkNothing(t *testing.T) {
	const prefix = "__Secure-authjs."
	names := []string{"state", "pkce.code_verifier", "nonce"}
	for _, unbound := range append(names, "") { // "" is the legitimate case
		for _, account := range []string{"new", "own"} {
			t.Run(unbound+" of "+account, func(t *testing.T) {
				st := newStage(t, nil)
				b := newBrowser(t, st)
				st.at(b, "other", "ada").wantLocation(t, origin)
				if account == "own" {
					st.at(b, "idp", "ada").wantLocation(t, origin)
				}
				before := len(st.store.accounts)
				answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp?login_hint=ada"))
				for name := range b.cookies { // Auth.js has no tickets
					if strings.HasPrefix(name, prefix+"state.") {
						delete(b.cookies, name)
					}
				}
				if unbound != "" {
					name := prefix + unbound
					claims, err := jwt.Decode(jwt.DecodeParams{Token: b.cookies[name].Value, Secrets: []string{secret}, Salt: name, Now: st.clock.Now})
					if err != nil {
						t.Fatal(err)
					}
					sealed, err := jwt.Encode(jwt.EncodeParams{
						Token: jwt.Claims{"value": claims["value"], "provider": claims["provider"]}, Secrets: []string{secret}, Salt: name, MaxAge: 15 * time.Minute, Now: st.clock.Now,
					})
					if err != nil {
						t.Fatal(err)
					}
					b.cookies[name].Value = sealed
				}
				end := b.get("/auth/callback/idp?" + answer.Encode())
				linked := len(st.store.accounts) - before
				switch {
				case account == "own" || unbound == "":
					end.wantLocation(t, origin)
					if want := map[bool]int{true: 1}[account == "new"]; linked != want {
						t.Errorf("%d accounts were linked, want %d", linked, want)
					}
				default:
					end.wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
					if linked != 0 {
						t.Errorf("linked: %v", st.store.accounts)
					}
				}
			})
		}
	}
}

// TestProviderIDOfAnotherServer: an application chooses the server of a
// provider ID for each request, and an attacker makes it choose another server
// while a person signs in. The other server gets neither code nor verifier (RFC
// 9700 section 4.4). If the choice does not change, the sign-in succeeds.
func TestProviderIDOfAnotherServer(t *testing.T) {
	clock := newClock()
	honest, evil := newIDP(t, clock.Now), newIDP(t, clock.Now)
	for what, change := range map[string]func(o *auth.OAuth){
		"issuer":         func(o *auth.OAuth) { o.Issuer = evil.URL },
		"token endpoint": func(o *auth.OAuth) { o.Token.URL = evil.URL + "/token" },
		"well-known":     func(o *auth.OAuth) { o.WellKnown = evil.URL + "/.well-known/openid-configuration" },
		"client":         func(o *auth.OAuth) { o.ClientID = "client-2" },
		"":               func(o *auth.OAuth) { o.Authorization.Params = url.Values{"prompt": {"login"}} },
	} {
		t.Run(what, func(t *testing.T) {
			chosen := func(*auth.OAuth) {}
			b := newBrowser(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o := honest.provider()
				chosen(o)
				c := auth.Config{URL: origin, Secret: []string{secret}, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler), Providers: []auth.Provider{o}}
				answer := auth.Auth(r, c)
				defer answer.Body.Close()
				maps.Copy(w.Header(), answer.Header)
				w.WriteHeader(answer.StatusCode)
				_, _ = io.Copy(w, answer.Body)
			}))
			answer := honest.authorize(t, b.post("/auth/signin/idp").location())
			chosen = change
			before := evil.count("/token") + honest.count("/token")
			end := b.get("/auth/callback/idp?" + answer.Encode()).location()
			asked := evil.count("/token") + honest.count("/token") - before
			if what == "" && (end != origin || asked != 1) || what != "" && (end == origin || asked != 0) {
				t.Errorf("the sign-in ends at %s, after %d token requests", end, asked)
			}
		})
	}
}
