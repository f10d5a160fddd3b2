package auth

import (
	"context"
	"encoding/json"
	"net/http"
)

// Callbacks let the application decide. Each is optional. See docs/protocol.md, "Events and callbacks".
type Callbacks struct {
	// SignIn decides whether somebody whom a provider has authenticated may
	// sign in. The default allows everybody. An error that is an *Error of this
	// package is kept; any other, a panic included, becomes ErrAccessDenied.
	SignIn func(ctx context.Context, p SignInParams) (SignInDecision, error)

	// Link decides whether an account of a provider may be linked to a user who
	// exists already. The default allows it. False refuses the sign-in as
	// ErrOAuthAccountNotLinked, or as ErrAccountNotLinked for WebAuthn. An error
	// that is an *Error of this package is kept; any other becomes
	// ErrAccessDenied.
	Link func(ctx context.Context, p LinkParams) (bool, error)

	// Redirect decides where the browser goes after sign-in and sign-out. The
	// default keeps URLs of the site itself and turns all others into
	// p.BaseURL. What it returns is used as it is.
	Redirect func(ctx context.Context, p RedirectParams) (string, error)

	// JWT makes the claims of the session token, at sign-in and whenever the
	// session is read. The default returns p.Token. Returning nil ends the
	// session; an error leaves it as it is, and is returned to who reads it.
	JWT func(ctx context.Context, p JWTParams) (Claims, error)

	// Session makes the session that the client sees. The default shows name,
	// e-mail address and image of the user, and the expiry. Returning nil shows
	// no session.
	Session func(ctx context.Context, p SessionParams) (*Session, error)
}

// SignInParams is the argument of Callbacks.SignIn.
type SignInParams struct {
	// User is the stored user if there is one, and what the provider said
	// otherwise.
	User *User
	// Account is the identity that is signing in.
	Account *Account
	// Profile is set for OAuth and OpenID Connect.
	Profile Profile
	// Credentials is the submitted form of a credentials sign-in.
	Credentials Form
	// VerificationRequest is true while a sign-in link is asked for, and false
	// when the link is opened.
	VerificationRequest bool
	// Request is the request that signs in. Its body can be read.
	Request *http.Request
}

// LinkParams is the argument of Callbacks.Link.
type LinkParams struct {
	// User is the stored user whom the account is to be linked to.
	User *User
	// Account is the identity that is signing in.
	Account *Account
	// Profile is set for OAuth and OpenID Connect, unless the account waited for
	// the user to sign in.
	Profile Profile
}

// SignInDecision is the answer of Callbacks.SignIn. The zero decision denies.
type SignInDecision struct {
	allow    bool
	location string
}

// Allow lets the sign-in continue.
func Allow() SignInDecision { return SignInDecision{allow: true} }

// Deny stops the sign-in; the browser is sent to the error page.
func Deny() SignInDecision { return SignInDecision{} }

// DenyTo stops the sign-in and sends the browser to a URL, which passes through
// Callbacks.Redirect.
func DenyTo(url string) SignInDecision { return SignInDecision{location: url} }

// RedirectParams is the argument of Callbacks.Redirect.
type RedirectParams struct {
	// URL is what the client, or a SignInDecision, asked for.
	URL string
	// BaseURL is the origin of the site.
	BaseURL string
}

// Trigger says why Callbacks.JWT or Callbacks.Session is called.
type Trigger string

// The triggers. None, the empty one, is an ordinary reading of the session.
const (
	TriggerNone   Trigger = ""
	TriggerSignIn Trigger = "signIn"
	TriggerSignUp Trigger = "signUp"
	TriggerUpdate Trigger = "update"
)

// JWTParams is the argument of Callbacks.JWT.
type JWTParams struct {
	// Token is, at sign-in, name, email, picture and sub of the user; later the
	// claims of the token. The callback may change and return it.
	Token Claims
	// User and Account are set at sign-in only.
	User    *User
	Account *Account
	// Profile is set at sign-in with OAuth and OpenID Connect.
	Profile Profile
	Trigger Trigger
	// Session is what the client sent with TriggerUpdate, as JSON, otherwise
	// nil. It is the client's and must be validated.
	Session json.RawMessage
	// ReadOnly says that the result can't be stored in the browser: the call
	// comes from server code that only reads. What must not be lost, such as a
	// refresh token that the provider replaces, must not be renewed then.
	ReadOnly bool
}

// SessionParams is the argument of Callbacks.Session.
type SessionParams struct {
	// Session is what the default would return. The callback may change and
	// return it.
	Session *Session
	// Token is set with StrategyJWT.
	Token Claims
	// User is the stored user, with StrategyDatabase.
	User    *User
	Trigger Trigger
	// NewSession is what the client sent with TriggerUpdate, as JSON, otherwise
	// nil. It is the client's and must be validated.
	NewSession json.RawMessage
}
