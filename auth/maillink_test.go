package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mailSite is a site with mail links.
func mailSite(t testing.TB, configure func(c *auth.Config)) (*auth.Handler, capable, *outbox) {
	t.Helper()
	s, box := newCapable(), &outbox{}
	c := auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}
	if configure != nil {
		configure(&c)
	}
	return newHandler(t, c), s, box
}

// TestStrangersLinkAsksFirst: a person opens a link that another browser asked
// for. It is a link of an attacker, which would sign the person in as the
// attacker, or their own link on another device. A page shows the address that
// would be signed in, and only its button uses the link.
func TestStrangersLinkAsksFirst(t *testing.T) {
	h, s, box := mailSite(t, nil)
	attacker, b := newBrowser(t, h), newBrowser(t, h)
	attacker.post("/auth/signin/email", "email", "mallory@example.com")
	link := box.last(t)
	for range 3 {
		page := b.get(link)
		require.Truef(t, page.StatusCode == http.StatusOK && strings.Contains(page.body, "mallory@example.com") &&
			page.Header.Get("Referrer-Policy") == "no-referrer" && strings.Contains(page.Header.Get("Cache-Control"), "no-store"),
			"got %d %v %s", page.StatusCode, page.Header, page.body)
		b.wantNoSession()
	}
	b.submit("/auth/callback/email", "token", must(url.Parse(link))(t).Query().Get("token"), "email", "mallory@example.com").wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
	require.Len(t, s.tokens, 1, "the link was used up")
	b.press(b.get(link), "Sign in").wantLocation(t, origin) // the honest neighbour, on another device
	b.wantSession("mallory@example.com")
	b.open(link).wantLocation(t, origin) // this browser finished it
	newBrowser(t, h).open(link).wantLocation(t, origin+"/auth/error?error=Verification")
}

