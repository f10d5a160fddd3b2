package webauthn_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
)

func parties(list ...auth.RelyingParty) webauthn.Option {
	return webauthn.With(func(p *auth.WebAuthn) { p.RelyingParties = list })
}

// TestParentDomain: a passkey for the parent domain signs in on both of its
// hosts. A passkey for a host signs in on that host only.
func TestParentDomain(t *testing.T) {
	const other = "https://shop.example.com"
	store := memory.New()
	on := func(url string) *site {
		return newSite(t, func(c *auth.Config) { c.URL, c.Adapter = url, store },
			parties(auth.RelyingParty{ID: "example.com", Name: "Example", Origins: []string{origin, other}}))
	}
	app, shop := newBrowser(t, on(origin)), newBrowser(t, on(other))
	shop.origin = other
	k := softkey.New(t, softkey.ES256)
	app.wantDone(app.register(k, "ada@example.com"))
	assert.Equal(t, "example.com", k.RPID, "the passkey is for")
	shop.wantDone(shop.signIn(k))
	shop.wantSession("ada@example.com")
}

// TestAndroidOrigins: the origin of an app that is configured is accepted, byte
// for byte, and is in no list for browsers.
func TestAndroidOrigins(t *testing.T) {
	const app = "android:apk-key-hash:MRIGshcjRjb2Gy1GWAHR0GwguBktJ45VmRLsNX33RJg"
	s := newSite(t, nil, parties(auth.RelyingParty{ID: "app.example.com", Origins: []string{app, origin}}))
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	b.wantDone(b.register(k, "ada@example.com"))
	b.signOut()
	for given, ok := range map[string]bool{
		app: true, strings.Replace(app, "MRIG", "AAAA", 1): false, app + "=": false, strings.ToLower(app): false,
		"android:apk-key-hash:": false, "ios:bundle-id:MRIGshcjRjb2Gy1GWAHR0GwguBktJ45VmRLsNX33RJg": false,
	} {
		res := b.finish("authenticate", k.Authenticate(t, b.options("action=authenticate").Options, softkey.Client{Origin: given}))
		if !ok {
			b.wantRefused(res, "refused")
			continue
		}
		b.wantDone(res)
		b.signOut()
	}
	if list := b.get("/.well-known/webauthn").body; strings.Contains(list, "android") || !strings.Contains(list, origin) {
		t.Errorf("the list for browsers is %s", list)
	}
	for _, wrong := range []string{"android:apk-key-hash:short", app + "A", "android:apk-key-hash-sha512:" + app[21:]} {
		_, err := auth.New(auth.Config{
			URL: origin, Secret: []string{strings.Repeat("s", 32)}, Adapter: memory.New(), Experimental: auth.Experimental{EnableWebAuthn: true},
			Providers: []auth.Provider{webauthn.Passkey(parties(auth.RelyingParty{ID: "app.example.com", Origins: []string{origin, wrong}}))},
		})
		assert.Errorf(t, err, "New accepts the origin %s", wrong)
	}
}

// TestSeveralRelyingParties: one handler serves several sites, each with its
// own passkeys. A host that is not configured gets none, with any Host header.
func TestSeveralRelyingParties(t *testing.T) {
	one := auth.RelyingParty{ID: "one.example", Origins: []string{"https://one.example"}}
	two := auth.RelyingParty{ID: "two.example", Origins: []string{"https://two.example"}}
	s := newSite(t, func(c *auth.Config) { c.URL, c.TrustHost = "", new(true) }, parties(one, two))
	k := softkey.New(t, softkey.ES256)
	b := newBrowser(t, s)
	b.origin = "https://one.example"
	b.wantDone(b.register(k, "ada@example.com"))

	other := newBrowser(t, s)
	other.origin = "https://two.example"
	o := other.options("action=authenticate")
	assert.Containsf(t, string(o.Options), `"rpId":"two.example"`, "the options are %s", o.Options)
	// The other site refuses the answer of a passkey of the one site.
	other.wantRefused(other.finish("authenticate", k.Authenticate(t, o.Options, softkey.Client{Origin: other.origin, RPID: "one.example"})), "refused")
	// It also refuses to end a ceremony that began at the one site.
	b.signOut()
	data := k.Authenticate(t, b.options("action=authenticate").Options, b.client())
	maps.Copy(other.cookies, b.cookies)
	other.wantRefused(other.finish("authenticate", data), "expired")

	forged := newBrowser(t, s)
	forged.origin = "https://evil.example"
	res := forged.get("/auth/webauthn-options/passkey?action=authenticate")
	assert.NotEqualf(t, http.StatusOK, res.StatusCode, "a host that is not configured gets options: %s", res.body)
}

