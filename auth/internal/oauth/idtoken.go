package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// tolerance is how long after an end (exp, or auth_time with a greatest age) a
// token is accepted, because the clock of the provider may differ from ours.
const tolerance = 30 * time.Second

// maxAhead is how far an instant that ends nothing (iat and nbf) may lie ahead
// of our clock.
const maxAhead = 5 * time.Minute

// Verifier verifies ID tokens and signed userinfo responses (OpenID Connect
// Core 1.0 sections 3.1.3.7 and 5.3.2).
type Verifier struct {
	Issuer       *Issuer
	ClientID     string
	ClientSecret string
	// Algorithm is the only algorithm allowed; empty allows those of the
	// metadata, or RS256. HS256 is signed with the client secret, and is
	// allowed only if it is named here.
	Algorithm string
	// MaxAge is the greatest allowed age of the authentication; zero allows
	// any.
	MaxAge time.Duration
	// RequireAuthTime requires the claim auth_time.
	RequireAuthTime bool
	Now             func() time.Time
}

// asymmetric are the algorithms that a provider may list in its metadata.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// Supports reports whether a client may request signatures with the algorithm.
func Supports(algorithm string) bool {
	return algorithm == string(jose.HS256) || slices.Contains(asymmetric, algorithm)
}

// Expected is what a sign-in expects of its ID token.
type Expected struct {
	// Nonce is the nonce that was sent. If it is empty, the token must have none
	// or null.
	Nonce string
	// AccessToken is compared with at_hash if the token has one.
	AccessToken string
	// FreshSince is the earliest allowed time of the person's authentication;
	// the zero time allows any.
	FreshSince time.Time
}

// IDToken verifies an ID token and returns its claims.
func (v *Verifier) IDToken(ctx context.Context, raw string, want Expected) (map[string]any, error) {
	claims, token, err := v.signed(ctx, raw, v.Algorithm, idTokenAlgorithms)
	if err != nil {
		return nil, fmt.Errorf("id token: %w", err)
	}
	if err := errors.Join(v.checkIssuer(ctx, claims), v.checkAudience(claims), v.checkTimes(claims), v.checkIdentity(claims, want)); err != nil {
		return nil, fmt.Errorf("id token: %w", err)
	}
	if hash := token.AccessTokenHash; hash != "" {
		matches := token.VerifyAccessToken(want.AccessToken) == nil
		if v.Algorithm == string(jose.HS256) { // go-oidc does not compute at_hash for HS256
			sum := sha256.Sum256([]byte(want.AccessToken))
			matches = hash == base64.RawURLEncoding.EncodeToString(sum[:16])
		}
		if !matches {
			return nil, errors.New("id token: at_hash does not match the access token")
		}
	}
	return claims, nil
}

// userInfo verifies a signed userinfo response. Issuer, audience and expiry may
// be absent; they are checked if they are present.
func (v *Verifier) userInfo(ctx context.Context, raw, algorithm string) (map[string]any, error) {
	claims, _, err := v.signed(ctx, raw, algorithm, "userinfo_signing_alg_values_supported", idTokenAlgorithms)
	if err != nil {
		return nil, err
	}
	if !absent(claims, "iss") {
		err = errors.Join(err, v.checkIssuer(ctx, claims))
	}
	if !absent(claims, "aud") {
		err = errors.Join(err, v.checkAudience(claims))
	}
	if !absent(claims, "exp") {
		err = errors.Join(err, v.checkExpiry(claims))
	}
	return claims, err
}

// idTokenAlgorithms is the member of the metadata with the algorithms of ID
// tokens.
const idTokenAlgorithms = "id_token_signing_alg_values_supported"

// signed checks the signature and returns the claims. If algorithm is empty, it
// allows the algorithms of the first of the lists that the metadata has, or
// RS256 if it has none.
func (v *Verifier) signed(ctx context.Context, raw, algorithm string, lists ...string) (map[string]any, *oidc.IDToken, error) {
	if strings.Count(raw, ".") != 2 {
		return nil, nil, errors.New("not a signed token of three parts")
	}
	algorithms := []string{oidc.RS256}
	var keys oidc.KeySet
	var err error
	switch {
	case algorithm == string(jose.HS256):
		if len(v.ClientSecret) == 0 {
			return nil, nil, errors.New("HS256 needs a client secret")
		}
		algorithms, keys = []string{algorithm}, secretKey(v.ClientSecret)
	case algorithm != "":
		if !slices.Contains(asymmetric, algorithm) {
			return nil, nil, fmt.Errorf("the algorithm %q is not supported", algorithm)
		}
		algorithms = []string{algorithm}
	case v.Issuer.JWKS == "":
		m, err := v.Issuer.Metadata(ctx)
		if err != nil {
			return nil, nil, err
		}
		listed, err := m.algorithms(lists...)
		if err != nil {
			return nil, nil, fmt.Errorf("discovery: %w", err)
		}
		if listed != nil {
			algorithms = slices.DeleteFunc(slices.Clone(listed), func(a string) bool { return !slices.Contains(asymmetric, a) })
		}
		if len(algorithms) == 0 {
			return nil, nil, errors.New("the metadata lists no algorithm that is supported")
		}
	}
	if keys == nil {
		if keys, err = v.Issuer.keySet(ctx); err != nil {
			return nil, nil, err
		}
	}
	used := &usedClaims{keys: keys}
	verifier := oidc.NewVerifier(v.Issuer.URL, used, &oidc.Config{
		SupportedSigningAlgs: algorithms,
		// Our own rules check the claims; see below.
		SkipClientIDCheck: true, SkipIssuerCheck: true, SkipExpiryCheck: true,
	})
	token, err := verifier.Verify(ctx, raw)
	switch {
	case used.err != nil:
		return nil, nil, used.err
	case err != nil:
		return nil, nil, signatureError(err)
	}
	return used.claims, token, nil
}

