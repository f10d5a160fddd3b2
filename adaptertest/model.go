package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// model is the contract as a program: the smallest adapter that keeps every
// clause, by which the state machine and the fault clauses judge others.
type model struct {
	mu             sync.Mutex
	assigned       int // IDs
	users          map[string]adapter.User
	accounts       map[adapter.AccountKey]adapter.Account
	sessions       map[string]adapter.Session
	tokens         map[adapter.VerificationTokenKey]adapter.VerificationToken
	authenticators map[string]adapter.Authenticator
}

func newModel() *model {
	return &model{
		users:          map[string]adapter.User{},
		accounts:       map[adapter.AccountKey]adapter.Account{},
		sessions:       map[string]adapter.Session{},
		tokens:         map[adapter.VerificationTokenKey]adapter.VerificationToken{},
		authenticators: map[string]adapter.Authenticator{},
	}
}

var errEmptyKey = errors.New("model: an empty key")

// enter locks the model for a call, unless the call is over already.
func (m *model) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

// clone copies the model. Records are never changed in place.
func (m *model) clone() *model {
	return &model{
		users: maps.Clone(m.users), accounts: maps.Clone(m.accounts), sessions: maps.Clone(m.sessions),
		tokens: maps.Clone(m.tokens), authenticators: maps.Clone(m.authenticators),
	}
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func cloneUser(u adapter.User) *adapter.User {
	u.Name, u.Image, u.EmailVerified = clonePointer(u.Name), clonePointer(u.Image), clonePointer(u.EmailVerified)
	return &u
}

func cloneAccount(a adapter.Account) *adapter.Account {
	for _, p := range []**string{&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType, &a.SessionState} {
		*p = clonePointer(*p)
	}
	a.ExpiresAt = clonePointer(a.ExpiresAt)
	a.AuthorizationDetails = slices.Clone(a.AuthorizationDetails)
	return &a
}

func cloneAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	a.Transports = clonePointer(a.Transports)
	return &a
}

// emailTaken reports whether a user other than the one with the ID holds the
// address.
func (m *model) emailTaken(email, id string) bool {
	if email == "" {
		return false
	}
	for _, u := range m.users {
		if u.Email == email && u.ID != id {
			return true
		}
	}
	return false
}

func (m *model) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if _, taken := m.users[u.ID]; taken || m.emailTaken(u.Email, "") {
		return nil, adapter.ErrConflict
	}
	if u.ID == "" {
		m.assigned++
		u.ID = fmt.Sprintf("assigned-%d", m.assigned)
	}
	m.users[u.ID] = *cloneUser(u)
	return cloneUser(u), nil
}

func (m *model) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if u, ok := m.users[id]; ok {
		return cloneUser(u), nil
	}
	return nil, nil
}

func (m *model) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	for _, u := range m.users {
		if u.Email == email && email != "" {
			return cloneUser(u), nil
		}
	}
	return nil, nil
}

func (m *model) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if u, ok := m.users[m.accounts[key].UserID]; ok {
		return cloneUser(u), nil
	}
	return nil, nil
}

func (m *model) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	u, ok := m.users[update.ID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	if email, set := update.Email.Get(); set && m.emailTaken(email, u.ID) {
		return nil, adapter.ErrConflict
	}
	update.Apply(&u)
	m.users[u.ID] = *cloneUser(u)
	return cloneUser(u), nil
}

func (m *model) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	u, ok := m.users[id]
	if !ok {
		return nil, nil
	}
	delete(m.users, id)
	for k, a := range m.accounts {
		if a.UserID == id {
			delete(m.accounts, k)
		}
	}
	for k, s := range m.sessions {
		if s.UserID == id {
			delete(m.sessions, k)
		}
	}
	for k, a := range m.authenticators {
		if a.UserID == id {
			delete(m.authenticators, k)
		}
	}
	return &u, nil
}

func (m *model) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if a.Provider == "" || a.ProviderAccountID == "" {
		return nil, errEmptyKey
	}
	if _, ok := m.users[a.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.accounts[a.Key()]; taken {
		return nil, adapter.ErrConflict
	}
	m.accounts[a.Key()] = *cloneAccount(a)
	return cloneAccount(a), nil
}

func (m *model) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	a, ok := m.accounts[key]
	if !ok {
		return nil, nil
	}
	delete(m.accounts, key)
	return &a, nil
}

func (m *model) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if a, ok := m.accounts[adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}]; ok {
		return cloneAccount(a), nil
	}
	return nil, nil
}

func (m *model) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if s.SessionToken == "" {
		return nil, errEmptyKey
	}
	if _, ok := m.users[s.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.sessions[s.SessionToken]; taken {
		return nil, adapter.ErrConflict
	}
	m.sessions[s.SessionToken] = s
	return &s, nil
}

func (m *model) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	s, ok := m.sessions[token]
	if !ok {
		return nil, nil
	}
	return &adapter.SessionAndUser{Session: s, User: *cloneUser(m.users[s.UserID])}, nil
}

