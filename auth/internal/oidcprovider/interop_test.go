package oidcprovider_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/oidcprovider"
)

// site is a site that uses the provider.
type site struct {
	*httptest.Server
	// log is the log of the site; account and profile are those of the last
	// sign-in.
	log     logBook
	account *auth.Account
	profile auth.Profile

	mu       sync.Mutex
	requests map[string]int // to the provider, by path
}

// newSite makes a site that is registered at the provider with metadata, and is
// configured with configure.
func newSite(t *testing.T, p *oidcprovider.Provider, metadata map[string]any, configure func(*auth.OAuth)) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(nil), requests: map[string]int{}}
	url := "https://" + s.Listener.Addr().String()
	registered := map[string]any{"redirect_uris": []string{url + "/auth/callback/op"}}
	maps.Copy(registered, metadata)
	o := &auth.OAuth{
		ID: "op", Type: auth.TypeOIDC, Issuer: p.Issuer, HTTPClient: &http.Client{Transport: s},
		Checks: []auth.Check{auth.CheckState, auth.CheckPKCE, auth.CheckNonce},
	}
	o.ClientID, o.ClientSecret = p.Register(t, registered)
	if configure != nil {
		configure(o)
	}
	h := must(auth.New(auth.Config{
		Secret: []string{"a secret of the tests, 32 bytes and more"}, URL: url, Providers: []auth.Provider{o},
		Logger: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Events: auth.Events{SignIn: func(_ context.Context, e auth.SignInEvent) error {
			s.account, s.profile = e.Account, e.Profile
			return nil
		}},
	}))(t)
	mux := http.NewServeMux()
	mux.Handle("/auth/", h)
	mux.HandleFunc("/welcome", func(http.ResponseWriter, *http.Request) {})
	s.Config.Handler = mux
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// RoundTrip counts the requests to the provider.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	s.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// logBook collects the log.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// signIn signs a person in and checks that the session is that person's.
func (s *site) signIn(t *testing.T, b *browser, person, name string) {
	t.Helper()
	p := b.signIn(person)
	require.Equalf(t, s.URL+"/welcome", p.url.String(), "the end of the sign-in; log:\n%s", &s.log)
	session := b.session()
	require.Contains(t, session, `"name":"`+name+`"`)
	require.Contains(t, session, `"email":"`+person+`@example.com"`)
	assert.Equal(t, person, s.account.ProviderAccountID, "account")
}

// refuses checks that an authorization response is refused, and for which
// reason.
func (s *site) refuses(t *testing.T, b *browser, answer *http.Request, page, reason string) {
	t.Helper()
	p := b.do(answer)
	assert.Equalf(t, s.URL+page, p.url.String(), "the sign-in ends at %s, want %s", p.url, page)
	assert.Equal(t, "null", b.session(), "session")
	assert.Containsf(t, s.log.String(), reason, "the log does not say %q", reason)
}

// header returns the header of a signed token.
func header(t *testing.T, token string) jose.Header {
	t.Helper()
	signed := must(jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256, jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}))(t)
	return signed.Signatures[0].Header
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// client is a kind of client: its registration at the provider, and its
// configuration.
type client struct {
	name       string
	registered map[string]any
	configured func(*auth.OAuth)
	// from is the expected source of the person's name; empty means the ID
	// token.
	from string
	// once says that one sign-in is enough.
	once bool
	// also makes further checks of the sign-in.
	also func(t *testing.T, s *site, b *browser)
}

// and returns a client with the properties of both.
func (c client) and(d client) client {
	both := client{name: c.name + ", " + d.name, registered: map[string]any{}, from: c.from + d.from}
	maps.Copy(both.registered, c.registered)
	maps.Copy(both.registered, d.registered)
	both.configured = func(o *auth.OAuth) {
		for _, x := range []client{c, d} {
			if x.configured != nil {
				x.configured(o)
			}
		}
	}
	both.also = func(t *testing.T, s *site, b *browser) {
		t.Helper()
		for _, x := range []client{c, d} {
			if x.also != nil {
				x.also(t, s, b)
			}
		}
	}
	return both
}

