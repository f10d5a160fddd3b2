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
	return give(ctx, a, account.UserID, "account", accountName(account.Key()), value, accountAs(account.Key()))
}

// give writes something new of a user who must exist.
func give[R any](ctx context.Context, a *Adapter, userID, kind, name, value string, decode func(value string) (*R, error)) (*R, error) {
	if err := required("userId", userID); err != nil {
		return nil, err
	}
	r, err := a.run(ctx, "create", []any{a.keys.user(userID), a.keys.shared(kind + ":" + name)}, kind+"s", name, value)
	return result(r, err, func(string) (*R, error) { return decode(value) })
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
