package auth_test

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoSecretLeaks runs flows that succeed, and flows that fail in every way
// that a test can cause. It looks for secrets in places where they must not be:
// in the log at its most detailed level, in errors, and in the URLs that
// browsers are sent to.
func TestNoSecretLeaks(t *testing.T) {
	canaries := map[string]string{
		"secret": "canary-secret-0123456789abcdefghij", "earlier secret": "canary-secret-earlier-abcdefghij12",
		"password": "canary-password", "mail token": "canary-mail-token", "api key": "canary-api-key",
		"client secret": "canary-client-secret", "mail server": "canary-smtp-password", "session token": "canary-session-token",
	}
	var book logBook
	var urls []string
	visit := func(b *browser, r *reply) *reply {
		urls = append(urls, r.location())
		for _, c := range r.Cookies() {
			if c.Value != "" && !strings.Contains(c.Name, "callback-url") {
				value, _ := url.PathUnescape(c.Value)
				canaries[fmt.Sprintf("cookie %s %d", c.Name, len(canaries))] = value
				if token, hash, ok := strings.Cut(value, "|"); ok {
					canaries["csrf token "+token] = token
					canaries["csrf hash "+token] = hash
				}
			}
		}
		return r
	}
	clock := newClock()
	fail := map[string]bool{}
	s, box := newStore(), &outbox{}
	s.before = func(method string, _ ...any) error {
		if fail[method] {
			return errors.New("connection reset")
		}
		return nil
	}
	email := box.provider()
	email.APIKey = canaries["api key"]
	tokens := 0
	email.GenerateVerificationToken = func(context.Context) (string, error) {
		tokens++
		return fmt.Sprintf("%s-long-enough-not-to-be-guessed-%d", canaries["mail token"], tokens), nil
	}
	box.send = func(context.Context, auth.VerificationRequest) error {
		if fail["mail"] {
			return errors.New("mail server is down")
		}
		return nil
	}
	handlers := map[auth.Strategy]*auth.Handler{}
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		providers := []auth.Provider{
			email,
			&auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "id", ClientSecret: canaries["client secret"]},
			&auth.Email{ID: "smtp", Server: "smtp://user:" + canaries["mail server"] + "@127.0.0.1:1", From: "a@example.com"},
		}
		if strategy == auth.StrategyJWT {
			providers = append(providers, password())
		}
		handlers[strategy] = newHandler(t, auth.Config{
			Secret: []string{canaries["secret"], canaries["earlier secret"]}, Adapter: s, Providers: providers, Clock: clock.Now,
			Session: auth.SessionConfig{Strategy: strategy, GenerateSessionToken: func(context.Context) (string, error) {
				return fmt.Sprintf("%s-%d", canaries["session token"], len(s.sessions)), nil
			}},
			Debug: true, Logger: book.logger(),
			Events: auth.Events{
				SignIn:  func(context.Context, auth.SignInEvent) error { return errors.New("audit log is full") },
				SignOut: func(context.Context, auth.SignOutEvent) error { panic("audit log is full") },
			},
		})
	}
	var failures []error
	for _, h := range handlers {
		for _, broken := range []string{"", "getUserByEmail", "createVerificationToken", "mail", "useVerificationToken", "createUser", "updateUser", "createSession", "getSessionAndUser", "deleteSession", "getUser"} {
			b := newBrowser(t, h)
			visit(b, b.get("/auth/csrf"))
			token := b.csrf()
			visit(b, b.submit("/auth/signin/email", "csrfToken", token, "email", fmt.Sprintf("u%d@example.com", tokens)))
			link := box.last(t)
			require.Contains(t, link, canaries["mail token"], "the canary is not in the link")
			fail[broken] = true
			visit(b, b.submit("/auth/signin/email", "csrfToken", token, "email", "ada@example.com"))
			visit(b, b.submit("/auth/signin/smtp", "csrfToken", token, "email", "ada@example.com"))
			visit(b, b.submit("/auth/signin/email", "csrfToken", "wrong", "email", "ada@example.com"))
			visit(b, b.get(strings.Replace(link, "token=", "token=x", 1)))
			visit(b, b.get(link))
			visit(b, b.get(link))
			visit(b, b.get("/auth/session"))
			visit(b, b.submit("/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", canaries["password"]))
			visit(b, b.submit("/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "lovelace"))
			visit(b, b.submit("/auth/session", "csrfToken", token, "data", "x"))
			r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil))(t)
			b.addCookies(r)
			_, err := h.Session(r)
			failures = append(failures, err)
			r.Method = http.MethodPost
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			_, err = h.SignIn(r, "email", auth.SignInOptions{Form: url.Values{"email": {"ada@example.com"}}})
			failures = append(failures, err)
			_, err = h.SignIn(r, "credentials", auth.SignInOptions{Form: url.Values{"password": {canaries["password"]}}})
			failures = append(failures, err)
			visit(b, b.submit("/auth/signout", "csrfToken", token))
			for name, c := range b.cookies { // the cookies that a browser sends must not leak either
				b.cookies[name] = &http.Cookie{Name: c.Name, Value: c.Value + "~"}
			}
			visit(b, b.get("/auth/session"))
			visit(b, b.get("/auth/callback/idp?code=canary-code&state=canary-state"))
			delete(fail, broken)
		}
		clock.advance(time.Hour)
	}
	for _, v := range box.mails { // types that hold secrets don't show them in logs
		book.logger().Info("values", "request", v, "provider", v.Provider, "form", auth.Form{"password": canaries["password"]},
			"account", auth.Account{TokenSet: auth.TokenSet{AccessToken: canaries["password"]}},
			"oauth", auth.OAuth{ClientSecret: canaries["client secret"]}, "config", auth.Config{Secret: []string{canaries["secret"]}},
			slog.Any("tokens", auth.TokenSet{RefreshToken: canaries["password"]}))
	}
	canaries["code"], canaries["state"] = "canary-code", "canary-state"
	log := book.String()
	assert.Truef(t, strings.Count(log, "level=ERROR") >= 50,
		"only %d errors were logged, so this test shows little", strings.Count(log, "level=ERROR"))
	for _, err := range failures {
		log += fmt.Sprintf("%v %+v\n", err, err)
	}
	log += strings.Join(urls, "\n")
	for name, canary := range canaries {
		require.Truef(t, len(canary) >= 8, "%s is no canary: %q", name, canary)
		if i := strings.Index(log, canary); i >= 0 {
			t.Errorf("%s leaks: …%s…", name, log[max(0, i-120):min(len(log), i+len(canary)+20)])
		}
	}
}

