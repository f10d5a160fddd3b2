package auth

import (
	"crypto/subtle"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// csrf is the double-submit protection of one request.
type csrf struct {
	// token is empty if the protection is off.
	token string
	// verified says that the request may change state.
	verified bool
}

// checkCSRF takes the token from the cookie, or makes a new token and its
// cookie. The request is verified if it is a POST with a valid cookie and the
// same token in the body.
func checkCSRF(keys hashKeys, random io.Reader, spec *cookieSpec, cookieValue, method, submitted string) (csrf, *http.Cookie, error) {
	if token := keys.tokenOf(cookieValue); token != "" {
		same := subtle.ConstantTimeCompare([]byte(submitted), []byte(token)) == 1
		return csrf{token: token, verified: method == http.MethodPost && same}, nil, nil
	}
	token, err := randomHex(random)
	if err != nil {
		return csrf{}, nil, err
	}
	return csrf{token: token}, spec.set(token + "|" + keys.hash(token)), nil
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
	spec := &r.specs.csrf
	// A second form on the page needs the token of the first.
	value := r.cookies.get(spec.name)
	for _, line := range w.Header()["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == spec.name {
			if set, err := url.PathUnescape(c.Value); err == nil {
				value = set
			}
		}
	}
	c, fresh, err := checkCSRF(e.csrfKeys, e.config.Random, spec, value, hr.Method, "")
	if err != nil {
		return "", err
	}
	w.Header()["Cache-Control"] = noCache
	if fresh != nil && !r.head {
		(&Result{Cookies: []*http.Cookie{fresh}}).SendCookies(w)
	}
	return c.token, nil
}

// tokenOf returns the CSRF token in the value of its cookie, or "" if the value
// was not made with one of the keys.
func (k hashKeys) tokenOf(cookieValue string) string {
	token, rest, ok := strings.Cut(cookieValue, "|")
	hash, _, _ := strings.Cut(rest, "|")
	if !ok || token == "" || !k.matches(token, hash) {
		return ""
	}
	return token
}
