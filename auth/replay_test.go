package auth_test

import (
	"context"
	"fmt"
	"html"
	"maps"
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

// refused checks that a sign-in ended on the error page, for a reason.
func (s *site) refused(t testing.TB, r *reply, reason string) {
	t.Helper()
	l := r.location()
	assert.Truef(t, l == lateAnswer || l == strangeAnswer || l == errorPage, "location: got %q, want the error page", l)
	assert.Containsf(t, s.log.String(), reason, "the log has not %q", reason)
	s.wantNoLeaks(t, r.location())
}

func callback(v url.Values) string { return "/auth/callback/idp?" + v.Encode() }

// TestAnswerWorksOnce: an answer works once, and only in the browser and for the
// provider that it is meant for.
func TestAnswerWorksOnce(t *testing.T) {
	checks := map[string][]auth.Check{
		"state and all": {auth.CheckState, auth.CheckPKCE, auth.CheckNonce}, "pkce alone": {auth.CheckPKCE}, "nonce alone": {auth.CheckNonce},
	}
	for name, list := range checks {
		t.Run("same browser that keeps its cookies, "+name, func(t *testing.T) {
			s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.Checks = list })
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			kept := maps.Clone(b.cookies)
			b.get(callback(answer)).wantLocation(t, origin)
			s.idp.acceptAgain(answer)
			b.cookies = kept
			before := s.idp.count("/token")
			end := b.get(callback(answer))
			require.NotEqual(t, origin, end.location(), "the answer is good twice")
			assert.True(t, name == "nonce alone" || s.idp.count("/token") == before, "the code was sent once more")
		})
	}
	for name, c := range map[string]struct {
		ruin   func(s *site, b, eve *browser, answer url.Values)
		reason string
	}{
		"state with another code": {func(_ *site, b, _ *browser, answer url.Values) {
			kept := maps.Clone(b.cookies)
			b.get(callback(answer)).wantLocation(b.t, origin)
			b.cookies = kept
			answer.Set("code", "another")
		}, "the sign-in was finished before"},
		"code of another sign-in": {func(s *site, _, eve *browser, answer url.Values) {
			stolen := s.idp.authorize(eve.t, s.start(eve, "/auth/signin/idp?login_hint=eve"))
			answer.Set("code", stolen.Get("code"))
		}, "invalid_grant"},
		"answer that took too long": {func(s *site, _, _ *browser, _ url.Values) { s.clock.advance(16 * time.Minute) }, "sign-in: the cookie is not valid"},
		"cookie of another check": {func(s *site, b, _ *browser, answer url.Values) {
			for name, c := range b.cookies {
				if strings.Contains(name, "state") {
					c.Value = b.cookies["__Secure-authjs.nonce"].Value
				}
			}
			s.refused(b.t, b.get(callback(answer)), "sign-in: the cookie is not valid")
			delete(b.cookies, b.ticket().Name)
		}, "state: the cookie is not valid"},
		"cookies that were changed": {func(_ *site, b, _ *browser, _ url.Values) {
			for _, c := range b.cookies {
				c.Value += "x"
			}
		}, "sign-in: the cookie is not valid"},
		"cookies of another sign-in under its own name": {func(s *site, b, eve *browser, _ url.Values) {
			s.start(eve, "/auth/signin/idp?login_hint=eve")
			b.ticket().Value = eve.ticket().Value
		}, "sign-in: the cookie is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			b, eve := newBrowser(t, s), newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			c.ruin(s, b, eve, answer)
			s.refused(t, b.get(callback(answer)), c.reason)
			b.wantNoSession()
		})
	}
	t.Run("state of another browser", func(t *testing.T) {
		s := newSite(t, nil)
		eve, b := newBrowser(t, s), newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(eve, "/auth/signin/idp?login_hint=eve"))
		s.refused(t, b.get(callback(answer)), "state: the cookie is missing")
		b.wantNoSession()
		own := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		s.refused(t, b.get(callback(answer)), "the parameter differs from the one that was sent")
		b.wantNoSession()
		// The sign-in under way is not harmed.
		b.get(callback(own)).wantLocation(t, origin)
		b.wantSession(`"name":"ada"`)
	})
	t.Run("answer that took too long", func(t *testing.T) {
		s := newSite(t, nil)
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		s.clock.advance(16 * time.Minute)
		s.refused(t, b.get(callback(answer)), "sign-in: the cookie is not valid")
	})
	t.Run("cookie of another check", func(t *testing.T) {
		s := newSite(t, nil)
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		for name, c := range b.cookies {
			if strings.Contains(name, "state") {
				c.Value = b.cookies["__Secure-authjs.nonce"].Value
			}
		}
		s.refused(t, b.get(callback(answer)), "sign-in: the cookie is not valid")
		delete(b.cookies, b.ticket().Name)
		s.refused(t, b.get(callback(answer)), "state: the cookie is not valid")
	})
	t.Run("cookies that were changed", func(t *testing.T) {
		s := newSite(t, nil)
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		for _, c := range b.cookies {
			c.Value += "x"
		}
		s.refused(t, b.get(callback(answer)), "sign-in: the cookie is not valid")
	})
	t.Run("cookies of another sign-in under its own name", func(t *testing.T) {
		s := newSite(t, nil)
		eve, b := newBrowser(t, s), newBrowser(t, s)
		s.start(eve, "/auth/signin/idp?login_hint=eve")
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		b.ticket().Value = eve.ticket().Value
		s.refused(t, b.get(callback(answer)), "sign-in: the cookie is not valid")
	})
	// A front end with Auth.js may have started the sign-in: it has no ticket.
	t.Run("cookies of Auth.js alone", func(t *testing.T) {
		s := newSite(t, nil)
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, b.post("/auth/signin/idp", "callbackUrl", "/inbox").location())
		kept := maps.Clone(b.cookies)
		delete(b.cookies, b.ticket().Name)
		b.get(callback(answer)).wantLocation(t, origin+"/inbox")
		b.wantSession(`"name":"ada"`)
		b.cookies = kept
		s.refused(t, b.get(callback(answer)), "the sign-in was finished before")
	})
	for _, id := range []string{"other", "unknown"} {
		t.Run("answer at the provider "+id, func(t *testing.T) {
			s := newSite(t, func(p *idp, c *auth.Config, o *auth.OAuth) {
				other := *o
				other.ID = "other"
				c.Providers = append(c.Providers, &other)
			})
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			end := b.get("/auth/callback/" + id + "?" + answer.Encode())
			if id == "other" {
				s.refused(t, end, "the sign-in was started with another provider")
			} else if end.location() == origin {
				t.Error("a provider that does not exist signs in")
			}
			b.wantNoSession()
			assert.Zero(t, s.idp.count("/token"), "how often the code was sent to a provider")
			b.get(callback(answer)).wantLocation(t, origin)
		})
	}
}

