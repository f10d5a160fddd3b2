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

// tolerance is the largest accepted difference between the clock of a provider
// and ours.
const tolerance = 30 * time.Second

// maxAhead is how far the time of issue (iat) may lie ahead of our clock. No
// other decision depends on iat.
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
	// Nonce is the nonce that was sent. If it is empty, the token must have
	// none.
	Nonce string
	// AccessToken is compared with at_hash if the token has one.
	AccessToken string
	// FreshSince is the earliest allowed time of the person's authentication;
	// the zero time allows any.
	FreshSince time.Time
}

// IDToken verifies an ID token and returns its claims.
func (v *Verifier) IDToken(ctx context.Context, raw string, want Expected) (map[string]any, error) {
	claims, token, err := v.signed(ctx, raw, v.Algorithm, func(m *Metadata) []string { return m.IDTokenAlgorithms })
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
	claims, _, err := v.signed(ctx, raw, algorithm, func(m *Metadata) []string {
		if m.UserInfoAlgorithms == nil {
			return m.IDTokenAlgorithms
		}
		return m.UserInfoAlgorithms
	})
	if err != nil {
		return nil, err
	}
	if _, present := claims["iss"]; present {
		err = errors.Join(err, v.checkIssuer(ctx, claims))
	}
	if _, present := claims["aud"]; present {
		err = errors.Join(err, v.checkAudience(claims))
	}
	if _, present := claims["exp"]; present {
		err = errors.Join(err, v.checkExpiry(claims))
	}
	return claims, err
}

// signed checks the signature and returns the claims. If algorithm is empty, it
// allows the algorithms listed in the metadata, or RS256 if the metadata has no
// list.
func (v *Verifier) signed(ctx context.Context, raw, algorithm string, list func(*Metadata) []string) (map[string]any, *oidc.IDToken, error) {
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
		if listed := list(m); listed != nil {
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
	verifier := oidc.NewVerifier(v.Issuer.URL, keys, &oidc.Config{
		SupportedSigningAlgs: algorithms,
		// Our own rules check the claims; see below.
		SkipClientIDCheck: true, SkipIssuerCheck: true, SkipExpiryCheck: true,
	})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, nil, signatureError(err)
	}
	var payload json.RawMessage
	if err := token.Claims(&payload); err != nil {
		return nil, nil, errors.New("the claims can't be decoded")
	}
	claims, err := jsonObject(payload)
	if err != nil {
		return nil, nil, errors.New("the claims are not a JSON object")
	}
	return claims, token, nil
}

// signatureError keeps text of the token out of the error. It keeps only
// reasons that contain none.
func signatureError(err error) error {
	text := err.Error()
	if _, reason, ok := strings.Cut(text, "fetching keys: "); ok {
		return errors.New("fetching keys: " + reason)
	}
	for _, known := range []string{"failed to verify signature", "signed with unsupported algorithm", "malformed jwt", "unexpected signature algorithm"} {
		if strings.Contains(text, known) {
			return errors.New(known)
		}
	}
	return errors.New("not valid")
}

func (v *Verifier) checkIssuer(ctx context.Context, claims map[string]any) error {
	want := v.Issuer.Stated()
	if v.Issuer.JWKS == "" { // with known keys the metadata is not needed
		m, err := v.Issuer.Metadata(ctx)
		if err != nil {
			return err
		}
		want = m.Issuer
	}
	iss, _ := claims["iss"].(string)
	if !v.Issuer.Accepts(want, iss) {
		return errors.New("issued by another issuer")
	}
	if !strings.Contains(want, placeholder) {
		return nil
	}
	tid, _ := claims["tid"].(string)
	if tenant, _ := word(want, iss); tid == "" || !strings.EqualFold(tid, tenant) {
		return errors.New("issued by another issuer than the one that tid names")
	}
	return nil
}

// checkAudience checks that the token is for this client. If it is for others
// too, it must have been issued to this client.
func (v *Verifier) checkAudience(claims map[string]any) error {
	audience, ok := claims["aud"].([]any)
	if !ok {
		audience = []any{claims["aud"]}
	}
	if !slices.Contains(audience, any(v.ClientID)) {
		return errors.New("meant for another client")
	}
	if azp, present := claims["azp"]; (len(audience) > 1 || present) && azp != v.ClientID {
		return errors.New("made for another client")
	}
	return nil
}

func (v *Verifier) checkExpiry(claims map[string]any) error {
	if exp, ok := seconds(claims, "exp"); !ok || !exp.After(v.Now().Add(-tolerance)) {
		return errors.New("it has expired, or exp is missing")
	}
	return nil
}

func (v *Verifier) checkTimes(claims map[string]any) error {
	if err := v.checkExpiry(claims); err != nil {
		return err
	}
	switch iat, ok := seconds(claims, "iat"); {
	case !ok:
		return errors.New("iat is missing")
	case iat.After(v.Now().Add(maxAhead)):
		return errors.New("issued in the future")
	}
	if _, present := claims["nbf"]; present {
		if nbf, ok := seconds(claims, "nbf"); !ok || nbf.After(v.Now().Add(tolerance)) {
			return errors.New("not valid yet")
		}
	}
	return nil
}

// checkIdentity checks the claims that only ID tokens have.
func (v *Verifier) checkIdentity(claims map[string]any, want Expected) error {
	if sub, _ := claims["sub"].(string); sub == "" {
		return errors.New("sub is missing")
	}
	got, present := claims["nonce"]
	if text, _ := got.(string); want.Nonce == "" && present || want.Nonce != "" && text != want.Nonce {
		return errors.New("the nonce differs from the one that was sent")
	}
	if v.MaxAge > 0 || v.RequireAuthTime || !want.FreshSince.IsZero() {
		at, ok := seconds(claims, "auth_time")
		if !ok {
			return errors.New("auth_time is missing")
		}
		if v.MaxAge > 0 && v.Now().Sub(at) > v.MaxAge+tolerance || at.Before(want.FreshSince.Add(-tolerance)) {
			return errors.New("the authentication is too old")
		}
	}
	return nil
}

// seconds reads a claim that is a number of seconds since the epoch.
func seconds(claims map[string]any, name string) (time.Time, bool) {
	n, ok := claims[name].(json.Number)
	if !ok {
		return time.Time{}, false
	}
	f, err := n.Float64()
	if err != nil || f < -1e11 || f > 1e11 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(f * 1000)), true
}

// secretKey verifies HS256 with a client secret.
type secretKey string

func (k secretKey) VerifySignature(_ context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return nil, errors.New("malformed jwt")
	}
	return signed.Verify([]byte(k))
}
