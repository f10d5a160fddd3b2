package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sessionCookie = "__Secure-authjs.session-token"

// tokenSite is a site with credentials and session tokens.
func tokenSite(t *testing.T, change func(*auth.Config)) (*auth.Handler, *clock) {
	c := newClock()
	config := auth.Config{Clock: c.Now, Providers: []auth.Provider{password()}}
	if change != nil {
		change(&config)
	}
	return newHandler(t, config), c
}

func (b *browser) signIn() {
	b.t.Helper()
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(b.t, origin)
}

// token is the value of the session cookie.
func (b *browser) token() string {
	if c := b.cookies[sessionCookie]; c != nil {
		return c.Value
	}
	return ""
}

func claimsOf(t *testing.T, token string, now func() time.Time, secrets ...string) auth.Claims {
	t.Helper()
	return must(jwt.Decode(jwt.DecodeParams{Token: token, Secrets: append(secrets, secret), Salt: sessionCookie, Now: now}))(t)
}

// TestLateAnswerUndoesNoSignOut: a response that was under way while its
// browser signed out, or while the roles changed, does not bring an old token
// back. A session in use still goes on.
func TestLateAnswerUndoesNoSignOut(t *testing.T) {
	t.Parallel()
	h, now := tokenSite(t, nil)
	b := newBrowser(t, h)
	b.signIn()
	first := b.token()
	now.advance(time.Hour)
	for range 3 {
		if r := b.get("/auth/session"); strings.Contains(strings.Join(r.Header["Set-Cookie"], "\n"), sessionCookie) || !strings.Contains(r.body, `"name":"Ada Lovelace"`) {
			t.Fatalf("a reading answers %s with the cookies %v", r.body, r.Header["Set-Cookie"])
		}
	}
	now.advance(24 * time.Hour) // the default of UpdateAge
	b.wantSession(`"expires":"2026-02-15T13:00:00.000Z"`)
	require.NotEqual(t, first, b.token(), "the token is not replaced when that is due")
	// Used every ten days, a session outlives its 30 days.
	for range 10 {
		now.advance(10 * 24 * time.Hour)
		b.wantSession(`"name":"Ada Lovelace"`)
	}
	now.advance(31 * 24 * time.Hour)
	b.wantNoSession()
	assert.Empty(t, b.token(), "the cookie of a session that has expired stays")
}

// TestShortSessionsGoOn: a token whose lifetime is shorter than UpdateAge is
// replaced in time while it is in use.
func TestShortSessionsGoOn(t *testing.T) {
	t.Parallel()
	h, now := tokenSite(t, func(c *auth.Config) { c.Session.MaxAge = time.Hour })
	b := newBrowser(t, h)
	b.signIn()
	for range 10 {
		now.advance(25 * time.Minute)
		b.wantSession(`"name":"Ada Lovelace"`)
	}
	now.advance(61 * time.Minute)
	b.wantNoSession()
}

// TestWhenATokenIsReplaced: a token is replaced at once if its claims changed,
// and at each reading if UpdateAge is zero.
func TestWhenATokenIsReplaced(t *testing.T) {
	t.Parallel()
	changing := func(change func(auth.JWTParams)) func(*auth.Config) {
		return func(c *auth.Config) {
			c.Callbacks.JWT = changingToken(func(p auth.JWTParams) {
				if p.User == nil {
					change(p)
				}
			})
		}
	}
	role := "user"
	for _, c := range []struct {
		name     string
		change   func(*auth.Config)
		replaced bool
	}{
		{"nothing changed", changing(func(auth.JWTParams) {}), false},
		{"the callback returns the same in a new map", func(c *auth.Config) {
			c.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
				return auth.Claims{"sub": p.Token["sub"], "name": p.Token["name"]}, nil
			}
		}, false},
		{"a claim is new", changing(func(p auth.JWTParams) { p.Token["role"] = role }), true},
		{"a claim is gone", changing(func(p auth.JWTParams) { delete(p.Token, "name") }), true},
		{"a claim inside another changed", changing(func(p auth.JWTParams) { p.Token["x"] = map[string]any{"roles": []string{role}} }), true},
		{"UpdateAge is zero", func(c *auth.Config) { c.Session.UpdateAge = new(time.Duration) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, now := tokenSite(t, c.change)
			b := newBrowser(t, h)
			b.signIn()
			before := b.token()
			now.advance(time.Minute)
			b.session()
			assert.Equal(t, c.replaced, b.token() != before, "the token is replaced")
			after := b.token()
			b.session()
			assert.False(t, c.change != nil && !strings.HasPrefix(c.name, "UpdateAge") && b.token() != after,
				"the token is replaced again, and nothing changed")
		})
	}
	t.Run("the client asked for a change", func(t *testing.T) {
		t.Parallel()
		h, _ := tokenSite(t, nil)
		b := newBrowser(t, h)
		b.signIn()
		before := b.token()
		b.post("/auth/session", "data", "x")
		assert.NotEqual(t, before, b.token(), "the token is not replaced")
	})
	t.Run("an earlier secret opened it", func(t *testing.T) {
		t.Parallel()
		old, now := tokenSite(t, func(c *auth.Config) { c.Secret = []string{oldSecret} })
		b := newBrowser(t, old)
		b.signIn()
		before := b.token()
		b.h, _ = tokenSite(t, func(c *auth.Config) { c.Secret, c.Clock = []string{secret, oldSecret}, now.Now })
		b.wantSession(`"name":"Ada Lovelace"`)
		require.NotEqual(t, before, b.token(), "the token is not replaced")
		claimsOf(t, b.token(), now.Now) // with the new secret alone
	})
}

