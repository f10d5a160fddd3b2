package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNewReportsEverything: all problems of a configuration are reported at
// once.
func TestNewReportsEverything(t *testing.T) {
	webauthn := func(id string) *auth.WebAuthn {
		return &auth.WebAuthn{ID: id, EnableConditionalUI: true, FormFields: []auth.Field{{Name: "email"}}}
	}
	_, err := auth.New(auth.Config{
		Secret: []string{""}, URL: "not a url", BasePath: "/a?b", RedirectProxyURL: "proxy",
		Session: auth.SessionConfig{Strategy: auth.StrategyDatabase, MaxAge: -1},
		JWT:     auth.JWTConfig{Encode: nil, Decode: nil, MaxAge: -time.Second},
		Cookies: auth.Cookies{State: auth.CookieConfig{Name: "a b"}},
		Providers: []auth.Provider{
			nil, (*auth.OAuth)(nil), &auth.OAuth{}, &auth.OAuth{ID: "a/b", Issuer: "https://i.example"}, &auth.OAuth{ID: "o"}, &auth.OAuth{ID: "r", JWKS: "https://r.example/jwks"},
			&auth.OAuth{ID: "q", WellKnown: "http://localhost/metadata", Client: auth.ClientMetadata{DefaultMaxAge: -1}},
			&auth.OAuth{ID: "p", Type: "saml", Authorization: auth.AuthorizationEndpoint{URL: "https://p.example"}},
			&auth.Credentials{}, &auth.Email{}, &auth.Email{ID: "o", Server: "http://mail:password@x", From: "@"},
			webauthn("w"), webauthn("x"),
		},
	})
	require.Error(t, err, "no error")
	for _, want := range []error{
		auth.ErrMissingSecret, auth.ErrInvalidProvider, auth.ErrInvalidEndpoints, auth.ErrMissingAuthorize, auth.ErrMissingAdapter,
		auth.ErrUnsupportedStrategy, auth.ErrExperimentalFeatureNotEnabled, auth.ErrDuplicateConditionalUI, auth.ErrMissingWebAuthnAutocomplete,
	} {
		assert.ErrorIsf(t, err, want, "%v is not reported", want)
	}
	for _, want := range []string{
		"Config.URL", "BasePath", "RedirectProxyURL", "MaxAge", `"a b"`, "Providers[0] is nil", "Providers[1] is nil", "ID is missing",
		"can't be part of a URL", "another provider", "Authorization.URL", "Token is needed", `"saml"`, "one of Server", `scheme "http"`, "From is missing",
		"Ceremonies", "WellKnown is not https, so it needs Issuer", "JWKS needs an Issuer", "DefaultMaxAge",
	} {
		assert.Containsf(t, err.Error(), want, "%q is not reported in\n%v", want, err)
	}
	assert.NotContains(t, err.Error(), "password@", "a password is reported")
}

