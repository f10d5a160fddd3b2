package auth

import (
	"errors"
	"log/slog"
)

// ErrorType names what went wrong. It is itself an error, so that a type is
// matched with errors.Is:
//
//	if errors.Is(err, auth.ErrAccessDenied) { ... }
//
// See docs/protocol.md, "Errors".
type ErrorType string

// The types of all errors of this package. Those marked "client" appear by
// name in the error parameter of the page that the browser is sent to; the
// others appear there as Configuration and in full only in the log.
const (
	// ErrAuth is an error of no more specific type.
	ErrAuth ErrorType = "AuthError"
	// ErrAccessDenied: Callbacks.SignIn refused or failed. Client.
	ErrAccessDenied ErrorType = "AccessDenied"
	// ErrAccountNotLinked: the WebAuthn account belongs to somebody else. Client.
	ErrAccountNotLinked ErrorType = "AccountNotLinked"
	// ErrAdapter: a method of the adapter failed.
	ErrAdapter ErrorType = "AdapterError"
	// ErrCallbackRoute: something other than this package failed in a callback
	// route. It wraps the cause.
	ErrCallbackRoute ErrorType = "CallbackRouteError"
	// ErrCredentialsSignin: Credentials.Authorize refused. Error.Code is shown
	// to the client next to the type. Client.
	ErrCredentialsSignin ErrorType = "CredentialsSignin"
	// ErrDuplicateConditionalUI: more than one WebAuthn provider has
	// EnableConditionalUI.
	ErrDuplicateConditionalUI ErrorType = "DuplicateConditionalUI"
	// ErrEmailSignIn: the sign-in mail could not be prepared or sent.
	ErrEmailSignIn ErrorType = "EmailSignInError"
	// ErrErrorPageLoop: the custom error page leads back to itself. Logged only.
	ErrErrorPageLoop ErrorType = "ErrorPageLoop"
	// ErrEvent: an event handler failed or panicked. Logged only.
	ErrEvent ErrorType = "EventError"
	// ErrExperimentalFeatureNotEnabled: a WebAuthn provider without
	// Experimental.EnableWebAuthn.
	ErrExperimentalFeatureNotEnabled ErrorType = "ExperimentalFeatureNotEnabled"
	// ErrInvalidCallbackURL: the callbackUrl of the query is not an http(s) URL.
	ErrInvalidCallbackURL ErrorType = "InvalidCallbackUrl"
	// ErrInvalidCheck: state, PKCE verifier, nonce or challenge is missing,
	// expired, or not of this sign-in.
	ErrInvalidCheck ErrorType = "InvalidCheck"
	// ErrInvalidEndpoints: an OAuth provider has neither an issuer nor all of
	// its endpoints.
	ErrInvalidEndpoints ErrorType = "InvalidEndpoints"
	// ErrInvalidProvider: the provider cannot do what the route asks of it.
	ErrInvalidProvider ErrorType = "InvalidProvider"
	// ErrJWTSession: the session token could not be read or renewed. Logged only.
	ErrJWTSession ErrorType = "JWTSessionError"
	// ErrMissingAdapter: the configuration needs an adapter.
	ErrMissingAdapter ErrorType = "MissingAdapter"
	// ErrMissingAdapterMethods: the adapter lacks methods that the configuration
	// needs. The message lists them.
	ErrMissingAdapterMethods ErrorType = "MissingAdapterMethods"
	// ErrMissingAuthorize: a credentials provider without Authorize.
	ErrMissingAuthorize ErrorType = "MissingAuthorize"
	// ErrMissingCSRF: a POST without the CSRF token of the browser. Client.
	ErrMissingCSRF ErrorType = "MissingCSRF"
	// ErrMissingSecret: no secret is configured.
	ErrMissingSecret ErrorType = "MissingSecret"
	// ErrMissingWebAuthnAutocomplete: conditional UI without a form field whose
	// autocomplete attribute contains webauthn.
	ErrMissingWebAuthnAutocomplete ErrorType = "MissingWebAuthnAutocomplete"
	// ErrOAuthAccountNotLinked: the account, or its e-mail address, belongs to
	// somebody else. Client.
	ErrOAuthAccountNotLinked ErrorType = "OAuthAccountNotLinked"
	// ErrOAuthCallback: the provider answered with an error. Client.
	ErrOAuthCallback ErrorType = "OAuthCallbackError"
	// ErrOAuthProfileParse: OAuth.Profile failed. Logged only.
	ErrOAuthProfileParse ErrorType = "OAuthProfileParseError"
	// ErrOAuthSignIn: the authorization request could not be made.
	ErrOAuthSignIn ErrorType = "OAuthSignInError"
	// ErrSessionToken: the database session could not be read or renewed.
	// Logged only.
	ErrSessionToken ErrorType = "SessionTokenError"
	// ErrSignOut: the session could not be ended in the store. Logged only.
	ErrSignOut ErrorType = "SignOutError"
	// ErrTooManyAttempts: Config.Limit refused. It is answered with status 429.
	ErrTooManyAttempts ErrorType = "TooManyAttempts"
	// ErrUnknownAction: this package does not serve the path or the method.
	ErrUnknownAction ErrorType = "UnknownAction"
	// ErrUnsupportedStrategy: the session strategy does not go with the
	// providers.
	ErrUnsupportedStrategy ErrorType = "UnsupportedStrategy"
	// ErrUntrustedHost: the host of the request may not be used to build URLs.
	ErrUntrustedHost ErrorType = "UntrustedHost"
	// ErrVerification: the sign-in link is wrong, expired or used. Client.
	ErrVerification ErrorType = "Verification"
	// ErrWebAuthnVerification: the authenticator's answer is not valid. Client.
	ErrWebAuthnVerification ErrorType = "WebAuthnVerificationError"
)

