package auth_test

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/gatehouse-go/gatehouse/auth/texts"
	"github.com/stretchr/testify/assert"
)

// TestSettingsThatCannotWork: settings that can't work are refused at the
// start, and others are not.
func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	listed := func(origins ...string) auth.Config { return auth.Config{Origins: origins} }
	store, send := newKeeper(), func(context.Context, pw.Mail) error { return nil }
	kept := func(settings pw.Settings) auth.Provider { return pw.Provider(store, settings) }
	passwords := func(a adapter.Adapter, p ...auth.Provider) auth.Config { return auth.Config{Adapter: a, Providers: p} }
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
		"base path with a scheme":    {auth.Config{BasePath: "https://app.example.com/auth"}, `BasePath "https://app.example.com/auth" must be a path`},
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

		// What a URL says besides origin and path is not dropped, and two paths that differ are refused.
		"URL and base path differ": {auth.Config{URL: origin + "/a", BasePath: "/b"}, "BasePath"},
		"URL with a query":         {auth.Config{URL: origin + "?a=b"}, "no query"},
		"URL with a fragment":      {auth.Config{URL: origin + "#a"}, "no fragment"},
		"URL with a user":          {auth.Config{URL: "https://user:secret@app.example.com"}, "no user"},
		"home on another host":     {auth.Config{Home: "//evil.example"}, "Config.Home"},
		"relative home":            {auth.Config{Home: "app"}, "Config.Home"},
		"home of no web":           {auth.Config{Home: "javascript:alert(1)"}, "Config.Home"},

		"URL and origins":            {auth.Config{URL: origin, Origins: []string{origin}}, "set either Config.URL"},
		"origin without a scheme":    {listed("app.example.com"), "Config.Origins[0] is"},
		"origin in capitals":         {listed(origin, "https://App.example.com"), "Config.Origins[1] is"},
		"origins with one host":      {listed("https://example.de", "http://example.de"), "has the host example.de"},
		"origin with a path":         {listed("https://a.de/auth"), `is "https://a.de/auth"`},
		"origin with a user":         {listed("https://u@a.de"), `is "https://u@a.de"`},
		"origin with the usual port": {listed("https://a.de:443"), `is "https://a.de:443"`},

		"fewer than no proxies": {auth.Config{TrustedProxyCount: -1}, "TrustedProxyCount"},
		"count and networks":    {auth.Config{TrustedProxyCount: 1, TrustedProxies: networks}, "TrustedProxyCount"},

		"texts of no language":  {auth.Config{Texts: []texts.Texts{{}}}, "Config.Texts[0] (): the Language is"},
		"text of another value": {auth.Config{Texts: []texts.Texts{{Language: "en", SignIn: texts.SignIn{Title: "{sight}"}}}}, "SignIn.Title has the value {sight}"},
		"texts twice":           {auth.Config{Texts: []texts.Texts{{Language: "en"}, {Language: "EN"}}}, "Config.Texts[1]: there is another one"},
		"name of two lines":     {auth.Config{Theme: auth.Theme{Name: "two\r\nlines"}}, "Config.Theme.Name must be one line of text"},

		"passwords without an adapter":   {passwords(nil, kept(pw.Settings{Send: send})), "set Config.Adapter"},
		"passwords of another adapter":   {passwords(newCapable(), kept(pw.Settings{Send: send})), "SchemaChanges"},
		"passwords of no adapter":        {passwords(store, pw.Provider(nil, pw.Settings{Send: send})), "its adapter is not"},
		"passwords for any host":         {auth.Config{TrustHost: new(true), Adapter: store, Providers: []auth.Provider{kept(pw.Settings{Send: send})}}, "set Config.URL"},
		"passwords without mails":        {passwords(store, kept(pw.Settings{})), "one of Settings.Server"},
		"passwords without a sender":     {passwords(store, kept(pw.Settings{Server: "smtp://localhost"})), "From is missing"},
		"short passwords":                {passwords(store, kept(pw.Settings{Send: send, Rules: pw.Rules{MinCharacters: 6}})), "Rules.MinCharacters is 6"},
		"cheap hashes":                   {passwords(store, kept(pw.Settings{Send: send, Hashing: pw.Options{Argon2: fastHashing.Argon2}})), "less than OWASP"},
		"passwords twice":                {passwords(store, kept(pw.Settings{Send: send}), kept(pw.Settings{Send: send})), "another provider has the same ID"},
		"passwords with a faulty sender": {passwords(store, &auth.Email{Server: "smtp://localhost", From: "x"}, kept(pw.Settings{})), "From is missing or is not an e-mail addr"},
	} {
		c.config.Secret = []string{secret}
		if c.config.Origins == nil && c.config.TrustHost == nil {
			c.config.URL = cmp.Or(c.config.URL, origin)
		}
		_, err := auth.New(c.config)
		if c.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, c.want, name)
		assert.NotContains(t, fmt.Sprint(err), "user:secret", name)
	}
}
