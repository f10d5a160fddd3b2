package providers_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// fact is what is known of a provider. It is kept apart from the table.
type fact struct {
	ID, Type string
	// Variant names the options of this variant of the provider. Source names
	// where the facts were read, if that is not the catalogue of Auth.js.
	Variant, Source string
	// Given is the option issuer. Issuer is the issuer that metadata and ID
	// tokens name.
	Given, Issuer           string
	Options                 map[string]string
	Authorization, Fragment string
	Params                  map[string]string
	Scope                   *string
	PKCE, Nonce             bool
	Token                   string
	TokenQuery, TokenBody   map[string]string
	TokenExtra              map[string]any
	NoTokenType             bool
	// FromUserInfo marks an OpenID Connect provider whose profile comes from
	// the userinfo endpoint.
	FromUserInfo            bool
	Auth                    string
	IDTokenAlg, UserInfoAlg string
	UserInfo, Method        string
	UserInfoQuery, Headers  map[string]string
	JSON                    map[string]any
	// NoBearer marks a userinfo request without Authorization. Credential marks
	// one whose Authorization is not a bearer token.
	NoBearer   bool
	Credential string
	Root       string
	// Exchange is a token request that is not a form, Steps are further requests.
	Exchange *exchangeFact
	Steps    []step
	// Iss is sent with the authorization response (RFC 9207).
	Iss string
	// Profile is a sample with all fields, Bare a sample with the ID only. User
	// and BareUser are the users that are made from them.
	Profile, Bare  map[string]any
	User, BareUser struct{ ID, Name, Email, Image string }
}

// options returns the options of the provider, whose requests a transport
// answers.
func (f fact) options(transport http.RoundTripper) []providers.Option {
	opts := []providers.Option{providers.WithClient("client-1", secret), providers.WithHTTPClient(&http.Client{Transport: transport})}
	if f.Given != "" {
		opts = append(opts, providers.WithIssuer(f.Given))
	}
	for name, value := range f.Options {
		opts = append(opts, optionNamed(name)(value))
	}
	return opts
}

// inAnswer returns the userinfo response with a profile, which is at its root.
func (f fact) inAnswer(profile any) any {
	for _, name := range slices.Backward(strings.Split(f.Root, ".")) {
		if name, indexed := strings.CutSuffix(name, "[0]"); indexed {
			profile = map[string]any{name: []any{profile}}
		} else if name != "" {
			profile = map[string]any{name: profile}
		}
	}
	return profile
}

// exchangeFact is a token request of a provider's own kind.
type exchangeFact struct {
	Method string
	Query  map[string]string
	JSON   map[string]string
	// Answer is a JSON response, Text any other. Profile is the member of
	// Answer that holds the profile.
	Answer  map[string]any
	Text    string
	Profile string
}

// step is a GET that is made in addition to the token and userinfo requests.
type step struct {
	URL    string
	Query  map[string]string
	Answer map[string]any
}

func facts(t *testing.T) []fact {
	t.Helper()
	raw := must(os.ReadFile("testdata/facts.json"))(t)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var all []fact
	require.NoError(t, d.Decode(&all))
	return all
}

// TestFlow signs in with every provider of the table, through the real flow.
// The transport plays the provider, and compares each request with the facts.
func TestFlow(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, f := range facts(t) {
		tested[f.ID] = true
		t.Run(strings.TrimSuffix(f.ID+"/"+f.Variant, "/"), func(t *testing.T) {
			t.Parallel()
			for _, sample := range []string{"full", "bare"} {
				t.Run(sample, func(t *testing.T) {
					t.Parallel()
					v := newVisit(t, f, sample == "bare")
					w := v.signIn()
					require.NotNilf(t, v.seen,
						"the callback answered %d, Location %q, and nobody signed in: %s", w.Code, w.Header().Get("Location"), &v.log)
					v.checkUser()
				})
			}
		})
	}
	for _, i := range providers.All() {
		assert.Falsef(t, (i.Type == auth.TypeOAuth || i.Type == auth.TypeOIDC) && !tested[i.ID],
			"there are no facts of %s", i.ID)
	}
}

