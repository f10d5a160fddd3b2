package redis

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.AccountLists = (*Adapter)(nil)

// ListAccountsByUserID implements adapter.AccountLists.
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) (_ []adapter.Account, err error) {
	defer wrap("list accounts", &err)
	return list(ctx, a, userID, "account", func(name string) func(value string) (*adapter.Account, error) {
		provider, id, _ := strings.Cut(name, ":")
		provider, _ = url.QueryUnescape(provider) // of what accountName escaped
		return accountAs(adapter.AccountKey{Provider: provider, ProviderAccountID: id})
	})
}

// UpdateAccount implements adapter.AccountLists.
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (_ *adapter.Account, err error) {
	defer wrap("update account", &err)
	p := patch{}
	put(p, "access_token", update.AccessToken, itself)
	put(p, "refresh_token", update.RefreshToken, itself)
	put(p, "id_token", update.IDToken, itself)
	put(p, "scope", update.Scope, itself)
	put(p, "token_type", update.TokenType, itself)
	put(p, "session_state", update.SessionState, itself)
	put(p, "expires_at", update.ExpiresAt, func(v *int64) *string {
		if v == nil {
			return nil
		}
		return new(strconv.FormatInt(*v, 10))
	})
	put(p, "authorization_details", update.AuthorizationDetails, func(v json.RawMessage) *string { return filled(string(v)) })
	if v, _ := update.AuthorizationDetails.Get(); v != nil && !json.Valid(v) {
		return nil, errNotJSON
	}
	r, err := a.update(ctx, a.keys.account(update.Key()), p, "", "", "", "")
	return result(r, err, accountAs(update.Key()))
}
