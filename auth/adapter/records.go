package adapter

import (
	"encoding/json"
	"time"
)

// User is a person who can sign in. See docs/protocol.md, "Records".
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type User struct {
	// ID is unique and opaque. It may be empty in the argument of CreateUser;
	// the adapter then assigns one. [USER-01] [USER-06]
	ID string
	// Name is nil when not known; the empty string is a different value.
	// [DATA-02] [DATA-03]
	Name *string
	// Email is unique among users unless it is empty. [USER-11] [USER-12]
	Email string
	// EmailVerified is the instant at which the user proved the address, or nil.
	// [USER-25] [TIME-10]
	EmailVerified *time.Time
	// Image is the URL of a picture, or nil. [DATA-02]
	Image *string
}

// AccountType is the kind of provider that an account belongs to.
type AccountType string

// The account types that are stored (docs/protocol.md, "Records"). A sign-in
// with credentials has no stored account. [DATA-01]
//
// [DATA-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/data.md#data-01
const (
	AccountOAuth    AccountType = "oauth"
	AccountOIDC     AccountType = "oidc"
	AccountEmail    AccountType = "email"
	AccountWebAuthn AccountType = "webauthn"
)

// Account connects a user with an identity at a provider. A user may have
// many. See docs/protocol.md, "Records". [ACCT-09]
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [ACCT-09]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/acct.md#acct-09
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Account struct {
	// UserID is the owner's ID as GetUser reports it. [ACCT-20]
	UserID string
	Type   AccountType
	// Provider and ProviderAccountID are the key of the account. [ACCT-05]
	Provider          string
	ProviderAccountID string
	// The fields of the provider's token response (RFC 6749 section 5.1); nil
	// means that the provider did not send the field. [ACCT-17]
	AccessToken  *string
	RefreshToken *string
	IDToken      *string
	Scope        *string
	// TokenType is lower case.
	TokenType    *string
	SessionState *string
	// ExpiresAt is the instant at which AccessToken expires, in seconds since
	// the Unix epoch. It may lie beyond 2038. [ACCT-15] [DATA-14]
	ExpiresAt *int64
	// AuthorizationDetails is a JSON array of objects (RFC 9396 section 7), or
	// nil. A store may reformat the JSON but must keep its structure. [ACCT-17]
	// [ACCT-18]
	AuthorizationDetails json.RawMessage
}

// AccountKey names one account.
type AccountKey struct {
	Provider          string
	ProviderAccountID string
}

// Key returns the key of the account.
func (a Account) Key() AccountKey {
	return AccountKey{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
}

// Session is a database session. See docs/protocol.md, "Records".
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Session struct {
	// SessionToken is the key of the session and a secret. [SESS-05] [ERR-08]
	SessionToken string
	UserID       string
	// Expires is the instant at which the session ends. [SESS-20]
	Expires time.Time
}

// SessionAndUser is a session together with the current record of its owner.
// [SESS-21]
//
// [SESS-21]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/sess.md#sess-21
type SessionAndUser struct {
	Session Session
	User    User
}

// VerificationToken is a pending sign-in by e-mail. See docs/protocol.md, "Records".
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type VerificationToken struct {
	// Identifier is the e-mail address. [VTOK-16]
	Identifier string
	// Token is the hash of the token in the mail, never the token itself.
	Token string
	// Expires is the instant from which the token is not valid. [VTOK-11]
	// [VTOK-12]
	Expires time.Time
}

// VerificationTokenKey names one verification token.
type VerificationTokenKey struct {
	Identifier string
	Token      string
}

// Key returns the key of the token.
func (t VerificationToken) Key() VerificationTokenKey {
	return VerificationTokenKey{Identifier: t.Identifier, Token: t.Token}
}

// Authenticator is a WebAuthn credential. See docs/protocol.md, "Records".
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Authenticator struct {
	// CredentialID is the key of the authenticator, base64 encoded, of up to
	// 1,364 characters. [AUTHN-16]
	CredentialID string
	UserID       string
	// ProviderAccountID is the account that the authenticator is connected to.
	// [AUTHN-22]
	ProviderAccountID string
	// CredentialPublicKey is base64 encoded. [AUTHN-17]
	CredentialPublicKey string
	// Counter is the signature counter. WebAuthn needs 0 to 2^32-1; adapters
	// should keep up to 2^53-1. [AUTHN-08] [AUTHN-11] [AUTHN-12]
	Counter              int64
	CredentialBackedUp   bool
	CredentialDeviceType string
	// Transports is a comma-separated list, or nil. [AUTHN-19]
	Transports *string

	// Users are shown these three fields. Nil means not known. A store without a
	// field for them leaves them nil; the tables of Auth.js have none.
	// [AUTHN-01] [AEDIT-06]

	// Name is the name that the user sees. [AEDIT-06]
	Name *string
	// Created is the instant of the registration. [AUTHN-01] [AEDIT-06]
	Created *time.Time
	// LastUsed is the instant of the latest sign-in. [AEDIT-07]
	LastUsed *time.Time
}
