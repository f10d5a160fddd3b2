package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	newAccount = `userId, type, provider, providerAccountId, access_token, refresh_token, id_token,
		scope, token_type, session_state, expires_at, authorization_details`
	accountColumns = `{a.userId}, {a.type}, {a.provider}, {a.providerAccountId}, {a.access_token}, {a.refresh_token}, {a.id_token},
		{a.scope}, {a.token_type}, {a.session_state}, {a.expires_at}, {a.authorization_details}`
)

const insertAccount = `
	INSERT INTO "account" ({new a: ` + newAccount + `}) VALUES ({values a: ` + newAccount + `})
	RETURNING ` + accountColumns

// accountValues are the values of newAccount.
func accountValues(account adapter.Account) ([]any, error) {
	switch {
	case account.Provider == "":
		return nil, errors.New("provider is empty")
	case account.ProviderAccountID == "":
		return nil, errors.New("provider account id is empty")
	}
	details, err := toJSON(account.AuthorizationDetails)
	if err != nil {
		return nil, fmt.Errorf("authorization details: %w", err)
	}
	return []any{account.UserID, string(account.Type), account.Provider, account.ProviderAccountID,
		toNull(account.AccessToken), toNull(account.RefreshToken), toNull(account.IDToken), toNull(account.Scope),
		toNull(account.TokenType), toNull(account.SessionState), toNull(account.ExpiresAt), details}, nil
}

// LinkAccount stores an account of an existing user. AuthorizationDetails that
// are not JSON are refused. [ACCT-06] [ACCT-08] [ACCT-16] [CONC-04]
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	values, err := accountValues(account)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	linked, err := one(ctx, a, insertAccount, readAccount, values...)
	if err != nil {
		return nil, ownerFailed(ctx, op, err)
	}
	return linked, nil
}

// UnlinkAccount deletes the account and returns it, or nil.
// [ACCT-07] [ACCT-10] to [ACCT-13] [CONC-17]
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	account, err := one(ctx, a, `
		DELETE FROM "account" WHERE {a.provider} = ? AND {a.providerAccountId} = ?
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
		WHERE {a.provider} = ? AND {a.providerAccountId} = ?`, readAccount, provider, providerAccountID)
	if err != nil {
		return nil, failed(ctx, "get account", err)
	}
	return account, nil
}

// ListAccountsByUserID returns the user's accounts in no particular order. For an
// unknown user the slice is empty and not nil. [ALIST-01] to [ALIST-03]
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	list, err := all(ctx, a, `
		SELECT `+accountColumns+` FROM "account" WHERE {a.userId} = ?`, readAccount, userID)
	if err != nil {
		return nil, failed(ctx, "list accounts", err)
	}
	return list, nil
}

// UpdateAccount changes the fields that the update sets, in one statement.
// Concurrent updates of other fields survive. [ALIST-04] to [ALIST-07]
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	const op = "update account"
	var to adapter.Account
	update.Apply(&to)
	details, err := toJSON(to.AuthorizationDetails)
	if err != nil {
		return nil, failed(ctx, op, fmt.Errorf("authorization details: %w", err))
	}
	var set assignments
	set.add(update.AccessToken.IsSet(), "access_token", toNull(to.AccessToken))
	set.add(update.RefreshToken.IsSet(), "refresh_token", toNull(to.RefreshToken))
	set.add(update.IDToken.IsSet(), "id_token", toNull(to.IDToken))
	set.add(update.Scope.IsSet(), "scope", toNull(to.Scope))
	set.add(update.TokenType.IsSet(), "token_type", toNull(to.TokenType))
	set.add(update.SessionState.IsSet(), "session_state", toNull(to.SessionState))
	set.add(update.ExpiresAt.IsSet(), "expires_at", toNull(to.ExpiresAt))
	set.add(update.AuthorizationDetails.IsSet(), "authorization_details", details)
	updated, err := one(ctx, a, set.update("account", "{a.provider} = ? AND {a.providerAccountId} = ?", accountColumns), readAccount,
		append(set.values, update.Provider, update.ProviderAccountID)...)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case updated == nil:
		return nil, notFound(op, "account")
	}
	return updated, nil
}

func readAccount(rows *sql.Rows) (*adapter.Account, error) {
	var (
		account adapter.Account
		details *string
	)
	err := rows.Scan(&account.UserID, (*string)(&account.Type), &account.Provider, &account.ProviderAccountID,
		orNull[string]{&account.AccessToken}, orNull[string]{&account.RefreshToken}, orNull[string]{&account.IDToken},
		orNull[string]{&account.Scope}, orNull[string]{&account.TokenType}, orNull[string]{&account.SessionState},
		orNull[int64]{&account.ExpiresAt}, orNull[string]{&details})
	if err != nil {
		return nil, err
	}
	if account.AuthorizationDetails, err = fromJSON(details); err != nil {
		return nil, corrupt("authorization_details", err)
	}
	return &account, nil
}
