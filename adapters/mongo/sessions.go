package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func sessionFilter(token string) bson.D { return bson.D{{Key: "sessionToken", Value: token}} }

func decodeSession(raw bson.Raw) (*adapter.Session, error) {
	d := &document{raw: raw}
	s := &adapter.Session{SessionToken: d.text("sessionToken"), UserID: d.id("userId").Hex(), Expires: must(d, "expires", d.instant("expires"))}
	return s, d.err
}

// CreateSession implements adapter.Sessions. It takes two round trips.
func (a *Adapter) CreateSession(ctx context.Context, session adapter.Session) (*adapter.Session, error) {
	if err := required("sessionToken", session.SessionToken, "userId", session.UserID); err != nil {
		return nil, wrap("create session", err)
	}
	if err := storable(session.SessionToken); err != nil {
		return nil, wrap("create session", err)
	}
	doc := fields{{Key: "sessionToken", Value: session.SessionToken}, {Key: "expires", Value: date(session.Expires)}}
	if err := a.create(ctx, a.sessions, session.UserID, sessionFilter(session.SessionToken), doc); err != nil {
		return nil, wrap("create session", err)
	}
	session.Expires = kept(session.Expires)
	return &session, nil
}

// GetSessionAndUser implements adapter.Sessions.
func (a *Adapter) GetSessionAndUser(ctx context.Context, sessionToken string) (*adapter.SessionAndUser, error) {
	if !lookup(sessionToken) {
		return nil, wrap("get session and user", a.site.absent(ctx))
	}
	found, err := a.findOwned(ctx, a.sessions, sessionFilter(sessionToken))
	if err != nil || found == nil {
		return nil, wrap("get session and user", err)
	}
	session, err := decodeSession(found.raw)
	if err != nil {
		return nil, wrap("get session and user", err)
	}
	return &adapter.SessionAndUser{Session: *session, User: *found.owner}, nil
}

// UpdateSession implements adapter.Sessions. It looks for a new owner before and
// after the change.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	session, err := a.updateSession(ctx, update)
	return session, wrap("update session", err)
}

func (a *Adapter) updateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	if !lookup(update.SessionToken) {
		return nil, a.site.absent(ctx)
	}
	var set fields
	if expires, ok := update.Expires.Get(); ok {
		set.add("expires", date(expires))
	}
	userID, moved := update.UserID.Get()
	if moved {
		return a.moveSession(ctx, update.SessionToken, userID, set)
	}
	if len(set) == 0 {
		found, err := a.findOwned(ctx, a.sessions, sessionFilter(update.SessionToken))
		if err != nil || found == nil {
			return nil, err
		}
		return decodeSession(found.raw)
	}
	return a.changeSession(ctx, update.SessionToken, set)
}

func (a *Adapter) changeSession(ctx context.Context, token string, set fields) (*adapter.Session, error) {
	raw, err := a.sessions.change(ctx, sessionFilter(token), bson.D{{Key: "$set", Value: bson.D(set)}})
	if err != nil || raw == nil {
		return nil, err
	}
	return decodeSession(raw)
}

// moveSession gives the session another owner. For an absent session it returns
// nil, even if the owner is absent too.
func (a *Adapter) moveSession(ctx context.Context, token, userID string, set fields) (*adapter.Session, error) {
	found, err := a.findOwned(ctx, a.sessions, sessionFilter(token))
	if err != nil || found == nil {
		return nil, err
	}
	ownerID, ok := objectID(userID)
	if !ok {
		return nil, errNoUser
	}
	if there, err := a.exists(ctx, ownerID); err != nil || !there {
		return nil, firstOf(err, errNoUser)
	}
	session, err := a.changeSession(ctx, token, append(set, bson.E{Key: "userId", Value: ownerID}))
	if err != nil || session == nil {
		return nil, err
	}
	there, err := a.exists(ctx, ownerID)
	if err != nil || there {
		return session, err
	}
	// The new owner was deleted during the change, so the session must be
	// deleted too.
	_, err = a.sessions.delete(ctx, append(sessionFilter(token), bson.E{Key: "userId", Value: ownerID}))
	return nil, err
}

// DeleteSession implements adapter.Sessions.
func (a *Adapter) DeleteSession(ctx context.Context, sessionToken string) (*adapter.Session, error) {
	if !lookup(sessionToken) {
		return nil, wrap("delete session", a.site.absent(ctx))
	}
	raw, err := a.sessions.take(ctx, sessionFilter(sessionToken))
	if err != nil || raw == nil {
		return nil, wrap("delete session", err)
	}
	session, err := decodeSession(raw)
	if err != nil {
		return nil, wrap("delete session", err)
	}
	return session, nil
}

// ListSessionsByUserID implements adapter.SessionLists.
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	all, err := list(ctx, a, a.sessions, userID, decodeSession)
	return all, wrap("list sessions", err)
}

// DeleteSessionsByUserID implements adapter.SessionLists. It deletes in batches:
// after an error some of the sessions are gone.
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	ownerID, ok := objectID(userID)
	if !ok {
		return 0, wrap("delete sessions", a.site.absent(ctx))
	}
	filter := bson.D{{Key: "userId", Value: ownerID}}
	if lookup(except) {
		filter = append(filter, bson.E{Key: "sessionToken", Value: bson.D{{Key: "$ne", Value: except}}})
	}
	n, err := a.sessions.deleteInBatches(ctx, filter)
	return n, wrap("delete sessions", err)
}