// TestStolenCookieEndsForGood: a session ends AbsoluteMaxAge after the sign-in,
// even if it is in use. So does a session that Auth.js began.
func TestStolenCookieEndsForGood(t *testing.T) {
	t.Parallel()
	limited := func(c *auth.Config) { c.Session.AbsoluteMaxAge = 90 * 24 * time.Hour }
	for name, configure := range map[string]func(c *auth.Config){
		"token": limited,
		"callback that changes auth_time": func(c *auth.Config) {
			limited(c)
			c.Callbacks.JWT = changingToken(func(p auth.JWTParams) { p.Token["auth_time"] = float64(1 << 40) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, now := tokenSite(t, configure)
			b := newBrowser(t, h)
			b.signIn()
			began := claimsOf(t, b.token(), now.Now)["auth_time"]
			thief := b.clone(h)
			for range 17 { // 85 days
				now.advance(5 * 24 * time.Hour)
				thief.wantSession(`"name":"Ada Lovelace"`)
				require.Equal(t, began, claimsOf(t, thief.token(), now.Now)["auth_time"])
			}
			thief.wantSession(`"expires":"2026-04-15T12:00:00.000Z"`)
			now.advance(5 * 24 * time.Hour)
			thief.wantNoSession()
			assert.Empty(t, thief.token(), "the cookie stays")
			b.signIn() // a new session
			b.wantSession(`"name":"Ada Lovelace"`)
		})
	}
	t.Run("token of Auth.js", func(t *testing.T) {
		t.Parallel()
		h, now := tokenSite(t, limited)
		token := must(jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": "Ada"}, Secrets: []string{secret}, Salt: sessionCookie, Now: now.Now}))(t)
		b := newBrowser(t, h)
		b.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: token}
		now.advance(time.Hour)
		b.wantSession(`"name":"Ada"`)
		got, _ := claimsOf(t, b.token(), now.Now).Time("auth_time")
		assert.Truef(t, got.Equal(now.Now().Add(-time.Hour)), "auth_time is %v, want the first iat", got)
		for range 17 {
			now.advance(5 * 24 * time.Hour)
			b.wantSession(`"name":"Ada"`)
		}
		now.advance(5 * 24 * time.Hour)
		b.wantNoSession()
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		s, box := newStore(), &outbox{}
		now := newClock()
		config := auth.Config{Clock: now.Now, Adapter: s, Providers: []auth.Provider{box.provider()}}
		before := newBrowser(t, newHandler(t, config))
		before.byMail(box, "bob@example.com")
		limited(&config)
		h := newHandler(t, config)
		b := newBrowser(t, h)
		b.byMail(box, "ada@example.com")
		before.h = h
		for range 5 {
			now.advance(5 * 24 * time.Hour)
			b.wantSession("ada@example.com")
			before.wantSession("bob@example.com")
		}
		now.advance(6 * 24 * time.Hour)
		b.wantSession("ada@example.com")
		before.wantNoSession() // its key does not say when it began, so it keeps its expiry
		for range 11 {
			now.advance(5 * 24 * time.Hour)
			b.wantSession("ada@example.com")
		}
		now.advance(5 * 24 * time.Hour)
		b.wantNoSession()
		assert.Empty(t, s.sessions)
	})
}

// TestRevokedSessionIsNobody: after a session was revoked, nobody is signed in,
// at each place that reads it. A hook that fails is an error, and does not mean
// that nobody is signed in.
func TestRevokedSessionIsNobody(t *testing.T) {
	t.Parallel()
	var revoked bool
	var down error
	h, _ := tokenSite(t, func(c *auth.Config) {
		c.Session.Revoked = func(_ context.Context, token auth.Claims) (bool, error) {
			assert.Equalf(t, "ada-1", token.String("sub"), "the hook is asked about %v", token)
			_, ok := token.Time("auth_time")
			assert.True(t, ok, "the hook is not told when the session began")
			return revoked, down
		}
	})
	b := newBrowser(t, h)
	b.signIn()
	b.wantSession(`"name":"Ada Lovelace"`)
	down = errors.New("down")
	kept := b.token()
	assert.Equal(t, http.StatusServiceUnavailable, b.get("/auth/session").StatusCode, "a hook that fails: status")
	assert.Equal(t, kept, b.token(), "the cookie is not kept")
	_, err := h.Session(b.request("/"))
	assert.ErrorIs(t, err, down, "a hook that fails")
	down, revoked = nil, true
	assert.Nil(t, must(h.Session(b.request("/")))(t), "revoked")
	session, err := h.SessionByToken(t.Context(), kept)
	assert.Truef(t, session == nil && errors.Is(err, auth.ErrNoSession), "revoked, by token: got %+v, %v", session, err)
	b.wantNoSession()
	assert.Empty(t, b.token(), "the cookie of a revoked session stays")
	revoked = false
	b.signIn()
	b.wantSession(`"name":"Ada Lovelace"`)
}

// TestFailingCallbackSignsNobodyOut: an error of a callback leaves the session as
// it is and is returned; only nil ends a session.
func TestFailingCallbackSignsNobodyOut(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, which := range []string{"JWT", "Session", "JWT that panics"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			fails := false
			h, _ := tokenSite(t, func(c *auth.Config) {
				c.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
					switch {
					case fails && which == "JWT":
						return nil, boom
					case fails && which == "JWT that panics":
						panic("boom")
					}
					return p.Token, nil
				}
				c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
					if fails && which == "Session" {
						return nil, boom
					}
					return p.Session, nil
				}
			})
			b := newBrowser(t, h)
			b.signIn()
			kept := b.token()
			fails = true
			for range 2 {
				r := b.get("/auth/session")
				assert.Truef(t, r.StatusCode == http.StatusServiceUnavailable && r.body != "null" && b.token() == kept,
					"status %d, %s, the cookie is kept: %v", r.StatusCode, r.body, b.token() == kept)
			}
			session, err := h.Session(b.request("/"))
			assert.Truef(t, session == nil && err != nil, "got %+v, %v", session, err)
			fails = false
			b.wantSession(`"name":"Ada Lovelace"`)
		})
	}
}

