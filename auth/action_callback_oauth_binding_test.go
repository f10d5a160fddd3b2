package auth_test

import (
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plant sets the cookies of another browser that a sibling domain can set, without
// its session.
func (b *browser) plant(of *browser) {
	for name, c := range of.cookies {
		if !strings.HasPrefix(name, "__Host-") && !strings.Contains(name, "session-token") {
			b.cookies[name] = c
		}
	}
}

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
			b.plant(attacker)
			before := b.cookies["__Secure-authjs.session-token"]
			b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, lateAnswer)
			assert.Containsf(t, st.log.String(), "InvalidCheck", "checks %v: the failure is no InvalidCheck", checks)
			assert.Truef(t, b.cookies["__Secure-authjs.session-token"] == before && len(st.store.accounts) == accounts && len(st.store.users) == users,
				"checks %v, signed in %v: somebody was signed in or linked", checks, signedIn)
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
			require.Truef(t, mark, "no cookie marks the browser: %v", b.cookies)
			r := b.get("/auth/callback/idp?" + st.idp.authorize(t, l).Encode())
			require.Truef(t, len(st.store.sessions) == 1 && !strings.Contains(r.location(), "error"),
				"the sign-in leads to %s; log: %s", r.location(), st.log)
		})
	}
	t.Run("server code", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		result := must(st.SignIn(b.request("/login"), "idp", auth.SignInOptions{}))(t)
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
		assert.Empty(t, st.store.accounts, "linked")
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
		assert.Len(t, st.store.accounts, 2, "linked")
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
		assert.Equal(t, id, st.userOf(b).ID, "somebody else is signed in")
	})
	t.Run("link while signed in", func(t *testing.T) {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		st.at(b, "other", "ada").wantLocation(t, origin)
		assert.Truef(t, len(st.store.users) == 1 && len(st.store.accounts) == 2,
			"users %v, accounts %v", st.store.users, st.store.accounts)
	})
}

// TestProviderWithoutChecksLinksNothing: nothing says who began such a sign-in.
func TestProviderWithoutChecksLinksNothing(t *testing.T) {
	st := newStage(t, func(_ *stage, c *auth.Config) { c.Providers[0].(*auth.OAuth).Checks = []auth.Check{auth.CheckNone} })
	b := newBrowser(t, st)
	st.at(b, "other", "ada").wantLocation(t, origin)
	st.at(b, "idp", "mallory").wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
	assert.Len(t, st.store.accounts, 1, "linked")
	st.states = false
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin) // it signs in nevertheless
}

// TestMarkIsKeptByConcurrentTabs: several tabs begin a sign-in at the same
// time, in a browser that has only the CSRF cookie. All sign-ins succeed.
func TestMarkIsKeptByConcurrentTabs(t *testing.T) {
	st := newStage(t, nil)
	b := newBrowser(t, st)
	b.csrf()
	first, second := b.clone(st), b.clone(st)
	answers := []url.Values{st.idp.authorize(t, st.start(first, "/auth/signin/idp")), st.idp.authorize(t, st.start(second, "/auth/signin/idp"))}
	maps.Copy(b.cookies, first.cookies)
	maps.Copy(b.cookies, second.cookies)
	for _, answer := range answers {
		delete(b.cookies, "__Secure-authjs.session-token")
		b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, origin)
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
	st.Handler = must(auth.New(config))(t)
	newBrowser := func() *browser {
		b := newBrowser(t, st)
		b.site = "http://app.example.com"
		return b
	}
	b, attacker := newBrowser(), newBrowser()
	answer := st.idp.authorize(t, st.start(attacker, "/auth/signin/idp?login_hint=mallory"))
	b.csrf()
	b.plant(attacker)
	assert.Contains(t, b.get("/auth/callback/idp?"+answer.Encode()).location(), "error=InvalidCheck",
		"the sign-in of the attacker ends in the victim's browser at")
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
				delete(b.cookies, b.ticket().Name) // Auth.js has no tickets
				if unbound != "" {
					name := prefix + unbound
					claims := must(jwt.Decode(jwt.DecodeParams{Token: b.cookies[name].Value, Secrets: []string{secret}, Salt: name, Now: st.clock.Now}))(t)
					sealed := must(jwt.Encode(jwt.EncodeParams{
						Token: jwt.Claims{"value": claims["value"], "provider": claims["provider"]}, Secrets: []string{secret}, Salt: name, MaxAge: 15 * time.Minute, Now: st.clock.Now,
					}))(t)
					b.cookies[name].Value = sealed
				}
				end := b.get("/auth/callback/idp?" + answer.Encode())
				linked := len(st.store.accounts) - before
				switch {
				case account == "own" || unbound == "":
					end.wantLocation(t, origin)
					assert.Equal(t, map[bool]int{true: 1}[account == "new"], linked, "accounts that were linked")
				default:
					end.wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
					assert.Equalf(t, 0, linked, "linked: %v", st.store.accounts)
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
				forward(w, auth.Auth(r, c)) //nolint:bodyclose // forward closes it
			}))
			answer := honest.authorize(t, b.post("/auth/signin/idp").location())
			chosen = change
			before := evil.count("/token") + honest.count("/token")
			end := b.get("/auth/callback/idp?" + answer.Encode()).location()
			asked := evil.count("/token") + honest.count("/token") - before
			assert.Falsef(t, what == "" && (end != origin || asked != 1) || what != "" && (end == origin || asked != 0),
				"the sign-in ends at %s, after %d token requests", end, asked)
		})
	}
}
