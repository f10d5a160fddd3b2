package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
)

// The ways to authenticate at the token endpoint, by their registered names.
const (
	SecretBasic   = "client_secret_basic"
	SecretPost    = "client_secret_post"
	SecretJWT     = "client_secret_jwt"
	PrivateKeyJWT = "private_key_jwt"
	NoAuth        = "none"
)

// ClientAuth is how the client authenticates.
type ClientAuth struct {
	Method   string
	ClientID string
	Secret   string
	// Key and KeyID sign the assertion of private_key_jwt.
	Key   crypto.Signer
	KeyID string
	// Issuer is the audience of assertions, if known.
	Issuer string
	Now    func() time.Time
}

// assertion makes the client assertion (RFC 7523 section 3), good for a minute.
func (a *ClientAuth) assertion(endpoint string) (string, error) {
	key, audience := jose.SigningKey{Algorithm: jose.HS256, Key: []byte(a.Secret)}, any(a.Issuer)
	if a.Issuer == "" {
		audience = endpoint
	}
	if a.Method == PrivateKeyJWT {
		algorithm, err := algorithmOf(a.Key)
		if err != nil {
			return "", err
		}
		key = jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: cryptosigner.Opaque(a.Key), KeyID: a.KeyID}}
		audience = []string{endpoint}
		if a.Issuer != "" {
			audience = []string{a.Issuer, endpoint}
		}
	} else if a.Secret == "" {
		return "", errors.New("client_secret_jwt needs a client secret")
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

// algorithmOf is the algorithm that goes with a key.
func algorithmOf(key crypto.Signer) (jose.SignatureAlgorithm, error) {
	if key == nil {
		return "", errors.New("private_key_jwt needs a private key")
	}
	switch public := key.Public().(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case ed25519.PublicKey:
		return jose.EdDSA, nil
	case *ecdsa.PublicKey:
		switch public.Curve.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	}
	return "", fmt.Errorf("no signature algorithm goes with a key of type %T", key.Public())
}
