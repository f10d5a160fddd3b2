package webauthn

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// maxRSA is the length in bits of the longest RSA key that is used, as in
// crypto/tls. The time that a signature takes grows with the square of the length,
// and anybody may register a key: one that fills a body would keep a processor busy
// for seconds at each sign-in.
const maxRSA = 8192

var errLongKey = errors.New("webauthn: the RSA key is longer than 8192 bits")

// checkLength refuses a key (RFC 9052 section 7) that takes too long to use. What
// is not a key is refused by who uses it.
func checkLength(cose []byte) error {
	var key webauthncose.RSAPublicKeyData
	if webauthncbor.Unmarshal(cose, &key) == nil && key.KeyType == int64(webauthncose.RSAKey) && len(key.Modulus) > maxRSA/8 {
		return errLongKey
	}
	return nil
}

// checkLengths refuses a registration whose key, or a key that signs its
// attestation, takes too long to use.
func checkLengths(object *protocol.AttestationObject) error {
	if err := checkLength(object.AuthData.AttData.CredentialPublicKey); err != nil {
		return err
	}
	chain, _ := object.AttStatement["x5c"].([]any)
	for _, der := range chain {
		der, _ := der.([]byte)
		c, err := x509.ParseCertificate(der)
		if err != nil {
			continue // refused by who verifies the chain
		}
		if err := checkCertificate(c); err != nil {
			return err
		}
	}
	return nil
}

// checkCertificate refuses a certificate of a key that takes too long to use.
func checkCertificate(c *x509.Certificate) error {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSA {
		return errLongKey
	}
	return nil
}
