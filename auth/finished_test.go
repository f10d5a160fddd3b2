package auth_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wantTryAgain follows a redirect to the page about a sign-in that was not
// finished. The page says who is signed in, and nothing about the server.
func (b *browser) wantTryAgain(r *reply, code, person string) {
	b.t.Helper()
	r.wantLocation(b.t, origin+"/auth/error?error="+code)
	page := b.get(r.location())
	who := "You are signed in as " + person + "."
	if person == "" {
		who = "You are not signed in."
	}
	assert.Truef(b.t, !strings.Contains(page.body, "server") && strings.Contains(page.body, who) && strings.Contains(page.body, "try again"),
		"the page does not say %q:\n%s", who, page.body)
	assert.Contains(b.t, page.Header.Get("Cache-Control"), "no-store", "a cache may store the page")
}

// kindsOfSites differ in what they keep of a sign-in.
var kindsOfSites = map[string]func(c *auth.Config, o *auth.OAuth){
	"database": func(c *auth.Config, _ *auth.OAuth) { c.Session.Strategy = auth.StrategyDatabase },
	"tokens":   func(c *auth.Config, _ *auth.OAuth) { c.Session.Strategy = auth.StrategyJWT },
	"no store": func(c *auth.Config, _ *auth.OAuth) { c.Adapter = nil },
	"no state": func(_ *auth.Config, o *auth.OAuth) { o.Checks = []auth.Check{auth.CheckPKCE} },
}

// TestAnswerThatComesTwice: a browser delivers the answer of a provider once
// more. If it finished the sign-in and the same person is signed in, it goes
// where the sign-in led. Nobody else does, and the code is never used again.
func TestAnswerThatComesTwice(t *testing.T) {
	for name, change := range kindsOfSites {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) { change(c, o) })
			b := newBrowser(t, s)
			l := b.post("/auth/signin/idp", "callbackUrl", "/inbox").location()
			answer := s.idp.authorize(t, l)
			before := maps.Clone(b.cookies)
			b.get(callback(answer)).wantLocation(t, origin+"/inbox")
			used := s.idp.count("/token")

			b.get(callback(answer)).wantLocation(t, origin+"/inbox")
			s.clock.advance(20 * time.Minute)
			b.get(callback(answer)).wantLocation(t, origin+"/inbox")
			b.wantSession("ada@example.com")

			other := newBrowser(t, s) // has neither the checks nor a session
			other.wantTryAgain(other.get(callback(answer)), "InvalidCheck", "")
			aborted := newBrowser(t, s) // has not seen the first response
			aborted.cookies = before
			aborted.wantTryAgain(aborted.get(callback(answer)), "InvalidCheck", "")
			aborted.wantNoSession()

			thief := newBrowser(t, s) // is somebody else, and has the cookie of the first browser
			thief.get(callback(s.idp.authorize(t, s.start(thief, "/auth/signin/idp?login_hint=eve")))).wantLocation(t, origin)
			for n, c := range b.cookies {
				if strings.Contains(n, "finished") {
					thief.cookies[n] = c
				}
			}
			thief.wantTryAgain(thief.get(callback(answer)), "InvalidCheck", "eve@example.com")

			b.post("/auth/signout")
			b.wantTryAgain(b.get(callback(answer)), "InvalidCheck", "")
			assert.Equal(t, used+1, s.idp.count("/token"), "how often the token endpoint was asked")
		})
	}
}

// deliver sends one request n times at one instant with the cookies that the
// browser has now, and returns the responses.
func (b *browser) deliver(n int, send func(b *browser) *reply) []*reply {
	replies := make([]*reply, n)
	var group sync.WaitGroup
	for i := range replies {
		copied := b.clone(b.h)
		group.Go(func() { replies[i] = send(copied) })
	}
	group.Wait()
	return replies
}

