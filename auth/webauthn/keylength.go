package webauthn

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// maxRSA is the length in bits of the longest RSA key that is accepted, as in
// crypto/tls. The time to verify a signature grows with the square of the
// length, and anybody may register a key: a key as long as a request body would
// occupy a processor for seconds at each sign-in.
const maxRSA = 8192

var errLongKey = errors.New("webauthn: the RSA key is longer than 8192 bits")

// checkLength refuses a key (RFC 9052 section 7) that takes too long to use. It
// accepts bytes that are not a key; the code that uses the key refuses them.
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
			continue // the verification of the chain refuses it
		}
		if err := checkCertificate(c); err != nil {
			return err
		}
	}
	return nil
}

// checkCertificate refuses a certificate whose key takes too long to use.
func checkCertificate(c *x509.Certificate) error {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSA {
		return errLongKey
	}
	return nil
}
