package auth

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
)

// Callbacks let the application decide. Each is optional. See docs/protocol.md, "Events and callbacks".
type Callbacks struct {
	// SignIn decides whether a person whom a provider has authenticated may sign
	// in. The default allows everybody. It is called again if the sign-in then
	// continues as another user, for example as the user who is signed in and
	// whom the account is linked to, or as a new user. An error that is an *Error of this package
	// is kept; any other error, or a panic, becomes ErrAccessDenied.
	SignIn func(ctx context.Context, p SignInParams) (SignInDecision, error)

	// NoOtherWayIn reports whether nobody can sign in as a user, or is signed in as
	// the user, except with the accounts and passkeys that the adapter lists. It
	// is asked about a user whose address is not proven, when another person
	// proves the address. The default is true if there is no Credentials provider
	// and all sessions of the user can be ended, which needs StrategyDatabase and
	// adapter.SessionLists. If the result is false, the person is asked what to
	// do. Set it if users may have passwords, and answer from your table of
	// passwords: true for a user whom you only invited.
	NoOtherWayIn func(ctx context.Context, user *User) (bool, error)

	// Link decides whether an account of a provider may be linked to a user who
	// already exists. The default allows it. The result false refuses the sign-in
	// with ErrOAuthAccountNotLinked, or with ErrAccountNotLinked for WebAuthn. An
	// error that is an *Error of this package is kept; any other becomes
	// ErrAccessDenied.
	Link func(ctx context.Context, p LinkParams) (bool, error)

	// Redirect decides where the browser goes after sign-in and sign-out. The
	// default keeps URLs of the site itself and turns all others into p.BaseURL.
	// The result is used unchanged.
	Redirect func(ctx context.Context, p RedirectParams) (string, error)

	// JWT makes the claims of the session token, at sign-in and whenever the
	// session is read. The default returns p.Token. A nil result ends the session.
	// An error leaves the session unchanged, and the code that reads the session
	// gets the error.
	JWT func(ctx context.Context, p JWTParams) (Claims, error)

	// Session makes the session that the client sees. The default shows the user's
	// name, e-mail address and image, and the expiry. A nil result shows no
	// session. If the result has no User, nobody is signed in: Require and the
	// guards of package frameworks refuse the request, and a sign-in links no
	// account to the user. Session and JWT are therefore called at a sign-in too,
	// if the browser has a session.
	Session func(ctx context.Context, p SessionParams) (*Session, error)
}

// SignInParams is the argument of Callbacks.SignIn.
type SignInParams struct {
	// User is the stored user if there is one, otherwise the user as the provider
	// describes them.
	User *User
	// Account is the identity that is signing in.
	Account *Account
	// Profile is set for OAuth and OpenID Connect.
	Profile Profile
	// Credentials is the submitted form of a credentials sign-in.
	Credentials Form
	// VerificationRequest is true when a person asks for a mail link, and false
	// when the link is opened.
	VerificationRequest bool
	// Request is the request that signs in. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// LinkParams is the argument of Callbacks.Link.
type LinkParams struct {
	// User is the stored user whom the account is to be linked to.
	User *User
	// Account is the identity that is signing in.
	Account *Account
	// Profile is set for OAuth and OpenID Connect, except if the account waited
	// for the user to sign in.
	Profile Profile

	redact.Shown // prints no secret
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

// DenyTo stops the sign-in and sends the browser to a path of the site, or to an
// http(s) URL of any site. Callbacks.Redirect is not asked, because the
// application chose the URL: it must not pass on a URL that a client supplied.
// Any other text denies with ErrAccessDenied.
func DenyTo(url string) SignInDecision { return SignInDecision{location: url} }

// RedirectParams is the argument of Callbacks.Redirect.
type RedirectParams struct {
	// URL is the URL that the client asked for.
	URL string
	// BaseURL is the origin of the site.
	BaseURL string
}

// Trigger says why Callbacks.JWT or Callbacks.Session is called.
type Trigger string

// The triggers. The empty trigger means that the session is just read.
const (
	TriggerNone   Trigger = ""
	TriggerSignIn Trigger = "signIn"
	TriggerSignUp Trigger = "signUp"
	TriggerUpdate Trigger = "update"
)

// JWTParams is the argument of Callbacks.JWT.
type JWTParams struct {
	// Token has, at sign-in, the claims name, email, picture and sub of the user,
	// and later the claims of the token. The callback may change and return it.
	Token Claims
	// User and Account are set at sign-in only.
	User    *User
	Account *Account
	// Profile is set at sign-in with OAuth and OpenID Connect.
	Profile Profile
	Trigger Trigger
	// IsNewUser is true if Trigger is TriggerSignUp.
	//
	// Deprecated: compare Trigger with TriggerSignUp.
	IsNewUser bool
	// Session is the JSON that the client sent with TriggerUpdate, otherwise nil.
	// The client chose it, so it must be validated.
	Session json.RawMessage
	// ReadOnly says that the result can't be stored in the browser: the call comes
	// from server code that only reads. So a callback must not renew then what
	// must not be lost, such as a refresh token that the provider replaces.
	ReadOnly bool
}

// SessionParams is the argument of Callbacks.Session.
type SessionParams struct {
	// Session is the session that the default would return. The callback may
	// change and return it. With StrategyDatabase it has the UserID. It never has
	// the key of the session, which is a secret.
	Session *Session
	// Token is set with StrategyJWT.
	Token Claims
	// User is the stored user, with StrategyDatabase.
	User    *User
	Trigger Trigger
	// NewSession is the JSON that the client sent with TriggerUpdate, otherwise
	// nil. The client chose it, so it must be validated.
	NewSession json.RawMessage
}
