package auth

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Events tell the application what happened, for audit logs and the like. Each
// is optional. They are called in the course of the request; an error or a
// panic is logged as ErrEvent and changes nothing. See docs/protocol.md, "Events and callbacks".
type Events struct {
	// CreateUser follows the creation of a user, and of their account if they have
	// one.
	CreateUser func(ctx context.Context, e CreateUserEvent) error
	// UpdateUser follows when EmailVerified of an existing user was set: by a
	// sign-in by e-mail, or by a provider that says that the address is verified.
	UpdateUser func(ctx context.Context, e UpdateUserEvent) error
	// LinkAccount follows the linking of an account to a user.
	LinkAccount func(ctx context.Context, e LinkAccountEvent) error
	// ReleaseEmail follows when a user loses their address to somebody who has
	// proven that it is theirs, and chose to start afresh. The user keeps
	// everything else.
	ReleaseEmail func(ctx context.Context, e ReleaseEmailEvent) error
	// SignIn comes at the end of every successful sign-in.
	SignIn func(ctx context.Context, e SignInEvent) error
	// PasskeyCloned follows a sign-in that was refused because the counter of the
	// passkey did not rise: somebody may have a copy of the authenticator.
	PasskeyCloned func(ctx context.Context, e PasskeyClonedEvent) error
	// SignInFailed follows an attempt to sign in that failed, whatever the reason:
	// a wrong password, a link that is void, a provider that refused, an attempt
	// too many.
	SignInFailed func(ctx context.Context, e SignInFailedEvent) error
	// SignOut follows the end of a session by its user.
	SignOut func(ctx context.Context, e SignOutEvent) error
	// Session follows every reading of an existing session.
	Session func(ctx context.Context, e SessionEvent) error
}

// CreateUserEvent is the message of Events.CreateUser.
type CreateUserEvent struct {
	User *User
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// UpdateUserEvent is the message of Events.UpdateUser.
type UpdateUserEvent struct {
	User *User
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// LinkAccountEvent is the message of Events.LinkAccount.
type LinkAccountEvent struct {
	User    *User
	Account *Account
	// Profile is the user as the provider describes them.
	Profile *User
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// ReleaseEmailEvent is the message of Events.ReleaseEmail.
type ReleaseEmailEvent struct {
	// User is the user as they were, with the address.
	User *User
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// SignInEvent is the message of Events.SignIn.
type SignInEvent struct {
	// User is, for credentials, what Authorize returned.
	User    *User
	Account *Account
	// Profile is set for OAuth and OpenID Connect.
	Profile Profile
	// IsNewUser reports that the sign-in created the user.
	IsNewUser bool
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// SignInFailedEvent is the message of Events.SignInFailed. Its error holds no
// secret; the request may.
type SignInFailedEvent struct {
	// Provider is the ID of the provider, Type its type.
	Provider string
	Type     ProviderType
	// Reason is the type of the error, ErrAuth for one that is not of this package.
	Reason ErrorType
	// Err is the error.
	Err error
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// PasskeyClonedEvent is the message of Events.PasskeyCloned.
type PasskeyClonedEvent struct {
	// User is whose passkey it is.
	User *User
	// CredentialID is the ID of the passkey, in standard base64.
	CredentialID string
	// Stored is the counter of the last sign-in, Received the one of this.
	Stored, Received int64
	Request          *http.Request
}

// SignOutEvent is the message of Events.SignOut. One of its fields is set, by
// session strategy.
type SignOutEvent struct {
	// Session is what the adapter deleted; nil if there was no such session.
	Session *adapter.Session
	// Token is the claims of the session token.
	Token Claims
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}

// SessionEvent is the message of Events.Session.
type SessionEvent struct {
	Session *Session
	// Token is set with StrategyJWT.
	Token Claims
	// Request is the request that brought the event about. Its body can be read.
	Request *http.Request
}
