package webauthn_test

import (
	"crypto/x509"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
)

// want is the expectation that the fuzz targets verify answers with.
var want = auth.WebAuthnExpectation{
	Challenge: "Y2hhbGxlbmdlY2hhbGxlbmdlY2hhbGxlbmdlY2hhbGw", UserVerified: true, Algorithms: []int{-8, -7, -257},
	RelyingParty: auth.RelyingParty{ID: "app.example.com", Origins: []string{origin}},
}

// seedOptions are the options to which the seeds respond.
var seedOptions = []byte(`{"challenge":"` + want.Challenge + `","rpId":"app.example.com","rp":{"id":"app.example.com"},"user":{"id":"u"}}`)

func seeds(f *testing.F, action string) {
	for _, alg := range []int{softkey.ES256, softkey.EdDSA, softkey.RS256} {
		f.Add([]byte(answerTo(action, softkey.New(f, alg))(f, seedOptions, softkey.Client{Origin: origin})))
	}
	f.Add([]byte(`{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA","authenticatorData":"AA","signature":""}}`))
}

// FuzzRegistration: any bytes are read or refused. An accepted answer has an ID
// and a key that fit into the columns of Auth.js. If the options ask for an
// attestation, no answer is accepted unless the trusted maker signed it.
func FuzzRegistration(f *testing.F) {
	c := webauthn.Passkey().Ceremonies
	trusted, stranger := newMaker(f), newMaker(f)
	asked := webauthn.Passkey(webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}})).Ceremonies
	seeds(f, "register")
	for _, attest := range attesters {
		k := softkey.New(f, softkey.ES256)
		attest(f, stranger, k, lie{})
		k.Flags |= softkey.UV
		f.Add([]byte(k.Register(f, seedOptions, softkey.Client{Origin: origin})))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := c.ParseRegistration(data)
		if err != nil {
			return
		}
		made, err := c.VerifyRegistration(t.Context(), a, want)
		assert.Falsef(t, err == nil && (made.CredentialID == "" || made.CredentialID != a.CredentialID || made.CredentialPublicKey == "" || len(made.CredentialID) > 1364),
			"accepted %+v", made)
		attested := want
		attested.Attestation = "direct"
		made, err = asked.VerifyRegistration(t.Context(), a, attested)
		assert.Errorf(t, err, "accepted %+v with an attestation of nobody", made)
	})
}

// FuzzAuthentication: an answer signs a user in only if the user's key signed
// it.
func FuzzAuthentication(f *testing.F) {
	c := webauthn.Passkey().Ceremonies
	seeds(f, "authenticate")
	owner := softkey.New(f, softkey.ES256)
	stored := adapter.Authenticator{CredentialID: owner.StoredID(), CredentialPublicKey: b64std(owner.COSE())}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := c.ParseAuthentication(data)
		if err != nil {
			return
		}
		_, err = c.VerifyAuthentication(t.Context(), a, want, stored)
		assert.Errorf(t, err, "accepted %s", data)
	})
}
