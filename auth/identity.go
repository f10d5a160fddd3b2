package auth

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// User is a person, as a provider describes them or as the adapter keeps them.
// Specification sections 2.2 and 2.5.
type User struct {
	// ID is the adapter's ID for a stored user, and the provider's otherwise.
	ID string
	// Name is nil when not known.
	Name *string
	// Email is empty when not known.
	Email string
	// EmailVerified is the instant of the first sign-in by e-mail, or nil. Only
	// stored users have it.
	EmailVerified *time.Time
	// Image is the URL of a picture, or nil.
	Image *string
	// Extra holds further members, for callbacks and for the session's JSON.
	// They are never stored by the adapter. A member that is named like one of
	// the fields above counts only while that field is empty.
	Extra map[string]any
}

// MarshalJSON writes the fields that are set, by their names in Auth.js (id,
// name, email, emailVerified, image), and the members of Extra.
func (u User) MarshalJSON() ([]byte, error) {
	var m members
	if u.ID != "" {
		m.text("id", u.ID)
	}
	if u.Name != nil {
		m.text("name", *u.Name)
	}
	if u.Email != "" {
		m.text("email", u.Email)
	}
	if u.EmailVerified != nil {
		m.time("emailVerified", *u.EmailVerified)
	}
	if u.Image != nil {
		m.text("image", *u.Image)
	}
	m.extra(u.Extra, func(name string) bool {
		return name == "id" && u.ID != "" || name == "name" && u.Name != nil || name == "email" && u.Email != "" ||
			name == "emailVerified" && u.EmailVerified != nil || name == "image" && u.Image != nil
	})
	return m.end()
}

func userFromRecord(r *adapter.User) *User {
	return &User{ID: r.ID, Name: r.Name, Email: r.Email, EmailVerified: r.EmailVerified, Image: r.Image}
}

func (u *User) record() adapter.User {
	return adapter.User{ID: u.ID, Name: u.Name, Email: u.Email, EmailVerified: u.EmailVerified, Image: u.Image}
}

// Profile is what a provider says about a person: the claims of an ID token or
// the members of a userinfo answer, as encoding/json decodes them (numbers as
// json.Number). Specification section 2.3.
type Profile map[string]any

// String returns the text or the number at the path, or "" if there is none:
// p.String("address", "country").
func (p Profile) String(path ...string) string {
	var v any = map[string]any(p)
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[name]
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// LogValue keeps personal data out of logs: it is the number of claims.
func (p Profile) LogValue() slog.Value { return slog.IntValue(len(p)) }

// ProviderType is one of the five kinds of provider.
type ProviderType string

// The provider types. Specification section 2.11.
const (
	TypeOAuth       ProviderType = "oauth"
	TypeOIDC        ProviderType = "oidc"
	TypeEmail       ProviderType = "email"
	TypeCredentials ProviderType = "credentials"
	TypeWebAuthn    ProviderType = "webauthn"
)

// TokenSet is the answer of a provider's token endpoint. Specification section
// 2.4. Its tokens are secrets; a TokenSet logs as [redacted].
type TokenSet struct {
	AccessToken  string
	RefreshToken string
	IDToken      string
	Scope        string
	// TokenType is lower case.
	TokenType    string
	SessionState string
	// ExpiresIn is the lifetime that the provider stated, zero if it did not.
	ExpiresIn time.Duration
	// ExpiresAt is the instant at which AccessToken expires, to the second; the
	// zero time if not known.
	ExpiresAt time.Time
	// AuthorizationDetails is a JSON array of objects (RFC 9396), or nil.
	AuthorizationDetails json.RawMessage
	// Extra holds the members of the answer that have no field.
	Extra map[string]any
}

// LogValue keeps the tokens out of logs.
func (TokenSet) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// Account connects a user with an identity at a provider. Specification
// section 2.4. It logs without its tokens.
type Account struct {
	// Provider is the ID of the provider.
	Provider string
	Type     ProviderType
	// ProviderAccountID is the ID that the provider knows the person by: the ID
	// in the result of OAuth.Profile, the e-mail address, or the ID that
	// Credentials.Authorize returned.
	ProviderAccountID string
	// UserID is the owner's ID, empty until there is one.
	UserID string
	// TokenSet is zero unless Type is TypeOAuth or TypeOIDC.
	TokenSet
}

// LogValue keeps the tokens out of logs.
func (a Account) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", a.Provider), slog.String("type", string(a.Type)), slog.String("userId", a.UserID))
}

// record returns the account as the adapter keeps it: the fields of the token
// answer that it has columns for.
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

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
