package auth_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestOAuthSignIn signs a person in with each kind of correct provider. It
// shows that the sign-ins which TestHostileProvider expects to be refused are
// not refused for another reason.
func TestOAuthSignIn(t *testing.T) {
	authenticated := func(method auth.ClientAuth, key func() crypto.Signer) func(*idp, *auth.OAuth) {
		return func(p *idp, o *auth.OAuth) {
			p.clientAuth, o.Client.TokenEndpointAuthMethod = method, method
			if key != nil {
				p.clientKey, o.Client.PrivateKey, o.Client.KeyID = key().Public(), key(), "client-key"
			}
		}
	}
	for _, c := range []struct {
		name string
		set  func(*idp, *auth.OAuth)
		// session is a text that the session must contain.
		session string
		// requests are the numbers of requests to metadata, keys, token and userinfo.
		requests [4]int
	}{
		{"RS256", func(*idp, *auth.OAuth) {}, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"ES256", signedWith(jose.ES256, ecKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"EdDSA", signedWith(jose.EdDSA, edKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"PS256", signedWith(jose.PS256, rsaKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"HS256 when asked for", func(p *idp, o *auth.OAuth) {
			o.Client.IDTokenSignedResponseAlg = "HS256"
			p.mint = func(m map[string]any) string { return sign(jose.HS256, []byte(idpSecret), "", m) }
		}, `"name":"ada"`, [4]int{1, 0, 1, 0}},
		{"client_secret_basic", authenticated(auth.ClientSecretBasic, nil), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"client_secret_post", authenticated(auth.ClientSecretPost, nil), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"client_secret_jwt", authenticated(auth.ClientSecretJWT, nil), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"private_key_jwt with RSA", authenticated(auth.PrivateKeyJWT, otherRSAKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"private_key_jwt with ECDSA", authenticated(auth.PrivateKeyJWT, ecKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"private_key_jwt with Ed25519", authenticated(auth.PrivateKeyJWT, edKey), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"public client", func(p *idp, o *auth.OAuth) {
			authenticated(auth.ClientAuthNone, nil)(p, o)
			o.ClientSecret = ""
		}, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"userinfo", userInfoOnly(func(*idp, *auth.OAuth) {}), `"name":"userinfo of ada"`, [4]int{1, 1, 1, 1}},
		{"signed userinfo", userInfoOnly(func(p *idp, _ *auth.OAuth) { p.signedUserInfo = true }), `"name":"userinfo of ada"`, [4]int{1, 1, 1, 1}},
		{"signed userinfo when asked for", userInfoOnly(func(p *idp, o *auth.OAuth) {
			p.signedUserInfo, o.Client.UserInfoSignedResponseAlg = true, "RS256"
		}), `"name":"userinfo of ada"`, [4]int{1, 1, 1, 1}},
		{"signed userinfo with an algorithm of its own", userInfoOnly(func(p *idp, _ *auth.OAuth) {
			metadata("userinfo_signing_alg_values_supported", []string{"ES256"})(p, nil)
			jwks(jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1"}, jose.JSONWebKey{Key: ecKey().Public(), KeyID: "key-2"})(p, nil)
			at("/userinfo", body(200, "application/jwt", sign(jose.ES256, ecKey(), "key-2", map[string]any{"sub": "ada", "name": "userinfo of ada", "email": "ada@example.com"})))(p, nil)
		}), `"name":"userinfo of ada"`, [4]int{1, 1, 1, 1}},
		{"OAuth without OpenID Connect", plain(nil), `"name":"userinfo of ada"`, [4]int{0, 0, 1, 1}},
		{"OAuth with discovery", func(_ *idp, o *auth.OAuth) { o.Type, o.Checks = auth.TypeOAuth, nil }, `"name":"userinfo of ada"`, [4]int{1, 1, 1, 1}},
		{"metadata in place of an issuer", func(p *idp, o *auth.OAuth) { o.Issuer, o.WellKnown = "", p.URL+"/.well-known/openid-configuration" },
			`"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"metadata of RFC 8414 in place of an issuer with a path", func(p *idp, o *auth.OAuth) {
			o.Issuer, o.WellKnown = "", p.URL+"/.well-known/oauth-authorization-server/tenant"
			p.endpoints["/.well-known/oauth-authorization-server/tenant"] = func(w http.ResponseWriter, r *http.Request) {
				r.URL.Path = "/.well-known/openid-configuration"
				p.ServeHTTP(w, r)
			}
			metadata("issuer", p.URL+"/tenant")(p, o)
			claim("iss", p.URL+"/tenant")(p, o)
		}, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"OAuth with an issuer that the answer names", plain(func(p *idp, o *auth.OAuth) {
			p.iss, o.Issuer = p.URL, p.URL
			token("id_token", nil)(p, o)
		}), `"name":"userinfo of ada"`, [4]int{0, 0, 1, 1}},
		{"issuer that the answer names", func(p *idp, _ *auth.OAuth) { p.iss = p.URL }, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"several audiences", func(p *idp, _ *auth.OAuth) {
			p.claims = func(m map[string]any) { m["aud"], m["azp"] = []string{"client-2", idpClient}, idpClient }
		}, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"expired within the tolerance", claim("exp", newClock().Now().Unix()-29), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"valid soon, within five minutes", claim("nbf", newClock().Now().Unix()+299), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"issued soon, within five minutes", claim("iat", newClock().Now().Unix()+299), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"times with fractions", claim("exp", float64(newClock().Now().Unix())+0.5), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"authenticated within the greatest age and the tolerance", authenticatedBefore(time.Hour + 29*time.Second), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"authenticated long ago", claim("auth_time", 1), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"azp that is us", claim("azp", idpClient), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"no at_hash", claim("at_hash", nil), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"token type DPoP", token("token_type", "DPoP"), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"lifetime as text", token("expires_in", "3600"), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"no key ID in the token, and several keys", func(p *idp, _ *auth.OAuth) {
			p.kid = ""
			jwks(jose.JSONWebKey{Key: otherRSAKey().Public(), KeyID: "1"}, jose.JSONWebKey{Key: ecKey().Public(), KeyID: "2"}, jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "3"})(p, nil)
		}, `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"one key ID for several keys", jwks(jose.JSONWebKey{Key: otherRSAKey().Public(), KeyID: "key-1"}, jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1"}),
			`"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"no key ID in the keys", jwks(jose.JSONWebKey{Key: edKey().Public()}, jose.JSONWebKey{Key: rsaKey().Public(), Algorithm: "RS256"}), `"name":"ada"`, [4]int{1, 1, 1, 0}},
		{"a key of a kind that nobody knows", at("/jwks", func(w http.ResponseWriter, _ *http.Request) {
			known := orPanic(jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1"}.MarshalJSON())
			body(200, "application/json", `{"keys":[{"kty":"XYZ","kid":"key-0"},{"kty":"EC","crv":"secp256k1","kid":"k","x":"AA","y":"AA"},`+string(known)+`]}`)(w, nil)
		}), `"name":"ada"`, [4]int{1, 1, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, stored := range []bool{true, false} {
				s := newSite(t, func(p *idp, config *auth.Config, o *auth.OAuth) {
					if !stored {
						config.Adapter = nil
					}
					c.set(p, o)
				})
				b := newBrowser(t, s)
				s.signIn(b).wantLocation(t, origin)
				b.wantSession(c.session)
				b.wantSession("ada@example.com")
				got := [4]int{s.idp.count("/.well-known/openid-configuration"), s.idp.count("/jwks"), s.idp.count("/token"), s.idp.count("/userinfo")}
				// Keys are needed only for a signature.
				if got != c.requests && (c.name != "OAuth with discovery" || got[1] > 1) {
					t.Errorf("requests to metadata, keys, token, userinfo: %v, want %v", got, c.requests)
				}
				s.wantNoLeaks(t)
				assert.Empty(t, s.idp.problems, "the provider complains")
				_, ok := s.store.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}]
				assert.Equal(t, stored, ok, "account stored")
			}
		})
	}
}

// TestOAuthMaxAge: the provider is asked for the greatest age, and the code
// that starts the sign-in may only ask for a smaller age.
func TestOAuthMaxAge(t *testing.T) {
	s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.Client.DefaultMaxAge = time.Hour })
	for given, want := range map[string]string{"": "3600", "?max_age=0": "0", "?max_age=60": "60", "?max_age=3601": "3600", "?max_age=-1": "3600", "?max_age=x": "3600"} {
		u := must(url.Parse(s.start(newBrowser(t, s), "/auth/signin/idp"+given)))(t)
		assert.Equalf(t, []string{want}, u.Query()["max_age"], "max_age with %q", given)
	}
}

// keysWith changes the members of the provider's key.
func keysWith(key func() crypto.Signer, change func(m map[string]any)) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) {
		m := map[string]any{}
		text := orPanic(jose.JSONWebKey{Key: key().Public(), KeyID: "key-1"}.MarshalJSON())
		if err := json.Unmarshal(text, &m); err != nil {
			panic(err)
		}
		change(m)
		p.endpoints["/jwks"] = body(200, "application/json", string(orPanic(json.Marshal(map[string]any{"keys": []any{nil, "x", map[string]any{"kty": "RSA", "kid": "key-0"}, m}}))))
	}
}

// negativeSerial is a certificate of the key with a negative serial number,
// which crypto/x509 refuses.
func negativeSerial() string {
	c := &x509.Certificate{SerialNumber: big.NewInt(0x7f01), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	der := orPanic(x509.CreateCertificate(rand.Reader, c, c, rsaKey().Public(), rsaKey()))
	der[bytes.Index(der, []byte("\x02\x02\x7f\x01"))+2] = 0xff
	return base64.StdEncoding.EncodeToString(der)
}

// shortCoordinates is a key on P-256 whose x begins with a zero byte, which
// some providers leave out.
var shortCoordinates = sync.OnceValue(func() crypto.Signer {
	for {
		if k := orPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)); orPanic(k.PublicKey.Bytes())[1] == 0 {
			return k
		}
	}
})

// TestOAuthOptionalMembers signs a person in although an optional member of a
// provider's response is null, empty, of a wrong type or spelled in another
// way. TestHostileProvider has the members that decide who somebody is.
func TestOAuthOptionalMembers(t *testing.T) {
	both := func(sets ...func(*idp, *auth.OAuth)) func(*idp, *auth.OAuth) {
		return func(p *idp, o *auth.OAuth) {
			for _, set := range sets {
				set(p, o)
			}
		}
	}
	unsent := func(name string, v any) func(*idp, *auth.OAuth) {
		return func(p *idp, o *auth.OAuth) {
			o.Checks = []auth.Check{auth.CheckState, auth.CheckPKCE}
			p.claims = func(m map[string]any) { m[name] = v }
		}
	}
	profile := func(text string) func(*idp, *auth.OAuth) {
		return at("/userinfo", body(200, "application/json", text))
	}
	document := func(change func(string) string) func(*idp, *auth.OAuth) {
		return func(p *idp, _ *auth.OAuth) {
			p.endpoints["/.well-known/openid-configuration"] = body(200, "application/json", change(string(orPanic(json.Marshal(map[string]any{
				"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks",
			})))))
		}
	}
	stdAlphabet := func(m map[string]any) {
		m["n"] = base64.StdEncoding.EncodeToString(orPanic(base64.RawURLEncoding.DecodeString(m["n"].(string))))
	}
	for _, c := range []struct {
		name   string
		set    func(*idp, *auth.OAuth)
		answer func(v url.Values)
		// session is a text that the session must contain, log one of the log.
		session, log string
	}{
		{name: "null refresh token", set: nullMember("refresh_token")},
		{name: "empty refresh token", set: token("refresh_token", "")},
		{name: "null scope", set: nullMember("scope")},
		{name: "null session state", set: nullMember("session_state")},
		{name: "null details", set: nullMember("authorization_details")},
		{name: "null error", set: nullMember("error")},
		{name: "scope that is a list", set: token("scope", []string{"openid", "email"})},
		{name: "null lifetime", set: nullMember("expires_in")},
		{name: "empty lifetime", set: token("expires_in", "")},
		{name: "lifetime in words", set: token("expires_in", "soon")},
		{name: "lifetime that is negative", set: token("expires_in", -1)},
		{name: "lifetime that is no number", set: token("expires_in", "NaN")},
		{name: "lifetime that is true", set: token("expires_in", true)},
		{name: "lifetime of centuries", set: token("expires_in", 1e10)},
		{name: "lifetime for ever", set: token("expires_in", 1e300)},
		{name: "null ID token of plain OAuth", set: plain(nullMember("id_token")), session: `"name":"userinfo of ada"`},
		{name: "unasked ID token of another issuer", set: plain(claim("iss", "https://another.example")), session: `"name":"userinfo of ada"`},
		{name: "unasked ID token of another person", set: plain(claim("sub", "grace")), session: `"name":"userinfo of ada"`},
		{name: "unasked ID token that is none", set: plain(token("id_token", "no token at all")), session: `"name":"userinfo of ada"`},

		{name: "null nonce that was not sent", set: unsent("nonce", nil)},
		{name: "empty nonce that was not sent", set: unsent("nonce", "")},
		{name: "null azp", set: nullClaim("azp")},
		{name: "empty azp", set: claim("azp", "")},
		{name: "null nbf", set: nullClaim("nbf")},
		{name: "null at_hash", set: nullClaim("at_hash")},
		{name: "null auth_time that was not asked for", set: nullClaim("auth_time")},
		{name: "auth_time in words that was not asked for", set: claim("auth_time", "today")},
		{name: "null picture", set: nullClaim("picture")},
		{name: "audience with a null in its list", set: claim("aud", []any{idpClient, nil})},
		{name: "sources of claims of another shape", set: claim("_claim_sources", []string{"x"})},
		{name: "names of claims without a source", set: claim("_claim_names", map[string]any{"groups": "src1"})},
		{name: "null name and a nickname", set: func(p *idp, _ *auth.OAuth) {
			p.claims = func(m map[string]any) { m["name"], m["nickname"] = nil, "lady" }
		}, session: `"name":"lady"`},
		{name: "empty name and a nickname", set: func(p *idp, _ *auth.OAuth) {
			p.claims = func(m map[string]any) { m["name"], m["nickname"] = "", "lady" }
		}, session: `"name":"lady"`},

		{name: "certificate with a negative serial number", set: keysWith(rsaKey, func(m map[string]any) { m["x5c"] = []string{negativeSerial()} })},
		{name: "certificate of another key", set: keysWith(rsaKey, func(m map[string]any) { m["x5c"], m["x5t"], m["x5u"] = "none", "x", 7 })},
		{name: "null members of a key", set: keysWith(rsaKey, func(m map[string]any) { m["alg"], m["use"], m["x5c"], m["d"] = nil, nil, nil, nil })},
		{name: "modulus in the standard alphabet with padding", set: keysWith(rsaKey, stdAlphabet)},
		{name: "exponent with padding", set: keysWith(rsaKey, func(m map[string]any) { m["e"] = "AQAB====" })},
		{name: "coordinate without its leading zero", set: both(signedWith(jose.ES256, shortCoordinates), keysWith(shortCoordinates, func(m map[string]any) {
			m["x"] = base64.RawURLEncoding.EncodeToString(orPanic(base64.RawURLEncoding.DecodeString(m["x"].(string)))[1:])
		}))},
		{name: "Ed25519 with padding", set: both(signedWith(jose.EdDSA, edKey), keysWith(edKey, func(m map[string]any) { m["x"] = m["x"].(string) + "=" }))},

		{name: "number for an endpoint that is not used", set: metadata("userinfo_endpoint", 7)},
		{name: "endpoint without encryption that is not used", set: metadata("userinfo_endpoint", "http://idp.example/userinfo")},
		{name: "null algorithms", set: metadata("id_token_signing_alg_values_supported", nil)},
		{name: "no algorithms", set: metadata("id_token_signing_alg_values_supported", []string{})},
		{name: "one algorithm that is not a list", set: metadata("id_token_signing_alg_values_supported", "RS256")},
		{name: "null among the algorithms", set: metadata("id_token_signing_alg_values_supported", []any{nil, "RS256"})},
		{name: "wrong types of members that nobody reads", set: metadata("scopes_supported", map[string]any{"a": 1})},
		{name: "null promise of an issuer", set: metadata("authorization_response_iss_parameter_supported", nil)},
		{name: "metadata with a byte order mark", set: document(func(s string) string { return "\ufeff" + s })},
		{name: "promise of an issuer as text", set: both(metadata("authorization_response_iss_parameter_supported", "true"), func(p *idp, _ *auth.OAuth) { p.iss = p.URL })},

		{name: "empty members of the answer", answer: func(v url.Values) {
			for _, name := range []string{"iss", "error", "response", "id_token", "token"} {
				v.Set(name, "")
			}
		}},
		{name: "issuer of a provider without one", set: plain(nil), answer: func(v url.Values) { v.Set("iss", "https://provider.example/login/oauth") },
			session: `"name":"userinfo of ada"`, log: "iss=https://provider.example/login/oauth"},

		{name: "signed userinfo with half a parameter in its media type", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
			p.endpoints["/userinfo"] = func(w http.ResponseWriter, r *http.Request) {
				body(200, "application/jwt; charset", p.sign(map[string]any{"iss": nil, "aud": "", "exp": nil, "sub": "ada", "name": "signed", "email": "ada@example.com"}))(w, r)
			}
		}), session: `"name":"signed"`},
		{name: "null subject and an ID", set: plain(both(token("id_token", nil), profile(`{"sub":null,"id":7,"name":"x","email":"ada@example.com"}`))), session: `"name":"x"`},
		{name: "subject that is a number in one place", set: userInfoOnly(both(claim("sub", "1234567890123456789"), profile(`{"sub":1234567890123456789,"name":"x","email":"ada@example.com"}`))),
			session: `"name":"x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
				if c.set != nil {
					c.set(p, o)
				}
			})
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			if c.answer != nil {
				c.answer(answer)
			}
			b.get("/auth/callback/idp?"+answer.Encode()).wantLocation(t, origin)
			b.wantSession("ada@example.com")
			b.wantSession(c.session)
			if log := s.log.String(); strings.Count(log, c.log) == 0 || strings.Contains(log, "ERROR") {
				t.Errorf("the log has not %q, or an error:\n%s", c.log, log)
			}
			s.wantNoLeaks(t)
		})
	}
}

func signedWith(alg jose.SignatureAlgorithm, key func() crypto.Signer) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.alg, p.key = alg, key() }
}

// TestOAuthIssuerOfAnotherProvider: an answer that names the issuer of another
// provider of the site is refused also by a provider without an issuer, and a
// failed sign-in says nothing about the issuer.
func TestOAuthIssuerOfAnotherProvider(t *testing.T) {
	for given, want := range map[string]string{"https://other.example": "names the issuer of provider other", "https://other.example/": "names the issuer of provider other", "https://third.example": ""} {
		s := newSite(t, func(p *idp, c *auth.Config, o *auth.OAuth) {
			plain(nil)(p, o)
			c.Providers = append(c.Providers, &auth.OAuth{ID: "other", Type: auth.TypeOIDC, Issuer: "https://other.example", ClientID: "x", ClientSecret: "y"})
		})
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
		answer.Set("iss", given)
		end := b.get("/auth/callback/idp?" + answer.Encode())
		if want == "" {
			end.wantLocation(t, origin)
			b.wantSession("ada@example.com")
			continue
		}
		end.wantLocation(t, strangeAnswer)
		b.wantNoSession()
		if log := s.log.String(); !strings.Contains(log, want) || strings.Contains(log, "which is not compared") {
			t.Errorf("%s: the log is\n%s", given, log)
		}
	}
}

// TestWellKnownReplacesTheEndpoints: the URL of the metadata is enough, wherever
// it is. The issuer is the one in the metadata, or the configured one.
func TestWellKnownReplacesTheEndpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(p *idp, o *auth.OAuth)
		reason string // in the log; empty means that the person is signed in
	}{
		"OpenID Connect": {func(*idp, *auth.OAuth) {}, ""},
		"OAuth":          {func(_ *idp, o *auth.OAuth) { o.Type, o.Checks = auth.TypeOAuth, nil }, ""},
		"userinfo":       {userInfoOnly(func(*idp, *auth.OAuth) {}), ""},
		"known keys":     {func(p *idp, o *auth.OAuth) { o.JWKS = p.URL + "/jwks" }, ""},
		"assertion": {func(p *idp, o *auth.OAuth) {
			p.clientAuth, p.clientKey = auth.PrivateKeyJWT, ecKey().Public()
			o.Client.TokenEndpointAuthMethod, o.Client.PrivateKey, o.Client.KeyID = auth.PrivateKeyJWT, ecKey(), "client-key"
		}, ""},
		"answer with iss":            {func(p *idp, _ *auth.OAuth) { p.iss = p.URL }, ""},
		"answer with another iss":    {func(p *idp, _ *auth.OAuth) { p.iss = "https://evil.example" }, "another issuer"},
		"token of another issuer":    {claim("iss", "https://evil.example"), "another issuer"},
		"the issuer is set":          {func(p *idp, o *auth.OAuth) { o.Issuer = p.URL }, ""},
		"another issuer is set":      {func(_ *idp, o *auth.OAuth) { o.Issuer = "https://other.example" }, `want \"https://other.example\"`},
		"metadata without an issuer": {metadata("issuer", nil), "not an https URL"},
		"issuer that is not a URL":   {metadata("issuer", "acme"), "not an https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newClock()
			s := newSiteWith(t, newBubbleIDP(t, now.Now), now, func(p *idp, _ *auth.Config, o *auth.OAuth) {
				o.Issuer, o.WellKnown = "", "https://metadata.example/acme.json"
				p.endpoints["/acme.json"] = func(w http.ResponseWriter, r *http.Request) {
					r.URL.Path = "/.well-known/openid-configuration"
					p.ServeHTTP(w, r)
				}
				c.set(p, o)
			})
			b := newBrowser(t, s)
			location := b.post("/auth/signin/idp").location()
			if strings.HasPrefix(location, s.idp.URL) {
				location = b.get("/auth/callback/idp?" + s.idp.authorize(t, location).Encode()).location()
			}
			assert.Falsef(t, c.reason == "" && location != origin || !strings.Contains(s.log.String(), c.reason),
				"the browser is sent to %s, want the reason %q; log: %s", location, c.reason, s.log)
			if c.reason != "" {
				b.wantNoSession()
			}
		})
	}
}

