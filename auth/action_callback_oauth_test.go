package auth_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
)

// attempt is one attack: something that a provider does, or a person who
// changes the answer in the browser, to be signed in or to do harm.
type attempt struct {
	name string
	// set configures provider and client for the attempt.
	set func(p *idp, o *auth.OAuth)
	// answer changes the authorization answer.
	answer func(v url.Values)
	// atStart: the sign-in is refused when it is started.
	atStart bool
	// slow: the provider takes as long as it is allowed to, which is
	// requestTimeout.
	slow bool
	// down: the provider is not available, as it is if it is slow.
	down bool
	// log is the reason that is logged. If type and page are empty, they mean
	// CallbackRouteError and the error page.
	log  string
	kind auth.ErrorType
	page string
}

// requestTimeout is the time limit of a request to a provider.
const requestTimeout = 10 * time.Second

const (
	errorPage = origin + "/auth/error?error=Configuration"
	// downPage is the page for a provider that is not available.
	downPage = origin + "/auth/error?error=ProviderUnavailable"
	// lateAnswer and strangeAnswer are the pages for an answer whose checks are
	// missing or used up, and for one that no honest provider gives this browser.
	lateAnswer    = origin + "/auth/error?error=InvalidCheck"
	strangeAnswer = origin + "/auth/error?error=CallbackRouteError"
	signInPage    = origin + "/auth/signin?error="
)

// claim sets a claim, or removes it if v is nil.
func claim(name string, v any) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) {
		p.claims = func(m map[string]any) {
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}
	}
}

// minted replaces the signing of the ID token.
func minted(mint func(p *idp, m map[string]any) string) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.mint = func(m map[string]any) string { return mint(p, m) } }
}

// nullClaim sets a claim of the ID token to null.
func nullClaim(name string) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.claims = func(m map[string]any) { m[name] = nil } }
}

// nullMember sets a member of the token answer to null.
func nullMember(name string) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.tokenAnswer = func(m map[string]any) { m[name] = nil } }
}

// token sets a member of the token answer, or removes it if v is nil.
func token(name string, v any) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) {
		p.tokenAnswer = func(m map[string]any) {
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}
	}
}

// at replaces an endpoint.
func at(path string, h http.HandlerFunc) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.endpoints[path] = h }
}

// jwks replaces the keys.
func jwks(keys ...jose.JSONWebKey) func(*idp, *auth.OAuth) {
	return at("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: keys})
	})
}

// authenticatedBefore makes the authentication that old. An hour is allowed.
func authenticatedBefore(age time.Duration) func(*idp, *auth.OAuth) {
	return func(p *idp, o *auth.OAuth) {
		o.Client.DefaultMaxAge = time.Hour
		claim("auth_time", newClock().Now().Add(-age).Unix())(p, o)
	}
}

// metadata changes the metadata.
func metadata(name string, v any) func(*idp, *auth.OAuth) {
	return func(p *idp, _ *auth.OAuth) { p.metadata = func(m map[string]any) { m[name] = v } }
}

// userInfoOnly makes the client ask the userinfo endpoint.
func userInfoOnly(set func(*idp, *auth.OAuth)) func(*idp, *auth.OAuth) {
	return func(p *idp, o *auth.OAuth) {
		o.UserInfoOnly = true
		set(p, o)
	}
}

// plain makes the provider a plain OAuth provider, without OpenID Connect.
func plain(set func(*idp, *auth.OAuth)) func(*idp, *auth.OAuth) {
	return func(p *idp, o *auth.OAuth) {
		o.Type, o.Issuer, o.Checks = auth.TypeOAuth, "", nil
		o.Authorization.URL, o.Token.URL, o.UserInfo.URL = p.URL+"/authorize", p.URL+"/token", p.URL+"/userinfo"
		if set != nil {
			set(p, o)
		}
	}
}

// unreachable is a network on which no connection is accepted.
type unreachable struct{}

func (unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func redirectHere(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(status)
	}
}

const issuedFar int64 = 4102444800 // 2100

// publicPEM returns the public key as a text that everybody can get.
func publicPEM(p *idp) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: orPanic(x509.MarshalPKIXPublicKey(p.key.Public()))})
}