// TestReadingThatCannotWriteSaysSo: a callback that makes a permanent change
// can find out that its result would be lost.
func TestReadingThatCannotWriteSaysSo(t *testing.T) {
	t.Parallel()
	refreshes := 0
	h, _ := tokenSite(t, func(c *auth.Config) {
		c.Callbacks.JWT = changingToken(func(p auth.JWTParams) {
			if p.User == nil && !p.ReadOnly {
				refreshes++
				p.Token["refresh_token"] = refreshes
			}
		})
	})
	b := newBrowser(t, h)
	b.signIn()
	for range 3 {
		require.NotNil(t, must(h.Session(b.request("/")))(t))
	}
	must(h.SessionByToken(t.Context(), b.token()))(t)
	assert.Zero(t, refreshes, "refresh tokens that are lost")
	b.session()
	assert.Equal(t, 1, refreshes, "how often a reading that can write renewed")
}

// TestServerCodeHasTheIDOfAUser: server code gets the ID for every user that
// Callbacks.Session returned. The client sees the ID only if the callback sets
// it.
func TestServerCodeHasTheIDOfAUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		callback func(*auth.Session)
		want     string // empty: no user
		shown    bool
	}{
		"changes nothing":    {func(*auth.Session) {}, "ada-1", false},
		"adds a member":      {func(s *auth.Session) { s.Extra = map[string]any{"a": 1} }, "ada-1", false},
		"makes another user": {func(s *auth.Session) { s.User = &auth.User{Name: "x"} }, "ada-1", false},
		"hides the user":     {func(s *auth.Session) { s.User = nil }, "", false},
		"shows the ID":       {func(s *auth.Session) { s.User.ID = "ada-1" }, "ada-1", true},
		"shows another ID":   {func(s *auth.Session) { s.User.ID = "ada-1-public" }, "ada-1-public", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := tokenSite(t, func(config *auth.Config) {
				config.Callbacks.Session = changingSession(func(p auth.SessionParams) { c.callback(p.Session) })
			})
			b := newBrowser(t, h)
			b.signIn()
			session := must(h.Session(b.request("/")))(t)
			got := ""
			if session.User != nil {
				got = session.User.ID
			}
			assert.Equal(t, c.want, got, "server code gets the ID")
			assert.Equal(t, c.shown, strings.Contains(b.session(), "ada-1"), "the client is shown the ID")
		})
	}
}