// TestStaleAuthenticationIsNotFresh: the application asks the provider for a
// fresh sign-in by max_age, and the person at the browser removes that
// parameter from the request. The ID token then tells of an old authentication,
// or of none, and is refused (OpenID Connect Core 1.0 section 3.1.3.7). A
// person who does sign in again, and takes minutes to consent, is signed in.
func TestStaleAuthenticationIsNotFresh(t *testing.T) {
	for what, c := range map[string]struct {
		maxAge string
		age    any // of the authentication when the sign-in begins, in seconds
		noTickets,
		want bool
	}{
		"no auth_time":                        {maxAge: "0"},
		"an hour ago":                         {maxAge: "0", age: 3600},
		"an hour ago, without tickets":        {maxAge: "0", age: 3600, noTickets: true},
		"longer ago than allowed":             {maxAge: "300", age: 400},
		"since the sign-in began":             {maxAge: "0", age: 0, want: true},
		"since, without tickets":              {maxAge: "0", age: 0, noTickets: true, want: true},
		"as long ago as allowed":              {maxAge: "300", age: 290, want: true},
		"nothing asked":                       {want: true},
		"a wish that no provider understands": {maxAge: "soon", want: true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, _ *auth.OAuth) {
				at := newClock().Now()
				p.claims = func(m map[string]any) {
					if age, ok := c.age.(int); ok {
						m["auth_time"] = at.Add(-time.Duration(age) * time.Second).Unix()
					}
				}
			})
			b := newBrowser(t, s)
			params := url.Values{}
			if c.maxAge != "" {
				params.Set("max_age", c.maxAge)
			}
			result := must(s.SignIn(must(http.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil))(t), "idp", auth.SignInOptions{RedirectTo: "/in", AuthorizationParams: params}))(t)
			b.take(result)
			if c.noTickets {
				delete(b.cookies, b.ticket().Name)
			}
			answer := s.idp.authorize(t, result.Location)
			s.clock.advance(5 * time.Minute)
			got := b.get(callback(answer)).location()
			assert.Equalf(t, c.want, got == origin+"/in", "signed in; log: %s", s.log)
		})
	}
}

