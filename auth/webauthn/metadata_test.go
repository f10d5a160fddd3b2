package webauthn_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/metadata"
	"github.com/go-webauthn/webauthn/metadata/providers/memory"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	memoryadapter "github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
)

// blob makes a BLOB of the metadata service: a JWS with the algorithm ES256
// (FIDO Metadata Service 3.1, section 3.1.6), signed by a maker of
// certificates.
func blob(t *testing.T, service maker, change func(header, payload map[string]any), entries ...map[string]any) []byte {
	t.Helper()
	key := newECKey(t)
	c := service.certifies(t, key.Public(), x509.Certificate{Subject: pkix.Name{CommonName: "mds.example"}})
	header := map[string]any{"alg": "ES256", "typ": "JWT", "x5c": []string{b64std(c.Raw), b64std(service.intermediate.Raw)}}
	payload := map[string]any{"legalHeader": "-", "no": 7, "nextUpdate": "2026-03-31", "entries": entries}
	if change != nil {
		change(header, payload)
	}
	text := part(t, header) + "." + part(t, payload)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	require.NoError(t, err)
	return []byte(text + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)))
}

// entry makes the metadata of the authenticators of a maker, with the fields
// that every statement must have (FIDO Metadata Statement 3.1, section 4).
func entry(m maker, id map[string]any, statuses ...string) map[string]any {
	var reports []map[string]any
	for _, s := range statuses {
		reports = append(reports, map[string]any{"status": s, "effectiveDate": "2026-01-01"})
	}
	statement := map[string]any{
		"legalHeader": "-", "description": "Key", "authenticatorVersion": 1, "protocolFamily": "fido2", "schema": 3,
		"upv": []any{map[string]any{"major": 1, "minor": 0}}, "authenticationAlgorithms": []string{"secp256r1_ecdsa_sha256_raw"},
		"publicKeyAlgAndEncodings": []string{"cose"}, "attestationTypes": []string{"basic_full"},
		"userVerificationDetails": []any{[]any{map[string]any{"userVerificationMethod": "presence_internal"}}},
		"keyProtection":           []string{"hardware"}, "matcherProtection": []string{"on_chip"}, "attachmentHint": []string{"external"}, "tcDisplay": []string{},
		"attestationRootCertificates": []string{b64std(m.root.Raw)},
	}
	e := map[string]any{"metadataStatement": statement, "statusReports": reports, "timeOfLastStatusChange": "2026-01-01"}
	for name, v := range id {
		e[name], statement[name] = v, v
	}
	return e
}

// today is the time that the clock of the site shows.
var today = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// aaguidOf is the AAGUID that the attesters set.
var aaguidOf = map[string]any{"aaguid": "01020300-0000-0000-0000-000000000000"}

// TestMetadataDecides: an authenticator registers if the metadata has an entry
// for its model, its certificate leads to a root of that entry, and no status
// report forbids it.
func TestMetadataDecides(t *testing.T) {
	service, known, stranger := newMaker(t), newMaker(t), newMaker(t)
	other := map[string]any{"aaguid": "01020300-0000-0000-0000-000000000001"}
	for name, c := range map[string]struct {
		entry  map[string]any
		reason string // empty: the authenticator is accepted
	}{
		"certified":                       {entry(known, aaguidOf, "FIDO_CERTIFIED_L1"), ""},
		"not certified":                   {entry(known, aaguidOf, "NOT_FIDO_CERTIFIED"), ""},
		"revoked":                         {entry(known, aaguidOf, "REVOKED"), "status"},
		"certified, then revoked":         {entry(known, aaguidOf, "FIDO_CERTIFIED_L1", "REVOKED"), "status"},
		"key of the maker is compromised": {entry(known, aaguidOf, "ATTESTATION_KEY_COMPROMISE"), "status"},
		"users can be passed by":          {entry(known, aaguidOf, "FIDO_CERTIFIED", "USER_VERIFICATION_BYPASS"), "status"},
		"updated after a compromise":      {entry(known, aaguidOf, "USER_KEY_REMOTE_COMPROMISE", "UPDATE_AVAILABLE"), "status"},
		"unknown":                         {entry(known, other, "FIDO_CERTIFIED"), "no registered metadata"},
		"of another maker":                {entry(stranger, aaguidOf, "FIDO_CERTIFIED"), "certificate could not be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			m := must(webauthn.ReadMetadata(blob(t, service, nil, c.entry), service.root, today))(t)
			registersAttested(t, webauthn.WithAttestation("direct", webauthn.Trust{Metadata: m}), func(k *softkey.Key) { packed(t, known, k, lie{}) }, c.reason)
		})
	}
}

