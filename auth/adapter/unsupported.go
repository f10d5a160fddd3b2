package adapter

import (
	"context"
	"fmt"
)

// unsupported provides the methods that an adapter lacks. [CAP-01]
//
// [CAP-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md#cap-01
type unsupported struct{}

func errUnsupported(method string) error { return fmt.Errorf("%s: %w", method, ErrUnsupported) }

func (unsupported) CreateUser(context.Context, User) (*User, error) {
	return nil, errUnsupported("CreateUser")
}

func (unsupported) GetUser(context.Context, string) (*User, error) {
	return nil, errUnsupported("GetUser")
}

func (unsupported) GetUserByEmail(context.Context, string) (*User, error) {
	return nil, errUnsupported("GetUserByEmail")
}

func (unsupported) GetUserByAccount(context.Context, AccountKey) (*User, error) {
	return nil, errUnsupported("GetUserByAccount")
}

func (unsupported) UpdateUser(context.Context, UserUpdate) (*User, error) {
	return nil, errUnsupported("UpdateUser")
}

func (unsupported) DeleteUser(context.Context, string) (*User, error) {
	return nil, errUnsupported("DeleteUser")
}

func (unsupported) LinkAccount(context.Context, Account) (*Account, error) {
	return nil, errUnsupported("LinkAccount")
}

func (unsupported) UnlinkAccount(context.Context, AccountKey) (*Account, error) {
	return nil, errUnsupported("UnlinkAccount")
}

func (unsupported) GetAccount(context.Context, string, string) (*Account, error) {
	return nil, errUnsupported("GetAccount")
}

func (unsupported) CreateSession(context.Context, Session) (*Session, error) {
	return nil, errUnsupported("CreateSession")
}

func (unsupported) GetSessionAndUser(context.Context, string) (*SessionAndUser, error) {
	return nil, errUnsupported("GetSessionAndUser")
}

func (unsupported) UpdateSession(context.Context, SessionUpdate) (*Session, error) {
	return nil, errUnsupported("UpdateSession")
}

func (unsupported) DeleteSession(context.Context, string) (*Session, error) {
	return nil, errUnsupported("DeleteSession")
}

func (unsupported) CreateVerificationToken(context.Context, VerificationToken) (*VerificationToken, error) {
	return nil, errUnsupported("CreateVerificationToken")
}

func (unsupported) UseVerificationToken(context.Context, VerificationTokenKey) (*VerificationToken, error) {
	return nil, errUnsupported("UseVerificationToken")
}

func (unsupported) CreateAuthenticator(context.Context, Authenticator) (*Authenticator, error) {
	return nil, errUnsupported("CreateAuthenticator")
}

func (unsupported) GetAuthenticator(context.Context, string) (*Authenticator, error) {
	return nil, errUnsupported("GetAuthenticator")
}

func (unsupported) ListAuthenticatorsByUserID(context.Context, string) ([]Authenticator, error) {
	return nil, errUnsupported("ListAuthenticatorsByUserID")
}

func (unsupported) UpdateAuthenticatorCounter(context.Context, string, int64) (*Authenticator, error) {
	return nil, errUnsupported("UpdateAuthenticatorCounter")
}