// TestEncodeOrDecodeAlone: an application can replace one of the two functions.
func TestEncodeOrDecodeAlone(t *testing.T) {
	t.Parallel()
	encode := func(_ context.Context, p jwt.EncodeParams) (string, error) {
		p.Token["by"] = "encode"
		return jwt.Encode(p)
	}
	decode := func(_ context.Context, p jwt.DecodeParams) (auth.Claims, error) {
		claims, err := jwt.Decode(p)
		if claims != nil {
			claims["by"] = "decode"
		}
		return claims, err
	}
	for name, c := range map[string]auth.JWTConfig{"encode": {Encode: encode}, "decode": {Decode: decode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, now := tokenSite(t, func(config *auth.Config) {
				config.JWT = c
				config.Callbacks.Session = changingSession(func(p auth.SessionParams) {
					p.Session.Extra = map[string]any{"by": p.Token["by"]}
				})
			})
			b := newBrowser(t, h)
			b.signIn()
			b.wantSession(`"by":"` + name + `"`)
			first := b.token()
			now.advance(25 * time.Hour) // the token is replaced
			b.wantSession(`"by":"` + name + `"`)
			assert.NotEqual(t, first, b.token(), "the token was not replaced")
			b.wantSession(`"name":"Ada Lovelace"`)
			b.post("/auth/signout").wantLocation(t, origin)
			b.wantNoSession()
		})
	}
}

// TestEncodeThatReturnsNothing: a JWT.Encode without a result is an error, and
// signs nobody in or out.
func TestEncodeThatReturnsNothing(t *testing.T) {
	t.Parallel()
	broken := true
	book := &logBook{}
	h, now := tokenSite(t, func(config *auth.Config) {
		config.Logger = book.logger()
		config.JWT.Encode = func(_ context.Context, p jwt.EncodeParams) (string, error) {
			if broken {
				return "", nil
			}
			return jwt.Encode(p)
		}
	})
	b := newBrowser(t, h)
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, errorPage)
	b.wantNoSession()
	broken = false
	b.signIn()
	broken = true
	now.advance(25 * time.Hour)
	assert.Equal(t, http.StatusServiceUnavailable, b.get("/auth/session").StatusCode, "a token that can't be replaced")
	assert.NotEmpty(t, b.token())
	assert.Equalf(t, 2, strings.Count(book.String(), "JWT.Encode returned no token"), "errors in the log: %s", book)
}