// TestMetadataOfEveryFormat: the metadata decides about every format, whether
// this package or go-webauthn verifies it. Keys without attestation are
// refused.
func TestMetadataOfEveryFormat(t *testing.T) {
	service, known := newMaker(t), newMaker(t)
	for format, attest := range attesters {
		id, l := aaguidOf, lie{}
		if format == "fido-u2f" { // identified by the key of the certificate
			id = map[string]any{"attestationCertificateKeyIdentifiers": []string{strings.Repeat("ab", 20)}}
			l.cert = func(c *x509.Certificate) { c.SubjectKeyId = bytes.Repeat([]byte{0xab}, 20) }
		}
		e := entry(known, id, "FIDO_CERTIFIED")
		e["metadataStatement"].(map[string]any)["attestationTypes"] = []string{"basic_full", "attca", "anonca"}
		for status, reason := range map[string]string{"FIDO_CERTIFIED": "", "REVOKED": "status"} {
			e["statusReports"] = []map[string]any{{"status": status, "effectiveDate": "2026-01-01"}}
			m := must(webauthn.ReadMetadata(blob(t, service, nil, e), service.root, today))(t)
			registersAttested(t, webauthn.WithAttestation("direct", webauthn.Trust{Metadata: m}), func(k *softkey.Key) { attest(t, known, k, l) }, reason)
		}
	}
	certified := blob(t, service, nil, entry(known, aaguidOf, "FIDO_CERTIFIED"))
	m := must(webauthn.ReadMetadata(certified, service.root, today))(t)
	asks := webauthn.WithAttestation("direct", webauthn.Trust{Metadata: m})
	registersAttested(t, asks, func(*softkey.Key) {}, "no attestation with a certificate")
}

// TestMetadataIsSigned: a BLOB is accepted if its signature leads to the root
// that the application names, and if its date nextUpdate is not over.
func TestMetadataIsSigned(t *testing.T) {
	service, stranger, known := newMaker(t), newMaker(t), newMaker(t)
	e := entry(known, aaguidOf, "FIDO_CERTIFIED")
	good := blob(t, service, nil, e)
	parts := strings.Split(string(good), ".")
	altered := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"no":8,"nextUpdate":"2036-01-01","entries":[]}`)) + "." + parts[2]
	lastDay, tooLate := time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		blob []byte
		root *x509.Certificate
		now  time.Time
		ok   bool
	}{
		"good":                      {good, service.root, today, true},
		"good on the last day":      {good, service.root, lastDay, true},
		"expired":                   {good, service.root, tooLate, false},
		"signed by a stranger":      {blob(t, stranger, nil, e), service.root, today, false},
		"read with another root":    {good, stranger.root, today, false},
		"read without a root":       {good, nil, today, false},
		"altered":                   {[]byte(altered), service.root, today, false},
		"cut short":                 {good[:len(good)-8], service.root, today, false},
		"not signed":                {[]byte(parts[0] + "." + parts[1] + "."), service.root, today, false},
		"algorithm none":            {blob(t, service, func(h, _ map[string]any) { h["alg"] = "none" }, e), service.root, today, false},
		"algorithm with a secret":   {blob(t, service, func(h, _ map[string]any) { h["alg"] = "HS256" }, e), service.root, today, false},
		"no certificates":           {blob(t, service, func(h, _ map[string]any) { delete(h, "x5c") }, e), service.root, today, false},
		"certificates by reference": {blob(t, service, func(h, _ map[string]any) { h["x5u"] = "https://evil.example/x5c" }, e), service.root, today, false},
		"no date":                   {blob(t, service, func(_, p map[string]any) { delete(p, "nextUpdate") }, e), service.root, today, false},
		"not a BLOB":                {[]byte("x"), service.root, today, false},
		"nothing":                   {nil, service.root, today, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := webauthn.ReadMetadata(c.blob, c.root, c.now)
			assert.Truef(t, (err == nil) == c.ok && (m == nil) != c.ok, "got %v, %v", m, err)
		})
	}
}

// TestLaxMetadata: New refuses a metadata provider that accepts unknown,
// untrusted or revoked authenticators.
func TestLaxMetadata(t *testing.T) {
	lax := map[string]memory.Option{
		"unknown": memory.WithValidateEntry(false), "no AAGUID": memory.WithValidateEntryPermitZeroAAGUID(true),
		"untrusted": memory.WithValidateTrustAnchor(false), "revoked": memory.WithValidateStatus(false),
	}
	build := func(options ...memory.Option) error {
		m, err := memory.New(append(options, memory.WithMetadata(map[uuid.UUID]*metadata.Entry{}))...)
		require.NoError(t, err)
		_, err = auth.New(auth.Config{
			Secret: []string{secret}, URL: origin, Adapter: memoryadapter.New(), Experimental: auth.Experimental{EnableWebAuthn: true},
			Providers: []auth.Provider{webauthn.Passkey(webauthn.WithAttestation("direct", webauthn.Trust{Metadata: m}))},
		})
		return err
	}
	for name, option := range lax {
		err := build(option)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "metadata provider"), "%s: got %v", name, err)
	}
	assert.NoError(t, build())
}