var idTokenAttempts = []attempt{
	{name: "wrong issuer", set: claim("iss", "https://evil.example"), log: "issued by another issuer", page: strangeAnswer},
	{name: "issuer with a slash", set: func(p *idp, o *auth.OAuth) { claim("iss", p.URL+"/")(p, o) }, log: "issued by another issuer", page: strangeAnswer},
	{name: "no issuer", set: claim("iss", nil), log: "iss is missing"},
	{name: "issuer is a list", set: func(p *idp, o *auth.OAuth) { claim("iss", []string{p.URL})(p, o) }, log: "iss is not a string"},
	{name: "issuer is null", set: nullClaim("iss"), log: "iss is missing"},
	{name: "audience is null", set: nullClaim("aud"), log: "aud is missing"},
	{name: "subject is null", set: nullClaim("sub"), log: "sub is missing"},
	{name: "expiry is null", set: nullClaim("exp"), log: "exp is missing"},
	{name: "nonce is null though one was sent", set: nullClaim("nonce"), log: "nonce is missing"},
	{name: "empty nonce though one was sent", set: claim("nonce", ""), log: "nonce is missing"},
	{name: "several audiences and azp is null", set: func(p *idp, _ *auth.OAuth) {
		p.claims = func(m map[string]any) { m["aud"], m["azp"] = []string{idpClient, "client-2"}, nil }
	}, log: "azp is missing"},
	{name: "time of authentication is null", set: func(p *idp, o *auth.OAuth) {
		o.Client.RequireAuthTime = true
		nullClaim("auth_time")(p, o)
	}, log: "auth_time is missing"},
	{name: "nonce that was not asked for is a number", set: func(p *idp, o *auth.OAuth) {
		o.Checks = []auth.Check{auth.CheckState, auth.CheckPKCE}
		claim("nonce", 7)(p, o)
	}, log: "nonce is not a string"},
	{name: "wrong audience", set: claim("aud", "client-2"), log: "meant for another client"},
	{name: "audience in upper case", set: claim("aud", strings.ToUpper(idpClient)), log: "meant for another client"},
	{name: "no audience", set: claim("aud", nil), log: "aud is missing"},
	{name: "empty audience", set: claim("aud", []string{}), log: "aud is missing"},
	{name: "token of another client", set: func(p *idp, _ *auth.OAuth) {
		p.claims = func(m map[string]any) { m["aud"], m["azp"] = "client-2", "client-2" }
	}, log: "meant for another client"},
	{name: "several audiences without azp", set: claim("aud", []string{idpClient, "client-2"}), log: "azp is missing"},
	{name: "several audiences with wrong azp", set: func(p *idp, _ *auth.OAuth) {
		p.claims = func(m map[string]any) { m["aud"], m["azp"] = []string{idpClient, "client-2"}, "client-2" }
	}, log: "made for another client"},
	{name: "wrong azp", set: claim("azp", "client-2"), log: "made for another client"},
	{name: "azp is a number", set: claim("azp", 1), log: "azp is not a string"},
	{name: "wrong nonce", page: strangeAnswer, set: claim("nonce", "wrong"), log: "the nonce differs from the one that was sent"},
	{name: "missing nonce", set: claim("nonce", nil), log: "nonce is missing"},
	{name: "nonce that was not asked for", page: strangeAnswer, set: func(p *idp, o *auth.OAuth) {
		o.Checks = []auth.Check{auth.CheckState, auth.CheckPKCE}
		claim("nonce", "of another sign-in")(p, o)
	}, log: "the nonce differs from the one that was sent"},
	{name: "no subject", set: claim("sub", nil), log: "sub is missing"},
	{name: "empty subject", set: claim("sub", ""), log: "sub is missing"},
	{name: "subject is a number", set: claim("sub", 7), log: "sub is not a string"},
	{name: "expired", set: claim("exp", newClock().Now().Unix()-31), log: "exp: it has expired"},
	{name: "expired as the tolerance ends", set: claim("exp", newClock().Now().Unix()-30), log: "exp: it has expired"},
	{name: "no expiry", set: claim("exp", nil), log: "exp is missing"},
	{name: "expiry is text", set: claim("exp", "4102444800"), log: "exp is not a number"},
	{name: "expiry is beyond all calendars", set: claim("exp", 1e300), log: "exp is not a time"},
	{name: "not yet valid", set: claim("nbf", newClock().Now().Unix()+301), log: "nbf: not valid yet"},
	{name: "no time of issue", set: claim("iat", nil), log: "iat is missing"},
	{name: "expiry in year 33658", set: claim("exp", 1e12), log: "exp is not a time"},
	{name: "issued in the future", set: claim("iat", issuedFar), log: "issued in the future"},
	{name: "issued in five minutes and a second", set: claim("iat", newClock().Now().Unix()+301), log: "issued in the future"},
	{name: "time of issue is text", set: claim("iat", "1"), log: "iat is not a number"},
	{name: "not yet valid for ever", set: claim("nbf", "1"), log: "nbf is not a number"},
	{name: "authentication too old", page: strangeAnswer, set: authenticatedBefore(time.Hour + 31*time.Second), log: "the authentication is too old"},
	{name: "time of authentication missing, where there is a greatest age", set: func(_ *idp, o *auth.OAuth) { o.Client.DefaultMaxAge = time.Hour }, log: "auth_time is missing"},
	{name: "time of authentication is text", set: func(p *idp, o *auth.OAuth) {
		o.Client.RequireAuthTime = true
		claim("auth_time", "1")(p, o)
	}, log: "auth_time is not a number"},
	{name: "time of authentication missing", set: func(_ *idp, o *auth.OAuth) { o.Client.RequireAuthTime = true }, log: "auth_time is missing"},
	{name: "wrong at_hash", set: claim("at_hash", accessTokenHash(jose.RS256, "another")), log: "at_hash does not match the access token"},
	{name: "at_hash is a number", set: claim("at_hash", 7), log: "at_hash is not a string"},
	{name: "swapped access token", set: token("access_token", "of somebody else"), log: "at_hash does not match the access token"},

	{name: "alg none", set: minted(func(_ *idp, m map[string]any) string {
		return rawToken(map[string]any{"alg": "none"}, m, nil)
	}), log: "id token: "},
	{name: "alg None in another case, with a key", set: minted(func(p *idp, m map[string]any) string {
		return rawToken(map[string]any{"alg": "nOnE", "kid": p.kid}, m, []byte("x"))
	}), log: "id token: "},
	{name: "alg none though metadata lists it", set: func(p *idp, o *auth.OAuth) {
		metadata("id_token_signing_alg_values_supported", []string{"none", "RS256"})(p, o)
		p.mint = func(m map[string]any) string { return rawToken(map[string]any{"alg": "none"}, m, nil) }
	}, log: "id token: "},
	{name: "metadata lists only none", set: metadata("id_token_signing_alg_values_supported", []string{"none"}), log: "lists no algorithm that is supported"},
	{name: "no alg", set: minted(func(_ *idp, m map[string]any) string { return rawToken(map[string]any{"typ": "JWT"}, m, []byte("x")) }), log: "id token: "},
	{name: "unsigned with the right header", set: minted(func(p *idp, m map[string]any) string {
		return rawToken(map[string]any{"alg": "RS256", "kid": p.kid}, m, nil)
	}), log: "id token: "},
	{name: "two parts", set: minted(func(p *idp, m map[string]any) string {
		return strings.Join(strings.Split(p.sign(m), ".")[:2], ".")
	}), log: "not a signed token of three parts"},
	{name: "encrypted to nobody", set: minted(func(*idp, map[string]any) string { return "e30.e30.e30.e30.e30" }), log: "not a signed token of three parts"},
	{name: "HS256 with the public key", set: minted(func(p *idp, m map[string]any) string {
		return sign(jose.HS256, publicPEM(p), p.kid, m)
	}), log: "id token: "},
	{name: "HS256 with the public key, and metadata lists it", set: func(p *idp, o *auth.OAuth) {
		metadata("id_token_signing_alg_values_supported", []string{"HS256", "RS256"})(p, o)
		p.mint = func(m map[string]any) string { return sign(jose.HS256, publicPEM(p), p.kid, m) }
	}, log: "id token: "},
	{name: "HS256 with the client secret that nobody asked for", set: minted(func(p *idp, m map[string]any) string {
		return sign(jose.HS256, []byte(idpSecret), p.kid, m)
	}), log: "id token: "},
	{name: "HS256 asked for, with another secret", set: func(p *idp, o *auth.OAuth) {
		o.Client.IDTokenSignedResponseAlg = "HS256"
		p.mint = func(m map[string]any) string { return sign(jose.HS256, []byte(strings.Repeat("x", 32)), "", m) }
	}, log: "failed to verify signature"},
	{name: "HS256 asked for, RS256 given", set: func(_ *idp, o *auth.OAuth) { o.Client.IDTokenSignedResponseAlg = "HS256" }, log: "id token: "},
	{name: "PS256 asked for, RS256 given", set: func(_ *idp, o *auth.OAuth) { o.Client.IDTokenSignedResponseAlg = "PS256" }, log: "id token: "},
	{name: "swapped keys", set: minted(func(p *idp, m map[string]any) string { return sign(jose.RS256, otherRSAKey(), p.kid, m) }), log: "failed to verify signature"},
	{name: "unknown kid", set: minted(func(_ *idp, m map[string]any) string { return sign(jose.RS256, otherRSAKey(), "key-2", m) }), log: `failed to verify signature; the provider has no key \"key-2\"`},
	{name: "kid of another key", set: minted(func(_ *idp, m map[string]any) string { return sign(jose.RS256, rsaKey(), "key-2", m) }), log: "failed to verify signature"},
	{name: "no kid, foreign key", set: minted(func(_ *idp, m map[string]any) string { return sign(jose.RS256, otherRSAKey(), "", m) }), log: "failed to verify signature"},
	{name: "key in the header", set: minted(func(_ *idp, m map[string]any) string {
		signer := orPanic(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: otherRSAKey()}, &jose.SignerOptions{EmbedJWK: true}))
		payload := orPanic(json.Marshal(m))
		return orPanic(orPanic(signer.Sign(payload)).CompactSerialize())
	}), log: "failed to verify signature"},
	{name: "changed payload", set: minted(func(p *idp, m map[string]any) string {
		parts := strings.Split(p.sign(m), ".")
		m["sub"] = "eve"
		return parts[0] + "." + strings.Split(p.sign(m), ".")[1] + "." + parts[2]
	}), log: "failed to verify signature"},
	{name: "critical header that nobody knows", set: minted(func(p *idp, m map[string]any) string {
		signer := orPanic(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("crit", []string{"x"}).WithHeader("x", 1)))
		return orPanic(orPanic(signer.Sign(orPanic(json.Marshal(m)))).CompactSerialize())
	}), log: "id token: "},
	{name: "no ID token", set: token("id_token", nil), log: "returned no ID token"},
	{name: "ID token is empty", set: token("id_token", ""), log: "returned no ID token"},
	{name: "ID token is an object", set: token("id_token", map[string]any{}), log: "id_token is not a string"},
	{name: "ID token is text", set: token("id_token", "hello"), log: "not a signed token of three parts"},
	{name: "claims are a list", set: minted(func(p *idp, _ map[string]any) string {
		signer := orPanic(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, nil))
		return orPanic(orPanic(signer.Sign([]byte("[1]"))).CompactSerialize())
	}), log: "id token: "},
}

