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
	set(&p, "access_token", update.AccessToken, itself)
	set(&p, "refresh_token", update.RefreshToken, itself)
	set(&p, "id_token", update.IDToken, itself)
	set(&p, "scope", update.Scope, itself)
	set(&p, "token_type", update.TokenType, itself)
	set(&p, "session_state", update.SessionState, itself)
	set(&p, "expires_at", update.ExpiresAt, func(v *int64) *string {
		if v == nil {
			return nil
		}
		return new(strconv.FormatInt(*v, 10))
	})
	set(&p, "authorization_details", update.AuthorizationDetails, func(v json.RawMessage) *string { return filled(string(v)) })
	if v, _ := update.AuthorizationDetails.Get(); v != nil && !json.Valid(v) {
		return nil, errNotJSON
	}
	r, err := a.update(ctx, a.keys.account(update.Key()), p, "", "", "", "")
	return result(r, err, accountAs(update.Key()))
}
