package ownadapter

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const accountColumns = `provider, provider_account_id, user_id, type, access_token, refresh_token, id_token, scope, token_type,
	session_state, expires_at, authorization_details`

func scanAccount(scan func(...any) error) (*adapter.Account, error) {
	var c adapter.Account
	var details *string
	if err := scan(&c.Provider, &c.ProviderAccountID, &c.UserID, &c.Type, &c.AccessToken, &c.RefreshToken, &c.IDToken, &c.Scope,
		&c.TokenType, &c.SessionState, &c.ExpiresAt, &details); err != nil {
		return nil, err
	}
	if details != nil {
		if c.AuthorizationDetails = json.RawMessage(*details); !json.Valid(c.AuthorizationDetails) {
			return nil, errors.New("stored authorization details are not JSON")
		}
	}
	return &c, nil
}

// LinkAccount stores an account of an existing user.
func (a Adapter) LinkAccount(ctx context.Context, c adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	if err := required(op, c.Provider, c.ProviderAccountID); err != nil {
		return nil, err
	}
	var details *string
	if len(c.AuthorizationDetails) > 0 {
		if !json.Valid(c.AuthorizationDetails) {
			return nil, errors.New("ownadapter: link account: authorization details are not JSON")
		}
		details = new(string(c.AuthorizationDetails))
	}
	return one(ctx, a, op, scanAccount, `INSERT INTO accounts (`+accountColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+accountColumns,
		c.Provider, c.ProviderAccountID, c.UserID, string(c.Type), c.AccessToken, c.RefreshToken, c.IDToken, c.Scope, c.TokenType,
		c.SessionState, c.ExpiresAt, details)
}

// UnlinkAccount deletes the account and returns it, or nil.
func (a Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return one(ctx, a, "unlink account", scanAccount, `DELETE FROM accounts WHERE provider = ? AND provider_account_id = ? RETURNING `+accountColumns,
		key.Provider, key.ProviderAccountID)
}

// GetAccount returns the account, or nil.
func (a Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	return one(ctx, a, "get account", scanAccount, `SELECT `+accountColumns+` FROM accounts WHERE provider = ? AND provider_account_id = ?`,
		provider, providerAccountID)
}