// TestAnswersAtOneInstant: a browser delivers one answer several times before the
// first response has come. Whichever response it shows, the person is signed in
// once. Somebody else with the same answer gets nothing of it.
func TestAnswersAtOneInstant(t *testing.T) {
	for name, change := range kindsOfSites {
		synctestRun(t, name, func(t *testing.T) {
			now := newClock()
			s := newSiteWith(t, newBubbleIDP(t, now.Now), now, func(p *idp, c *auth.Config, o *auth.OAuth) {
				change(c, o)
				p.endpoints["/token"] = func(w http.ResponseWriter, r *http.Request) { // slow
					time.Sleep(time.Second)
					p.serveToken(w, r)
				}
			})
			b, eve := newBrowser(t, s), newBrowser(t, s)
			answer := callback(s.idp.authorize(t, b.post("/auth/signin/idp", "callbackUrl", "/inbox").location()))
			eve.csrf()
			var group sync.WaitGroup
			group.Go(func() {
				time.Sleep(time.Second / 2)
				eve.wantTryAgain(eve.get(answer), "InvalidCheck", "")
			})
			for _, r := range b.deliver(3, func(b *browser) *reply { return b.get(answer) }) {
				r.wantLocation(t, origin+"/inbox")
				got := newBrowser(t, s)
				got.keep(r.Cookies())
				got.wantSession("ada@example.com")
			}
			group.Wait()
			eve.wantNoSession()
			assert.Equal(t, 1, s.idp.count("/token"), "how often the token endpoint was asked")
			assert.LessOrEqual(t, len(s.store.sessions), 1, "sessions that are stored")
		})
	}
}

// TestLinksAtOneInstant: the same with a mail link, and where the first delivery
// fails or takes too long.
func TestLinksAtOneInstant(t *testing.T) {
	for name, c := range map[string]struct {
		takes         time.Duration
		denies        bool
		first, second string
	}{
		"works":  {time.Second, false, origin + "/inbox", origin + "/inbox"},
		"denied": {time.Second, true, origin + "/auth/error?error=AccessDenied", origin + "/auth/error?error=AccessDenied"},
		"slow":   {20 * time.Second, false, origin + "/inbox", origin + "/auth/error?error=Verification"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			asked := 0
			h, _, box := mailSite(t, func(config *auth.Config) {
				config.Callbacks.SignIn = func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
					if p.VerificationRequest {
						return auth.Allow(), nil
					}
					asked++
					time.Sleep(c.takes)
					if c.denies {
						return auth.Deny(), nil
					}
					return auth.Allow(), nil
				}
			})
			b := newBrowser(t, h)
			b.post("/auth/signin/email", "email", "ada@example.com", "callbackUrl", "/inbox")
			link := box.last(t)
			var got []string
			for _, r := range b.deliver(2, func(b *browser) *reply { return b.get(link) }) {
				got = append(got, r.location())
			}
			assert.ElementsMatch(t, []string{c.first, c.second}, got)
			assert.Equal(t, 1, asked, "how often the callback was called")
		})
	}
}

// TestFinishedCookieIsSealed: what a browser finished can't be made up, and what
// it finished as somebody else does not count.
func TestFinishedCookieIsSealed(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
	b.get(callback(answer)).wantLocation(t, origin)
	kept := b.cookies["__Host-authjs.finished"]
	require.Truef(t, kept != nil && kept.Secure && kept.HttpOnly && kept.Path == "/" && kept.Domain == "",
		"got %v, want a cookie that no other host can set", kept)
	changed := *kept
	changed.Value = strings.Repeat("A", 40)
	b.cookies[kept.Name] = &changed
	b.wantTryAgain(b.get(callback(answer)), "InvalidCheck", "ada@example.com")
	s.clock.advance(25 * time.Hour)
	b.cookies[kept.Name] = kept
	b.wantTryAgain(b.get(callback(answer)), "InvalidCheck", "ada@example.com")
}

// TestLinkThatIsOpenedTwice: the same with a mail link.
func TestLinkThatIsOpenedTwice(t *testing.T) {
	h, _, box := mailSite(t, nil)
	b := newBrowser(t, h)
	b.post("/auth/signin/email", "email", "ada@example.com", "callbackUrl", "/inbox")
	link := box.last(t)
	b.get(link).wantLocation(t, origin+"/inbox")
	b.get(link).wantLocation(t, origin+"/inbox")

	other := newBrowser(t, h)
	other.wantTryAgain(other.open(link), "Verification", "")
	b.post("/auth/signout")
	b.wantTryAgain(b.open(link), "Verification", "")
	eve := newBrowser(t, h)
	eve.byMail(box, "eve@example.com")
	eve.wantTryAgain(eve.open(link), "Verification", "eve@example.com")

	// On another device, the page asks before the link is used up, and not again.
	b.post("/auth/signin/email", "email", "ada@example.com", "callbackUrl", "/inbox")
	link = box.last(t)
	phone := newBrowser(t, h)
	phone.press(phone.get(link), "Sign in").wantLocation(t, origin+"/inbox")
	phone.get(link).wantLocation(t, origin+"/inbox")
}