// TestHostHeaderMakesNoRelyingParty: where the Host header is trusted, passkeys
// need a relying party in the configuration. On loopback, without Config.URL,
// they need none.
func TestHostHeaderMakesNoRelyingParty(t *testing.T) {
	trusted := func(c *auth.Config) { c.URL, c.TrustHost = "", new(true) }
	loopback := func(c *auth.Config) { c.URL = "" }
	full := parties(auth.RelyingParty{ID: "app.example.com", Origins: []string{origin}})
	for name, c := range map[string]struct {
		change  func(c *auth.Config)
		options []webauthn.Option
		origin  string
		ok      bool
		reason  string
	}{
		"trusted host, nothing configured":   {trusted, nil, origin, false, "Host header"},
		"trusted host, configured":           {trusted, []webauthn.Option{full}, origin, true, ""},
		"trusted host, behind a proxy":       {trusted, []webauthn.Option{full}, "http://app.example.com", true, ""},
		"trusted loopback, nothing":          {trusted, nil, "http://localhost:3000", false, "Host header"},
		"URL":                                {nil, nil, origin, true, ""},
		"URL is an IP address":               {func(c *auth.Config) { c.URL = "https://192.0.2.7" }, nil, "https://192.0.2.7", false, "IP address"},
		"URL is an IP address of version 6":  {func(c *auth.Config) { c.URL = "https://[2001:db8::7]" }, nil, "https://[2001:db8::7]", false, "IP address"},
		"loopback is an IP address":          {func(c *auth.Config) { c.URL = "http://127.0.0.1:3000" }, nil, "http://127.0.0.1:3000", false, "IP address"},
		"http that is not on loopback":       {func(c *auth.Config) { c.URL = "http://app.example.com" }, nil, "http://app.example.com", false, "https"},
		"chosen by the application":          {trusted, []webauthn.Option{webauthn.With(choose("app.example.com"))}, origin, true, ""},
		"badly chosen by the application":    {trusted, []webauthn.Option{webauthn.With(choose("com"))}, origin, false, "top-level"},
		"loopback that is trusted by itself": {loopback, nil, "http://localhost:3000", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.change, c.options...)
			b := newBrowser(t, s)
			b.origin = c.origin
			res := b.get("/auth/webauthn-options/passkey?action=authenticate")
			ok := res.StatusCode == http.StatusOK
			assert.Equalf(t, c.ok, ok, "status %d, %s, want options: %v\n%s", res.StatusCode, res.body, c.ok, s.log.String())
			log := s.log.String()
			assert.Truef(t, c.reason == "" || strings.Contains(log, c.reason), "the log does not say %q:\n%s", c.reason, log)
		})
	}
}

func choose(id string) func(p *auth.WebAuthn) {
	return func(p *auth.WebAuthn) {
		p.GetRelyingParty = func(context.Context, *http.Request) (auth.RelyingParty, error) {
			return auth.RelyingParty{ID: id, Origins: []string{origin}}, nil
		}
	}
}

// TestRelatedOrigins: the well-known path lists the origins of a relying party
// on the relying party's own host only.
func TestRelatedOrigins(t *testing.T) {
	rp := auth.RelyingParty{ID: "app.example.com", Origins: []string{origin, "https://app.example.de"}}
	s := newSite(t, nil, parties(rp))
	b := newBrowser(t, s)
	res := b.get("/.well-known/webauthn")
	assert.Truef(t, res.StatusCode == http.StatusOK && res.body == `{"origins":["https://app.example.com","https://app.example.de"]}` && res.Header.Get("Content-Type") == "application/json",
		"status %d, %v, %s", res.StatusCode, res.Header, res.body)
	k := softkey.New(t, softkey.ES256)
	o := b.options("action=register&email=ada@example.com")
	b.wantDone(b.finish("register", k.Register(t, o.Options, softkey.Client{Origin: "https://app.example.de"})))
	assert.Equal(t, http.StatusNotFound, newBrowser(t, newSite(t, nil)).get("/.well-known/webauthn").StatusCode,
		"a site without relying parties answers with status")
}

