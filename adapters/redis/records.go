package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Records are kept as JSON. Numbers are texts in it, since a number of Lua has
// 53 bits. The structs userFields and accountFields have the fields of package
// adapter, and the names under which they are stored.

type userFields struct {
	ID            string     `json:"-"`
	Name          *string    `json:"name,omitempty"`
	Email         string     `json:"email,omitempty"`
	EmailVerified *time.Time `json:"emailVerified,omitempty"`
	Image         *string    `json:"image,omitempty"`
}

type userRecord struct {
	userFields
	// Inc is the incarnation: random, and never the same again under one ID. A
	// session is its user's only if it names the same one.
	Inc string `json:"inc"`
	// Accounts and Authenticators are the names of what the user has.
	Accounts       []string `json:"accounts,omitempty"`
	Authenticators []string `json:"authenticators,omitempty"`
}

type accountFields struct {
	UserID               string              `json:"user"`
	Type                 adapter.AccountType `json:"type"`
	Provider             string              `json:"-"`
	ProviderAccountID    string              `json:"-"`
	AccessToken          *string             `json:"access_token,omitempty"`
	RefreshToken         *string             `json:"refresh_token,omitempty"`
	IDToken              *string             `json:"id_token,omitempty"`
	Scope                *string             `json:"scope,omitempty"`
	TokenType            *string             `json:"token_type,omitempty"`
	SessionState         *string             `json:"session_state,omitempty"`
	ExpiresAt            *int64              `json:"expires_at,string,omitempty"`
	AuthorizationDetails json.RawMessage     `json:"-"`
}

type accountRecord struct {
	accountFields
	Details *string `json:"authorization_details,omitempty"` // JSON in a text, which Lua does not touch
}

type authenticatorRecord struct {
	CredentialID         string     `json:"-"`
	UserID               string     `json:"user"`
	ProviderAccountID    string     `json:"providerAccountId"`
	CredentialPublicKey  string     `json:"credentialPublicKey"`
	Counter              int64      `json:"counter,string"`
	CredentialBackedUp   bool       `json:"credentialBackedUp"`
	CredentialDeviceType string     `json:"credentialDeviceType"`
	Transports           *string    `json:"transports,omitempty"`
	Name                 *string    `json:"name,omitempty"`
	Created              *time.Time `json:"created,omitempty"`
	LastUsed             *time.Time `json:"lastUsed,omitempty"`
}

// sessionRecord is a session. Expires is in microseconds since the Unix epoch, so
// that scripts can compare it.
type sessionRecord struct {
	User    string `json:"user"`
	Inc     string `json:"inc"`
	Expires *int64 `json:"expires,string"`
}

// encode returns the JSON of a record. JSON holds UTF-8 only, so other texts are
// refused [DATA-13]. The record gets copies of the fields that may be nil.
func encode(record any, texts []*string, fields ...**string) (string, error) {
	for _, f := range fields {
		if *f != nil {
			*f = new(**f)
			texts = append(texts, *f)
		}
	}
	for _, t := range texts {
		if t != nil && !utf8.ValidString(*t) {
			return "", errNotUTF8
		}
	}
	b, err := json.Marshal(record)
	return string(b), err
}

var errNotUTF8 = errors.New("a text is not UTF-8")

// record is a pointer to a stored record.
type record[R any] interface {
	*R
	isWhole() bool
}

// decode reads a record. A record that lacks a field which every record of its
// kind has can't be read. The error holds nothing of the record.
func decode[R any, P record[R]](value string) (P, error) {
	r := P(new(R))
	if err := json.Unmarshal([]byte(value), r); err != nil || !r.isWhole() {
		return nil, fmt.Errorf("a stored %T can't be read", *r)
	}
	return r, nil
}

func (r *userRecord) isWhole() bool          { return r.Inc != "" }
func (r *authenticatorRecord) isWhole() bool { return r.UserID != "" }
func (r *sessionRecord) isWhole() bool       { return r.User != "" && r.Inc != "" && r.Expires != nil }
func (r *accountRecord) isWhole() bool       { return r.UserID != "" }

// as returns a function that decodes a record and converts it.
func as[T, R any, P record[R]](convert func(P) *T) func(value string) (*T, error) {
	return func(value string) (*T, error) {
		r, err := decode[R, P](value)
		if err != nil {
			return nil, err
		}
		return convert(r), nil
	}
}