var keyAttempts = []attempt{
	{name: "keys are HTML", set: at("/jwks", body(200, "text/html", "<h1>hello</h1>")), log: "id token: "},
	{name: "keys answer 500", down: true, set: at("/jwks", body(500, "text/plain", "oops")), log: "fetching keys"},
	{name: "keys are endless", set: at("/jwks", flood(`{"keys":[`)), log: "id token: "},
	{name: "keys hang", set: at("/jwks", hang), slow: true, log: "id token: "},
	{name: "keys drip", set: at("/jwks", drip), slow: true, log: "id token: "},
	{name: "keys redirect", set: at("/jwks", redirectHere(302)), log: "fetching keys"},
	{name: "no keys", set: at("/jwks", body(200, "application/json", `{"keys":[]}`)), log: "failed to verify signature"},
	{name: "key for encryption", set: jwks(jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1", Use: "enc"}), log: "failed to verify signature"},
	{name: "key for another algorithm", set: jwks(jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1", Algorithm: "PS256"}),
		log: `failed to verify signature; the key \"key-1\" is for \"PS256\", and the token is signed with RS256`},
	{name: "key that is not on its curve", set: at("/jwks", body(200, "application/json", `{"keys":[null,{"kty":"EC","crv":"P-256","kid":"key-1","x":"AQ","y":"AQ"}]}`)),
		log: `keys of the provider that can't be used: \"key-1\" (`},
	{name: "key that is needed, after forty others", set: at("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		keys := []any{}
		for i := range 40 {
			keys = append(keys, map[string]any{"kty": "oct", "kid": fmt.Sprint("other-", i)})
		}
		keys = append(keys, map[string]any{"kty": "RSA", "kid": "key-1", "n": "a*b", "e": "AQAB"})
		answerJSON(w, http.StatusOK, map[string]any{"keys": keys})
	}), log: `can't be used: \"key-1\" (n is not in base64url), \"other-0\" (kty is \"oct\")`},
	{name: "key that is needed, among good keys", set: at("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, map[string]any{"keys": []any{
			jose.JSONWebKey{Key: otherRSAKey().Public(), KeyID: "key-0"}, map[string]any{"kty": "EC", "crv": "P-256", "kid": "key-1", "x": "AQ", "y": 7},
		}})
	}), log: `can't be used: \"key-1\" (y is not a string)`},
	{name: "key without its modulus", set: at("/jwks", body(200, "application/json", `{"keys":[{"kty":"RSA","kid":"key-1","n":null,"e":"AQAB"}]}`)), log: "n is missing"},
	{name: "key in no alphabet", set: at("/jwks", body(200, "application/json", `{"keys":[{"kty":"RSA","kid":"key-1","n":"a*b","e":"AQAB"}]}`)), log: "n is not in base64url"},
	{name: "key for encryption, by name", set: jwks(jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "key-1", Use: "enc"}), log: `\"key-1\" (use is enc)`},
	{name: "key set without a URL", set: metadata("jwks_uri", ""), log: "no jwks_uri"},
	{name: "shared key as a public one", set: func(p *idp, _ *auth.OAuth) {
		p.endpoints["/jwks"] = body(200, "application/json", `{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTAwMDA"}]}`)
		p.mint = func(m map[string]any) string {
			return sign(jose.HS256, []byte("secret-secret-secret-secret-0000"), "key-1", m)
		}
	}, log: "id token: "},
}

