package webauthn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ceremonies implements auth.WebAuthnCeremonies. The zero value accepts no
// attestation except self attestation.
type ceremonies struct {
	attestation *attestation
}

// There is one error for each rule that an answer can break. The errors repeat
// nothing that the client sent.
var (
	errMalformed    = errors.New("webauthn: the answer is malformed")
	errTooLong      = errors.New("webauthn: the answer is too long")
	errNotUs        = errors.New("webauthn: the answer was parsed by another package")
	errOrigin       = errors.New("webauthn: the origin is not one of the relying party")
	errAmbiguous    = errors.New("webauthn: a member of the client data occurs twice or is spelled in another case")
	errFramed       = errors.New("webauthn: the page was in a frame of another site")
	errBackup       = errors.New("webauthn: the credential is marked as backed up but not as eligible for backup")
	errSyncable     = errors.New("webauthn: the credential may be copied to other devices, and only device-bound credentials are accepted")
	errEligible     = errors.New("webauthn: the credential's eligibility for backup has changed since it was registered")
	errKey          = errors.New("webauthn: the stored public key is not base64")
	errRelyingParty = errors.New("webauthn: the credential is for another relying party ID")
	errAlgorithm    = errors.New("webauthn: the algorithm of the key is not one of those requested")
	errAbsent       = errors.New("webauthn: the user did not touch the authenticator")
	errUnverified   = errors.New("webauthn: the authenticator did not verify the user")
)

// maxAnswer is the length in bytes of the longest answer that is read. An
// answer with the certificates of a TPM has about 6 KB.
const maxAnswer = 48 << 10

// ParseAuthentication implements auth.WebAuthnCeremonies.
func (*ceremonies) ParseAuthentication(data []byte) (*auth.WebAuthnAnswer, error) {
	if len(data) > maxAnswer {
		return nil, errTooLong
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errMalformed, detail(err))
	}
	return &auth.WebAuthnAnswer{
		Challenge:    parsed.Response.CollectedClientData.Challenge,
		CredentialID: base64.StdEncoding.EncodeToString(parsed.RawID),
		UserHandle:   parsed.Response.UserHandle,
		Parsed:       parsed,
	}, nil
}

// ParseRegistration implements auth.WebAuthnCeremonies.
func (*ceremonies) ParseRegistration(data []byte) (*auth.WebAuthnAnswer, error) {
	if len(data) > maxAnswer {
		return nil, errTooLong
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errMalformed, detail(err))
	}
	return &auth.WebAuthnAnswer{
		Challenge:    parsed.Response.CollectedClientData.Challenge,
		CredentialID: base64.StdEncoding.EncodeToString(parsed.RawID),
		Parsed:       parsed,
	}, nil
}

// VerifyAuthentication implements auth.WebAuthnCeremonies: steps 7 to 21 of
// WebAuthn Level 3, section 7.2, except the step of the signature counter.
func (*ceremonies) VerifyAuthentication(_ context.Context, a *auth.WebAuthnAnswer, want auth.WebAuthnExpectation, stored adapter.Authenticator) (*adapter.Authenticator, error) {
	parsed, ok := a.Parsed.(*protocol.ParsedCredentialAssertionData)
	if !ok {
		return nil, errNotUs
	}
	key, err := base64.StdEncoding.DecodeString(stored.CredentialPublicKey)
	if err != nil {
		return nil, errKey
	}
	if err := checkLength(key); err != nil {
		return nil, err
	}
	if err := checkClient(&parsed.Response.CollectedClientData, parsed.Raw.AssertionResponse.ClientDataJSON, want); err != nil {
		return nil, err
	}
	flags := parsed.Response.AuthenticatorData.Flags
	if err := checkAuthenticator(&parsed.Response.AuthenticatorData, want); err != nil {
		return nil, err
	}
	err = parsed.Verify(want.Challenge, want.RelyingParty.ID, "", want.RelyingParty.Origins, nil, nil,
		protocol.TopOriginExplicitVerificationMode, false, want.UserVerified, true, key, protocol.SignaturePolicy{})
	if err != nil {
		return nil, refused(err)
	}
	used := stored
	used.Counter, used.CredentialBackedUp, used.CredentialDeviceType = int64(parsed.Response.AuthenticatorData.Counter), flags.HasBackupState(), deviceType(flags)
	// The step is for relying parties whose policy depends on the flag.
	if stored.CredentialDeviceType != "" && stored.CredentialDeviceType != used.CredentialDeviceType && want.Attestation != "" && want.Attestation != "none" {
		return nil, errEligible
	}
	return &used, nil
}

// The values of Authenticator.CredentialDeviceType.
const (
	singleDevice = "singleDevice"
	multiDevice  = "multiDevice"
)

// deviceType says whether a credential may have copies (Level 3, section 6.1.3).
func deviceType(flags protocol.AuthenticatorFlags) string {
	if flags.HasBackupEligible() {
		return multiDevice
	}
	return singleDevice
}

