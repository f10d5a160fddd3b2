package redis

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var accountFields = []string{
	"type", "access_token", "refresh_token", "id_token", "scope", "token_type", "session_state", "expires_at", "authorization_details",
}

// LinkAccount implements adapter.Accounts.
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	if err := required("userId", account.UserID, "provider", account.Provider, "providerAccountId", account.ProviderAccountID); err != nil {
		return nil, wrap("link account", err)
	}
	if account.AuthorizationDetails != nil && !json.Valid(account.AuthorizationDetails) {
		return nil, wrap("link account", errors.New("authorization_details is not JSON"))
	}
	fields := []any{"type", string(account.Type)}
	for i, v := range accountTexts(&account) {
		if *v != nil {
			fields = append(fields, accountFields[1+i], **v)
		}
	}
	if account.ExpiresAt != nil {
		fields = append(fields, "expires_at", strconv.FormatInt(*account.ExpiresAt, 10))
	}
	if account.AuthorizationDetails != nil {
		fields = append(fields, "authorization_details", string(account.AuthorizationDetails))
	}
	if err := a.createChild(ctx, kindAccount, a.keys.account(account.Key()), account.UserID, "0", "", fields); err != nil {
		return nil, wrap("link account", err)
	}
	for _, v := range accountTexts(&account) {
		if *v != nil {
			*v = new(**v)
		}
	}
	if account.ExpiresAt != nil {
		account.ExpiresAt = new(*account.ExpiresAt)
	}
	account.AuthorizationDetails = append(json.RawMessage(nil), account.AuthorizationDetails...)
	return &account, nil
}

// accountTexts are the optional texts, in the order of accountFields.
func accountTexts(a *adapter.Account) []**string {
	return []**string{&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType, &a.SessionState}
}

func decodeAccount(key adapter.AccountKey, c *child) (*adapter.Account, error) {
	account := &adapter.Account{UserID: c.owner.id, Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	kind, ok := text(c.values[0])
	if !ok {
		return nil, errors.New("an account has no type")
	}
	account.Type = adapter.AccountType(kind)
	for i, v := range accountTexts(account) {
		if s, ok := text(c.values[1+i]); ok {
			*v = &s
		}
	}
	if s, ok := text(c.values[7]); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("the expires_at of an account can't be read")
		}
		account.ExpiresAt = &n
	}
	if s, ok := text(c.values[8]); ok {
		if !json.Valid([]byte(s)) {
			return nil, errors.New("the authorization_details of an account can't be read")
		}
		account.AuthorizationDetails = json.RawMessage(s)
	}
	return account, nil
}

// GetAccount implements adapter.Accounts.
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	_, account, err := a.account(ctx, adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID})
	return account, wrap("get account", err)
}

func (a *Adapter) account(ctx context.Context, key adapter.AccountKey) (*child, *adapter.Account, error) {
	if key.Provider == "" || key.ProviderAccountID == "" {
		return nil, nil, nil
	}
	c, err := a.child(ctx, a.keys.account(key), a.accounts)
	if err != nil || c == nil {
		return nil, nil, err
	}
	account, err := decodeAccount(key, c)
	return c, account, err
}

// UnlinkAccount implements adapter.Accounts.
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	c, account, err := a.account(ctx, key)
	if err != nil || account == nil {
		return nil, wrap("unlink account", err)
	}
	deleted, err := a.deleteChild(ctx, kindAccount, c, nil)
	if err != nil || !deleted {
		return nil, wrap("unlink account", err)
	}
	return account, nil // accounts are never updated
}
