package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func accountFilter(key adapter.AccountKey) bson.D {
	return bson.D{{Key: "provider", Value: key.Provider}, {Key: "providerAccountId", Value: key.ProviderAccountID}}
}

// accountTexts are the optional texts of an account with their fields.
func accountTexts(a *adapter.Account) []struct {
	field string
	value **string
} {
	return []struct {
		field string
		value **string
	}{
		{"access_token", &a.AccessToken},
		{"refresh_token", &a.RefreshToken},
		{"id_token", &a.IDToken},
		{"scope", &a.Scope},
		{"token_type", &a.TokenType},
		{"session_state", &a.SessionState},
	}
}

func decodeAccount(c *child) (*adapter.Account, error) {
	d := &document{raw: c.raw}
	a := &adapter.Account{
		UserID:            c.owner.ID,
		Type:              adapter.AccountType(d.text("type")),
		Provider:          d.text("provider"),
		ProviderAccountID: d.text("providerAccountId"),
		ExpiresAt:         d.integer("expires_at"),
	}
	for _, t := range accountTexts(a) {
		*t.value = d.optional(t.field)
	}
	if v, ok := d.lookup("authorization_details"); ok {
		details, err := detailsToJSON(v)
		if err != nil {
			return nil, err
		}
		a.AuthorizationDetails = details
	}
	if d.err != nil {
		return nil, d.err
	}
	return a, nil
}

// LinkAccount implements adapter.Accounts.
func (a *Adapter) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	linked, err := a.linkAccount(ctx, account)
	return linked, wrap("link account", err)
}

func (a *Adapter) linkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	if err := required("userId", account.UserID, "provider", account.Provider, "providerAccountId", account.ProviderAccountID); err != nil {
		return nil, err
	}
	if err := storable(account.Provider, account.ProviderAccountID, string(account.Type)); err != nil {
		return nil, err
	}
	doc := fields{
		{Key: "type", Value: string(account.Type)},
		{Key: "provider", Value: account.Provider},
		{Key: "providerAccountId", Value: account.ProviderAccountID},
	}
	for _, t := range accountTexts(&account) {
		if *t.value == nil {
			continue
		}
		if err := storable(**t.value); err != nil {
			return nil, err
		}
		doc.add(t.field, **t.value)
		*t.value = clone(*t.value)
	}
	if account.ExpiresAt != nil {
		doc.add("expires_at", *account.ExpiresAt)
		account.ExpiresAt = new(*account.ExpiresAt)
	}
	if account.AuthorizationDetails != nil {
		details, err := detailsToBSON(account.AuthorizationDetails)
		if err != nil {
			return nil, err
		}
		doc.add("authorization_details", details)
		account.AuthorizationDetails = append([]byte(nil), account.AuthorizationDetails...)
	}
	if err := a.createChild(ctx, a.accounts, account.UserID, accountFilter(account.Key()), doc); err != nil {
		return nil, err
	}
	return &account, nil
}

func (a *Adapter) account(ctx context.Context, key adapter.AccountKey) (*child, *adapter.Account, error) {
	if !lookup(key.Provider, key.ProviderAccountID) {
		return nil, nil, ctx.Err()
	}
	c, err := a.child(ctx, a.accounts, accountFilter(key))
	if err != nil || c == nil {
		return nil, nil, err
	}
	account, err := decodeAccount(c)
	return c, account, err
}

// GetAccount implements adapter.Accounts.
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	_, account, err := a.account(ctx, adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID})
	return account, wrap("get account", err)
}

// UnlinkAccount implements adapter.Accounts.
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	c, account, err := a.account(ctx, key)
	if err != nil || account == nil {
		return nil, wrap("unlink account", err)
	}
	deleted, err := a.accounts.delete(ctx, c.id)
	if err != nil || !deleted {
		return nil, wrap("unlink account", err)
	}
	return account, nil
}