// TestLinkScannerSpendsNothing: a mail program, or the browser that asked,
// loads the link before the person opens it.
func TestLinkScannerSpendsNothing(t *testing.T) {
	h, s, box := mailSite(t, nil)
	b := newBrowser(t, h)
	b.post("/auth/signin/email", "email", "ada@example.com")
	link := box.last(t)
	newBrowser(t, h).get(link)
	for name, value := range map[string][]string{
		"Sec-Purpose": {"prefetch;prerender"}, "Purpose": {"", "Prefetch"}, "X-Moz": {"prefetch"}, "X-Purpose": {"preview"},
		"Sec-Fetch-Mode": {"no-cors"}, "Sec-Fetch-Dest": {"iframe"},
	} {
		require.Equal(t, http.StatusOK, b.do(http.MethodGet, link, nil, http.Header{name: value}).StatusCode, name)
		require.Len(t, s.tokens, 1, name)
	}
	b.do(http.MethodHead, link, nil, nil)
	b.do(http.MethodGet, link, nil, http.Header{"Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}, "Sec-Fetch-Site": {"cross-site"}}).wantLocation(t, origin) // the honest neighbour
}

// TestLinksOfOneBrowser: if one browser asked for several links, they all work
// in it until a sign-in ends them.
func TestLinksOfOneBrowser(t *testing.T) {
	h, s, box := mailSite(t, nil)
	b := newBrowser(t, h)
	for i := range 5 {
		b.post("/auth/signin/email", "email", fmt.Sprintf("u%d@example.com", i))
	}
	assert.Equal(t, http.StatusOK, b.get(box.mails[0].URL).StatusCode, "a browser remembers a fifth link")
	for _, m := range box.mails[1:] {
		b.get(m.URL).wantLocation(t, origin)
	}
	b.post("/auth/signin/email", "email", "ada@example.com")
	b.post("/auth/signin/email", "email", "ada@example.com")
	older := box.mails[len(box.mails)-2].URL
	b.get(box.last(t)).wantLocation(t, origin)
	b.open(older).wantLocation(t, origin+"/auth/error?error=Verification")
	assert.Len(t, s.tokens, 1, "tokens of other people than u0 are left")
}

// TestLinkOfAnotherProvider: a link works only with the provider that mailed
// it. A link of Auth.js does not name a provider, and works with each of them.
func TestLinkOfAnotherProvider(t *testing.T) {
	for name, generate := range map[string]func(context.Context) (string, error){
		"our text":               nil,
		"text of the site's own": func(context.Context) (string, error) { return strings.Repeat("unguessable-", 4), nil },
	} {
		t.Run(name, func(t *testing.T) {
			staff := &outbox{}
			h, _, box := mailSite(t, func(c *auth.Config) {
				p := staff.provider()
				p.ID = "staff"
				c.Providers = append(c.Providers, p)
				for _, p := range c.Providers {
					p.(*auth.Email).GenerateVerificationToken = generate
				}
			})
			b := newBrowser(t, h)
			b.post("/auth/signin/email", "email", "ada@example.com")
			link := box.last(t)
			wrong := strings.Replace(link, "/callback/email", "/callback/staff", 1)
			b.get(wrong).wantLocation(t, origin+"/auth/error?error=Verification")
			b.get(link).wantLocation(t, origin)
		})
	}
}

// TestPlantedLinkCookie: the name of a link is in a cookie that no other host can
// set.
func TestPlantedLinkCookie(t *testing.T) {
	h, _, box := mailSite(t, nil)
	attacker, b := newBrowser(t, h), newBrowser(t, h)
	attacker.post("/auth/signin/email", "email", "mallory@example.com")
	b.plant(attacker)
	r := b.get(box.last(t))
	assert.Equalf(t, http.StatusOK, r.StatusCode, "the link signs in: status %d to %s", r.StatusCode, r.location())
	if c := attacker.cookies["__Host-authjs.link"]; c == nil || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.MaxAge != int((24*time.Hour).Seconds()) {
		t.Errorf("the cookie is %+v", c)
	}
}

// TestLinkThatWasDecoded: mail programs, gateways and click counters decode a
// link once, escape its ampersands or append parameters. The link still signs in
// the person it was mailed to, and nobody else.
func TestLinkThatWasDecoded(t *testing.T) {
	t.Parallel()
	once := func(link string) string {
		page, query, _ := strings.Cut(link, "?")
		return page + "?" + orPanic(url.PathUnescape(query))
	}
	for name, change := range map[string]func(link string) string{
		"as sent":              func(link string) string { return link },
		"plus decoded":         func(link string) string { return strings.ReplaceAll(link, "%2B", "+") },
		"all decoded":          once,
		"only @ decoded":       func(link string) string { return strings.ReplaceAll(link, "%40", "@") },
		"parameter appended":   func(link string) string { return link + "&utm_source=mail" },
		"ampersands escaped":   func(link string) string { return strings.ReplaceAll(link, "&", "&amp;") },
		"decoded and appended": func(link string) string { return once(link) + "&utm_source=mail" },
	} {
		for _, address := range []string{"ada+news@example.com", "a&b@example.com", "50%off@example.com", "a+b+c@example.com"} {
			text := "a+b/c=" + strings.Repeat("0123456789abcdef", 2)
			h, _, box := mailSite(t, func(c *auth.Config) {
				c.Providers[0].(*auth.Email).GenerateVerificationToken = func(context.Context) (string, error) { return text, nil }
			})
			b := newBrowser(t, h)
			b.post("/auth/signin/email", "email", address)
			if address == "50%off@example.com" && name == "only @ decoded" {
				continue // %25 and a percent sign can't be told apart any more
			}
			link := change(box.last(t))
			require.NotContains(t, link, " ", name)
			if r := b.get(link); r.location() != origin {
				t.Errorf("%s, %s: sent to %q with status %d", name, address, r.location(), r.StatusCode)
				continue
			}
			b.wantSession(address)
		}
	}
	// A link for another address stays one.
	h, _, box := mailSite(t, nil)
	b := newBrowser(t, h)
	b.post("/auth/signin/email", "email", "ada+news@example.com")
	b.open(strings.Replace(box.last(t), "%2B", "%2D", 1)).wantLocation(t, origin+"/auth/error?error=Verification")
	b.get("/auth/callback/email?email=ada%40example.com").wantLocation(t, origin+"/auth/error?error=Verification")
}
