package webauthn

import "github.com/gatehouse-go/gatehouse/auth"

// An Option changes a provider.
type Option func(*provider)

// provider is a provider in the making.
type provider struct {
	auth.WebAuthn
	ceremonies ceremonies
}

// With changes any field of the provider but Ceremonies.
func With(change func(p *auth.WebAuthn)) Option {
	return func(p *provider) { change(&p.WebAuthn) }
}

// Passkey signs in with a passkey: a credential that the authenticator finds by
// itself, of a user whom it has verified. Its ID is passkey. It is offered in
// the autofill of the sign-in page.
func Passkey(options ...Option) *auth.WebAuthn {
	return build(auth.WebAuthn{
		ID: "passkey", Name: "Passkey", EnableConditionalUI: true,
		UserVerification: auth.UserVerificationRequired, ResidentKey: "required",
	}, options)
}

// WebAuthn signs in with a passkey or a security key. Its ID is webauthn. A
// security key that does not find its credentials by itself can sign nobody in
// unless DangerouslyListCredentials is set.
func WebAuthn(options ...Option) *auth.WebAuthn {
	return build(auth.WebAuthn{
		ID: "webauthn", Name: "WebAuthn", EnableConditionalUI: true,
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
