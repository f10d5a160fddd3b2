package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateSession implements [adapter.Sessions]. [SESS-05] [SESS-07] [CONC-05]
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	var p problems
	p.key("sessionToken", session.SessionToken)
	p.key("userId", session.UserID)
	p.instant("expires", session.Expires)
	return create(ctx, a, "create session", scanSession, func(sql *statements) string { return sql.createSession },
		p, session.UserID, newSession, []any{session.SessionToken, instantArg(session.Expires)})
}

// GetSessionAndUser implements [adapter.Sessions]. It is one join and one round trip.
// An expired session is returned with its true Expires. [SESS-02] [SESS-20] [SESS-22]
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	return lookup(ctx, a, "get session and user", func(rows rows, v *adapter.SessionAndUser) error {
		err := scanUserAnd(rows, &v.User, &v.Session.Expires)
		inUTC(&v.Session.Expires)
		v.Session.SessionToken, v.Session.UserID = sessionToken, v.User.ID
		return err
	}, func(sql *statements) find { return sql.getSessionAndUser }, sessionToken)
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
	err := a.call(ctx, "update session", func(db link, sql *statements) error {
		if !possibleKey(update.SessionToken) {
			return nil
		}
		if err := p.err(); err != nil {
			return err
		}
		set := assignments{args: []any{update.SessionToken}}
		owner, ok := sql.ids.arg(userID)
		nobody := setUserID && !ok // then the statement only reads the session
		set.add(setUserID && ok, "s.userId", owner)
		set.add(setExpires && !nobody, "s.expires", instantArg(expires))
		statement, args, err := set.in(sql, sql.updateSession, sql.getSession)
		if err != nil {
			return err
		}
		update := func(db link) (err error) {
			session, err = surely(ctx, db, func() (*adapter.Session, error) {
				rows, err := db.query(ctx, statement, args...)
				return first(rows, err, scanSession)
			}, false, sql.getSession, args[0])
			return err
		}
		if setUserID {
			err = a.guard(ctx, db, update)
		} else {
			err = update(db)
		}
		if sql.own.violated(err, foreignKeyViolation) || err == nil && session != nil && nobody {
			session, err = nil, adapter.ErrNotFound
		}
		return err
	})
	return session, err
}

// DeleteSession implements [adapter.Sessions]. [SESS-15] [SESS-18]
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	return remove(ctx, a, "delete session", scanSession, func(sql *statements) string { return sql.deleteSession },
		func(sql *statements) string { return sql.getSession }, sessionToken)
}

// ListSessionsByUserID implements [adapter.SessionLists]. The list includes expired
// sessions. [SLIST-01] to [SLIST-03]
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	return list(ctx, a, "list sessions by user id", scanSession,
		func(sql *statements) find { return sql.listSessionsByUserID }, userID)
}

// DeleteSessionsByUserID implements [adapter.SessionLists]. [SLIST-04] to
// [SLIST-07]
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (deleted int64, err error) {
	if !storable(except) {
		except = "" // no session has an empty token
	}
	err = a.call(ctx, "delete sessions by user id", func(db link, sql *statements) error {
		owner, ok := sql.ids.arg(userID)
		if !ok {
			return nil
		}
		deleted, err = countSurely(ctx, db, sql.deleteSessionsByUserID, sql.getOtherSession, owner, except)
		return err
	})
	return deleted, err
}