var discoveryAttempts = []attempt{
	{name: "metadata of a foreign issuer", set: metadata("issuer", "https://evil.example"), atStart: true, log: "the metadata names the issuer"},
	{name: "metadata without issuer", set: metadata("issuer", ""), atStart: true, log: "the metadata names the issuer"},
	{name: "metadata of an issuer that starts alike", set: func(p *idp, o *auth.OAuth) { metadata("issuer", p.URL+".evil.example")(p, o) }, atStart: true, log: "the metadata names the issuer"},
	{name: "authorization endpoint without encryption", set: metadata("authorization_endpoint", "http://idp.example/authorize"), atStart: true, log: "want https"},
	{name: "token endpoint without encryption", set: metadata("token_endpoint", "http://idp.example/token"), atStart: true, log: "want https"},
	{name: "keys without encryption", set: metadata("jwks_uri", "http://idp.example/jwks"), atStart: true, log: "want https"},
	{name: "userinfo without encryption", set: userInfoOnly(metadata("userinfo_endpoint", "http://idp.example/userinfo")), atStart: true, log: "want https"},
	{name: "authorization endpoint is a script", set: metadata("authorization_endpoint", "javascript:alert(1)"), atStart: true, log: "authorization_endpoint"},
	{name: "token endpoint is a file", set: metadata("token_endpoint", "file:///etc/passwd"), atStart: true, log: "token_endpoint"},
	{name: "endpoint with a user name", set: metadata("token_endpoint", "https://idp.example@evil.example/token"), atStart: true, log: "contains a user name"},
	{name: "no authorization endpoint", set: metadata("authorization_endpoint", ""), atStart: true, log: "no authorization_endpoint"},
	{name: "no token endpoint", set: metadata("token_endpoint", ""), log: "no token_endpoint"},
	{name: "no userinfo endpoint", set: userInfoOnly(metadata("userinfo_endpoint", "")), log: "no userinfo_endpoint"},
	{name: "metadata is HTML", set: at("/.well-known/openid-configuration", body(200, "text/html", "<h1>hello</h1>")), atStart: true, log: "not a JSON object of metadata"},
	{name: "metadata is null", set: at("/.well-known/openid-configuration", body(200, "application/json", "null")), atStart: true, log: "not a JSON object of metadata"},
	{name: "metadata with a number for an endpoint", set: metadata("token_endpoint", 7), atStart: true, log: "token_endpoint is not a string"},
	{name: "metadata with a list for the issuer", set: metadata("issuer", []string{"x"}), atStart: true, log: "issuer is not a string"},
	{name: "metadata with a number for the promise of an issuer", set: metadata("authorization_response_iss_parameter_supported", 7),
		log: "authorization_response_iss_parameter_supported is not a Boolean"},
	{name: "metadata with a number for the algorithms", set: metadata("id_token_signing_alg_values_supported", 7), log: "id_token_signing_alg_values_supported is not a list"},
	{name: "metadata answers 500", down: true, set: at("/.well-known/openid-configuration", body(500, "application/json", "{}")), atStart: true, log: "discovery: status 500"},
	{name: "metadata redirects without end", set: at("/.well-known/openid-configuration", redirectHere(302)), atStart: true, log: "discovery: status 302"},
	{name: "metadata is endless", set: at("/.well-known/openid-configuration", flood("{")), atStart: true, log: "larger than"},
	{name: "metadata drips", set: at("/.well-known/openid-configuration", drip), slow: true, atStart: true, log: "discovery: "},
	{name: "provider hangs", set: at("/.well-known/openid-configuration", hang), slow: true, atStart: true, log: "discovery: "},
	{name: "provider does not pick up", set: func(_ *idp, o *auth.OAuth) {
		o.HTTPClient = &http.Client{Transport: unreachable{}}
	}, slow: true, atStart: true, log: "discovery: "},
	{name: "provider hangs up", down: true, set: at("/.well-known/openid-configuration", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), atStart: true, log: "EOF"},
}

