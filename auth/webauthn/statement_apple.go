package webauthn

import (
	"crypto/sha256"
	"encoding/asn1"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/protocol"
)

// appleNonce is the extension with the hash of the data that Apple's CA has
// certified.
var appleNonce = asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 8, 2}

// appleStatement verifies the format apple (WebAuthn Level 3, section 8.8).
func appleStatement(object *protocol.AttestationObject, clientDataHash []byte) (metadata.AuthenticatorAttestationType, []any, error) {
	chain, c, err := chainOf(object)
	if err != nil {
		return "", nil, err
	}
	var certified struct {
		Nonce []byte `asn1:"tag:1,explicit"`
	}
	if !decodeDER(extension(c, appleNonce), &certified) {
		return "", nil, errStatement
	}
	nonce := sha256.Sum256(signedData(object, clientDataHash))
	if !equal(certified.Nonce, nonce[:]) {
		return "", nil, errNonce
	}
	if !certifies(c, object) {
		return "", nil, errOtherKey
	}
	return metadata.AnonCA, chain, nil
}
