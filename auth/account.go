package auth

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Account connects a user with an identity at a provider. See docs/protocol.md,
// "Records". LogValue leaves its tokens out.
type Account struct {
	// Provider is the ID of the provider.
	Provider string
	Type     ProviderType
	// ProviderAccountID is the person's ID at the provider: the ID in the result
	// of OAuth.Profile, the e-mail address, or the ID that Credentials.Authorize
	// returned.
	ProviderAccountID string
	// UserID is the ID of the user who owns the account. It is empty while the
	// account has no owner, as in Callbacks.SignIn before the user is created, and
	// in Callbacks.Link.
	UserID string
	// TokenSet is zero unless Type is TypeOAuth or TypeOIDC.
	TokenSet
}

// ownedBy is the same account with an owner.
func (a *Account) ownedBy(u *User) *Account {
	c := *a
	c.UserID = u.ID
	return &c
}

// LogValue keeps the tokens out of logs.
func (a Account) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", a.Provider), slog.String("type", string(a.Type)), slog.String("userId", a.UserID))
}

// record returns the account as the adapter stores it, with the fields of the
// token answer that adapter.Account has.
func (a *Account) record() adapter.Account {
	r := adapter.Account{
		UserID: a.UserID, Type: adapter.AccountType(a.Type), Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: textOrNil(a.AccessToken), RefreshToken: textOrNil(a.RefreshToken), IDToken: textOrNil(a.IDToken),
		Scope: textOrNil(a.Scope), TokenType: textOrNil(a.TokenType), SessionState: textOrNil(a.SessionState),
		AuthorizationDetails: a.AuthorizationDetails,
	}
	if !a.ExpiresAt.IsZero() {
		r.ExpiresAt = new(a.ExpiresAt.Unix())
	}
	return r
}

// TokenSet is the answer of a provider's token endpoint. See docs/protocol.md,
// "Records". Its tokens are secrets; a TokenSet is logged as [redacted].
type TokenSet struct {
	AccessToken  string
	RefreshToken string
	IDToken      string
	Scope        string
	// TokenType is lower case.
	TokenType    string
	SessionState string
	// ExpiresIn is the lifetime that the provider stated, or zero if it stated
	// none.
	ExpiresIn time.Duration
	// ExpiresAt is the instant at which AccessToken expires, to the second. It is
	// the zero time if the instant is not known.
	ExpiresAt time.Time
	// AuthorizationDetails is a JSON array of objects (RFC 9396), or nil.
	AuthorizationDetails json.RawMessage
	// Extra holds the members of the answer that have no field.
	Extra map[string]any
}

// LogValue keeps the tokens out of logs.
func (TokenSet) LogValue() slog.Value { return slog.StringValue(redacted) }

// textOf returns the text, or "" for nil.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// textOrNil returns nil for the empty text.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// tokenClaims returns the tokens that a store keeps, as claims of a sealed
// cookie. tokensFromClaims reads them again.
func tokenClaims(t *TokenSet) Claims {
	c := Claims{}
	setTexts(c, map[string]string{
		"access_token": t.AccessToken, "refresh_token": t.RefreshToken, "id_token": t.IDToken, "scope": t.Scope, "token_type": t.TokenType,
		"session_state": t.SessionState, "authorization_details": string(t.AuthorizationDetails),
	})
	if !t.ExpiresAt.IsZero() {
		c["expires_at"] = t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return c
}

// setTexts sets the claims whose text is not empty.
func setTexts(c Claims, texts map[string]string) {
	for name, text := range texts {
		if text != "" {
			c[name] = text
		}
	}
}

func tokensFromClaims(c Claims) TokenSet {
	t := TokenSet{
		AccessToken: c.String("access_token"), RefreshToken: c.String("refresh_token"), IDToken: c.String("id_token"), Scope: c.String("scope"),
		TokenType: c.String("token_type"), SessionState: c.String("session_state"),
	}
	if details := c.String("authorization_details"); details != "" {
		t.AuthorizationDetails = json.RawMessage(details)
	}
	if at, err := time.Parse(time.RFC3339, c.String("expires_at")); err == nil {
		t.ExpiresAt = at
	}
	return t
}
