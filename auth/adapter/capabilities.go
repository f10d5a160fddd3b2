package adapter

import (
	"context"
	"encoding/json"
	"time"
)

// The interfaces in this file are optional. An adapter without them works, and
// the core then takes the stricter way. [Capability] finds them.

// Capability returns the optional interface T of the adapter, and whether the
// adapter has it. T is Sweeper or one of the interfaces of this file. The value
// under the result of Partial is looked at too. A wrapper that embeds an
// Adapter hides the capabilities of that adapter unless it declares them.
func Capability[T any](a Adapter) (T, bool) {
	if c, ok := a.(T); ok {
		return c, true
	}
	if p, ok := a.(interface{ Unwrap() any }); ok {
		c, ok := p.Unwrap().(T)
		return c, ok
	}
	var none T
	return none, false
}

// SignUps stores a new user together with the first way to sign in. Without it
// a store that fails between the writes leaves a user without any way in.
type SignUps interface {
	// CreateUserWithAccount stores a new user, an account of that user and,
	// unless it is nil, an authenticator of that user: all of them or nothing.
	// It returns the user as stored. The ID of the user follows the rules of
	// CreateUser; the UserID of the account and of the authenticator is set by
	// the adapter. A user ID, e-mail address, account key or credential ID that
	// is taken is an error matching ErrConflict, and nothing is left behind. No
	// other caller sees the user without the account.
	// [SIGNUP-01] to [SIGNUP-06]
	CreateUserWithAccount(ctx context.Context, user User, account Account, authenticator *Authenticator) (*User, error)
}

// AccountLists lists the accounts of a user and replaces stored tokens.
type AccountLists interface {
	// ListAccountsByUserID returns all accounts of the user, each once, in any
	// order. For an unknown user the slice is empty and not nil; a failure is
	// always an error, never a shorter list. [ALIST-01] to [ALIST-03]
	ListAccountsByUserID(ctx context.Context, userID string) ([]Account, error)

	// UpdateAccount changes exactly the fields that are set and returns the
	// whole account as stored. An absent account is an error matching
	// ErrNotFound and creates nothing. Concurrent updates of different fields
	// all survive. [ALIST-04] to [ALIST-07]
	UpdateAccount(ctx context.Context, update AccountUpdate) (*Account, error)
}

// AccountUpdate changes the fields of the account with the given key that are
// set. Key, type and owner of an account never change.
type AccountUpdate struct {
	Provider          string
	ProviderAccountID string

	AccessToken          Change[*string]
	RefreshToken         Change[*string]
	IDToken              Change[*string]
	Scope                Change[*string]
	TokenType            Change[*string]
	SessionState         Change[*string]
	ExpiresAt            Change[*int64]
	AuthorizationDetails Change[json.RawMessage]
}

// Key returns the key of the account.
func (c AccountUpdate) Key() AccountKey {
	return AccountKey{Provider: c.Provider, ProviderAccountID: c.ProviderAccountID}
}

// Apply sets the changed fields of a. It does not copy what pointers refer to.
func (c AccountUpdate) Apply(a *Account) {
	c.AccessToken.Apply(&a.AccessToken)
	c.RefreshToken.Apply(&a.RefreshToken)
	c.IDToken.Apply(&a.IDToken)
	c.Scope.Apply(&a.Scope)
	c.TokenType.Apply(&a.TokenType)
	c.SessionState.Apply(&a.SessionState)
	c.ExpiresAt.Apply(&a.ExpiresAt)
	c.AuthorizationDetails.Apply(&a.AuthorizationDetails)
}

// SessionLists lists and ends the sessions of a user.
type SessionLists interface {
	// ListSessionsByUserID returns all sessions of the user, each once, in any
	// order. A session that is over is left out, or comes with its true, past
	// Expires. For an unknown user the slice is empty and not nil; a failure is
	// always an error, never a shorter list. [SLIST-01] to [SLIST-03]
	ListSessionsByUserID(ctx context.Context, userID string) ([]Session, error)

	// DeleteSessionsByUserID deletes all sessions of the user but the one with
	// the token except, and reports how many it deleted. An empty except keeps
	// none; an except that is the token of another user's session keeps none of
	// this user's and leaves that one alone. Of the sessions that were there when
	// the call began none is left when it has returned without an error. An
	// unknown user is not an error. [SLIST-04] to [SLIST-07]
	DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error)
}

// AuthenticatorEdits changes and deletes authenticators.
type AuthenticatorEdits interface {
	// DeleteAuthenticator deletes the authenticator and, in the same step, the
	// account of type AccountWebAuthn of the same user that it is connected to,
	// unless another authenticator is connected to that account. It returns the
	// deleted authenticator, or nil if there is none with the ID or if it
	// belongs to another user, which is not an error.
	//
	// With keepOne a removal that would leave the user with neither an
	// authenticator nor an account removes nothing and is an error matching
	// ErrLastCredential. Of concurrent calls that could together remove the last
	// one, one fails. [AEDIT-01] to [AEDIT-05]
	DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*Authenticator, error)

	// RenameAuthenticator stores the name that the user gave the authenticator
	// and returns the record, or nil if there is none with the ID or if it
	// belongs to another user. A store that has no place for the name is an
	// error matching ErrUnsupported. [AEDIT-06]
	RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*Authenticator, error)

	// TouchAuthenticator stores the counter to and, where the store has a place
	// for it, the instant of use, if the stored counter is from. It returns the
	// record as stored, or nil if the stored counter is another one. An absent
	// authenticator is an error matching ErrNotFound. Of concurrent calls with
	// one from and a greater to, one gets the record. [AEDIT-07] to [AEDIT-10]
	TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*Authenticator, error)
}

// TokenEdits ends pending sign-ins by e-mail.
type TokenEdits interface {
	// DeleteVerificationTokens deletes all tokens of the identifier and reports
	// how many it deleted. The tokens of other identifiers stay. An identifier
	// without tokens is not an error. [TEDIT-01] to [TEDIT-03]
	DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error)
}