// TestNoSecretLeaksByOAuth does the same for sign-ins with a provider: those
// that succeed, with each kind of client authentication, and those in which the
// application or the store fails. The attacks of a provider are in
// TestHostileProvider, which looks for the same secrets.
func TestNoSecretLeaksByOAuth(t *testing.T) {
	boom := errors.New("connection reset")
	nothing := func(*idp, *auth.Config, *auth.OAuth) {}
	flows := map[string]func(p *idp, c *auth.Config, o *auth.OAuth){
		"succeeds": nothing,
		"plain":    func(p *idp, _ *auth.Config, o *auth.OAuth) { plain(nil)(p, o) },
		"userinfo": userInfoConfig,
		"form post": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Authorization.Params = url.Values{"response_mode": {"form_post"}}
		},
		"secret in the form": func(p *idp, _ *auth.Config, o *auth.OAuth) {
			p.clientAuth, o.Client.TokenEndpointAuthMethod = auth.ClientSecretPost, auth.ClientSecretPost
		},
		"assertion by secret": func(p *idp, _ *auth.Config, o *auth.OAuth) {
			p.clientAuth, o.Client.TokenEndpointAuthMethod = auth.ClientSecretJWT, auth.ClientSecretJWT
		},
		"assertion by key": func(p *idp, _ *auth.Config, o *auth.OAuth) {
			p.clientAuth, o.Client.TokenEndpointAuthMethod = auth.PrivateKeyJWT, auth.PrivateKeyJWT
			p.clientKey, o.Client.PrivateKey = ecKey().Public(), ecKey()
		},
		"assertion by key without one": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Client.TokenEndpointAuthMethod, o.Client.PrivateKey = auth.PrivateKeyJWT, badSigner{ecKey()}
		},
		"without a store": func(_ *idp, c *auth.Config, _ *auth.OAuth) { c.Adapter = nil },
		"denied": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) { return auth.Deny(), nil }
		},
		"decision fails": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) { return auth.Deny(), boom }
		},
		"profile fails": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Profile = func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error) { return nil, boom }
		},
		"profile panics": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Profile = func(_ context.Context, p auth.Profile, _ auth.TokenSet) (*auth.User, error) {
				return &auth.User{ID: p["nothing"].(string)}, nil
			}
		},
		"token request fails": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Token.Request = func(context.Context, auth.TokenRequest) (*auth.TokenSet, error) { return nil, boom }
		},
		"userinfo request fails": func(p *idp, _ *auth.Config, o *auth.OAuth) {
			plain(nil)(p, o)
			o.UserInfo.Request = func(context.Context, auth.UserInfoRequest) (auth.Profile, error) { return nil, boom }
		},
		"authorization request changes what it must not": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Authorization.Request = func(_ context.Context, u *url.URL) (*url.URL, error) {
				q := u.Query()
				q.Set("state", q.Get("state")+"x")
				u.RawQuery = q.Encode()
				return u, nil
			}
		},
		"token callback fails": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Session.Strategy = auth.StrategyJWT
			c.Callbacks.JWT = func(context.Context, auth.JWTParams) (auth.Claims, error) { return nil, boom }
		},
		"events fail": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Events.SignIn = func(_ context.Context, e auth.SignInEvent) error { return fmt.Errorf("%w: %v", boom, e.User.ID) }
			c.Events.LinkAccount = func(context.Context, auth.LinkAccountEvent) error { panic("full") }
		},
	}
	for _, method := range []string{"getUserByAccount", "getUserByEmail", "createUser", "linkAccount", "createSession"} {
		flows[method+" fails"] = func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Adapter.(*store).before = failingAt(method, boom)
		}
	}
	for name, set := range flows {
		synctestRun(t, name, func(t *testing.T) {
			now := newClock()
			s := newSiteWith(t, newBubbleIDP(t, now.Now), now, set)
			b := newBrowser(t, s)
			var shown []string
			start := b.post("/auth/signin/idp").location()
			if strings.HasPrefix(start, s.idp.URL) {
				answer := s.idp.authorize(t, start)
				for range 2 { // the second time it is a replay
					end := b.get(callback(answer))
					if strings.Contains(start, "form_post") {
						end = b.submit("/auth/callback/idp", "code", answer.Get("code"), "state", answer.Get("state"))
						if end.StatusCode == http.StatusOK { // the hop page, which posts the answer again
							end = b.press(end, "Continue")
						}
					}
					shown = append(shown, end.location(), end.body)
				}
				answer.Set("error", "access_denied")
				shown = append(shown, b.get(callback(answer)).location())
			} else {
				shown = append(shown, start)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil)
			if result, err := s.SignIn(r, "idp", auth.SignInOptions{}); err != nil {
				shown = append(shown, fmt.Sprintf("%v %+v %#v", err, err, err))
			} else if u, err := url.Parse(result.Location); err == nil {
				s.idp.keep(u.Query().Get("state"), u.Query().Get("nonce"))
			}
			assert.GreaterOrEqual(t, len(s.cookies)+len(s.idp.secrets), 3, "canaries")
			failed := name != "succeeds" && strings.Contains(name, "fail")
			assert.Falsef(t, failed && !strings.Contains(s.log.String(), "auth: request failed"), "nothing failed: %s", s.log)
			s.wantNoLeaks(t, shown...)
		})
	}
}

