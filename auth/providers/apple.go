package providers

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth"
)

// appleKey signs the client secrets for Apple.
type appleKey struct{ teamID, keyID, privateKey string }

// appleSecret signs a client secret for each token request, if WithAppleKey
// gave a key.
func appleSecret(c *completion) error {
	k, p := c.settings.apple, c.provider
	if k == nil {
		return nil
	}
	key, err := k.parse()
	if err != nil {
		return err
	}
	if k.teamID == "" || k.keyID == "" {
		return errors.New("WithAppleKey needs the team ID and the key ID")
	}
	id := p.ClientID
	p.Client.TokenEndpointAuthMethod = auth.ClientAuthNone
	p.Token.Prepare = func(_ *http.Request, form url.Values) error {
		secret, err := k.sign(key, id, time.Now())
		form.Set("client_secret", secret)
		return err
	}
	return nil
}

func (k *appleKey) parse() (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(k.privateKey))
	if block == nil {
		return nil, errors.New("the private key of WithAppleKey is not in PEM form")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || key.Curve.Params().BitSize != 256 {
		return nil, errors.New("the private key of WithAppleKey is not a P-256 key in PKCS #8 form")
	}
	return key, nil
}

// sign makes a client secret that is valid for five minutes.
func (k *appleKey) sign(key *ecdsa.PrivateKey, clientID string, now time.Time) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: k.keyID}}, nil)
	if err != nil {
		return "", errors.New("the client secret can't be signed")
	}
	claims, err := json.Marshal(map[string]any{
		"iss": k.teamID, "sub": clientID, "aud": "https://appleid.apple.com", "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", errors.New("the client secret can't be signed")
	}
	return signed.CompactSerialize()
}
