package auth

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// WebAuthn is a provider that signs in with a passkey or a security key
// (WebAuthn Level 3). It is experimental: it needs Experimental.EnableWebAuthn
// and an adapter. Package auth/webauthn makes one, with all required fields
// set.
type WebAuthn struct {
	// ID is part of the URL; the default is webauthn.
	ID string
	// Name is shown; the default is Passkey for the ID passkey, else WebAuthn. Pages then
	// call it a passkey, in the language of the reader.
	Name string
	// RelyingParties are the sites for which the provider asks for passkeys. Nil
	// means one relying party, whose ID is the host of Config.URL. If there are
	// several, a request gets the one whose Origins contain the host of the
	// request. A request to any other host is refused, so that a forged Host
	// header can't choose a relying party. If the Host header is trusted in place
	// of Config.URL (Config.TrustHost), at least one relying party is needed, with
	// ID and Origins.
	RelyingParties []RelyingParty
	// GetRelyingParty, if set, returns the relying party for a request, in place
	// of RelyingParties. It must choose from relying parties that the application
	// knows, and must never make an ID from the Host header.
	GetRelyingParty func(ctx context.Context, r *http.Request) (RelyingParty, error)
	// EnableConditionalUI offers passkeys in the autofill of the sign-in page.
	// At most one provider may have it.
	EnableConditionalUI bool
	// DisableScript leaves the script of the sign-in page out, for pages that
	// bring one of their own. Without any script the form does nothing.
	DisableScript bool
	// FormFields are the inputs of the sign-in page. Nil means one for the
	// e-mail address.
	FormFields []Field
	// Timeout is how long the browser waits for the user; the default is five
	// minutes.
	Timeout time.Duration
	// UserVerification asks for a PIN, a fingerprint or the like. The default is
	// UserVerificationPreferred. An answer without user verification is refused,
	// unless the value is UserVerificationDiscouraged or
	// DangerouslyAcceptUnverifiedUsers is set.
	UserVerification UserVerification
	// DangerouslyAcceptUnverifiedUsers accepts answers without user verification
	// although it was preferred: then anybody who holds the key can sign in.
	DangerouslyAcceptUnverifiedUsers bool
	// ResidentKey says whether a new credential must be one that the
	// authenticator finds without being told its ID: required, preferred or
	// discouraged. The default is preferred.
	ResidentKey string
	// Attachment restricts new credentials to authenticators that are part of
	// the device (platform) or not (cross-platform). The default is either.
	Attachment string
	// Attestation is what new authenticators are asked to prove about themselves:
	// none (the default), indirect, direct or enterprise. All except none need
	// trust anchors: see package auth/webauthn.
	Attestation string
	// DeviceBound accepts only credentials that can't leave their device. A
	// credential that says that it may be copied (backup eligible) is refused, at
	// its registration and if it says so later.
	DeviceBound bool
	// Algorithms are the COSE algorithms of new credentials, the best first. Nil
	// means EdDSA (-8), ES256 (-7) and RS256 (-257).
	Algorithms []int
	// AuthenticationExtensions and RegistrationExtensions are client extension
	// inputs, as JSON values by name. Registration adds credProps.
	AuthenticationExtensions map[string]any
	RegistrationExtensions   map[string]any
	// GetUserInfo returns the user whom the submitted fields belong to: a stored
	// user, a new user (exists is false), or nobody (nil). The default normalises
	// the field email and looks up the user with this address. It is not called if
	// somebody is signed in.
	GetUserInfo func(ctx context.Context, form Form, r *http.Request) (user *User, exists bool, err error)
	// DangerouslyListCredentials makes the provider answer as Auth.js does if
	// nobody is signed in and an address is submitted. The answer then has the
	// credential IDs of the user with this address, or is an offer to register if
	// there is no such user. So anybody can find out who is registered. By default
	// the answer is the same for every address, and credentials that are not
	// discoverable can't be used.
	DangerouslyListCredentials bool
	// Ceremonies verifies the answers of authenticators. Required; package
	// auth/webauthn has an implementation.
	Ceremonies WebAuthnCeremonies
}

// UserVerification says how much a site wants the authenticator to check that
// its owner uses it (WebAuthn Level 3, section 5.8.6).
type UserVerification string

// The degrees of user verification.
const (
	UserVerificationRequired    UserVerification = "required"
	UserVerificationPreferred   UserVerification = "preferred"
	UserVerificationDiscouraged UserVerification = "discouraged"
)

// WebAuthnCeremonies reads and verifies the answers of authenticators. Its
// errors never repeat what the client sent. If it has a method Check(*WebAuthn)
// error, New calls it to check the settings of a provider.
type WebAuthnCeremonies interface {
	// ParseAuthentication and ParseRegistration read the answer of
	// navigator.credentials.get and create, as JSON. Nothing in the result has
	// been verified.
	ParseAuthentication(data []byte) (*WebAuthnAnswer, error)
	ParseRegistration(data []byte) (*WebAuthnAnswer, error)
	// VerifyAuthentication verifies an answer that ParseAuthentication returned,
	// with the stored authenticator, by all rules except the one about the
	// counter. It returns the authenticator with the counter and the backup flags
	// of the answer (CredentialBackedUp and CredentialDeviceType).
	VerifyAuthentication(ctx context.Context, a *WebAuthnAnswer, want WebAuthnExpectation, stored adapter.Authenticator) (*adapter.Authenticator, error)
	// VerifyRegistration verifies an answer that ParseRegistration returned, and
	// returns the new authenticator without UserID and Created. Its Name, if it
	// is known, is the name of the product.
	VerifyRegistration(ctx context.Context, a *WebAuthnAnswer, want WebAuthnExpectation) (*adapter.Authenticator, error)
}