// idToken returns a client whose ID tokens are signed with the algorithm.
func idToken(algorithm string) client {
	c := client{
		name: "ID token " + algorithm, registered: map[string]any{"id_token_signed_response_alg": algorithm},
		also: func(t *testing.T, s *site, _ *browser) {
			t.Helper()
			assert.Equal(t, algorithm, header(t, s.account.IDToken).Algorithm, "algorithm")
		},
	}
	if algorithm == "HS256" { // HS256 must be configured
		c.configured = func(o *auth.OAuth) { o.Client.IDTokenSignedResponseAlg = algorithm }
	}
	return c
}

// clientAuth returns a client that authenticates with the method.
func clientAuth(method auth.ClientAuth) client {
	return client{
		name: string(method), registered: map[string]any{"token_endpoint_auth_method": method},
		configured: func(o *auth.OAuth) { o.Client.TokenEndpointAuthMethod = method },
	}
}

// privateKey returns a client that authenticates with a signature.
func privateKey(algorithm string, key crypto.Signer) client {
	c := clientAuth(auth.PrivateKeyJWT).and(client{
		registered: map[string]any{
			"token_endpoint_auth_signing_alg": algorithm,
			"jwks":                            jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "client-key", Use: "sig"}}},
		},
		configured: func(o *auth.OAuth) {
			o.Client.PrivateKey, o.Client.KeyID = key, "client-key"
			if algorithm == "PS256" { // the default for RSA keys is RS256
				o.Client.TokenEndpointAuthSigningAlg = algorithm
			}
		},
	})
	c.name = "private_key_jwt with " + algorithm
	return c
}

// query and formPost return clients with that response mode.
func query() client {
	return client{name: "query", also: func(t *testing.T, _ *site, b *browser) {
		t.Helper()
		assert.False(t, b.posted, "the answer was posted")
	}}
}

func formPost() client {
	return client{name: "form_post", configured: params("response_mode", "form_post"), also: func(t *testing.T, _ *site, b *browser) {
		t.Helper()
		assert.True(t, b.posted, "the answer was not posted")
	}}
}

// params returns a function that adds a parameter to the authorization request.
func params(name, value string) func(*auth.OAuth) {
	return func(o *auth.OAuth) {
		if o.Authorization.Params == nil {
			o.Authorization.Params = url.Values{}
		}
		o.Authorization.Params.Set(name, value)
	}
}

// userInfo returns a client that gets the profile from the userinfo endpoint.
// If algorithm is not empty, the endpoint signs the profile with it.
func userInfo(algorithm string, asked bool) client {
	c := client{name: "userinfo in JSON", from: "userinfo", configured: func(o *auth.OAuth) { o.UserInfoOnly = true }}
	if algorithm != "" {
		c.name, c.registered = "userinfo "+algorithm, map[string]any{"userinfo_signed_response_alg": algorithm}
	}
	if asked {
		c.name += ", asked for"
		c.configured = func(o *auth.OAuth) { o.UserInfoOnly, o.Client.UserInfoSignedResponseAlg = true, algorithm }
	}
	return c
}

// checked returns a client with other checks.
func checked(checks ...auth.Check) client {
	name := "checks"
	for _, c := range checks {
		name += " " + string(c)
	}
	return client{name: name, configured: func(o *auth.OAuth) { o.Checks = checks }}
}