// TestAnswersThatComeLate: what comes after a sign-in's time, without its
// cookies or with another state is no fault of the server.
func TestAnswersThatComeLate(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		ruin func(s *site, b *browser, answer url.Values)
	}{
		"after 20 minutes": {"InvalidCheck", func(s *site, _ *browser, _ url.Values) { s.clock.advance(20 * time.Minute) }},
		"without cookies":  {"InvalidCheck", func(_ *site, b *browser, _ url.Values) { clear(b.cookies) }},
		"without a state":  {"CallbackRouteError", func(_ *site, _ *browser, a url.Values) { a.Del("state") }},
		"without a code":   {"CallbackRouteError", func(_ *site, _ *browser, a url.Values) { a.Del("code") }},
		"refused code":     {"CallbackRouteError", func(_ *site, _ *browser, a url.Values) { a.Set("code", "x") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			c.ruin(s, b, answer)
			b.wantTryAgain(b.get(callback(answer)), c.code, "")
			b.wantNoSession()
			assert.NotContainsf(t, s.log.String(), "level=ERROR", "an error is logged:\n%s", s.log)
		})
	}
	s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.ClientSecret += "x" }) // the operator's mistake stays the operator's
	b := newBrowser(t, s)
	s.signIn(b).wantLocation(t, errorPage)
	assert.Containsf(t, s.log.String(), "level=ERROR", "no error is logged:\n%s", s.log)
}

// TestStrangersWriteNoError: no request of a stranger is logged as an error
// while the site is sound.
func TestStrangersWriteNoError(t *testing.T) {
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Providers = append(c.Providers, (&outbox{}).provider(), &auth.Credentials{
			UsesAdapterIDs: true,
			Authorize:      func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return nil, nil },
		})
	})
	odd := []string{"", "%00", "x", strings.Repeat("x", 5000), "a@", "a@b", "a b@example.com", "\xff", "a@example.com\r\nBcc: b@example.com"}
	for _, text := range odd {
		b := newBrowser(t, s)
		q := url.QueryEscape(text)
		for _, target := range []string{
			"/auth/callback/idp?code=" + q + "&state=" + q, "/auth/callback/idp?error=" + q, "/auth/callback/email?token=" + q + "&email=" + q,
			"/auth/callback/credentials", "/auth/callback/nobody", "/auth/signin/nobody", "/auth/signin/idp", "/auth/webauthn-options/idp?email=" + q,
			"/auth/error?error=" + q, "/auth/signin?callbackUrl=" + q, "/auth/verify-request?provider=" + q, "/auth/nothing",
		} {
			assert.NotContainsf(t, b.get(target).location(), "error=Configuration",
				"%.80s: the browser is told of a configuration", target)
		}
		b.post("/auth/signin/email", "email", text, "callbackUrl", text)
		b.post("/auth/callback/credentials", "username", text, "password", text)
		b.post("/auth/callback/email", "token", text, "email", text)
		b.submit("/auth/callback/credentials", "username", text)
		b.cookies["__Secure-authjs.session-token"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: url.PathEscape(text) + "x", Path: "/", Secure: true}
		b.get("/auth/session")
		b.post("/auth/session", "data", text)
		b.post("/auth/signout")
	}
	for line := range strings.Lines(s.log.String()) {
		assert.NotContainsf(t, line, "level=ERROR", "a stranger writes: %.300s", line)
	}
}

