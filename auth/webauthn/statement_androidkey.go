package webauthn

import (
	"crypto/x509"
	"encoding/asn1"
	"slices"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// androidKeyDescription is the extension in which the Android Keystore
// describes a key.
var androidKeyDescription = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 1, 17}

// The members of an AuthorizationList that are checked, and their values.
const (
	tagPurpose         = 1
	tagAllApplications = 600
	tagOrigin          = 702

	purposeSign     = 2
	originGenerated = 0
)

// androidKeyStatement verifies the format android-key (WebAuthn Level 3,
// section 8.4). It accepts keys in secure hardware only.
func androidKeyStatement(object *protocol.AttestationObject, clientDataHash []byte) (metadata.AuthenticatorAttestationType, []any, error) {
	chain, c, err := chainOf(object)
	if err != nil {
		return "", nil, err
	}
	alg, _ := object.AttStatement["alg"].(int64)
	sig, _ := object.AttStatement["sig"].([]byte)
	method := webauthncose.SigAlgFromCOSEAlg(webauthncose.COSEAlgorithmIdentifier(alg))
	if method == x509.UnknownSignatureAlgorithm || c.CheckSignature(method, signedData(object, clientDataHash), sig) != nil {
		return "", nil, errSignature
	}
	if !certifies(c, object) {
		return "", nil, errOtherKey
	}
	// KeyDescription: versions and security levels, the challenge, an ID, the
	// list that the software enforces, the list that the secure hardware
	// enforces.
	var description []asn1.RawValue
	if !decodeDER(extension(c, androidKeyDescription), &description) || len(description) < 8 {
		return "", nil, errStatement
	}
	var challenge []byte
	if !decodeDER(description[4].FullBytes, &challenge) {
		return "", nil, errStatement
	}
	if !equal(challenge, clientDataHash) {
		return "", nil, errNonce
	}
	software, ok := authorizationList(description[6])
	hardware, alsoOK := authorizationList(description[7])
	if !ok || !alsoOK {
		return "", nil, errStatement
	}
	if software[tagAllApplications] != nil || hardware[tagAllApplications] != nil {
		return "", nil, errKeyNotScoped
	}
	var purposes []int
	var origin int
	if !decodeDER(hardware[tagOrigin], &origin) || origin != originGenerated {
		return "", nil, errKeyOrigin
	}
	if _, err := asn1.UnmarshalWithParams(hardware[tagPurpose], &purposes, "set"); err != nil || !slices.Contains(purposes, purposeSign) {
		return "", nil, errKeyOrigin
	}
	return metadata.BasicFull, chain, nil
}

// authorizationList returns the members of an AuthorizationList by their tags.
// It is not ok if a tag appears twice.
func authorizationList(raw asn1.RawValue) (members map[int][]byte, ok bool) {
	if raw.Class != asn1.ClassUniversal || raw.Tag != asn1.TagSequence || !raw.IsCompound {
		return nil, false
	}
	members = map[int][]byte{}
	for rest := raw.Bytes; len(rest) > 0; {
		var m asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &m); err != nil || m.Class != asn1.ClassContextSpecific || members[m.Tag] != nil {
			return nil, false
		}
		members[m.Tag] = append([]byte{}, m.Bytes...) // never nil
	}
	return members, true
}
