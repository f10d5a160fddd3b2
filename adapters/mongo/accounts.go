package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func accountFilter(key adapter.AccountKey) bson.D {
	return bson.D{{Key: "provider", Value: key.Provider}, {Key: "providerAccountId", Value: key.ProviderAccountID}}
}

// accountTexts returns the optional texts of an account, each with its field
// name.
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

func decodeAccount(raw bson.Raw) (*adapter.Account, error) {
	d := &document{raw: raw}
	a := &adapter.Account{
		UserID:            d.id("userId").Hex(),
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
	doc, stored, err := a.forms.newAccount(account)
	if err != nil {
		return nil, err
	}
	if err := a.create(ctx, a.accounts, account.UserID, accountFilter(account.Key()), doc); err != nil {
		return nil, err
	}
	return stored, nil
}

// newAccount returns the document of a new account without its _id and owner,
// and the record as stored.
func (f forms) newAccount(account adapter.Account) (fields, *adapter.Account, error) {
	if err := storable(account.Provider, account.ProviderAccountID, string(account.Type)); err != nil {
		return nil, nil, err
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
			return nil, nil, err
		}
		doc.add(t.field, **t.value)
		*t.value = clone(*t.value)
	}
	if account.ExpiresAt != nil {
		doc.add("expires_at", f.number(*account.ExpiresAt))
		account.ExpiresAt = new(*account.ExpiresAt)
	}
	if account.AuthorizationDetails != nil {
		details, err := detailsToBSON(account.AuthorizationDetails)
		if err != nil {
			return nil, nil, err
		}
		doc.add("authorization_details", details)
		account.AuthorizationDetails = append([]byte(nil), account.AuthorizationDetails...)
	}
	return doc, &account, nil
}

// endsWithField holds the _id of the authenticator that is deleted together
// with the account. DeleteAuthenticator sets it; it stays in the document if
// that call was interrupted.
const endsWithField = "gatehouseEndsWith"

// over reports whether an account has ended because its authenticator was
// deleted.
func (a *Adapter) over(ctx context.Context, account bson.Raw) (bool, error) {
	d := &document{raw: account}
	if _, marked := d.lookup(endsWithField); !marked {
		return false, nil
	}
	there, err := a.authenticators.find(ctx, byID(account.Lookup(endsWithField)))
	return there == nil, err
}

// findAccount returns the account and its owner, or nil if either is absent.
func (a *Adapter) findAccount(ctx context.Context, key adapter.AccountKey) (*owned, error) {
	found, err := a.findOwned(ctx, a.accounts, accountFilter(key))
	if err != nil || found == nil {
		return nil, err
	}
	if over, err := a.over(ctx, found.raw); err != nil || over {
		return nil, err
	}
	return found, nil
}

// GetAccount implements adapter.Accounts.
func (a *Adapter) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	if !lookup(provider, providerAccountID) {
		return nil, wrap("get account", a.site.absent(ctx))
	}
	found, err := a.findAccount(ctx, adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID})
	if err != nil || found == nil {
		return nil, wrap("get account", err)
	}
	account, err := decodeAccount(found.raw)
	return account, wrap("get account", err)
}

// UnlinkAccount implements adapter.Accounts. If the account can't be read, it
// is deleted and the call returns an error.
func (a *Adapter) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	if !lookup(key.Provider, key.ProviderAccountID) {
		return nil, wrap("unlink account", a.site.absent(ctx))
	}
	raw, err := a.accounts.take(ctx, accountFilter(key))
	if err != nil || raw == nil {
		return nil, wrap("unlink account", err)
	}
	if over, err := a.over(ctx, raw); err != nil || over {
		return nil, wrap("unlink account", err)
	}
	account, err := decodeAccount(raw)
	return account, wrap("unlink account", err)
}

// ListAccountsByUserID implements adapter.AccountLists.
func (a *Adapter) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	all, err := a.listAccounts(ctx, userID)
	return all, wrap("list accounts", err)
}

func (a *Adapter) listAccounts(ctx context.Context, userID string) ([]adapter.Account, error) {
	found, err := a.listOwned(ctx, a.accounts, userID)
	if err != nil {
		return nil, err
	}
	all := []adapter.Account{}
	for _, raw := range found {
		over, err := a.over(ctx, raw)
		if err != nil {
			return nil, err
		}
		if over {
			continue
		}
		account, err := decodeAccount(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, *account)
	}
	return all, nil
}

// UpdateAccount implements adapter.AccountLists.
func (a *Adapter) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	account, err := a.updateAccount(ctx, update)
	return account, wrap("update account", err)
}

func (a *Adapter) updateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	if !lookup(update.Provider, update.ProviderAccountID) {
		return nil, firstOf(a.site.absent(ctx), errNoAccount)
	}
	var c changes
	c.text("access_token", update.AccessToken)
	c.text("refresh_token", update.RefreshToken)
	c.text("id_token", update.IDToken)
	c.text("scope", update.Scope)
	c.text("token_type", update.TokenType)
	c.text("session_state", update.SessionState)
	if at, ok := update.ExpiresAt.Get(); ok && at == nil {
		c.remove("expires_at")
	} else if ok {
		c.set("expires_at", a.forms.number(*at), nil)
	}
	if details, ok := update.AuthorizationDetails.Get(); ok && details == nil {
		c.remove("authorization_details")
	} else if ok {
		value, err := detailsToBSON(details)
		c.set("authorization_details", value, err)
	}
	raw, err := c.apply(ctx, a.accounts, accountFilter(update.Key()))
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errNoAccount
	}
	if over, err := a.over(ctx, raw); err != nil || over {
		return nil, firstOf(err, errNoAccount)
	}
	return decodeAccount(raw)
}
