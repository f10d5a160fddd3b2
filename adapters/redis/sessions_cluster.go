package redis

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// On a cluster a session and the list of its user's sessions are in two slots,
// which nothing changes at once. A session is listed before it is written, so
// that whatever is written is found when all sessions of the user are ended,
// and it names the incarnation of its user, so that it is dead as soon as the
// user is.

// register lists a session and returns the incarnation of its user.
func (a *Adapter) register(ctx context.Context, s *adapter.Session) (string, error) {
	r, err := a.session(ctx, "register", []any{a.keys.user(s.UserID), a.keys.sessions(s.UserID)}, s.SessionToken, s.UserID, &s.Expires)
	if err == nil && r.word() != "ok" {
		err = errNoUser
	}
	return at[string](r, 1), err
}

// createSessionApart lists the session a second time after it is written: a call
// that ended all sessions in between removed it from the list before it existed.
func (a *Adapter) createSessionApart(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	inc, err := a.register(ctx, &s)
	if err != nil {
		return nil, err
	}
	value, err := encode(sessionRecord{User: s.UserID, Inc: inc, Expires: new(s.Expires.UnixMicro())}, nil)
	if err == nil {
		err = a.send(ctx, "set", a.keys.session(s.SessionToken), value, "pxat", deadline(s.Expires), "nx").Err()
	}
	if errors.Is(err, goredis.Nil) {
		err = errTaken
	}
	if err != nil {
		return nil, err
	}
	again, err := a.register(ctx, &s)
	if err == nil && again != inc {
		err = errNoUser
	}
	if err != nil { // a session of a user who is gone is dead, and expires
		return nil, err
	}
	return sessionAs(s.SessionToken)(value)
}

func (a *Adapter) updateSessionApart(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	for range attempts {
		there, _, err := a.sessionAndUser(ctx, update.SessionToken)
		if err != nil || there == nil {
			return nil, err
		}
		s := there.session(update.SessionToken)
		update.Apply(s)
		inc, err := a.register(ctx, s)
		if s.UserID == there.User && (errors.Is(err, errNoUser) || err == nil && inc != there.Inc) {
			return nil, nil // the user was deleted meanwhile, and the session too
		}
		if err != nil {
			return nil, err
		}
		p, end := patch{"user", "=" + s.UserID, "inc", "=" + inc}, any("")
		if update.Expires.IsSet() {
			p, end = append(p, "expires", "="+micros(s.Expires)), deadline(s.Expires)
		}
		r, err := a.update(ctx, a.keys.session(s.SessionToken), p, "inc", there.Inc, "", end)
		if errors.Is(err, adapter.ErrNotFound) {
			return nil, nil
		}
		if err == nil && r.word() == "other" { // it was given to another user
			continue
		}
		if err == nil && s.UserID != there.User {
			err = a.send(ctx, "zrem", a.keys.sessions(there.User), s.SessionToken).Err()
		}
		return result(r, err, sessionAs(s.SessionToken))
	}
	return nil, errContention
}

func (a *Adapter) deleteSessionApart(ctx context.Context, token string) (*adapter.Session, error) {
	there, _, err := a.sessionAndUser(ctx, token)
	if err != nil || there == nil {
		return nil, err
	}
	value, err := a.send(ctx, "getdel", a.keys.session(token)).Text()
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	if err == nil {
		err = a.send(ctx, "zrem", a.keys.sessions(there.User), token).Err()
	}
	return result(answer{"ok", value}, err, sessionAs(token))
}
