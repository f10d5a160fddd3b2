package auth

import (
	"context"
	"net/http"
)

// readSession serves GET session.
func (e *engine) readSession(ctx context.Context, r *request) (*Result, error) {
	return sessionResult(e.session(ctx, r, access{}), uncachedJSONHeader())
}

// updateSession serves POST session: the client sends data with which the
// session is to be updated.
func (e *engine) updateSession(ctx context.Context, r *request) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	return sessionResult(e.session(ctx, r, access{trigger: TriggerUpdate, update: r.body.Data}), jsonHeader())
}

// sessionResult is the session as JSON: null if there is none, or if
// Callbacks.Session hides it. If the session could not be read, the status is
// 503 and the answer is not null.
func sessionResult(read sessionRead, header http.Header) (*Result, error) {
	result := &Result{Header: header, Cookies: read.cookies, Body: []byte("null")}
	switch {
	case read.err != nil:
		return unavailable(), nil //nolint:nilerr // it is logged, and the answer says so
	case read.session != nil:
		body, err := read.session.MarshalJSON()
		result.Body = body
		return result, err
	}
	return result, nil
}
