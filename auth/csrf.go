package auth

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"
)

// csrf is the double-submit protection of one request.
type csrf struct {
	// token is empty if the protection is off.
	token string
	// verified says that the request may change something.
	verified bool
}

// checkCSRF takes the token from the cookie, or makes a new one and the cookie
// for it. The request is verified if it is a POST with a valid cookie and the
// same token in the body.
func checkCSRF(keys hashKeys, random io.Reader, spec *cookieSpec, cookieValue, method, submitted string) (csrf, *http.Cookie, error) {
	token, rest, ok := strings.Cut(cookieValue, "|")
	if ok && token != "" {
		hash, _, _ := strings.Cut(rest, "|")
		if keys.matches(token, hash) {
			same := subtle.ConstantTimeCompare([]byte(submitted), []byte(token)) == 1
			return csrf{token: token, verified: method == http.MethodPost && same}, nil, nil
		}
	}
	token, err := randomHex(random)
	if err != nil {
		return csrf{}, nil, err
	}
	return csrf{token: token}, spec.set(token + "|" + keys.hash(token)), nil
}
