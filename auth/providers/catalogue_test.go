package providers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// configure calls New with one provider.
func configure(p auth.Provider) error {
	_, err := auth.New(auth.Config{Secret: []string{"a secret of at least thirty-two characters"}, Providers: []auth.Provider{p}})
	return err
}

// TestMissingOptions: New names each required option that is missing, whether the
// client is there or not.
func TestMissingOptions(t *testing.T) {
	t.Parallel()
	for _, i := range providers.All() {
		given := [][]providers.Option{nil}
		if i.Type == auth.TypeOAuth || i.Type == auth.TypeOIDC {
			given = append(given, []providers.Option{providers.WithClient("id", "secret")})
		}
		for _, opts := range given {
			p := must(providers.ByID(i.ID, opts...))(t)
			err := configure(p)
			for _, o := range i.Options {
				if o.Required {
					assert.ErrorContainsf(t, err, o.Name, "%s, %d options", i.ID, len(opts))
					assert.ErrorContainsf(t, err, i.ID, "without %s", o.Name)
				}
			}
		}
	}
}

func TestOptionsThatAProviderDoesNotTake(t *testing.T) {
	t.Parallel()
	client := providers.WithClient("id", "secret")
	for name, p := range map[string]auth.Provider{
		"WithTenant":            providers.Google(client, providers.WithTenant("t")),
		"WithAppleKey":          providers.Google(client, providers.WithAppleKey("a", "b", "c")),
		"WithMailOptions":       providers.Google(client, providers.WithMailOptions(func(*auth.Email) {})),
		"WithIssuer":            providers.Resend(providers.WithAPIKey("k"), providers.WithFrom("a@b.example"), providers.WithIssuer("https://x.example")),
		"no OAuth options":      providers.Resend(providers.WithAPIKey("k"), providers.WithFrom("a@b.example"), client),
		"not an e-mail address": providers.Resend(providers.WithAPIKey("k"), providers.WithFrom("nobody")),
		"WithPhotoSize":         providers.MicrosoftEntraID(client, providers.WithPhotoSize(49)),
		"WithRegion":            providers.Lark(client, providers.WithRegion("EU")),
		"WithShop":              providers.Shopify(client, providers.WithShop("acme.myshopify.com/x")),
		"WithPlatform":          providers.WeChat(client, providers.WithPlatform("none")),
		"not in PEM form":       providers.Apple(providers.WithClient("id", ""), providers.WithAppleKey("a", "b", "c")),
	} {
		assert.ErrorContains(t, configure(p), name)
	}
}

// TestEnvironment: client and issuer come from the environment. The endpoints
// that depend on the issuer follow it.
func TestEnvironment(t *testing.T) { //nolint:paralleltest // sets variables
	for name, value := range map[string]string{
		"AUTH_GITHUB_ID": "gh", "AUTH_GITHUB_SECRET": "s", "AUTH_MASTODON_ID": "m", "AUTH_MASTODON_SECRET": "s",
		"AUTH_MASTODON_ISSUER": "https://social.example", "AUTH_DUENDE_IDENTITY_SERVER6_ID": "d", "AUTH_DUENDE_IDENTITY_SERVER6_SECRET": "s",
		"AUTH_DUENDE_IDENTITY_SERVER6_ISSUER": "https://id.example", "AUTH_SECRET": "a secret of at least thirty-two characters",
	} {
		t.Setenv(name, value)
	}
	mastodon := providers.Mastodon()
	h, err := auth.New(auth.Config{URL: "https://app.example", Providers: []auth.Provider{providers.GitHub(), mastodon, providers.DuendeIdentityServer6()}})
	require.NoError(t, err)
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://app.example/", nil))(t)
	for id, want := range map[string]string{
		"github": "https://github.com/login/oauth/authorize?", "mastodon": "https://social.example/oauth/authorize?",
	} {
		result, err := h.SignIn(r, id, auth.SignInOptions{})
		assert.Truef(t, err == nil && strings.HasPrefix(result.Location, want),
			"%s leads to %+v (%v), want %s", id, result, err, want)
	}
	assert.True(t, mastodon.ClientID == "" && mastodon.Authorization.URL == "",
		"New changed the provider that it was given")
}

