package mutants

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// optionalMethods are all optional interfaces.
type optionalMethods interface {
	adapter.SignUps
	adapter.AccountLists
	adapter.SessionLists
	adapter.AuthenticatorEdits
	adapter.TokenEdits
}

func (w *with) CreateUserWithAccount(ctx context.Context, u adapter.User, a adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	if w.signUp != nil {
		return w.signUp(ctx, u, a, authenticator)
	}
	return w.base.CreateUserWithAccount(ctx, u, a, authenticator)
}

func (w *with) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	return or(w.listAccounts, w.base.ListAccountsByUserID)(ctx, userID)
}

func (w *with) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	return or(w.updateAccount, w.base.UpdateAccount)(ctx, update)
}

func (w *with) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	return or(w.listSessions, w.base.ListSessionsByUserID)(ctx, userID)
}

func (w *with) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	if w.deleteSessions != nil {
		return w.deleteSessions(ctx, userID, except)
	}
	return w.base.DeleteSessionsByUserID(ctx, userID, except)
}

func (w *with) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	if w.deleteAuthenticator != nil {
		return w.deleteAuthenticator(ctx, userID, credentialID, keepOne)
	}
	return w.base.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
}

func (w *with) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	if w.renameAuthenticator != nil {
		return w.renameAuthenticator(ctx, userID, credentialID, name)
	}
	return w.base.RenameAuthenticator(ctx, userID, credentialID, name)
}

func (w *with) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	if w.touch != nil {
		return w.touch(ctx, credentialID, from, to, used)
	}
	return w.base.TouchAuthenticator(ctx, credentialID, from, to, used)
}

func (w *with) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	return or(w.deleteTokens, w.base.DeleteVerificationTokens)(ctx, identifier)
}