// TestRefusalsThatStrangersCause: a stranger whose provider is sound is refused in
// every way that depends on the stranger alone. None writes an error, and none is
// told of a configuration.
func TestRefusalsThatStrangersCause(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(p *idp, o *auth.OAuth)
		fields []string
	}{
		"foreign tenant":        {claim("iss", "https://idp.example.com/tenant-2"), nil},
		"issuer of another":     {claim("iss", "https://evil.example"), nil},
		"no way to tell who":    {claim("sub", "\u200b"), nil},
		"damaged id":            {claim("sub", "a\ufffdb"), nil},
		"old authentication":    {authenticatedBefore(24 * time.Hour), nil},
		"another nonce":         {claim("nonce", "x"), nil},
		"code of another":       {at("/token", body(400, "application/json", `{"error":"invalid_grant"}`)), nil},
		"code refused with 401": {at("/token", body(401, "application/json", `{"error":"invalid_grant"}`)), nil},
		"code that breaks it":   {at("/token", body(500, "text/html", "oops")), nil},
		"long page":             {func(*idp, *auth.OAuth) {}, []string{"callbackUrl", "/" + strings.Repeat("x", 30000)}},
		"no address":            {claim("email", "\x00@"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) { c.set(p, o) })
			b := newBrowser(t, s)
			r := b.post("/auth/signin/idp", c.fields...)
			if strings.HasPrefix(r.location(), s.idp.URL) {
				r = b.get(callback(s.idp.authorize(t, r.location())))
			}
			assert.NotContains(t, r.location(), "Configuration", "the browser is sent to")
			assert.NotContainsf(t, s.log.String(), "level=ERROR", "a stranger writes an error:\n%s", s.log)
		})
	}
}

// TestTypedAddressIsNotTold: the answer to an address is the same for one that
// is not accepted and one that the mail server refuses.
func TestTypedAddressIsNotTold(t *testing.T) {
	box := &outbox{}
	p := box.provider()
	send := p.SendVerificationRequest
	p.SendVerificationRequest = func(ctx context.Context, v auth.VerificationRequest) error {
		if v.Identifier == "nobody@example.com" {
			return errors.New("550 no such mailbox")
		}
		return send(ctx, v)
	}
	h := newHandler(t, auth.Config{Adapter: newCapable(), Providers: []auth.Provider{p}})
	for _, typed := range []string{"ada@", "nobody@example.com"} {
		b := newBrowser(t, h)
		r := b.post("/auth/signin/email", "email", typed)
		r.wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
		assert.Contains(t, b.get(r.location()).body, "Check the address, and try again.", "the page")
	}
	newBrowser(t, h).post("/auth/signin/email", "email", "ada@example.com").wantLocation(t, origin+"/auth/verify-request?provider=email&type=email")
}

// TestFormOfAnOldPage: a form that the browser does not vouch for leads to the
// sign-in page, which says who is signed in.
func TestFormOfAnOldPage(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	s.signIn(b)
	r := b.submit("/auth/signin/idp")
	r.wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
	page := b.get(r.location())
	assert.Truef(t, strings.Contains(page.body, "Please try again. You are signed in as ada@example.com.") &&
		strings.Contains(page.Header.Get("Cache-Control"), "no-store"),
		"the page is %v\n%s", page.Header, page.body)
}

