package adapter

import (
	"context"
	"time"
)

// Adapter reads and writes all five kinds of record.
type Adapter interface {
	Users
	Accounts
	Sessions
	VerificationTokens
	Authenticators
}

// Users keeps users. E-mail lookup and e-mail uniqueness use one and the same
// equality, exact or ASCII-case-insensitive. [USER-13] [USER-14]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [USER-13]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/user.md#user-13
// [USER-14]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/user.md#user-14
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Users interface {
	// CreateUser stores a new user and returns the stored record. If the ID is
	// empty, the adapter assigns one. A given ID is kept, unless the adapter
	// declares that it assigns its own. An ID or a non-empty e-mail address
	// that another user has is an error matching ErrConflict, and the call
	// stores nothing. Of concurrent calls with one address at most one
	// succeeds. [USER-01] [USER-04] [USER-05] [USER-11] [USER-12] [CONC-03]
	CreateUser(ctx context.Context, user User) (*User, error)

	// GetUser returns the user with the ID, or nil. [USER-02] [USER-07] [USER-08]
	GetUser(ctx context.Context, id string) (*User, error)

	// GetUserByEmail returns the user with the address, or nil. The address in
	// the result is the stored one. No user has the empty address. [USER-09]
	// [USER-10] [USER-16] [INPUT-01]
	GetUserByEmail(ctx context.Context, email string) (*User, error)

	// GetUserByAccount returns the owner of the account, or nil.
	// [ACCT-01] [ACCT-04] [ACCT-05]
	GetUserByAccount(ctx context.Context, key AccountKey) (*User, error)

	// UpdateUser changes exactly the fields that are set and returns the whole
	// record as stored. In the same step, an update to another address that does
	// not set EmailVerified clears it; addresses are compared as GetUserByEmail
	// compares them. An absent user, or one without the address IfEmail, is an
	// error matching ErrNotFound, and nothing is created or changed; an address
	// that another user has is an error matching ErrConflict and changes nothing.
	// Concurrent updates of different fields all survive, save a proof of the
	// address that is replaced. [USER-17] [USER-18] [USER-19] [USER-20] [USER-22]
	// [USER-30] [CONC-08] [CONC-22]
	UpdateUser(ctx context.Context, update UserUpdate) (*User, error)

	// DeleteUser deletes the user and all accounts, sessions and authenticators
	// of that user. It returns the deleted user, or nil if there was none,
	// which is not an error. No record that is written concurrently for the
	// user remains. [CASC-01] to [CASC-10] [CONC-11]
	DeleteUser(ctx context.Context, id string) (*User, error)
}

// Accounts keeps the identities at providers. An account key belongs to at
// most one user. [ACCT-06] [ACCT-07]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [ACCT-06]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/acct.md#acct-06
// [ACCT-07]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/acct.md#acct-07
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Accounts interface {
	// LinkAccount stores an account of an existing user and returns it. A key
	// that any user has already is an error matching ErrConflict, and the call
	// changes nothing. An absent owner is an error matching ErrNotFound.
	// [ACCT-06] [ACCT-14] [ACCT-16] [ACCT-22] [CONC-04]
	LinkAccount(ctx context.Context, account Account) (*Account, error)

	// UnlinkAccount deletes the account and returns it, or nil if there was
	// none, which is not an error. [ACCT-10] [ACCT-11] [ACCT-12]
	UnlinkAccount(ctx context.Context, key AccountKey) (*Account, error)

	// GetAccount returns the account, or nil. The arguments have the same order
	// as in Auth.js. [ACCT-02] [ACCT-03]
	GetAccount(ctx context.Context, providerAccountID, provider string) (*Account, error)
}