// TestPinnedTenantRefusesOtherTenants: metadata for many tenants, as Microsoft
// Entra ID has it, is accepted for the answers and ID tokens of each of them, and
// of no other issuer. A configuration that names one tenant refuses people of
// other tenants, although the metadata is the same for all tenants.
func TestPinnedTenantRefusesOtherTenants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer, issuer, tenant string
		configured                   string // empty for common
		refused                      string // empty if the person signs in
	}{
		{name: "issuer in the ID token", issuer: "/t-1/v2.0", tenant: "t-1"},
		{name: "issuer in both", answer: "/t-1/v2.0", issuer: "/t-1/v2.0", tenant: "t-1"},
		{name: "token of another tenant than it says", issuer: "/t-2/v2.0", tenant: "t-1", refused: "issued by another issuer"},
		{name: "answer of no tenant", answer: "//v2.0", issuer: "/t-1/v2.0", tenant: "t-1", refused: "names another issuer"},
		{name: "answer of the template", answer: "/{tenantid}/v2.0", issuer: "/t-1/v2.0", tenant: "t-1", refused: "names another issuer"},
		{name: "answer of a path", answer: "/t-1/t-1/v2.0", issuer: "/t-1/v2.0", tenant: "t-1", refused: "names another issuer"},
		{name: "answer of another version", answer: "/t-1/v1.0", issuer: "/t-1/v2.0", tenant: "t-1", refused: "names another issuer"},
		{name: "every tenant is wanted", issuer: "/t-2/v2.0", tenant: "t-2"},
		{name: "account of the tenant", configured: "t-1", issuer: "/t-1/v2.0", tenant: "t-1"},
		{name: "account of another tenant", configured: "t-1", issuer: "/t-2/v2.0", tenant: "t-2", refused: "issued by another issuer"},
		{name: "domain whose tenant is not known", configured: "contoso.example", issuer: "/t-2/v2.0", tenant: "t-2", refused: "issued by another issuer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
				o.Issuer, o.WellKnown = p.URL+"/"+cmp.Or(c.configured, "common")+"/v2.0", p.URL+"/.well-known/openid-configuration"
				p.metadata = func(m map[string]any) { m["issuer"] = p.URL + "/{tenantid}/v2.0" }
				p.claims = func(m map[string]any) { m["iss"], m["tid"] = p.URL+c.issuer, c.tenant }
			})
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			if c.answer != "" {
				answer.Set("iss", s.idp.URL+c.answer)
			}
			end := b.get(callback(answer))
			if c.refused == "" {
				end.wantLocation(t, origin)
				b.wantSession("ada@example.com")
				return
			}
			s.refused(t, end, c.refused)
			b.wantNoSession()
		})
	}
}

// TestEmptyChecksAreNotNone: an empty list means the default checks. Only a
// list with CheckNone alone turns the checks off.
func TestEmptyChecksAreNotNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		checks []auth.Check
		sent   bool
	}{
		{"no list", nil, true}, {"empty list", []auth.Check{}, true}, {"none", []auth.Check{auth.CheckNone}, false},
	} {
		s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.Checks = c.checks })
		u := must(url.Parse(s.start(newBrowser(t, s), "/auth/signin/idp")))(t)
		for _, name := range []string{"state", "code_challenge"} {
			assert.Equalf(t, c.sent, u.Query().Has(name), "%s: %s is sent", c.name, name)
		}
	}
	_, err := auth.New(auth.Config{Secret: []string{secret}, Providers: []auth.Provider{&auth.OAuth{
		ID: "idp", ClientID: "a", ClientSecret: "b", Issuer: "https://idp.example", Checks: []auth.Check{auth.CheckNone, auth.CheckState},
	}}})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "CheckNone and other checks"),
		"none beside state: %v", err)
}
