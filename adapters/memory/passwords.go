package memory

import (
	"context"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithPassword stores a new user and the password of that user: both or
// nothing. [PASS-01] [PASS-08] [PASS-09]
func (s *store) CreateUserWithPassword(ctx context.Context, record adapter.User, password adapter.Password) (*adapter.User, error) {
	const op = "create user with password"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	p, err := newPassword(op, password)
	if err != nil {
		return nil, err
	}
	u := newUser(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	if what := s.takenFrom(u); what != "" {
		return nil, conflict(op, what)
	}
	p.UserID, u.password = u.ID, p
	s.addUser(u)
	return u.copy(), nil
}

// newPassword returns the record in the form that the store keeps. An invalid record
// is an error.
func newPassword(op string, record adapter.Password) (*adapter.Password, error) {
	if err := record.Check(); err != nil {
		return nil, fmt.Errorf("memory: %s: %w", op, err)
	}
	return ownPassword(record), nil
}

// GetPassword returns the password of the user, or nil. [PASS-01] [PASS-02]
func (s *store) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	if err := begin(ctx, "get password"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if u, ok := s.users[userID]; ok {
		return copied(u.password), nil
	}
	return nil, nil
}

// SetPassword stores the password of an existing user. [PASS-01] [PASS-03]
func (s *store) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	const op = "set password"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	p, err := newPassword(op, password)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, ok := s.users[p.UserID]
	if !ok {
		return nil, notFound(op, "user")
	}
	owner.password = p
	return copied(p), nil
}

// SwapPassword stores to, if the stored password is from. [PASS-04] [PASS-05]
func (s *store) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	const op = "swap password"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	p, err := newPassword(op, to)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, ok := s.users[from.UserID]
	if !ok || owner.password == nil || *owner.password != from {
		return nil, nil
	}
	p.UserID, owner.password = owner.ID, p
	return copied(p), nil
}

// DeletePassword deletes the password of the user and returns it, or nil. [PASS-06]
// [PASS-07]
func (s *store) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	const op = "delete password"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, ok := s.users[userID]
	if !ok || owner.password == nil {
		return nil, nil
	}
	if keepOne && len(owner.accounts) == 0 && len(owner.authenticators) == 0 {
		return nil, fmt.Errorf("memory: %s: %w", op, adapter.ErrLastCredential)
	}
	deleted := owner.password
	owner.password = nil
	return deleted, nil
}