// VerifyRegistration implements auth.WebAuthnCeremonies: steps 7 to 24 of
// WebAuthn Level 3, section 7.1.
func (c *ceremonies) VerifyRegistration(ctx context.Context, a *auth.WebAuthnAnswer, want auth.WebAuthnExpectation) (*adapter.Authenticator, error) {
	parsed, ok := a.Parsed.(*protocol.ParsedCredentialCreationData)
	if !ok {
		return nil, errNotUs
	}
	if err := checkClient(&parsed.Response.CollectedClientData, parsed.Raw.AttestationResponse.ClientDataJSON, want); err != nil {
		return nil, err
	}
	object := &parsed.Response.AttestationObject
	flags := object.AuthData.Flags
	if err := checkAuthenticator(&object.AuthData, want); err != nil {
		return nil, err
	}
	if err := c.checkStatement(object, want); err != nil {
		return nil, err
	}
	if err := checkLengths(object); err != nil {
		return nil, err
	}
	alg, err := checkKey(object.AuthData.AttData.CredentialPublicKey)
	switch {
	case alg != 0 && !slices.Contains(want.Algorithms, alg):
		return nil, errAlgorithm
	case err != nil:
		return nil, err
	}
	algorithms := make([]protocol.CredentialParameter, 0, len(want.Algorithms))
	for _, alg := range want.Algorithms {
		algorithms = append(algorithms, protocol.CredentialParameter{
			Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.COSEAlgorithmIdentifier(alg),
		})
	}
	left, err := c.verifyStatement(ctx, parsed, want)
	if err != nil {
		return nil, err
	}
	_, err = left.Verify(want.Challenge, want.RelyingParty.ID, want.RelyingParty.Origins, nil, nil,
		protocol.TopOriginExplicitVerificationMode, false, want.UserVerified, true, c.metadata(&left.Response.AttestationObject, want), algorithms,
		protocol.AttestationPolicy{}, protocol.SignaturePolicy{})
	if err != nil {
		return nil, refused(err)
	}
	data := object.AuthData.AttData
	id := base64.StdEncoding.EncodeToString(data.CredentialID)
	made := &adapter.Authenticator{
		CredentialID: id, ProviderAccountID: id,
		CredentialPublicKey:  base64.StdEncoding.EncodeToString(data.CredentialPublicKey),
		Counter:              int64(object.AuthData.Counter),
		CredentialBackedUp:   flags.HasBackupState(),
		CredentialDeviceType: deviceType(flags),
		Transports:           transports(parsed.Raw.AttestationResponse.Transports),
	}
	if name, ok := productNames()[aaguid(data.AAGUID)]; ok {
		made.Name = &name
	}
	return made, nil
}

// transports returns the list as Auth.js stores it, or nil if the browser sent
// none. Texts that are not names of transports are left out.
func transports(list []string) *string {
	if list == nil {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(list), func(t string) bool {
		return t == "" || len(t) > 32 || strings.Trim(t, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	})
	joined := strings.Join(named[:min(len(named), maxTransports)], ",")
	return &joined
}

// maxTransports is larger than the number of transports that exist.
const maxTransports = 16

// checkClient compares the client data by the rules that are stricter here than
// in go-webauthn: the origin is equal byte for byte, no frame of another site
// is allowed, and raw has exactly one meaning.
func checkClient(c *protocol.CollectedClientData, raw []byte, want auth.WebAuthnExpectation) error {
	switch {
	case !slices.Contains(want.RelyingParty.Origins, c.Origin):
		return errOrigin
	case c.CrossOrigin:
		return errFramed
	}
	return checkMembers(raw)
}

// checkAuthenticator returns an error of its own for each rule that go-webauthn
// checks together. It refuses backup flags that contradict each other (WebAuthn
// Level 3, section 6.1.3).
func checkAuthenticator(d *protocol.AuthenticatorData, want auth.WebAuthnExpectation) error {
	id := sha256.Sum256([]byte(want.RelyingParty.ID))
	switch {
	case !bytes.Equal(d.RPIDHash, id[:]):
		return errRelyingParty
	case !d.Flags.HasUserPresent():
		return errAbsent
	case want.UserVerified && !d.Flags.HasUserVerified():
		return errUnverified
	case d.Flags.HasBackupState() && !d.Flags.HasBackupEligible():
		return errBackup
	case want.DeviceBound && d.Flags.HasBackupEligible():
		return errSyncable
	}
	return nil
}

// detail returns the text of go-webauthn about a failure, without the values
// that the client sent. Those come before a sentence of their own, after a
// colon or in quotes.
func detail(err error) string {
	for {
		e, ok := errors.AsType[*protocol.Error](err)
		if !ok {
			return "not valid JSON"
		}
		if text := e.Details; text != "" {
			if _, after, ok := strings.Cut(text, "'. "); ok {
				text = after
			}
			if i := strings.IndexAny(text, ":'\""); i >= 0 {
				text = text[:i]
			}
			return strings.TrimSpace(text)
		}
		if err = e.Unwrap(); err == nil {
			return e.Type
		}
	}
}

// refused returns an error of go-webauthn without the values that the client
// sent.
func refused(err error) error { return errors.New("webauthn: " + detail(err)) }
