package jwt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/go-jose/go-jose/v4"
	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// maxKeys is the largest number of derived keys in a cache. A program uses one
// key for each pair of secret and cookie name, which is far fewer.
const maxKeys = 256

// maxInfo is the largest length in bytes of the HKDF info that Auth.js accepts.
// It could not read a token with a longer salt.
const maxInfo = 1024

// Keys caches derived keys by secret and salt. Deriving a key takes as long as
// encoding a token, so a program that handles more than a few tokens keeps one
// Keys and passes it to each call. The zero value is ready for use. Keys is
// safe for concurrent use and must not be copied. It holds at most 256 keys;
// when it is full, a new key replaces a random one.
type Keys struct {
	mu   sync.RWMutex
	keys map[keyID]*key
}

type keyID struct {
	secret, salt string
	enc          jose.ContentEncryption
}

// key is a derived key, ready to seal and open.
type key struct {
	id      string // the kid: JWK thumbprint of the key
	header  string // base64url of the protected header that Encode writes
	aead    cipher.AEAD
	tagSize int
}

// cached returns the key if it was derived before, else nil.
func (k *Keys) cached(id keyID) *key {
	if k == nil {
		return nil
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[id]
}

// get returns the key, and derives it at the first call. A nil Keys derives it
// at each call.
func (k *Keys) get(id keyID) (*key, error) {
	if found := k.cached(id); found != nil {
		return found, nil
	}
	made, err := derive(id)
	if err != nil || k == nil {
		return made, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil {
		k.keys = make(map[keyID]*key)
	}
	for old := range k.keys {
		if len(k.keys) < maxKeys {
			break
		}
		delete(k.keys, old)
	}
	k.keys[id] = made
	return made, nil
}

var (
	errEmptySecret = errors.New("jwt: a secret is empty")
	errLongSalt    = errors.New("jwt: the salt is too long")
)

func derive(id keyID) (*key, error) {
	if id.secret == "" {
		return nil, errEmptySecret
	}
	info := "Auth.js Generated Encryption Key (" + id.salt + ")"
	if len(info) > maxInfo {
		return nil, errLongSalt
	}
	size, tagSize, kidHash := 64, 32, sha512.New()
	if id.enc == jose.A256GCM {
		size, tagSize, kidHash = 32, 16, sha256.New()
	}
	raw, err := hkdf.Key(sha256.New, []byte(id.secret), []byte(id.salt), info, size)
	if err != nil {
		return nil, fmt.Errorf("jwt: derive key: %w", err)
	}
	aead, err := newAEAD(id.enc, raw)
	if err != nil {
		return nil, fmt.Errorf("jwt: cipher: %w", err)
	}
	kid := thumbprint(raw, kidHash)
	header := base64.RawURLEncoding.EncodeToString(
		[]byte(`{"alg":"dir","enc":"` + string(id.enc) + `","kid":"` + kid + `"}`))
	return &key{id: kid, header: header, aead: aead, tagSize: tagSize}, nil
}

// thumbprint returns the RFC 7638 thumbprint of a symmetric key, base64url.
// (go-jose makes thumbprints of public keys only.)
func thumbprint(raw []byte, hash hash.Hash) string {
	b64 := base64.RawURLEncoding.EncodeToString
	hash.Write([]byte(`{"k":"` + b64(raw) + `","kty":"oct"}`))
	return b64(hash.Sum(nil))
}

func newAEAD(enc jose.ContentEncryption, raw []byte) (cipher.AEAD, error) {
	if enc == jose.A256CBC_HS512 {
		return josecipher.NewCBCHMAC(raw, aes.NewCipher)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
