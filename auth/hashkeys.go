package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// hashKeys are what a CSRF token or the token of a mail link is hashed with.
// The hash is SHA-256 of token and key, as in Auth.js, whose key is the list of all
// secrets, joined by commas. The first key is that list, so that Auth.js with the
// same list accepts what is made here. All keys count: the tails of the
// list, which were the list before newer secrets were put in front of it, and
// each secret by itself.
type hashKeys []string

func newHashKeys(secrets []string) hashKeys {
	keys := make(hashKeys, 0, 2*len(secrets))
	for i := range secrets {
		keys = append(keys, strings.Join(secrets[i:], ","))
	}
	if len(secrets) > 1 {
		keys = append(keys, secrets[:len(secrets)-1]...) // the last one is the last tail
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
