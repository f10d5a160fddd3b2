package oauth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
)

// The methods of authentication at the token endpoint, by their registered
// names.
const (
	SecretBasic   = "client_secret_basic"
	SecretPost    = "client_secret_post"
	SecretJWT     = "client_secret_jwt"
	PrivateKeyJWT = "private_key_jwt"
	NoAuth        = "none"
)

// ClientAuth says how the client authenticates.
type ClientAuth struct {
	Method   string
	ClientID string
	Secret   string
	// Key and KeyID sign the assertion of private_key_jwt.
	Key   crypto.Signer
	KeyID string
	// Algorithm is the algorithm that signs assertions. Empty means HS256 for a
	// secret; for Key it means RS256, EdDSA, or the algorithm of its curve.
	Algorithm string
	// Issuer is the audience of assertions. It may be empty.
	Issuer string
	Now    func() time.Time
}

// Check returns an error if an assertion is needed and can't be made.
func (a *ClientAuth) Check() error {
	if a.Method != SecretJWT && a.Method != PrivateKeyJWT {
		return nil
	}
	_, err := a.signingKey()
	return err
}

// signingKey returns the key that signs assertions.
func (a *ClientAuth) signingKey() (jose.SigningKey, error) {
	var key any = []byte(a.Secret)
	fitting := []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512}
	switch {
	case a.Method == PrivateKeyJWT && a.Key == nil:
		return jose.SigningKey{}, errors.New("private_key_jwt needs a PrivateKey")
	case a.Method == PrivateKeyJWT:
		signer := cryptosigner.Opaque(salted{a.Key})
		key, fitting = jose.JSONWebKey{Key: signer, KeyID: a.KeyID}, signer.Algs()
	case a.Secret == "":
		return jose.SigningKey{}, errors.New("client_secret_jwt needs a client secret")
	}
	switch algorithm := jose.SignatureAlgorithm(a.Algorithm); {
	case len(fitting) == 0:
		return jose.SigningKey{}, fmt.Errorf("a key of type %T has no signature algorithm that is supported", a.Key.Public())
	case a.Algorithm == "":
		return jose.SigningKey{Algorithm: fitting[0], Key: key}, nil
	case slices.Contains(fitting, algorithm):
		return jose.SigningKey{Algorithm: algorithm, Key: key}, nil
	default:
		return jose.SigningKey{}, fmt.Errorf("the algorithm %q does not fit the key of %s", a.Algorithm, a.Method)
	}
}

// salted makes PSS signatures with a salt of the length of the hash, which RFC
// 7518 section 3.5 requires; cryptosigner uses the longest salt.
type salted struct{ crypto.Signer }

func (s salted) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	if pss, ok := options.(*rsa.PSSOptions); ok {
		options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: pss.Hash}
	}
	return s.Signer.Sign(random, digest, options)
}

// assertion makes the client assertion (RFC 7523 section 3), valid for one
// minute.
func (a *ClientAuth) assertion(endpoint string) (string, error) {
	key, err := a.signingKey()
	if err != nil {
		return "", err
	}
	var audience any = a.Issuer
	switch {
	case a.Method == PrivateKeyJWT && a.Issuer != "":
		audience = []string{a.Issuer, endpoint}
	case a.Method == PrivateKeyJWT:
		audience = []string{endpoint}
	case a.Issuer == "":
		audience = endpoint
	}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		return "", fmt.Errorf("client assertion: %w", err)
	}
	now := a.Now().Unix()
	claims, err := json.Marshal(map[string]any{
		"jti": rand.Text(), "aud": audience, "exp": now + 60, "iat": now, "nbf": now, "iss": a.ClientID, "sub": a.ClientID,
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", fmt.Errorf("client assertion: %w", err)
	}
	return signed.CompactSerialize()
}