// TestOriginsThatBrowsersPassOver: browsers read five different labels from the
// list of related origins. New refuses more. One label under many public
// suffixes counts once, and so do many hosts under one label.
func TestOriginsThatBrowsersPassOver(t *testing.T) {
	five := []string{origin, "https://two.com", "https://three.co.uk", "https://four.github.io", "https://five.de"}
	for name, c := range map[string]struct {
		list []auth.RelyingParty
		ok   bool
	}{
		"five":                      {[]auth.RelyingParty{{ID: "app.example.com", Origins: five}}, true},
		"six":                       {[]auth.RelyingParty{{ID: "app.example.com", Origins: append(slices.Clone(five), "https://six.com")}}, false},
		"six names of one suffix":   {[]auth.RelyingParty{{ID: "app.example.com", Origins: append(slices.Clone(five), "https://six.github.io")}}, false},
		"one name, many suffixes":   {[]auth.RelyingParty{{ID: "app.example.com", Origins: append(slices.Clone(five), "https://two.co.uk", "https://two.de", "https://two.fr")}}, true},
		"one name, many hosts":      {[]auth.RelyingParty{{ID: "app.example.com", Origins: append(slices.Clone(five), "https://a.two.com", "https://b.a.two.com", "https://two.com:8443")}}, true},
		"five for each of two":      {[]auth.RelyingParty{{ID: "app.example.com", Origins: five}, {ID: "six.com", Origins: []string{"https://six.com"}}}, true},
		"six in two of the same ID": {[]auth.RelyingParty{{ID: "app.example.com", Origins: five}, {ID: "app.example.com", Origins: []string{"https://six.com"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.New(auth.Config{
				Secret: []string{secret}, URL: origin, Adapter: memory.New(), Experimental: auth.Experimental{EnableWebAuthn: true},
				Providers: []auth.Provider{webauthn.Passkey(parties(c.list...))},
			})
			assert.Falsef(t, (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "different names"),
				"got %v", err)
		})
	}
}

// TestChosenOriginsThatBrowsersPassOver: the log warns if the application
// chooses a relying party with more labels than browsers read. The ceremony
// continues.
func TestChosenOriginsThatBrowsersPassOver(t *testing.T) {
	five := []string{origin, "https://two.com", "https://three.co.uk", "https://four.github.io", "https://five.de"}
	for name, list := range map[string][]string{"five": five, "six": append(slices.Clone(five), "https://six.com")} {
		s := newSite(t, nil, webauthn.With(func(p *auth.WebAuthn) {
			p.GetRelyingParty = func(context.Context, *http.Request) (auth.RelyingParty, error) {
				return auth.RelyingParty{ID: "app.example.com", Origins: list}, nil
			}
		}))
		b := newBrowser(t, s)
		b.wantDone(b.register(softkey.New(t, softkey.ES256), "ada@example.com"))
		log := s.log.String()
		assert.Equalf(t, len(list)-5, strings.Count(log, "different names"), "%s: the warnings in\n%s", name, log)
		assert.NotContains(t, log, "level=ERROR", name)
	}
}

// TestConfigurationErrors: New refuses settings that can't work, and says what
// to do.
func TestConfigurationErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *auth.Config)
		option webauthn.Option
		want   string
	}{
		"not enabled":                  {func(c *auth.Config) { c.Experimental.EnableWebAuthn = false }, nil, "EnableWebAuthn"},
		"no adapter":                   {func(c *auth.Config) { c.Adapter = nil }, nil, "MissingAdapter"},
		"adapter without passkeys":     {func(c *auth.Config) { c.Adapter = noPasskeys{memory.New()} }, nil, "CreateAuthenticator"},
		"attestation without anchors":  {nil, webauthn.With(func(p *auth.WebAuthn) { p.Attestation = "direct" }), "trust anchors"},
		"attestation with no anchors":  {nil, webauthn.WithAttestation("direct", webauthn.Trust{}), "trust anchors"},
		"unknown attestation":          {nil, webauthn.With(func(p *auth.WebAuthn) { p.Attestation = "all" }), "Attestation"},
		"unknown user verification":    {nil, webauthn.With(func(p *auth.WebAuthn) { p.UserVerification = "yes" }), "UserVerification"},
		"algorithm that is not signed": {nil, webauthn.With(func(p *auth.WebAuthn) { p.Algorithms = []int{-65535} }), "-65535"},
		"no algorithm":                 {nil, webauthn.With(func(p *auth.WebAuthn) { p.Algorithms = []int{} }), "Algorithms"},
		"timeout beyond the challenge": {nil, webauthn.With(func(p *auth.WebAuthn) { p.Timeout = 1 << 50 }), "Timeout"},
		"ID with a scheme":             {nil, parties(auth.RelyingParty{ID: "https://example.com", Origins: []string{origin}}), "domain name"},
		"ID with a port":               {nil, parties(auth.RelyingParty{ID: "example.com:443", Origins: []string{origin}}), "domain name"},
		"ID that is an IP address":     {nil, parties(auth.RelyingParty{ID: "127.0.0.1", Origins: []string{origin}}), "IP address"},
		"ID that is a whole domain":    {nil, parties(auth.RelyingParty{ID: "com", Origins: []string{origin}}), "top-level"},
		"no origins":                   {nil, parties(auth.RelyingParty{ID: "example.com"}), "Origins"},
		"origin with a path":           {nil, parties(auth.RelyingParty{ID: "example.com", Origins: []string{origin + "/"}}), "not in the form of browsers"},
		"origin without encryption":    {nil, parties(auth.RelyingParty{ID: "example.com", Origins: []string{"http://example.com"}}), "https"},
		"two offers in the autofill":   {func(c *auth.Config) { c.Providers = append(c.Providers, webauthn.WebAuthn()) }, nil, "DuplicateConditionalUI"},
		"field without autofill":       {nil, webauthn.With(func(p *auth.WebAuthn) { p.FormFields = []auth.Field{{Name: "email"}} }), "autocomplete"},
		"accepts what it demands":      {nil, webauthn.With(func(p *auth.WebAuthn) { p.DangerouslyAcceptUnverifiedUsers = true }), "contradicts"},
	} {
		t.Run(name, func(t *testing.T) {
			config := auth.Config{
				Secret: []string{secret}, URL: origin, Adapter: memory.New(), Experimental: auth.Experimental{EnableWebAuthn: true},
			}
			if c.option != nil {
				config.Providers = []auth.Provider{webauthn.Passkey(c.option)}
			} else {
				config.Providers = []auth.Provider{webauthn.Passkey()}
			}
			if c.change != nil {
				c.change(&config)
			}
			_, err := auth.New(config)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// noPasskeys is an adapter without the methods for passkeys.
type noPasskeys struct{ adapter.Adapter }

func (noPasskeys) Missing() []string {
	return []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"}
}

// TestUserVerification: user verification is required if the options ask for
// it.
func TestUserVerification(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *auth.WebAuthn)
		asked  string
		ok     bool
	}{
		"required":             {func(p *auth.WebAuthn) { p.UserVerification = "required" }, "required", false},
		"preferred":            {func(p *auth.WebAuthn) { p.UserVerification = "preferred" }, "preferred", false},
		"preferred, not meant": {func(p *auth.WebAuthn) { p.UserVerification, p.DangerouslyAcceptUnverifiedUsers = "preferred", true }, "preferred", true},
		"discouraged":          {func(p *auth.WebAuthn) { p.UserVerification = "discouraged" }, "discouraged", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, newSite(t, nil, webauthn.With(c.change)))
			k := softkey.New(t, softkey.ES256)
			o := b.options("action=register&email=ada@example.com")
			assert.Containsf(t, string(o.Options), `"userVerification":"`+c.asked+`"`, "the options are %s", o.Options)
			b.wantDone(b.finish("register", k.Register(t, o.Options, b.client())))
			b.signOut()
			k.Flags &^= softkey.UV
			if res := b.signIn(k); c.ok {
				b.wantDone(res)
			} else {
				b.wantRefused(res, "refused")
			}
		})
	}
}

