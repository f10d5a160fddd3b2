package golden_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// store is the store that the recording was made with (README of the recording,
// section 10). It records each call, and serves one request at a time.
type store struct {
	rec *recorder

	omit        []string          // methods that do not exist, by their recorded names
	throwOn     map[string]string // methods that fail, with the message
	byTokenOnly bool              // UseVerificationToken ignores the identifier

	used     bool // the configuration has it
	nextUser int
	users    []adapter.User
	accounts []adapter.Account
	sessions []adapter.Session
	tokens   []adapter.VerificationToken
}

// seed fills the store.
func (s *store) seed(v *values, rows storeRows) error {
	for _, r := range rows.Users {
		u := adapter.User{ID: text(r, "id"), Email: text(r, "email"), Name: textOrNil(r, "name"), Image: textOrNil(r, "image")}
		s.users = append(s.users, u)
	}
	for _, r := range rows.Accounts {
		s.accounts = append(s.accounts, adapter.Account{
			UserID: text(r, "userId"), Type: adapter.AccountType(text(r, "type")), Provider: text(r, "provider"),
			ProviderAccountID: text(r, "providerAccountId"), AccessToken: textOrNil(r, "access_token"),
		})
	}
	for _, r := range rows.Sessions {
		at, err := parseDate(v.expand(text(r, "expires")))
		if err != nil {
			return err
		}
		s.sessions = append(s.sessions, adapter.Session{SessionToken: v.expand(text(r, "sessionToken")), UserID: text(r, "userId"), Expires: at})
	}
	for _, r := range rows.VerificationTokens {
		at, err := parseDate(v.expand(text(r, "expires")))
		if err != nil {
			return err
		}
		s.tokens = append(s.tokens, adapter.VerificationToken{Identifier: text(r, "identifier"), Token: v.expand(text(r, "token")), Expires: at})
	}
	s.nextUser = len(s.users) + 1
	return nil
}

func text(row map[string]any, name string) string {
	s, _ := row[name].(string)
	return s
}

func textOrNil(row map[string]any, name string) *string {
	if s, ok := row[name].(string); ok {
		return &s
	}
	return nil
}

func parseDate(s string) (time.Time, error) {
	return time.Parse("2006-01-02T15:04:05.000Z", strings.TrimPrefix(s, "date "))
}

// Missing lists the methods that the scenario leaves out.
func (s *store) Missing() []string {
	return mapped(s.omit, func(m string) string { return capital(strings.ReplaceAll(m, "ById", "ByID")) })
}

// call records a call and returns the error with which it must fail, or nil.
func (s *store) call(method string, args ...any) error {
	s.rec.adapterCall(method, args)
	if message, ok := s.throwOn[method]; ok {
		return errors.New(message)
	}
	return nil
}

// one returns a copy of the first matching row, or nil.
func one[T any](rows []T, fits func(T) bool) *T {
	if i := slices.IndexFunc(rows, fits); i >= 0 {
		row := rows[i]
		return &row
	}
	return nil
}

func (s *store) CreateUser(_ context.Context, u adapter.User) (*adapter.User, error) {
	if err := s.call("createUser", userRow(u)); err != nil {
		return nil, err
	}
	u.ID = "user-" + strconv.Itoa(s.nextUser)
	s.nextUser++
	s.users = append(s.users, u)
	return &u, nil
}

func (s *store) GetUser(_ context.Context, id string) (*adapter.User, error) {
	if err := s.call("getUser", id); err != nil {
		return nil, err
	}
	return s.user(id), nil
}

func (s *store) user(id string) *adapter.User {
	return one(s.users, func(u adapter.User) bool { return u.ID == id })
}

func (s *store) GetUserByEmail(_ context.Context, email string) (*adapter.User, error) {
	if err := s.call("getUserByEmail", email); err != nil {
		return nil, err
	}
	return one(s.users, func(u adapter.User) bool { return u.Email == email }), nil
}

func (s *store) GetUserByAccount(_ context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if err := s.call("getUserByAccount", map[string]any{"provider": key.Provider, "providerAccountId": key.ProviderAccountID}); err != nil {
		return nil, err
	}
	if a := one(s.accounts, func(a adapter.Account) bool { return a.Key() == key }); a != nil {
		return s.user(a.UserID), nil
	}
	return nil, nil
}

