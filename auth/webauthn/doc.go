// Package webauthn signs people in with passkeys and security keys (WebAuthn
// Level 3):
//
//	auth.Config{
//		Adapter:      store,
//		Providers:    []auth.Provider{webauthn.Passkey()},
//		Experimental: auth.Experimental{EnableWebAuthn: true},
//	}
//
// Passkey is for credentials that the authenticator finds by itself, which
// browsers call passkeys. WebAuthn has the weaker defaults of the Auth.js
// provider of this name. Both read and write the tables of Auth.js: a passkey
// that was registered there signs in here, and the other way round.
//
// The package verifies the answers of authenticators with
// github.com/go-webauthn/webauthn. It is a module of its own, so that a program
// without it contains no code for CBOR, attestation and TPM. The rest of the
// flow, from challenges to sessions, is in package auth.
package webauthn
