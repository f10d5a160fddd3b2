package sqlite

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const sessionColumns = `{s.sessionToken}, {s.userId}, {s.expires}`

// CreateSession stores a session of an existing user.
// [SESS-01] [SESS-05] [SESS-07] [CONC-05]
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	const op = "create session"
	if session.SessionToken == "" {
		return nil, missing(op, "session token")
	}
	expires, err := toMillis(session.Expires)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	created, err := one(ctx, a, `
		INSERT INTO "session" ({new s: sessionToken, userId, expires}) VALUES ({values s: sessionToken, userId, expires})
		RETURNING `+sessionColumns, readSession,
		session.SessionToken, session.UserID, expires)
	if err != nil {
		return nil, ownerFailed(ctx, op, err)
	}
	return created, nil
}

// GetSessionAndUser returns the session and its owner, or nil. An expired session is
// returned with its true Expires until DeleteExpired removes it. [SESS-02] [SESS-19]
// to [SESS-22]
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	found, err := one(ctx, a, `
		SELECT u.{u.id}, u.{u.name}, u.{u.email}, u.{u.emailVerified}, u.{u.image}, s.{s.expires}
		FROM "session" s JOIN "user" u ON u.{u.id} = s.{s.userId}
		WHERE s.{s.sessionToken} = ?`, readSessionAndUser, sessionToken)
	if err != nil {
		return nil, failed(ctx, "get session and user", err)
	}
	if found != nil {
		found.Session.SessionToken = sessionToken
	}
	return found, nil
}

// UpdateSession changes the fields that the update sets and returns the session, or
// nil if it is absent. If the new owner is absent, nothing changes and the error
// matches adapter.ErrNotFound: the statement looks the owner up, and the null of an
// absent owner violates NOT NULL. [SESS-08] to [SESS-14] [SESS-23] [CONC-07]
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	const op = "update session"
	userID, setUser := update.UserID.Get()
	at, setExpires := update.Expires.Get()
	expires, err := toMillis(at)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	var set assignments
	set.add(setUser, "userId", userID)
	set.add(setExpires, "expires", expires)
	session, err := one(ctx, a, set.update("session", "{s.sessionToken} = ?", sessionColumns), readSession,
		append(set.values, update.SessionToken)...)
	if err != nil {
		return nil, ownerFailed(ctx, op, err)
	}
	return session, nil
}

// DeleteSession deletes the session and returns it, or nil.
// [SESS-15] to [SESS-18]
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	session, err := one(ctx, a, `
		DELETE FROM "session" WHERE {s.sessionToken} = ?
		RETURNING `+sessionColumns, readSession, sessionToken)
	if err != nil {
		return nil, failed(ctx, "delete session", err)
	}
	return session, nil
}

// ListSessionsByUserID returns the user's sessions, including expired ones, in no
// particular order. For an unknown user the slice is empty and not nil. [SLIST-01] to
// [SLIST-03]
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	list, err := all(ctx, a, `
		SELECT `+sessionColumns+` FROM "session" WHERE {s.userId} = ?`, readSession, userID)
	if err != nil {
		return nil, failed(ctx, "list sessions", err)
	}
	return list, nil
}

// DeleteSessionsByUserID deletes all sessions of the user except the one whose token
// is the argument except. It works in batches, so that other writers get the lock in
// between. If it fails half-way, the finished batches stay deleted, and the returned
// number counts them. [SLIST-04] to [SLIST-07]
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	deleted, err := a.inBatches(ctx, `
		DELETE FROM "session" WHERE {s.sessionToken} IN (
			SELECT {s.sessionToken} FROM "session" WHERE {s.userId} = ? AND {s.sessionToken} <> ? LIMIT ?)`, userID, except)
	if err != nil {
		return deleted, failed(ctx, "delete sessions", err)
	}
	return deleted, nil
}

func readSession(rows *sql.Rows) (*adapter.Session, error) {
	var (
		session adapter.Session
		expires int64
	)
	err := rows.Scan(&session.SessionToken, &session.UserID, &expires)
	if err != nil {
		return nil, err
	}
	if session.Expires, err = fromMillis(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &session, nil
}

// readSessionAndUser leaves out the token.
func readSessionAndUser(rows *sql.Rows) (*adapter.SessionAndUser, error) {
	var (
		found   adapter.SessionAndUser
		user    userRow
		expires int64
	)
	err := rows.Scan(append(user.columns(), &expires)...)
	if err != nil {
		return nil, err
	}
	if found.User, err = user.user(); err != nil {
		return nil, err
	}
	found.Session.UserID = found.User.ID
	if found.Session.Expires, err = fromMillis(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &found, nil
}
