package large

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openMemory() *Store {
	size := func(context.Context) (int64, error) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc), nil
	}
	a := memory.New()
	s := &Store{Name: "memory", Server: "memory", Adapter: a, Size: size}
	s.byAdapter()
	byAdapter := s.AddUsers
	hand := &memoryHand{users: map[string]*adapter.User{}, byEmail: map[string]*adapter.User{}, sessions: map[string]adapter.Session{}}
	s.Hand = hand
	var beside int64 // bytes in the maps of the hand-written code
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		if err := byAdapter(ctx, r, from, to); err != nil {
			return err
		}
		before, _ := size(ctx)
		for n := from; n < to; n++ {
			u := &adapter.User{ID: r.id(n), Name: new("Somebody Else"), Email: r.email(n)}
			hand.users[u.ID], hand.byEmail[u.Email] = u, u
			hand.sessions[r.token(n)] = adapter.Session{SessionToken: r.token(n), UserID: u.ID, Expires: r.expires(n)}
		}
		after, _ := size(ctx)
		beside += after - before
		return nil
	}
	s.Size = func(ctx context.Context) (int64, error) {
		all, err := size(ctx)
		return all - beside, err
	}
	return s
}

// memoryHand has maps and a lock.
type memoryHand struct {
	mu             sync.RWMutex
	users, byEmail map[string]*adapter.User
	sessions       map[string]adapter.Session
}

// copyUser returns a copy that shares no memory with the stored user.
func copyUser(u *adapter.User) adapter.User {
	c := *u
	c.Name = new(*u.Name)
	return c
}

func (h *memoryHand) GetSessionAndUser(_ context.Context, token string) (*adapter.SessionAndUser, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s, ok := h.sessions[token]
	if !ok {
		return nil, nil
	}
	return &adapter.SessionAndUser{Session: s, User: copyUser(h.users[s.UserID])}, nil
}

func (h *memoryHand) GetUserByEmail(_ context.Context, email string) (*adapter.User, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	u, ok := h.byEmail[email]
	if !ok {
		return nil, nil
	}
	return new(copyUser(u)), nil
}

func (h *memoryHand) CreateSession(_ context.Context, s adapter.Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[s.SessionToken] = s
	return nil
}

func (h *memoryHand) UpdateUser(_ context.Context, id, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users[id].Name = &name
	return nil
}

func (h *memoryHand) DeleteExpired(_ context.Context, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for token, s := range h.sessions {
		if !s.Expires.After(now) {
			delete(h.sessions, token)
		}
	}
	return nil
}
