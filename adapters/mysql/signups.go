package mysql

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithAccount stores a new user, an account and, unless it is nil, an
// authenticator of that user, in one transaction. [SIGNUP-01] to [SIGNUP-06]
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account,
	authenticator *adapter.Authenticator) (*adapter.User, error) {
	const op = "create user with account"
	if user.ID == "" {
		user.ID = newUUID()
	}
	account.UserID = user.ID
	records := []*record{accountRecord(account)}
	if authenticator != nil {
		c := *authenticator
		c.UserID = user.ID
		records = append(records, authenticatorRecord(c))
	}
	return a.signUp(ctx, op, user, records...)
}

// signUp stores a new user with records of that user, in one transaction.
func (a *Adapter) signUp(ctx context.Context, op string, user adapter.User, owned ...*record) (*adapter.User, error) {
	records := append([]*record{userRecord(user)}, owned...)
	var problems []error
	for _, r := range records {
		problems = append(problems, r.err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, failed(ctx, op, err)
	}
	err := a.write(ctx, op, func(o on) error {
		for _, r := range records {
			if err := o.insert(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.storedUser(user), nil
}
