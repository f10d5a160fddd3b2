// Package model is the contract as a program.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Model is the smallest adapter that keeps every clause. The state machine
// and the fault clauses compare other adapters with it.
type Model struct {
	Mu             sync.Mutex
	assigned       int // the number of assigned IDs
	Users          map[string]adapter.User
	Accounts       map[adapter.AccountKey]adapter.Account
	Sessions       map[string]adapter.Session
	Tokens         map[adapter.VerificationTokenKey]adapter.VerificationToken
	Authenticators map[string]adapter.Authenticator
	Passwords      map[string]adapter.Password // by the ID of the user
}

// Broken is a method whose change the model loses: UpdateUser, UpdateSession,
// UseVerificationToken or UpdateAuthenticatorCounter. Only a test sets it, to see that the
// suite notices a model that is not the contract.
var Broken string

// New returns a model without records.
func New() *Model {
	return &Model{
		Users:          map[string]adapter.User{},
		Accounts:       map[adapter.AccountKey]adapter.Account{},
		Sessions:       map[string]adapter.Session{},
		Tokens:         map[adapter.VerificationTokenKey]adapter.VerificationToken{},
		Authenticators: map[string]adapter.Authenticator{},
		Passwords:      map[string]adapter.Password{},
	}
}

var (
	errEmptyKey = errors.New("model: an empty key")
	errDetails  = errors.New("model: authorization_details is not JSON")
)

func isJSON(details json.RawMessage) bool { return len(details) == 0 || json.Valid(details) }

// Enter locks the model for a call. It returns an error if the context has
// ended.
func (m *Model) Enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.Mu.Lock()
	return nil
}

// Clone copies the model. It may share records, because they are never
// changed in place.
func (m *Model) Clone() *Model {
	return &Model{
		Users: maps.Clone(m.Users), Accounts: maps.Clone(m.Accounts), Sessions: maps.Clone(m.Sessions),
		Tokens: maps.Clone(m.Tokens), Authenticators: maps.Clone(m.Authenticators), Passwords: maps.Clone(m.Passwords),
	}
}

// String names the users with their addresses and proofs, the sessions and tokens with their ends, and
// the authenticators with their counters: what the histories of one key change.
func (m *Model) String() string {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m.Users)) {
		fmt.Fprintf(&text, "user %s has %s, proven: %v; ", id, m.Users[id].Email, m.Users[id].EmailVerified)
	}
	for _, token := range slices.Sorted(maps.Keys(m.Sessions)) {
		s := m.Sessions[token]
		fmt.Fprintf(&text, "session %s of %s ends %v; ", token, s.UserID, s.Expires)
	}
	for key, t := range m.Tokens {
		fmt.Fprintf(&text, "token %v ends %v; ", key, t.Expires)
	}
	for _, id := range slices.Sorted(maps.Keys(m.Authenticators)) {
		fmt.Fprintf(&text, "the counter of %s is %d; ", id, m.Authenticators[id].Counter)
	}
	if text.Len() == 0 {
		return "nothing"
	}
	return text.String()
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// utc returns a copy of the instant in UTC.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// CloneUser returns a copy that shares nothing with the record.
func CloneUser(u adapter.User) *adapter.User {
	u.Name, u.Image, u.EmailVerified = clonePointer(u.Name), clonePointer(u.Image), utc(u.EmailVerified)
	return &u
}

// CloneAccount returns a copy that shares nothing with the record.
func CloneAccount(a adapter.Account) *adapter.Account {
	for _, p := range []**string{&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType, &a.SessionState} {
		*p = clonePointer(*p)
	}
	a.ExpiresAt = clonePointer(a.ExpiresAt)
	a.AuthorizationDetails = slices.Clone(a.AuthorizationDetails)
	return &a
}

// CloneAuthenticator returns a copy that shares nothing with the record.
func CloneAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	a.Transports, a.Name = clonePointer(a.Transports), clonePointer(a.Name)
	a.Created, a.LastUsed = utc(a.Created), utc(a.LastUsed)
	return &a
}

// itself returns a copy of a record without pointers.
func itself[T any](record T) *T { return &record }

// find returns a copy of the record with the key, or nil.
func find[K comparable, T any](ctx context.Context, m *Model, records map[K]T, key K, clone func(T) *T) (*T, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if r, ok := records[key]; ok {
		return clone(r), nil
	}
	return nil, nil
}

// take deletes the record with the key and returns it, or nil.
func take[K comparable, T any](ctx context.Context, m *Model, records map[K]T, key K) (*T, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	r, ok := records[key]
	if !ok {
		return nil, nil
	}
	delete(records, key)
	return &r, nil
}

// list returns copies of the records that is accepts.
func list[K comparable, T any](ctx context.Context, m *Model, records map[K]T, is func(T) bool, clone func(T) *T) ([]T, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	found := []T{}
	for _, r := range records {
		if is(r) {
			found = append(found, *clone(r))
		}
	}
	return found, nil
}

// drop deletes the records that is accepts, and returns how many.
func drop[K comparable, T any](records map[K]T, is func(T) bool) int64 {
	before := len(records)
	maps.DeleteFunc(records, func(_ K, r T) bool { return is(r) })
	return int64(before - len(records))
}

// has reports whether is accepts one of the records.
func has[K comparable, T any](records map[K]T, is func(T) bool) bool {
	for _, r := range records {
		if is(r) {
			return true
		}
	}
	return false
}

// EmailTaken reports whether a user other than the one with the ID holds the
// address.
func (m *Model) EmailTaken(email, id string) bool {
	return email != "" && has(m.Users, func(u adapter.User) bool { return u.Email == email && u.ID != id })
}

// CreateUser implements [adapter.Adapter].
func (m *Model) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	return m.create(u)
}

// create stores a new user.
func (m *Model) create(u adapter.User) (*adapter.User, error) {
	if _, taken := m.Users[u.ID]; taken || m.EmailTaken(u.Email, "") {
		return nil, adapter.ErrConflict
	}
	if u.ID == "" {
		m.assigned++
		u.ID = fmt.Sprintf("assigned-%d", m.assigned)
	}
	m.Users[u.ID] = *CloneUser(u)
	return CloneUser(u), nil
}

// GetUser implements [adapter.Adapter].
func (m *Model) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return find(ctx, m, m.Users, id, CloneUser)
}

// GetUserByEmail implements [adapter.Adapter].
func (m *Model) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	for _, u := range m.Users {
		if u.Email == email && email != "" {
			return CloneUser(u), nil
		}
	}
	return nil, nil
}

// GetUserByAccount implements [adapter.Adapter].
func (m *Model) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if u, ok := m.Users[m.Accounts[key].UserID]; ok {
		return CloneUser(u), nil
	}
	return nil, nil
}

// UpdateUser implements [adapter.Adapter].
func (m *Model) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	u, ok := m.Users[update.ID]
	if !ok || update.IfEmail != "" && update.IfEmail != u.Email {
		return nil, adapter.ErrNotFound
	}
	if email, set := update.Email.Get(); set && m.EmailTaken(email, u.ID) {
		return nil, adapter.ErrConflict
	}
	if update.Apply(&u); Broken != "UpdateUser" {
		m.Users[u.ID] = *CloneUser(u)
	}
	return CloneUser(u), nil
}

// DeleteUser implements [adapter.Adapter].
func (m *Model) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	u, ok := m.Users[id]
	if !ok {
		return nil, nil
	}
	delete(m.Users, id)
	delete(m.Passwords, id)
	drop(m.Accounts, func(a adapter.Account) bool { return a.UserID == id })
	drop(m.Sessions, func(s adapter.Session) bool { return s.UserID == id })
	drop(m.Authenticators, func(a adapter.Authenticator) bool { return a.UserID == id })
	return &u, nil
}

// LinkAccount implements [adapter.Adapter].
func (m *Model) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if a.Provider == "" || a.ProviderAccountID == "" {
		return nil, errEmptyKey
	}
	if !isJSON(a.AuthorizationDetails) {
		return nil, errDetails
	}
	if _, ok := m.Users[a.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.Accounts[a.Key()]; taken {
		return nil, adapter.ErrConflict
	}
	m.Accounts[a.Key()] = *CloneAccount(a)
	return CloneAccount(a), nil
}

// UnlinkAccount implements [adapter.Adapter].
func (m *Model) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return take(ctx, m, m.Accounts, key)
}

// GetAccount implements [adapter.Adapter].
func (m *Model) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	key := adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}
	return find(ctx, m, m.Accounts, key, CloneAccount)
}

// CreateSession implements [adapter.Adapter].
func (m *Model) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if s.SessionToken == "" {
		return nil, errEmptyKey
	}
	if _, ok := m.Users[s.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.Sessions[s.SessionToken]; taken {
		return nil, adapter.ErrConflict
	}
	s.Expires = s.Expires.UTC()
	m.Sessions[s.SessionToken] = s
	return &s, nil
}

// GetSessionAndUser implements [adapter.Adapter].
func (m *Model) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	s, ok := m.Sessions[token]
	if !ok {
		return nil, nil
	}
	return &adapter.SessionAndUser{Session: s, User: *CloneUser(m.Users[s.UserID])}, nil
}

// UpdateSession implements [adapter.Adapter].
func (m *Model) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	s, ok := m.Sessions[update.SessionToken]
	if !ok {
		return nil, nil
	}
	if owner, moves := update.UserID.Get(); moves {
		if _, ok := m.Users[owner]; !ok {
			return nil, adapter.ErrNotFound
		}
	}
	update.Apply(&s)
	s.Expires = s.Expires.UTC()
	if Broken != "UpdateSession" {
		m.Sessions[s.SessionToken] = s
	}
	return &s, nil
}

// DeleteSession implements [adapter.Adapter].
func (m *Model) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return take(ctx, m, m.Sessions, token)
}

// CreateVerificationToken implements [adapter.Adapter].
func (m *Model) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if t.Token == "" || t.Identifier == "" {
		return nil, errEmptyKey
	}
	if _, taken := m.Tokens[t.Key()]; taken {
		return nil, adapter.ErrConflict
	}
	t.Expires = t.Expires.UTC()
	m.Tokens[t.Key()] = t
	return &t, nil
}

// UseVerificationToken implements [adapter.Adapter].
func (m *Model) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if Broken == "UseVerificationToken" {
		return find(ctx, m, m.Tokens, key, itself)
	}
	return take(ctx, m, m.Tokens, key)
}

// CreateAuthenticator implements [adapter.Adapter].
func (m *Model) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if a.CredentialID == "" {
		return nil, errEmptyKey
	}
	if _, ok := m.Users[a.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.Authenticators[a.CredentialID]; taken {
		return nil, adapter.ErrConflict
	}
	m.Authenticators[a.CredentialID] = *CloneAuthenticator(a)
	return CloneAuthenticator(a), nil
}

// GetAuthenticator implements [adapter.Adapter].
func (m *Model) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return find(ctx, m, m.Authenticators, credentialID, CloneAuthenticator)
}

// ListAuthenticatorsByUserID implements [adapter.Adapter].
func (m *Model) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return list(ctx, m, m.Authenticators, func(a adapter.Authenticator) bool { return a.UserID == userID }, CloneAuthenticator)
}

// UpdateAuthenticatorCounter implements [adapter.Adapter].
func (m *Model) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	a, ok := m.Authenticators[credentialID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	if a.Counter = counter; Broken != "UpdateAuthenticatorCounter" {
		m.Authenticators[credentialID] = a
	}
	return CloneAuthenticator(a), nil
}

// DeleteExpired implements [adapter.Sweeper].
func (m *Model) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	if err := m.Enter(ctx); err != nil {
		return adapter.Swept{}, err
	}
	defer m.Mu.Unlock()
	return adapter.Swept{
		Sessions:           drop(m.Sessions, func(s adapter.Session) bool { return !s.Expires.After(now) }),
		VerificationTokens: drop(m.Tokens, func(t adapter.VerificationToken) bool { return !t.Expires.After(now) }),
	}, nil
}

// CreateUserWithAccount implements [adapter.SignUps].
func (m *Model) CreateUserWithAccount(ctx context.Context, u adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if account.Provider == "" || account.ProviderAccountID == "" || authenticator != nil && authenticator.CredentialID == "" {
		return nil, errEmptyKey
	}
	_, taken := m.Accounts[account.Key()]
	if authenticator != nil {
		_, held := m.Authenticators[authenticator.CredentialID]
		taken = taken || held
	}
	if taken {
		return nil, adapter.ErrConflict
	}
	created, err := m.create(u)
	if err != nil {
		return nil, err
	}
	account.UserID = created.ID
	m.Accounts[account.Key()] = *CloneAccount(account)
	if authenticator != nil {
		a := CloneAuthenticator(*authenticator)
		a.UserID = created.ID
		m.Authenticators[a.CredentialID] = *a
	}
	return created, nil
}

// ListAccountsByUserID implements [adapter.AccountLists].
func (m *Model) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	return list(ctx, m, m.Accounts, func(a adapter.Account) bool { return a.UserID == userID }, CloneAccount)
}

// UpdateAccount implements [adapter.AccountLists].
func (m *Model) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	a, ok := m.Accounts[update.Key()]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	if update.Apply(&a); !isJSON(a.AuthorizationDetails) {
		return nil, errDetails
	}
	m.Accounts[a.Key()] = *CloneAccount(a)
	return CloneAccount(a), nil
}

// ListSessionsByUserID implements [adapter.SessionLists].
func (m *Model) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	return list(ctx, m, m.Sessions, func(s adapter.Session) bool { return s.UserID == userID }, itself)
}

// DeleteSessionsByUserID implements [adapter.SessionLists].
func (m *Model) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	if err := m.Enter(ctx); err != nil {
		return 0, err
	}
	defer m.Mu.Unlock()
	return drop(m.Sessions, func(s adapter.Session) bool { return s.UserID == userID && s.SessionToken != except }), nil
}

// DeleteAuthenticator implements [adapter.AuthenticatorEdits].
func (m *Model) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	deleted, ok := m.Authenticators[credentialID]
	if !ok || deleted.UserID != userID {
		return nil, nil
	}
	left, shared := 0, false
	for id, a := range m.Authenticators {
		if a.UserID == userID && id != credentialID {
			left++
			shared = shared || a.ProviderAccountID == deleted.ProviderAccountID
		}
	}
	var ending []adapter.AccountKey
	for k, a := range m.Accounts {
		switch {
		case a.UserID != userID:
		case !shared && a.Type == adapter.AccountWebAuthn && a.ProviderAccountID == deleted.ProviderAccountID:
			ending = append(ending, k)
		default:
			left++
		}
	}
	if _, has := m.Passwords[userID]; keepOne && left == 0 && !has {
		return nil, adapter.ErrLastCredential
	}
	delete(m.Authenticators, credentialID)
	for _, k := range ending {
		delete(m.Accounts, k)
	}
	return &deleted, nil
}

// RenameAuthenticator implements [adapter.AuthenticatorEdits].
func (m *Model) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	a, ok := m.Authenticators[credentialID]
	if !ok || a.UserID != userID {
		return nil, nil
	}
	a.Name = &name
	m.Authenticators[credentialID] = a
	return CloneAuthenticator(a), nil
}

// TouchAuthenticator implements [adapter.AuthenticatorEdits].
func (m *Model) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	a, ok := m.Authenticators[credentialID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	if a.Counter != from {
		return nil, nil
	}
	a.Counter, a.LastUsed = to, utc(&used)
	m.Authenticators[credentialID] = a
	return CloneAuthenticator(a), nil
}

// DeleteVerificationTokens implements [adapter.TokenEdits].
func (m *Model) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	if err := m.Enter(ctx); err != nil {
		return 0, err
	}
	defer m.Mu.Unlock()
	return drop(m.Tokens, func(t adapter.VerificationToken) bool { return t.Identifier == identifier }), nil
}

// CreateUserWithPassword implements [adapter.Passwords].
func (m *Model) CreateUserWithPassword(ctx context.Context, u adapter.User, password adapter.Password) (*adapter.User, error) {
	if err := password.Check(); err != nil {
		return nil, err
	}
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	created, err := m.create(u)
	if err != nil {
		return nil, err
	}
	password.UserID = created.ID
	m.Passwords[created.ID] = password
	return created, nil
}

// GetPassword implements [adapter.Passwords].
func (m *Model) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	return find(ctx, m, m.Passwords, userID, itself)
}

// SetPassword implements [adapter.Passwords].
func (m *Model) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	if err := password.Check(); err != nil {
		return nil, err
	}
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if _, ok := m.Users[password.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	m.Passwords[password.UserID] = password
	return &password, nil
}

// SwapPassword implements [adapter.Passwords].
func (m *Model) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	if err := to.Check(); err != nil {
		return nil, err
	}
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	if p, ok := m.Passwords[from.UserID]; !ok || p != from {
		return nil, nil
	}
	to.UserID = from.UserID
	m.Passwords[from.UserID] = to
	return &to, nil
}

// DeletePassword implements [adapter.Passwords].
func (m *Model) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	if err := m.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.Mu.Unlock()
	p, ok := m.Passwords[userID]
	if !ok {
		return nil, nil
	}
	if keepOne && !m.waysBeside(userID) {
		return nil, adapter.ErrLastCredential
	}
	delete(m.Passwords, userID)
	return &p, nil
}

// waysBeside reports whether the user has a way to sign in beside the password.
func (m *Model) waysBeside(userID string) bool {
	return has(m.Accounts, func(a adapter.Account) bool { return a.UserID == userID }) ||
		has(m.Authenticators, func(a adapter.Authenticator) bool { return a.UserID == userID })
}
