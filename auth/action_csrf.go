package auth

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// csrfToken serves GET csrf. If the protection is off, the answer is status
// 404.
func (e *engine) csrfToken(ctx context.Context, r *request) (*Result, error) {
	if r.csrf.Token == "" {
		e.log.WarnContext(ctx, "auth: csrf-disabled: a client asked for a CSRF token, but the protection is off")
		spec := &r.specs.CSRF
		return &Result{Status: http.StatusNotFound, Cookies: []*http.Cookie{spec.Clear(spec.Name)}}, nil
	}
	body, err := wire.JSON(struct {
		Token string `json:"csrfToken"`
	}{r.csrf.Token})
	return &Result{Header: uncachedJSONHeader(), Body: body}, err
}

// needCSRF returns an error if the request was not verified against CSRF.
func (r *request) needCSRF() error {
	if r.csrf.Verified {
		return nil
	}
	return &Error{Type: ErrMissingCSRF, Message: "the CSRF token is missing or does not match the cookie: " + string(r.action)}
}

// CSRFToken returns the CSRF token. A form of the application needs it in its
// field csrfToken to post to the routes of this package. If the browser has no
// token, CSRFToken sets the cookie that belongs to it, so call it before
// anything is written. The page must not be cached, so CSRFToken sets its
// Cache-Control header. With SkipCSRFCheck there is no token, and the result is
// "".
func (h *Handler) CSRFToken(w http.ResponseWriter, hr *http.Request) (string, error) {
	e := h.engine
	if e.config.SkipCSRFCheck == SkipCSRFCheck {
		return "", nil
	}
	r := e.newRequest(hr, ActionCSRF)
	spec := &r.specs.CSRF
	// A second form on the page needs the token of the first.
	value := r.cookies.Get(spec.Name)
	for _, line := range w.Header()["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == spec.Name {
			if set, err := url.PathUnescape(c.Value); err == nil {
				value = set
			}
		}
	}
	c, fresh, err := wire.CheckCSRF(e.csrfKeys, e.config.Random, spec, value, hr.Method, "")
	if err != nil {
		return "", err
	}
	w.Header()["Cache-Control"] = noCache
	if fresh != nil && !r.head {
		(&Result{Cookies: []*http.Cookie{fresh}}).SendCookies(w)
	}
	return c.Token, nil
}