// ticket is the cookie of the only sign-in that is under way.
func (b *browser) ticket() *http.Cookie {
	b.t.Helper()
	for name, c := range b.cookies {
		if strings.Contains(name, "state.") {
			return c
		}
	}
	b.t.Fatal("the sign-in has no cookie of its own")
	return nil
}

// tabSite has two providers with a state and two with PKCE alone.
func tabSite(t *testing.T) *site {
	return newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) {
		for id, checks := range map[string][]auth.Check{"other": o.Checks, "bare": {auth.CheckPKCE}, "plain": {auth.CheckPKCE}} {
			p := *o
			p.ID, p.Checks = id, checks
			c.Providers = append(c.Providers, &p)
		}
	})
}

// TestTabs: sign-ins that run at once in one browser all finish, and end where
// each was started from, also if each was started before the browser had the
// cookies of the others. Sign-ins with a provider whose only check is PKCE have
// no state to tell them apart; with each such provider, only the last one
// finishes.
func TestTabs(t *testing.T) {
	s := tabSite(t)
	for _, tabs := range [][]string{
		{"idp", "idp"}, {"idp", "other"}, {"idp", "idp", "other", "idp"}, {"bare", "idp"}, {"idp", "bare"}, {"bare", "plain"}, {"bare", "idp", "plain", "other"},
	} {
		for _, atOnce := range []bool{false, true} {
			for _, backwards := range []bool{false, true} {
				t.Run(fmt.Sprint(tabs, " at once: ", atOnce, " backwards: ", backwards), func(t *testing.T) {
					b := newBrowser(t, s)
					b.csrf()
					before := maps.Clone(b.cookies)
					answers := make([]url.Values, len(tabs))
					for i, id := range tabs {
						tab := b
						if atOnce {
							tab = newBrowser(t, s)
							maps.Copy(tab.cookies, before)
						}
						l := tab.post("/auth/signin/"+id+"?login_hint="+id, "callbackUrl", fmt.Sprintf("/page-%d", i)).location()
						answers[i] = s.idp.authorize(t, l)
						maps.Copy(b.cookies, tab.cookies)
					}
					for i := range tabs {
						if backwards {
							i = len(tabs) - 1 - i
						}
						for _, c := range b.cookies { // each tab as a person of its own
							if strings.Contains(c.Name, "session-token") {
								delete(b.cookies, c.Name)
							}
						}
						kept := maps.Clone(b.cookies)
						b.get("/auth/callback/"+tabs[i]+"?"+answers[i].Encode()).wantLocation(t, fmt.Sprintf("%s/page-%d", origin, i))
						b.wantSession(`"name":"` + tabs[i] + `"`)
						again := newBrowser(t, s)
						again.cookies = kept
						again.get("/auth/callback/"+tabs[i]+"?"+answers[i].Encode()).wantLocation(t, lateAnswer)
						again.wantNoSession()
					}
					if !atOnce { // otherwise the browser keeps the sign-in that was started last
						for name := range b.cookies {
							assert.NotContainsf(t, name, "state", "%s is left behind", name)
						}
					}
				})
			}
		}
	}
}