// ownTokens are tokens of an application, to which change adds claims.
func ownTokens(change func(p jwt.EncodeParams)) auth.JWTConfig {
	return auth.JWTConfig{
		Encode: func(_ context.Context, p jwt.EncodeParams) (string, error) {
			change(p)
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
	}
}

// TestSessionEndsAtOneInstant: the session, its cookie and its token end at the
// earlier instant of Session.MaxAge and JWT.MaxAge, and the server refuses the
// token after that.
func TestSessionEndsAtOneInstant(t *testing.T) {
	t.Parallel()
	own := ownTokens(func(p jwt.EncodeParams) { p.Token["iat"] = p.Now().Unix() }) // without exp
	const end = 90 * time.Minute
	for name, c := range map[string]struct{ session, token, absolute time.Duration }{
		"session first":  {end, 30 * 24 * time.Hour, 0},
		"token first":    {30 * 24 * time.Hour, end, 0},
		"only session":   {end, 0, 0},
		"absolute first": {3 * time.Hour, 2 * time.Hour, end},
	} {
		for functions, tokens := range map[string]auth.JWTConfig{"ours": {}, "own": own} {
			h, now := tokenSite(t, func(config *auth.Config) {
				config.JWT = tokens
				config.Session.MaxAge, config.JWT.MaxAge, config.Session.AbsoluteMaxAge = c.session, c.token, c.absolute
			})
			b := newBrowser(t, h)
			now.advance(300 * time.Millisecond)
			check := func() {
				t.Helper()
				used := now.Now().Truncate(time.Second)
				want := used.Add(end)
				cookie := b.cookies[sessionCookie]
				assert.Truef(t, cookie.Expires.Equal(want), "%s: the cookie ends at %v, want %v", name, cookie.Expires, want)
				if session, err := h.Session(b.request("/")); err != nil || session == nil || !session.Expires.Equal(want) {
					t.Errorf("%s: server code sees %+v, %v, want the end %v", name, session, err, want)
				}
				b.wantSession(want.UTC().Format("2006-01-02T15:04:05.000Z"))
				if functions == "own" {
					return
				}
				exp, _ := claimsOf(t, b.token(), now.Now).Time("exp")
				assert.Truef(t, exp.Equal(want), "%s: the token ends at %v, want %v", name, exp, want)
			}
			b.signIn()
			check()
			if c.absolute == 0 {
				now.advance(80 * time.Minute)
				b.session() // in use, so it goes on
				check()
			}
			now.advance(end + 16*time.Second) // clocks may differ by 15 seconds
			assert.Nilf(t, must(h.Session(b.request("/")))(t), "%s, %s functions: after idleness", name, functions)
			b.wantNoSession()
		}
	}
}

// TestTokenOfAuthJSIsReadAsBefore: a token of Auth.js says itself when it ends.
func TestTokenOfAuthJSIsReadAsBefore(t *testing.T) {
	t.Parallel()
	h, now := tokenSite(t, func(c *auth.Config) { c.Session.MaxAge = time.Hour })
	token := must(jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": "Ada"}, Secrets: []string{secret}, Salt: sessionCookie, Now: now.Now}))(t)
	now.advance(2 * time.Hour)
	b := newBrowser(t, h)
	b.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: token}
	b.wantSession(`"name":"Ada"`)
	now.advance(61 * time.Minute) // it has been replaced by one of our tokens
	b.wantNoSession()
}

// TestClockOfTheBrowser: the session cookie says how long it lasts, and not only
// until when, so a browser whose clock is wrong keeps it.
func TestClockOfTheBrowser(t *testing.T) {
	t.Parallel()
	for _, strategy := range []auth.Strategy{auth.StrategyJWT, auth.StrategyDatabase} {
		s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Session.Strategy, c.Session.MaxAge = strategy, 30*time.Minute
		})
		b := newBrowser(t, s)
		for what, r := range map[string]*reply{"sign-in": s.signIn(b), "reading": b.get("/auth/session")} {
			for _, c := range r.Cookies() {
				assert.Falsef(t, strings.Contains(c.Name, "session-token") && (c.MaxAge != 1800 || !c.Expires.Equal(s.clock.Now().Add(30*time.Minute))),
					"%s, %s: Max-Age %d, Expires %s", strategy, what, c.MaxAge, c.Expires)
			}
		}
		b.post("/auth/signout")
		b.wantNoSession()
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
				JWT: changingToken(func(p auth.JWTParams) {
					if p.Trigger == auth.TriggerUpdate {
						during()
					}
				}),
			}})
			b, elsewhere := newBrowser(t, h), newBrowser(t, h)
			b.signIn()
			elsewhere.signIn()
			copied := b.clone(h)
			signOut := func() { copied.post("/auth/signout").wantLocation(t, origin) }
			late := b.clone(h) // a browser that gets the answers in the other order
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

// TestUpdateBringsNoEndedSessionBack: the owner signs out during an update of
// the same session. The token in the answer to the update is not valid.
func TestUpdateBringsNoEndedSessionBack(t *testing.T) {
	var during func()
	st := newStage(t, func(_ *stage, c *auth.Config) {
		c.Callbacks.Session = changingSession(func(p auth.SessionParams) {
			if p.Trigger == auth.TriggerUpdate && during != nil {
				during()
			}
		})
	})
	b := newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	other := b.clone(st)
	b.post("/auth/session", "data", "x")
	b.wantSession(`"name":"ada"`) // the legitimate update
	during = func() { other.post("/auth/signout").wantLocation(t, origin) }
	b.post("/auth/session", "data", "x")
	b.wantNoSession()
	assert.Empty(t, st.store.sessions, "sessions")
}

// TestTokensOfOneNameAreManySessions: an application makes its own tokens,
// which all have the same jti. A person who signs out can sign in again.
func TestTokensOfOneNameAreManySessions(t *testing.T) {
	h, _ := tokenSite(t, func(c *auth.Config) {
		c.JWT = ownTokens(func(p jwt.EncodeParams) { p.Token["jti"] = "of everybody" })
	})
	for range 2 {
		b := newBrowser(t, h)
		b.signIn()
		b.wantSession(`"name":"Ada Lovelace"`)
		b.post("/auth/signout").wantLocation(t, origin)
		b.wantNoSession()
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
			assert.Truef(t, c.want == (owner == "user-1") && owner != "user-2",
				"the account is linked to %q; the browser is sent to %s", owner, r.location())
		})
	}
}
