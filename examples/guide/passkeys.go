package guide

import (
	"crypto/x509"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// withPasskeys adds a provider of passkeys.
func withPasskeys(config auth.Config) auth.Config {
	config.Providers = append(config.Providers, webauthn.Passkey())
	config.Experimental.EnableWebAuthn = true
	return config
}

// certifiedPasskeys makes a provider for authenticators that have an entry in a
// BLOB of the FIDO Metadata Service. root is the certificate to which the
// signature of the BLOB leads.
func certifiedPasskeys(blob []byte, root *x509.Certificate) (auth.Provider, error) {
	metadata, err := webauthn.ReadMetadata(blob, root, time.Now()) // https://mds.fidoalliance.org
	if err != nil {
		return nil, err
	}
	return webauthn.Passkey(webauthn.WithAttestation("direct", webauthn.Trust{Metadata: metadata})), nil
}
