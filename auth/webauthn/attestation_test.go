package webauthn_test

import (
	"crypto/x509"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
)

// TestAttestation: an attestation is accepted if the options asked for one and
// it leads to a trust anchor of the application. An attestation that the
// options did not ask for is refused, unless it is self attestation.
func TestAttestation(t *testing.T) {
	trusted, stranger := newMaker(t), newMaker(t)
	itself := func(_ *testing.T, k *softkey.Key) {
		k.Format = "packed"
		k.Statement = func(k *softkey.Key, authData, hash []byte) map[string]any {
			return map[string]any{"alg": softkey.ES256, "sig": k.Sign(slices.Concat(authData, hash))}
		}
	}
	unknown := func(_ *testing.T, k *softkey.Key) {
		k.Format = "other"
		k.Statement = func(*softkey.Key, []byte, []byte) map[string]any {
			return map[string]any{"x5c": []any{trusted.root.Raw}}
		}
	}
	lying := func(_ *testing.T, k *softkey.Key) {
		k.Format = "none"
		k.Statement = func(*softkey.Key, []byte, []byte) map[string]any { return map[string]any{"alg": softkey.ES256} }
	}
	by := func(m maker) func(t *testing.T, k *softkey.Key) {
		return func(t *testing.T, k *softkey.Key) { packed(t, m, k, lie{}) }
	}
	none := func(*testing.T, *softkey.Key) {}
	asks := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}})
	lax := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}, DangerouslyAcceptNone: true})
	for name, c := range map[string]struct {
		option webauthn.Option
		attest func(t *testing.T, k *softkey.Key)
		ok     bool
	}{
		"asked for, none":              {asks, none, false},
		"asked for, of itself":         {asks, itself, false},
		"asked for, unknown format":    {asks, unknown, false},
		"asked for laxly, none":        {lax, none, true},
		"asked for laxly, of itself":   {lax, itself, true},
		"asked for laxly, stranger":    {lax, by(stranger), false},
		"not asked for, none":          {nil, none, true},
		"not asked for, none and more": {nil, lying, false},
		"not asked for, of itself":     {nil, itself, true},
		"not asked for, unknown":       {nil, unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, newSite(t, nil, c.option))
			k := softkey.New(t, softkey.ES256)
			c.attest(t, k)
			if res := b.register(k, "ada@example.com"); c.ok {
				b.wantDone(res)
			} else {
				b.wantRefused(res, "refused")
				b.wantNobody()
			}
		})
	}
}

// TestProductNames: a passkey gets the name of the product that made it, if the
// product is known.
func TestProductNames(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	k.AAGUID = [16]byte{0xba, 0xda, 0x55, 0x66, 0xa7, 0xaa, 0x40, 0x1f, 0xbd, 0x96, 0x45, 0x61, 0x9a, 0x55, 0x12, 0x0d}
	b.wantDone(b.register(k, "ada@example.com"))
	list := s.authenticatorsOf(t, "ada@example.com")
	assert.Truef(t, len(list) == 1 && list[0].Name != nil && *list[0].Name == "1Password", "the store keeps %+v", list)
}
