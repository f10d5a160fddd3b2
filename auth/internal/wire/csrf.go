package wire

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"
)

// CSRF is the double-submit protection of one request.
type CSRF struct {
	// Token is empty if the protection is off.
	Token string
	// Verified says that the request may change state.
	Verified bool
}

// CheckCSRF takes the token from the cookie, or makes a new token and its
// cookie. The request is verified if it is a POST with a valid cookie and the
// same token in the body.
func CheckCSRF(keys HashKeys, random io.Reader, spec *CookieSpec, cookieValue, method, submitted string) (CSRF, *http.Cookie, error) {
	if token := keys.CSRFToken(cookieValue); token != "" {
		same := subtle.ConstantTimeCompare([]byte(submitted), []byte(token)) == 1
		return CSRF{Token: token, Verified: method == http.MethodPost && same}, nil, nil
	}
	token, err := RandomHex(random)
	if err != nil {
		return CSRF{}, nil, err
	}
	return CSRF{Token: token}, spec.Set(token + "|" + keys.Hash(token)), nil
}

// CSRFToken returns the CSRF token in the value of its cookie, or "" if the
// value was not made with one of the keys.
func (k HashKeys) CSRFToken(cookieValue string) string {
	token, rest, ok := strings.Cut(cookieValue, "|")
	hash, _, _ := strings.Cut(rest, "|")
	if !ok || token == "" || !k.Matches(token, hash) {
		return ""
	}
	return token
}
