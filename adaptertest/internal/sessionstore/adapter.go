// Package sessionstore makes an adapter of a store of opaque sessions, so that the
// clauses about sessions can judge it. Owner and expiry stand in the bytes of a
// session. The users are a map, which all handles of a run share.
package sessionstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Store is adaptertest.SessionStore; the interfaces below are those of package
// adaptertest with the same methods.
type Store interface {
	Find(ctx context.Context, token string) (data []byte, found bool, err error)
	Commit(ctx context.Context, token string, data []byte, expires time.Time) error
	Delete(ctx context.Context, token string) error
}

// Inserter stores a session unless there is one.
type Inserter interface {
	Insert(ctx context.Context, token string, data []byte, expires time.Time) (inserted bool, err error)
}

// Updater changes a session in one step.
type Updater interface {
	Update(ctx context.Context, token string, change func(data []byte) ([]byte, time.Time)) (found bool, err error)
}

// Iterator returns all sessions by their tokens.
type Iterator interface {
	All(ctx context.Context) (map[string][]byte, error)
}

// Sweeper deletes the sessions that expired at or before an instant.
type Sweeper interface {
	DeleteExpired(ctx context.Context, now time.Time) (deleted int64, err error)
}

// UserStore knows the users of sessions.
type UserStore interface {
	CommitFor(ctx context.Context, userID, token string, data []byte, expires time.Time) error
	ListByUser(ctx context.Context, userID string) (map[string][]byte, error)
	DeleteByUser(ctx context.Context, userID, except string) (deleted int64, err error)
}

// Users are the users of a run.
type Users struct {
	mu   sync.Mutex
	byID map[string]adapter.User
}

// Adapter is the adapter that stands between the suite and a store.
type Adapter struct {
	Store Store
	users *Users
}

// New returns an adapter over a store. Without users it begins with none.
func New(s Store, users *Users) adapter.Adapter {
	if users == nil {
		users = &Users{byID: map[string]adapter.User{}}
	}
	a := &Adapter{Store: s, users: users}
	var value any = a
	_, sweeps := s.(Sweeper)
	_, lists := s.(UserStore)
	switch {
	case sweeps && lists:
		value = struct {
			*Adapter
			listing
			sweeping
		}{a, listing{a}, sweeping{a}}
	case sweeps:
		value = struct {
			*Adapter
			sweeping
		}{a, sweeping{a}}
	case lists:
		value = struct {
			*Adapter
			listing
		}{a, listing{a}}
	}
	p, err := adapter.Partial(value)
	if err != nil {
		panic("sessionstore: " + err.Error())
	}
	return p
}

// Another returns an adapter over another handle on the same sessions.
func Another(s Store, of adapter.Adapter) adapter.Adapter { return New(s, Of(of).users) }

// Of returns what New made the adapter of.
func Of(a adapter.Adapter) *Adapter {
	return a.(interface{ Unwrap() any }).Unwrap().(interface{ self() *Adapter }).self()
}

func (a *Adapter) self() *Adapter { return a }

// CreateUser keeps a user in the map.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.users.mu.Lock()
	defer a.users.mu.Unlock()
	if user.ID == "" {
		user.ID = fmt.Sprintf("user-%016x%016x", rand.Uint64(), rand.Uint64())
	}
	for id, other := range a.users.byID {
		if id == user.ID || other.Email == user.Email && user.Email != "" {
			return nil, fmt.Errorf("sessionstore: the user: %w", adapter.ErrConflict)
		}
	}
	a.users.byID[user.ID] = *copied(user)
	return copied(user), nil
}

// copied is a user that shares no memory with another, with instants in UTC.
func copied(u adapter.User) *adapter.User {
	if u.Name != nil {
		u.Name = new(*u.Name)
	}
	if u.Image != nil {
		u.Image = new(*u.Image)
	}
	if u.EmailVerified != nil {
		u.EmailVerified = new(u.EmailVerified.UTC())
	}
	return &u
}

// GetUser finds a user in the map.
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.users.mu.Lock()
	defer a.users.mu.Unlock()
	if user, ok := a.users.byID[id]; ok {
		return copied(user), nil
	}
	return nil, nil
}

// CreateSession inserts a session. If the store can't insert, it commits a session
// whose token it does not find: two calls at one time may both succeed.
func (a *Adapter) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	s.Expires = s.Expires.UTC()
	user, err := a.GetUser(ctx, s.UserID)
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, fmt.Errorf("sessionstore: the owner of the session: %w", adapter.ErrNotFound)
	}
	if i, ok := a.Store.(Inserter); ok && !a.knowsUsers() {
		inserted, err := i.Insert(ctx, s.SessionToken, encode(s), s.Expires)
		if err == nil && !inserted {
			err = fmt.Errorf("sessionstore: the token: %w", adapter.ErrConflict)
		}
		if err != nil {
			return nil, err
		}
		return &s, nil
	}
	if taken, err := a.find(ctx, s.SessionToken); err != nil {
		return nil, err
	} else if taken != nil {
		return nil, fmt.Errorf("sessionstore: the token: %w", adapter.ErrConflict)
	}
	if err := a.commit(ctx, s); err != nil {
		return nil, err
	}
	return &s, nil
}

