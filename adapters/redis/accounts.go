package redis

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount implements adapter.Accounts.
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (_ *adapter.Account, err error) {
	defer wrap(ctx, "link account", &err)
	if err := required("userId", account.UserID, "provider", account.Provider, "providerAccountId", account.ProviderAccountID); err != nil {
		return nil, err
	}
	r := &accountRecord{accountFields: accountFields(account)}
	return unless(a.give(ctx, account.UserID, "account", accountName(account.Key()), r), r.account())
}

// give writes a new record of a user, who must exist.
func (a *Adapter) give(ctx context.Context, userID, kind, name string, record encoder) error {
	value, err := record.encode()
	if err == nil {
		_, err = a.run(ctx, "create", []any{a.keys.user(userID), a.keys.shared(kind + ":" + name)}, kind+"s", name, value)
	}
	return err
}

// GetAccount implements adapter.Accounts.
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (_ *adapter.Account, err error) {
	defer wrap(ctx, "get account", &err)
	key := adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}
	r, err := read(ctx, a, a.keys.account(key), newAccount(key))
	return r.account(), err
}

// UnlinkAccount implements adapter.Accounts.
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (_ *adapter.Account, err error) {
	defer wrap(ctx, "unlink account", &err)
	r, err := a.run(ctx, "delete", []any{a.keys.account(key)}, "account", accountName(key))
	account, err := result(r, err, newAccount(key))
	return account.account(), err
}
