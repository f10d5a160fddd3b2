package redis

import (
	"context"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.AccountLists = (*Adapter)(nil)

// ListAccountsByUserID implements adapter.AccountLists.
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) (_ []adapter.Account, err error) {
	defer wrap(ctx, "list accounts", &err)
	return list(ctx, a, userID, "account", func(name, value string) (*adapter.Account, error) {
		provider, id, _ := strings.Cut(name, ":")
		provider, _ = url.QueryUnescape(provider) // accountName has escaped it
		r, err := decode(value, newAccount(adapter.AccountKey{Provider: provider, ProviderAccountID: id}))
		return r.account(), err
	})
}

// UpdateAccount implements adapter.AccountLists.
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (_ *adapter.Account, err error) {
	defer wrap(ctx, "update account", &err)
	u := new(accountRecord)
	update.Apply(u.account())
	r, err := change(ctx, a, newAccount(update.Key()), a.keys.account(update.Key()), u, changes{
		"access_token": update.AccessToken.IsSet(), "refresh_token": update.RefreshToken.IsSet(), "id_token": update.IDToken.IsSet(), "scope": update.Scope.IsSet(),
		"token_type": update.TokenType.IsSet(), "session_state": update.SessionState.IsSet(), "expires_at": update.ExpiresAt.IsSet(),
		"authorization_details": update.AuthorizationDetails.IsSet(),
	}, terms{})
	return r.account(), err
}
