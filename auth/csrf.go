package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
)

// hashKeys are what a CSRF token or the token of a mail link is hashed with.
// The hash, SHA-256 of token and secret, is that of Auth.js. The first key is
// used for new tokens. All count: after a rotation, what was made with an
// earlier secret is still valid; Auth.js itself hashes with all secrets joined
// by commas, which is the last key if there are several.
type hashKeys []string

func newHashKeys(secrets []string) hashKeys {
	keys := hashKeys(append([]string(nil), secrets...))
	if len(secrets) > 1 {
		keys = append(keys, strings.Join(secrets, ","))
	}
	return keys
}

// hash is the hash for a new token.
func (k hashKeys) hash(token string) string { return hashWith(token, k[0]) }

// matches reports in constant time whether hash is the token's with any key.
func (k hashKeys) matches(token, hash string) bool {
	ok := 0
	for _, key := range k {
		ok |= subtle.ConstantTimeCompare([]byte(hash), []byte(hashWith(token, key)))
	}
	return ok == 1
}

func hashWith(token, secret string) string {
	b := make([]byte, 0, 256)
	sum := sha256.Sum256(append(append(b, token...), secret...))
	return hex.EncodeToString(sum[:])
}

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

// randomHex is 32 random bytes in hexadecimal.
func randomHex(random io.Reader) (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// randomUUID is a UUID of version 4.
func randomUUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:]), nil
}
