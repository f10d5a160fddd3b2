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
	r, begin := userRecord{Accounts: []string{accountName(account.Key())}}, map[string]string{}
	if begin[a.keys.account(account.Key())], err = encodeAccount(&account); err != nil {
		return nil, err
	}
	if authenticator != nil {
		w := *authenticator
		w.UserID = user.ID
		r.Authenticators = []string{w.CredentialID}
		if begin[a.keys.authenticator(w.CredentialID)], err = encodeAuthenticator(&w); err != nil {
			return nil, err
		}
	}
	return a.createUser(ctx, user, r, begin)
}
