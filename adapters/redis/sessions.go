package redis

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A session is in a slot of its own, and listed in the shared slot. Where one
// script may touch both, a write is one script; the other way is in
// sessions_cluster.go.

// listedFor is how long a session stays listed after the server may have
// removed it, so that a clock that is ahead drops no session that lives.
const listedFor = 24 * time.Hour

// session runs the session script.
func (a *Adapter) session(ctx context.Context, operation string, keys []any, token, userID, expires string) (answer, error) {
	return a.run(ctx, "session", keys, operation, token, userID, expires, ttlMargin.Milliseconds(), time.Now().Add(-listedFor).UnixMilli())
}

// CreateSession implements adapter.Sessions.
func (a *Adapter) CreateSession(ctx context.Context, s adapter.Session) (_ *adapter.Session, err error) {
	defer wrap("create session", &err)
	if err := required("sessionToken", s.SessionToken, "userId", s.UserID); err != nil {
		return nil, err
	}
	if a.declared {
		return a.createSessionApart(ctx, s)
	}
	r, err := a.session(ctx, "create", []any{a.keys.session(s.SessionToken)}, s.SessionToken, s.UserID, micros(s.Expires))
	return result(r, err, sessionAs(s.SessionToken))
}

// GetSessionAndUser implements adapter.Sessions.
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (_ *adapter.SessionAndUser, err error) {
	defer wrap("get session and user", &err)
	s, u, err := a.sessionAndUser(ctx, sessionToken)
	if err != nil || s == nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: *s.session(sessionToken), User: *u.user(s.User)}, nil
}

// sessionAndUser reads a session and its user, or nil if either is absent.
func (a *Adapter) sessionAndUser(ctx context.Context, token string) (*sessionRecord, *userRecord, error) {
	key, read := a.keys.session(token), a.get // the user may be in another slot
	if !a.declared {
		read = func(ctx context.Context, key string) (answer, error) {
			return a.run(ctx, "follow", []any{key}, "session")
		}
	}
	r, err := read(ctx, key)
	s, err := result(r, err, decode[sessionRecord])
	if err != nil || s == nil {
		return nil, nil, err
	}
	owner := answer{"ok", at[string](r, 2)}
	if a.declared {
		owner, err = a.get(ctx, a.keys.user(s.User))
	}
	u, err := result(owner, err, decode[userRecord])
	if err != nil || u == nil || u.Inc != s.Inc {
		return nil, nil, err
	}
	return s, u, nil
}

// UpdateSession implements adapter.Sessions.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (_ *adapter.Session, err error) {
	defer wrap("update session", &err)
	token := update.SessionToken
	userID, moves := update.UserID.Get()
	if moves && userID == "" {
		return nil, errNoUser
	}
	if a.declared {
		return a.updateSessionApart(ctx, update)
	}
	var expires string
	if v, changes := update.Expires.Get(); changes {
		expires = micros(v)
	}
	r, err := a.session(ctx, "update", []any{a.keys.session(token)}, token, userID, expires)
	return result(r, err, sessionAs(token))
}

// DeleteSession implements adapter.Sessions.
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (_ *adapter.Session, err error) {
	defer wrap("delete session", &err)
	if a.declared {
		return a.deleteSessionApart(ctx, sessionToken)
	}
	r, err := a.session(ctx, "delete", []any{a.keys.session(sessionToken)}, sessionToken, "", "")
	return result(r, err, sessionAs(sessionToken))
}
