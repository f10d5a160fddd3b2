package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// TestHeadChangesNothing: link checkers and monitors send HEAD. Every route
// answers it, and neither the browser nor the store nor the provider notices
// (RFC 9110 section 9.3.2). The same URL works afterwards.
func TestHeadChangesNothing(t *testing.T) {
	t.Parallel()
	box := &outbox{}
	stored := newCapable()
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Adapter = stored
		c.Providers = append(c.Providers, box.provider())
	})
	b := newBrowser(t, s)
	b.post("/auth/signin/email", "email", "ada@example.com")
	back := "/auth/callback/idp?" + s.idp.authorize(t, s.start(b, "/auth/signin/idp")).Encode()
	before := fmt.Sprint(stored.tokens, stored.users, stored.sessions)
	for _, target := range []string{
		"/auth/signin", "/auth/signout", "/auth/csrf", "/auth/session", "/auth/providers", "/auth/verify-request", back, box.last(t),
		"/auth/callback/idp", "/auth/signin?callbackUrl=%2Fx",
	} {
		r := b.do(http.MethodHead, target, nil, nil)
		assert.Truef(t, r.StatusCode == http.StatusOK && r.body == "" && len(r.Header["Set-Cookie"]) <= 0,
			"HEAD %.40s: status %d, body %q, cookies %q", target, r.StatusCode, r.body, r.Header["Set-Cookie"])
		assert.Falsef(t, strings.Contains(target, "/callback/") && !strings.Contains(r.Header.Get("Cache-Control"), "no-store"),
			"HEAD %.40s: Cache-Control is %q", target, r.Header.Get("Cache-Control"))
	}
	if r := b.do(http.MethodHead, "/auth/signin/idp", nil, nil); len(r.Header["Set-Cookie"]) > 0 || r.StatusCode != b.get("/auth/signin/idp").StatusCode {
		t.Errorf("HEAD where GET is refused: status %d, cookies %q", r.StatusCode, r.Header["Set-Cookie"])
	}
	assert.Equal(t, before, fmt.Sprint(stored.tokens, stored.users, stored.sessions), "HEAD changed the store")
	assert.Zero(t, s.idp.count("/token"), "requests for tokens")
	b.get(box.last(t)).wantLocation(t, origin)
	b.wantSession("ada@example.com")
	b.get(back)
	b.wantSession("user")
}

// TestHeadExtendsNoSession: a HEAD for a page of the application reads the
// session and neither extends it nor sets a cookie, although both are due.
func TestHeadExtendsNoSession(t *testing.T) {
	t.Parallel()
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) { c.Session.Strategy = strategy })
		b := newBrowser(t, s)
		s.signIn(b)
		s.clock.advance(2 * 24 * time.Hour)
		updates := 0
		s.store.before = counting("updateSession", &updates)
		page := s.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = s.Refresh(w, r) }))
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			r := b.request("/page")
			r.Method = method
			w := serve(page, r)
			extended := updates > 0 || strategy == auth.StrategyJWT && len(w.Header()["Set-Cookie"]) > 0
			assert.Falsef(t, w.Code != http.StatusOK || extended != (method == http.MethodGet) || method == http.MethodHead &&
				len(w.Header()["Set-Cookie"]) > 0,
				"%s %s: status %d, %d updates, cookies %q", strategy, method, w.Code, updates, w.Header()["Set-Cookie"])
		}
	}
}

// TestOtherMethods: a method that no route has is answered with status 405 and
// the methods that are allowed (RFC 9110 section 15.5.6).
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}}))
	for _, method := range []string{http.MethodPut, http.MethodOptions, http.MethodDelete, "PROPFIND", "get"} {
		if r := b.do(method, "/auth/session", nil, nil); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("%s: status %d, Allow %q", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
	refused := []int{http.StatusMethodNotAllowed, http.StatusBadRequest}
	assert.Contains(t, refused, b.do(http.MethodPut, "/elsewhere", nil, nil).StatusCode, "a path of nobody: status")
}

// TestCaseOfHeaders: what HTTP compares without case is read in any case: the
// media type of a body (RFC 9110 section 8.3.1), scheme and host of Origin.
func TestCaseOfHeaders(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}}))
	fields := "csrfToken=" + b.csrf() + "&username=ada&password=lovelace"
	b.do(http.MethodPost, "/auth/callback/credentials", strings.NewReader(fields), http.Header{"Content-Type": {"Application/X-WWW-Form-Urlencoded; Charset=UTF-8"}})
	b.wantSession("ada@example.com")
	out := b.do(http.MethodPost, "/auth/signout", nil, http.Header{"Origin": {strings.ToUpper(origin)}})
	assert.NotContains(t, out.location(), "error", "an Origin in capitals: the browser is sent to")
	b.wantNoSession()
}
