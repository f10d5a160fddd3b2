package auth

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/envname"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// check lists everything that is wrong with the configuration.
func (e *engine) check() []error {
	c := &e.config
	var problems []error
	problem := func(t ErrorType, format string, args ...any) {
		problems = append(problems, &Error{Type: t, Message: fmt.Sprintf(format, args...)})
	}
	if c.URL != "" {
		switch u, err := url.Parse(c.URL); {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			problem(ErrAuth, "Config.URL (AUTH_URL) is not an http(s) URL")
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil:
			problem(ErrAuth, "Config.URL (AUTH_URL) must have no user, no query and no fragment")
		case !c.urlPathIgnored && strings.Trim(u.Path, "/") != "" && cleanBasePath(u.Path) != e.basePath:
			problem(ErrAuth, "Config.URL (AUTH_URL) has the path %q and BasePath is %q: make them equal, or leave the path of the URL out", u.Path, c.BasePath)
		}
	}
	c.checkOrigins(problem)
	if !isBasePath(c.BasePath) {
		problem(ErrAuth, "Config.BasePath %q must be a path such as /app/auth, of ASCII letters, digits and signs that need no escape, without . or .. as a segment", c.BasePath)
	}
	if c.TrustedProxyCount < 0 || c.TrustedProxyCount > 0 && len(c.TrustedProxies) > 0 {
		problem(ErrAuth, "set either Config.TrustedProxies or a positive Config.TrustedProxyCount")
	}
	if c.Home != "" && !isPage(c.Home) {
		problem(ErrAuth, "Config.Home is %q, want a path such as /app, or an http(s) URL", c.Home)
	}
	if strings.ContainsFunc(c.Theme.Name, unicode.IsControl) {
		problem(ErrAuth, "Config.Theme.Name must be one line of text")
	}
	c.checkRedirectProxy(problem)
	if c.Session.MaxAge < 0 || *c.Session.UpdateAge < 0 || c.JWT.MaxAge < 0 || c.Session.AbsoluteMaxAge < 0 {
		problem(ErrAuth, "MaxAge, UpdateAge and AbsoluteMaxAge must not be negative")
	}
	if c.MaxBodySize < 0 {
		problem(ErrAuth, "MaxBodySize must not be negative")
	}
	for _, spec := range e.cookies.plain.All() {
		cookie := spec.Template
		cookie.Name, cookie.Value, cookie.Partitioned = spec.Name, "x", false
		if err := cookie.Valid(); err != nil {
			problem(ErrAuth, "Config.Cookies: %q: %v", spec.Name, err)
		}
	}
	c.checkCookies(&e.cookies.plain, &e.cookies.secure, e.site.origin, problem)
	c.checkPages(e.basePath, e.site.origin, problem)
	c.checkProviders(problem)
	c.checkStrategy(e.byID, problem)
	return problems
}

// knowsItsHosts says that no Host header can put another site into a URL.
func (c *Config) knowsItsHosts() bool { return c.URL != "" || len(c.Origins) > 0 }

// reporter adds a problem to the list of check.
type reporter func(t ErrorType, format string, args ...any)

// checkOrigins checks Config.Origins.
func (c *Config) checkOrigins(problem reporter) {
	if c.URL != "" && len(c.Origins) > 0 {
		problem(ErrAuth, "set either Config.URL (AUTH_URL) or Config.Origins")
	}
	hosts := map[string]bool{}
	for i, o := range c.Origins {
		u, err := url.Parse(o)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || wire.OriginOf(u) != o:
			problem(ErrAuth, "Config.Origins[%d] is %q, want scheme, host and port in small letters, such as https://app.example.com", i, o)
		case hosts[u.Host]:
			problem(ErrAuth, "Config.Origins[%d]: another one has the host %s", i, u.Host)
		default:
			hosts[u.Host] = true
		}
	}
}