// TestNobody: a response without an identifier, or with one that is neither
// text nor number, signs nobody in. The log says so.
func TestNobody(t *testing.T) {
	t.Parallel()
	for _, f := range facts(t) {
		if f.Variant != "" || f.ID == "steam" { // whose identifier is in the assertion
			continue
		}
		t.Run(f.ID, func(t *testing.T) {
			t.Parallel()
			for name, instead := range map[string]any{
				"absent": nil, "empty": "", "object": map[string]any{},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					f := f
					f.Bare, _ = replaced(f.Bare, instead, "").(map[string]any)
					f.TokenExtra, _ = replaced(f.TokenExtra, instead, f.BareUser.ID).(map[string]any)
					f.User.ID = ""
					v := newVisit(t, f, true)
					w := v.signIn()
					if v.seen != nil {
						t.Fatalf("%+v signed in with account %q", v.seen.User, v.seen.Account.ProviderAccountID)
					}
					assert.Truef(t, w.Code == http.StatusFound && v.log.Len() != 0,
						"the callback answered %d, want 302; the log is %q", w.Code, &v.log)
				})
			}
		})
	}
}

// replaced returns a copy of a JSON value in which each text and number is
// replaced, or left out if the replacement is nil. If only is set, it replaces
// only that one.
func replaced(v, instead any, only string) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, member := range v {
			if r := replaced(member, instead, only); r != nil {
				m[name] = r
			}
		}
		return m
	case []any:
		var list []any
		for _, element := range v {
			if r := replaced(element, instead, only); r != nil {
				list = append(list, r)
			}
		}
		return list
	case bool, nil:
		return v
	}
	if only != "" && fmt.Sprint(v) != only {
		return v
	}
	return instead
}

// TestIssuerOfAnswers: some OAuth providers name themselves in their
// authorization responses, or will do so soon. The name must be the provider's,
// and another one signs nobody in.
func TestIssuerOfAnswers(t *testing.T) {
	t.Parallel()
	issuers := map[string]string{
		"github": "https://github.com/login/oauth", "github/own server": "https://git.example/login/oauth",
		"gitlab": "https://gitlab.com", "gitlab/own server": "https://git.example",
	}
	for _, f := range facts(t) {
		name := strings.TrimSuffix(f.ID+"/"+f.Variant, "/")
		right, ok := issuers[name]
		if !ok {
			continue
		}
		delete(issuers, name)
		for iss, accepted := range map[string]bool{right: true, "https://evil.example": false, right + "/": false} {
			t.Run(name+" "+iss, func(t *testing.T) {
				t.Parallel()
				f := f
				f.Iss = iss
				v := newVisit(t, f, false)
				w := v.signIn()
				assert.Equalf(t, accepted, v.seen != nil,
					"signed in: %v, want %v; the callback answered %d: %s", v.seen != nil, accepted, w.Code, &v.log)
			})
		}
	}
	for name := range issuers {
		t.Errorf("there are no facts of %s", name)
	}
}

// maxState is the length in bytes of the longest state that every provider
// accepts. WeChat and WeCom refuse a longer one.
const maxState = 128

const secret = "secret-1-of-thirty-two-characters"

var key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// visit is one sign-in together with its provider.
type visit struct {
	t      *testing.T
	f      fact
	bare   bool
	params url.Values // of the authorization request
	seen   *auth.SignInParams
	log    bytes.Buffer
}

func newVisit(t *testing.T, f fact, bare bool) *visit { return &visit{t: t, f: f, bare: bare} }

func (v *visit) profile() map[string]any {
	profile := map[string]any{}
	if v.bare {
		maps.Copy(profile, v.f.Bare)
	} else {
		maps.Copy(profile, v.f.Profile)
	}
	return profile
}

