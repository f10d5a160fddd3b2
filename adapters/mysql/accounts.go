package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const accountColumns = `a.userId, a.type, a.provider, a.providerAccountId, a.access_token, a.refresh_token, a.id_token,
	a.scope, a.token_type, a.session_state, a.expires_at, a.authorization_details`

// accountRecord returns the columns of a new account.
func accountRecord(account adapter.Account) *record {
	r := recordOf("account").set("userId", account.UserID).set("type", string(account.Type)).
		set("provider", account.Provider).set("providerAccountId", account.ProviderAccountID).
		set("access_token", toNull(account.AccessToken)).set("refresh_token", toNull(account.RefreshToken)).
		set("id_token", toNull(account.IDToken)).set("scope", toNull(account.Scope)).
		set("token_type", toNull(account.TokenType)).set("session_state", toNull(account.SessionState)).
		set("expires_at", toNull(account.ExpiresAt))
	details, err := toJSON(account.AuthorizationDetails)
	if err != nil {
		err = fmt.Errorf("authorization details: %w", err)
	}
	switch {
	case account.Provider == "":
		err = errors.Join(err, errors.New("provider is empty"))
	case account.ProviderAccountID == "":
		err = errors.Join(err, errors.New("provider account id is empty"))
	}
	r.err = errors.Join(r.err, err)
	return r.set("authorization_details", details)
}

// storedAccount returns a copy of the account as the table has it.
func storedAccount(a adapter.Account) *adapter.Account {
	a.AccessToken, a.RefreshToken, a.IDToken, a.Scope = clone(a.AccessToken), clone(a.RefreshToken), clone(a.IDToken),
		clone(a.Scope)
	a.TokenType, a.SessionState, a.ExpiresAt = clone(a.TokenType), clone(a.SessionState), clone(a.ExpiresAt)
	if len(a.AuthorizationDetails) == 0 {
		a.AuthorizationDetails = nil
	}
	a.AuthorizationDetails = append(a.AuthorizationDetails[:0:0], a.AuthorizationDetails...)
	return &a
}

// LinkAccount stores an account of an existing user. AuthorizationDetails that are not
// JSON are refused. [ACCT-06] [ACCT-08] [ACCT-16] [CONC-04]
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	r := accountRecord(account)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if err := a.insert(ctx, op, r); err != nil {
		return nil, err
	}
	return storedAccount(account), nil
}

const accountByKey = "SELECT " + accountColumns + " FROM `account` a WHERE a.provider = ? AND a.providerAccountId = ?"

// UnlinkAccount deletes the account and returns it, or nil.
// [ACCT-07] [ACCT-10] to [ACCT-13] [CONC-17]
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	const op = "unlink account"
	if !isKey(providerLength, key.Provider, key.ProviderAccountID) {
		return nil, absent(ctx, op)
	}
	return remove(ctx, a, op, accountByKey, "DELETE a FROM `account` a WHERE a.provider = ? AND a.providerAccountId = ?",
		readAccount, key.Provider, key.ProviderAccountID)
}

// remove deletes the record that a query finds, and returns it, or nil. The row is locked
// between the two statements.
func remove[T any](ctx context.Context, a *Adapter, op, find, deletion string, read func(*sql.Rows) (*T, error),
	args ...any) (record *T, err error) {
	err = a.write(ctx, op, func(o on) (err error) {
		if record, err = one(ctx, o, find+" FOR UPDATE", read, args...); err != nil || record == nil {
			return err
		}
		_, err = o.exec(ctx, deletion, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// GetAccount returns the account, or nil. [ACCT-02] [ACCT-03]
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	if !isKey(providerLength, provider, providerAccountID) {
		return nil, absent(ctx, "get account")
	}
	return get(ctx, a, "get account", accountByKey, readAccount, provider, providerAccountID)
}

// ListAccountsByUserID returns the user's accounts in no particular order. For an unknown
// user the slice is empty and not nil. [ALIST-01] to [ALIST-03]
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	if !isKey(idLength, userID) {
		return none[adapter.Account](ctx, "list accounts")
	}
	return list(ctx, a, "list accounts", "SELECT "+accountColumns+" FROM `account` a WHERE a.userId = ?", readAccount,
		userID)
}

// none is the list of what can be no user.
func none[T any](ctx context.Context, op string) ([]T, error) {
	if err := absent(ctx, op); err != nil {
		return nil, err
	}
	return []T{}, nil
}

// UpdateAccount changes the fields that the update sets, on a locked row. Concurrent
// updates of other fields survive. [ALIST-04] to [ALIST-07]
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	const op = "update account"
	if !isKey(providerLength, update.Provider, update.ProviderAccountID) {
		return nil, notFound(op, "account")
	}
	var to adapter.Account
	update.Apply(&to)
	details, err := toJSON(to.AuthorizationDetails)
	if err != nil {
		return nil, failed(ctx, op, fmt.Errorf("authorization details: %w", err))
	}
	r := recordOf("account").change(update.AccessToken.IsSet(), "access_token", toNull(to.AccessToken)).
		change(update.RefreshToken.IsSet(), "refresh_token", toNull(to.RefreshToken)).
		change(update.IDToken.IsSet(), "id_token", toNull(to.IDToken)).
		change(update.Scope.IsSet(), "scope", toNull(to.Scope)).
		change(update.TokenType.IsSet(), "token_type", toNull(to.TokenType)).
		change(update.SessionState.IsSet(), "session_state", toNull(to.SessionState)).
		change(update.ExpiresAt.IsSet(), "expires_at", toNull(to.ExpiresAt)).
		change(update.AuthorizationDetails.IsSet(), "authorization_details", details)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	var updated *adapter.Account
	err = a.write(ctx, op, func(o on) (err error) {
		updated, err = one(ctx, o, accountByKey+" FOR UPDATE", readAccount, update.Provider, update.ProviderAccountID)
		if err != nil || updated == nil || len(r.columns) == 0 {
			return err
		}
		update.Apply(updated)
		return o.update(ctx, r, "a.provider = ? AND a.providerAccountId = ?", update.Provider, update.ProviderAccountID)
	})
	switch {
	case err != nil:
		return nil, err
	case updated == nil:
		return nil, notFound(op, "account")
	}
	return storedAccount(*updated), nil
}

func readAccount(rows *sql.Rows) (*adapter.Account, error) {
	var (
		account adapter.Account
		details *string
	)
	err := rows.Scan(&account.UserID, (*string)(&account.Type), &account.Provider, &account.ProviderAccountID,
		&account.AccessToken,
		&account.RefreshToken, &account.IDToken, &account.Scope, &account.TokenType, &account.SessionState,
		&account.ExpiresAt, &details)
	if err != nil {
		return nil, err
	}
	if account.AuthorizationDetails, err = fromJSON(details); err != nil {
		return nil, corrupt("authorization_details", err)
	}
	return &account, nil
}
