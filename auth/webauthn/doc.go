// Package webauthn signs people in with passkeys and security keys (WebAuthn
// Level 3):
//
//	auth.Config{
//		Adapter:      store,
//		Providers:    []auth.Provider{webauthn.Passkey()},
//		Experimental: auth.Experimental{EnableWebAuthn: true},
//	}
//
// Passkey is for credentials that the authenticator finds by itself, which is
// what browsers call a passkey; WebAuthn has the weaker defaults of Auth.js'
// provider of this name. Both read and write the tables of Auth.js: a passkey
// that was registered there signs in here, and the other way round.
//
// The package verifies what authenticators answer, with
// github.com/go-webauthn/webauthn. It is a module of its own, so that CBOR,
// attestation and TPM code are part of no program that does without it. The
// rest of the flow, from challenges to sessions, is in package auth.
package webauthn