// TestTicketsAreBounded: after many sign-ins are started and given up, the
// browser holds only the last few, in cookies that every browser accepts. Each
// of these can be finished.
func TestTicketsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 3000) // only the site itself can ask for this
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Callbacks.Redirect = func(_ context.Context, p auth.RedirectParams) (string, error) {
			page := strings.TrimPrefix(p.URL, p.BaseURL)
			if strings.HasSuffix(page, "?long") {
				page += long
			}
			return p.BaseURL + page, nil
		}
	})
	b := newBrowser(t, s)
	var answers []url.Values
	for i := range 10 {
		page := fmt.Sprintf("/page-%d?%s", i, []string{"", "long"}[i%2])
		answers = append(answers, s.idp.authorize(t, b.post("/auth/signin/idp", "callbackUrl", page).location()))
	}
	tickets, size := 0, 0
	for _, c := range b.cookies {
		if strings.Contains(c.Name, "callback-url") {
			continue
		}
		size += len(c.Name) + len(c.Value)
		assert.Truef(t, len(c.Name)+len(c.Value) <= 4000, "%s has %d bytes", c.Name, len(c.Value))
		if strings.Contains(c.Name, "state.") {
			tickets++
		}
	}
	t.Logf("%d tickets, %d bytes of check cookies in all", tickets, size)
	assert.Equal(t, 4, tickets, "tickets in the browser")
	for i, answer := range answers {
		l := b.get(callback(answer)).location()
		if i < len(answers)-4 {
			assert.Equalf(t, strangeAnswer, l, "sign-in %d was given up and ends at %.80s", i, l)
			continue
		}
		want := fmt.Sprintf("%s/page-%d?", origin, i)
		if i%2 == 1 && i < len(answers)-1 {
			want = origin // too long for a ticket, and the cookie for the callback URL has another
		}
		assert.Falsef(t, !strings.HasPrefix(l, want) || want == origin && l != origin,
			"sign-in %d ends at %.80s, want %s", i, l, want)
	}
}