// signIn goes through the flow, and returns the response of the callback.
func (v *visit) signIn() *httptest.ResponseRecorder {
	v.t.Helper()
	t, f := v.t, v.f
	p := must(providers.ByID(f.ID, f.options(v)...))(t)
	h, err := auth.New(auth.Config{
		URL: "https://app.example", Secret: []string{"a secret of at least thirty-two characters"}, Providers: []auth.Provider{p},
		Logger: slog.New(slog.NewTextHandler(&v.log, nil)),
		Callbacks: auth.Callbacks{SignIn: func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
			v.seen = &p
			return auth.Allow(), nil
		}},
	})
	require.NoError(t, err)
	start, err := h.SignIn(httptest.NewRequest(http.MethodGet, "https://app.example/", nil), f.ID, auth.SignInOptions{})
	require.NoError(t, err)
	v.checkAuthorization(start.Location)
	callback := v.callback()
	for _, c := range start.Cookies {
		callback.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, callback)
	return w
}

// callback returns the request with which the provider sends the browser back.
func (v *visit) callback() *http.Request {
	answer := v.answerParams()
	target := "https://app.example/auth/callback/" + v.f.ID
	if v.params.Get("response_mode") != "form_post" {
		return httptest.NewRequest(http.MethodGet, target+"?"+answer.Encode(), nil)
	}
	if user, ok := v.profile()["user"]; ok {
		answer.Set("user", string(must(json.Marshal(user))(v.t)))
	}
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(answer.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func (v *visit) checkAuthorization(location string) {
	t, f := v.t, v.f
	u := must(url.Parse(location))(t)
	want := cmp.Or(f.Authorization, "https://idp.example/authorize")
	v.params = u.Query()
	got := u.Query()
	n := len(got.Get("state"))
	assert.Truef(t, n <= maxState, "the state has %d bytes, more than %d", n, maxState)
	assert.Equal(t, f.Fragment, u.Fragment, "the fragment")
	u.RawQuery, u.Fragment = "", ""
	assert.Equalf(t, want, u.String(), "the authorization URL is %s, want %s", u, want)
	for _, check := range []struct {
		name string
		used bool
	}{{"state", true}, {"code_challenge", f.PKCE}, {"nonce", f.Nonce}} {
		assert.Equalf(t, check.used, got.Has(check.name), "%s is sent", check.name)
		got.Del(check.name)
	}
	expected := url.Values{"client_id": {"client-1"}, "redirect_uri": {"https://app.example/auth/callback/" + f.ID}, "response_type": {"code"}}
	if f.PKCE {
		expected.Set("code_challenge_method", "S256")
	}
	for name, value := range f.Params {
		expected.Set(name, value)
	}
	if f.ID == "steam" {
		expected.Set("openid.return_to", "https://app.example/auth/callback/steam?code=openid&state="+v.params.Get("state"))
	}
	if f.Scope != nil {
		expected.Set("scope", *f.Scope)
	}
	assert.Equalf(t, expected, got, "the authorization parameters are\n%v, want\n%v", got, expected)
}

func (v *visit) checkUser() {
	t, want := v.t, v.f.User
	if v.bare {
		want = v.f.BareUser
	}
	u := v.seen.User
	got := want
	got.ID, got.Name, got.Email, got.Image = v.seen.Account.ProviderAccountID, u.Name, u.Email, u.Image
	if v.f.ID == "discord" { // computed, see TestDiscordAvatar
		got.Image = ""
	}
	assert.Truef(t, got == want, "the user is\n%+v, want\n%+v", got, want)
	assert.Truef(t, v.seen.Account.Provider == v.f.ID && string(v.seen.Account.Type) == v.f.Type,
		"the account is of %s, type %s", v.seen.Account.Provider, v.seen.Account.Type)
}

// RoundTrip plays the provider.
func (v *visit) RoundTrip(r *http.Request) (*http.Response, error) {
	token, userInfo := cmp.Or(v.f.Token, "https://idp.example/token"), cmp.Or(v.f.UserInfo, "https://idp.example/userinfo")
	bare := *r.URL
	bare.RawQuery = ""
	// Some endpoints already have a query.
	ask, _, _ := strings.Cut(userInfo, "?")
	switch address := bare.String(); {
	case strings.HasSuffix(address, "/.well-known/openid-configuration"):
		if want := strings.TrimSuffix(v.f.Issuer, "/"); !strings.HasPrefix(address, want) && v.f.ID != "frontegg" {
			v.t.Errorf("discovery at %s, want below %s", address, want)
		}
		issuer := v.f.Issuer
		if strings.Contains(issuer, "/common/") {
			issuer = "https://login.microsoftonline.com/{tenantid}/v2.0"
		}
		return answer(r, http.StatusOK, "application/json", map[string]any{
			"issuer": issuer, "authorization_endpoint": "https://idp.example/authorize", "token_endpoint": "https://idp.example/token",
			"userinfo_endpoint": "https://idp.example/userinfo", "jwks_uri": "https://idp.example/jwks", "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	case address == "https://idp.example/jwks":
		k, err := key()
		if err != nil {
			return nil, err
		}
		if v.f.ID == "battlenet" { // its modulus is in the standard alphabet: https://oauth.battle.net/jwks/certs
			return answer(r, http.StatusOK, "application/json", map[string]any{"keys": []any{
				map[string]any{"kty": "RSA", "kid": "k", "n": base64.StdEncoding.EncodeToString(k.N.Bytes()), "e": "AQAB"},
			}})
		}
		return answer(r, http.StatusOK, "application/json", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	case address == token && v.f.Exchange != nil:
		return v.exchangeAnswer(r)
	case address == token && r.Method == http.MethodPost:
		return v.tokenAnswer(r)
	case address == ask:
		return v.userInfoAnswer(r)
	case v.f.ID == "github" && address == userInfo+"/emails":
		return answer(r, http.StatusForbidden, "application/json", map[string]any{})
	case r.URL.Host == "graph.microsoft.com":
		return answer(r, http.StatusNotFound, "text/plain", nil)
	default:
		for _, s := range v.f.Steps {
			if address == s.URL && r.Method == http.MethodGet {
				v.checkQuery(r, s.Query, "")
				return answer(r, http.StatusOK, "application/json", s.Answer)
			}
		}
		v.t.Errorf("unexpected request: %s %s", r.Method, address)
		return answer(r, http.StatusNotFound, "text/plain", nil)
	}
}

func (v *visit) tokenAnswer(r *http.Request) (*http.Response, error) {
	t, f := v.t, v.f
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	form := r.PostForm
	assert.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"), "the token request")
	assert.Equal(t, "application/json", r.Header.Get("Accept"), "the token request")
	v.checkVerifier(form.Get("code_verifier"))
	form.Del("code_verifier")
	want := url.Values{"grant_type": {"authorization_code"}, "code": {"code-1"}, "redirect_uri": {"https://app.example/auth/callback/" + f.ID}}
	user, password, basic := r.BasicAuth()
	switch {
	case f.ID == "azure-devops":
		want = url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {"code-1"}, "redirect_uri": want["redirect_uri"],
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {secret},
		}
		assert.False(t, basic, "the token request has a header Authorization")
	case f.Auth == "client_secret_post":
		want.Set("client_id", "client-1")
		want.Set("client_secret", secret)
	case !basic || user != "client-1" || password != secret:
		t.Errorf("the client authenticates as %q by basic authentication: %v", user, basic)
	}
	for name, value := range f.TokenBody {
		want.Set(name, value)
	}
	assert.Equalf(t, want, form, "the token request is\n%v, want\n%v", form, want)
	v.checkQuery(r, f.TokenQuery, "")
	members := map[string]any{"access_token": "access-1", "token_type": "Bearer", "expires_in": 3600}
	if f.NoTokenType {
		delete(members, "token_type")
	}
	maps.Copy(members, f.TokenExtra)
	if f.Type == "oidc" {
		claims := map[string]any{}
		if !f.FromUserInfo {
			claims = v.profile()
			delete(claims, "user") // the callback posts it
		}
		issuer := f.Issuer
		if strings.Contains(issuer, "/common/") {
			issuer, claims["tid"] = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0", "11111111-2222-3333-4444-555555555555"
		}
		now := time.Now().Unix()
		maps.Copy(claims, map[string]any{"iss": issuer, "sub": v.subject(), "aud": "client-1", "exp": now + 60, "iat": now})
		if f.Nonce {
			claims["nonce"] = v.params.Get("nonce")
		}
		members["id_token"] = v.signed(claims, f.IDTokenAlg)
	}
	return answer(r, http.StatusOK, "application/json", members)
}

// checkVerifier compares the PKCE verifier with the challenge (RFC 7636 section
// 4.6).
func (v *visit) checkVerifier(verifier string) {
	v.t.Helper()
	hash := sha256.Sum256([]byte(verifier))
	switch challenge := v.params.Get("code_challenge"); {
	case (verifier != "") != v.f.PKCE:
		v.t.Errorf("the code_verifier is %q, want one: %v", verifier, v.f.PKCE)
	case v.f.PKCE && base64.RawURLEncoding.EncodeToString(hash[:]) != challenge:
		v.t.Errorf("the code_verifier is not that of the challenge %s", challenge)
	}
}

func (v *visit) subject() any {
	if s, ok := v.profile()["sub"]; ok || v.f.User.ID == "" {
		return s
	}
	return "subject"
}

func (v *visit) signed(claims map[string]any, algorithm string) string {
	v.t.Helper()
	k := must(key())(v.t)
	with := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: k, KeyID: "k"}}
	if algorithm == "HS256" {
		with = jose.SigningKey{Algorithm: jose.HS256, Key: []byte(secret)}
	}
	signer := must(jose.NewSigner(with, nil))(v.t)
	payload := must(json.Marshal(claims))(v.t)
	signed := must(signer.Sign(payload))(v.t)
	return must(signed.CompactSerialize())(v.t)
}

func (v *visit) userInfoAnswer(r *http.Request) (*http.Response, error) {
	t, f := v.t, v.f
	assert.False(t, f.Type == "oidc" && !f.FromUserInfo, "userinfo is asked for, and the ID token has everything")
	method := cmp.Or(f.Method, http.MethodGet)
	bearer := cmp.Or(f.Credential, "Bearer access-1")
	if f.NoBearer {
		bearer = ""
	}
	assert.Truef(t, r.Method == method && r.Header.Get("Authorization") == bearer && r.Header.Get("User-Agent") != "",
		"the userinfo request is %s with Authorization %q and User-Agent %q", r.Method, r.Header.Get("Authorization"), r.Header.Get("User-Agent"))
	for name, value := range f.Headers {
		assert.Equalf(t, value, r.Header.Get(name), "the userinfo request has %s", name)
	}
	_, own, _ := strings.Cut(f.UserInfo, "?")
	v.checkQuery(r, f.UserInfoQuery, own)
	if f.JSON != nil {
		var got map[string]any
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		assert.Equal(t, f.JSON, got, "the body of the userinfo request")
	}
	if f.UserInfoAlg != "" {
		return answer(r, http.StatusOK, "application/jwt", v.signed(v.profile(), f.UserInfoAlg))
	}
	return answer(r, http.StatusOK, "application/json", f.inAnswer(v.profile()))
}

func (v *visit) checkQuery(r *http.Request, want map[string]string, own string) {
	expected := must(url.ParseQuery(own))(v.t)
	for name, value := range want {
		expected.Set(name, value)
	}
	assert.Equalf(v.t, expected, r.URL.Query(), "%s has the query", r.URL.Path)
}

func answer(r *http.Request, status int, contentType string, body any) (*http.Response, error) {
	b, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		b = string(encoded)
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(b)), ContentLength: int64(len(b)),
	}, nil
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
