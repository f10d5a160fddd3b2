package stores

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// startRedisTLS starts one server that speaks TLS only. Roots has its certificate. With the URL, a client does not verify
// the certificate; a client that verifies it must use Roots.
func (s *Stores) startRedisTLS(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, redisReleases, version)
	if err != nil {
		return nil, err
	}
	certificate, key, roots, err := selfSigned()
	if err != nil {
		return nil, err
	}
	command := append([]string{"sh", "-c", tlsScript, "redis", certificate, key}, s.redisSettings()...)
	store, err := s.redisAt(ctx, "Redis with TLS", image, "rediss://%s/0?skip_verify=true", command...)
	if err != nil {
		return nil, err
	}
	store.Roots = roots
	return store, nil
}

// tlsScript runs a server. Its first two arguments are the certificate and the key.
const tlsScript = `
set -eu
mkdir -p /data
printf %s "$1" >/tmp/certificate.pem
printf %s "$2" >/tmp/key.pem
shift 2
exec redis-server --port 0 --tls-port 6379 --tls-auth-clients no --tls-cert-file /tmp/certificate.pem --tls-key-file /tmp/key.pem "$@"
`

// selfSigned returns a certificate for a server on loopback, its key, and a pool that contains the certificate.
func selfSigned() (certificate, key string, roots *x509.CertPool, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", nil, err
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(certificate))
	return certificate, key, roots, nil
}
