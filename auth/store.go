package auth

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// store is the one door to the adapter: nothing else calls a method of it. It
// names each call in the debug log, as Auth.js does, and marks each error as
// ErrAdapter. A nil *store means that there is no adapter.
//
// A function that calls the store takes plain values: it neither reads a request
// nor makes a response.
type store struct {
	adapter adapter.Adapter
	trace   func(ctx context.Context, call string)
	clock   func() time.Time
	session SessionConfig
}

func newStore(e *engine, c *Config) *store {
	if c.Adapter == nil {
		return nil
	}
	return &store{adapter: c.Adapter, trace: func(ctx context.Context, call string) { e.debug(ctx, call) }, clock: c.Clock, session: c.Session}
}

// fromAdapter marks the error of a call of the adapter as such.
func fromAdapter[T any](v T, err error) (T, error) {
	if err != nil {
		err = &Error{Type: ErrAdapter, Cause: err}
	}
	return v, err
}

func (s *store) createUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	s.trace(ctx, "adapter_createUser")
	return fromAdapter(s.adapter.CreateUser(ctx, u))
}

func (s *store) user(ctx context.Context, id string) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUser")
	return fromAdapter(s.adapter.GetUser(ctx, id))
}

func (s *store) userByEmail(ctx context.Context, email string) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUserByEmail")
	return fromAdapter(s.adapter.GetUserByEmail(ctx, email))
}

func (s *store) userByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUserByAccount")
	return fromAdapter(s.adapter.GetUserByAccount(ctx, key))
}

func (s *store) updateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	s.trace(ctx, "adapter_updateUser")
	return fromAdapter(s.adapter.UpdateUser(ctx, u))
}

func (s *store) deleteUser(ctx context.Context, id string) error {
	s.trace(ctx, "adapter_deleteUser")
	_, err := fromAdapter(s.adapter.DeleteUser(ctx, id))
	return err
}

func (s *store) linkAccount(ctx context.Context, a adapter.Account) error {
	s.trace(ctx, "adapter_linkAccount")
	_, err := fromAdapter(s.adapter.LinkAccount(ctx, a))
	return err
}

// beginSession stores a new session of the user, with the token.
func (s *store) beginSession(ctx context.Context, userID, token string) (*adapter.Session, error) {
	s.trace(ctx, "adapter_createSession")
	now := s.clock()
	return fromAdapter(s.adapter.CreateSession(ctx, adapter.Session{SessionToken: s.session.stamped(token, now), UserID: userID, Expires: s.session.expires(now, now)}))
}

// sessionAndUser returns the session if it is not over, and otherwise nil. One
// that is over is deleted.
func (s *store) sessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	s.trace(ctx, "adapter_getSessionAndUser")
	stored, err := fromAdapter(s.adapter.GetSessionAndUser(ctx, token))
	if err != nil || stored == nil {
		return nil, err
	}
	now := s.clock()
	if over, _ := s.session.outlived(token, now); over || !now.Before(stored.Session.Expires) {
		_, err := s.endSession(ctx, token)
		return nil, err
	}
	return stored, nil
}

// liveSession is sessionAndUser, and moves the end of the session, at most once
// per UpdateAge.
func (s *store) liveSession(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	stored, err := s.sessionAndUser(ctx, token)
	if err != nil || stored == nil {
		return nil, err
	}
	now := s.clock()
	_, until := s.session.outlived(token, now)
	if extended := stored.Session.Expires.Add(-s.session.MaxAge); extended.Add(*s.session.UpdateAge).After(now) || s.session.AbsoluteMaxAge > 0 && !until.After(stored.Session.Expires) {
		return stored, nil
	}
	s.trace(ctx, "adapter_updateSession")
	updated, err := fromAdapter(s.adapter.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(until)}))
	if err != nil || updated == nil { // it was deleted while it was being read
		return nil, err
	}
	stored.Session.Expires = updated.Expires
	return stored, nil
}

// endSession deletes a session and returns it, or nil if there was none.
func (s *store) endSession(ctx context.Context, token string) (*adapter.Session, error) {
	s.trace(ctx, "adapter_deleteSession")
	return fromAdapter(s.adapter.DeleteSession(ctx, token))
}

func (s *store) createVerificationToken(ctx context.Context, t adapter.VerificationToken) error {
	s.trace(ctx, "adapter_createVerificationToken")
	_, err := fromAdapter(s.adapter.CreateVerificationToken(ctx, t))
	return err
}

func (s *store) useVerificationToken(ctx context.Context, identifier, hash string) (*adapter.VerificationToken, error) {
	s.trace(ctx, "adapter_useVerificationToken")
	return fromAdapter(s.adapter.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: identifier, Token: hash}))
}
