package auth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// TestHome: a site below a path is led to its own home, and not to the root of
// the host, which may be another site.
func TestHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, basePath, home, routes, want string }{
		{origin, "", "", "/auth", origin},
		{origin, "/api/auth", "", "/api/auth", origin},
		{origin, "/app/auth", "", "/app/auth", origin + "/app"},
		{origin, "/app/api/auth", "", "/app/api/auth", origin + "/app"},
		{origin + "/app/api/auth", "", "", "/app/api/auth", origin + "/app"},
		{origin + "/app/auth/", "/app/auth", "", "/app/auth", origin + "/app"},
		{origin, "/login", "", "/login", origin},
		{origin, "/app/auth", "/start", "/app/auth", origin + "/start"},
		{origin, "/auth", "https://www.example.com/", "/auth", "https://www.example.com/"},
	} {
		h := newHandler(t, auth.Config{URL: c.url, BasePath: c.basePath, Home: c.home, Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}})
		for callbackURL, want := range map[string]string{
			"": c.want, "https://evil.example/": c.want, "//evil.example": origin + "//evil.example", "/app/x": origin + "/app/x", origin + "/y": origin + "/y",
		} {
			b := newBrowser(t, h)
			page := b.get(c.routes + "/csrf")
			_, token, _ := strings.Cut(page.body, `"csrfToken":"`)
			fields := []string{"csrfToken", token[:64], "username", "ada", "password", "lovelace"}
			if callbackURL != "" {
				fields = append(fields, "callbackUrl", callbackURL)
			}
			b.submit(c.routes+"/callback/credentials", fields...).wantLocation(t, want)
		}
		b := newBrowser(t, h)
		assert.Containsf(t, b.get(c.routes+"/error").body, `href="`+c.want+`"`, "%+v: the error page links elsewhere", c)
		r := httptest.NewRequest(http.MethodPost, origin+"/app/out", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		result, err := h.SignOut(r, "")
		assert.Truef(t, err == nil && strings.TrimSuffix(result.Location, "/") == strings.TrimSuffix(c.want, "/"),
			"%+v: SignOut leads to %v, %v", c, result, err)
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
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/start", nil))(t)
		r.Header.Set("Referer", from)
		in, err := h.SignIn(r, "credentials", auth.SignInOptions{})
		out, failed := h.SignOut(r, "")
		assert.Truef(t, err == nil && failed == nil && in.Location == "/login?callbackUrl="+url.QueryEscape(want) &&
			out.Location == "/bye?callbackUrl="+url.QueryEscape(want),
			"from %q: the browser is sent to %v and %v, %v, %v", from, in, out, err, failed)
	}
}

// TestPlantedCallbackURL: a sibling subdomain plants the cookie that keeps the
// callback URL, whose name a sibling can set. Nobody is led off the site; the
// legitimate cookie still works.
func TestPlantedCallbackURL(t *testing.T) {
	for planted, want := range map[string]string{
		"https://evil.example/": origin, "//evil.example": origin + "//evil.example", `/\evil.example`: origin + `/\evil.example`, "javascript:alert(1)": origin,
		"https://app.example.com@evil.example/": origin, "https://app.example.com\u3002evil.example/": origin, "https://app\uff0eexample.com/": origin,
		"https://app.example.com.:443/": origin, "https://app.example.com\t.evil.example/": origin, "https://sibling.example.com/": origin,
		origin + "/inbox": origin + "/inbox", "/inbox": origin + "/inbox",
	} {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp"))
		delete(b.cookies, b.ticket().Name) // it keeps the callback URL, too
		const name = "__Secure-authjs.callback-url"
		escaped := &strings.Builder{}
		for _, c := range []byte(planted) {
			escaped.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
		}
		b.cookies[name] = &http.Cookie{Name: name, Value: escaped.String()}
		assert.Equalf(t, want, b.get("/auth/callback/idp?"+answer.Encode()).location(), "%q leads to", planted)
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
			assert.Containsf(t, r.body, `name="callbackUrl" value="`+want+`"`,
				"%d bytes in the query: the page does not lead to %.80s", size, want)
			b.post("/auth/signout", "callbackUrl", prefix+page).wantLocation(t, want)
			b.post("/auth/signout").wantLocation(t, want) // the URL in the cookie
			n := 0
			for _, c := range b.cookies {
				n += len(c.Name) + len(c.Value)
			}
			assert.Truef(t, n <= 2000, "%d bytes asked for: the cookies have %d bytes", size, n)
		}
	}
	if log := s.log.String(); !strings.Contains(log, `level=WARN msg="auth: request failed"`) || strings.Contains(log, "level=ERROR") || strings.Contains(log, "aaaa") {
		t.Errorf("the log is %.1000s", log)
	}
}
