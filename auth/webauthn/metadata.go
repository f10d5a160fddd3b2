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
// root, which the FIDO Alliance publishes, and its date nextUpdate must not be
// over at the time now. ReadMetadata fetches the revocation lists that the
// certificates of the BLOB name; it ignores a list that it can't fetch.
//
// The provider that it returns refuses an authenticator without an entry, an
// authenticator whose certificate does not lead to a root of its entry, and an
// authenticator that was revoked, retired or is known to be compromised.
//
// The BLOB is read once. An application that runs for longer reads the next
// BLOB, and makes a new Handler. It should not accept a BLOB whose number is
// lower than the number of the previous one.
func ReadMetadata(blob []byte, root *x509.Certificate, now time.Time) (metadata.Provider, error) {
	if root == nil {
		return nil, errMetadataRoot
	}
	decoder, err := metadata.NewDecoder(
		metadata.WithRootCertificate(base64.StdEncoding.EncodeToString(root.Raw)),
		metadata.WithIgnoreEntryParsingErrors(), // an authenticator with such an entry is unknown, and is refused
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
		memory.WithMetadataKeyIdentifiers(read.ToKeyIdentifierMap()), // for keys without an AAGUID
		memory.WithValidateEntryKeyIdentifier(true),
		memory.WithValidateStatusCertificateScope(true),
	)
	if err != nil {
		return nil, fmt.Errorf("webauthn: metadata: %w", err)
	}
	return provider, nil
}