// TestNewChecksAlgorithms: an algorithm that can't work is reported by New, and
// not at the first sign-in.
func TestNewChecksAlgorithms(t *testing.T) {
	for name, c := range map[string]struct {
		client auth.ClientMetadata
		secret string
		want   string // a part of the error; empty means no error
	}{
		"algorithms of ID token and userinfo": {auth.ClientMetadata{IDTokenSignedResponseAlg: "ES384", UserInfoSignedResponseAlg: "HS256"}, idpSecret, ""},
		"unknown for ID tokens":               {auth.ClientMetadata{IDTokenSignedResponseAlg: "none"}, idpSecret, `Client.IDTokenSignedResponseAlg is "none"`},
		"unknown for userinfo":                {auth.ClientMetadata{UserInfoSignedResponseAlg: "es256"}, idpSecret, `Client.UserInfoSignedResponseAlg is "es256"`},
		"HS256 of a public client": {auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientAuthNone, IDTokenSignedResponseAlg: "HS256"}, "",
			"Client.IDTokenSignedResponseAlg is HS256, which needs a ClientSecret"},
		"secret for HS512":         {auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT, TokenEndpointAuthSigningAlg: "HS512"}, idpSecret + idpSecret, ""},
		"secret for RS256":         {auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT, TokenEndpointAuthSigningAlg: "RS256"}, idpSecret, `"RS256" does not fit the key`},
		"RSA for PS512":            {auth.ClientMetadata{TokenEndpointAuthMethod: auth.PrivateKeyJWT, TokenEndpointAuthSigningAlg: "PS512", PrivateKey: rsaKey()}, "", ""},
		"P-256 for ES384":          {auth.ClientMetadata{TokenEndpointAuthMethod: auth.PrivateKeyJWT, TokenEndpointAuthSigningAlg: "ES384", PrivateKey: ecKey()}, "", `"ES384" does not fit the key`},
		"private key for HS256":    {auth.ClientMetadata{TokenEndpointAuthMethod: auth.PrivateKeyJWT, TokenEndpointAuthSigningAlg: "HS256", PrivateKey: rsaKey()}, "", `"HS256" does not fit the key`},
		"a curve that has nothing": {auth.ClientMetadata{TokenEndpointAuthMethod: auth.PrivateKeyJWT, PrivateKey: must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))(t)}, "", "has no signature algorithm"},
		"no private key":           {auth.ClientMetadata{TokenEndpointAuthMethod: auth.PrivateKeyJWT}, idpSecret, "private_key_jwt needs a PrivateKey"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Providers: []auth.Provider{
				&auth.OAuth{ID: "p", Type: auth.TypeOIDC, Issuer: "https://p.example", ClientID: "c", ClientSecret: c.secret, Client: c.client},
			}})
			assert.Falsef(t, c.want == "" && err != nil || c.want != "" &&
				(!errors.Is(err, auth.ErrInvalidProvider) || !strings.Contains(err.Error(), c.want)),
				"got %v, want %q", err, c.want)
		})
	}
}

// TestAuthReportsOnRequest: Auth answers with the error page or a message,
// which never names the problem.
func TestAuthReportsOnRequest(t *testing.T) {
	for name, c := range map[string]struct {
		config auth.Config
		path   string
		status int
		want   string
	}{
		"message":         {auth.Config{TrustHost: new(true)}, "/auth/session", 500, `{"message":"There was a problem`},
		"page":            {auth.Config{TrustHost: new(true)}, "/auth/signin", 500, "There is a problem with this site"},
		"untrusted":       {auth.Config{Secret: []string{secret}}, "/auth/session", 500, `{"message":"There was a problem`},
		"redirect":        {auth.Config{TrustHost: new(true), Pages: auth.Pages{Error: "/oops"}}, "/auth/signin", 302, ""},
		"redirect loop":   {auth.Config{TrustHost: new(true), Pages: auth.Pages{Error: "/oops"}}, "/auth/signin?callbackUrl=/oops", 500, "There is a problem with this site"},
		"unknown action":  {auth.Config{}, "/auth/x", 400, `"Bad request."`},
		"all is well":     {auth.Config{Secret: []string{secret}, TrustHost: new(true)}, "/auth/session", 200, "null"},
		"trust by origin": {auth.Config{Secret: []string{secret}, URL: origin}, "/auth/session", 200, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			var book logBook
			c.config.Logger = book.logger()
			r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://site.example"+c.path, nil))(t)
			res := auth.Auth(r, c.config)
			defer res.Body.Close()
			body := must(io.ReadAll(res.Body))(t)
			assert.Truef(t, res.StatusCode == c.status && strings.Contains(string(body), c.want),
				"got status %d and %s", res.StatusCode, body)
			assert.Equalf(t, book.String() == "", c.status == 200, "log: %s", book.String())
		})
	}
}

// TestNewTrustsLoopbackOnly: without URL and TrustHost, the Host header is
// trusted only if it names a loopback host.
func TestNewTrustsLoopbackOnly(t *testing.T) {
	h := must(auth.New(auth.Config{Secret: []string{secret}, Logger: slog.New(slog.DiscardHandler)}))(t)
	for host, want := range map[string]int{
		"localhost:3000": 200, "127.0.0.1": 200, "[::1]:80": 200, "app.localhost": 200, "example.com": 500, "localhost.example.com": 500, "127.0.0.1.example.com": 500, "": 500,
	} {
		r := httptest.NewRequest(http.MethodGet, "/auth/session", nil)
		r.Host, r.RemoteAddr = host, "127.0.0.1:40000"
		w := serve(h, r)
		assert.Equalf(t, want, w.Code, "host %q: got status", host)
	}
}