func userAs(id string) func(value string) (*adapter.User, error) {
	return as(func(r *userRecord) *adapter.User { return r.user(id) })
}

func (r *userRecord) user(id string) *adapter.User {
	r.ID = id
	return (*adapter.User)(&r.userFields)
}

// encodeAccount returns the JSON of an account. The account then shares nothing
// with what the caller passed.
func encodeAccount(a *adapter.Account) (string, error) {
	if err := required("provider", a.Provider, "providerAccountId", a.ProviderAccountID); err != nil {
		return "", err
	}
	r := accountRecord{accountFields: accountFields(*a)}
	if a.ExpiresAt != nil {
		r.ExpiresAt = new(*a.ExpiresAt)
	}
	if a.AuthorizationDetails != nil {
		if !json.Valid(a.AuthorizationDetails) {
			return "", errNotJSON
		}
		r.Details, r.AuthorizationDetails = new(string(a.AuthorizationDetails)), bytes.Clone(a.AuthorizationDetails)
	}
	value, err := encode(&r, []*string{&r.Provider, &r.ProviderAccountID, (*string)(&r.Type), r.Details},
		&r.AccessToken, &r.RefreshToken, &r.IDToken, &r.Scope, &r.TokenType, &r.SessionState)
	*a = adapter.Account(r.accountFields)
	return value, err
}

var errNotJSON = errors.New("authorization_details is not JSON")

func accountAs(key adapter.AccountKey) func(value string) (*adapter.Account, error) {
	return as(func(r *accountRecord) *adapter.Account {
		r.Provider, r.ProviderAccountID = key.Provider, key.ProviderAccountID
		if r.Details != nil {
			r.AuthorizationDetails = json.RawMessage(*r.Details)
		}
		return (*adapter.Account)(&r.accountFields)
	})
}

// encodeAuthenticator returns the JSON of an authenticator. The authenticator then
// shares nothing with what the caller passed.
func encodeAuthenticator(w *adapter.Authenticator) (string, error) {
	if err := required("credentialID", w.CredentialID); err != nil {
		return "", err
	}
	r := authenticatorRecord(*w)
	r.Created, r.LastUsed = kept(r.Created), kept(r.LastUsed)
	value, err := encode(&r, []*string{&r.CredentialID, &r.ProviderAccountID, &r.CredentialPublicKey, &r.CredentialDeviceType}, &r.Transports, &r.Name)
	*w = adapter.Authenticator(r)
	return value, err
}

func authenticatorAs(credentialID string) func(value string) (*adapter.Authenticator, error) {
	return as(func(r *authenticatorRecord) *adapter.Authenticator {
		r.CredentialID = credentialID
		return (*adapter.Authenticator)(r)
	})
}

func sessionAs(token string) func(value string) (*adapter.Session, error) {
	return as(func(r *sessionRecord) *adapter.Session { return r.session(token) })
}

func (r *sessionRecord) session(token string) *adapter.Session {
	return &adapter.Session{SessionToken: token, UserID: r.User, Expires: time.UnixMicro(*r.Expires).UTC()}
}

// kept returns an instant as it is stored: in UTC, to the microsecond.
func kept(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC().Truncate(time.Microsecond))
}

// instant returns the text of an instant in a record.
func instant(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(kept(t).Format(time.RFC3339Nano))
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// A patch is the fields of a record that change: a name, and "=" and the value,
// or nothing to clear the field.
type patch []string

// set adds a field to the patch if it changes; text returns what is stored for a
// value, nil for none.
func set[V any](p *patch, field string, to adapter.Change[V], text func(V) *string) {
	if v, changes := to.Get(); changes {
		value := ""
		if t := text(v); t != nil {
			value = "=" + *t
		}
		*p = append(*p, field, value)
	}
}

func itself(s *string) *string { return s }

// filled returns nil for the empty text.
func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// update changes a record under a key. The conditions are the first arguments of
// the update script. An absent record is an error.
func (a *Adapter) update(ctx context.Context, key string, p patch, conditions ...any) (answer, error) {
	for _, text := range p {
		if !utf8.ValidString(text) {
			return nil, errNotUTF8
		}
		conditions = append(conditions, text)
	}
	r, err := a.run(ctx, "update", []any{key}, conditions...)
	if err == nil && r.word() == "absent" {
		err = fmt.Errorf("the record does not exist: %w", adapter.ErrNotFound)
	}
	return r, err
}
