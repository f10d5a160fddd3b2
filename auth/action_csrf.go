package auth

import (
	"context"
	"net/http"
)

// csrfToken serves GET csrf. If the protection is off, the answer is status
// 404.
func (e *engine) csrfToken(ctx context.Context, r *request) (*Result, error) {
	if r.csrf.token == "" {
		e.log.WarnContext(ctx, "auth: csrf-disabled: a client asked for a CSRF token, but the protection is off")
		spec := &r.specs.csrf
		return &Result{Status: http.StatusNotFound, Cookies: []*http.Cookie{spec.clear(spec.name)}}, nil
	}
	body, err := jsonBody(struct {
		Token string `json:"csrfToken"`
	}{r.csrf.token})
	return &Result{Header: uncachedJSONHeader(), Body: body}, err
}

// needCSRF returns an error if the request was not verified against CSRF.
func (r *request) needCSRF() error {
	if r.csrf.verified {
		return nil
	}
	return &Error{Type: ErrMissingCSRF, Message: "the CSRF token is missing or does not match the cookie: " + string(r.action)}
}
