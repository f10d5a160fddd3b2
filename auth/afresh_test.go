package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// TestAccountTakenAwayWhileSigningIn: an attacker's account is linked to the
// victim. The attacker signs in with it, and a callback of the application
// takes time. Meanwhile the victim removes the account and ends all sessions.
// The sign-in must not sign in as the victim, even if the account signed up
// anew meanwhile. If nothing changes meanwhile, the sign-in succeeds.
func TestAccountTakenAwayWhileSigningIn(t *testing.T) {
	for _, what := range []string{"unlinked", "signed up anew", ""} {
		t.Run(what, func(t *testing.T) {
			var during func()
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
					if f := during; f != nil {
						during = nil
						f()
					}
					return auth.Allow(), nil
				}
			})
			owner := newBrowser(t, st)
			st.at(owner, "other", "ada").wantLocation(t, origin)
			st.at(owner, "idp", "mallory").wantLocation(t, origin)
			id := st.userOf(owner).ID
			if what != "" {
				during = func() {
					if _, err := st.store.UnlinkAccount(t.Context(), adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}); err != nil {
						t.Error(err)
					}
					if _, err := st.store.DeleteSessionsByUserID(t.Context(), id, ""); err != nil {
						t.Error(err)
					}
					st.idp.claims = func(m map[string]any) { m["email"] = "mallory@evil.example" }
					if what == "signed up anew" {
						st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
					}
				}
			}
			st.at(newBrowser(t, st), "idp", "mallory")
			ofOwner := 0
			for _, s := range st.store.sessions {
				if s.UserID == id {
					ofOwner++
				}
			}
			if want := map[bool]int{true: 2}[what == ""]; ofOwner != want {
				t.Errorf("the victim has %d sessions, want %d", ofOwner, want)
			}
		})
	}
}

// TestSessionThatEndsInLinkCallback: a stolen session begins to link an account
// of the thief. The session is ended while Callbacks.Link is running. Nothing
// is linked. If the session does not end, the account is linked.
func TestSessionThatEndsInLinkCallback(t *testing.T) {
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		for _, ends := range []bool{true, false} {
			revoked := false
			var end func()
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Session.Strategy = strategy
				c.Session.Revoked = func(context.Context, auth.Claims) (bool, error) { return revoked, nil }
				c.Callbacks.Link = func(context.Context, auth.LinkParams) (bool, error) {
					if ends {
						end()
					}
					return true, nil
				}
			})
			b := newBrowser(t, st)
			st.at(b, "other", "ada").wantLocation(t, origin)
			end = func() {
				revoked = true
				clear(st.store.sessions)
			}
			answer := st.at(b, "idp", "mallory")
			linked := st.store.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}].UserID != ""
			if linked == ends || (answer.location() == origin) == ends {
				t.Errorf("%s, the session ends: %v; linked: %v, the browser is sent to %s", strategy, ends, linked, answer.location())
			}
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

// TestStaleAuthenticationIsNotFresh: the application asks the provider for a
// fresh sign-in by max_age, and the person at the browser removes that
// parameter from the request. The ID token then tells of an old authentication,
// or of none, and is refused (OpenID Connect Core 1.0 section 3.1.3.7). A
// person who does sign in again, and takes minutes to consent, is signed in.
func TestStaleAuthenticationIsNotFresh(t *testing.T) {
	for what, c := range map[string]struct {
		maxAge string
		age    any // of the authentication when the sign-in begins, in seconds
		noCookies,
		want bool
	}{
		"no auth_time":                        {maxAge: "0"},
		"an hour ago":                         {maxAge: "0", age: 3600},
		"an hour ago, without tickets":        {maxAge: "0", age: 3600, noCookies: true},
		"longer ago than allowed":             {maxAge: "300", age: 400},
		"since the sign-in began":             {maxAge: "0", age: 0, want: true},
		"since, without tickets":              {maxAge: "0", age: 0, noCookies: true, want: true},
		"as long ago as allowed":              {maxAge: "300", age: 290, want: true},
		"nothing asked":                       {want: true},
		"a wish that no provider understands": {maxAge: "soon", want: true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, _ *auth.OAuth) {
				at := newClock().Now()
				p.claims = func(m map[string]any) {
					if age, ok := c.age.(int); ok {
						m["auth_time"] = at.Add(-time.Duration(age) * time.Second).Unix()
					}
				}
			})
			b := newBrowser(t, s)
			params := url.Values{}
			if c.maxAge != "" {
				params.Set("max_age", c.maxAge)
			}
			result, err := s.SignIn(must(http.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil)), "idp", auth.SignInOptions{RedirectTo: "/in", AuthorizationParams: params})
			if err != nil {
				t.Fatal(err)
			}
			for _, cookie := range result.Cookies {
				if !c.noCookies || !strings.HasPrefix(cookie.Name, "__Secure-authjs.state.") {
					cookie.Value = must(url.PathUnescape(cookie.Value))
					b.cookies[cookie.Name] = cookie
				}
			}
			answer := s.idp.authorize(t, result.Location)
			s.clock.advance(5 * time.Minute)
			if got := b.get("/auth/callback/idp?"+answer.Encode()).location() == origin+"/in"; got != c.want {
				t.Errorf("signed in: %v, want %v; log: %s", got, c.want, s.log)
			}
		})
	}
}