// TestNewReadsTheEnvironment: values that a configuration lacks are taken from
// the environment of the process.
func TestNewReadsTheEnvironment(t *testing.T) {
	t.Setenv("AUTH_SECRET", oldSecret)
	t.Setenv("AUTH_SECRET_1", secret)
	t.Setenv("AUTH_URL", "https://env.example.com/api/login")
	t.Setenv("AUTH_MY_IDP_ID", "id")
	t.Setenv("AUTH_MY_IDP_SECRET", "shh")
	p := &auth.OAuth{ID: "my-idp", Issuer: "https://idp.example.com"}
	h := must(auth.New(auth.Config{Providers: []auth.Provider{p}}))(t)
	w := serve(h, httptest.NewRequest(http.MethodGet, "/api/login/providers", nil))
	assert.Containsf(t, w.Body.String(), `"signinUrl":"https://env.example.com/api/login/signin/my-idp"`, "got %s", w.Body)
	assert.Empty(t, p.ClientID, "the provider of the application was changed")
}

// TestVariablesOfNextAuth: NEXTAUTH_SECRET and NEXTAUTH_URL are read, after
// the names that begin with AUTH_.
func TestVariablesOfNextAuth(t *testing.T) {
	const next, newest = "nextauth-secret-nextauth-secret-1", "newest-secret-newest-secret-newes"
	for _, c := range []struct {
		env       env
		url, base string
		secret    []string
	}{
		{env{"NEXTAUTH_SECRET": next, "NEXTAUTH_URL": "https://n.example/login"}, "https://n.example/login", "/login", []string{next}},
		{env{"NEXTAUTH_SECRET": next, "AUTH_SECRET": secret, "AUTH_URL": origin + "/x", "NEXTAUTH_URL": "https://n.example/login"}, origin + "/x", "/x", []string{secret}},
		{env{"NEXTAUTH_SECRET": next, "AUTH_SECRET_2": newest}, "", "/auth", []string{newest, next}},
	} {
		var config auth.Config
		auth.SetEnvDefaults(c.env.get, &config, true)
		assert.Truef(t, config.URL == c.url && config.BasePath == c.base && slices.Equal(config.Secret, c.secret),
			"%v: got the URL %q, the base path %q, the secrets %q", c.env, config.URL, config.BasePath, config.Secret)
		for _, name := range []string{"AUTH_SECRET", "AUTH_SECRET_2", "AUTH_URL", "NEXTAUTH_SECRET", "NEXTAUTH_URL"} {
			t.Setenv(name, c.env[name])
		}
		h, err := auth.New(auth.Config{Providers: []auth.Provider{password()}, Logger: slog.New(slog.DiscardHandler)})
		require.NoErrorf(t, err, "%v", c.env)
		if w := httptest.NewRecorder(); c.url != "" {
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.base+"/providers", nil))
			assert.Containsf(t, w.Body.String(), `"`+c.url+`/signin/credentials"`, "%v: got %s", c.env, w.Body)
		}
	}
}

// TestVariablesOfAProvider: the variables of a provider are in upper snake case,
// or have the names of Auth.js. A provider that gets a value is copied, and a given
// value stays.
func TestVariablesOfAProvider(t *testing.T) {
	t.Parallel()
	for id, names := range map[string][]string{"dot.ted": {"DOT_TED", "DOT.TED"}, "camelCase": {"CAMEL_CASE", "CAMELCASE"}, "my-idp": {"MY_IDP"}} {
		for i, name := range names {
			vars := env{"AUTH_" + name + "_ID": "id", "AUTH_" + name + "_SECRET": "s", "AUTH_" + name + "_ISSUER": "https://i.example", "AUTH_" + name + "_KEY": "key"}
			if i > 0 {
				vars["AUTH_"+names[0]+"_ID"] = "of the first name"
			}
			original, given := &auth.OAuth{ID: id}, &auth.OAuth{ID: id, ClientID: "mine"}
			config := auth.Config{Providers: []auth.Provider{original, &auth.OAuth{ID: "custom", EnvID: id}, given, &auth.Email{ID: id}}}
			auth.SetEnvDefaults(vars.get, &config, false)
			first := map[bool]string{true: "of the first name", false: "id"}[i > 0]
			for n, want := range []string{first, first, "mine"} {
				o, _ := config.Providers[n].(*auth.OAuth)
				assert.Truef(t, o.ClientSecret == "s" && o.Issuer == "https://i.example" && o.ClientID == want,
					"%s: %s: provider %d: got %q, %q, %q", id, name, n, o.ClientID, o.ClientSecret, o.Issuer)
			}
			assert.Emptyf(t, original.ClientID, "%s: %s: the original was changed", id, name)
			e, _ := config.Providers[3].(*auth.Email)
			assert.Equalf(t, "key", e.APIKey, "%s: %s: the key of the mail service is missing", id, name)
		}
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Providers: []auth.Provider{&auth.OAuth{ID: id, Issuer: "https://i.example"}}})
		for _, suffix := range []string{"_ID", "_SECRET"} {
			assert.ErrorContains(t, err, "AUTH_"+names[0]+suffix)
		}
	}
}