// badSigner is a key that fails to sign.
type badSigner struct{ crypto.Signer }

func (badSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("the key store is closed")
}

// TestAnonymousGarbageIsAWarning: a client that forges answers of a provider,
// or sends another host name, is logged as a warning. A provider that fails,
// that refuses the client or that can't be reached is logged as an error; so is
// a callback that fails.
func TestAnonymousGarbageIsAWarning(t *testing.T) {
	t.Parallel()
	checks := map[string][]auth.Check{
		"default": nil, "state": {auth.CheckState}, "pkce": {auth.CheckPKCE}, "nonce": {auth.CheckNonce}, "all": {auth.CheckPKCE, auth.CheckState, auth.CheckNonce},
	}
	paths := []string{
		"/auth/callback/idp", "/auth/callback/idp?code=x", "/auth/callback/idp?code=x&state=y", "/auth/callback/idp?code=x&code=y&state=z",
		"/auth/callback/idp?state=y", "/auth/callback/idp?state=a.b.c.d.e&code=x", "/auth/callback/idp?response=x", "/auth/callback/idp?id_token=x&code=y",
		"/auth/callback/idp?error=access_denied", "/auth/callback/idp?iss=https://evil.example&code=x", "/auth/callback", "/auth/callback/nobody?code=x",
		"/auth/signin/nobody", "/auth/signin/idp", "/auth/webauthn-options/idp", "/auth/callback/credentials", "/auth/error/x", "/auth/nothing",
		"/auth/signin?callbackUrl=javascript:1", "/auth/signin?" + strings.Repeat("a", 70000),
	}
	for name, list := range checks {
		s := newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) {
			o.Checks = list
			c.Session.Strategy = auth.StrategyJWT
			c.Providers = append(c.Providers, password())
		})
		begun := newBrowser(t, s)
		s.start(begun, "/auth/signin/idp")
		planted := newBrowser(t, s)
		s.start(planted, "/auth/signin/idp")
		for _, c := range planted.cookies {
			if strings.Contains(c.Name, "state") || strings.Contains(c.Name, "pkce") || strings.Contains(c.Name, "nonce") {
				c.Value = "x" + c.Value
			}
		}
		for _, path := range paths {
			for who, b := range map[string]*browser{"a stranger": newBrowser(t, s), "somebody with forged cookies": planted, "somebody who began": begun} {
				before := len(s.log.String())
				b.get(path)
				assert.NotContainsf(t, s.log.String()[before:], "level=ERROR",
					"checks %s: %s with %.80s raises an alarm", name, who, path)
			}
		}
	}
	book := &logBook{}
	foreign := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://evil.example/auth/session", nil))(t)
	resp := auth.Auth(foreign, auth.Config{Secret: []string{secret}, Logger: book.logger()})
	defer resp.Body.Close()
	assert.Equal(t, http.StatusInternalServerError, resp.StatusCode, "a host that is not trusted: status")
	assert.Contains(t, book.String(), "UntrustedHost")
	assert.NotContains(t, book.String(), "level=ERROR")
	failing := map[string]func(p *idp, c *auth.Config, o *auth.OAuth){
		"a token request that fails": func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Token.Request = func(context.Context, auth.TokenRequest) (*auth.TokenSet, error) {
				return nil, fmt.Errorf("connection reset")
			}
		},
		"a client secret that the provider refuses": func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.ClientSecret = "wrong" },
		"a callback that fails": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
				return auth.Deny(), fmt.Errorf("connection reset")
			}
		},
		"a callback that panics": func(_ *idp, c *auth.Config, _ *auth.OAuth) {
			c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) { panic("oops") }
		},
	}
	for name, configure := range failing {
		s := newSite(t, configure)
		s.signIn(newBrowser(t, s))
		assert.Containsf(t, s.log.String(), "level=ERROR", "%s, and nobody is told", name)
	}
	denied := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
			return auth.Deny(), &auth.Error{Type: auth.ErrAccessDenied, Message: "not invited"}
		}
	})
	denied.signIn(newBrowser(t, denied))
	assert.NotContains(t, denied.log.String(), "level=ERROR", "a callback that decides against a sign-in raises an alarm")
}