// checkProviders checks each provider on its own.
func (c *Config) checkProviders(add reporter) {
	problem := func(t ErrorType, p Provider, format string, args ...any) {
		add(t, "provider %q: %s", p.id(), fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	conditional := 0
	for i, p := range c.Providers {
		if isNil(p) {
			add(ErrInvalidProvider, "Config.Providers[%d] is nil", i)
			continue
		}
		id := p.id()
		switch {
		case id == "":
			problem(ErrInvalidProvider, p, "the ID is missing")
		case url.PathEscape(id) != id || id == "undefined" || id == "." || id == "..":
			problem(ErrInvalidProvider, p, "the ID can't be part of a URL")
		case seen[id]:
			problem(ErrInvalidProvider, p, "another provider has the same ID")
		}
		seen[id] = true
		switch p := p.(type) {
		case *OAuth:
			checkOAuth(p, problem)
		case *Credentials:
			if p.Authorize == nil {
				problem(ErrMissingAuthorize, p, "Authorize is missing")
			}
		case *Password:
			c.checkPassword(p, problem)
		case *Email:
			if p.Server == "" && p.SendVerificationRequest == nil {
				problem(ErrInvalidProvider, p, "one of Server and SendVerificationRequest is needed")
			}
			if p.SendVerificationRequest == nil && p.Server != "" {
				if _, err := smtpClient(context.Background(), p.Server); err != nil {
					problem(ErrInvalidProvider, p, "%v", err)
				}
				if _, err := mail.ParseAddress(p.From); err != nil {
					problem(ErrInvalidProvider, p, "From is missing or is not an e-mail address")
				}
			}
			if p.MaxAge < 0 {
				problem(ErrInvalidProvider, p, "MaxAge must not be negative")
			}
			if p.Code {
				c.checkCode(p, problem)
			}
		case *WebAuthn:
			if !c.Experimental.EnableWebAuthn {
				problem(ErrExperimentalFeatureNotEnabled, p, "set Experimental.EnableWebAuthn")
			}
			checkWebAuthn(p, problem)
			if p.EnableConditionalUI {
				if conditional++; conditional > 1 {
					problem(ErrDuplicateConditionalUI, p, "only one provider can have EnableConditionalUI")
				}
				if p.FormFields != nil && !slices.ContainsFunc(p.FormFields, func(f Field) bool {
					return strings.Contains(f.Attributes["autocomplete"], "webauthn")
				}) {
					problem(ErrMissingWebAuthnAutocomplete, p, "conditional UI needs a form field whose attribute autocomplete contains webauthn")
				}
			}
		}
	}
}

// checkCode checks a provider with Email.Code.
func (c *Config) checkCode(p *Email, problem func(ErrorType, Provider, string, ...any)) {
	if p.GenerateVerificationToken != nil {
		problem(ErrInvalidProvider, p, "set either Code or GenerateVerificationToken")
	}
	if p.MaxAge > codeMaxAge {
		problem(ErrInvalidProvider, p, "MaxAge is %v, and with Code a mail is valid for %v at most", p.MaxAge, codeMaxAge)
	}
	if !c.knowsItsHosts() {
		problem(ErrInvalidProvider, p, "Code needs Config.URL (AUTH_URL) or Config.Origins: a Host header that a stranger chose must not stand in a mail with a code")
	}
	if _, ok := adapter.Capability[adapter.TokenEdits](c.Adapter); c.Adapter != nil && !ok {
		problem(ErrMissingAdapterMethods, p, "Code needs an adapter with adapter.TokenEdits")
	}
}

func isNil(p Provider) bool { return p == nil || reflect.ValueOf(p).IsNil() }

func checkOAuth(p *OAuth, problem func(ErrorType, Provider, string, ...any)) {
	if k := p.kind(); k != TypeOAuth && k != TypeOIDC {
		problem(ErrInvalidProvider, p, "Type is %q, want %q or %q", k, TypeOAuth, TypeOIDC)
	}
	variable := envname.Of(cmp.Or(p.EnvID, p.ID))[0]
	if p.ClientID == "" {
		problem(ErrInvalidProvider, p, "ClientID is missing; set it or the environment variable AUTH_%s_ID", variable)
	}
	switch method := p.Client.TokenEndpointAuthMethod; method {
	case "", ClientSecretBasic, ClientSecretPost, ClientSecretJWT:
		if p.ClientSecret == "" && p.Token.Request == nil {
			problem(ErrInvalidProvider, p, "ClientSecret is missing; set it or the environment variable AUTH_%s_SECRET", variable)
		}
	case PrivateKeyJWT, ClientAuthNone:
	default:
		problem(ErrInvalidProvider, p, "Client.TokenEndpointAuthMethod is %q, which is not an authentication method", method)
	}
	if a := p.clientAuth(nil); a.Method == oauth.PrivateKeyJWT || a.Secret != "" {
		if err := a.Check(); err != nil {
			problem(ErrInvalidProvider, p, "Client: %v", err)
		}
	}
	for _, x := range []struct{ name, algorithm string }{
		{"IDTokenSignedResponseAlg", p.Client.IDTokenSignedResponseAlg}, {"UserInfoSignedResponseAlg", p.Client.UserInfoSignedResponseAlg},
	} {
		switch {
		case x.algorithm == "":
		case !oauth.Supports(x.algorithm):
			problem(ErrInvalidProvider, p, "Client.%s is %q, which is not supported", x.name, x.algorithm)
		case x.algorithm == "HS256" && p.ClientSecret == "":
			problem(ErrInvalidProvider, p, "Client.%s is HS256, which needs a ClientSecret", x.name)
		}
	}
	if size := p.macKeySize(); 0 < len(p.ClientSecret) && len(p.ClientSecret) < size && !p.Client.DangerouslyAcceptShortSecret && !p.onLoopback() {
		problem(ErrInvalidProvider, p, "ClientSecret is used as a signature key and has %d bytes, so it can be guessed; it needs at least %d (OpenID Connect Core 1.0 section 16.19)", len(p.ClientSecret), size)
	}
	if p.Client.DefaultMaxAge < 0 {
		problem(ErrInvalidProvider, p, "Client.DefaultMaxAge must not be negative")
	}
	if len(p.Checks) > 1 && slices.Contains(p.Checks, CheckNone) {
		problem(ErrInvalidProvider, p, "Checks contains CheckNone and other checks")
	}
	for _, c := range p.Checks {
		switch c {
		case CheckNone, CheckState, CheckPKCE:
		case CheckNonce:
			if p.kind() != TypeOIDC {
				problem(ErrInvalidProvider, p, "the nonce check needs Type oidc")
			}
		default:
			problem(ErrInvalidProvider, p, "Checks has %q, which is not a check", c)
		}
	}
	for _, err := range p.checkEndpoints() {
		problem(ErrInvalidEndpoints, p, "%v", err)
	}
	if p.Issuer != "" || strings.HasPrefix(p.WellKnown, "https:") {
		return
	}
	switch {
	case p.WellKnown != "":
		problem(ErrInvalidEndpoints, p, "WellKnown is not https, so it needs Issuer too")
	case p.JWKS != "":
		problem(ErrInvalidEndpoints, p, "JWKS needs an Issuer")
	case p.Authorization.URL == "":
		problem(ErrInvalidEndpoints, p, "without an Issuer, Authorization.URL is needed")
	case p.Token.URL == "" && p.Token.Request == nil:
		problem(ErrInvalidEndpoints, p, "without an Issuer, Token is needed")
	case p.UserInfo.URL == "" && p.UserInfo.Request == nil:
		problem(ErrInvalidEndpoints, p, "without an Issuer, UserInfo is needed")
	}
}

// macKeySize is how many bytes the client secret needs as the key of signatures, or
// zero if nothing is signed with it.
func (p *OAuth) macKeySize() int {
	sizes := map[string]int{"HS256": 32, "HS384": 48, "HS512": 64}
	size := max(sizes[p.Client.IDTokenSignedResponseAlg], sizes[p.Client.UserInfoSignedResponseAlg])
	if p.Client.TokenEndpointAuthMethod == ClientSecretJWT {
		size = max(size, sizes[cmp.Or(p.Client.TokenEndpointAuthSigningAlg, "HS256")])
	}
	return size
}

// onLoopback reports whether the provider is on this machine, where nobody else
// sees what it signs.
func (p *OAuth) onLoopback() bool {
	return wire.IsLoopback(cmp.Or(p.Issuer, p.WellKnown, p.Token.URL))
}

// checkStrategy checks providers, adapter and session strategy together.
func (c *Config) checkStrategy(byID map[string]Provider, problem reporter) {
	types := map[ProviderType]bool{}
	for _, p := range byID {
		types[p.kind()] = true
	}
	database := c.Session.Strategy == StrategyDatabase
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if p, ok := byID[id].(*Credentials); ok && database && !p.UsesAdapterIDs {
			problem(ErrUnsupportedStrategy, "provider %s: a database session belongs to a user of the adapter: set Credentials.UsesAdapterIDs if Authorize "+
				"returns the adapter's users, or Session.Strategy to StrategyJWT", id)
		}
	}
	if !database && c.Session.Strategy != StrategyJWT {
		problem(ErrUnsupportedStrategy, "Session.Strategy is %q, want %q or %q", c.Session.Strategy, StrategyJWT, StrategyDatabase)
	}
	if c.Adapter == nil {
		for _, t := range []ProviderType{TypeEmail, TypeWebAuthn} {
			if types[t] {
				problem(ErrMissingAdapter, "a provider of type %s needs Config.Adapter", t)
			}
		}
		if database {
			problem(ErrMissingAdapter, "StrategyDatabase needs Config.Adapter")
		}
		return
	}
	missing := adapter.Missing(c.Adapter)
	has := func(method string) bool { return !slices.Contains(missing, method) }
	if lacking := slices.DeleteFunc(neededMethods(types, database), has); len(lacking) > 0 {
		problem(ErrMissingAdapterMethods, "%s", strings.Join(lacking, ", "))
	}
}

// signUpsWithoutEmail names the providers with which nobody can sign up if the adapter
// requires an address, because the provider or its form has none. Users who are there
// can sign in with them.
func (c *Config) signUpsWithoutEmail() (names []string) {
	for _, p := range c.Providers {
		switch p := p.(type) {
		case *OAuth:
			if p.NoEmail {
				names = append(names, p.id())
			}
		case *WebAuthn:
			if p.FormFields != nil && !slices.ContainsFunc(p.FormFields, Field.isEmail) {
				if p.GetUserInfo != nil {
					names = append(names, p.id()+" (passkeys, unless GetUserInfo returns an address)")
				} else {
					names = append(names, p.id()+" (passkeys)")
				}
			}
		}
	}
	return names
}

// isEmail reports whether a person enters an e-mail address into the field.
func (f Field) isEmail() bool {
	return f.Name == "email" || f.Type == "email" || f.Attributes["type"] == "email"
}

// neededMethods lists the methods of an adapter that are called, in the order
// of its interfaces.
func neededMethods(has map[ProviderType]bool, database bool) []string {
	oauth := has[TypeOAuth] || has[TypeOIDC]
	var methods []string
	need := func(when bool, names ...string) {
		if when {
			methods = append(methods, names...)
		}
	}
	need(oauth || has[TypeEmail] || has[TypeWebAuthn], "CreateUser", "GetUser", "GetUserByEmail")
	need(oauth || has[TypeWebAuthn], "GetUserByAccount")
	need(has[TypeEmail], "UpdateUser")
	need(oauth || has[TypeWebAuthn], "LinkAccount")
	need(has[TypeWebAuthn], "GetAccount")
	need(has[TypeCredentials] && database, "GetUser")
	need(database, "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession")
	need(has[TypeEmail], "CreateVerificationToken", "UseVerificationToken")
	need(has[TypeWebAuthn], "CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter")
	return methods
}

// checkCookies lists settings of cookies that can't work in a browser (RFC 6265bis
// sections 4.1.3 and 5.7).
func (c *Config) checkCookies(plain, secure *wire.CookieSpecs, origin string, add reporter) {
	problem := func(spec *wire.CookieSpec, message string) {
		add(ErrAuth, "Config.Cookies: %q: %s", spec.Name, message)
	}
	for _, specs := range c.cookieSets(plain, secure, origin) {
		seen := map[string]bool{}
		for _, spec := range specs.All() {
			t := &spec.Template
			name := strings.ToLower(spec.Name)
			secure := t.Secure || specs == plain && c.UseSecureCookies == nil
			switch {
			case seen[spec.Name]:
				problem(spec, "two cookies have this name")
			case strings.HasPrefix(name, "__host-") && (t.Domain != "" || t.Path != "/" || !secure):
				problem(spec, "a name with __Host- must be Secure, with the Path / and without a Domain")
			case strings.HasPrefix(name, "__secure-") && !secure:
				problem(spec, "a name with __Secure- must be Secure")
			case t.SameSite == http.SameSiteNoneMode && !secure:
				problem(spec, "SameSite=None must be Secure")
			}
			seen[spec.Name] = true
		}
	}
	for _, given := range []CookieConfig{
		c.Cookies.SessionToken, c.Cookies.CallbackURL, c.Cookies.CSRFToken, c.Cookies.PKCECodeVerifier, c.Cookies.State, c.Cookies.Nonce, c.Cookies.WebAuthnChallenge,
	} {
		switch given.Priority {
		case "", "Low", "Medium", "High":
		default:
			add(ErrAuth, "Config.Cookies: Priority is %q, want Low, Medium or High", given.Priority)
		}
	}
}

// cookieSets are the sets of cookies that requests may use.
func (c *Config) cookieSets(plain, secure *wire.CookieSpecs, origin string) []*wire.CookieSpecs {
	https, both := strings.HasPrefix(origin, "https:"), origin == ""
	if c.UseSecureCookies != nil {
		https, both = *c.UseSecureCookies, false
	}
	switch {
	case both:
		return []*wire.CookieSpecs{plain, secure}
	case https:
		return []*wire.CookieSpecs{secure}
	}
	return []*wire.CookieSpecs{plain}
}

// checkPages lists pages that the browser would not find, or that lead back to
// the route that sends the browser there.
func (c *Config) checkPages(basePath, origin string, problem reporter) {
	p := &c.Pages
	for _, page := range []struct {
		name, url string
		action    Action
	}{
		{"SignIn", p.SignIn, ActionSignIn}, {"SignOut", p.SignOut, ActionSignOut}, {"Error", p.Error, ActionError},
		{"VerifyRequest", p.VerifyRequest, ActionVerifyRequest}, {"NewUser", p.NewUser, ""},
	} {
		if page.url == "" {
			continue
		}
		u, err := url.Parse(page.url)
		switch {
		case err != nil || !isPage(page.url):
			problem(ErrAuth, "Config.Pages.%s is %q, want a path such as /login, or an http(s) URL", page.name, page.url)
		case page.action != "" && u.Path == basePath+"/"+string(page.action) && (u.Host == "" || wire.OriginOf(u) == origin):
			problem(ErrErrorPageLoop, "Config.Pages.%s is the route that it replaces, so it leads back to itself", page.name)
		}
	}
}

// isPage reports whether s is a path of the site or an http(s) URL.
func isPage(s string) bool {
	if strings.HasPrefix(s, "/") {
		_, err := url.Parse(s)
		return err == nil && s == onSite(s)
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// minSecret is the least number of characters of a secret. Everybody gets a
// CSRF cookie, and with the hash in it can test guesses of the secret without
// asking the site. So a secret must be impossible to guess, also on the machine
// of a developer.
const minSecret = 32

// checkSecrets lists what is wrong with the secrets: a secret is missing, or is
// so short that it can be guessed.
func (c *Config) checkSecrets() []error {
	var problems []error
	problem := func(message string) {
		problems = append(problems, &Error{Type: ErrMissingSecret, Message: message})
	}
	if len(c.Secret) == 0 || slices.Contains(c.Secret, "") {
		problem("set Config.Secret or AUTH_SECRET to at least 32 random characters")
	}
	short := func(name string, secrets []string) {
		for i, s := range secrets {
			tail := i > 0 && c.DangerouslyAcceptShortSecrets
			if s != "" && utf8.RuneCountInString(s) < minSecret && !tail {
				problem(name + " has fewer than 32 characters, so it can be guessed; make one with openssl rand -hex 32")
				return
			}
		}
	}
	short("Config.Secret (AUTH_SECRET)", c.Secret)
	if !slices.Equal(c.JWT.Secret, c.Secret) {
		if slices.Contains(c.JWT.Secret, "") {
			problem("a secret of Config.JWT.Secret is empty")
		}
		short("Config.JWT.Secret", c.JWT.Secret)
	}
	for _, p := range c.Providers {
		if p, ok := p.(*Email); ok && p != nil {
			if slices.Contains(p.Secret, "") {
				problem("provider \"" + p.id() + "\": a Secret is empty")
			}
			short("provider \""+p.id()+"\": Secret", p.Secret)
		}
	}
	return problems
}

// isBasePath reports whether browsers send requests below a path as it is
// written: each character may stand in a path (RFC 3986 section 3.3), and no
// segment is removed on the way.
func isBasePath(path string) bool {
	if strings.HasPrefix(path, "//") { // browsers take what follows for a host
		return false
	}
	path = strings.Trim(path, "/")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." || segment == "" && path != "" {
			return false
		}
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alphanumeric && !strings.ContainsRune("/-._~!$&'()*+,;=:@", r)
	}) && !strings.Contains(path, ":/")
}