// TestRedirectProxy: a deployment that is not registered with any provider gets
// the answer through a deployment that is. The second one also has its own
// sign-ins. Only a state that contains the way back is long; WeChat accepts 128
// characters.
func TestRedirectProxy(t *testing.T) {
	const proxyURL = origin + "/auth"
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.RedirectProxyURL, c.RedirectProxyOrigins = proxyURL, []string{"https://preview.example.com"}
	})
	preview := newHandler(t, auth.Config{
		URL: "https://preview.example.com", RedirectProxyURL: proxyURL, Clock: s.clock.Now, Providers: []auth.Provider{s.idp.provider()},
	})
	state := func(l string) string {
		u := must(url.Parse(l))(t)
		return u.Query().Get("state")
	}

	b := newBrowser(t, s)
	l := s.start(b, "/auth/signin/idp")
	assert.Len(t, state(l), 43, "the state of a sign-in that the proxy needs nothing of")
	b.get(callback(s.idp.authorize(t, l))).wantLocation(t, origin)
	b.wantSession(`"name":"ada"`)

	away := newBrowser(t, preview)
	away.site = "https://preview.example.com"
	started := away.post("/auth/signin/idp")
	l = started.location()
	size := 0
	for name, values := range started.Header {
		for _, v := range values {
			size += len(name) + len(": \r\n") + len(v)
		}
	}
	// This is the default limit of nginx for the header of a response.
	assert.LessOrEqual(t, size, 4096, "bytes in the header that starts a sign-in")
	assert.GreaterOrEqual(t, len(state(l)), 200, "characters in the state for the proxy")
	back := newBrowser(t, s).get(callback(s.idp.authorize(t, l))).location()
	require.Truef(t, strings.HasPrefix(back, "https://preview.example.com/auth/callback/idp?"),
		"the proxy sends the browser to %s", back)
	away.get(back).wantLocation(t, "https://preview.example.com")
	away.wantSession(`"name":"ada"`)

	forged := url.Values{"code": {"x"}, "state": {strings.TrimSuffix(state(l), state(l)[len(state(l))-8:]) + "AAAAAAAA"}}
	s.refused(t, newBrowser(t, s).get(callback(forged)), "not made by a deployment")
}

// TestFormPost: an answer that comes as a form from the provider's site finds
// its checks and the page where the sign-in started, although the browser sends
// no cookie at first: a page of ours posts the answer once more.
func TestFormPost(t *testing.T) {
	t.Run("all cookies Lax", func(t *testing.T) { testFormPost(t, auth.CookieConfig{}) })
	t.Run("the mark comes along", func(t *testing.T) { testFormPost(t, auth.CookieConfig{SameSite: http.SameSiteNoneMode}) })
}

func testFormPost(t *testing.T, csrf auth.CookieConfig) {
	t.Helper()
	s := newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) {
		c.Cookies.CSRFToken = csrf
		o.Authorization.Params = url.Values{"response_mode": {"form_post"}}
	})
	b := newBrowser(t, s)
	answer := s.idp.authorize(t, b.post("/auth/signin/idp", "callbackUrl", "/inbox").location())
	kept := map[string]*http.Cookie{}
	for name, c := range b.cookies {
		if c.SameSite != http.SameSiteNoneMode {
			kept[name] = c
			delete(b.cookies, name)
		}
	}
	post := func(fields url.Values, from string) *reply {
		return b.do(http.MethodPost, "/auth/callback/idp", strings.NewReader(fields.Encode()), http.Header{
			"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {from},
		})
	}
	page := post(answer, s.idp.URL)
	require.Truef(t, page.StatusCode == http.StatusOK && len(page.Cookies()) <= 0 &&
		strings.Contains(page.Header.Get("Cache-Control"), "no-store") && page.Header.Get("Referrer-Policy") == "no-referrer",
		"the hop is %d %v with the cookies %v", page.StatusCode, page.Header, page.Cookies())
	again := url.Values{}
	for _, m := range hiddenOfForm.FindAllStringSubmatch(page.body, -1) {
		again.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	maps.Copy(b.cookies, kept)
	post(again, origin).wantLocation(t, origin+"/inbox")
	b.wantSession(`"name":"ada"`)
	post(again, origin).wantLocation(t, origin+"/inbox") // the person who finished it is signed in
	clear(b.cookies)
	post(again, origin).wantLocation(t, lateAnswer) // one hop and no more
}

