package memory

import (
	"context"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateSession stores a session of an existing user.
// [SESS-01] [SESS-05] [SESS-07] [CONC-05]
func (s *store) CreateSession(ctx context.Context, record adapter.Session) (*adapter.Session, error) {
	const op = "create session"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	if record.SessionToken == "" {
		return nil, missing(op, "session token")
	}
	created := &session{token: strings.Clone(record.SessionToken), expires: record.Expires.UTC()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder, taken := s.sessions[created.token]; taken && !holder.owner.gone {
		return nil, conflict(op, "session token")
	} else if taken {
		s.drop(holder)
	}
	owner, ok := s.users[record.UserID]
	if !ok {
		return nil, notFound(op, "user")
	}
	created.owner = owner
	s.sessions[created.token] = created
	owner.sessions.add(created)
	return created.copy(), nil
}

// GetSessionAndUser returns the session and its owner, or nil. An expired
// session is returned with its true Expires until DeleteExpired removes it.
// [SESS-02] [SESS-19] to [SESS-22]
func (s *store) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	if err := begin(ctx, "get session and user"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.session(sessionToken); found != nil {
		return &adapter.SessionAndUser{Session: *found.copy(), User: *found.owner.copy()}, nil
	}
	return nil, nil
}

// UpdateSession changes the fields that the update sets and returns the
// session, or nil if it is absent. If the new owner is absent, nothing changes
// and the error matches adapter.ErrNotFound. [SESS-08] to [SESS-14] [SESS-23]
func (s *store) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	const op = "update session"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	updated := s.session(update.SessionToken)
	if updated == nil {
		return nil, nil
	}
	if id, set := update.UserID.Get(); set {
		owner, ok := s.users[id]
		if !ok {
			return nil, notFound(op, "user")
		}
		updated.owner.sessions.remove(updated)
		updated.owner = owner
		owner.sessions.add(updated)
	}
	if expires, set := update.Expires.Get(); set {
		updated.expires = expires.UTC()
	}
	return updated.copy(), nil
}

// DeleteSession deletes the session and returns it, or nil.
// [SESS-15] to [SESS-18]
func (s *store) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	if err := begin(ctx, "delete session"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted := s.session(sessionToken)
	if deleted == nil {
		return nil, nil
	}
	s.drop(deleted)
	return deleted.copy(), nil
}

// session returns the session, or nil if it or its owner is gone. The caller
// holds the lock, for reading at least.
func (s *store) session(token string) *session {
	if found, ok := s.sessions[token]; ok && !found.owner.gone {
		return found
	}
	return nil
}

// drop removes the session from all maps. The caller holds the lock.
func (s *store) drop(dropped *session) {
	delete(s.sessions, dropped.token)
	dropped.owner.sessions.remove(dropped)
}

// ListSessionsByUserID returns the user's sessions. For an unknown user the
// slice is empty and not nil. [SLIST-01] to [SLIST-03]
func (s *store) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	if err := begin(ctx, "list sessions"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := []adapter.Session{}
	if u, ok := s.users[userID]; ok {
		for _, session := range u.sessions {
			list = append(list, *session.copy())
		}
	}
	return list, nil
}

// DeleteSessionsByUserID deletes all sessions of the user except the one whose
// token is the argument except. It lets other calls in after each thousand
// sessions. [SLIST-04] to [SLIST-07]
func (s *store) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	if err := begin(ctx, "delete sessions"); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[userID]
	if !ok {
		return 0, nil
	}
	deleted := 0
	// Sessions that other calls add go to the end, and drop moves only the
	// last one. So the loop reaches every session that existed when the call
	// began.
	for i := len(u.sessions) - 1; i >= 0; i-- {
		if i = min(i, len(u.sessions)-1); i < 0 || u.gone {
			break
		}
		if session := u.sessions[i]; session.token != except {
			s.drop(session)
			deleted++
			s.letIn(deleted)
		}
	}
	return int64(deleted), nil
}
