package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The interfaces in this file are optional. An adapter without them works; the
// core then takes the stricter way. [Capability] finds them.

// Capability returns the optional interface T of the adapter, and whether the
// adapter has it. T is Sweeper or one of the interfaces of this file. For a
// result of Partial, Capability looks at the value that Partial was given. A
// wrapper that embeds an Adapter hides the optional interfaces of that adapter
// unless the wrapper declares them.
//
// An adapter that has the methods of T and can't serve them at this site, because
// a table is not there yet, names them in its method Missing: see [Missing].
// Capability then says that the adapter does not have T. An adapter that has to ask
// its store says so until it has asked, which its CheckSchema or EnsureSchema does:
// call it before auth.New.
func Capability[T any](a Adapter) (T, bool) {
	var has any = a
	c, ok := has.(T)
	if p, wraps := a.(interface{ Unwrap() any }); wraps && !ok {
		has = p.Unwrap()
		c, ok = has.(T)
	}
	if !ok || lacksOne(has, reflect.TypeFor[T]()) {
		var none T
		return none, false
	}
	return c, true
}

// lacksOne reports whether the value says that it lacks a method of the interface.
func lacksOne(v any, of reflect.Type) bool {
	missing := missingOf(v)
	if len(missing) == 0 {
		return false
	}
	for m := range of.Methods() {
		if slices.Contains(missing, m.Name) {
			return true
		}
	}
	return false
}

// SignUps stores a new user together with the first way to sign in. Without it,
// a store that fails between the writes leaves a user who can't sign in.
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type SignUps interface {
	// CreateUserWithAccount stores a new user, an account of that user and,
	// unless it is nil, an authenticator of that user: all of them or nothing.
	// It returns the user as stored. The ID of the user follows the rules of
	// CreateUser. The adapter sets the UserID of the account and of the
	// authenticator. A user ID, e-mail address, account key or credential ID
	// that another record has is an error matching ErrConflict, and the call
	// stores nothing. No other caller sees the user without the account or the
	// authenticator. [SIGNUP-01] to [SIGNUP-06]
	CreateUserWithAccount(ctx context.Context, user User, account Account, authenticator *Authenticator) (*User, error)
}

// AccountLists lists the accounts of a user and replaces stored tokens.
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
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
// set. Key, type and owner of an account never change. [ALIST-04] [ALIST-07]
//
// [ALIST-04]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/alist.md#alist-04
// [ALIST-07]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/alist.md#alist-07
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
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type SessionLists interface {
	// ListSessionsByUserID returns all sessions of the user, each once, in any
	// order. An expired session is left out, or is listed with its true, past
	// Expires. For an unknown user the slice is empty and not nil; a failure is
	// always an error, never a shorter list. [SLIST-01] to [SLIST-03]
	ListSessionsByUserID(ctx context.Context, userID string) ([]Session, error)

	// DeleteSessionsByUserID deletes all sessions of the user except the one
	// whose token is except, and returns how many it deleted. If except is
	// empty, it deletes all of them. If except is the token of another user's
	// session, it deletes all sessions of this user and does not touch that
	// session. When the call has returned without an error, no other session
	// that the user had at its beginning remains the user's; a session that an
	// update has given to another user stays. An unknown user is not an error.
	// [SLIST-04] to [SLIST-07]
	DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error)
}

// AuthenticatorEdits changes and deletes authenticators.
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type AuthenticatorEdits interface {
	// DeleteAuthenticator deletes the authenticator and, in the same step, the
	// account of type AccountWebAuthn of the same user that it is connected to,
	// unless another authenticator is connected to that account. It returns the
	// deleted authenticator. It returns nil, which is not an error, if no
	// authenticator has the ID or if the authenticator belongs to another user.
	// [AEDIT-01] [AEDIT-02] [AEDIT-05]
	//
	// With keepOne, a removal that would leave the user with neither an
	// authenticator nor an account removes nothing and is an error matching
	// ErrLastCredential. Of concurrent calls that could together remove the
	// last one, one fails. [AEDIT-01] to [AEDIT-05]
	DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*Authenticator, error)

	// RenameAuthenticator stores the name that the user gave the authenticator
	// and returns the record. It returns nil if no authenticator has the ID or
	// if the authenticator belongs to another user. A store without a field for
	// the name returns an error matching ErrUnsupported. [AEDIT-06]
	RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*Authenticator, error)

	// TouchAuthenticator compares and sets the signature counter: if the stored
	// counter equals from, it stores to and, where the store has a field for
	// it, the instant used. It returns the record as stored, or nil if the stored
	// counter differs from from. An absent authenticator is an error matching
	// ErrNotFound. Of concurrent calls with one from and a greater to, one gets
	// the record. [AEDIT-07] to [AEDIT-10]
	TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*Authenticator, error)
}

// AuthenticatorBackups stores the backup flags of authenticators. An adapter
// without it keeps the flags of the registration.
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type AuthenticatorBackups interface {
	// UpdateAuthenticatorBackup sets CredentialBackedUp and CredentialDeviceType
	// of an authenticator, and nothing else, and returns the record; an absent
	// authenticator is an error matching ErrNotFound. [AEDIT-11]
	UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*Authenticator, error)
}

