package webauthn

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/google/uuid"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Trust says which authenticators are trusted to state what they are (WebAuthn
// Level 3, section 7.1, steps 23 and 24). Either Roots or Metadata is required.
type Trust struct {
	// Roots are the trust anchors: the certificate of an attestation must lead
	// to one of them. No other roots are used: neither those of the operating
	// system, nor the lists of Apple's or Google's roots in a library. Revoked
	// certificates are accepted; use Metadata to refuse them.
	Roots []*x509.Certificate
	// Metadata decides by the model of the authenticator. ReadMetadata makes a
	// provider from a BLOB of the FIDO Metadata Service; package metadata of
	// go-webauthn has others. The provider must require an entry for each
	// authenticator, and must check trust anchors and status reports.
	Metadata metadata.Provider
	// DangerouslyAcceptNone accepts also credentials without attestation, and
	// those with self attestation, which proves nothing. Most passkeys are of
	// these kinds.
	DangerouslyAcceptNone bool
}

// WithAttestation requires new authenticators to prove their model. Conveyance
// is indirect, direct or enterprise (WebAuthn Level 3, section 5.4.7). A
// credential whose attestation is not trusted is not registered. The formats
// are packed, fido-u2f, apple, tpm, android-key and android-safetynet.
func WithAttestation(conveyance string, trust Trust) Option {
	return func(p *provider) {
		p.Attestation = conveyance
		p.ceremonies.attestation = &attestation{trust}
	}
}

type attestation struct{ Trust }

var (
	errUnasked      = errors.New("webauthn: the response contains an attestation that was not requested")
	errUnattested   = errors.New("webauthn: the response contains no attestation with a certificate")
	errFormat       = errors.New("webauthn: the attestation has a format that is not supported")
	errNoAnchors    = errors.New("attestation needs trust anchors: use webauthn.WithAttestation")
	errLaxMetadata  = errors.New("the metadata provider must demand an entry, check trust anchors and check the status of authenticators; webauthn.ReadMetadata makes one that does")
	errMixedAnchors = errors.New("attestation needs either Roots or Metadata, not both")
)

// Check reports settings of a provider that can't work together. auth.New calls
// it.
func (c *ceremonies) Check(p *auth.WebAuthn) error {
	for _, alg := range p.Algorithms {
		if !verifiable(alg) {
			return fmt.Errorf("the COSE algorithm %d can't be verified", alg)
		}
	}
	if err := checkOrigins(p.RelyingParties); err != nil {
		return err
	}
	if !asked(p.Attestation) {
		return nil
	}
	t := c.attestation
	switch {
	case t == nil || len(t.Roots) == 0 && t.Metadata == nil:
		return errNoAnchors
	case len(t.Roots) > 0 && t.Metadata != nil:
		return errMixedAnchors
	case t.Metadata != nil && !strict(t.Metadata):
		return errLaxMetadata
	}
	return nil
}

// strict reports whether a metadata provider accepts only authenticators that
// have an entry, lead to a trust anchor of it, and are not revoked.
func strict(m metadata.Provider) bool {
	ctx := context.Background()
	return m.GetValidateEntry(ctx) && !m.GetValidateEntryPermitZeroAAGUID(ctx) && m.GetValidateTrustAnchor(ctx) && m.GetValidateStatus(ctx)
}

func asked(conveyance string) bool { return conveyance != "" && conveyance != "none" }

// verifiable reports whether this package verifies signatures of the algorithm.
func verifiable(alg int) bool {
	switch webauthncose.COSEAlgorithmIdentifier(alg) {
	case webauthncose.AlgEdDSA, webauthncose.AlgES256, webauthncose.AlgES384, webauthncose.AlgES512:
		return true
	default:
		return isRSA(alg)
	}
}

