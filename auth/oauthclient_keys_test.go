package auth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestFloodOfKeys: a provider has thousands of keys that may fit a signature,
// of the kind that takes longest to verify. Only a few are tried. At a provider
// with twenty keys, of which the last made the signature, the sign-in succeeds.
func TestFloodOfKeys(t *testing.T) {
	mine, other := must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))(t), must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))(t)
	for _, c := range []struct {
		others int
		want   bool
	}{{3900, false}, {20, true}} {
		keys := make([]jose.JSONWebKey, c.others, c.others+1)
		for i := range keys {
			keys[i] = jose.JSONWebKey{Key: other.Public()}
		}
		s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
			p.alg, p.key, p.kid = jose.ES512, mine, ""
			p.claims = func(m map[string]any) { delete(m, "at_hash") }
			jwks(append(keys, jose.JSONWebKey{Key: mine.Public()})...)(p, o)
		})
		got := s.signIn(newBrowser(t, s)).location()
		assert.Equalf(t, c.want, got == origin, "%d other keys: signed in; log: %s", c.others, s.log)
	}
}

// builtKey makes an RSA key of any length, and a signature of a text that is
// valid for it (RFC 8017 section 8.2). It needs no primes: the modulus is the
// cube of the signature minus the padded hash.
func builtKey(bits int, text string) (*rsa.PublicKey, []byte) {
	digest := sha256.Sum256([]byte(text))
	der := []byte("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20") // the DigestInfo of SHA-256, RFC 8017 section 9.2
	padding := bytes.Repeat([]byte{0xff}, bits/8-3-len(der)-len(digest))
	encoded := new(big.Int).SetBytes(bytes.Join([][]byte{{0, 1}, padding, {0}, der, digest[:]}, nil))
	cube := []struct{ root, bits int }{{7, 9}, {5, 7}, {3, 5}}[bits%3]
	root := new(big.Int).Lsh(big.NewInt(int64(cube.root)), uint(bits-cube.bits)/3) //nolint:gosec // no RSA key is that short
	if encoded.Bit(0) == 0 {
		root.Add(root, big.NewInt(1)) // a modulus is odd
	}
	modulus := new(big.Int).Exp(root, big.NewInt(3), nil)
	return &rsa.PublicKey{N: modulus.Sub(modulus, encoded), E: 3}, root.FillBytes(make([]byte, bits/8))
}

// TestLongKeysOfAProvider: a key as long as a whole answer of the provider
// would keep a processor busy for minutes. A key longer than 4096 bits is not
// used, even if the signature is valid.
func TestLongKeysOfAProvider(t *testing.T) {
	for _, bits := range []int{16384, 4104, 4096, 2048} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, _ *auth.OAuth) {
				p.mint = func(claims map[string]any) string {
					input := strings.TrimSuffix(rawToken(map[string]any{"alg": "RS256", "kid": "long"}, claims, nil), ".")
					public, signature := builtKey(bits, input)
					p.endpoints["/jwks"] = func(w http.ResponseWriter, _ *http.Request) {
						answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "long"}}})
					}
					return rawToken(map[string]any{"alg": "RS256", "kid": "long"}, claims, signature)
				}
			})
			b := newBrowser(t, s)
			end := s.signIn(b)
			if bits <= 4096 {
				end.wantLocation(t, origin)
				b.wantSession(`"name":"ada"`)
				return
			}
			s.refused(t, end, "failed to verify signature")
			b.wantNoSession()
		})
	}
}
