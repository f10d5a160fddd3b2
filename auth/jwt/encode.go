package jwt

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// DefaultMaxAge is the lifetime of a token when none is given: 30 days.
const DefaultMaxAge = 30 * 24 * time.Hour

// MaxTokenSize is the largest length of a token in bytes. Encode makes no
// longer one, and Decode refuses a longer one unread. It is more than a browser
// sends in all cookies of a site.
const MaxTokenSize = 256 << 10

// ErrMissingSecret is returned when no secret is given.
var ErrMissingSecret = errors.New("jwt: MissingSecretError: no secret")

var errTooLong = errors.New("jwt: the claims are too long for a token")

// EncodeParams is what [Encode] takes (docs/protocol.md, "Session tokens").
type EncodeParams struct {
	// Token is the payload; nil is an empty payload. Encode does not change it.
	Token Claims
	// Secrets holds the secret to encrypt with as its first element; the others
	// are ignored. Neither the list nor its first secret may be empty.
	Secrets []string
	// Salt is the name of the cookie that carries the token. May be empty.
	Salt string
	// MaxAge is how long the token is valid. Zero means DefaultMaxAge. A
	// negative value makes an expired token.
	MaxAge time.Duration

	// Keys caches derived keys. Nil derives the key at each call.
	Keys *Keys
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// LogValue keeps payload and secrets out of logs.
func (p EncodeParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("salt", p.Salt), slog.Duration("maxAge", p.MaxAge))
}

// Encode makes a token. It sets iat (now), exp (now plus MaxAge) and jti (a
// random UUID) in a copy of the payload, replacing any that are present, and
// encrypts the copy with A256CBC-HS512 under the first secret.
//
// It returns [ErrMissingSecret] without a secret, and an error when the first
// secret is empty, the salt is longer than about 1 KB, the payload has a value
// that JSON can't hold, or the token would exceed [MaxTokenSize].
func Encode(p EncodeParams) (string, error) {
	if len(p.Secrets) == 0 {
		return "", ErrMissingSecret
	}
	k, err := p.Keys.get(keyID{p.Secrets[0], p.Salt, jose.A256CBC_HS512})
	if err != nil {
		return "", err
	}
	payload, err := p.claims().marshal()
	if err != nil {
		return "", err
	}
	if tokenSize(k, len(payload)) > MaxTokenSize {
		return "", errTooLong
	}
	if err := checkNumbers(payload); err != nil {
		return "", err
	}
	return k.seal(payload), nil
}

// claims returns the payload with the three claims that every token gets.
func (p EncodeParams) claims() Claims {
	now := time.Unix(clock(p.Now).Unix(), 0)
	c := make(Claims, len(p.Token)+3)
	maps.Copy(c, p.Token)
	c["iat"] = now.Unix()
	c["exp"] = numericDate(now.Add(cmp.Or(p.MaxAge, DefaultMaxAge)))
	c["jti"] = newUUID()
	return c
}

// seal encrypts the payload and writes the five parts of a compact JWE. The
// second part, the encrypted key, is empty.
func (k *key) seal(payload []byte) string {
	iv := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(iv) // never fails
	sealed := k.aead.Seal(nil, iv, payload, []byte(k.header))
	split := len(sealed) - k.tagSize

	out := make([]byte, 0, tokenSize(k, len(payload)))
	out = append(out, k.header...)
	out = append(out, '.', '.')
	out = base64.RawURLEncoding.AppendEncode(out, iv)
	out = append(out, '.')
	out = base64.RawURLEncoding.AppendEncode(out, sealed[:split])
	out = append(out, '.')
	out = base64.RawURLEncoding.AppendEncode(out, sealed[split:])
	return string(out)
}

// tokenSize returns an upper bound of the length of a token with a payload of n
// bytes.
func tokenSize(k *key, n int) int {
	size := base64.RawURLEncoding.EncodedLen
	return len(k.header) + 4 + size(k.aead.NonceSize()) + size(n+k.aead.Overhead()) + size(k.tagSize)
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:], b[0:4])
	hex.Encode(s[9:], b[4:6])
	hex.Encode(s[14:], b[6:8])
	hex.Encode(s[19:], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