// TestNewBasePath: the base path is that of the configuration, else of
// AUTH_URL if it has one, else /auth.
func TestNewBasePath(t *testing.T) {
	for _, c := range []struct{ url, configured, want string }{
		{"", "", "/auth"}, {"https://a.example", "", "/auth"}, {"https://a.example/", "", "/auth"}, {"https://a.example/login/", "", "/login"},
		{"https://a.example/login", "/x", "/x"}, {"", "x/", "/x"}, {"", "/", ""}, {"https://a.example", "/", ""},
	} {
		t.Setenv("AUTH_URL", c.url)
		b := newBrowser(t, newHandler(t, auth.Config{BasePath: c.configured}))
		assert.Equalf(t, http.StatusOK, b.get(c.want+"/session").StatusCode,
			"AUTH_URL %q, BasePath %q: nothing at %s/session", c.url, c.configured, c.want)
	}
}

// TestEnvironmentDoesNotTrustStrangers: AUTH_URL sets the origin, and does not
// make the Host header trusted. A machine is a development machine only if
// NODE_ENV says so.
func TestEnvironmentDoesNotTrustStrangers(t *testing.T) {
	for _, c := range []struct {
		env    env
		config auth.Config
		url    string
		trust  bool
	}{
		{env{}, auth.Config{}, "", false},
		{env{"NODE_ENV": "production"}, auth.Config{}, "", false},
		{env{"NODE_ENV": "development"}, auth.Config{}, "", true},
		{env{"NODE_ENV": "test"}, auth.Config{}, "", true},
		{env{"VERCEL": "1"}, auth.Config{}, "", true},
		{env{"CF_PAGES": "1"}, auth.Config{}, "", true},
		{env{"AUTH_TRUST_HOST": "true"}, auth.Config{}, "", true},
		{env{"AUTH_TRUST_HOST": "false", "NODE_ENV": "development"}, auth.Config{}, "", false},
		{env{"AUTH_URL": origin + "/login"}, auth.Config{}, origin + "/login", false},
		{env{"AUTH_URL": origin}, auth.Config{URL: "https://other.example"}, "https://other.example", false},
		{env{"AUTH_URL": origin}, auth.Config{TrustHost: new(true)}, origin, true},
	} {
		c.env["AUTH_SECRET"] = secret
		auth.SetEnvDefaults(c.env.get, &c.config, true)
		assert.Truef(t, c.config.URL == c.url && *c.config.TrustHost == c.trust,
			"%v: the URL is %q and hosts are trusted: %v, want %q and %v", c.env, c.config.URL, *c.config.TrustHost, c.url, c.trust)
		if c.url == "" {
			continue
		}
		// A foreign Host header does not appear in the answer.
		c.config.Providers, c.config.Logger = []auth.Provider{password()}, slog.New(slog.DiscardHandler)
		res := auth.Auth(httptest.NewRequest(http.MethodGet, "https://evil.example"+c.config.BasePath+"/providers", nil), c.config)
		body, err := io.ReadAll(res.Body)
		require.Truef(t, err == nil && res.Body.Close() == nil, "%v", err)
		assert.Truef(t, res.StatusCode == http.StatusOK && !strings.Contains(string(body), "evil"),
			"%v: status %d, %s", c.env, res.StatusCode, body)
	}
}
