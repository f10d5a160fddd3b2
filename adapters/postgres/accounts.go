package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount implements [adapter.Accounts]. AuthorizationDetails that are
// the JSON null are stored as absent. [ACCT-06] [ACCT-16] [ACCT-18]
// [CONC-04]
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	var p problems
	p.key("userId", account.UserID)
	p.account(account)
	return create(ctx, a, "link account", scanAccount, func(sql *statements) string { return sql.linkAccount },
		p, account.UserID, newAccount, accountArgs(account))
}

// UnlinkAccount implements [adapter.Accounts]. [ACCT-10] [ACCT-12]
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return remove(ctx, a, "unlink account", scanAccount, func(sql *statements) string { return sql.unlinkAccount },
		func(sql *statements) string { return sql.getAccount.sure }, key.Provider, key.ProviderAccountID)
}

// GetAccount implements [adapter.Accounts]. [ACCT-02] [ACCT-03]
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	return lookup(ctx, a, "get account", scanAccount,
		func(sql *statements) find { return sql.getAccount }, provider, providerAccountID)
}

// ListAccountsByUserID implements [adapter.AccountLists]. [ALIST-01] to
// [ALIST-03]
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	return list(ctx, a, "list accounts by user id", scanAccount,
		func(sql *statements) find { return sql.listAccountsByUserID }, userID)
}

// UpdateAccount implements [adapter.AccountLists]. It is one UPDATE, which
// writes only the columns that the update sets. [ALIST-04] to [ALIST-07]
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	var to adapter.Account
	update.Apply(&to)
	var p problems
	p.tokens(to)
	set := assignments{args: []any{update.Provider, update.ProviderAccountID}}
	set.add(update.AccessToken.IsSet(), "a.access_token", nullable(to.AccessToken))
	set.add(update.RefreshToken.IsSet(), "a.refresh_token", nullable(to.RefreshToken))
	set.add(update.IDToken.IsSet(), "a.id_token", nullable(to.IDToken))
	set.add(update.Scope.IsSet(), "a.scope", nullable(to.Scope))
	set.add(update.TokenType.IsSet(), "a.token_type", nullable(to.TokenType))
	set.add(update.SessionState.IsSet(), "a.session_state", nullable(to.SessionState))
	set.add(update.ExpiresAt.IsSet(), "a.expires_at", nullableInt(to.ExpiresAt))
	set.add(update.AuthorizationDetails.IsSet(), "a.authorization_details", nullableJSON(to.AuthorizationDetails))
	var updated *adapter.Account
	err := a.call(ctx, "update account", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		if !possibleKey(update.Provider, update.ProviderAccountID) {
			return adapter.ErrNotFound
		}
		statement, args, err := set.in(sql, sql.updateAccount, sql.getAccount.sure)
		if err != nil {
			return err
		}
		updated, err = surely(ctx, db, func() (*adapter.Account, error) {
			rows, err := db.query(ctx, statement, args...)
			return first(rows, err, scanAccount)
		}, false, sql.getAccount.sure, args[:2]...)
		if err == nil && updated == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return updated, err
}

// account adds a problem for each field of an account that can't be stored.
// It does not check the owner.
func (p *problems) account(a adapter.Account) {
	p.key("provider", a.Provider)
	p.key("providerAccountId", a.ProviderAccountID)
	p.text("type", string(a.Type))
	p.tokens(a)
}

// tokens adds a problem for each field from the provider's answer that
// can't be stored.
func (p *problems) tokens(a adapter.Account) {
	p.optional("access_token", a.AccessToken)
	p.optional("refresh_token", a.RefreshToken)
	p.optional("id_token", a.IDToken)
	p.optional("scope", a.Scope)
	p.optional("token_type", a.TokenType)
	p.optional("session_state", a.SessionState)
	p.json("authorization_details", a.AuthorizationDetails)
}

// accountArgs returns the values of newAccount.
func accountArgs(a adapter.Account) []any {
	return []any{a.Provider, a.ProviderAccountID, string(a.Type), nullable(a.AccessToken), nullable(a.RefreshToken),
		nullable(a.IDToken), nullable(a.Scope), nullable(a.TokenType), nullable(a.SessionState), nullableInt(a.ExpiresAt),
		nullableJSON(a.AuthorizationDetails)}
}