// TestWithoutAddress: a new user to whom the application gives no address can
// register, and a signed-in user without an address can add a passkey.
func TestWithoutAddress(t *testing.T) {
	s := newSite(t, nil, webauthn.With(func(p *auth.WebAuthn) {
		p.GetUserInfo = func(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, bool, error) {
			if form.Get("nick") == "" {
				return nil, false, nil
			}
			return &auth.User{Name: form.Get("nick")}, false, nil
		}
	}))
	b := newBrowser(t, s)
	k, second := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
	o := b.options("action=register&nick=ada")
	b.wantDone(b.finish("register", k.Register(t, o.Options, b.client())))
	b.wantSession(`"name":"ada"`)
	o = b.options("action=register")
	assert.Containsf(t, string(o.Options), `"name":"ada"`, "the options are %s", o.Options)
	b.wantDone(b.finish("register", second.Register(t, o.Options, b.client())))
	b.signOut()
	b.wantDone(b.signIn(second))
	b.wantSession(`"name":"ada"`)
	res := newBrowser(t, s).get("/auth/webauthn-options/passkey?action=register")
	assert.Equalf(t, http.StatusBadRequest, res.StatusCode, "nobody registers: status %d, %s", res.StatusCode, res.body)
}

// TestSignInCallbackDecides: Callbacks.SignIn may refuse a passkey, or send the
// browser elsewhere.
func TestSignInCallbackDecides(t *testing.T) {
	decision := auth.Deny()
	s := newSite(t, func(c *auth.Config) {
		c.Callbacks.SignIn = func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
			assert.Truef(t, p.Account.Type == auth.TypeWebAuthn && p.Account.Provider == "passkey" && p.User.Email == "ada@example.com",
				"the callback got %+v, %+v", p.User, p.Account)
			return decision, nil
		}
	})
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	b.register(k, "ada@example.com").wantLocation(t, origin+"/auth/error?error=AccessDenied")
	assert.Nil(t, s.authenticatorsOf(t, "ada@example.com"), "the store")
	decision = auth.Allow()
	b.wantDone(b.register(k, "ada@example.com"))
	b.signOut()
	decision = auth.DenyTo("/pay-first")
	b.signIn(k).wantLocation(t, origin+"/pay-first")
	decision = auth.DenyTo("https://other.example/pay-first")
	b.signIn(k).wantLocation(t, "https://other.example/pay-first")
	b.wantNobody()
}