// TestKeyFromEnvironment: the key of a mail service comes from the environment.
func TestKeyFromEnvironment(t *testing.T) { //nolint:paralleltest // sets variables
	p := providers.Resend(providers.WithFrom("a@b.example"))
	assert.ErrorContains(t, configure(p), "WithAPIKey or AUTH_RESEND_KEY", "without a key")
	t.Setenv("AUTH_RESEND_KEY", "key-1")
	// New still reports the missing adapter.
	err := configure(p)
	require.Error(t, err, "with a key")
	assert.NotRegexp(t, "apiKey|key-1", err.Error(), "with a key")
}

func TestByID(t *testing.T) {
	t.Parallel()
	for _, i := range providers.All() {
		_, err := providers.ByID(i.ID)
		assert.NoError(t, err, i.ID)
	}
	_, err := providers.ByID("nobody")
	assert.ErrorIs(t, err, providers.ErrUnknown, "an unknown ID")
	_, err = providers.ByID("lastfm")
	assert.ErrorIs(t, err, providers.ErrUnsupported, "an unsupported ID")
	assert.ErrorContains(t, err, "signed calls", "an unsupported ID")
}

// TestWhatTheApplicationSets: a field that the application sets replaces the
// value of the table.
func TestWhatTheApplicationSets(t *testing.T) {
	t.Parallel()
	p := providers.Spotify(providers.WithClient("id", "secret"), providers.WithScope("a", "b"), providers.WithParam("show_dialog", "true"),
		providers.WithOptions(func(p *auth.OAuth) {
			p.Checks = []auth.Check{auth.CheckState}
			p.Token.URL = "https://proxy.example/token"
		}))
	require.NoError(t, p.Complete(p))
	assert.Truef(t, p.Authorization.Params.Get("scope") == "a b" && p.Authorization.Params.Get("show_dialog") == "true" && slices.Equal(p.Checks, []auth.Check{auth.CheckState}) &&
		p.Token.URL == "https://proxy.example/token" && p.UserInfo.URL == "https://api.spotify.com/v1/me",
		"the provider is %v %v %s %s", p.Authorization.Params, p.Checks, p.Token.URL, p.UserInfo.URL)
}

func TestTenant(t *testing.T) {
	t.Parallel()
	const tenant = "11111111-2222-3333-4444-555555555555"
	for want, p := range map[string]*auth.OAuth{
		"https://login.microsoftonline.com/" + tenant + "/v2.0": providers.MicrosoftEntraID(providers.WithTenant(tenant)),
		"https://login.microsoftonline.com/common/v2.0":         providers.MicrosoftEntraID(),
		"https://x.eu.auth0.com":                                providers.Auth0(providers.WithDomain("x.eu.auth0.com")),
		"https://api.asgardeo.io/t/o/oauth2/token":              providers.Asgardeo(providers.WithIssuer("https://api.asgardeo.io/t/o/oauth2/token")),
		"https://git.example/login/oauth":                       providers.GitHub(providers.WithBaseURL("https://git.example/")),
	} {
		err := p.Complete(p)
		assert.Truef(t, err == nil && p.Issuer == want, "the issuer is %q, want %q (%v)", p.Issuer, want, err)
	}
}

// responder answers requests by URL.
type responder map[string]string

func (s responder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := s[r.URL.String()]
	if !ok {
		return answer(r, http.StatusNotFound, "text/plain", "")
	}
	return answer(r, http.StatusOK, "application/json", body)
}

