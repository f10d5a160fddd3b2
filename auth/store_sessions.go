package auth

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var errNoSessionLists = fmt.Errorf("auth: the adapter can't list sessions: %w", adapter.ErrUnsupported)

// sessionsOf lists the sessions of a user, expired ones among them.
func (s *store) sessionsOf(ctx context.Context, userID string) ([]adapter.Session, error) {
	if s.sessions == nil {
		return nil, errNoSessionLists
	}
	s.trace(ctx, "adapter_listSessionsByUserId")
	return fromAdapter(s.sessions.ListSessionsByUserID(ctx, userID))
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
