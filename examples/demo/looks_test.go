package main

import (
	_ "embed"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
)

var screenshots = flag.String("screenshots", "", "write a picture of every page to this `folder`")

// look.js measures a page; its own comments say how.
//
//go:embed testdata/look.js
var lookScript string

// look is the result of look.js for a page.
type look struct {
	Title      string
	Background string
	// Problems are sentences about parts of the page that a person could not
	// use or read.
	Problems []string
}

// TestLooks opens all pages in both colour schemes at the widths of phones and
// of a desktop. Nothing may overflow, be too small to touch, be too faint to
// read, or have focus without a visible mark.
func TestLooks(t *testing.T) {
	t.Setenv("AUTH_GITHUB_ID", "id")
	t.Setenv("AUTH_GITHUB_SECRET", "secret")
	t.Setenv("AUTH_GOOGLE_ID", "id")
	t.Setenv("AUTH_GOOGLE_SECRET", "secret")
	demo := serveDemo(t)
	dressed := serve(t, dressedSite)
	b, script := newLooker(t)
	b.goTo(demo + "/auth/signin")
	b.click("form[action$='/signin/development'] button")
	chooser := get(b, chromedp.Location())
	pages := []struct{ name, url, title string }{
		{"signin", demo + "/auth/signin", "Sign in to "},
		{"signin-refused", demo + "/auth/signin?error=CredentialsSignin", "Sign in to "},
		{"signout", demo + "/auth/signout", "Sign out"},
		{"verify-request", demo + "/auth/verify-request", "Check your email"},
		{"error", demo + "/auth/error", "Error"},
		{"error-denied", demo + "/auth/error?error=AccessDenied", "Access denied"},
		{"error-link", demo + "/auth/error?error=Verification", "Unable to sign in"},
		{"error-server", demo + "/auth/error?error=Configuration", "Something is wrong here"},
		{"dressed-signin", dressed + "/auth/signin?error=OAuthAccountNotLinked", "Sign in to "},
		{"dressed-signout", dressed + "/auth/signout", "Sign out"},
		{"dressed-verify-request", dressed + "/auth/verify-request", "Check your email"},
		{"dressed-error", dressed + "/auth/error?error=AccessDenied", "Access denied"},
		{"development-provider", chooser, "Development provider"},
		{"demo", demo, "Gatehouse demo"},
	}
	for _, page := range pages {
		t.Run(page.name, func(t *testing.T) {
			b := &browser{t, b.ctx}
			b.goTo(page.url)
			b.look(page.name, page.title, script, 320, 390, 1280)
		})
	}
}

// look looks at the page that the browser shows, in both colour schemes.
func (b *browser) look(name, title, script string, widths ...int64) {
	b.t.Helper()
	backgrounds, taken := map[string]string{}, map[int64][][]byte{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range widths {
			b.show(scheme, width)
			got := get(b, chromedp.Evaluate[look](lookScript))
			require.Truef(b.t, strings.HasPrefix(got.Title, title), "%s: the page is %q, want %q", name, got.Title, title)
			for _, problem := range append(got.Problems, b.axe(script)...) {
				b.t.Errorf("%s, %s, %d pixels: %s", name, scheme, width, problem)
			}
			backgrounds[scheme] = got.Background
			if *screenshots != "" && width != 390 && !notBuiltIn.MatchString(name) {
				taken[width] = append(taken[width], get(b, chromedp.FullScreenshot(100)))
			}
		}
	}
	b.picture(name, taken[320], taken[1280])
	assert.NotEqualf(b.t, backgrounds["dark"], backgrounds["light"],
		"%s: the background is %s in both colour schemes", name, backgrounds["light"])
}

// notBuiltIn are the pages of the demonstration itself, and those of dressedSite.
var notBuiltIn = regexp.MustCompile(`^(demo|development-provider|dressed-.*)$`)

// picture writes the picture of a page that was taken, light and dark, on a phone and
// on a desktop. Each built-in page must have one.
func (b *browser) picture(name string, phone, desktop [][]byte) {
	b.t.Helper()
	file := name + ".png"
	if len(phone) == 2 && len(desktop) == 2 {
		require.NoError(b.t, os.WriteFile(filepath.Join(*screenshots, file), sheet(b.t, phone, desktop), 0o644))
	}
	if _, err := os.Stat(filepath.Join(pictures, file)); err != nil && !notBuiltIn.MatchString(name) {
		b.t.Errorf("no picture of the page %s: run make screenshots, and show it in the README", name)
	}
}

// show shows the page in a colour scheme at a width in pixels.
func (b *browser) show(scheme string, width int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b.t, err)
	b.do(chromedp.EmulateViewport(width, 800))
}

// dressedSite is a site whose pages are hard to lay out: it has a logo,
// colours, very long names and labels, and buttons of all brands.
func dressedSite(site string) (http.Handler, error) {
	ways := []auth.Provider{
		&auth.Email{Name: strings.Repeat("Mail", 20), SendVerificationRequest: (&mailbox{}).receive},
		&auth.Credentials{Fields: []auth.Field{
			{Name: "tenant", Label: strings.Repeat("Tenant", 20)}, {Name: "password", Type: "password", Placeholder: strings.Repeat("secret", 20)},
			{Name: "remember", Label: "Remember me", Type: "checkbox"},
		}, Authorize: authorize},
	}
	for i, color := range []string{"#24292f", "#fff", "#1877f2", "#ffe812", "#ff4500", "#767676", "#f0f"} {
		ways = append(ways, &auth.OAuth{
			ID: fmt.Sprint("p", i), Name: strings.Repeat("Provider of a long name ", 1+i%3) + strings.Repeat("x", i*10),
			ClientID: "id", ClientSecret: "secret", Issuer: site, Style: auth.Style{BrandColor: color, Logo: logo},
		})
	}
	return auth.New(auth.Config{
		URL: site, Secret: []string{"for this demonstration only, 0123456789"}, Adapter: memory.New(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT},
		Theme: auth.Theme{Logo: logo, BrandColor: "#8a2be2"}, Providers: ways,
	})
}

const logo = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 400 100'%3E%3Crect width='400' height='100' fill='tomato'/%3E%3C/svg%3E"
