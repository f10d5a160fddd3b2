package sqlite

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithAccount stores a new user, an account and, unless it is nil, an
// authenticator of that user, in one transaction. [SIGNUP-01] to [SIGNUP-06]
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	const op = "create user with account"
	if user.ID == "" {
		user.ID = newUUID()
	}
	account.UserID = user.ID
	userRow, err1 := userValues(user)
	accountRow, err2 := accountValues(account)
	var authenticatorRow []any
	var err3 error
	if authenticator != nil {
		c := *authenticator
		c.UserID = user.ID
		authenticatorRow, err3 = authenticatorValues(c)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, failed(ctx, op, err)
	}
	var created *adapter.User
	err := a.atomically(ctx, func(ctx context.Context, tx *Adapter) (err error) {
		if created, err = one(ctx, tx, insertUser, readUser, userRow...); err != nil {
			return err
		}
		if _, err = one(ctx, tx, insertAccount, readAccount, accountRow...); err != nil || authenticator == nil {
			return err
		}
		_, err = one(ctx, tx, insertAuthenticator, readAuthenticator, authenticatorRow...)
		return err
	})
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return created, nil
}
