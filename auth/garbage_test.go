package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestPagesWithTokenAreNotStored: a page whose forms have the CSRF token of the
// browser must not be cached. Pages without the token may be cached.
func TestPagesWithTokenAreNotStored(t *testing.T) {
	t.Parallel()
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}})
	for path, want := range map[string]bool{
		"/auth/signin": true, "/auth/signin?error=CredentialsSignin": true, "/auth/signout": true,
		"/auth/error": false, "/auth/verify-request": false,
	} {
		r := newBrowser(t, h).get(path)
		if has := strings.Contains(r.body, `name="csrfToken"`); has != want {
			t.Errorf("%s: has a token: %v, want %v", path, has, want)
		}
		if got := strings.Contains(r.Header.Get("Cache-Control"), "no-store"); got != want {
			t.Errorf("%s: Cache-Control is %q", path, r.Header.Get("Cache-Control"))
		}
	}
}

// TestLongCallbackURLIsIgnored: a link to the site can't fill the cookies of a
// browser. URLs as long as those of legitimate pages are accepted.
func TestLongCallbackURLIsIgnored(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, prefix := range []string{"", origin} {
		for size, taken := range map[int]bool{1024: true, 1025: false, 3000: false} {
			page := "/page?" + strings.Repeat("a", size-len("/page?"))
			want := origin + "/before"
			if taken {
				want = origin + page
			}
			b := newBrowser(t, s)
			b.get("/auth/signin?callbackUrl=/before")
			r := b.get("/auth/signin?callbackUrl=" + url.QueryEscape(prefix+page))
			if !strings.Contains(r.body, `name="callbackUrl" value="`+want+`"`) {
				t.Errorf("%d bytes in the query: the page does not lead to %.80s", size, want)
			}
			b.post("/auth/signout", "callbackUrl", prefix+page).wantLocation(t, want)
			b.post("/auth/signout").wantLocation(t, want) // the URL in the cookie
			n := 0
			for _, c := range b.cookies {
				n += len(c.Name) + len(c.Value)
			}
			if n > 2000 {
				t.Errorf("%d bytes asked for: the cookies have %d bytes", size, n)
			}
		}
	}
	if log := s.log.String(); !strings.Contains(log, `level=WARN msg="auth: request failed"`) || strings.Contains(log, "level=ERROR") || strings.Contains(log, "aaaa") {
		t.Errorf("the log is %.1000s", log)
	}
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
				if log := s.log.String()[before:]; strings.Contains(log, "level=ERROR") {
					t.Errorf("checks %s: %s with %.80s raises an alarm: %s", name, who, path, log)
				}
			}
		}
	}
	book := &logBook{}
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://evil.example/auth/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp := auth.Auth(foreign, auth.Config{Secret: []string{secret}, Logger: book.logger()})
	defer resp.Body.Close()
	if log := book.String(); resp.StatusCode != http.StatusInternalServerError || !strings.Contains(log, "UntrustedHost") || strings.Contains(log, "level=ERROR") {
		t.Errorf("a host that is not trusted: status %d, log %s", resp.StatusCode, log)
	}
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
		if log := s.log.String(); !strings.Contains(log, "level=ERROR") {
			t.Errorf("%s, and nobody is told: %s", name, log)
		}
	}
	denied := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
			return auth.Deny(), &auth.Error{Type: auth.ErrAccessDenied, Message: "not invited"}
		}
	})
	denied.signIn(newBrowser(t, denied))
	if log := denied.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("a callback that decides against a sign-in raises an alarm: %s", log)
	}
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
				if got := strings.Contains(log, "level=ERROR"); got != c.alarm {
					t.Errorf("an alarm: %v, want %v:\n%s", got, c.alarm, log)
				}
				if !c.alarm && !strings.Contains(log, "level=WARN") {
					t.Errorf("nobody is told: %s", log)
				}
			})
		}
	}
}
