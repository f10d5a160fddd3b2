package redis

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.SignUps = (*Adapter)(nil)

// CreateUserWithAccount implements adapter.SignUps.
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (_ *adapter.User, err error) {
	defer wrap(ctx, "create user with account", &err)
	if user.ID == "" {
		user.ID = rand.Text()
	}
	r, linked := &userRecord{userFields: userFields(user)}, accountRecord{accountFields: accountFields(account)}
	linked.UserID = user.ID
	r.Accounts = []string{accountName(account.Key())}
	begin := map[string]encoder{a.keys.account(account.Key()): &linked}
	err = required("provider", account.Provider, "providerAccountId", account.ProviderAccountID)
	if authenticator != nil {
		w := authenticatorRecord(*authenticator)
		w.UserID = user.ID
		r.Authenticators = []string{w.CredentialID}
		begin[a.keys.authenticator(w.CredentialID)] = &w
		err = cmp.Or(err, required("credentialID", w.CredentialID))
	}
	if err != nil {
		return nil, err
	}
	return a.createUser(ctx, r, begin)
}
