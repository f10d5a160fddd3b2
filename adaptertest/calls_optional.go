package adaptertest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The calls of the optional interfaces, for clauses, races and faults.

func (s signUp) call() call {
	return newCall("CreateUserWithAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return optional[adapter.SignUps](a).CreateUserWithAccount(ctx, s.user, s.account, &s.authenticator)
	}, s.user, s.account, s.authenticator)
}

func listAccounts(userID string) call {
	return newCall("ListAccountsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Account, error) {
		return optional[adapter.AccountLists](a).ListAccountsByUserID(ctx, userID)
	}, userID)
}

func updateAccount(u adapter.AccountUpdate) call {
	return newCall("UpdateAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return optional[adapter.AccountLists](a).UpdateAccount(ctx, u)
	}, u)
}

func listSessions(userID string) call {
	return newCall("ListSessionsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Session, error) {
		return optional[adapter.SessionLists](a).ListSessionsByUserID(ctx, userID)
	}, userID)
}

func deleteSessions(userID, except string) call {
	return newCall("DeleteSessionsByUserID", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return optional[adapter.SessionLists](a).DeleteSessionsByUserID(ctx, userID, except)
	}, userID, except)
}

func deleteAuthenticator(userID, credentialID string, keepOne bool) call {
	return newCall("DeleteAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).DeleteAuthenticator(ctx, userID, credentialID, keepOne)
	}, userID, credentialID, keepOne)
}

func renameAuthenticator(userID, credentialID, name string) call {
	return newCall("RenameAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).RenameAuthenticator(ctx, userID, credentialID, name)
	}, userID, credentialID, name)
}

func touchAuthenticator(credentialID string, from, to int64, used time.Time) call {
	return newCall("TouchAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).TouchAuthenticator(ctx, credentialID, from, to, used)
	}, credentialID, from, to, used)
}

func deleteTokens(identifier string) call {
	return newCall("DeleteVerificationTokens", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return optional[adapter.TokenEdits](a).DeleteVerificationTokens(ctx, identifier)
	}, identifier)
}

// accountFields are the fields of an account that an update can change.
var accountFields = []string{"access token", "refresh token", "id token", "scope", "token type", "session state", "expires at", "authorization details"}

// accountUpdate returns an update of the given fields to new values.
func (c *clauseContext) accountUpdate(key adapter.AccountKey, fields []string) adapter.AccountUpdate {
	u := adapter.AccountUpdate{Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	for _, f := range fields {
		switch f {
		case "access token":
			u.AccessToken = adapter.To(new(c.secret("access-ŷ")))
		case "refresh token":
			u.RefreshToken = adapter.To(new(c.secret("refresh-ŷ")))
		case "id token":
			u.IDToken = adapter.To(new(c.secret("id-ŷ")))
		case "scope":
			u.Scope = adapter.To(new("openid " + c.unique("skopé")))
		case "token type":
			u.TokenType = adapter.To(new("bearer-" + c.unique("ŧ")))
		case "session state":
			u.SessionState = adapter.To(new(c.unique("státe")))
		case "expires at":
			u.ExpiresAt = adapter.To(new(c.instant(2*time.Hour).Unix() + c.next())) // no two are equal
		case "authorization details":
			u.AuthorizationDetails = adapter.To(json.RawMessage(fmt.Sprintf(`[{"type":%q,"n":[1,2.5,null]}]`, c.unique("détail"))))
		}
	}
	return u
}

// clearing returns an update of the field to null.
func clearing(key adapter.AccountKey, field string) adapter.AccountUpdate {
	u := adapter.AccountUpdate{Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	null := adapter.To[*string](nil)
	switch field {
	case "access token":
		u.AccessToken = null
	case "refresh token":
		u.RefreshToken = null
	case "id token":
		u.IDToken = null
	case "scope":
		u.Scope = null
	case "token type":
		u.TokenType = null
	case "session state":
		u.SessionState = null
	case "expires at":
		u.ExpiresAt = adapter.To[*int64](nil)
	case "authorization details":
		u.AuthorizationDetails = adapter.To[json.RawMessage](nil)
	}
	return u
}

// of makes a call of an optional interface that must succeed.
func of[T any](c *clauseContext, k call) T {
	got, err := k.do(c.ctx, c.a)
	if err != nil {
		c.Fatalf("%s: %v", k.method, err)
	}
	result, ok := got.(T)
	if !ok {
		c.Fatalf("%s: returned %T, want %T", k.method, got, result)
	}
	return result
}
