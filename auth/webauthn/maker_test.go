package webauthn_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// maker is a manufacturer of authenticators. Their certificates lead to its
// root.
type maker struct {
	root, intermediate *x509.Certificate
	rootKey, key       *ecdsa.PrivateKey
}

// direct returns the maker without its intermediate certificate.
func (m maker) direct() maker { return maker{m.root, m.root, m.rootKey, m.rootKey} }

func newECKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

// newMaker makes a root, and an intermediate that signs the certificates of
// authenticators.
func newMaker(t testing.TB) maker {
	t.Helper()
	rootKey, key := newECKey(t), newECKey(t)
	ca := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
	}
	root := parsed(t, ca("root"), ca("root"), rootKey.Public(), rootKey)
	return maker{root, parsed(t, ca("intermediate"), root, key.Public(), rootKey), rootKey, key}
}

func parsed(t testing.TB, template, parent *x509.Certificate, of crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	t.Helper()
	der := must(x509.CreateCertificate(rand.Reader, template, parent, of, by))(t)
	return must(x509.ParseCertificate(der))(t)
}

// certifies issues a certificate for a key. It fills in the fields that the
// template leaves empty.
func (m maker) certifies(t testing.TB, of crypto.PublicKey, template x509.Certificate) *x509.Certificate {
	t.Helper()
	template.SerialNumber, template.BasicConstraintsValid = big.NewInt(2), true
	if template.NotBefore.IsZero() {
		template.NotBefore = m.root.NotBefore
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = m.root.NotAfter
	}
	return parsed(t, &template, m.intermediate, of, m.key)
}

// chain returns the member x5c of a statement.
func (m maker) chain(c *x509.Certificate) []any { return []any{c.Raw, m.intermediate.Raw} }
