package webauthn

import "github.com/gatehouse-go/gatehouse/auth"

// An Option changes a provider.
type Option func(*provider)

// provider is a provider that its options are changing.
type provider struct {
	auth.WebAuthn
	ceremonies ceremonies
}

// With changes any field of the provider except Ceremonies.
func With(change func(p *auth.WebAuthn)) Option {
	return func(p *provider) { change(&p.WebAuthn) }
}

// Passkey makes a provider that signs in with passkeys: the authenticator finds
// the credential by itself, and verifies the user. Its ID is passkey. The
// sign-in page offers passkeys in its autofill.
func Passkey(options ...Option) *auth.WebAuthn {
	return build(auth.WebAuthn{
		ID: "passkey", EnableConditionalUI: true,
		UserVerification: auth.UserVerificationRequired, ResidentKey: "required",
	}, options)
}

// WebAuthn makes a provider that signs in with a passkey or a security key. Its
// ID is webauthn. A security key that does not find its credentials by itself
// can sign in only if DangerouslyListCredentials is set.
func WebAuthn(options ...Option) *auth.WebAuthn {
	return build(auth.WebAuthn{
		ID: "webauthn", EnableConditionalUI: true,
		UserVerification: auth.UserVerificationPreferred, ResidentKey: "preferred",
	}, options)
}

func build(defaults auth.WebAuthn, options []Option) *auth.WebAuthn {
	p := provider{WebAuthn: defaults}
	for _, option := range options {
		option(&p)
	}
	p.Ceremonies = &p.ceremonies
	return &p.WebAuthn
}
