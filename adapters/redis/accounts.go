package redis

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount implements adapter.Accounts.
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (_ *adapter.Account, err error) {
	defer wrap("link account", &err)
	value, err := encodeAccount(&account)
	if err != nil {
		return nil, err
	}
	return give(ctx, a, account.UserID, "account", accountName(account.Key()), value, &account)
}

// give writes something new of a user who must exist, and returns it.
func give[T any](ctx context.Context, a *Adapter, userID, kind, name, value string, record *T) (*T, error) {
	if err := required("userId", userID); err != nil {
		return nil, err
	}
	r, err := a.run(ctx, "create", []any{a.keys.user(userID), a.keys.shared(kind + ":" + name)}, kind+"s", name, value)
	return result(r, err, given(record))
}

// GetAccount implements adapter.Accounts.
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (_ *adapter.Account, err error) {
	defer wrap("get account", &err)
	key := adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}
	r, err := a.get(ctx, a.keys.account(key))
	return result(r, err, accountAs(key))
}

// UnlinkAccount implements adapter.Accounts.
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (_ *adapter.Account, err error) {
	defer wrap("unlink account", &err)
	r, err := a.run(ctx, "delete", []any{a.keys.account(key)}, "account", accountName(key))
	return result(r, err, accountAs(key))
}