// Error returns the name of the type.
func (t ErrorType) Error() string { return string(t) }

// shownToClient reports whether the type may be named in a URL.
func (t ErrorType) shownToClient() bool {
	switch t {
	case ErrAccessDenied, ErrAccountNotLinked, ErrCredentialsSignin, ErrMissingCSRF, ErrOAuthAccountNotLinked,
		ErrOAuthCallback, ErrVerification, ErrWebAuthnVerification:
		return true
	}
	return false
}

// onSignInPage reports whether the browser is sent to the sign-in page, rather
// than to the error page.
func (t ErrorType) onSignInPage() bool {
	switch t {
	case ErrAccountNotLinked, ErrCredentialsSignin, ErrEmailSignIn, ErrMissingCSRF, ErrOAuthAccountNotLinked,
		ErrOAuthCallback, ErrOAuthSignIn:
		return true
	}
	return false
}

// Error is what every function of this package fails with. Neither Message nor
// Code ever holds a token, cookie, code or secret; an application that makes an
// Error of its own must keep to that.
type Error struct {
	// Type says what kind of failure it is. errors.Is(err, Type) holds.
	Type ErrorType
	// Message is for the developer and goes to the log only.
	Message string
	// Code is what the client may know about a refused sign-in with credentials
	// or a passkey; it becomes the parameter code of the page. Empty means
	// "credentials" for the one and nothing for the other. It has no meaning for
	// other types.
	Code string
	// Cause is the error behind this one, or nil.
	Cause error
	// client says that the client caused the error.
	client bool
}

// Error returns type, message and cause.
func (e *Error) Error() string {
	s := "auth: " + string(e.Type)
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is the type of e.
func (e *Error) Is(target error) bool {
	t, ok := target.(ErrorType)
	return ok && t == e.Type
}

// LogValue returns the parts of the error as attributes.
func (e *Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("type", string(e.Type))}
	if e.Message != "" {
		attrs = append(attrs, slog.String("message", e.Message))
	}
	if e.Code != "" {
		attrs = append(attrs, slog.String("code", e.Code))
	}
	if e.Cause != nil {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	return slog.GroupValue(attrs...)
}

// typeOf returns the type of the outermost Error in err, if there is one. A
// bare ErrorType counts as well.
func typeOf(err error) (ErrorType, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Type, true
	}
	return errors.AsType[ErrorType](err)
}