func TestGraphPhoto(t *testing.T) {
	t.Parallel()
	const endpoint = "https://graph.microsoft.com/v1.0/me/photos/48x48/$value"
	jpeg := "\xff\xd8\xff\xe0 a picture"
	for _, c := range []struct {
		name, body string
		size       int
		want       bool
	}{
		{"picture", jpeg, 48, true},
		{"HTML", "<html>", 48, false},
		{"too large", jpeg + strings.Repeat("x", 33<<10), 48, false},
		{"not wanted", jpeg, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := providers.MicrosoftEntraID(providers.WithPhotoSize(c.size), providers.WithHTTPClient(&http.Client{Transport: responder{endpoint: c.body}}))
			require.NoError(t, p.Complete(p))
			u, err := p.Profile(t.Context(), auth.Profile{"sub": "s"}, auth.TokenSet{AccessToken: "t"})
			require.Truef(t, err == nil && u.ID == "s", "the user is %+v (%v)", u, err)
			got := strings.HasPrefix(u.Image, "data:image/jpeg;base64,/9j/")
			assert.Truef(t, got == c.want && (u.Image != "") == c.want, "the picture is there: %v, want %v", got, c.want)
		})
	}
}

func TestAppleKey(t *testing.T) {
	t.Parallel()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.MarshalPKCS8PrivateKey(key))(t)
	p := providers.Apple(providers.WithClient("com.example.app", ""), providers.WithAppleKey("TEAM", "KEY", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))))
	require.NoError(t, configure(p))
	require.NoError(t, p.Complete(p))
	form := url.Values{}
	require.NoError(t, p.Token.Prepare(nil, form))
	signed := must(jose.ParseSignedCompact(form.Get("client_secret"), []jose.SignatureAlgorithm{jose.ES256}))(t)
	payload, err := signed.Verify(key.Public())
	require.Truef(t, err == nil && signed.Signatures[0].Header.KeyID == "KEY",
		"the client secret is of the key %q (%v)", signed.Signatures[0].Header.KeyID, err)
	var claims struct {
		Iss, Sub, Aud string
		Iat, Exp      int64
	}
	require.NoError(t, json.Unmarshal(payload, &claims))
	assert.Truef(t, claims.Iss == "TEAM" && claims.Sub == "com.example.app" && claims.Aud == "https://appleid.apple.com" &&
		claims.Exp-claims.Iat == 300, "the client secret says %s", payload)
}

// TestLenientTokenAnswers: the token responses of some providers depart from
// the standard, and are made standard.
func TestLenientTokenAnswers(t *testing.T) {
	t.Parallel()
	p := completed(t, "twitch")
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   map[string]any
	}{
		{"list of scopes", 200, `{"access_token":"a","token_type":"bearer","scope":["x","y"]}`, map[string]any{"scope": "x y"}},
		{"no scope", 200, `{"access_token":"a","token_type":"bearer","scope":null}`, map[string]any{"scope": nil}},
		{"no type", 200, `{"access_token":"a"}`, map[string]any{"token_type": "bearer", "access_token": "a"}},
		{"error with message", 400, `{"status":400,"message":"Invalid code"}`, map[string]any{"error": "invalid_request", "error_description": "Invalid code"}},
		{"error code of its own", 200, `{"errcode":40029,"errmsg":"invalid code"}`, map[string]any{"error": "invalid_request", "error_description": "invalid code"}},
		{"standard error", 400, `{"error":"invalid_grant","error_description":"used"}`, map[string]any{"error": "invalid_grant", "error_description": "used"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://id.twitch.tv/oauth2/token", nil))(t)
			given, err := answer(r, c.status, "application/json", c.body) //nolint:bodyclose // Conform owns it
			require.NoError(t, err)
			given.Header.Set("WWW-Authenticate", "Basic")
			got, err := p.Token.Conform(given)
			require.NoError(t, err)
			defer got.Body.Close()
			var members map[string]any
			require.NoError(t, json.Unmarshal(must(io.ReadAll(got.Body))(t), &members))
			for name, want := range c.want {
				assert.Truef(t, members[name] == want, "%s is %v, want %v", name, members[name], want)
			}
			assert.Empty(t, got.Header.Get("WWW-Authenticate"), "WWW-Authenticate is still there")
		})
	}
}