var tokenAttempts = []attempt{
	{name: "token answer is HTML", set: at("/token", body(200, "text/html", "<h1>hello</h1>")), log: "not a JSON object"},
	{name: "token answer is form-encoded", set: at("/token", body(200, "application/x-www-form-urlencoded", "access_token=a&token_type=bearer")), log: "not a JSON object"},
	{name: "token answer is a list", set: at("/token", body(200, "application/json", "[]")), log: "not a JSON object"},
	{name: "token answer goes on after its end", set: at("/token", body(200, "application/json", `{"access_token":"a","token_type":"bearer"}{}`)), log: "not a JSON object"},
	{name: "token answer is empty", set: at("/token", body(200, "application/json", "")), log: "not a JSON object"},
	{name: "token answer 201", set: at("/token", body(201, "application/json", `{"access_token":"a","token_type":"bearer"}`)), log: "status 201"},
	{name: "token answer 500", down: true, set: at("/token", body(500, "application/json", `{"access_token":"a","token_type":"bearer"}`)), log: "status 500"},
	{name: "token answer 500 in HTML", down: true, set: at("/token", body(500, "text/html", "<h1>hello</h1>")), log: "status 500"},
	{name: "token answer is an error that repeats the request", page: strangeAnswer, set: at("/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			panic(err)
		}
		answerJSON(w, 400, map[string]any{"error": "invalid_grant", "error_description": "not good: " + r.PostForm.Encode()})
	}), log: "[redacted]"},
	{name: "token answer is an error with status 200", page: strangeAnswer, set: at("/token", body(200, "application/json", `{"error":"invalid_grant"}`)), log: "invalid_grant"},
	{name: "token answer asks for a password", set: at("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic")
		answerJSON(w, 200, map[string]any{"access_token": "a", "token_type": "bearer"})
	}), log: "another authentication"},
	{name: "token answer is endless", set: at("/token", flood(`{"access_token":"a"`)), log: "larger than"},
	{name: "token answer drips", set: at("/token", drip), slow: true, log: "/token: "},
	{name: "token endpoint hangs", set: at("/token", hang), slow: true, log: "/token: "},
	{name: "token answer stops half-way", down: true, set: at("/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		body(200, "application/json", `{"access_token":"a","token_type":"bearer"}`)(w, r)
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}), slow: true, log: "/token: "},
	{name: "patience of an hour", set: func(p *idp, o *auth.OAuth) {
		p.endpoints["/token"] = hang
		o.HTTPClient.Timeout = time.Hour
	}, slow: true, log: "/token: "},
	{name: "token endpoint redirects without end", set: at("/token", redirectHere(302)), log: "status 302"},
	{name: "no access token", set: token("access_token", nil), log: "access_token is missing"},
	{name: "access token is a number", set: token("access_token", 7), log: "access_token is not a string"},
	{name: "access token is empty", set: token("access_token", ""), log: "access_token is missing"},
	{name: "no token type", set: token("token_type", nil), log: "token_type is missing"},
	{name: "token type mac", set: token("token_type", "mac"), log: "neither bearer nor dpop"},
	{name: "token type is a list", set: token("token_type", []string{"bearer"}), log: "token_type is not a string"},
	{name: "token type with a line break", set: token("token_type", "bearer\r\nX: y"), log: "neither bearer nor dpop"},
	{name: "refresh token is a number", set: token("refresh_token", 7), log: "refresh_token is not a string"},
	{name: "access token is null", set: nullMember("access_token"), log: "access_token is missing"},
	{name: "token type is null", set: nullMember("token_type"), log: "token_type is missing"},
	{name: "ID token is null", set: nullMember("id_token"), log: "returned no ID token"},
	{name: "scope is an object", set: token("scope", map[string]any{"openid": true}), log: "scope is not a string"},
	{name: "access token with a line break", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
		p.claims = func(m map[string]any) { delete(m, "at_hash") }
		p.tokenAnswer = func(m map[string]any) { m["access_token"] = p.secret("split") + "\r\nX-Evil: y" }
	}), log: "invalid header field value"},
}

