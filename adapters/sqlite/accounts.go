package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const accountColumns = `userId, type, provider, providerAccountId, access_token, refresh_token, id_token,
	scope, token_type, session_state, expires_at, authorization_details`

// LinkAccount stores an account of an existing user. AuthorizationDetails that
// are not JSON are refused. [ACCT-06] [ACCT-08] [ACCT-16] [CONC-04]
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	switch {
	case account.Provider == "":
		return nil, missing(op, "provider")
	case account.ProviderAccountID == "":
		return nil, missing(op, "provider account id")
	}
	details, err := toJSON(account.AuthorizationDetails)
	if err != nil {
		return nil, failed(ctx, op, fmt.Errorf("authorization details: %w", err))
	}
	linked, err := one(ctx, a, `
		INSERT INTO "account" (`+accountColumns+`)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM "user" WHERE id = ?)
		RETURNING `+accountColumns, readAccount,
		account.UserID, string(account.Type), account.Provider, account.ProviderAccountID,
		toNull(account.AccessToken), toNull(account.RefreshToken), toNull(account.IDToken), toNull(account.Scope),
		toNull(account.TokenType), toNull(account.SessionState), toNull(account.ExpiresAt), details, account.UserID)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case linked == nil:
		return nil, notFound(op, "user")
	}
	return linked, nil
}

// UnlinkAccount deletes the account and returns it, or nil.
// [ACCT-07] [ACCT-10] to [ACCT-13] [CONC-17]
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	account, err := one(ctx, a, `
		DELETE FROM "account" WHERE provider = ? AND providerAccountId = ?
		RETURNING `+accountColumns, readAccount, key.Provider, key.ProviderAccountID)
	if err != nil {
		return nil, failed(ctx, "unlink account", err)
	}
	return account, nil
}

// GetAccount returns the account, or nil. [ACCT-02] [ACCT-03]
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	account, err := one(ctx, a, `
		SELECT `+accountColumns+` FROM "account"
		WHERE provider = ? AND providerAccountId = ?`, readAccount, provider, providerAccountID)
	if err != nil {
		return nil, failed(ctx, "get account", err)
	}
	return account, nil
}

func readAccount(rows *sql.Rows) (*adapter.Account, error) {
	var (
		account                        adapter.Account
		access, refresh, id            sql.Null[string]
		scope, tokenType, sessionState sql.Null[string]
		expiresAt                      sql.Null[int64]
		details                        sql.Null[string]
	)
	err := rows.Scan(&account.UserID, &account.Type, &account.Provider, &account.ProviderAccountID,
		&access, &refresh, &id, &scope, &tokenType, &sessionState, &expiresAt, &details)
	if err != nil {
		return nil, err
	}
	account.AccessToken, account.RefreshToken, account.IDToken = fromNull(access), fromNull(refresh), fromNull(id)
	account.Scope, account.TokenType, account.SessionState = fromNull(scope), fromNull(tokenType), fromNull(sessionState)
	account.ExpiresAt = fromNull(expiresAt)
	if account.AuthorizationDetails, err = fromJSON(details); err != nil {
		return nil, corrupt("authorization_details", err)
	}
	return &account, nil
}
