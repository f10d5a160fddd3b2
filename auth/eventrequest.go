package auth

import (
	"context"
	"net/http"
)

// requestKey is the context key of the request that an action serves, so that
// every event can have the request.
type requestKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the HTTP request that is being served, with an unread body,
// or nil.
func requestOf(ctx context.Context) *http.Request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r.withBody(ctx)
	}
	return nil
}

// requested is an event that has a request.
type requested interface{ setRequest(hr *http.Request) }

func (e *CreateUserEvent) setRequest(hr *http.Request)   { e.Request = hr }
func (e *UpdateUserEvent) setRequest(hr *http.Request)   { e.Request = hr }
func (e *LinkAccountEvent) setRequest(hr *http.Request)  { e.Request = hr }
func (e *ReleaseEmailEvent) setRequest(hr *http.Request) { e.Request = hr }
func (e *SignInEvent) setRequest(hr *http.Request)       { e.Request = hr }
func (e *SignInFailedEvent) setRequest(hr *http.Request) { e.Request = hr }
func (e *SignOutEvent) setRequest(hr *http.Request)      { e.Request = hr }
func (e *SessionEvent) setRequest(hr *http.Request)      { e.Request = hr }
