package auth

import (
	"errors"
	"log/slog"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// ErrorType names what went wrong. It is itself an error, so that a type is
// matched with errors.Is:
//
//	if errors.Is(err, auth.ErrAccessDenied) { ... }
//
// See docs/protocol.md, "Errors".
type ErrorType string

// The types of all errors of this package. A type marked "Client" appears by
// name in the error parameter of the page that the browser is sent to. The
// others appear there as Configuration; only the log names them.
const (
	// ErrAuth is an error without a more specific type.
	ErrAuth ErrorType = "AuthError"
	// ErrAccessDenied: Callbacks.SignIn refused or failed. Client.
	ErrAccessDenied ErrorType = "AccessDenied"
	// ErrAccountNotLinked: the WebAuthn account belongs to another user. Client.
	ErrAccountNotLinked ErrorType = "AccountNotLinked"
	// ErrAdapter: a method of the adapter failed.
	ErrAdapter ErrorType = "AdapterError"
	// ErrCallbackRoute: a callback route failed for a reason outside this package.
	// It wraps the cause.
	ErrCallbackRoute ErrorType = "CallbackRouteError"
	// ErrCredentialsSignin: Credentials.Authorize refused. Error.Code is shown to
	// the client beside the type. Client.
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
	// ErrExperimentalFeatureNotEnabled: a WebAuthn provider is configured without
	// Experimental.EnableWebAuthn.
	ErrExperimentalFeatureNotEnabled ErrorType = "ExperimentalFeatureNotEnabled"
	// ErrInvalidCallbackURL: the callbackUrl of the query is not an http(s) URL.
	ErrInvalidCallbackURL ErrorType = "InvalidCallbackUrl"
	// ErrInvalidCheck: a state, PKCE verifier, nonce or challenge is missing, has
	// expired, or belongs to another sign-in.
	ErrInvalidCheck ErrorType = "InvalidCheck"
	// ErrInvalidEndpoints: an OAuth provider has neither an issuer nor all of
	// its endpoints.
	ErrInvalidEndpoints ErrorType = "InvalidEndpoints"
	// ErrInvalidProvider: the provider does not support the route.
	ErrInvalidProvider ErrorType = "InvalidProvider"
	// ErrJWTSession: the session token could not be read or renewed. Logged only.
	ErrJWTSession ErrorType = "JWTSessionError"
	// ErrMissingAdapter: the configuration needs an adapter.
	ErrMissingAdapter ErrorType = "MissingAdapter"
	// ErrMissingAdapterMethods: the adapter lacks methods that the configuration
	// needs. The message lists them.
	ErrMissingAdapterMethods ErrorType = "MissingAdapterMethods"
	// ErrMissingAuthorize: a credentials provider has no Authorize function.
	ErrMissingAuthorize ErrorType = "MissingAuthorize"
	// ErrMissingCSRF: a POST has no CSRF token of the browser. Client.
	ErrMissingCSRF ErrorType = "MissingCSRF"
	// ErrMissingSecret: no secret is configured.
	ErrMissingSecret ErrorType = "MissingSecretError"
	// ErrMissingWebAuthnAutocomplete: EnableConditionalUI is set, but no form
	// field has an autocomplete attribute that contains webauthn.
	ErrMissingWebAuthnAutocomplete ErrorType = "MissingWebAuthnAutocomplete"
	// ErrOAuthAccountNotLinked: the account, or its e-mail address, belongs to
	// another user. Client.
	ErrOAuthAccountNotLinked ErrorType = "OAuthAccountNotLinked"
	// ErrOAuthCallback: the provider answered with an error. Client.
	ErrOAuthCallback ErrorType = "OAuthCallbackError"
	// ErrOAuthProfileParse: OAuth.Profile failed. Logged only.
	ErrOAuthProfileParse ErrorType = "OAuthProfileParseError"
	// ErrOAuthSignIn: the authorization request could not be made.
	ErrOAuthSignIn ErrorType = "OAuthSignInError"
	// ErrProviderUnavailable: the provider can't be reached, or says that it can't
	// answer now. It is the cause of an error of type ErrOAuthSignIn or
	// ErrCallbackRoute. Client.
	ErrProviderUnavailable ErrorType = "ProviderUnavailable"
	// ErrRecipientRefused: the mail server accepts no mail for the recipient. A
	// function SendVerificationRequest may return it, wrapped or not: the client is
	// told what it is told if the mail was sent. Logged only.
	ErrRecipientRefused ErrorType = "RecipientRefused"
	// ErrSessionToken: the database session could not be read or renewed.
	// Logged only.
	ErrSessionToken ErrorType = "SessionTokenError"
	// ErrSignOut: the session could not be ended in the store. Logged only.
	ErrSignOut ErrorType = "SignOutError"
	// ErrTooManyAttempts: Config.Limit refused. It is answered with status 429.
	ErrTooManyAttempts ErrorType = "TooManyAttempts"
	// ErrUnknownAction: no route has this path or method.
	ErrUnknownAction ErrorType = "UnknownAction"
	// ErrUnsupportedStrategy: the providers can't be used with the session
	// strategy.
	ErrUnsupportedStrategy ErrorType = "UnsupportedStrategy"
	// ErrUntrustedHost: the host of the request may not be used to build URLs.
	ErrUntrustedHost ErrorType = "UntrustedHost"
	// ErrVerification: the mail link is wrong, has expired or was used. Client.
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

// ErrorKind says which page shows an error to the browser.
type ErrorKind string

// The kinds of errors.
const (
	// KindSignIn: the sign-in page, so that the person can try again.
	KindSignIn ErrorKind = "signIn"
	// KindError: the error page.
	KindError ErrorKind = "error"
)

// Kind says to which page the error leads a browser: Pages.SignIn or Pages.Error,
// or the built-in page of that kind.
func (e *Error) Kind() ErrorKind {
	if e.Type.onSignInPage() {
		return KindSignIn
	}
	return KindError
}

// Error is the error of every function of this package. Message and Code never
// hold a token, cookie, code or secret; an application that makes its own Error
// must follow the same rule.
type Error struct {
	// Type says what kind of failure it is. errors.Is(err, Type) holds.
	Type ErrorType
	// Message is for the developer and goes to the log only.
	Message string
	// Code tells the client why a sign-in with credentials or a passkey was
	// refused; it becomes the parameter code of the page. An error of Authorize
	// without a code gets "credentials". Empty means no parameter for a passkey.
	// Other types don't use Code.
	Code string
	// Cause is the error behind this one, or nil.
	Cause error
	// client says that the client caused the error, and tooLarge that the body of its request is too large.
	client, tooLarge bool
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
// bare ErrorType is accepted, too.
func typeOf(err error) (ErrorType, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Type, true
	}
	return errors.AsType[ErrorType](err)
}

// ours turns an error of the packages wire and began into an Error. Another
// error stays as it is.
func ours(err error) error {
	if e, ok := errors.AsType[*wire.BodyError](err); ok {
		return &Error{Type: ErrUnknownAction, Message: e.Error(), client: true, tooLarge: e.TooLarge}
	}
	e, ok := errors.AsType[*began.Error](err)
	if !ok {
		return err
	}
	mapped := &Error{Type: ErrInvalidCheck, Message: e.Message, client: true}
	switch e.Reason {
	case began.InvalidCheck:
	case began.ForgedState:
		mapped.Type = ErrCallbackRoute
	case began.LostChallenge:
		return &Error{Type: ErrWebAuthnVerification, Code: codeExpired, Cause: mapped}
	case began.OtherChallenge:
		return &Error{Type: ErrWebAuthnVerification, Code: codeExpired, Message: e.Message}
	case began.TooLarge:
		return &Error{Type: ErrAuth, Message: e.Message, client: true}
	}
	return mapped
}

// outageOf gives the error of a provider that is not available its type.
func outageOf(err error) error {
	if _, ok := errors.AsType[oauth.Unavailable](err); ok {
		return &Error{Type: ErrProviderUnavailable, Cause: err}
	}
	return err
}

// invalidCheck is the error for a check that is not valid. Anybody can send a
// forged answer of a provider, so this error is not a failure of the server.
func invalidCheck(what, message string) error {
	return &Error{Type: ErrInvalidCheck, Message: what + ": " + message, client: true}
}