// usedClaims verifies a signature and gives go-oidc the one claim that go-oidc
// uses, at_hash. The others are ours to read: go-oidc refuses a token in which
// a claim that nobody needs has another type than it expects.
type usedClaims struct {
	keys   oidc.KeySet
	claims map[string]any
	err    error
}

// VerifySignature implements oidc.KeySet.
func (u *usedClaims) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := u.keys.VerifySignature(ctx, token)
	if err != nil {
		u.err = err
		return nil, err
	}
	if u.claims, err = jsonObject(payload); err != nil {
		u.err = errors.New("the claims are not a JSON object")
		return nil, u.err
	}
	hash, err := text(u.claims, "at_hash")
	if err != nil {
		u.err = err
		return nil, err
	}
	return json.Marshal(map[string]string{"at_hash": hash})
}

// signatureError keeps text of the token out of the error. It keeps only
// reasons that contain none.
func signatureError(err error) error {
	text := err.Error()
	for _, known := range []string{"signed with unsupported algorithm", "malformed jwt", "unexpected signature algorithm"} {
		if strings.Contains(text, known) {
			return errors.New(known)
		}
	}
	return errors.New("not valid")
}

func (v *Verifier) checkIssuer(ctx context.Context, claims map[string]any) error {
	want := v.Issuer.Stated()
	if v.Issuer.NeedsMetadata() {
		m, err := v.Issuer.Metadata(ctx)
		if err != nil {
			return err
		}
		want = m.Issuer
	}
	iss, err := required(claims, "iss")
	if err != nil {
		return err
	}
	if !v.Issuer.Accepts(want, iss) {
		return Mistake{errors.New("iss: issued by another issuer")} // of another tenant of the provider
	}
	if !strings.Contains(want, placeholder) {
		return nil
	}
	tid, err := required(claims, "tid")
	if err != nil {
		return err
	}
	if tenant, _ := word(want, iss); !strings.EqualFold(tid, tenant) {
		return Mistake{errors.New("issued by another issuer than the one that tid names")}
	}
	return nil
}

// checkAudience checks that the token is for this client. If it is for others
// too, it must have been issued to this client.
func (v *Verifier) checkAudience(claims map[string]any) error {
	audience, err := texts(claims, "aud")
	switch {
	case err != nil:
		return err
	case audience == nil:
		return errors.New("aud is missing")
	case !slices.Contains(audience, v.ClientID):
		return errors.New("aud: meant for another client")
	}
	azp, err := text(claims, "azp")
	switch {
	case err != nil:
		return err
	case azp == "" && len(audience) > 1:
		return errors.New("azp is missing, and the token is meant for several clients")
	case azp != "" && azp != v.ClientID:
		return errors.New("azp: made for another client")
	}
	return nil
}

func (v *Verifier) checkExpiry(claims map[string]any) error {
	exp, err := instant(claims, "exp")
	if err == nil && !exp.After(v.Now().Add(-tolerance)) {
		err = errors.New("exp: it has expired")
	}
	return err
}

func (v *Verifier) checkTimes(claims map[string]any) error {
	if err := v.checkExpiry(claims); err != nil {
		return err
	}
	latest := v.Now().Add(maxAhead)
	switch iat, err := instant(claims, "iat"); {
	case err != nil:
		return err
	case iat.After(latest):
		return errors.New("iat: issued in the future")
	}
	if absent(claims, "nbf") {
		return nil
	}
	nbf, err := instant(claims, "nbf")
	if err == nil && nbf.After(latest) {
		err = errors.New("nbf: not valid yet")
	}
	return err
}

// checkIdentity checks the claims that only ID tokens have.
func (v *Verifier) checkIdentity(claims map[string]any, want Expected) error {
	if _, err := required(claims, "sub"); err != nil {
		return err
	}
	switch nonce, err := text(claims, "nonce"); {
	case err != nil:
		return err
	case nonce == "" && want.Nonce != "":
		return errors.New("nonce is missing")
	case nonce != want.Nonce:
		return Mistake{errors.New("the nonce differs from the one that was sent")}
	}
	if v.MaxAge > 0 || v.RequireAuthTime || !want.FreshSince.IsZero() {
		at, err := instant(claims, "auth_time")
		if err != nil {
			return err
		}
		if v.MaxAge > 0 && v.Now().Sub(at) > v.MaxAge+tolerance || at.Before(want.FreshSince.Add(-tolerance)) {
			return Mistake{errors.New("auth_time: the authentication is too old")}
		}
	}
	return nil
}

// secretKey verifies HS256 with a client secret.
type secretKey string

func (k secretKey) VerifySignature(_ context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return nil, errors.New("malformed jwt")
	}
	payload, err := signed.Verify([]byte(k))
	if err != nil {
		return nil, errSignature
	}
	return payload, nil
}
