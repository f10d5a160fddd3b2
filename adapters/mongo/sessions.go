package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func sessionFilter(token string) bson.D { return bson.D{{Key: "sessionToken", Value: token}} }

// CreateSession implements adapter.Sessions.
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	if err := required("sessionToken", session.SessionToken, "userId", session.UserID); err != nil {
		return nil, wrap("create session", err)
	}
	if err := storable(session.SessionToken); err != nil {
		return nil, wrap("create session", err)
	}
	doc := fields{{Key: "sessionToken", Value: session.SessionToken}, {Key: "expires", Value: date(session.Expires)}}
	if err := a.createChild(ctx, a.sessions, session.UserID, sessionFilter(session.SessionToken), doc); err != nil {
		return nil, wrap("create session", err)
	}
	session.Expires = kept(session.Expires)
	return &session, nil
}

func (a *Adapter) session(ctx context.Context, token string) (*child, *adapter.Session, error) {
	if !lookup(token) {
		return nil, nil, ctx.Err()
	}
	c, err := a.child(ctx, a.sessions, sessionFilter(token))
	if err != nil || c == nil {
		return nil, nil, err
	}
	d := &document{raw: c.raw}
	s := &adapter.Session{SessionToken: d.text("sessionToken"), UserID: c.owner.ID, Expires: must(d, "expires", d.instant("expires"))}
	if d.err != nil {
		return nil, nil, d.err
	}
	return c, s, nil
}

// GetSessionAndUser implements adapter.Sessions. It takes two round trips.
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	c, session, err := a.session(ctx, sessionToken)
	if err != nil || session == nil {
		return nil, wrap("get session and user", err)
	}
	return &adapter.SessionAndUser{Session: *session, User: *c.owner}, nil
}

// UpdateSession implements adapter.Sessions.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	session, err := a.updateSession(ctx, update)
	return session, wrap("update session", err)
}

func (a *Adapter) updateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	c, session, err := a.session(ctx, update.SessionToken)
	if err != nil || session == nil {
		return nil, err
	}
	var set fields
	if expires, ok := update.Expires.Get(); ok {
		set.add("expires", date(expires))
	}
	if userID, ok := update.UserID.Get(); ok && userID != session.UserID {
		ownerID, ok := objectID(userID)
		if !ok {
			return nil, fmt.Errorf("the new user does not exist: %w", adapter.ErrNotFound)
		}
		if err := a.exists(ctx, ownerID); err != nil {
			return nil, err
		}
		set.add("userId", ownerID)
	}
	if len(set) == 0 {
		return session, nil
	}
	found, err := a.sessions.update(ctx, c.id, bson.D{{Key: "$set", Value: bson.D(set)}})
	if err != nil || !found {
		return nil, err
	}
	_, session, err = a.session(ctx, update.SessionToken)
	return session, err
}

// DeleteSession implements adapter.Sessions.
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	c, session, err := a.session(ctx, sessionToken)
	if err != nil || session == nil {
		return nil, wrap("delete session", err)
	}
	deleted, err := a.sessions.delete(ctx, c.id)
	if err != nil || !deleted {
		return nil, wrap("delete session", err)
	}
	return session, nil
}
