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

// session runs the session script. The expiry is nil if it does not change.
func (a *Adapter) session(ctx context.Context, operation string, keys []any, token, userID string, expires *time.Time) (answer, error) {
	until, end := "", any("")
	if expires != nil {
		until, end = micros(*expires), deadline(*expires)
	}
	return a.run(ctx, "session", keys, operation, token, userID, until, end, time.Now().Add(-listedFor).UnixMilli(), ttlMargin.Milliseconds())
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
	s.Expires = *kept(&s.Expires)
	r, err := a.session(ctx, "create", []any{a.keys.session(s.SessionToken)}, s.SessionToken, s.UserID, &s.Expires)
	return result(r, err, given(&s))
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
	s, u, err := follow(ctx, a, "session", a.keys.session(token), decode[sessionRecord], func(s *sessionRecord) string { return s.User })
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
	var expires *time.Time
	if v, changes := update.Expires.Get(); changes {
		expires = &v
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
	r, err := a.session(ctx, "delete", []any{a.keys.session(sessionToken)}, sessionToken, "", nil)
	return result(r, err, sessionAs(sessionToken))
}