// EmailRequirer is implemented by adapters whose store may refuse users without an
// e-mail address, such as one that serves the tables of another product. auth.New
// names the providers whose users have none.
//
// CLAUSES.md explains the [clauses] of the method.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type EmailRequirer interface {
	// RequiresEmail reports whether CreateUser and CreateUserWithAccount refuse
	// a user without an address, and UpdateUser refuses to remove one, with an
	// error that matches neither ErrConflict nor ErrNotFound. [ERR-11]
	RequiresEmail() bool
}

// TokenEdits ends pending sign-ins by e-mail.
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type TokenEdits interface {
	// DeleteVerificationTokens deletes all tokens of the identifier and reports
	// how many it deleted. The tokens of other identifiers stay. An identifier
	// without tokens is not an error. [TEDIT-01] to [TEDIT-03]
	DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error)
}

// Passwords keeps the passwords of users, at most one for each user, in a form that
// nobody can read. The application never sees the text of a password again. They are in
// a table, collection or field of their own, so that what Auth.js has stays usable. Where
// the tables are of others, an adapter has Passwords when that table is there; until then
// its method Missing names these five, Capability finds no Passwords, and each of them
// returns an error matching ErrUnsupported. [CAP-01]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [CAP-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/cap.md#cap-01
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Passwords interface {
	// CreateUserWithPassword stores a new user and the password of that user: both
	// or nothing. It returns the user as stored. The ID of the user follows the
	// rules of CreateUser. The adapter sets the UserID of the password. A user ID or
	// e-mail address that another user has is an error matching ErrConflict, and the
	// call stores nothing. No other caller sees the user without the password.
	// [PASS-01] [PASS-08] [PASS-09]
	CreateUserWithPassword(ctx context.Context, user User, password Password) (*User, error)

	// GetPassword returns the password of the user, or nil. [PASS-01] [PASS-02]
	GetPassword(ctx context.Context, userID string) (*Password, error)

	// SetPassword stores the password of an existing user, in place of the one that
	// the user has, and returns it. An absent owner is an error matching ErrNotFound,
	// and the call stores nothing. [PASS-01] [PASS-03] [PASS-10] [PASS-11]
	SetPassword(ctx context.Context, password Password) (*Password, error)

	// SwapPassword compares and sets: if the stored password of the user from.UserID
	// has the Hash and the State of from, byte for byte, it stores those of to. It
	// returns the record as stored, or nil, with nothing changed, if the stored
	// password differs or the user has none. Of concurrent calls with one from and
	// another Hash or State in each to, one gets the record. to.UserID is not used.
	// [PASS-04] [PASS-05]
	SwapPassword(ctx context.Context, from, to Password) (*Password, error)

	// DeletePassword deletes the password of the user and returns it. It returns nil,
	// which is not an error, if the user has none. With keepOne, a removal that would
	// leave the user with neither an account nor an authenticator removes nothing and
	// is an error matching ErrLastCredential. Of concurrent calls of it and of
	// DeleteAuthenticator that could together remove the last one, one fails: for
	// DeleteAuthenticator too a password is one that stays. [PASS-06] [PASS-07]
	DeletePassword(ctx context.Context, userID string, keepOne bool) (*Password, error)
}

// Password is the password of a user as it is stored. Hash and State are texts that
// package auth/password makes and reads: valid UTF-8 without U+0000. An adapter compares
// and returns them byte for byte. A record that an operator brings along has a hash and
// no state. DeleteUser deletes it with the user. [PASS-01] [PASS-10] [PASS-11]
// CLAUSES.md explains the [clauses] of the fields.
//
// [PASS-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/pass.md#pass-01
// [PASS-10]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/pass.md#pass-10
// [PASS-11]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/pass.md#pass-11
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Password struct {
	UserID string
	// Hash is not empty. It has at most 2,000 bytes. [PASS-11]
	Hash string
	// State is what the core knows of the password, such as how many wrong ones were
	// tried. It is empty or JSON, and has at most 32,000 bytes. [PASS-11]
	State string
}

const (
	maxPasswordHash  = 2_000
	maxPasswordState = 32_000
)

// Check returns an error if Hash or State is none that a store keeps: an empty hash, a
// text that is too long or not valid UTF-8, or one with U+0000. Adapters call it before
// they store a password. [PASS-11]
//
// [PASS-11]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/pass.md#pass-11
func (p Password) Check() error {
	if p.Hash == "" {
		return errors.New("the hash of the password is empty")
	}
	return errors.Join(checkText("hash", p.Hash, maxPasswordHash), checkText("state", p.State, maxPasswordState))
}

// checkText does not quote the text, which is a secret.
func checkText(what, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("the %s of the password has %d bytes, and at most %d are kept", what, len(text), most)
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return fmt.Errorf("the %s of the password is not valid UTF-8, or has the character U+0000", what)
	}
	return nil
}
