package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var sessionFields = []string{"expires"}

// score is where a session stands in the register of its owner.
func score(expires time.Time) string { return strconv.FormatInt(expires.UnixMilli(), 10) }

// CreateSession implements adapter.Sessions.
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	if err := required("sessionToken", session.SessionToken, "userId", session.UserID); err != nil {
		return nil, wrap("create session", err)
	}
	err := a.createChild(ctx, kindSession, a.keys.session(session.SessionToken), session.UserID, score(session.Expires),
		deadline(session.Expires), []any{"expires", formatTime(session.Expires)})
	if err != nil {
		return nil, wrap("create session", err)
	}
	session.Expires = session.Expires.UTC().Truncate(time.Microsecond)
	return &session, nil
}

// GetSessionAndUser implements adapter.Sessions.
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	c, session, err := a.session(ctx, sessionToken)
	if err != nil || session == nil {
		return nil, wrap("get session and user", err)
	}
	return &adapter.SessionAndUser{Session: *session, User: c.owner.user}, nil
}

func (a *Adapter) session(ctx context.Context, sessionToken string) (*child, *adapter.Session, error) {
	if sessionToken == "" {
		return nil, nil, nil
	}
	c, err := a.child(ctx, a.keys.session(sessionToken), a.sessions)
	if err != nil || c == nil {
		return nil, nil, err
	}
	session, err := decodeSession(sessionToken, c)
	return c, session, err
}

func decodeSession(sessionToken string, c *child) (*adapter.Session, error) {
	expires, ok := text(c.values[0])
	if !ok {
		return nil, errors.New("a session has no expiry")
	}
	t, err := parseTime(expires)
	if err != nil {
		return nil, err
	}
	return &adapter.Session{SessionToken: sessionToken, UserID: c.owner.id, Expires: t}, nil
}

// UpdateSession implements adapter.Sessions.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	session, err := a.updateSession(ctx, update)
	return session, wrap("update session", err)
}

func (a *Adapter) updateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	for range attempts {
		c, session, err := a.session(ctx, update.SessionToken)
		if err != nil || session == nil {
			return nil, err
		}
		owner := session.UserID
		update.Apply(session)
		session.Expires = session.Expires.UTC().Truncate(time.Microsecond)
		if !update.Expires.IsSet() && session.UserID == owner {
			return session, nil
		}
		fields := []any{}
		var ttl string
		if update.Expires.IsSet() {
			fields = append(fields, "expires", formatTime(session.Expires))
			ttl = deadline(session.Expires)
		}
		// The register first: what is in no register would outlive its owner.
		inc, err := a.register(ctx, kindSession, c.key, session.UserID, c.nonce, score(session.Expires))
		if err != nil {
			return nil, err
		}
		if session.UserID != owner {
			fields = append(fields, "owner", escaped(session.UserID), "inc", inc)
		} else if inc != c.owner.inc {
			continue // the owner was deleted since
		}
		done, err := a.once(ctx, scriptChildUpdate, c.key, nonce(), append([]any{c.nonce, ttl}, fields...)...).Bool()
		if err != nil {
			return nil, err
		}
		if !done {
			entry := inc + ":" + entryName(c.nonce, c.key)
			if err := a.forget(ctx, kindSession, session.UserID, entry); err != nil {
				return nil, err
			}
			continue
		}
		if session.UserID != owner {
			if err := a.forget(ctx, kindSession, owner, c.entry()); err != nil {
				return nil, err
			}
		}
		return session, nil
	}
	return nil, errContention
}

// DeleteSession implements adapter.Sessions.
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	c, session, err := a.session(ctx, sessionToken)
	if err != nil || session == nil {
		return nil, wrap("delete session", err)
	}
	deleted, err := a.deleteChild(ctx, kindSession, c, sessionFields)
	if err != nil || !deleted {
		return nil, wrap("delete session", err)
	}
	session, err = decodeSession(sessionToken, c)
	return session, wrap("delete session", err)
}