var userInfoAttempts = []attempt{
	{name: "userinfo is HTML", set: plain(at("/userinfo", body(200, "text/html", "<h1>hello</h1>"))), log: "not a JSON object"},
	{name: "userinfo answers 500 with a profile", down: true, set: plain(at("/userinfo", body(500, "application/json", `{"sub":"eve"}`))), log: "status 500"},
	{name: "userinfo answers 401 with a profile", set: plain(at("/userinfo", body(401, "application/json", `{"id":"eve"}`))), log: "status 401"},
	{name: "userinfo answers 302 with a profile", set: plain(at("/userinfo", body(302, "application/json", `{"id":"eve"}`))), log: "status 302"},
	{name: "userinfo redirects without end", set: plain(at("/userinfo", redirectHere(307))), log: "status 307"},
	{name: "userinfo is endless", set: plain(at("/userinfo", flood(`{"sub":"eve"`))), log: "larger than"},
	{name: "userinfo hangs", set: plain(at("/userinfo", hang)), slow: true, log: "userinfo: "},
	{name: "userinfo drips", set: plain(at("/userinfo", drip)), slow: true, log: "userinfo: "},
	{name: "userinfo is null", set: plain(at("/userinfo", body(200, "application/json", "null"))), log: "not a JSON object"},
	{name: "userinfo without id", set: plain(at("/userinfo", body(200, "application/json", `{"name":"eve"}`))), kind: auth.ErrOAuthProfileParse, page: signInPage + "Configuration", log: "no id"},
	{name: "userinfo with an object for an id", set: plain(at("/userinfo", body(200, "application/json", `{"sub":{"a":1}}`))), kind: auth.ErrOAuthProfileParse, page: signInPage + "Configuration", log: "no id"},
	{name: "userinfo of another person", set: userInfoOnly(at("/userinfo", body(200, "application/json", `{"sub":"eve"}`))), log: "another person"},
	{name: "userinfo without subject", set: userInfoOnly(at("/userinfo", body(200, "application/json", `{"name":"eve"}`))), log: "another person"},
	{name: "userinfo signed with a foreign key", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
		p.endpoints["/userinfo"] = body(200, "application/jwt", sign(jose.RS256, otherRSAKey(), "key-1", map[string]any{"sub": "ada"}))
	}), log: "failed to verify signature"},
	{name: "userinfo signed with an algorithm that is for ID tokens", set: userInfoOnly(func(p *idp, o *auth.OAuth) {
		p.signedUserInfo = true
		metadata("userinfo_signing_alg_values_supported", []string{"ES256"})(p, o)
	}), log: "userinfo: "},
	{name: "userinfo signed with the client secret that nobody asked for", set: userInfoOnly(at("/userinfo", body(200, "application/jwt",
		sign(jose.HS256, []byte(idpSecret), "key-1", map[string]any{"sub": "ada"})))), log: "userinfo: "},
	{name: "userinfo signed with none", set: userInfoOnly(at("/userinfo", body(200, "application/jwt", rawToken(map[string]any{"alg": "none"}, map[string]any{"sub": "ada"}, nil)))), log: "userinfo: "},
	{name: "userinfo signed for another client", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
		p.endpoints["/userinfo"] = body(200, "application/jwt", p.sign(map[string]any{"sub": "ada", "aud": "client-2"}))
	}), log: "meant for another client"},
	{name: "userinfo signed by another issuer", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
		p.endpoints["/userinfo"] = body(200, "application/jwt", p.sign(map[string]any{"sub": "ada", "iss": "https://evil.example"}))
	}), log: "issued by another issuer", page: strangeAnswer},
	{name: "userinfo signed and expired", set: userInfoOnly(func(p *idp, _ *auth.OAuth) {
		p.endpoints["/userinfo"] = body(200, "application/jwt", p.sign(map[string]any{"sub": "ada", "exp": 1}))
	}), log: "expired"},
	{name: "userinfo not signed though asked for", set: userInfoOnly(func(_ *idp, o *auth.OAuth) { o.Client.UserInfoSignedResponseAlg = "RS256" }), log: "not signed"},
	{name: "userinfo signed without an issuer", set: plain(func(p *idp, _ *auth.OAuth) {
		p.endpoints["/userinfo"] = body(200, "application/jwt", p.sign(map[string]any{"sub": "ada"}))
	}), log: "no issuer is configured to verify it"},
}

