package webauthn_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hexBytes are bytes that JSON holds in hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(b []byte) (err error) {
	*h, err = hex.DecodeString(strings.Trim(string(b), `"`))
	return err
}

func (h hexBytes) text() string { return base64.RawURLEncoding.EncodeToString(h) }

// vectors are the test vectors of WebAuthn Level 3, section 16.
type vectors struct {
	RPID, Origin string
	Root         hexBytes
	Vectors      []vector
}

type vector struct {
	Section, Name  string
	CredentialID   hexBytes
	Registration   struct{ Challenge, ClientDataJSON, AttestationObject hexBytes }
	Authentication struct{ Challenge, ClientDataJSON, AuthenticatorData, Signature hexBytes }
}

// answer returns the answer with a response.
func (v vector) answer(t *testing.T, response map[string]any) []byte {
	id := v.CredentialID.text()
	return must(json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "response": response}))(t)
}

func (v vector) registration(t *testing.T) []byte {
	return v.answer(t, map[string]any{
		"clientDataJSON": v.Registration.ClientDataJSON.text(), "attestationObject": v.Registration.AttestationObject.text(),
	})
}

// TestSpecificationVectors: the ceremonies of the specification end as they
// should: each registration, and an assertion with its key. Four are refused:
// two were in a frame of another site, one has a TPM of no known maker, and the
// description of one Android key does not say what the hardware enforces.
func TestSpecificationVectors(t *testing.T) {
	var v vectors
	read(t, "specification.json", &v)
	root := must(x509.ParseCertificate(v.Root))(t)
	require.Lenf(t, v.Vectors, 14, "%d vectors, want 14", len(v.Vectors))
	refused := map[string]string{"16.4": "frame", "16.5": "frame", "16.13": "Invalid TPM manufacturer", "16.14": "secure hardware"}
	for _, vector := range v.Vectors {
		t.Run(vector.Section+" "+vector.Name, func(t *testing.T) {
			algorithms := webauthn.With(func(p *auth.WebAuthn) { p.Algorithms = []int{-7, -8, -35, -36, -257} })
			options := []webauthn.Option{algorithms}
			want := auth.WebAuthnExpectation{
				RelyingParty: auth.RelyingParty{ID: v.RPID, Origins: []string{v.Origin}}, Algorithms: []int{-7, -8, -35, -36, -257},
			}
			if !strings.Contains(vector.Name, "None") && !strings.Contains(vector.Name, "Self") {
				options = append(options, webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{root}}))
				want.Attestation = "direct"
			}
			c := webauthn.WebAuthn(options...).Ceremonies
			parsed, err := c.ParseRegistration(vector.registration(t))
			require.NoError(t, err)
			want.Challenge = vector.Registration.Challenge.text()
			made, err := c.VerifyRegistration(t.Context(), parsed, want)
			if reason := refused[vector.Section]; reason != "" {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), reason), "got %v, want an error with %q", err, reason)
				return
			}
			require.NoError(t, err)
			parsed, err = c.ParseAuthentication(vector.answer(t, map[string]any{
				"clientDataJSON":    vector.Authentication.ClientDataJSON.text(),
				"authenticatorData": vector.Authentication.AuthenticatorData.text(), "signature": vector.Authentication.Signature.text(),
			}))
			require.NoError(t, err)
			want.Challenge = vector.Authentication.Challenge.text()
			_, err = c.VerifyAuthentication(t.Context(), parsed, want, *made)
			assert.NoError(t, err)
			other := adapter.Authenticator{CredentialPublicKey: strings.Replace(made.CredentialPublicKey, "A", "B", 3)}
			_, err = c.VerifyAuthentication(t.Context(), parsed, want, other)
			assert.Error(t, err, "another key verifies the assertion")
		})
	}
}

// TestAttestationNeedsAnchors: without trust anchors a requested attestation is
// not trusted, also where New was not called.
func TestAttestationNeedsAnchors(t *testing.T) {
	var v vectors
	read(t, "specification.json", &v)
	tried := 0
	for _, vector := range v.Vectors {
		if strings.Contains(vector.Name, "None") || strings.Contains(vector.Name, "Self") {
			continue
		}
		tried++
		c := webauthn.WebAuthn().Ceremonies
		parsed := must(c.ParseRegistration(vector.registration(t)))(t)
		_, err := c.VerifyRegistration(t.Context(), parsed, auth.WebAuthnExpectation{
			Challenge: vector.Registration.Challenge.text(), RelyingParty: auth.RelyingParty{ID: v.RPID, Origins: []string{v.Origin}},
			Algorithms: []int{-7, -8, -35, -36, -257}, Attestation: "direct",
		})
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "trust anchors"),
			"%s: got %v, want an error about trust anchors", vector.Name, err)
	}
	assert.Equalf(t, 9, tried, "tried %d vectors, want 9", tried)
}