func (s *store) UpdateUser(_ context.Context, c adapter.UserUpdate) (*adapter.User, error) {
	row := map[string]any{"id": c.ID}
	if name, ok := c.Name.Get(); ok {
		row["name"] = deref(name)
	}
	if email, ok := c.Email.Get(); ok {
		row["email"] = email
	}
	if at, ok := c.EmailVerified.Get(); ok && at != nil {
		row["emailVerified"] = date(*at)
	}
	if image, ok := c.Image.Get(); ok {
		row["image"] = deref(image)
	}
	if err := s.call("updateUser", row); err != nil {
		return nil, err
	}
	for i := range s.users {
		if s.users[i].ID == c.ID {
			c.Apply(&s.users[i])
			u := s.users[i]
			return &u, nil
		}
	}
	return nil, adapter.ErrNotFound
}

func (s *store) DeleteUser(_ context.Context, id string) (*adapter.User, error) {
	if err := s.call("deleteUser", id); err != nil {
		return nil, err
	}
	found := s.user(id)
	s.users = slices.DeleteFunc(s.users, func(u adapter.User) bool { return u.ID == id })
	return found, nil
}

func (s *store) LinkAccount(_ context.Context, a adapter.Account) (*adapter.Account, error) {
	if err := s.call("linkAccount", accountRow(a)); err != nil {
		return nil, err
	}
	s.accounts = append(s.accounts, a)
	return &a, nil
}

func (s *store) UnlinkAccount(_ context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return nil, s.call("unlinkAccount", map[string]any{"provider": key.Provider, "providerAccountId": key.ProviderAccountID})
}

func (s *store) GetAccount(_ context.Context, id, provider string) (*adapter.Account, error) {
	if err := s.call("getAccount", id, provider); err != nil {
		return nil, err
	}
	return one(s.accounts, func(a adapter.Account) bool { return a.Provider == provider && a.ProviderAccountID == id }), nil
}

// ListAccountsByUserID is not recorded, because Auth.js has no such method.
// With it the replay takes the path of Auth.js for a user without accounts.
func (s *store) ListAccountsByUserID(_ context.Context, id string) ([]adapter.Account, error) {
	list := []adapter.Account{}
	for _, a := range s.accounts {
		if a.UserID == id {
			list = append(list, a)
		}
	}
	return list, nil
}

// UpdateAccount is not supported: Auth.js has no such method either, and keeps
// the tokens of the first sign-in.
func (s *store) UpdateAccount(context.Context, adapter.AccountUpdate) (*adapter.Account, error) {
	return nil, adapter.ErrUnsupported
}

func (s *store) CreateSession(_ context.Context, n adapter.Session) (*adapter.Session, error) {
	if err := s.call("createSession", sessionRow(n)); err != nil {
		return nil, err
	}
	s.sessions = append(s.sessions, n)
	return &n, nil
}

func (s *store) GetSessionAndUser(_ context.Context, token string) (*adapter.SessionAndUser, error) {
	if err := s.call("getSessionAndUser", token); err != nil {
		return nil, err
	}
	found := one(s.sessions, func(n adapter.Session) bool { return n.SessionToken == token })
	if found == nil {
		return nil, nil
	}
	u := s.user(found.UserID)
	if u == nil {
		return nil, nil
	}
	return &adapter.SessionAndUser{Session: *found, User: *u}, nil
}

func (s *store) UpdateSession(_ context.Context, c adapter.SessionUpdate) (*adapter.Session, error) {
	row := map[string]any{"sessionToken": c.SessionToken}
	if at, ok := c.Expires.Get(); ok {
		row["expires"] = date(at)
	}
	if id, ok := c.UserID.Get(); ok {
		row["userId"] = id
	}
	if err := s.call("updateSession", row); err != nil {
		return nil, err
	}
	for i := range s.sessions {
		if s.sessions[i].SessionToken == c.SessionToken {
			c.Apply(&s.sessions[i])
			n := s.sessions[i]
			return &n, nil
		}
	}
	return nil, nil
}

