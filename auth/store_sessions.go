package auth

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/recent"
)

var errNoSessionLists = fmt.Errorf("auth: the adapter can't list sessions: %w", adapter.ErrUnsupported)

// maxExtensions is the number of extensions that are remembered.
const maxExtensions = 1 << 12

// extended are the sessions that this process has extended, by any handler: a
// program may make several with one adapter.
var extended = extensions{at: recent.Map[extension, *time.Time]{Max: maxExtensions}}

// extensions remembers which sessions were extended, so that of concurrent
// requests only one extends a session, and no other waits for it.
type extensions struct {
	mu sync.Mutex
	at recent.Map[extension, *time.Time]
}

// extension names a session and the expiry that is moved.
type extension struct {
	adapter any
	token   string
	expires int64
}

// begin reports whether the caller has to extend the session: nobody has within
// the last updateAge. The caller calls failed if it could not.
func (x *extensions) begin(a adapter.Adapter, s adapter.Session, now time.Time, updateAge time.Duration) (begun bool, failed func()) {
	if updateAge == 0 || !reflect.ValueOf(a).Comparable() {
		return true, func() {}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at := x.at.Get(extension{a, s.SessionToken, s.Expires.UnixNano()}, func() *time.Time { return new(time.Time) })
	if now.Before(at.Add(updateAge)) {
		return false, nil
	}
	*at = now
	return true, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		*at = time.Time{}
	}
}

// sessionsOf lists the sessions of a user, expired ones among them.
func (s *store) sessionsOf(ctx context.Context, userID string) ([]adapter.Session, error) {
	if s.sessions == nil {
		return nil, errNoSessionLists
	}
	s.trace(ctx, "adapter_listSessionsByUserId")
	return fromAdapter(s.sessions.ListSessionsByUserID(ctx, userID))
}

// unexpiredSessionsOf are the sessions of a user that are not over.
func (s *store) unexpiredSessionsOf(ctx context.Context, userID string) ([]adapter.Session, error) {
	if err := s.keepsSessions(); err != nil {
		return nil, err
	}
	all, err := s.sessionsOf(ctx, userID)
	if err != nil {
		return nil, err
	}
	now := s.clock()
	return slices.DeleteFunc(all, func(v adapter.Session) bool {
		over, _ := s.session.outlived(v.SessionToken, now)
		return over || now.After(v.Expires) || v.UserID != userID
	}), nil
}

// keepsSessions returns an error unless the sessions are in the store.
func (s *store) keepsSessions() error {
	if s == nil || s.session.Strategy != StrategyDatabase {
		return &Error{Type: ErrUnsupportedStrategy, Message: "session tokens are not stored, so they can't be listed; use Session.Revoked to revoke them", Cause: adapter.ErrUnsupported}
	}
	return nil
}

// endSessionsBut deletes all sessions of a user except one, and returns how
// many it deleted.
func (s *store) endSessionsBut(ctx context.Context, userID, except string) (int64, error) {
	if s.sessions == nil {
		return 0, errNoSessionLists
	}
	s.trace(ctx, "adapter_deleteSessionsByUserId")
	return fromAdapter(s.sessions.DeleteSessionsByUserID(ctx, userID, except))
}

// sweep removes expired records, and logs an error.
func (s *store) sweep(ctx context.Context, a adapter.Sweeper) {
	if _, err := a.DeleteExpired(ctx, s.clock()); err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "auth: sweep: expired records could not be deleted", slog.Any("error", err))
	}
}

// sweeper is the store of Sweep, which has no Handler.
var sweeper = &store{clock: time.Now}