// WebAuthnAnswer is what a browser sent at the end of a ceremony: parsed, and
// not yet verified.
type WebAuthnAnswer struct {
	// Challenge is the one in the client data, base64url without padding.
	Challenge string
	// CredentialID is in standard base64, as adapters keep it.
	CredentialID string
	// UserHandle is the user ID of the options of registration, or nil.
	UserHandle []byte
	// Parsed belongs to the WebAuthnCeremonies that made the answer.
	Parsed any

	redact.Shown // prints no secret
}

// WebAuthnExpectation is what an answer is compared with.
type WebAuthnExpectation struct {
	Challenge string
	// RelyingParty has the ID of the options, and the origins that are accepted.
	RelyingParty RelyingParty
	// UserVerified says that the user must have been verified.
	UserVerified bool
	// Algorithms and Attestation are fields of the provider, for registration.
	Algorithms  []int
	Attestation string
	// DeviceBound is a field of the provider. It says that credentials that may be
	// copied to other devices are refused.
	DeviceBound bool

	redact.Shown // prints no secret
}

func (p *WebAuthn) id() string { return cmp.Or(p.ID, "webauthn") }

func (p *WebAuthn) displayName() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.ID == "passkey":
		return "Passkey"
	}
	return "WebAuthn"
}

func (p *WebAuthn) kind() ProviderType { return TypeWebAuthn }

// formFields are the inputs of the sign-in page.
func (p *WebAuthn) formFields(t *texts.Texts) []Field {
	if p.FormFields != nil {
		return p.FormFields
	}
	return []Field{{Name: "email", Label: t.Common.Address, Attributes: map[string]string{"required": "", "autocomplete": "username webauthn"}}}
}

func (p *WebAuthn) userVerification() UserVerification {
	return cmp.Or(p.UserVerification, UserVerificationPreferred)
}

// needsUserVerified says whether an answer must come from a verified user.
func (p *WebAuthn) needsUserVerified() bool {
	switch p.userVerification() {
	case UserVerificationDiscouraged:
		return false
	case UserVerificationPreferred:
		return !p.DangerouslyAcceptUnverifiedUsers
	default:
		return true
	}
}

const defaultWebAuthnTimeout = 5 * time.Minute

func (p *WebAuthn) timeout() time.Duration { return cmp.Or(p.Timeout, defaultWebAuthnTimeout) }

// algorithms are the algorithms of new credentials: EdDSA, ES256, RS256.
func (p *WebAuthn) algorithms() []int {
	if p.Algorithms == nil {
		return []int{-8, -7, -257}
	}
	return p.Algorithms
}

// checkWebAuthn reports what is wrong with the settings of one provider.
func checkWebAuthn(p *WebAuthn, problem func(ErrorType, Provider, string, ...any)) {
	oneOf := func(field, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			problem(ErrInvalidProvider, p, "%s is %q, want one of %q", field, value, allowed)
		}
	}
	oneOf("UserVerification", string(p.userVerification()), "required", "preferred", "discouraged")
	oneOf("ResidentKey", p.ResidentKey, "", "required", "preferred", "discouraged")
	oneOf("Attachment", p.Attachment, "", "platform", "cross-platform")
	oneOf("Attestation", p.Attestation, "", "none", "indirect", "direct", "enterprise")
	if p.DangerouslyAcceptUnverifiedUsers && p.userVerification() == UserVerificationRequired {
		problem(ErrInvalidProvider, p, "DangerouslyAcceptUnverifiedUsers contradicts UserVerificationRequired")
	}
	if p.Timeout < 0 || p.Timeout > began.MaxAge {
		problem(ErrInvalidProvider, p, "Timeout is %v, want at most %v, the lifetime of a challenge", p.Timeout, began.MaxAge)
	}
	if p.Algorithms != nil && len(p.Algorithms) == 0 {
		problem(ErrInvalidProvider, p, "Algorithms is empty")
	}
	for _, extensions := range []map[string]any{p.AuthenticationExtensions, p.RegistrationExtensions} {
		if _, err := wire.JSON(extensions); err != nil {
			problem(ErrInvalidProvider, p, "an extension is not a JSON value: %v", err)
		}
	}
	if p.GetRelyingParty != nil && p.RelyingParties != nil {
		problem(ErrInvalidProvider, p, "GetRelyingParty and RelyingParties exclude each other")
	}
	for _, rp := range p.RelyingParties {
		if rp.ID == "" && len(p.RelyingParties) == 1 && len(rp.Origins) == 0 {
			continue // taken from Config.URL
		}
		if err := rp.check(); err != nil {
			problem(ErrInvalidProvider, p, "%v", err)
		}
	}
	if p.Ceremonies == nil {
		problem(ErrInvalidProvider, p, "Ceremonies is missing; set it to one of package auth/webauthn")
	} else if c, ok := p.Ceremonies.(interface{ Check(p *WebAuthn) error }); ok {
		if err := c.Check(p); err != nil {
			problem(ErrInvalidProvider, p, "%v", err)
		}
	}
}
