package redis

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// listedFor is how long a session stays listed after the server may have removed
// it, so that a clock that is ahead does not drop a valid session from the list.
const listedFor = 24 * time.Hour

// CreateSession implements adapter.Sessions.
func (a *Adapter) CreateSession(ctx context.Context, s adapter.Session) (_ *adapter.Session, err error) {
	defer wrap(ctx, "create session", &err)
	if err := required("sessionToken", s.SessionToken, "userId", s.UserID); err != nil {
		return nil, err
	}
	return a.writeSession(ctx, "create", allOf(s))
}

// allOf returns an update that sets every field.
func allOf(s adapter.Session) adapter.SessionUpdate {
	return adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(s.UserID), Expires: adapter.To(s.Expires)}
}

// GetSessionAndUser implements adapter.Sessions.
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (_ *adapter.SessionAndUser, err error) {
	defer wrap(ctx, "get session and user", &err)
	s, u, err := a.sessionAndUser(ctx, sessionToken)
	if u == nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: *s.session(sessionToken), User: *u.user()}, nil
}

// sessionAndUser reads a session and its user. The user is nil if either is absent.
func (a *Adapter) sessionAndUser(ctx context.Context, token string) (*sessionRecord, *userRecord, error) {
	s := new(sessionRecord)
	u, err := a.follow(ctx, "session", a.keys.session(token), func(value string) (string, error) {
		_, err := decode(value, s)
		return s.User, err
	})
	if u != nil && u.Inc != s.Inc {
		u = nil
	}
	return s, u, err
}

// UpdateSession implements adapter.Sessions.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (_ *adapter.Session, err error) {
	defer wrap(ctx, "update session", &err)
	if userID, moves := update.UserID.Get(); moves && userID == "" {
		return nil, errNoUser
	}
	return a.writeSession(ctx, "update", update)
}

// DeleteSession implements adapter.Sessions.
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (_ *adapter.Session, err error) {
	defer wrap(ctx, "delete session", &err)
	return a.writeSession(ctx, "delete", adapter.SessionUpdate{SessionToken: sessionToken})
}

// writeSession creates, updates or deletes a session. It returns the written or
// deleted session, or nil if there is no session to update or delete.
func (a *Adapter) writeSession(ctx context.Context, operation string, s adapter.SessionUpdate) (*adapter.Session, error) {
	write := a.session
	if a.declared {
		write = a.sessionApart
	}
	r, err := write(ctx, operation, s)
	record, err := result(r, err, new(sessionRecord))
	return record.session(s.SessionToken), err
}

// session runs the session script. The script changes a session, and the list of
// its user's sessions if one script may touch both. The incarnations are for
// sessionApart.
func (a *Adapter) session(ctx context.Context, operation string, s adapter.SessionUpdate, incarnations ...any) (answer, error) {
	keys := []any{a.keys.session(s.SessionToken)}
	userID, _ := s.UserID.Get()
	if operation == "register" {
		keys = []any{a.keys.user(userID), a.keys.sessions(userID)}
	}
	until, end := "", any("")
	if t, changes := s.Expires.Get(); changes {
		until, end = micros(t), deadline(t)
	}
	args := []any{operation, s.SessionToken, userID, until, end, time.Now().Add(-listedFor).UnixMilli(), ttlMargin.Milliseconds()}
	return a.run(ctx, "session", keys, append(args, incarnations...)...)
}

// register adds a session to its user's list and returns the incarnation of the
// user.
func (a *Adapter) register(ctx context.Context, s adapter.Session) (string, error) {
	r, err := a.session(ctx, "register", allOf(s))
	return at[string](r, 1), err
}

// sessionApart writes a session on a cluster, where no script can change both
// slots at once. A session is listed before it is written, so that a deletion of
// all sessions of the user finds every written session. The session names the
// incarnation of its user, so that it ends when the user is deleted.
func (a *Adapter) sessionApart(ctx context.Context, operation string, update adapter.SessionUpdate, _ ...any) (r answer, err error) {
	s, before, inc := adapter.Session{SessionToken: update.SessionToken}, new(sessionRecord), ""
	if operation != "create" {
		var u *userRecord
		if before, u, err = a.sessionAndUser(ctx, s.SessionToken); u == nil {
			return nil, err
		}
		s = *before.session(s.SessionToken)
	}
	update.Apply(&s)
	moves := s.UserID != before.User
	if operation != "delete" {
		inc, err = a.register(ctx, s)
		if errors.Is(err, errNoUser) && !moves { // the user was deleted during the call, and so was the session
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	r, err = a.session(ctx, operation, update, before.Inc, inc)
	switch {
	case err != nil:
	case r.word() == "other": // another call has given the session to another user
		return a.sessionApart(ctx, operation, update)
	case operation == "create": // a call that deleted all sessions in between has removed this one from the list before it existed
		if again, err := a.register(ctx, s); err != nil || again != inc {
			return nil, cmp.Or(err, errNoUser) // the session of a deleted user is not valid, and expires
		}
	case operation == "delete" || moves:
		err = a.send(ctx, "zrem", a.keys.sessions(before.User), s.SessionToken).Err()
	}
	return r, err
}