var answerAttempts = []attempt{
	{name: "no state", answer: func(v url.Values) { v.Del("state") }, log: "state: the parameter differs from the one that was sent"},
	{name: "foreign state", answer: func(v url.Values) { v.Set("state", "x") }, log: "state: the parameter differs from the one that was sent"},
	{name: "state cut short", answer: func(v url.Values) { v.Set("state", v.Get("state")[:40]) }, log: "state: the parameter differs from the one that was sent"},
	{name: "state twice", answer: func(v url.Values) { v.Add("state", "x") }, log: "state twice"},
	{name: "code twice", answer: func(v url.Values) { v.Add("code", "x") }, log: "code twice"},
	{name: "issuer twice", answer: func(v url.Values) { v["iss"] = []string{"x", "y"} }, log: "iss twice"},
	{name: "error twice", answer: func(v url.Values) { v["error"] = []string{"x", "y"} }, log: "error twice"},
	{name: "no code", answer: func(v url.Values) { v.Del("code") }, log: "no code"},
	{name: "empty code", answer: func(v url.Values) { v.Set("code", "") }, log: "no code"},
	{name: "mixed-up issuer", answer: func(v url.Values) { v.Set("iss", "https://evil.example") }, log: "names another issuer"},
	{name: "issuer promised and empty", set: metadata("authorization_response_iss_parameter_supported", "true"), answer: func(v url.Values) { v.Set("iss", "") }, log: "names no issuer"},
	{name: "issuer promised and missing", page: strangeAnswer, set: metadata("authorization_response_iss_parameter_supported", true), log: "names no issuer"},
	{name: "mixed-up issuer of plain OAuth", set: plain(func(p *idp, o *auth.OAuth) { o.Issuer = p.URL }),
		answer: func(v url.Values) { v.Set("iss", "https://evil.example") }, log: "names another issuer"},
	{name: "error answer of another issuer of plain OAuth", set: plain(func(p *idp, o *auth.OAuth) { o.Issuer = p.URL }), answer: func(v url.Values) {
		v.Set("error", "access_denied")
		v.Set("iss", "https://evil.example")
	}, log: "names another issuer"},
	{name: "ID token in the answer", answer: func(v url.Values) { v.Set("id_token", "x") }, log: "has tokens"},
	{name: "token in the answer", answer: func(v url.Values) { v.Set("token", "x") }, log: "has tokens"},
	{name: "answer in a JWT", answer: func(v url.Values) { v.Set("response", "x.y.z") }, log: "is a JWT"},
	{name: "error answer", answer: func(v url.Values) { v.Set("error", "access_denied") }, kind: auth.ErrOAuthCallback, page: signInPage + "OAuthCallbackError", log: "access_denied"},
	{name: "error answer of another issuer", answer: func(v url.Values) {
		v.Set("error", "access_denied")
		v.Set("iss", "https://evil.example")
	}, log: "names another issuer"},
	{name: "error answer that repeats the request", answer: func(v url.Values) {
		v.Set("error", "invalid_request")
		v.Set("error_description", "not good: "+v.Get("code")+v.Get("state"))
	}, kind: auth.ErrOAuthCallback, page: signInPage + "OAuthCallbackError", log: "[redacted]"},
	{name: "error answer with markup", answer: func(v url.Values) {
		v.Set("error", "<script>alert(1)</script>")
		v.Set("error_description", "line\r\nbreak")
	}, kind: auth.ErrOAuthCallback, page: signInPage + "OAuthCallbackError", log: "script"},
}