// checkStatement decides by the format whether an attestation may be verified
// at all. If the options did not ask for one, browsers send none, or self
// attestation (WebAuthn Level 3, section 5.1.3, step 22).
func (c *ceremonies) checkStatement(object *protocol.AttestationObject, want auth.WebAuthnExpectation) error {
	format := protocol.AttestationFormat(object.Format)
	chain, _ := object.AttStatement["x5c"].([]any)
	itself := format == protocol.AttestationFormatNone || format == protocol.AttestationFormatPacked && len(chain) == 0
	switch {
	case itself && asked(want.Attestation) && (c.attestation == nil || !c.attestation.DangerouslyAcceptNone):
		return errUnattested
	case itself:
		return nil
	}
	switch format {
	case protocol.AttestationFormatAndroidSafetyNet:
	case protocol.AttestationFormatPacked, protocol.AttestationFormatFIDOUniversalSecondFactor, protocol.AttestationFormatApple,
		protocol.AttestationFormatTPM, protocol.AttestationFormatAndroidKey:
		if len(chain) == 0 {
			return errUnattested
		}
	default:
		return errFormat
	}
	switch {
	case !asked(want.Attestation):
		return errUnasked
	case c.attestation == nil:
		return errNoAnchors
	}
	return nil
}

// verifyStatement verifies the statement of a format that go-webauthn does not
// verify with the trust anchors of the application. It returns the part that
// go-webauthn still has to verify: the whole answer, or the answer without its
// statement.
func (c *ceremonies) verifyStatement(ctx context.Context, parsed *protocol.ParsedCredentialCreationData, want auth.WebAuthnExpectation) (*protocol.ParsedCredentialCreationData, error) {
	object := &parsed.Response.AttestationObject
	verify := statements[protocol.AttestationFormat(object.Format)]
	if verify == nil {
		return parsed, nil
	}
	clientDataHash := sha256.Sum256(parsed.Raw.AttestationResponse.ClientDataJSON)
	kind, chain, err := verify(object, clientDataHash[:])
	if err != nil {
		return nil, err
	}
	id, err := uuid.FromBytes(object.AuthData.AttData.AAGUID)
	if err != nil {
		return nil, errMalformed
	}
	if err := protocol.ValidateMetadataWithAuthenticatorData(ctx, c.metadata(object, want), id, string(kind), object.Format, chain, &object.AuthData); err != nil {
		return nil, refused(protocol.ErrInvalidAttestation.WithDetails(err.DevInfo).WithError(err)) // as go-webauthn reports it for its formats
	}
	left := *parsed
	left.Response.AttestationObject.Format = string(protocol.AttestationFormatNone)
	left.Response.AttestationObject.AttStatement = nil
	return &left, nil
}

// metadata returns the provider by which go-webauthn decides which
// authenticators to trust. It is nil if the options did not ask for an
// attestation.
func (c *ceremonies) metadata(object *protocol.AttestationObject, want auth.WebAuthnExpectation) metadata.Provider {
	if !asked(want.Attestation) || c.attestation == nil {
		return nil
	}
	if chain, _ := object.AttStatement["x5c"].([]any); object.Format == string(protocol.AttestationFormatPacked) && len(chain) == 0 {
		return nil // self attestation, which DangerouslyAcceptNone accepts
	}
	if c.attestation.Metadata != nil {
		return c.attestation.Metadata
	}
	return anchors(c.attestation.Roots)
}

// anchors trusts authenticators of every AAGUID whose certificate leads to one
// of the roots.
type anchors []*x509.Certificate

func (a anchors) GetEntry(_ context.Context, aaguid uuid.UUID) (*metadata.Entry, error) {
	return &metadata.Entry{AaGUID: aaguid, MetadataStatement: metadata.Statement{
		AaGUID:                      aaguid,
		AttestationTypes:            metadata.AuthenticatorAttestationTypes{metadata.BasicFull, metadata.AttCA, metadata.AnonCA},
		AttestationRootCertificates: a,
	}}, nil
}

func (anchors) GetValidateEntry(context.Context) bool                 { return true }
func (anchors) GetValidateEntryPermitZeroAAGUID(context.Context) bool { return false }
func (anchors) GetValidateTrustAnchor(context.Context) bool           { return true }
func (anchors) GetValidateStatus(context.Context) bool                { return false }
func (anchors) GetValidateAttestationTypes(context.Context) bool      { return false }

func (anchors) ValidateStatusReports(context.Context, []metadata.StatusReport) error { return nil }