func (m *model) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	s, ok := m.sessions[update.SessionToken]
	if !ok {
		return nil, nil
	}
	update.Apply(&s)
	m.sessions[s.SessionToken] = s
	return &s, nil
}

func (m *model) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	s, ok := m.sessions[token]
	if !ok {
		return nil, nil
	}
	delete(m.sessions, token)
	return &s, nil
}

func (m *model) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if t.Token == "" || t.Identifier == "" {
		return nil, errEmptyKey
	}
	if _, taken := m.tokens[t.Key()]; taken {
		return nil, adapter.ErrConflict
	}
	m.tokens[t.Key()] = t
	return &t, nil
}

func (m *model) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	t, ok := m.tokens[key]
	if !ok {
		return nil, nil
	}
	delete(m.tokens, key)
	return &t, nil
}

func (m *model) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if a.CredentialID == "" {
		return nil, errEmptyKey
	}
	if _, ok := m.users[a.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	if _, taken := m.authenticators[a.CredentialID]; taken {
		return nil, adapter.ErrConflict
	}
	m.authenticators[a.CredentialID] = *cloneAuthenticator(a)
	return cloneAuthenticator(a), nil
}

func (m *model) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if a, ok := m.authenticators[credentialID]; ok {
		return cloneAuthenticator(a), nil
	}
	return nil, nil
}

func (m *model) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	list := []adapter.Authenticator{}
	for _, a := range m.authenticators {
		if a.UserID == userID {
			list = append(list, *cloneAuthenticator(a))
		}
	}
	return list, nil
}

func (m *model) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	a, ok := m.authenticators[credentialID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	a.Counter = counter
	m.authenticators[credentialID] = a
	return cloneAuthenticator(a), nil
}

// DeleteExpired implements [adapter.Sweeper].
func (m *model) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	if err := m.enter(ctx); err != nil {
		return adapter.Swept{}, err
	}
	defer m.mu.Unlock()
	var swept adapter.Swept
	for k, s := range m.sessions {
		if !s.Expires.After(now) {
			delete(m.sessions, k)
			swept.Sessions++
		}
	}
	for k, t := range m.tokens {
		if !t.Expires.After(now) {
			delete(m.tokens, k)
			swept.VerificationTokens++
		}
	}
	return swept, nil
}

// keys name the records that a view looks at. Verification tokens are not among
// them: to look at one is to use it up.
type keys struct {
	users       []string
	emails      []string
	accounts    []adapter.AccountKey
	sessions    []string
	credentials []string
}

// sight is what one lookup found.
type sight struct {
	lookup string
	record any
}

// view makes every lookup that the adapter has of the keys, and of the owners
// that it meets.
func (c *C) view(ctx context.Context, a adapter.Adapter, k keys) ([]sight, error) {
	var seen []sight
	var failed error
	look := func(method string, arg any, call func() (any, error)) {
		if c.lacks(method) || failed != nil {
			return
		}
		record, err := call()
		if err != nil {
			failed = fmt.Errorf("%s(%s): %w", method, show(arg), err)
			return
		}
		seen = append(seen, sight{fmt.Sprintf("%s(%s)", method, show(arg)), record})
	}
	for _, id := range k.users {
		look("GetUser", id, func() (any, error) { return a.GetUser(ctx, id) })
		look("ListAuthenticatorsByUserID", id, func() (any, error) { return a.ListAuthenticatorsByUserID(ctx, id) })
	}
	for _, email := range k.emails {
		look("GetUserByEmail", email, func() (any, error) { return a.GetUserByEmail(ctx, email) })
	}
	for _, key := range k.accounts {
		look("GetAccount", key, func() (any, error) { return a.GetAccount(ctx, key.ProviderAccountID, key.Provider) })
		look("GetUserByAccount", key, func() (any, error) { return a.GetUserByAccount(ctx, key) })
	}
	for _, token := range k.sessions {
		look("GetSessionAndUser", token, func() (any, error) { return a.GetSessionAndUser(ctx, token) })
	}
	for _, id := range k.credentials {
		look("GetAuthenticator", id, func() (any, error) { return a.GetAuthenticator(ctx, id) })
	}
	return seen, failed
}

// differences compares two views of the same keys and says where they differ.
func (c *C) differences(got, want []sight) []string {
	var out []string
	for i, w := range want {
		g := got[i].record
		if list, ok := w.record.([]adapter.Authenticator); ok {
			if !c.equalLists(g.([]adapter.Authenticator), list) {
				out = append(out, fmt.Sprintf("%s got %s, want %s", w.lookup, show(g), show(w.record)))
			}
			continue
		}
		if d := diff(g, w.record, c.harness().precision()); d != "" {
			out = append(out, w.lookup+" "+d)
		}
	}
	return out
}

// equalLists compares lists of authenticators as multisets.
func (c *C) equalLists(got, want []adapter.Authenticator) bool {
	rest := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(rest, func(g adapter.Authenticator) bool { return diff(g, w, c.harness().precision()) == "" })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(rest) == 0
}