// TestFloodOfKeys: a provider has thousands of keys that may fit a signature,
// of the kind that takes longest to verify. Only a few are tried. At a provider
// with twenty keys, of which the last made the signature, the sign-in succeeds.
func TestFloodOfKeys(t *testing.T) {
	mine, other := must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))
	for _, c := range []struct {
		others int
		want   bool
	}{{3900, false}, {20, true}} {
		keys := make([]jose.JSONWebKey, c.others, c.others+1)
		for i := range keys {
			keys[i] = jose.JSONWebKey{Key: other.Public()}
		}
		s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
			p.alg, p.key, p.kid = jose.ES512, mine, ""
			p.claims = func(m map[string]any) { delete(m, "at_hash") }
			jwks(append(keys, jose.JSONWebKey{Key: mine.Public()})...)(p, o)
		})
		if got := s.signIn(newBrowser(t, s)).location() == origin; got != c.want {
			t.Errorf("%d other keys: signed in %v, want %v; log: %s", c.others, got, c.want, s.log)
		}
	}
}

// TestGuessableClientSecretSignsNothing: a client secret that is used as the
// key of signatures, and that can be guessed from a signature, is refused. Four
// client secrets are accepted: one that is long enough, one that is not used as
// a key, one at a provider on this machine, and one that the application
// insists on.
func TestGuessableClientSecretSignsNothing(t *testing.T) {
	const short = "short-secret-of-31-characters-x"
	for what, c := range map[string]struct {
		client  auth.ClientMetadata
		secret  string
		issuer  string
		refused bool
	}{
		"ID tokens":            {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: short, refused: true},
		"userinfo":             {client: auth.ClientMetadata{UserInfoSignedResponseAlg: "HS256"}, secret: short, refused: true},
		"assertions":           {client: auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT}, secret: short, refused: true},
		"assertions of HS384":  {client: auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT, TokenEndpointAuthSigningAlg: "HS384"}, secret: short + "y", refused: true},
		"32 bytes":             {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: short + "y"},
		"no key of signatures": {secret: "short"},
		"on this machine":      {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: "short", issuer: "http://localhost:9000"},
		"insisted on":          {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256", DangerouslyAcceptShortSecret: true}, secret: short},
	} {
		if c.issuer == "" {
			c.issuer = "https://idp.example"
		}
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Providers: []auth.Provider{
			&auth.OAuth{ID: "p", Type: auth.TypeOIDC, Issuer: c.issuer, ClientID: "c", ClientSecret: c.secret, Client: c.client},
		}})
		if refused := errors.Is(err, auth.ErrInvalidProvider); refused != c.refused || !refused && err != nil {
			t.Errorf("%s: got %v, want refused: %v", what, err, c.refused)
		}
	}
}

// TestForeignRefererIsNoCallbackURL: a page of another site leads the browser
// to a handler of the application that signs in or out by POST only. The
// confirmation page, which may be one of the application's own, is not told to
// return to the other site. It is told to return to pages of this site.
func TestForeignRefererIsNoCallbackURL(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Pages: auth.Pages{SignIn: "/login", SignOut: "/bye"}})
	for from, want := range map[string]string{
		"https://evil.example/":                  origin,
		"https://app.example.com.evil.example/x": origin,
		"//evil.example/":                        origin + "//evil.example/",
		`/\evil.example/`:                        origin + `/\evil.example/`,
		"javascript:alert(1)":                    origin,
		origin + "/inbox?a=b":                    origin + "/inbox?a=b",
		"":                                       "/",
	} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/start", nil))
		r.Header.Set("Referer", from)
		in, err := h.SignIn(r, "credentials", auth.SignInOptions{})
		out, failed := h.SignOut(r, "")
		if err != nil || failed != nil || in.Location != "/login?callbackUrl="+url.QueryEscape(want) || out.Location != "/bye?callbackUrl="+url.QueryEscape(want) {
			t.Errorf("from %q: the browser is sent to %v and %v, %v, %v", from, in, out, err, failed)
		}
	}
}

