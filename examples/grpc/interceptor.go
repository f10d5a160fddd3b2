package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-go/gatehouse/auth"
)

type sessionKey struct{}

// signedIn lets a call continue only if its metadata has the token of a
// session, as "authorization: Bearer …". If the store fails, the status is
// Unavailable, which a client may retry, and never Unauthenticated.
func signedIn(h *auth.Handler) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		session, err := h.SessionByToken(ctx, bearer(ctx))
		switch {
		case errors.Is(err, auth.ErrNoSession):
			return nil, status.Error(codes.Unauthenticated, "sign in to call this")
		case err != nil:
			return nil, status.Error(codes.Unavailable, "the session could not be read")
		}
		return next(context.WithValue(ctx, sessionKey{}, session), request)
	}
}

// caller returns the user who makes the call.
func caller(ctx context.Context) *auth.User {
	session, _ := ctx.Value(sessionKey{}).(*auth.Session)
	if session == nil {
		return nil
	}
	return session.User
}

func bearer(ctx context.Context) string {
	const scheme = "Bearer "
	values := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(values) != 1 || len(values[0]) < len(scheme) || values[0][:len(scheme)] != scheme {
		return ""
	}
	return values[0][len(scheme):]
}
