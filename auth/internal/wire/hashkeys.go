package wire

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// HashKeys are the keys that a CSRF token or the token of a mail link is hashed
// with. The hash is SHA-256 of token and key. As in Auth.js, the key is the
// list of all secrets, joined by commas. That list is the first key, so Auth.js
// with the same list accepts tokens that are made here. All keys are accepted:
// the list without one or more of its first secrets, which was the list before
// those secrets were added, and each secret by itself.
type HashKeys []string

// NewHashKeys makes the keys of a list of secrets, the newest first.
func NewHashKeys(secrets []string) HashKeys {
	keys := make(HashKeys, 0, 2*len(secrets))
	for i := range secrets {
		keys = append(keys, strings.Join(secrets[i:], ","))
	}
	if len(secrets) > 1 {
		keys = append(keys, secrets[:len(secrets)-1]...) // the last secret is already a key
	}
	return keys
}

// Hash returns the hash of a new token.
func (k HashKeys) Hash(token string) string { return HashWith(token, k[0]) }

// Matches reports in constant time whether hash is the hash of the token with
// any of the keys.
func (k HashKeys) Matches(token, hash string) bool {
	ok := 0
	for _, key := range k {
		ok |= subtle.ConstantTimeCompare([]byte(hash), []byte(HashWith(token, key)))
	}
	return ok == 1
}

// HashWith returns the hash of a token with one key.
func HashWith(token, secret string) string {
	b := make([]byte, 0, 256)
	sum := sha256.Sum256(append(append(b, token...), secret...))
	return hex.EncodeToString(sum[:])
}