// TestHostileProvider runs each attempt against a site, which must refuse it
// for the right reason: nobody is signed in, nothing is stored, nothing secret
// is logged, and the browser is sent to the specified page. In a synctest
// bubble, the clock advances only while site and provider wait.
func TestHostileProvider(t *testing.T) {
	total := 0
	for _, topic := range []struct {
		name     string
		attempts []attempt
	}{
		{"id token", idTokenAttempts}, {"keys", keyAttempts}, {"discovery", discoveryAttempts}, {"token answer", tokenAttempts},
		{"userinfo", userInfoAttempts}, {"authorization answer", answerAttempts},
	} {
		total += len(topic.attempts)
		t.Run(topic.name, func(t *testing.T) {
			for _, a := range topic.attempts {
				synctestRun(t, a.name, a.run)
			}
		})
	}
	t.Logf("%d attempts", total)
}

func (a attempt) run(t *testing.T) {
	if a.kind == "" {
		a.kind = auth.ErrCallbackRoute
		if a.atStart {
			a.kind = auth.ErrOAuthSignIn
		}
	}
	if a.page == "" {
		a.page = errorPage
		switch {
		case (a.slow || a.down) && a.atStart:
			a.page = signInPage + "ProviderUnavailable"
		case a.slow || a.down:
			a.page = downPage
		case a.atStart:
			a.page = signInPage + "Configuration"
		case a.answer != nil && a.kind == auth.ErrCallbackRoute:
			a.page = strangeAnswer
		}
	}
	clock := newClock()
	s := newSiteWith(t, newBubbleIDP(t, clock.Now), clock, func(p *idp, _ *auth.Config, o *auth.OAuth) {
		if a.set != nil {
			a.set(p, o)
		}
	})
	b := newBrowser(t, s)
	began := time.Now()
	end := b.post("/auth/signin/idp")
	if strings.HasPrefix(end.location(), s.idp.URL) {
		require.Falsef(t, a.atStart, "the sign-in starts: %s", end.location())
		answer := s.idp.authorize(t, end.location())
		if a.answer != nil {
			a.answer(answer)
		}
		end = b.get("/auth/callback/idp?" + answer.Encode())
	} else if !a.atStart {
		t.Fatalf("the sign-in does not start: %s\n%s", end.location(), s.log)
	}
	if took := time.Since(began); a.slow != (took == requestTimeout) || !a.slow && took > time.Second {
		t.Errorf("the attempt kept the site busy for %v", took)
	}
	end.wantLocation(t, a.page)
	b.wantNoSession()
	assert.Zero(t, len(s.store.users)+len(s.store.accounts)+len(s.store.sessions), "records that are stored")
	log := s.log.String()
	assert.Truef(t, strings.Contains(log, "type="+string(a.kind)) && strings.Contains(log, a.log),
		"the log has not %s with %q:\n%s", a.kind, a.log, log)
	shown := []string{end.location(), end.body}
	if a.atStart && !a.slow { // server code must get the error itself
		result, err := s.SignIn(httptest.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil), "idp", auth.SignInOptions{})
		assert.Truef(t, errors.Is(err, a.kind) && result == nil, "SignIn: got %v, %v, want %s", result, err, a.kind)
		shown = append(shown, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
	s.wantNoLeaks(t, shown...)
}

// TestUserInfoRequestOfAnotherPerson: UserInfo.Request must return the profile
// of the person whom the ID token names; otherwise nobody signs in.
func TestUserInfoRequestOfAnotherPerson(t *testing.T) {
	t.Parallel()
	same := func(p auth.UserInfoRequest) auth.Profile {
		return auth.Profile{"sub": p.Claims["sub"], "name": "Ada", "email": "ada@example.com"}
	}
	for _, c := range []struct {
		name    string
		kind    auth.ProviderType
		profile func(auth.UserInfoRequest) auth.Profile
		log     string // empty if the sign-in succeeds
	}{
		{"same person", auth.TypeOIDC, same, ""},
		{"another person", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": "eve", "email": "eve@example.com"} }, "another person"},
		{"nobody named", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"id": "7"} }, "sub is missing"},
		{"sub is null", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": nil, "id": "7"} }, "another person"},
		{"plain OAuth, same person", auth.TypeOAuth, same, ""},
		{"plain OAuth, another person", auth.TypeOAuth, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": "eve"} }, "another person"},
		{"plain OAuth with IDs of its own", auth.TypeOAuth, func(auth.UserInfoRequest) auth.Profile {
			return auth.Profile{"id": "7", "name": "Ada", "email": "ada@example.com"}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) {
				o.Type, o.UserInfoOnly = c.kind, c.kind == auth.TypeOIDC
				if c.kind == auth.TypeOAuth {
					o.Checks = []auth.Check{auth.CheckPKCE, auth.CheckState}
				}
				o.UserInfo.Request = func(_ context.Context, p auth.UserInfoRequest) (auth.Profile, error) {
					profile := c.profile(p)
					p.Claims["sub"] = "eve" // a copy
					return profile, nil
				}
			})
			b := newBrowser(t, s)
			end := b.get(callback(s.idp.authorize(t, s.start(b, "/auth/signin/idp"))))
			if c.log == "" {
				end.wantLocation(t, origin)
				b.wantSession("ada@example.com")
				return
			}
			s.refused(t, end, c.log)
			b.wantNoSession()
		})
	}
}
