package auth_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestSettingsThatCannotWork: settings that can't work are refused at the
// start, and others are not.
func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	cookie := func(c auth.CookieConfig) auth.Config { return auth.Config{Cookies: auth.Cookies{State: c}} }
	for name, c := range map[string]struct {
		config auth.Config
		want   string // is part of the error; empty means no error
	}{
		"__Host- with a Domain": {cookie(auth.CookieConfig{Name: "__Host-x", Domain: "example.com"}), "__Host-"},
		"__Host- with a Path":   {cookie(auth.CookieConfig{Name: "__Host-x", Path: "/auth"}), "__Host-"},
		"CSRF with a Domain":    {auth.Config{Cookies: auth.Cookies{CSRFToken: auth.CookieConfig{Domain: "example.com"}}}, "__Host-"},
		"__Secure- not Secure":  {cookie(auth.CookieConfig{Name: "__Secure-x", Secure: new(false)}), "__Secure-"},
		"one name twice":        {cookie(auth.CookieConfig{Name: "__Secure-authjs.nonce"}), "two cookies"},
		"bad Priority":          {cookie(auth.CookieConfig{Priority: "Urgent"}), "Priority"},
		"good cookie":           {cookie(auth.CookieConfig{Name: "my.state", Domain: "example.com", Priority: "High"}), ""},
		"relative page":         {auth.Config{Pages: auth.Pages{SignIn: "login"}}, "Pages.SignIn"},
		"page of another host":  {auth.Config{Pages: auth.Pages{Error: "//evil.example/x"}}, "Pages.Error"},
		"page of no web":        {auth.Config{Pages: auth.Pages{NewUser: "javascript:alert(1)"}}, "Pages.NewUser"},
		"loop":                  {auth.Config{Pages: auth.Pages{SignIn: "/auth/signin"}}, "leads back to itself"},
		"loop, as URL":          {auth.Config{Pages: auth.Pages{Error: origin + "/auth/error"}}, "leads back to itself"},
		"good pages":            {auth.Config{Pages: auth.Pages{SignIn: "/login?a=b", Error: "https://other.example/auth/error"}}, ""},
	} {
		c.config.Secret, c.config.URL = []string{secret}, origin
		_, err := auth.New(c.config)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestAddressesThatAreNotWhatTheySeem: addresses that look like other addresses
// are refused, and honest ones are not.
func TestAddressesThatAreNotWhatTheySeem(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"ada@example.com": true, "ada-b@ex-ample.com": true, "j\u00fcrgen@b\u00fccher.example": true, "\uff41da@example.com": true,
		"-oProxyCommand=x@example.com": false, "=?utf-8?q?ada?=@example.com": false, "ada@example\u3002com": false, "ad\u3164a@example.com": false,
		"ad\u034fa@example.com": false, "ad\ufe0fa@example.com": false, "ada@example.com" + strings.Repeat(" ", 1<<20): false,
	} {
		if _, err := auth.NormalizeEmail(address); (err == nil) != ok {
			t.Errorf("%.40q: got %v, want it accepted: %v", address, err, ok)
		}
	}
}

// TestRefreshedCookiesAreNotCached: a response with a session cookie is for one
// browser only.
func TestRefreshedCookiesAreNotCached(t *testing.T) {
	t.Parallel()
	h, now := tokenSite(t, nil)
	b := newBrowser(t, h)
	b.signIn()
	for _, due := range []bool{false, true} {
		if due {
			now.advance(25 * 60 * 60 * 1e9)
		}
		w := httptest.NewRecorder()
		if _, err := h.Refresh(w, b.request("/")); err != nil {
			t.Fatal(err)
		}
		if got := w.Header().Get("Cache-Control") == "private" && w.Header().Get("Vary") == "Cookie"; got != due {
			t.Errorf("due: %v: the header is %v", due, w.Header())
		}
	}
}

// TestCredentialsWithoutFieldsHaveAButton: a provider without fields has a
// button, as in Auth.js.
func TestCredentialsWithoutFieldsHaveAButton(t *testing.T) {
	t.Parallel()
	bare := password()
	bare.ID, bare.Fields = "bare", nil
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password(), bare}}))
	if page := b.get("/auth/signin").body; !strings.Contains(page, "/auth/callback/bare") {
		t.Error("a provider without fields has no button")
	}
}