// TestClientThatLeavesIsAWarning: a request that its client has cancelled is
// logged as a warning. A store that fails is logged as an error, whether or not
// the client waits.
func TestClientThatLeavesIsAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leaves bool
		err    error // of the store
		alarm  bool
	}{
		"leaves":                              {true, fmt.Errorf("get session and user: %w", context.Canceled), false},
		"leaves, and the store is down":       {true, errors.New("connection refused"), true},
		"waits, and the store cancels":        {false, fmt.Errorf("get session and user: %w", context.Canceled), true},
		"waits, and the store takes too long": {false, context.DeadlineExceeded, true},
	} {
		for door, path := range map[string]string{"a route": "/auth/session", "server code": "/"} {
			t.Run(name+", "+door, func(t *testing.T) {
				t.Parallel()
				book := &logBook{}
				h, s, _ := storedSite(t, auth.Config{Logger: book.logger()})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				s.before = func(method string, _ ...any) error {
					if method != "getSessionAndUser" {
						return nil
					}
					if c.leaves {
						leave()
					}
					return c.err
				}
				r := pageRequest(http.MethodGet, origin+path, "token").WithContext(ctx)
				if path == "/auth/session" {
					h.ServeHTTP(httptest.NewRecorder(), r)
				} else if _, err := h.Session(r); !errors.Is(err, c.err) {
					t.Errorf("got %v", err)
				}
				log := book.String()
				assert.Equalf(t, c.alarm, strings.Contains(log, "level=ERROR"), "an alarm:\n%s", log)
				assert.Truef(t, c.alarm || strings.Contains(log, "level=WARN"), "nobody is told: %s", log)
			})
		}
	}
}