// TestSignedOutTokenComesNotBack: a session token is signed out during an
// update of the session, before or after the new token is made. The old token,
// and every token that was made from it, is refused. Another session of the
// same person stays valid.
func TestSignedOutTokenComesNotBack(t *testing.T) {
	for _, when := range []string{"before the new token is made", "after that", ""} {
		t.Run(when, func(t *testing.T) {
			during := func() {}
			h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Callbacks: auth.Callbacks{
				JWT: func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
					if p.Trigger == auth.TriggerUpdate {
						during()
					}
					return p.Token, nil
				},
			}})
			signIn := func() *browser {
				b := newBrowser(t, h)
				b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin)
				return b
			}
			b, elsewhere := signIn(), signIn()
			copied := newBrowser(t, h)
			maps.Copy(copied.cookies, b.cookies)
			signOut := func() { copied.post("/auth/signout").wantLocation(t, origin) }
			late := newBrowser(t, h) // a browser that gets the answers in the other order
			maps.Copy(late.cookies, b.cookies)
			if when == "before the new token is made" {
				during = signOut
			}
			late.post("/auth/session", "data", "x")
			late.post("/auth/session", "data", "y")
			if when == "after that" {
				signOut()
			}
			if when == "" {
				late.wantSession(`"name":"Ada Lovelace"`)
				b.wantSession(`"name":"Ada Lovelace"`)
			} else {
				late.wantNoSession()
				b.wantNoSession()
			}
			elsewhere.wantSession(`"name":"Ada Lovelace"`)
		})
	}
}

// TestForcedLinking: another site signs the victim's browser in at the provider
// as the attacker, and leads it to a handler of the application that starts a
// sign-in. The attacker's account is not linked to the victim, who is signed
// in. An account is linked if a click on a page of this site starts the
// sign-in, in any browser. The victim's own account can sign in by a link from
// anywhere, such as a mail.
func TestForcedLinking(t *testing.T) {
	for what, c := range map[string]struct {
		method, person string
		header         http.Header
		linked, in     bool
	}{
		"a link of another site":        {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {"https://evil.example/"}}, false, false},
		"of a sibling":                  {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"same-site"}}, false, false},
		"of another site's redirect":    {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {origin + "/guestbook"}}, false, false},
		"of a look-alike":               {"GET", "mallory", http.Header{"Referer": {origin + ".evil.example/"}}, false, false},
		"of a mail":                     {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"none"}}, false, false},
		"a form of another site":        {"POST", "mallory", http.Header{"Origin": {"https://evil.example"}}, false, false},
		"a link of this site":           {"GET", "new", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true, true},
		"in a browser that says little": {"GET", "new", http.Header{"Referer": {origin + "/settings"}}, true, true},
		"a form of this site":           {"POST", "new", http.Header{"Origin": {origin}}, true, true},
		"the own account, from a mail":  {"GET", "ada", http.Header{"Sec-Fetch-Site": {"none"}}, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			st := newStage(t, nil)
			b := newBrowser(t, st)
			st.at(b, "idp", "ada").wantLocation(t, origin)
			before := len(st.store.accounts)
			r := b.request("/connect")
			r.Method = c.method
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Del("Referer")
			maps.Copy(r.Header, c.header)
			result, err := st.SignIn(r, "idp", auth.SignInOptions{RedirectTo: "/in"})
			if err != nil {
				t.Fatal(err)
			}
			for _, cookie := range result.Cookies {
				cookie.Value = must(url.PathUnescape(cookie.Value))
				b.cookies[cookie.Name] = cookie
			}
			end := b.get("/auth/callback/idp?" + st.idp.authorize(t, result.Location+"&login_hint="+c.person).Encode()).location()
			if linked := len(st.store.accounts) > before; linked != c.linked || (end == origin+"/in") != c.in || len(st.store.users) != 1 {
				t.Errorf("linked: %v, want %v; the browser is sent to %s", linked, c.linked, end)
			}
		})
	}
}

// TestTokensOfOneNameAreManySessions: an application makes its own tokens,
// which all have the same jti. A person who signs out can sign in again.
func TestTokensOfOneNameAreManySessions(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, JWT: auth.JWTConfig{
		Encode: func(_ context.Context, p jwt.EncodeParams) (string, error) {
			p.Token["jti"] = "of everybody"
			text, err := json.Marshal(p.Token)
			return base64.RawURLEncoding.EncodeToString(text), err
		},
		Decode: func(_ context.Context, p jwt.DecodeParams) (claims auth.Claims, err error) {
			text, err := base64.RawURLEncoding.DecodeString(p.Token)
			if err == nil {
				err = json.Unmarshal(text, &claims)
			}
			return claims, err
		},
	}})
	for range 2 {
		b := newBrowser(t, h)
		b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin)
		b.wantSession(`"name":"Ada Lovelace"`)
		b.post("/auth/signout").wantLocation(t, origin)
		b.wantNoSession()
	}
}