// clients returns all combinations of algorithm, client authentication and
// response mode, and clients with single other properties.
func clients(t *testing.T) []client {
	t.Helper()
	rsaKey := must(rsa.GenerateKey(rand.Reader, 2048))(t)
	ecKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	modes := []client{query(), formPost()}
	var all []client
	for _, algorithm := range []string{"RS256", "ES256", "EdDSA", "PS256", "HS256"} {
		for _, authentication := range []client{
			clientAuth(auth.ClientSecretBasic), clientAuth(auth.ClientSecretPost), clientAuth(auth.ClientSecretJWT), clientAuth(auth.ClientAuthNone),
			privateKey("RS256", rsaKey), privateKey("PS256", rsaKey), privateKey("ES256", ecKey), privateKey("EdDSA", edKey),
		} {
			if algorithm == "HS256" && authentication.name == "none" {
				continue // there is no secret to sign with
			}
			for _, mode := range modes {
				c := idToken(algorithm).and(authentication).and(mode)
				c.once = true // there are very many combinations
				all = append(all, c)
			}
		}
	}
	for _, mode := range modes {
		all = append(all, userInfo("", false).and(mode))
		for _, algorithm := range []string{"RS256", "ES256", "EdDSA", "PS256"} {
			all = append(all, userInfo(algorithm, false).and(mode), userInfo(algorithm, true).and(mode))
		}
		for _, checks := range [][]auth.Check{
			{auth.CheckState}, {auth.CheckPKCE}, {auth.CheckNonce},
			{auth.CheckState, auth.CheckNonce}, {auth.CheckPKCE, auth.CheckNonce}, {auth.CheckPKCE, auth.CheckState},
		} {
			all = append(all, checked(checks...).and(mode))
		}
	}
	return append(all,
		client{
			name: "greatest age", configured: func(o *auth.OAuth) { o.Client.DefaultMaxAge = time.Hour },
			also: func(t *testing.T, s *site, _ *browser) {
				t.Helper()
				assert.True(t, s.profile["auth_time"] != nil, "the ID token has no auth_time")
			},
		},
		client{
			name: "time of authentication", registered: map[string]any{"require_auth_time": true},
			configured: func(o *auth.OAuth) { o.Client.RequireAuthTime = true },
		},
		client{
			name:       "metadata in place of an issuer",
			configured: func(o *auth.OAuth) { o.Issuer, o.WellKnown = "", o.Issuer+"/.well-known/openid-configuration" },
		},
		client{
			name: "offline access", registered: map[string]any{"grant_types": []string{"authorization_code", "refresh_token"}},
			configured: func(o *auth.OAuth) {
				params("scope", "openid profile email offline_access")(o)
				params("prompt", "consent")(o)
			},
			also: func(t *testing.T, s *site, _ *browser) {
				t.Helper()
				a := s.account
				assert.Truef(t, a.AccessToken != "" && a.RefreshToken != "" && a.TokenType == "bearer" && a.Scope == "openid profile email offline_access" && a.ExpiresAt.After(time.Now()),
					"the token set lacks something: type %s, scope %s, expires %v, refresh token %v", a.TokenType, a.Scope, a.ExpiresAt, a.RefreshToken != "")
			},
		},
		client{
			name: "OAuth without OpenID Connect", from: "userinfo",
			configured: func(o *auth.OAuth) {
				o.Type, o.Checks = auth.TypeOAuth, nil
				params("scope", "openid profile email")(o)
			},
		},
	)
}

// TestInterop signs people in with the provider. The provider takes a moment to
// start, so one process serves all tests.
func TestInterop(t *testing.T) {
	p := oidcprovider.Start(t)
	t.Run("sign-in", func(t *testing.T) { testSignIn(t, p) })
	t.Run("tabs", func(t *testing.T) { testTabs(t, p) })
	t.Run("rotation", func(t *testing.T) { testRotation(t, p) })
	t.Run("refusal", func(t *testing.T) { testRefusal(t, p) })
}

