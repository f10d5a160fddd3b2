package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// keys builds the names of keys. Users, and the records that scripts change
// together with users, are named {prefix}:kind:name: the braces put them all into
// one slot of a cluster. Sessions and verification tokens are named
// prefix:kind:name, and spread over the slots. The prefix is escaped as in the
// query of a URL: it has no colon and no pattern character, so that a pattern
// with one prefix never matches keys of another one.
type keys struct{ prefix string }

func (k keys) shared(name string) string { return "{" + k.prefix + "}:" + name }

func (k keys) user(id string) string               { return k.shared("user:" + id) }
func (k keys) email(address string) string         { return k.shared("email:" + address) }
func (k keys) account(a adapter.AccountKey) string { return k.shared("account:" + accountName(a)) }
func (k keys) authenticator(id string) string      { return k.shared("authenticator:" + id) }
func (k keys) password(userID string) string       { return k.shared("password:" + userID) }
func (k keys) sessions(userID string) string       { return k.shared("sessions:" + userID) }
func (k keys) ended(incarnation string) string     { return k.shared("ended:" + incarnation) }
func (k keys) session(token string) string         { return k.prefix + ":session:" + token }
func (k keys) tokens(identifier string) string     { return k.prefix + ":token:" + identifier }

// accountName escapes the provider, so that the first colon ends it [INPUT-04].
func accountName(k adapter.AccountKey) string {
	return url.QueryEscape(k.Provider) + ":" + k.ProviderAccountID
}

// Records are kept as JSON. Numbers are stored as texts, because a Lua number has
// 53 bits. The structs userFields and accountFields have the fields of package
// adapter, with the names under which they are stored.

type userFields struct {
	ID            string     `json:"-"`
	Name          *string    `json:"name,omitempty"`
	Email         string     `json:"email,omitempty"`
	EmailVerified *time.Time `json:"emailVerified,omitempty"`
	Image         *string    `json:"image,omitempty"`
}

