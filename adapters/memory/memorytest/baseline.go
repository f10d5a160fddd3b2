package memorytest

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has some of the methods in the least code: maps and a lock.
// Benchmarks compare the adapter with it.
type Baseline struct {
	mu             sync.RWMutex
	users, byEmail map[string]*adapter.User
	sessions       map[string]adapter.Session
}

// NewBaseline returns an empty one.
func NewBaseline() *Baseline {
	return &Baseline{users: map[string]*adapter.User{}, byEmail: map[string]*adapter.User{}, sessions: map[string]adapter.Session{}}
}

// Add stores a user with a session.
func (h *Baseline) Add(u adapter.User, s adapter.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users[u.ID], h.byEmail[u.Email] = &u, &u
	h.sessions[s.SessionToken] = s
}

// copyUser returns a copy that shares no memory with the stored user.
func copyUser(u *adapter.User) adapter.User {
	c := *u
	c.Name = new(*u.Name)
	return c
}

// GetSessionAndUser returns copies.
func (h *Baseline) GetSessionAndUser(_ context.Context, token string) (*adapter.SessionAndUser, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s, ok := h.sessions[token]
	if !ok {
		return nil, nil
	}
	return &adapter.SessionAndUser{Session: s, User: copyUser(h.users[s.UserID])}, nil
}

// GetUserByEmail returns a copy.
func (h *Baseline) GetUserByEmail(_ context.Context, email string) (*adapter.User, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	u, ok := h.byEmail[email]
	if !ok {
		return nil, nil
	}
	return new(copyUser(u)), nil
}

// CreateSession stores a session.
func (h *Baseline) CreateSession(_ context.Context, s adapter.Session) (*adapter.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[s.SessionToken] = s
	return &s, nil
}

// UpdateUser changes a stored user.
func (h *Baseline) UpdateUser(_ context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored := h.users[u.ID]
	u.Apply(stored)
	return new(copyUser(stored)), nil
}

// DeleteExpired looks at every session.
func (h *Baseline) DeleteExpired(_ context.Context, now time.Time) (swept adapter.Swept, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for token, s := range h.sessions {
		if !s.Expires.After(now) {
			delete(h.sessions, token)
			swept.Sessions++
		}
	}
	return swept, nil
}
