package mutants

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// base is an adapter to break.
type base interface {
	adapter.Adapter
	adapter.Sweeper
	optionalMethods

	// common is what all handles on the records share.
	common() *sync.Map
	// now is the instant that the store goes by.
	now() time.Time
	// peek reads a verification token without using it, and due counts what has expired.
	peek(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error)
	due(context.Context, time.Time) (adapter.Swept, error)
}

// with is an adapter with some methods replaced.
type with struct {
	base

	missing []string

	createUser       func(context.Context, adapter.User) (*adapter.User, error)
	getUser          func(context.Context, string) (*adapter.User, error)
	getUserByEmail   func(context.Context, string) (*adapter.User, error)
	getUserByAccount func(context.Context, adapter.AccountKey) (*adapter.User, error)
	updateUser       func(context.Context, adapter.UserUpdate) (*adapter.User, error)
	deleteUser       func(context.Context, string) (*adapter.User, error)

	linkAccount   func(context.Context, adapter.Account) (*adapter.Account, error)
	unlinkAccount func(context.Context, adapter.AccountKey) (*adapter.Account, error)
	getAccount    func(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error)

	createSession     func(context.Context, adapter.Session) (*adapter.Session, error)
	getSessionAndUser func(context.Context, string) (*adapter.SessionAndUser, error)
	updateSession     func(context.Context, adapter.SessionUpdate) (*adapter.Session, error)
	deleteSession     func(context.Context, string) (*adapter.Session, error)

	createToken func(context.Context, adapter.VerificationToken) (*adapter.VerificationToken, error)
	useToken    func(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error)

	createAuthenticator func(context.Context, adapter.Authenticator) (*adapter.Authenticator, error)
	getAuthenticator    func(context.Context, string) (*adapter.Authenticator, error)
	listAuthenticators  func(context.Context, string) ([]adapter.Authenticator, error)
	updateCounter       func(context.Context, string, int64) (*adapter.Authenticator, error)

	deleteExpired func(context.Context, time.Time) (adapter.Swept, error)

	signUp              func(context.Context, adapter.User, adapter.Account, *adapter.Authenticator) (*adapter.User, error)
	listAccounts        func(context.Context, string) ([]adapter.Account, error)
	updateAccount       func(context.Context, adapter.AccountUpdate) (*adapter.Account, error)
	listSessions        func(context.Context, string) ([]adapter.Session, error)
	deleteSessions      func(ctx context.Context, userID, except string) (int64, error)
	deleteAuthenticator func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error)
	renameAuthenticator func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error)
	touch               func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error)
	deleteTokens        func(context.Context, string) (int64, error)
}

func (w *with) Missing() []string { return w.missing }

func (w *with) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	return or(w.createUser, w.base.CreateUser)(ctx, u)
}

func (w *with) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return or(w.getUser, w.base.GetUser)(ctx, id)
}

func (w *with) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return or(w.getUserByEmail, w.base.GetUserByEmail)(ctx, email)
}

func (w *with) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	return or(w.getUserByAccount, w.base.GetUserByAccount)(ctx, key)
}

func (w *with) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	return or(w.updateUser, w.base.UpdateUser)(ctx, update)
}

func (w *with) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return or(w.deleteUser, w.base.DeleteUser)(ctx, id)
}

func (w *with) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return or(w.linkAccount, w.base.LinkAccount)(ctx, a)
}

func (w *with) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return or(w.unlinkAccount, w.base.UnlinkAccount)(ctx, key)
}

func (w *with) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	if w.getAccount != nil {
		return w.getAccount(ctx, providerAccountID, provider)
	}
	return w.base.GetAccount(ctx, providerAccountID, provider)
}

func (w *with) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	return or(w.createSession, w.base.CreateSession)(ctx, s)
}

func (w *with) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	return or(w.getSessionAndUser, w.base.GetSessionAndUser)(ctx, token)
}

func (w *with) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	return or(w.updateSession, w.base.UpdateSession)(ctx, update)
}

func (w *with) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return or(w.deleteSession, w.base.DeleteSession)(ctx, token)
}

func (w *with) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return or(w.createToken, w.base.CreateVerificationToken)(ctx, t)
}

func (w *with) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return or(w.useToken, w.base.UseVerificationToken)(ctx, key)
}

func (w *with) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	return or(w.createAuthenticator, w.base.CreateAuthenticator)(ctx, a)
}

func (w *with) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return or(w.getAuthenticator, w.base.GetAuthenticator)(ctx, credentialID)
}

func (w *with) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return or(w.listAuthenticators, w.base.ListAuthenticatorsByUserID)(ctx, userID)
}

func (w *with) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	if w.updateCounter != nil {
		return w.updateCounter(ctx, credentialID, counter)
	}
	return w.base.UpdateAuthenticatorCounter(ctx, credentialID, counter)
}

func (w *with) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	return or(w.deleteExpired, w.base.DeleteExpired)(ctx, now)
}

// or returns the replacement if there is one, else the original method.
func or[A, T any](replacement, method func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	if replacement != nil {
		return replacement
	}
	return method
}