func (s *store) DeleteSession(_ context.Context, token string) (*adapter.Session, error) {
	if err := s.call("deleteSession", token); err != nil {
		return nil, err
	}
	fits := func(n adapter.Session) bool { return n.SessionToken == token }
	found := one(s.sessions, fits)
	s.sessions = slices.DeleteFunc(s.sessions, fits)
	return found, nil
}

func (s *store) CreateVerificationToken(_ context.Context, n adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if err := s.call("createVerificationToken", tokenRow(n)); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.tokens, func(v adapter.VerificationToken) bool { return v.Key() == n.Key() }) {
		return nil, adapter.ErrConflict
	}
	s.tokens = append(s.tokens, n)
	return &n, nil
}

func (s *store) UseVerificationToken(_ context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	row := map[string]any{"token": key.Token}
	if key.Identifier != "" {
		row["identifier"] = key.Identifier
	}
	if err := s.call("useVerificationToken", row); err != nil {
		return nil, err
	}
	fits := func(n adapter.VerificationToken) bool {
		return n.Token == key.Token && (s.byTokenOnly || n.Identifier == key.Identifier)
	}
	found := one(s.tokens, fits)
	if found != nil {
		i := slices.IndexFunc(s.tokens, fits)
		s.tokens = slices.Delete(s.tokens, i, i+1)
	}
	return found, nil
}

func (s *store) CreateAuthenticator(context.Context, adapter.Authenticator) (*adapter.Authenticator, error) {
	return nil, s.call("createAuthenticator")
}

func (s *store) GetAuthenticator(_ context.Context, id string) (*adapter.Authenticator, error) {
	return nil, s.call("getAuthenticator", id)
}

func (s *store) ListAuthenticatorsByUserID(_ context.Context, id string) ([]adapter.Authenticator, error) {
	return []adapter.Authenticator{}, s.call("listAuthenticatorsByUserId", id)
}

func (s *store) UpdateAuthenticatorCounter(_ context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	return nil, s.call("updateAuthenticatorCounter", id, float64(counter))
}

// rows returns the content of the store in the form of the recording.
func (s *store) rows() map[string]any {
	return map[string]any{
		"users": anyList(mapped(s.users, userRow)), "accounts": anyList(mapped(s.accounts, accountRow)),
		"sessions": anyList(mapped(s.sessions, sessionRow)), "verificationTokens": anyList(mapped(s.tokens, tokenRow)),
	}
}

// These functions return rows as JSON objects. Unknown values are absent.

func userRow(u adapter.User) map[string]any {
	row := map[string]any{"name": deref(u.Name), "image": deref(u.Image)}
	setText(row, "id", u.ID)
	setText(row, "email", u.Email)
	if u.EmailVerified != nil {
		row["emailVerified"] = date(*u.EmailVerified)
	}
	return row
}

func accountRow(a adapter.Account) map[string]any {
	row := map[string]any{
		"userId": a.UserID, "type": string(a.Type), "provider": a.Provider, "providerAccountId": a.ProviderAccountID,
		"access_token": deref(a.AccessToken), "refresh_token": deref(a.RefreshToken), "id_token": deref(a.IDToken),
		"scope": deref(a.Scope), "token_type": deref(a.TokenType), "session_state": deref(a.SessionState),
	}
	if a.ExpiresAt != nil {
		row["expires_at"] = float64(*a.ExpiresAt)
	}
	if a.AuthorizationDetails != nil {
		var details any
		if err := json.Unmarshal(a.AuthorizationDetails, &details); err != nil {
			details = fmt.Sprintf("bad JSON: %v", err)
		}
		row["authorization_details"] = details
	}
	return row
}

func sessionRow(n adapter.Session) map[string]any {
	return map[string]any{"sessionToken": n.SessionToken, "userId": n.UserID, "expires": date(n.Expires)}
}

func tokenRow(n adapter.VerificationToken) map[string]any {
	return map[string]any{"identifier": n.Identifier, "token": n.Token, "expires": date(n.Expires)}
}

func setText(row map[string]any, name, value string) {
	if value != "" {
		row[name] = value
	}
}

// deref returns the text, or nil.
func deref(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}