// testSignIn signs a person in with each kind of client, mostly twice: first
// with the password, then as a person whom the provider remembers. Each client
// is registered with its properties, so that the provider refuses requests with
// others.
func testSignIn(t *testing.T, p *oidcprovider.Provider) {
	for _, c := range clients(t) {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, p, c.registered, c.configured)
			b := newBrowser(t, s.Server)
			times := 2
			if c.once {
				times = 1
			}
			for range times {
				s.account, s.profile = nil, nil
				s.signIn(t, b, "ada", "ada of the "+cmp.Or(c.from, "id_token"))
				if c.also != nil {
					c.also(t, s, b)
				}
			}
			for _, name := range b.cookies() {
				assert.Truef(t, !strings.Contains(name, "state") && !strings.Contains(name, "pkce") && !strings.Contains(name, "nonce"),
					"the cookie %s is left", name)
			}
			assert.Truef(t, s.requests["/.well-known/openid-configuration"] == 1 && s.requests["/jwks"] <= 1 && s.requests["/token"] == times,
				"requests of %d sign-ins: %v", times, s.requests)
		})
	}
}

// testTabs starts several sign-ins in one browser, and ends them in another
// order.
func testTabs(t *testing.T, p *oidcprovider.Provider) {
	for _, mode := range []client{query(), formPost()} {
		t.Run(mode.name, func(t *testing.T) {
			s := newSite(t, p, nil, mode.configured)
			b := newBrowser(t, s.Server)
			answers := []*http.Request{b.authorize("ada"), b.authorize("ada"), b.authorize("ada")}
			for _, i := range []int{1, 2, 0} {
				end := b.do(answers[i])
				assert.Equalf(t, "/welcome", end.url.Path, "the end of sign-in number %d; log:\n%s", i+1, &s.log)
			}
		})
	}
}

// testRotation replaces the keys of the provider while people sign in.
func testRotation(t *testing.T, p *oidcprovider.Provider) {
	type pending struct {
		*site
		ada, grace *browser
		key        string
		answer     *http.Request
	}
	var all []pending
	for _, algorithm := range []string{"RS256", "ES256", "EdDSA"} {
		s := newSite(t, p, map[string]any{"id_token_signed_response_alg": algorithm, "userinfo_signed_response_alg": algorithm},
			func(o *auth.OAuth) { o.UserInfoOnly = true })
		x := pending{site: s, ada: newBrowser(t, s.Server), grace: newBrowser(t, s.Server)}
		s.signIn(t, x.ada, "ada", "ada of the userinfo")
		x.key, x.answer = header(t, s.account.IDToken).KeyID, x.grace.authorize("grace")
		all = append(all, x)
	}
	p.Rotate(t)
	for _, x := range all {
		end := x.grace.do(x.answer)
		require.Equalf(t, "/welcome", end.url.Path, "the sign-in that was under way ends at %s; log:\n%s", end.url, &x.log)
		key := header(t, x.account.IDToken).KeyID
		assert.Truef(t, key != x.key && key != "", "the ID tokens are signed with the keys %q and %q", x.key, key)
		assert.Contains(t, x.ada.session(), "ada@example.com", "who was signed in has the session")
		x.signIn(t, x.ada, "ada", "ada of the userinfo")
		assert.Equal(t, 2, x.requests["/jwks"], "how often the keys were fetched")
	}
}

