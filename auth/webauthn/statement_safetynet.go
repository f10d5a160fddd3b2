package webauthn

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/protocol"
)

// safetyNetHost is the host that the certificate of the service must name.
const safetyNetHost = "attest.android.com"

// safetyNetSkew is the largest accepted difference between the time in a
// response of the service and the local time.
const safetyNetSkew = 5 * time.Minute

// safetyNetStatement verifies the format android-safetynet (WebAuthn Level 3,
// section 8.5): a JWS of the service, signed with RS256.
func safetyNetStatement(object *protocol.AttestationObject, clientDataHash []byte) (metadata.AuthenticatorAttestationType, []any, error) {
	version, _ := object.AttStatement["ver"].(string)
	response, _ := object.AttStatement["response"].([]byte)
	parts := bytes.Split(response, []byte("."))
	if version == "" || len(parts) != 3 {
		return "", nil, errStatement
	}
	var header struct {
		Alg string   `json:"alg"`
		X5C [][]byte `json:"x5c"` // in standard base64, as encoding/json decodes it
	}
	var payload struct {
		Nonce           []byte `json:"nonce"`
		TimestampMs     int64  `json:"timestampMs"`
		CTSProfileMatch bool   `json:"ctsProfileMatch"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(string(parts[2]))
	if err != nil || !decodePart(parts[0], &header) || !decodePart(parts[1], &payload) || header.Alg != "RS256" || len(header.X5C) == 0 {
		return "", nil, errStatement
	}
	c, err := x509.ParseCertificate(header.X5C[0])
	if err != nil {
		return "", nil, errCertificate
	}
	if err := checkCertificate(c); err != nil {
		return "", nil, err
	}
	if c.VerifyHostname(safetyNetHost) != nil {
		return "", nil, errService
	}
	if c.CheckSignature(x509.SHA256WithRSA, bytes.Join(parts[:2], []byte(".")), signature) != nil {
		return "", nil, errSignature
	}
	nonce := sha256.Sum256(signedData(object, clientDataHash))
	if !equal(payload.Nonce, nonce[:]) {
		return "", nil, errNonce
	}
	if time.Since(time.UnixMilli(payload.TimestampMs)).Abs() > safetyNetSkew {
		return "", nil, errStale
	}
	if !payload.CTSProfileMatch {
		return "", nil, errDevice
	}
	chain := make([]any, len(header.X5C))
	for i, der := range header.X5C {
		chain[i] = der
	}
	return metadata.BasicFull, chain, nil
}

// decodePart decodes a part of a JWS.
func decodePart(part []byte, v any) bool {
	b, err := base64.RawURLEncoding.DecodeString(string(part))
	return err == nil && json.Unmarshal(b, v) == nil
}
