package webauthn

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/metadata/providers/memory"
)

var (
	errMetadataRoot    = errors.New("webauthn: the metadata needs the root certificate of the service")
	errMetadataExpired = errors.New("webauthn: the metadata has expired")
)

// ReadMetadata reads a BLOB of the FIDO Metadata Service (FIDO Metadata Service
// 3.1, section 3.1), for Trust.Metadata. The signature of the BLOB must lead to
// root, which the FIDO Alliance publishes, and its day nextUpdate must not be
// over at the time now. Revocation lists that its certificates name are
// fetched; one that can't be fetched is passed over.
//
// What it returns refuses authenticators without an entry, those whose
// certificate does not lead to a root of their entry, and those that were
// revoked, retired or are known to be compromised.
//
// It is read once: an application that runs for longer reads the next BLOB, and
// makes a new Handler. It should not accept one whose number is lower than that
// of the one before.
func ReadMetadata(blob []byte, root *x509.Certificate, now time.Time) (metadata.Provider, error) {
	if root == nil {
		return nil, errMetadataRoot
	}
	decoder, err := metadata.NewDecoder(
		metadata.WithRootCertificate(base64.StdEncoding.EncodeToString(root.Raw)),
		metadata.WithIgnoreEntryParsingErrors(), // such an authenticator is unknown, and refused
	)
	if err != nil {
		return nil, fmt.Errorf("webauthn: metadata: %w", err)
	}
	payload, err := decoder.DecodeBytes(blob)
	if err != nil {
		return nil, fmt.Errorf("webauthn: metadata: %w", err)
	}
	read, err := decoder.Parse(payload)
	if err != nil {
		return nil, fmt.Errorf("webauthn: metadata: %w", err)
	}
	if !now.Before(read.Parsed.NextUpdate.AddDate(0, 0, 1)) {
		return nil, fmt.Errorf("%w: nextUpdate was %s", errMetadataExpired, payload.NextUpdate)
	}
	provider, err := memory.New(
		memory.WithMetadata(read.ToMap()),
		memory.WithMetadataKeyIdentifiers(read.ToKeyIdentifierMap()), // of keys without an AAGUID
		memory.WithValidateEntryKeyIdentifier(true),
		memory.WithValidateStatusCertificateScope(true),
	)
	if err != nil {
		return nil, fmt.Errorf("webauthn: metadata: %w", err)
	}
	return provider, nil
}