// TestSignInParameters: the code that starts a sign-in may add parameters to
// the authorization request. It can't change the parameters that identify the
// client or the answer.
func TestSignInParameters(t *testing.T) {
	s := newSite(t, nil)
	for _, name := range []string{
		"client_id", "redirect_uri", "response_type", "response_mode", "state", "nonce", "code_challenge", "code_challenge_method", "request", "request_uri",
		"client_secret", "CLIENT_ID", "Redirect_URI", "client.id", "redirect uri", "client_id[]", " state", "redirect_uri[0]",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, s)
			l := s.start(b, "/auth/signin/idp?prompt=login&"+url.QueryEscape(name)+"=evil&"+url.QueryEscape(name)+"=evil")
			require.Truef(t, !strings.Contains(l, "evil") && strings.Contains(l, "prompt=login"), "the browser is sent to %s", l)
			b.get(callback(s.idp.authorize(t, l))).wantLocation(t, origin)
		})
	}
}

// TestParameterGivenTwice: each value of a parameter is sent, and all of them
// replace the configured ones. Only one value of max_age counts.
func TestParameterGivenTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) {
		o.Client.DefaultMaxAge = time.Hour
		o.Authorization.Params = url.Values{"resource": {"https://configured.example"}, "audience": {"a", "b"}}
	})
	given := url.Values{
		"resource": {"https://one.example", "https://two.example"}, "prompt": {"login", "consent"}, "max_age": {"10", "999999"},
		"client_id": {"evil", "evil"}, "state": {"evil", "evil"}, "redirect_uri": {"", "evil"},
	}
	b := newBrowser(t, s)
	code := must(s.SignIn(b.request("/login"), "idp", auth.SignInOptions{AuthorizationParams: given}))(t)
	for from, location := range map[string]string{
		"code": code.Location, "route": b.post("/auth/signin/idp?" + given.Encode()).location(),
	} {
		u, err := url.Parse(location)
		require.Truef(t, err == nil && !strings.Contains(location, "evil"),
			"%s: the browser is sent to %s, %v", from, location, err)
		for name, want := range map[string][]string{
			"resource": given["resource"], "prompt": given["prompt"], "audience": {"a", "b"}, "max_age": {"3600"}, "client_id": {idpClient},
		} {
			assert.Equalf(t, want, u.Query()[name], "%s: %s", from, name)
		}
	}
}

// TestPreparedRequestKeepsTheChecks: the function of a provider that prepares
// the authorization request can't add a second value of a protected parameter.
func TestPreparedRequestKeepsTheChecks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"state", "client_id", "redirect_uri", "nonce", "code_challenge"} {
		s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) {
			o.Authorization.Request = func(_ context.Context, u *url.URL) (*url.URL, error) {
				u.RawQuery += "&" + name + "=evil"
				return u, nil
			}
		})
		if l := newBrowser(t, s).post("/auth/signin/idp").location(); strings.Contains(l, "evil") || !strings.Contains(s.log.String(), "Authorization.Request changed "+name) {
			t.Errorf("%s: the browser is sent to %s", name, l)
		}
	}
}

// TestEndpointsAreSecure: a provider without https is refused when the handler
// is made, unless it is on this machine.
func TestEndpointsAreSecure(t *testing.T) {
	for _, set := range []func(o *auth.OAuth, u string){
		func(o *auth.OAuth, u string) { o.Issuer = u }, func(o *auth.OAuth, u string) { o.WellKnown = u }, func(o *auth.OAuth, u string) { o.JWKS = u },
		func(o *auth.OAuth, u string) { o.Authorization.URL = u }, func(o *auth.OAuth, u string) { o.Token.URL = u }, func(o *auth.OAuth, u string) { o.UserInfo.URL = u },
	} {
		for u, ok := range map[string]bool{
			"https://idp.example": true, "http://localhost:1": true, "http://127.0.0.1:1": true, "http://[::1]:1": true,
			"http://idp.example": false, "http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false, "http://10.0.0.1": false,
			"ftp://idp.example": false, "//idp.example": false, "https://a@idp.example": false, "javascript:alert(1)": false, "http://0.0.0.0": false,
		} {
			o := &auth.OAuth{ID: "idp", Type: auth.TypeOIDC, Issuer: "https://idp.example", ClientID: "id", ClientSecret: "secret"}
			set(o, u)
			_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Providers: []auth.Provider{o}})
			assert.Equalf(t, ok, err == nil, "%+v with %s: %v", o.ID, u, err)
		}
	}
}