type userRecord struct {
	userFields
	// Inc is the incarnation: it is random, so a later user with the same ID has
	// another one. A session belongs to the user only if it names the same
	// incarnation.
	Inc string `json:"inc"`
	// Accounts and Authenticators are the names of the user's accounts and
	// authenticators.
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
	Details string `json:"authorization_details,omitempty"` // JSON in a text, which Lua does not change
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

// passwordRecord is the password of the user with the incarnation.
type passwordRecord struct {
	Inc   string `json:"inc"`
	Hash  string `json:"hash"`
	State string `json:"state,omitempty"`
}

// sessionRecord is a session. Expires is in microseconds since the Unix epoch, so
// that scripts can compare it.
type sessionRecord struct {
	User    string `json:"user"`
	Inc     string `json:"inc"`
	Expires *int64 `json:"expires,string"`
}

func newUser(id string) *userRecord { return &userRecord{userFields: userFields{ID: id}} }

func newAccount(k adapter.AccountKey) *accountRecord {
	return &accountRecord{accountFields: accountFields{Provider: k.Provider, ProviderAccountID: k.ProviderAccountID}}
}

func newAuthenticator(id string) *authenticatorRecord { return &authenticatorRecord{CredentialID: id} }

// record is a pointer to a record that can be read from the store.
type record[R any] interface {
	*R
	isWhole() bool
}

// decode reads a record. It returns an error if a required field is missing. The
// error does not quote the record.
func decode[R any, P record[R]](value string, into P) (P, error) {
	if err := json.Unmarshal([]byte(value), into); err != nil || !into.isWhole() {
		return nil, fmt.Errorf("a stored %T can't be decoded", *into)
	}
	return into, nil
}

func (r *userRecord) isWhole() bool          { return r.Inc != "" }
func (r *authenticatorRecord) isWhole() bool { return r.UserID != "" }
func (r *sessionRecord) isWhole() bool       { return r.User != "" && r.Inc != "" && r.Expires != nil }
func (r *accountRecord) isWhole() bool       { return r.UserID != "" }
func (r *passwordRecord) isWhole() bool      { return r.Inc != "" && r.Hash != "" }

// user returns the record as a type of package adapter, or nil for nil.
func (r *userRecord) user() *adapter.User {
	if r == nil {
		return nil
	}
	return (*adapter.User)(&r.userFields)
}

func (r *authenticatorRecord) authenticator() *adapter.Authenticator {
	return (*adapter.Authenticator)(r)
}

// account returns the record as a type of package adapter, or nil for nil.
func (r *accountRecord) account() *adapter.Account {
	if r == nil {
		return nil
	}
	if r.Details != "" {
		r.AuthorizationDetails = json.RawMessage(r.Details)
	}
	return (*adapter.Account)(&r.accountFields)
}

// session returns the record as a type of package adapter, or nil for nil.
func (r *sessionRecord) session(token string) *adapter.Session {
	if r == nil {
		return nil
	}
	return &adapter.Session{SessionToken: token, UserID: r.User, Expires: time.UnixMicro(*r.Expires).UTC()}
}

// encode returns the JSON of a record. JSON holds UTF-8 only, so other texts are
// refused [DATA-13]. The record gets copies of the fields that may be nil, so
// that it shares nothing with the caller's argument.
func encode(record any, texts []*string, fields ...**string) ([]byte, error) {
	for _, f := range fields {
		if *f != nil {
			*f = new(**f)
			texts = append(texts, *f)
		}
	}
	for _, t := range texts {
		if t != nil && !utf8.ValidString(*t) {
			return nil, errors.New("a text is not UTF-8")
		}
	}
	return json.Marshal(record)
}

// encoder is a record that can be stored.
type encoder interface{ encode() ([]byte, error) }

func (r *userRecord) encode() ([]byte, error) {
	r.EmailVerified = kept(r.EmailVerified)
	return encode(r, []*string{&r.ID, &r.Email}, &r.Name, &r.Image)
}

func (r *accountRecord) encode() ([]byte, error) {
	if r.ExpiresAt != nil {
		r.ExpiresAt = new(*r.ExpiresAt)
	}
	if r.AuthorizationDetails != nil && !json.Valid(r.AuthorizationDetails) {
		return nil, errors.New("authorization_details is not JSON")
	}
	r.Details = string(r.AuthorizationDetails)
	return encode(r, []*string{&r.Provider, &r.ProviderAccountID, (*string)(&r.Type), &r.Details},
		&r.AccessToken, &r.RefreshToken, &r.IDToken, &r.Scope, &r.TokenType, &r.SessionState)
}

func (r *authenticatorRecord) encode() ([]byte, error) {
	r.Created, r.LastUsed = kept(r.Created), kept(r.LastUsed)
	return encode(r, []*string{&r.CredentialID, &r.ProviderAccountID, &r.CredentialPublicKey, &r.CredentialDeviceType}, &r.Transports, &r.Name)
}

func (r *passwordRecord) encode() ([]byte, error) { return encode(r, nil) }

// kept returns an instant in its stored form: in UTC, to the microsecond.
func kept(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC().Truncate(time.Microsecond))
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// changes says for each field of a record, by its JSON name, whether an update
// sets it.
type changes map[string]bool

// terms are the conditions of an update: a field and the value that it must have,
// if any. userID is the ID of the user if the update may change the user's
// address.
type terms struct{ field, value, userID string }

// change sets fields of a stored record to their values in the new record; it
// clears a field that the new record lacks. It decodes the changed record into the
// argument into, and returns it. An absent record is an error.
func change[R any, P record[R]](ctx context.Context, a *Adapter, into P, key string, record encoder, c changes, t terms) (P, error) {
	value, err := record.encode()
	if err != nil {
		return nil, err
	}
	args := append(make([]any, 0, 4+len(c)), t.field, t.value, t.userID, value)
	for field, changed := range c {
		if changed {
			args = append(args, field)
		}
	}
	r, err := a.run(ctx, "update", []any{key}, args...)
	if err == nil && r.word() == "absent" {
		err = fmt.Errorf("the record does not exist: %w", adapter.ErrNotFound)
	}
	return result(r, err, into)
}
