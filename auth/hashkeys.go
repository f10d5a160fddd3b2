package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// hashKeys are what a CSRF token or the token of a mail link is hashed with.
// The hash, SHA-256 of token and secret, is that of Auth.js. The first key is
// used for new tokens. All count: after a rotation, what was made with an
// earlier secret is still valid. Auth.js itself hashes with all secrets joined by
// commas; so do those that had a list before the newest secrets were put in front
// of it, which makes every tail of the list a key.
type hashKeys []string

func newHashKeys(secrets []string) hashKeys {
	keys := hashKeys(append([]string(nil), secrets...))
	for i := range len(secrets) - 1 {
		keys = append(keys, strings.Join(secrets[i:], ","))
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
