package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount implements [adapter.Accounts]. AuthorizationDetails of null
// count as none; a database that Auth.js made has no room for others until
// EnsureSchema has run. [ACCT-06] [ACCT-16] [ACCT-18] [CONC-04]
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	var p problems
	p.key("provider", account.Provider)
	p.key("providerAccountId", account.ProviderAccountID)
	p.key("userId", account.UserID)
	p.text("type", string(account.Type))
	p.optional("access_token", account.AccessToken)
	p.optional("refresh_token", account.RefreshToken)
	p.optional("id_token", account.IDToken)
	p.optional("scope", account.Scope)
	p.optional("token_type", account.TokenType)
	p.optional("session_state", account.SessionState)
	p.json("authorization_details", account.AuthorizationDetails)
	var made *adapter.Account
	err := a.call(ctx, "link account", func(db DB) error {
		if err := p.err(); err != nil {
			return err
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		owner, ok := sql.kind.arg(account.UserID)
		if !ok {
			return adapter.ErrNotFound
		}
		var expiresAt any
		if account.ExpiresAt != nil {
			expiresAt = *account.ExpiresAt
		}
		args := []any{account.Provider, account.ProviderAccountID, owner, string(account.Type),
			nullable(account.AccessToken), nullable(account.RefreshToken), nullable(account.IDToken),
			nullable(account.Scope), nullable(account.TokenType), nullable(account.SessionState), expiresAt}
		statement := sql.linkAccount
		if details := string(account.AuthorizationDetails); details != "" && details != "null" {
			statement = sql.linkAccountDetails
			args = append(args, details)
		}
		rows, err := db.Query(ctx, statement, args...)
		if made, err = first(rows, err, scanAccount); err == nil && made == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return made, err
}

// UnlinkAccount implements [adapter.Accounts]. [ACCT-10] [ACCT-12]
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return lookup(ctx, a, "unlink account", scanAccount, a.sql.unlinkAccount, key.Provider, key.ProviderAccountID)
}

// GetAccount implements [adapter.Accounts]. [ACCT-02] [ACCT-03]
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	return lookup(ctx, a, "get account", scanAccount, a.sql.getAccount, provider, providerAccountID)
}
