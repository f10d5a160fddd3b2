package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateSession implements [adapter.Sessions]. [SESS-05] [SESS-07] [CONC-05]
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	var p problems
	p.key("sessionToken", session.SessionToken)
	p.key("userId", session.UserID)
	p.instant("expires", session.Expires)
	var made *adapter.Session
	err := a.call(ctx, "create session", func(db DB) error {
		if err := p.err(); err != nil {
			return err
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		owner, ok := sql.kind.arg(session.UserID)
		if !ok {
			return adapter.ErrNotFound
		}
		rows, err := db.Query(ctx, sql.createSession, session.SessionToken, owner, instantArg(session.Expires))
		if made, err = first(rows, err, scanSession); err == nil && made == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return made, err
}

// GetSessionAndUser implements [adapter.Sessions]. It is one join and one round
// trip, also when it is the adapter's first call. A session past its expiry is
// returned as it is. [SESS-02] [SESS-20] [SESS-22]
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	return lookup(ctx, a, "get session and user", func(rows pgx.Rows) (v adapter.SessionAndUser, err error) {
		u := &v.User
		err = rows.Scan(&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image, &v.Session.Expires)
		inUTC(u.EmailVerified)
		inUTC(&v.Session.Expires)
		v.Session.SessionToken, v.Session.UserID = sessionToken, u.ID
		return v, err
	}, a.sql.getSessionAndUser, sessionToken)
}

// UpdateSession implements [adapter.Sessions]. [SESS-08] [SESS-10] [SESS-23]
// [CONC-07]
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	userID, setUserID := update.UserID.Get()
	expires, setExpires := update.Expires.Get()
	var p problems
	if setUserID {
		p.key("userId", userID)
	}
	if setExpires {
		p.instant("expires", expires)
	}
	var session *adapter.Session
	err := a.call(ctx, "update session", func(db DB) error {
		if !lookable(update.SessionToken) {
			return nil
		}
		if err := p.err(); err != nil {
			return err
		}
		var rows pgx.Rows
		var err error
		switch {
		case setUserID:
			var sql *idStatements
			if sql, err = a.learn(ctx, db); err != nil {
				return err
			}
			owner, ok := sql.kind.arg(userID)
			if !ok {
				owner = nil // a null is nobody's ID
			}
			rows, err = db.Query(ctx, sql.updateSession, update.SessionToken, owner, setExpires, instantArg(expires))
		case setExpires:
			rows, err = db.Query(ctx, a.sql.updateSessionExpiry, update.SessionToken, instantArg(expires))
		default:
			rows, err = db.Query(ctx, a.sql.getSession, update.SessionToken)
		}
		if session, err = first(rows, err, scanSession); errors.Is(err, errRefused) {
			return adapter.ErrNotFound
		}
		return err
	})
	return session, err
}

// DeleteSession implements [adapter.Sessions]. [SESS-15] [SESS-18]
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	return lookup(ctx, a, "delete session", scanSession, a.sql.deleteSession, sessionToken)
}

// ListSessionsByUserID implements [adapter.SessionLists]. Sessions past their
// expiry are among them. [SLIST-01] to [SLIST-03]
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	return list(ctx, a, "list sessions by user id", scanSession, userID,
		func(sql *idStatements) string { return sql.listSessionsByUserID })
}

// DeleteSessionsByUserID implements [adapter.SessionLists]. [SLIST-04] to
// [SLIST-07]
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (deleted int64, err error) {
	if !storable(except) {
		except = "" // no session has it
	}
	err = a.call(ctx, "delete sessions by user id", func(db DB) error {
		sql, owner, err := a.owner(ctx, db, userID)
		if err != nil || owner == nil {
			return err
		}
		deleted, err = count(ctx, db, sql.deleteSessionsByUserID, owner, except)
		return err
	})
	return deleted, err
}
