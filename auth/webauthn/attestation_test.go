package webauthn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
)

// maker makes authenticators, whose certificates lead to its root.
type maker struct {
	root *x509.Certificate
	leaf []byte
	key  *ecdsa.PrivateKey
}

func newMaker(t *testing.T) maker {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	rootKey, leafKey := key(), key()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	// WebAuthn Level 3, section 8.2.1.
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: root.NotBefore, NotAfter: root.NotAfter, BasicConstraintsValid: true,
		Subject: pkix.Name{Country: []string{"SE"}, Organization: []string{"Maker"}, OrganizationalUnit: []string{"Authenticator Attestation"}, CommonName: "Key"},
	}
	if der, err = x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), rootKey); err != nil {
		t.Fatal(err)
	}
	return maker{root, der, leafKey}
}

// attests gives a key an attestation in the format packed.
func (m maker) attests(t *testing.T, k *softkey.Key) {
	k.AAGUID = [16]byte{1, 2, 3}
	k.Format = "packed"
	k.Statement = func(_ *softkey.Key, authData, clientDataHash []byte) map[string]any {
		sum := sha256.Sum256(append(append([]byte(nil), authData...), clientDataHash...))
		sig, err := ecdsa.SignASN1(rand.Reader, m.key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"alg": softkey.ES256, "sig": sig, "x5c": []any{m.leaf}}
	}
}

// TestAttestation: an attestation counts if it was asked for and leads to an
// anchor of the application. One that was not asked for is refused, unless it is
// that of the key by itself.
func TestAttestation(t *testing.T) {
	trusted, stranger := newMaker(t), newMaker(t)
	itself := func(_ *testing.T, k *softkey.Key) {
		k.Format = "packed"
		k.Statement = func(k *softkey.Key, authData, hash []byte) map[string]any {
			return map[string]any{"alg": softkey.ES256, "sig": k.Sign(append(append([]byte(nil), authData...), hash...))}
		}
	}
	forged := func(t *testing.T, k *softkey.Key) {
		trusted.attests(t, k)
		statement := k.Statement
		k.Statement = func(k *softkey.Key, authData, hash []byte) map[string]any { return statement(k, authData, hash[1:]) }
	}
	unknown := func(_ *testing.T, k *softkey.Key) {
		k.Format = "other"
		k.Statement = func(*softkey.Key, []byte, []byte) map[string]any { return map[string]any{"x5c": []any{trusted.leaf}} }
	}
	lying := func(_ *testing.T, k *softkey.Key) {
		k.Format = "none"
		k.Statement = func(*softkey.Key, []byte, []byte) map[string]any { return map[string]any{"alg": softkey.ES256} }
	}
	none := func(*testing.T, *softkey.Key) {}
	asks := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}})
	lax := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}, DangerouslyAcceptNone: true})
	for name, c := range map[string]struct {
		option webauthn.Option
		attest func(t *testing.T, k *softkey.Key)
		ok     bool
	}{
		"asked for, trusted":           {asks, trusted.attests, true},
		"asked for, of a stranger":     {asks, stranger.attests, false},
		"asked for, forged":            {asks, forged, false},
		"asked for, none":              {asks, none, false},
		"asked for, of itself":         {asks, itself, false},
		"asked for, unknown format":    {asks, unknown, false},
		"asked for laxly, none":        {lax, none, true},
		"asked for laxly, of itself":   {lax, itself, true},
		"asked for laxly, stranger":    {lax, stranger.attests, false},
		"not asked for, none":          {nil, none, true},
		"not asked for, none and more": {nil, lying, false},
		"not asked for, of itself":     {nil, itself, true},
		"not asked for, trusted":       {nil, trusted.attests, false},
		"not asked for, unknown":       {nil, unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			var options []webauthn.Option
			if c.option != nil {
				options = append(options, c.option)
			}
			b := newBrowser(t, newSite(t, nil, options...))
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

// TestProductNames: a passkey is named for the product that made it, if that is
// known.
func TestProductNames(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	k.AAGUID = [16]byte{0xba, 0xda, 0x55, 0x66, 0xa7, 0xaa, 0x40, 0x1f, 0xbd, 0x96, 0x45, 0x61, 0x9a, 0x55, 0x12, 0x0d}
	b.wantDone(b.register(k, "ada@example.com"))
	list := s.authenticatorsOf(t, "ada@example.com")
	if len(list) != 1 || list[0].Name == nil || *list[0].Name != "1Password" {
		t.Errorf("the store keeps %+v", list)
	}
}
