package ownadapter

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const sessionColumns = "session_token, user_id, expires"

func scanSession(scan func(...any) error) (*adapter.Session, error) {
	var s adapter.Session
	var expires int64
	err := scan(&s.SessionToken, &s.UserID, &expires)
	if err == nil {
		s.Expires, err = instant(expires)
	}
	return &s, err
}

// CreateSession stores a session of an existing user.
func (a Adapter) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	const op = "create session"
	if err := required(op, s.SessionToken); err != nil {
		return nil, err
	}
	expires, err := millis(op, s.Expires)
	if err != nil {
		return nil, err
	}
	return one(ctx, a, op, scanSession, `INSERT INTO sessions VALUES (?, ?, ?) RETURNING `+sessionColumns, s.SessionToken, s.UserID, expires)
}

// GetSessionAndUser returns the session with the current record of its user, in
// one statement.
func (a Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	scan := func(scan func(...any) error) (*adapter.SessionAndUser, error) {
		var both adapter.SessionAndUser
		var expires int64
		var verified *int64
		u := &both.User
		if err := scan(&both.Session.SessionToken, &both.Session.UserID, &expires, &u.ID, &u.Name, &u.Email, &verified, &u.Image); err != nil {
			return nil, err
		}
		var err error
		if both.Session.Expires, err = instant(expires); err != nil {
			return nil, err
		}
		return &both, setVerified(u, verified)
	}
	return one(ctx, a, "get session and user", scan, `SELECT `+sessionColumns+`, `+userColumns+`
		FROM sessions JOIN users ON id = user_id WHERE session_token = ?`, sessionToken)
}

// UpdateSession changes the fields that are set. If the session was deleted,
// the statement changes nothing and the result is nil.
func (a Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	const op = "update session"
	userID, setUser := update.UserID.Get()
	at, setExpires := update.Expires.Get()
	expires, err := int64(0), error(nil)
	if setExpires {
		if expires, err = millis(op, at); err != nil {
			return nil, err
		}
	}
	return one(ctx, a, op, scanSession, `UPDATE sessions SET user_id = iif(?, ?, user_id), expires = iif(?, ?, expires)
		WHERE session_token = ? RETURNING `+sessionColumns, setUser, userID, setExpires, expires, update.SessionToken)
}

// DeleteSession deletes the session and returns it, or nil.
func (a Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	return one(ctx, a, "delete session", scanSession, `DELETE FROM sessions WHERE session_token = ? RETURNING `+sessionColumns, sessionToken)
}

// DeleteExpired removes what expired at or before now.
func (a Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	const op = "delete expired"
	for _, c := range []struct {
		table string
		count *int64
	}{{"sessions", &swept.Sessions}, {"verification_tokens", &swept.VerificationTokens}} {
		result, err := a.db.ExecContext(ctx, `DELETE FROM `+c.table+` WHERE expires <= ?`, now.UnixMilli())
		if err != nil {
			return swept, failed(ctx, op, err)
		}
		if *c.count, err = result.RowsAffected(); err != nil {
			return swept, failed(ctx, op, err)
		}
	}
	return swept, nil
}