// knowsUsers says that the store must be told whose a session is, which Insert and Update
// do not do.
func (a *Adapter) knowsUsers() bool { _, ok := a.Store.(UserStore); return ok }

func (a *Adapter) commit(ctx context.Context, s adapter.Session) error {
	if u, ok := a.Store.(UserStore); ok {
		return u.CommitFor(ctx, s.UserID, s.SessionToken, encode(s), s.Expires)
	}
	return a.Store.Commit(ctx, s.SessionToken, encode(s), s.Expires)
}

// GetSessionAndUser finds a session, and its user in the map.
func (a *Adapter) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	s, err := a.find(ctx, token)
	if s == nil || err != nil {
		return nil, err
	}
	user, err := a.GetUser(ctx, s.UserID)
	if user == nil || err != nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: *s, User: *user}, nil
}

func (a *Adapter) find(ctx context.Context, token string) (*adapter.Session, error) {
	data, found, err := a.Store.Find(ctx, token)
	if err != nil || !found {
		return nil, err
	}
	return decode(token, data)
}

// UpdateSession changes a session as session managers do: it finds, changes and
// commits it, unless the store can do this in one step.
func (a *Adapter) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	u, ok := a.Store.(Updater)
	if !ok || a.knowsUsers() {
		s, err := a.find(ctx, update.SessionToken)
		if s == nil || err != nil {
			return nil, err
		}
		apply(update, s)
		return s, a.commit(ctx, *s)
	}
	var updated *adapter.Session
	var damaged error
	found, err := u.Update(ctx, update.SessionToken, func(data []byte) ([]byte, time.Time) {
		s, err := decode(update.SessionToken, data)
		if err != nil {
			damaged = err
			return data, time.Time{}
		}
		apply(update, s)
		updated = s
		return encode(*s), s.Expires
	})
	if err = errors.Join(err, damaged); err != nil || !found {
		return nil, err
	}
	return updated, nil
}

// apply changes a session, and keeps its instant in UTC.
func apply(update adapter.SessionUpdate, s *adapter.Session) {
	update.Apply(s)
	s.Expires = s.Expires.UTC()
}

// DeleteSession deletes a session. A store of opaque sessions does not tell what
// it deleted.
func (a *Adapter) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return nil, a.Store.Delete(ctx, token)
}

// listing lists and ends the sessions of a user, over a store that knows them.
type listing struct{ of *Adapter }

// ListSessionsByUserID asks the store.
func (l listing) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	all, err := l.of.Store.(UserStore).ListByUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := []adapter.Session{}
	for token, data := range all {
		s, err := decode(token, data)
		if err != nil {
			return nil, err
		}
		list = append(list, *s)
	}
	return list, nil
}

// DeleteSessionsByUserID asks the store.
func (l listing) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	return l.of.Store.(UserStore).DeleteByUser(ctx, userID, except)
}

// sweeping deletes expired sessions, over a store that can sweep.
type sweeping struct{ of *Adapter }

// DeleteExpired lets the store sweep.
func (s sweeping) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	n, err := s.of.Store.(Sweeper).DeleteExpired(ctx, now)
	return adapter.Swept{Sessions: n}, err
}

// mark begins the bytes of a session.
const mark = "session\x00"

// encode puts owner and expiry into bytes: the mark, the seconds and the nanoseconds of
// the expiry, and the ID of the owner.
func encode(s adapter.Session) []byte {
	data := binary.BigEndian.AppendUint64([]byte(mark), uint64(s.Expires.Unix())) //nolint:gosec // the sign is kept
	data = binary.BigEndian.AppendUint32(data, uint32(s.Expires.Nanosecond()))    //nolint:gosec // below 10^9
	return append(data, s.UserID...)
}

var errForeign = errors.New("sessionstore: the store returned bytes that were not committed")

func decode(token string, data []byte) (*adapter.Session, error) {
	data, ok := bytes.CutPrefix(data, []byte(mark))
	if !ok || len(data) < 12 {
		return nil, errForeign
	}
	seconds, fraction := int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint32(data[8:])) //nolint:gosec // as encode wrote them
	return &adapter.Session{SessionToken: token, UserID: string(data[12:]), Expires: time.Unix(seconds, fraction).UTC()}, nil
}