// Sessions keeps database sessions. Only the core decides whether a session is
// over. An adapter therefore returns an expired session with its true, past
// Expires, or reports it as absent. [SESS-20]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [SESS-20]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/sess.md#sess-20
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Sessions interface {
	// CreateSession stores a session of an existing user and returns it. A
	// token in use is an error matching ErrConflict and changes nothing; an
	// absent owner is an error matching ErrNotFound.
	// [SESS-01] [SESS-05] [SESS-07] [CONC-05]
	CreateSession(ctx context.Context, session Session) (*Session, error)

	// GetSessionAndUser returns the session and the current record of its
	// owner, or nil if either is absent. It never changes Expires.
	// [SESS-02] [SESS-19] [SESS-21] [SESS-22]
	GetSessionAndUser(ctx context.Context, sessionToken string) (*SessionAndUser, error)

	// UpdateSession changes exactly the fields that are set and returns the
	// whole session as stored, or nil if the session is absent. An absent
	// session is not an error, and the call does not create it: a session that
	// was deleted stays deleted. [SESS-08] to [SESS-14] [CONC-07]
	UpdateSession(ctx context.Context, update SessionUpdate) (*Session, error)

	// DeleteSession deletes the session and returns it, or nil if there was
	// none, which is not an error. [SESS-15] to [SESS-18]
	DeleteSession(ctx context.Context, sessionToken string) (*Session, error)
}

// VerificationTokens keeps pending sign-ins by e-mail. An identifier may have
// several tokens, which are independent of each other. It need not belong to a
// user. [VTOK-07] [VTOK-08] [VTOK-09] [VTOK-16]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [VTOK-07]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/vtok.md#vtok-07
// [VTOK-08]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/vtok.md#vtok-08
// [VTOK-09]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/vtok.md#vtok-09
// [VTOK-16]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/vtok.md#vtok-16
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type VerificationTokens interface {
	// CreateVerificationToken stores a token and returns it. If the same pair
	// of identifier and token is stored already, the call returns an error
	// matching ErrConflict or replaces the record. In both cases the pair can
	// be used once. [VTOK-01] [VTOK-10] [VTOK-15]
	CreateVerificationToken(ctx context.Context, token VerificationToken) (*VerificationToken, error)

	// UseVerificationToken deletes the token and returns it, or nil if it is
	// absent. Of any number of concurrent calls with one key, across processes,
	// exactly one gets the token. That call returns only after the removal is
	// certain. A call in which either half of the key is wrong removes nothing.
	// [VTOK-02] to [VTOK-06] [CONC-01] [CONC-02] [FAULT-01]
	UseVerificationToken(ctx context.Context, key VerificationTokenKey) (*VerificationToken, error)
}

// Authenticators keeps WebAuthn credentials. Its writes never fail silently.
// [ERR-02] [FAULT-07]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [ERR-02]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/err.md#err-02
// [FAULT-07]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/fault.md#fault-07
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Authenticators interface {
	// CreateAuthenticator stores a credential of an existing user and returns
	// it. A credential ID in use is an error matching ErrConflict and changes
	// nothing; an absent owner is an error matching ErrNotFound.
	// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06]
	CreateAuthenticator(ctx context.Context, authenticator Authenticator) (*Authenticator, error)

	// GetAuthenticator returns the authenticator, or nil. [AUTHN-02] [AUTHN-15]
	GetAuthenticator(ctx context.Context, credentialID string) (*Authenticator, error)

	// ListAuthenticatorsByUserID returns all authenticators of the user, each
	// once, in any order. For an unknown user the slice is empty and not nil;
	// a failure is always an error, never a shorter list.
	// [AUTHN-04] [AUTHN-06] [AUTHN-07] [AUTHN-21] [FAULT-09]
	ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]Authenticator, error)

	// UpdateAuthenticatorCounter stores the counter and returns the whole
	// record as stored. An absent authenticator is an error matching
	// ErrNotFound, and the call creates nothing. A lower counter is stored like
	// any other, because the core detects clones, or the call fails and changes
	// nothing. [AUTHN-08] to [AUTHN-14]
	UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*Authenticator, error)
}

// Sweeper is implemented by adapters that can remove expired records. An
// adapter never removes them from a goroutine of its own: the application
// decides when to call DeleteExpired. [EXP-01] [EXP-05] [EXP-06]
//
// CLAUSES.md explains the [clauses] of the methods.
//
// [EXP-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/exp.md#exp-01
// [EXP-05]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/exp.md#exp-05
// [EXP-06]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/exp.md#exp-06
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Sweeper interface {
	// DeleteExpired removes the sessions and verification tokens whose Expires
	// is at or before now, in any number, and returns how many it removed. A
	// session that is extended during the call remains. [EXP-07]
	DeleteExpired(ctx context.Context, now time.Time) (Swept, error)
}

// Swept counts what DeleteExpired removed. [EXP-08]
//
// [EXP-08]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/exp.md#exp-08
type Swept struct {
	Sessions           int64
	VerificationTokens int64
}