// TestProviderThatIsDown: whichever request to the provider gets no response, or
// one that says it failed, the person is told that the provider can't be reached,
// and to try again. What an operator can change stays a configuration.
func TestProviderThatIsDown(t *testing.T) {
	fail := func(status int) http.HandlerFunc { return body(status, "text/plain", "no") }
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	boom := func(path string) error {
		return &url.Error{Op: "Post", URL: path, Err: &net.OpError{Op: "dial", Err: errors.New("no route")}}
	}
	for name, c := range map[string]struct {
		set      func(p *idp, o *auth.OAuth)
		location string
		level    string
	}{
		"discovery":       {at("/.well-known/openid-configuration", fail(503)), signInPage + "ProviderUnavailable", "ERROR"},
		"discovery hangs": {at("/.well-known/openid-configuration", hangUp), signInPage + "ProviderUnavailable", "ERROR"},
		"token endpoint":  {at("/token", fail(502)), downPage, "WARN"},
		"too many":        {at("/token", fail(429)), downPage, "WARN"},
		"busy":            {at("/token", body(400, "application/json", `{"error":"temporarily_unavailable"}`)), downPage, "WARN"},
		"token hangs up":  {at("/token", hangUp), downPage, "ERROR"},
		"keys":            {at("/jwks", fail(500)), downPage, "ERROR"},
		"userinfo":        {userInfoOnly(at("/userinfo", fail(504))), downPage, "ERROR"},
		"userinfo hook": {func(_ *idp, o *auth.OAuth) {
			o.UserInfoOnly, o.UserInfo.Request = true, func(context.Context, auth.UserInfoRequest) (auth.Profile, error) { return nil, boom("/userinfo") }
		}, downPage, "ERROR"},
		"token hook": {func(_ *idp, o *auth.OAuth) {
			o.Token.Request = func(context.Context, auth.TokenRequest) (*auth.TokenSet, error) { return nil, boom("/token") }
		}, downPage, "ERROR"},
		"no discovery":     {at("/.well-known/openid-configuration", fail(404)), signInPage + "Configuration", "ERROR"},
		"no keys":          {at("/jwks", fail(404)), errorPage, "ERROR"},
		"unknown client":   {at("/token", body(401, "application/json", `{"error":"invalid_client"}`)), errorPage, "ERROR"},
		"metadata at home": {metadata("token_endpoint", "http://127.0.0.1:1/"), signInPage + "Configuration", "ERROR"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			now := newClock()
			s := newSiteWith(t, newBubbleIDP(t, now.Now), now, func(p *idp, _ *auth.Config, o *auth.OAuth) { c.set(p, o) })
			b := newBrowser(t, s)
			r := b.post("/auth/signin/idp")
			if strings.HasPrefix(r.location(), s.idp.URL) {
				r = b.get(callback(s.idp.authorize(t, r.location())))
			}
			r.wantLocation(t, c.location)
			page := b.get(r.location())
			if strings.Contains(c.location, "Unavailable") {
				assert.Truef(t, strings.Contains(page.body, "can’t be reached at the moment") &&
					strings.Contains(strings.ToLower(page.body), "please try again") && !strings.Contains(page.body, "server"),
					"the page is\n%s", page.body)
				assert.Equal(t, map[bool]int{true: 503, false: 200}[c.location == downPage], page.StatusCode, "the page has status")
			}
			assert.Falsef(t, !strings.Contains(s.log.String(), "level="+c.level) || c.level == "WARN" && strings.Contains(s.log.String(), "level=ERROR"),
				"the level is not %s:\n%s", c.level, s.log)
			b.wantNoSession()
		})
	}
}

// TestStoreThatIsDown: every route that needs the store answers with status 503
// in the look of the site while the store is down.
func TestStoreThatIsDown(t *testing.T) {
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Providers = append(c.Providers, (&outbox{}).provider())
		c.Theme.BrandColor = "#123456"
	})
	b := newBrowser(t, s)
	s.signIn(b)
	answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
	s.store.before = func(string, ...any) error { return errors.New("connection refused") }
	guarded := s.Require(http.NotFoundHandler())
	for name, r := range map[string]*reply{
		"sign-in by mail": b.post("/auth/signin/email", "email", "ada@example.com"),
		"mail link":       b.post("/auth/callback/email", "email", "ada@example.com", "token", strings.Repeat("a", 64)),
		"begin":           b.post("/auth/signin/idp"),
		"answer":          b.get(callback(answer)),
		"guard": func() *reply {
			page := newBrowser(t, guarded)
			page.cookies = b.cookies
			return page.get("/private")
		}(),
	} {
		assert.Truef(t, r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "" && strings.Contains(r.body, "#123456") &&
			strings.Contains(r.body, "<h1>Not available</h1>") && !strings.Contains(r.body, "configuration") && strings.Contains(r.Header.Get("Cache-Control"), "no-store"),
			"%s: got %d %v\n%.200s", name, r.StatusCode, r.Header, r.body)
	}
	r := b.do(http.MethodPost, "/auth/signin/email", strings.NewReader(url.Values{"email": {"ada@example.com"}, "csrfToken": {b.csrf()}}.Encode()),
		http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Auth-Return-Redirect": {"1"}})
	assert.Truef(t, r.StatusCode == http.StatusServiceUnavailable && r.body == `{"url":"`+origin+`/auth/error?error=AdapterError"}`,
		"a script gets %d %s", r.StatusCode, r.body)
}
