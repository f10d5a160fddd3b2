package webauthn

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// statement verifies that an attestation statement is about a new credential.
// It returns the attestation type and the certificates, the authenticator's
// first. The caller checks whether the certificates lead to a trust anchor.
type statement func(object *protocol.AttestationObject, clientDataHash []byte) (kind metadata.AuthenticatorAttestationType, chain []any, err error)

// statements are the formats that are verified here and not by go-webauthn.
// go-webauthn accepts them under its own trust anchors only: a list inside that
// package, or the certificates of the operating system. Here only the anchors
// of the application decide.
var statements = map[protocol.AttestationFormat]statement{
	protocol.AttestationFormatApple:            appleStatement,
	protocol.AttestationFormatAndroidKey:       androidKeyStatement,
	protocol.AttestationFormatAndroidSafetyNet: safetyNetStatement,
}

var (
	errCertificate  = errors.New("webauthn: a certificate of the attestation can't be parsed")
	errOtherKey     = errors.New("webauthn: the certificate of the attestation is for another key")
	errNonce        = errors.New("webauthn: the attestation was made for another ceremony")
	errStatement    = errors.New("webauthn: the attestation statement does not have the form that its format prescribes")
	errSignature    = errors.New("webauthn: the signature of the attestation is not valid")
	errKeyOrigin    = errors.New("webauthn: the attestation does not say that the secure hardware generated the key for signatures")
	errKeyNotScoped = errors.New("webauthn: the key may be used by all applications")
	errService      = errors.New("webauthn: the certificate of the attestation is not for the SafetyNet service")
	errDevice       = errors.New("webauthn: the SafetyNet statement does not say that the device passes the compatibility test")
	errStale        = errors.New("webauthn: the time in the attestation is too far from now")
)

// chainOf parses the member x5c of a statement. The certificate of the
// authenticator comes first.
func chainOf(object *protocol.AttestationObject) (chain []any, first *x509.Certificate, err error) {
	chain, _ = object.AttStatement["x5c"].([]any)
	if len(chain) == 0 {
		return nil, nil, errStatement
	}
	der, ok := chain[0].([]byte)
	if !ok {
		return nil, nil, errStatement
	}
	if first, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, errCertificate
	}
	return chain, first, nil
}

// certifies reports whether a certificate is for the key of the new credential.
func certifies(c *x509.Certificate, object *protocol.AttestationObject) bool {
	parsed, err := webauthncose.ParsePublicKey(object.AuthData.AttData.CredentialPublicKey)
	if err != nil {
		return false
	}
	var key crypto.PublicKey
	switch k := parsed.(type) {
	case webauthncose.EC2PublicKeyData:
		if key, err = k.ToECDSA(); err != nil {
			return false
		}
	case webauthncose.RSAPublicKeyData:
		exponent, err := webauthncose.ParseRSAPublicKeyDataExponent(&k)
		if err != nil {
			return false
		}
		key = &rsa.PublicKey{N: new(big.Int).SetBytes(k.Modulus), E: exponent}
	case webauthncose.OKPPublicKeyData:
		key = ed25519.PublicKey(k.XCoord)
	}
	certified, ok := c.PublicKey.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && certified.Equal(key)
}

// extension returns the value of an extension of a certificate, or nil if the
// certificate does not have it.
func extension(c *x509.Certificate, id asn1.ObjectIdentifier) []byte {
	for _, e := range c.Extensions {
		if e.Id.Equal(id) {
			return e.Value
		}
	}
	return nil
}

// signedData returns the data that the formats sign or hash: authenticator data
// and the hash of the client data.
func signedData(object *protocol.AttestationObject, clientDataHash []byte) []byte {
	return slices.Concat(object.RawAuthData, clientDataHash)
}

// decodeDER decodes a value. It fails if the value does not fill all of der.
func decodeDER(der []byte, v any) bool {
	rest, err := asn1.Unmarshal(der, v)
	return err == nil && len(rest) == 0
}

func equal(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }
