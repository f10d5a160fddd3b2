package auth_test

import (
	"context"
	"maps"
	"strconv"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// store is an adapter for tests of the core that need to see or to disturb the
// calls of the adapter. The IDs of its users are user-1, user-2 and so on.
// Before each method it calls the function before, which the test sets.
type store struct {
	adapter.Adapter // nil: the methods that the core does not call

	mu       sync.Mutex
	users    map[string]adapter.User
	accounts map[adapter.AccountKey]adapter.Account
	sessions map[string]adapter.Session
	tokens   map[adapter.VerificationTokenKey]adapter.VerificationToken
	passkeys map[string][]adapter.Authenticator // by user
	created  int
	// before is called, unlocked, before each method. If it returns an error, the
	// method returns this error.
	before func(method string, args ...any) error
}

func newStore() *store {
	return &store{
		users: map[string]adapter.User{}, accounts: map[adapter.AccountKey]adapter.Account{},
		sessions: map[string]adapter.Session{}, tokens: map[adapter.VerificationTokenKey]adapter.VerificationToken{},
	}
}

// failingAt makes a method of a store return an error.
func failingAt(method string, err error) func(string, ...any) error {
	return func(called string, _ ...any) error {
		if called == method {
			return err
		}
		return nil
	}
}

// counting counts the calls of a method of a store.
func counting(method string, calls *int) func(string, ...any) error {
	return func(called string, _ ...any) error {
		if called == method {
			*calls++
		}
		return nil
	}
}

// noting notes which methods of a store are called.
func noting(calls *[]string) func(string, ...any) error {
	return func(method string, _ ...any) error { *calls = append(*calls, method); return nil }
}

// enter starts a method; the caller unlocks.
func (s *store) enter(ctx context.Context, method string, args ...any) error {
	if s.before != nil {
		if err := s.before(method, args...); err != nil {
			s.mu.Lock()
			return err
		}
	}
	s.mu.Lock()
	return ctx.Err()
}

// take removes a record, and returns it if it was there.
func take[K comparable, V any](ctx context.Context, s *store, method string, records map[K]V, key K) (*V, error) {
	err := s.enter(ctx, method, key)
	defer s.mu.Unlock()
	v, ok := records[key]
	if err != nil || !ok {
		return nil, err
	}
	delete(records, key)
	return &v, nil
}

// get returns a record, if it is there.
func get[K comparable, V any](ctx context.Context, s *store, method string, records map[K]V, key K) (*V, error) {
	err := s.enter(ctx, method, key)
	defer s.mu.Unlock()
	v, ok := records[key]
	if err != nil || !ok {
		return nil, err
	}
	return &v, nil
}

// add stores a record that is not there yet.
func add[K comparable, V any](ctx context.Context, s *store, method string, records map[K]V, key K, v V) (*V, error) {
	err := s.enter(ctx, method, v)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if _, taken := records[key]; taken {
		return nil, adapter.ErrConflict
	}
	records[key] = v
	return &v, nil
}

func (s *store) byEmail(email string) *adapter.User {
	for _, u := range s.users {
		if u.Email == email && email != "" {
			return &u
		}
	}
	return nil
}

func (s *store) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	err := s.enter(ctx, "createUser", u)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if s.byEmail(u.Email) != nil {
		return nil, adapter.ErrConflict
	}
	s.created++
	u.ID = "user-" + strconv.Itoa(s.created)
	s.users[u.ID] = u
	return &u, nil
}

func (s *store) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return get(ctx, s, "getUser", s.users, id)
}

func (s *store) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	err := s.enter(ctx, "getUserByEmail", email)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.byEmail(email), nil
}

func (s *store) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	err := s.enter(ctx, "getUserByAccount", key)
	defer s.mu.Unlock()
	u, ok := s.users[s.accounts[key].UserID]
	if err != nil || !ok {
		return nil, err
	}
	return &u, nil
}

func (s *store) UpdateUser(ctx context.Context, c adapter.UserUpdate) (*adapter.User, error) {
	err := s.enter(ctx, "updateUser", c)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	u, ok := s.users[c.ID]
	if !ok || c.IfEmail != "" && c.IfEmail != u.Email {
		return nil, adapter.ErrNotFound
	}
	c.Apply(&u)
	s.users[c.ID] = u
	return &u, nil
}

func (s *store) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return take(ctx, s, "deleteUser", s.users, id)
}

func (s *store) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return add(ctx, s, "linkAccount", s.accounts, a.Key(), a)
}

func (s *store) CreateSession(ctx context.Context, v adapter.Session) (*adapter.Session, error) {
	err := s.enter(ctx, "createSession", v)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s.sessions[v.SessionToken] = v
	return &v, nil
}

func (s *store) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	err := s.enter(ctx, "getSessionAndUser", token)
	defer s.mu.Unlock()
	v, ok := s.sessions[token]
	u, known := s.users[v.UserID]
	if err != nil || !ok || !known {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: v, User: u}, nil
}

func (s *store) UpdateSession(ctx context.Context, c adapter.SessionUpdate) (*adapter.Session, error) {
	err := s.enter(ctx, "updateSession", c)
	defer s.mu.Unlock()
	v, ok := s.sessions[c.SessionToken]
	if err != nil || !ok {
		return nil, err
	}
	c.Apply(&v)
	s.sessions[c.SessionToken] = v
	return &v, nil
}

func (s *store) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return take(ctx, s, "deleteSession", s.sessions, token)
}

func (s *store) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return add(ctx, s, "createVerificationToken", s.tokens, v.Key(), v)
}

func (s *store) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return take(ctx, s, "useVerificationToken", s.tokens, key)
}

// capable is a store that has the optional interfaces of an adapter, too.
type capable struct{ *store }

func newCapable() capable { return capable{newStore()} }

func (s capable) CreateUserWithAccount(ctx context.Context, u adapter.User, a adapter.Account, passkey *adapter.Authenticator) (*adapter.User, error) {
	if err := s.enter(ctx, "createUserWithAccount", u, a); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	_, taken := s.accounts[a.Key()]
	taken = taken || s.byEmail(u.Email) != nil
	s.mu.Unlock()
	if taken {
		return nil, adapter.ErrConflict
	}
	created, err := s.CreateUser(ctx, u)
	if err == nil {
		a.UserID = created.ID
		_, err = s.LinkAccount(ctx, a)
	}
	return created, err
}

func (s capable) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	err := s.enter(ctx, "listAccountsByUserId", userID)
	defer s.mu.Unlock()
	list := []adapter.Account{}
	for _, a := range s.accounts {
		if a.UserID == userID {
			list = append(list, a)
		}
	}
	return list, err
}

func (s capable) UpdateAccount(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
	err := s.enter(ctx, "updateAccount", u)
	defer s.mu.Unlock()
	a, ok := s.accounts[u.Key()]
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, adapter.ErrNotFound
	}
	u.Apply(&a)
	s.accounts[u.Key()] = a
	return &a, nil
}

func (s capable) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	err := s.enter(ctx, "listAuthenticatorsByUserId", userID)
	defer s.mu.Unlock()
	return s.passkeys[userID], err
}

func (s capable) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	err := s.enter(ctx, "listSessionsByUserId", userID)
	defer s.mu.Unlock()
	list := []adapter.Session{}
	for _, v := range s.sessions {
		if v.UserID == userID {
			list = append(list, v)
		}
	}
	return list, err
}

func (s capable) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	err := s.enter(ctx, "deleteSessionsByUserId", userID, except)
	defer s.mu.Unlock()
	before := len(s.sessions)
	maps.DeleteFunc(s.sessions, func(key string, v adapter.Session) bool { return v.UserID == userID && key != except })
	return int64(before - len(s.sessions)), err
}

func (s capable) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	err := s.enter(ctx, "deleteVerificationTokens", identifier)
	defer s.mu.Unlock()
	before := len(s.tokens)
	maps.DeleteFunc(s.tokens, func(key adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
		return key.Identifier == identifier
	})
	return int64(before - len(s.tokens)), err
}

func (s capable) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return take(ctx, s.store, "unlinkAccount", s.accounts, key)
}
