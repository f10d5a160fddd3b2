package redis

import (
	"context"
	"crypto/rand"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.SignUps = (*Adapter)(nil)

// CreateUserWithAccount implements adapter.SignUps.
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (_ *adapter.User, err error) {
	defer wrap("create user with account", &err)
	if user.ID == "" {
		user.ID = rand.Text()
	}
	account.UserID = user.ID
	r := userRecord{Accounts: []string{accountName(account.Key())}}
	value, err := encodeAccount(&account)
	if err != nil {
		return nil, err
	}
	begin := []any{a.keys.account(account.Key()), value}
	if authenticator != nil {
		w := *authenticator
		w.UserID = user.ID
		r.Authenticators = []string{w.CredentialID}
		if value, err = encodeAuthenticator(&w); err != nil {
			return nil, err
		}
		begin = append(begin, a.keys.authenticator(w.CredentialID), value)
	}
	return a.createUser(ctx, user, r, begin...)
}
