package auth

import "context"

// webauthnOptions serves GET webauthn-options.
func (e *engine) webauthnOptions(_ context.Context, r *request) (*Result, error) {
	return nil, &Error{Type: ErrInvalidProvider, Message: "provider " + r.providerID + " has no WebAuthn options"}
}

// callbackWebAuthn serves POST callback for a WebAuthn provider.
func (e *engine) callbackWebAuthn(_ context.Context, _ *request, p *WebAuthn) (*Result, error) {
	return nil, &Error{Type: ErrInvalidProvider, Message: "provider " + p.id() + ": sign-in is not available"}
}
