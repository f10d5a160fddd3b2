package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// SessionInfo describes one session of a user, for a page on which users end
// their sessions in other browsers.
type SessionInfo struct {
	// ID names the session for RevokeSession. It is not a secret: nobody can sign in
	// with it.
	ID string
	// Expires is when the session ends unless it is used again.
	Expires time.Time
	// Began is when the user signed in. It is known if
	// SessionConfig.AbsoluteMaxAge was set at that time; otherwise it is the zero
	// time.
	Began time.Time
	// Current says that it is the session of the request.
	Current bool
}

// Sessions lists the sessions of the user who is signed in, without those that
// have expired. The error is ErrNoSession if nobody is signed in. Sessions
// needs StrategyDatabase and an adapter with adapter.SessionLists; otherwise
// the error matches adapter.ErrUnsupported. Session tokens can't be listed: see
// SessionConfig.Revoked.
func (h *Handler) Sessions(r *http.Request) ([]SessionInfo, error) {
	userID, token, err := h.signedIn(r)
	if err != nil {
		return nil, err
	}
	return listSessions(r.Context(), h.engine.store, userID, token)
}

// RevokeSession ends one session of the user who is signed in, by its ID in the
// list of Sessions. It reports whether there was one. Sessions of other users
// are not found. Its errors are those of Sessions.
func (h *Handler) RevokeSession(r *http.Request, id string) (bool, error) {
	userID, _, err := h.signedIn(r)
	if err != nil {
		return false, err
	}
	return revokeSession(r.Context(), h.engine.store, userID, id)
}

// RevokeSessions ends all sessions of a user, "sign out everywhere", and
// returns how many there were. If keep is not nil, the session of that
// request's browser stays, if it belongs to that user. The errors are those of
// Sessions, except ErrNoSession.
func (h *Handler) RevokeSessions(ctx context.Context, userID string, keep *http.Request) (int64, error) {
	token := ""
	if keep != nil {
		token, _ = h.engine.sessionCookie(ctx, h.engine.newRequest(keep, ActionSession))
	}
	return revokeSessions(ctx, h.engine.store, userID, token)
}

// signedIn returns the ID of the user who is signed in, and the key of their
// session.
func (h *Handler) signedIn(r *http.Request) (userID, token string, err error) {
	session, err := h.Session(r)
	switch {
	case err != nil:
		return "", "", err
	case session == nil || session.User == nil:
		return "", "", ErrNoSession
	}
	token, _ = h.engine.sessionCookie(r.Context(), h.engine.newRequest(r, ActionSession))
	return session.User.ID, token, nil
}

func listSessions(ctx context.Context, s *store, userID, current string) ([]SessionInfo, error) {
	stored, err := s.unexpiredSessionsOf(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]SessionInfo, 0, len(stored))
	for _, v := range stored {
		info := SessionInfo{ID: sessionID(v.SessionToken), Expires: v.Expires.UTC(), Current: v.SessionToken == current}
		if start, ok := beganAt(v.SessionToken); ok {
			info.Began = start.UTC()
		}
		list = append(list, info)
	}
	return list, nil
}

func revokeSession(ctx context.Context, s *store, userID, id string) (bool, error) {
	stored, err := s.unexpiredSessionsOf(ctx, userID)
	if err != nil {
		return false, err
	}
	for _, v := range stored {
		if sessionID(v.SessionToken) == id {
			ended, err := s.endSession(ctx, v.SessionToken)
			return ended != nil, err
		}
	}
	return false, nil
}

func revokeSessions(ctx context.Context, s *store, userID, except string) (int64, error) {
	if err := s.keepsSessions(); err != nil {
		return 0, err
	}
	return s.endSessionsBut(ctx, userID, except)
}

// sessionID names a session without revealing its key.
func sessionID(token string) string {
	sum := sha256.Sum256([]byte("gatehouse session\x00" + token))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Sweep removes expired sessions and verification tokens from a store, first at
// once and then at intervals of every. It runs until the context ends, and
// returns the cause of the context. A sweep that fails is logged; the next one
// still runs. The adapter must be an adapter.Sweeper; otherwise the error
// matches adapter.ErrUnsupported. If several processes use one store, it is
// enough that one of them calls Sweep:
//
//	go auth.Sweep(ctx, store, time.Hour)
func Sweep(ctx context.Context, a adapter.Adapter, every time.Duration) error {
	if every <= 0 {
		return errors.New("auth: Sweep needs a positive interval")
	}
	swept, ok := adapter.Capability[adapter.Sweeper](a)
	if !ok {
		return fmt.Errorf("auth: Sweep: the adapter has no DeleteExpired: %w", adapter.ErrUnsupported)
	}
	again := time.Tick(every)
	for {
		sweeper.sweep(ctx, swept)
		select {
		case <-again:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
