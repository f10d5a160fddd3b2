package auth_test

import (
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
		"__Host- with a Domain":      {cookie(auth.CookieConfig{Name: "__Host-x", Domain: "example.com"}), "__Host-"},
		"__Host- with a Path":        {cookie(auth.CookieConfig{Name: "__Host-x", Path: "/auth"}), "__Host-"},
		"CSRF with a Domain":         {auth.Config{Cookies: auth.Cookies{CSRFToken: auth.CookieConfig{Domain: "example.com"}}}, "__Host-"},
		"__Secure- not Secure":       {cookie(auth.CookieConfig{Name: "__Secure-x", Secure: new(false)}), "__Secure-"},
		"one name twice":             {cookie(auth.CookieConfig{Name: "__Secure-authjs.nonce"}), "two cookies"},
		"bad Priority":               {cookie(auth.CookieConfig{Priority: "Urgent"}), "Priority"},
		"good cookie":                {cookie(auth.CookieConfig{Name: "my.state", Domain: "example.com", Priority: "High"}), ""},
		"base path with a scheme":    {auth.Config{BasePath: "https://app.example.com/auth"}, "BasePath"},
		"base path with a host":      {auth.Config{BasePath: "//app.example.com/auth"}, "BasePath"},
		"base path with dots":        {auth.Config{BasePath: "/a/../auth"}, "BasePath"},
		"base path with a gap":       {auth.Config{BasePath: "/a//auth"}, "BasePath"},
		"base path with an escape":   {auth.Config{BasePath: "/a%2Fb/auth"}, "BasePath"},
		"base path with a letter ü":  {auth.Config{BasePath: "/\u00fc/auth"}, "BasePath"},
		"base path with a backslash": {auth.Config{BasePath: `/a\auth`}, "BasePath"},
		"base path with a zero byte": {auth.Config{BasePath: "/a\x00/auth"}, "BasePath"},
		"good base path":             {auth.Config{BasePath: "/app-1/v2.0/api/auth/"}, ""},
		"root":                       {auth.Config{BasePath: "/"}, ""},
		"relative page":              {auth.Config{Pages: auth.Pages{SignIn: "login"}}, "Pages.SignIn"},
		"page of another host":       {auth.Config{Pages: auth.Pages{Error: "//evil.example/x"}}, "Pages.Error"},
		"page of no web":             {auth.Config{Pages: auth.Pages{NewUser: "javascript:alert(1)"}}, "Pages.NewUser"},
		"loop":                       {auth.Config{Pages: auth.Pages{SignIn: "/auth/signin"}}, "leads back to itself"},
		"loop, as URL":               {auth.Config{Pages: auth.Pages{Error: origin + "/auth/error"}}, "leads back to itself"},
		"good pages":                 {auth.Config{Pages: auth.Pages{SignIn: "/login?a=b", Error: "https://other.example/auth/error"}}, ""},
	} {
		c.config.Secret, c.config.URL = []string{secret}, origin
		_, err := auth.New(c.config)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
