package memory

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUser stores a new user. A given ID is kept; without one the user gets
// a random UUID. Addresses are compared byte for byte.
// [USER-01] [USER-04] [USER-05] [USER-11] [USER-12] [USER-14]
func (s *store) CreateUser(ctx context.Context, record adapter.User) (*adapter.User, error) {
	const op = "create user"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	u := newUser(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	if what := s.takenFrom(u); what != "" {
		return nil, conflict(op, what)
	}
	s.addUser(u)
	return u.copy(), nil
}

func newUser(record adapter.User) *user {
	u := &user{User: ownUser(record)}
	if u.ID == "" {
		u.ID = newUUID()
	}
	return u
}

// takenFrom names the key of the new user that another user has already: "id" or
// "e-mail address". Without a conflict it returns "". The caller holds the lock.
func (s *store) takenFrom(u *user) string {
	if _, taken := s.users[u.ID]; taken {
		return "id"
	}
	if _, taken := s.usersByEmail[u.Email]; taken {
		return "e-mail address"
	}
	return ""
}

// addUser stores a new user. The caller holds the lock.
func (s *store) addUser(u *user) {
	s.users[u.ID] = u
	if u.Email != "" {
		s.usersByEmail[u.Email] = u
	}
}

// GetUser returns the user with the ID, or nil. [USER-02] [USER-07] [USER-08]
func (s *store) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := begin(ctx, "get user"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if u, ok := s.users[id]; ok {
		return u.copy(), nil
	}
	return nil, nil
}

// GetUserByEmail returns the user with exactly the address, or nil.
// [USER-09] [USER-10] [USER-13]
func (s *store) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if err := begin(ctx, "get user by e-mail"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if u, ok := s.usersByEmail[email]; ok {
		return u.copy(), nil
	}
	return nil, nil
}

// GetUserByAccount returns the owner of the account, or nil.
// [ACCT-01] [ACCT-04] [ACCT-05]
func (s *store) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if err := begin(ctx, "get user by account"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a, ok := s.accounts[key]; ok {
		return a.owner.copy(), nil
	}
	return nil, nil
}

// UpdateUser changes the fields that the update sets. [USER-17] to [USER-24]
// [USER-30] [CONC-08] [CONC-22]
func (s *store) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	const op = "update user"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[update.ID]
	if !ok || update.IfEmail != "" && update.IfEmail != u.Email {
		return nil, notFound(op, "user")
	}
	changed := u.User
	update.Apply(&changed)
	if holder, taken := s.usersByEmail[changed.Email]; taken && holder != u {
		return nil, conflict(op, "e-mail address")
	}
	delete(s.usersByEmail, u.Email)
	u.User = ownUser(changed)
	if u.Email != "" {
		s.usersByEmail[u.Email] = u
	}
	return u.copy(), nil
}

// DeleteUser deletes the user and all accounts, sessions and authenticators of
// that user, in one step: after it no method finds them. There may be very many
// sessions, so their memory is freed a thousand sessions at a time, with other
// calls in between. [CASC-01] to [CASC-10]
func (s *store) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := begin(ctx, "delete user"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[id]
	if !ok {
		return nil, nil
	}
	for _, a := range u.accounts {
		delete(s.accounts, a.Key())
	}
	for _, a := range u.authenticators {
		delete(s.authenticators, a.CredentialID)
	}
	delete(s.usersByEmail, u.Email)
	delete(s.users, id)
	u.gone = true
	for n := 1; len(u.sessions) > 0; n++ {
		s.drop(u.sessions[len(u.sessions)-1])
		s.letIn(n)
	}
	return u.copy(), nil
}

// newUUID returns a random UUID. RFC 9562 section 5.4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
