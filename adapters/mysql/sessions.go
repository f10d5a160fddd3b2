package mysql

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	sessionColumns = "s.sessionToken, s.userId, CAST(s.expires AS CHAR)"
	sessionByToken = "SELECT " + sessionColumns + " FROM `session` s WHERE s.sessionToken = ?"
)

// CreateSession stores a session of an existing user.
// [SESS-01] [SESS-05] [SESS-07] [CONC-05]
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	const op = "create session"
	if session.SessionToken == "" {
		return nil, missing(op, "session token")
	}
	expires, err := toInstant(session.Expires)
	r := recordOf("session").set("sessionToken", session.SessionToken).set("userId", session.UserID).
		instant("expires", expires, err)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if err := a.insert(ctx, op, r); err != nil {
		return nil, err
	}
	return a.storedSession(session), nil
}

func (a *Adapter) storedSession(s adapter.Session) *adapter.Session {
	s.Expires = a.shape.Load().stored("s.expires", s.Expires)
	return &s
}

// GetSessionAndUser returns the session and its owner, or nil. An expired session is
// returned with its true Expires until DeleteExpired removes it. [SESS-02] [SESS-19] to
// [SESS-22]
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	const op = "get session and user"
	if !isKey(tokenLength, sessionToken) {
		return nil, absent(ctx, op)
	}
	found, err := get(ctx, a, op, "SELECT "+userColumns+", CAST(s.expires AS CHAR) FROM `session` s JOIN `user` u ON u.id = s.userId WHERE s.sessionToken = ?",
		readSessionAndUser, sessionToken)
	if found != nil {
		found.Session.SessionToken = sessionToken
	}
	return found, err
}

// UpdateSession changes the fields that the update sets and returns the session, or nil
// if it is absent. If the new owner is absent, nothing changes and the error matches
// adapter.ErrNotFound. [SESS-08] to [SESS-14] [SESS-23] [CONC-07]
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	const op = "update session"
	if !isKey(tokenLength, update.SessionToken) {
		return nil, absent(ctx, op)
	}
	userID, setUser := update.UserID.Get()
	r := recordOf("session").change(setUser, "userId", userID)
	if at, setExpires := update.Expires.Get(); setExpires {
		expires, err := toInstant(at)
		r.instant("expires", expires, err)
	}
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	var session *adapter.Session
	err := a.write(ctx, op, func(o on) (err error) {
		session, err = one(ctx, o, sessionByToken+" FOR UPDATE", readSession, update.SessionToken)
		if err != nil || session == nil || len(r.columns) == 0 {
			return err
		}
		update.Apply(session)
		return o.update(ctx, r, "s.sessionToken = ?", update.SessionToken)
	})
	if err != nil || session == nil {
		return nil, err
	}
	return a.storedSession(*session), nil
}

// DeleteSession deletes the session and returns it, or nil. [SESS-15] to [SESS-18]
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	const op = "delete session"
	if !isKey(tokenLength, sessionToken) {
		return nil, absent(ctx, op)
	}
	return remove(ctx, a, op, sessionByToken, "DELETE s FROM `session` s WHERE s.sessionToken = ?", readSession, sessionToken)
}

// ListSessionsByUserID returns the user's sessions, including expired ones, in no
// particular order. For an unknown user the slice is empty and not nil. [SLIST-01] to
// [SLIST-03]
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	if !isKey(idLength, userID) {
		return none[adapter.Session](ctx, "list sessions")
	}
	return list(ctx, a, "list sessions", "SELECT "+sessionColumns+" FROM `session` s WHERE s.userId = ?", readSession,
		userID)
}

// DeleteSessionsByUserID deletes all sessions of the user except the one whose token is
// the argument except. It works in batches. If it fails half-way, the finished batches
// stay deleted, and the returned number counts them. [SLIST-04] to [SLIST-07]
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	const op = "delete sessions"
	if !isKey(idLength, userID) {
		return 0, absent(ctx, op)
	}
	if !isKey(tokenLength, except) {
		except = "" // no session has it
	}
	return a.inBatches(ctx, op, "session", func(instant) (string, []any) {
		return "s.userId = ? AND s.sessionToken <> ? LIMIT ? FOR UPDATE", []any{userID, except}
	})
}

func readSession(rows *sql.Rows) (*adapter.Session, error) {
	var (
		session adapter.Session
		expires sql.RawBytes
	)
	err := rows.Scan(&session.SessionToken, &session.UserID, &expires)
	if err != nil {
		return nil, err
	}
	if session.Expires, err = fromInstant(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &session, nil
}

// readSessionAndUser leaves out the token.
func readSessionAndUser(rows *sql.Rows) (*adapter.SessionAndUser, error) {
	var (
		found   adapter.SessionAndUser
		expires sql.RawBytes
	)
	err := scanUser(rows, &found.User, &expires)
	if err != nil {
		return nil, err
	}
	found.Session.UserID = found.User.ID
	if found.Session.Expires, err = fromInstant(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &found, nil
}