// TestRedirectLeaksNoToken: if an endpoint redirects, no data that the client
// sent to it goes to the target of the redirect.
func TestRedirectLeaksNoToken(t *testing.T) {
	for _, path := range []string{"/token", "/userinfo", "/jwks", "/.well-known/openid-configuration"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(path, status), func(t *testing.T) {
				s := newSite(t, userInfoConfig)
				s.idp.endpoints[path] = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", s.idp.URL+"/elsewhere")
					w.WriteHeader(status)
				}
				b := newBrowser(t, s)
				if l := b.post("/auth/signin/idp").location(); strings.HasPrefix(l, s.idp.URL) {
					s.refused(t, b.get(callback(s.idp.authorize(t, l))), fmt.Sprint("status ", status))
				} else if path != "/.well-known/openid-configuration" {
					t.Fatalf("the sign-in does not start: %s", l)
				}
				assert.Zero(t, s.idp.count("/elsewhere"), "requests that were redirected")
			})
		}
	}
}

func userInfoConfig(_ *idp, _ *auth.Config, o *auth.OAuth) { o.UserInfoOnly = true }

// TestOneFetch: any number of sign-ins at once ask for metadata and keys once,
// and later ones not at all, until the hour is over.
func TestOneFetch(t *testing.T) {
	s := newSite(t, nil)
	wave := func(wantMetadata, wantKeys int) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				b := newBrowser(t, s)
				l := b.post(fmt.Sprintf("/auth/signin/idp?login_hint=person-%d", i)).location()
				if !assert.Truef(t, strings.HasPrefix(l, s.idp.URL), "start: %s", l) {
					return
				}
				assert.Equal(t, origin, b.get(callback(s.idp.authorize(t, l))).location(), "end")
			})
		}
		wg.Wait()
		assert.Equal(t, wantMetadata, s.idp.count("/.well-known/openid-configuration"), "how often the metadata was fetched")
		assert.Equal(t, wantKeys, s.idp.count("/jwks"), "how often the keys were fetched")
	}
	wave(1, 1)
	s.clock.advance(time.Hour - time.Second)
	wave(1, 1)
	s.clock.advance(time.Second)
	wave(2, 2)
	s.clock.advance(time.Second)
	wave(2, 2)
	s.idp.mu.Lock()
	s.idp.key, s.idp.kid = otherRSAKey(), "key-2" // rotated
	s.idp.mu.Unlock()
	wave(2, 3)
	s.idp.mu.Lock()
	s.idp.key = rsaKey() // rotated, under the same name
	s.idp.mu.Unlock()
	wave(2, 4)
	s.clock.advance(61 * time.Minute)
	wave(3, 5)
}

// TestErrorRepeatsSecrets: if a provider repeats parts of the request in the
// text of an error, they are not logged.
func TestErrorRepeatsSecrets(t *testing.T) {
	s := newSite(t, nil)
	s.idp.endpoints["/token"] = func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.idp.keep(r.PostForm.Get("code_verifier"))
		_, password, _ := r.BasicAuth()
		answerJSON(w, 400, map[string]string{"error": "invalid_grant", "error_description": fmt.Sprintf("code %s verifier %s password %s %s",
			r.PostForm.Get("code"), r.PostForm.Get("code_verifier"), password, strings.Repeat("long", 1000))})
	}
	b := newBrowser(t, s)
	s.refused(t, s.signIn(b), "invalid_grant")
	for line := range strings.Lines(s.log.String()) {
		assert.Truef(t, len(line) <= 1000, "a line of the log has %d bytes", len(line))
	}
	answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
	answer.Set("error", "server_error")
	answer.Set("error_description", "state "+answer.Get("state")+" code "+answer.Get("code"))
	b.get(callback(answer)).wantLocation(t, signInPage+"OAuthCallbackError")
	s.wantNoLeaks(t)
}
