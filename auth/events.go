package auth

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
)

// Events tell the application what happened, for example for audit logs. Each
// is optional. They are called during the request. An error or a panic is
// logged as ErrEvent and changes nothing. See docs/protocol.md, "Events and callbacks".
type Events struct {
	// CreateUser is called after a user was created, and after their account was
	// linked if they have one.
	CreateUser func(ctx context.Context, e CreateUserEvent) error
	// UpdateUser is called after EmailVerified of an existing user was set: by the
	// first sign-in by e-mail, or by a provider that says that the address is
	// verified. A later sign-in changes nothing.
	UpdateUser func(ctx context.Context, e UpdateUserEvent) error
	// LinkAccount is called after an account was linked to a user.
	LinkAccount func(ctx context.Context, e LinkAccountEvent) error
	// ReleaseEmail is called after a user lost their address to a person who has
	// proven that the address is theirs, and who chose to start afresh. The user
	// keeps everything else.
	ReleaseEmail func(ctx context.Context, e ReleaseEmailEvent) error
	// SignIn is called at the end of every successful sign-in.
	SignIn func(ctx context.Context, e SignInEvent) error
	// PasskeyCloned is called after a sign-in was refused because the counter of
	// the passkey did not rise: somebody may have a copy of the authenticator.
	PasskeyCloned func(ctx context.Context, e PasskeyClonedEvent) error
	// PasskeyBackup is called after a sign-in with a passkey whose eligibility for
	// backup has changed: it may have copies now, or may have none any more.
	PasskeyBackup func(ctx context.Context, e PasskeyBackupEvent) error
	// SignInFailed is called after an attempt to sign in failed, for any reason: a
	// wrong password, a mail link that is not valid, a provider that refused, or
	// too many attempts.
	SignInFailed func(ctx context.Context, e SignInFailedEvent) error
	// SignOut is called after a user ended their session.
	SignOut func(ctx context.Context, e SignOutEvent) error
	// Session is called after every reading of an existing session.
	Session func(ctx context.Context, e SessionEvent) error
}

// CreateUserEvent is the message of Events.CreateUser.
type CreateUserEvent struct {
	User *User
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// UpdateUserEvent is the message of Events.UpdateUser.
type UpdateUserEvent struct {
	User *User
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// LinkAccountEvent is the message of Events.LinkAccount.
type LinkAccountEvent struct {
	User    *User
	Account *Account
	// Profile is the user as the provider describes them.
	Profile *User
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// ReleaseEmailEvent is the message of Events.ReleaseEmail.
type ReleaseEmailEvent struct {
	// User is the user before the change, with the address.
	User *User
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// SignInEvent is the message of Events.SignIn.
type SignInEvent struct {
	// User is the user who signed in; for credentials, the user that Authorize
	// returned.
	User    *User
	Account *Account
	// Profile is set for OAuth and OpenID Connect.
	Profile Profile
	// IsNewUser reports that the sign-in created the user.
	IsNewUser bool
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// SignInFailedEvent is the message of Events.SignInFailed. Its error holds no
// secret; the request may.
type SignInFailedEvent struct {
	// Provider is the ID of the provider, Type its type.
	Provider string
	Type     ProviderType
	// Reason is the type of the error, or ErrAuth for an error of another package.
	Reason ErrorType
	// Err is the error.
	Err error
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// PasskeyClonedEvent is the message of Events.PasskeyCloned.
type PasskeyClonedEvent struct {
	// User is the owner of the passkey.
	User *User
	// CredentialID is the ID of the passkey, in standard base64.
	CredentialID string
	// Stored is the counter of the last sign-in, Received the counter of this one.
	Stored, Received int64
	Request          *http.Request

	redact.Shown // prints no secret
}

// PasskeyBackupEvent is the message of Events.PasskeyBackup.
type PasskeyBackupEvent struct {
	// User is the owner of the passkey.
	User *User
	// CredentialID is the ID of the passkey, in standard base64.
	CredentialID string
	// Syncable says that the passkey may have copies now, BackedUp that it has one.
	Syncable, BackedUp bool
	Request            *http.Request

	redact.Shown // prints no secret
}

// SignOutEvent is the message of Events.SignOut. The session strategy decides
// whether Session or Token is set.
type SignOutEvent struct {
	// Session is the session that the adapter deleted, or nil if there was no such
	// session.
	Session *adapter.Session
	// Token has the claims of the session token.
	Token Claims
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// SessionEvent is the message of Events.Session.
type SessionEvent struct {
	Session *Session
	// Token is set with StrategyJWT.
	Token Claims
	// Request is the request that caused the event. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// requestKey is the context key of the request that an action serves, so that
// every event can have the request.
type requestKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the HTTP request that is being served, with an unread body,
// or nil.
func requestOf(ctx context.Context) *http.Request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r.withBody(ctx)
	}
	return nil
}

// requested is an event that has a request.
type requested[E any] interface {
	*E
	// setRequest sets the request, and chooses what is printed.
	setRequest(hr *http.Request)
}
