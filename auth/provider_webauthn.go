package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// WebAuthn is a provider that signs in with a passkey or a security key. It is
// experimental: it needs Experimental.EnableWebAuthn and an adapter. Module
// auth/webauthn makes one. Specification sections 2.8 and 2.11.
type WebAuthn struct {
	// ID is part of the URL; the default is webauthn.
	ID string
	// Name is shown; the default is WebAuthn.
	Name string
	// RelyingParty says who asks; the defaults come from the URL of the request.
	RelyingParty RelyingParty
	// EnableConditionalUI offers passkeys in the autofill of the sign-in page.
	// At most one provider may have it.
	EnableConditionalUI bool
	// FormFields are the inputs of the sign-in page. Nil means one for the
	// e-mail address.
	FormFields []Field
	// Timeout is how long the browser waits for the user; the default is five
	// minutes.
	Timeout time.Duration
	// RequireUserVerification demands a PIN, a fingerprint or the like.
	RequireUserVerification bool
	// RequireResidentKey demands a credential that the authenticator finds
	// without being told its ID.
	RequireResidentKey bool
	// GetUserInfo says who the submitted fields belong to: a stored user, a new
	// one (exists is false), or nobody (nil). The default looks the field email
	// up.
	GetUserInfo func(ctx context.Context, form Form, r *http.Request) (user *User, exists bool, err error)
	// Ceremonies makes and verifies the messages of WebAuthn. Required; module
	// auth/webauthn has it.
	Ceremonies WebAuthnCeremonies
}

// RelyingParty is the site, as authenticators know it.
type RelyingParty struct {
	// ID is a domain name; the default is the host of the request.
	ID string
	// Name is shown; the default is the host and port of the request.
	Name string
	// Origin is what the browser must report; the default is the origin of the
	// request.
	Origin string
}

// WebAuthnCeremonies makes the options of a ceremony and verifies its outcome.
// Challenges are base64url text without padding.
type WebAuthnCeremonies interface {
	// AuthenticationOptions returns the options for navigator.credentials.get
	// as JSON, and their challenge. Authenticators is nil if the user is not
	// known yet.
	AuthenticationOptions(ctx context.Context, p *WebAuthn, rp RelyingParty, authenticators []adapter.Authenticator) (options json.RawMessage, challenge string, err error)
	// RegistrationOptions returns the options for navigator.credentials.create
	// as JSON, and their challenge.
	RegistrationOptions(ctx context.Context, p *WebAuthn, rp RelyingParty, user *User, exclude []adapter.Authenticator) (options json.RawMessage, challenge string, err error)
	// CredentialID returns the ID in a browser's answer, in standard base64 as
	// adapters keep it.
	CredentialID(response []byte) (string, error)
	// VerifyAuthentication checks the answer against the stored authenticator
	// and returns the new counter.
	VerifyAuthentication(ctx context.Context, p *WebAuthn, rp RelyingParty, challenge string, response []byte, authenticator adapter.Authenticator) (counter int64, err error)
	// VerifyRegistration checks the answer and returns the new authenticator,
	// without UserID.
	VerifyRegistration(ctx context.Context, p *WebAuthn, rp RelyingParty, challenge string, response []byte) (*adapter.Authenticator, error)
}

func (p *WebAuthn) id() string {
	if p.ID == "" {
		return "webauthn"
	}
	return p.ID
}

func (p *WebAuthn) displayName() string {
	if p.Name == "" {
		return "WebAuthn"
	}
	return p.Name
}

func (p *WebAuthn) kind() ProviderType { return TypeWebAuthn }

// formFields are the inputs of the sign-in page.
func (p *WebAuthn) formFields() []Field {
	if p.FormFields != nil {
		return p.FormFields
	}
	return []Field{{Name: "email", Label: "Email", Attributes: map[string]string{"required": "", "autocomplete": "username webauthn"}}}
}