// testRefusal checks that the provider is strict with its clients, and that the
// site refuses altered authorization responses.
func testRefusal(t *testing.T, p *oidcprovider.Provider) {
	const errorPage, signInPage = "/auth/error?error=Configuration", "/auth/signin?error=OAuthCallbackError"
	const lateAnswer, strangeAnswer = "/auth/error?error=InvalidCheck", "/auth/error?error=CallbackRouteError"
	// changed returns the response with one parameter set, or removed.
	changed := func(name, value string) func(*testing.T, *site, *browser) *http.Request {
		return func(_ *testing.T, _ *site, b *browser) *http.Request {
			answer := b.authorize("ada")
			q := answer.URL.Query()
			if q.Set(name, value); value == "" {
				q.Del(name)
			}
			answer.URL.RawQuery = q.Encode()
			return answer
		}
	}
	// injected returns the response with the code of another person's sign-in.
	injected := func(t *testing.T, s *site, b *browser) *http.Request {
		code := newBrowser(t, s.Server).authorize("eve").URL.Query().Get("code")
		return changed("code", code)(t, s, b)
	}
	authenticated := func(method auth.ClientAuth) func(*auth.OAuth) {
		return func(o *auth.OAuth) { o.Client.TokenEndpointAuthMethod = method }
	}
	for _, c := range []struct {
		name         string
		registered   map[string]any
		configured   func(*auth.OAuth)
		answer       func(*testing.T, *site, *browser) *http.Request
		page, reason string
	}{
		{name: "wrong secret", configured: func(o *auth.OAuth) { o.ClientSecret += "x" }, reason: "invalid_client"},
		{name: "wrong secret, posted", registered: map[string]any{"token_endpoint_auth_method": "client_secret_post"}, configured: func(o *auth.OAuth) {
			o.ClientSecret += "x"
			authenticated(auth.ClientSecretPost)(o)
		}, reason: "invalid_client"},
		{name: "secret in a JWT", configured: authenticated(auth.ClientSecretJWT), reason: "invalid_client"},
		{name: "no authentication", configured: authenticated(auth.ClientAuthNone), reason: "invalid_client"},
		{name: "foreign private key", registered: privateKey("ES256", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)).registered,
			configured: privateKey("ES256", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)).configured, reason: "invalid_client"},
		{name: "ID token of another algorithm", registered: map[string]any{"id_token_signed_response_alg": "PS256"},
			configured: func(o *auth.OAuth) { o.Client.IDTokenSignedResponseAlg = "RS256" }, reason: "id token: "},
		{name: "HS256 that was not asked for", registered: map[string]any{"id_token_signed_response_alg": "HS256"}, reason: "id token: "},
		{name: "userinfo of another algorithm", registered: map[string]any{"userinfo_signed_response_alg": "PS256"}, configured: userInfo("RS256", true).configured, reason: "userinfo: "},
		{name: "userinfo without a signature", configured: userInfo("RS256", true).configured, reason: "userinfo: "},
		{name: "no issuer", answer: changed("iss", ""), reason: "names no issuer"},
		{name: "another issuer", answer: changed("iss", "http://localhost:1"), reason: "names another issuer"},
		{name: "another state", answer: changed("state", "x"), reason: "state: "},
		{name: "code that nobody made", answer: changed("code", "x"), reason: "invalid_grant"},
		{name: "code of somebody else, with PKCE", configured: checked(auth.CheckState, auth.CheckPKCE).configured, answer: injected, reason: "invalid_grant"},
		{name: "code of somebody else, with a nonce", configured: checked(auth.CheckState, auth.CheckNonce).configured, answer: injected, reason: "the nonce differs"},
		{name: "cancelled", answer: func(_ *testing.T, _ *site, b *browser) *http.Request { return b.cancel() }, page: signInPage, reason: "access_denied"},
		{name: "cancelled, form_post", configured: params("response_mode", "form_post"), answer: func(_ *testing.T, _ *site, b *browser) *http.Request { return b.cancel() },
			page: signInPage, reason: "access_denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, p, c.registered, c.configured)
			b := newBrowser(t, s.Server)
			if c.page == "" {
				c.page = errorPage
				if c.answer != nil {
					c.page = strangeAnswer
				}
			}
			if c.answer == nil {
				c.answer = func(_ *testing.T, _ *site, b *browser) *http.Request { return b.authorize("ada") }
			}
			s.refuses(t, b, c.answer(t, s, b), c.page, c.reason)
		})
	}
	t.Run("an answer for the second time", func(t *testing.T) {
		s := newSite(t, p, nil, nil)
		b := newBrowser(t, s.Server)
		answer := b.authorize("ada")
		again := answer.Clone(t.Context())
		end := b.do(answer)
		require.Equalf(t, "/welcome", end.url.Path, "the sign-in ends at %s; log:\n%s", end.url, &s.log)
		s.refuses(t, newBrowser(t, s.Server), again, lateAnswer, "state: ")
	})
}
