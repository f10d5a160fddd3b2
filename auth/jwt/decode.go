package jwt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// tolerance is the largest accepted difference between the clocks of two
// servers.
const tolerance = 15 * time.Second

var (
	// ErrInvalid matches every error of [Decode] that comes from the token: it
	// is malformed, altered, encrypted with another algorithm or another
	// secret, not valid yet or expired, or its payload holds no claims.
	ErrInvalid = errors.New("jwt: invalid token")
	// ErrExpired matches the error for a token that was valid until it expired.
	ErrExpired = errors.New("jwt: expired")
)

var (
	errTooLarge  = fmt.Errorf("%w: too large", ErrInvalid)
	errForm      = fmt.Errorf("%w: not a compact JWE", ErrInvalid)
	errHeader    = fmt.Errorf("%w: bad header", ErrInvalid)
	errAlgorithm = fmt.Errorf("%w: algorithm not allowed", ErrInvalid)
	errExtension = fmt.Errorf("%w: zip and crit are not supported", ErrInvalid)
	errNoKey     = fmt.Errorf("%w: no secret matches", ErrInvalid)
	errDecrypt   = fmt.Errorf("%w: decryption failed", ErrInvalid)
)

// DecodeParams is what [Decode] takes (docs/protocol.md, "Session tokens").
type DecodeParams struct {
	// Token is the token to read.
	Token string
	// Secrets holds the secrets that may have made the token, newest first.
	Secrets []string
	// Salt is the name of the cookie that carried the token. May be empty.
	Salt string

	// Keys caches derived keys. Nil derives them at each call.
	Keys *Keys
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// LogValue keeps token and secrets out of logs.
func (p DecodeParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("salt", p.Salt), slog.Int("size", len(p.Token)))
}

// Decode reads a token that was made with one of the secrets and the salt, and
// returns all its claims.
//
// An empty token is (nil, nil): there is no session, which is not an error. A
// token that can't be accepted is an error matching [ErrInvalid]; if the token
// has expired and is otherwise valid, the error matches [ErrExpired] too.
// [ErrMissingSecret] and other errors that don't match ErrInvalid are mistakes
// of the caller. No error text holds a part of the token.
//
// The kid of the header chooses the key; a token without kid is tried with each
// secret in turn, and the first that decrypts it is used. exp and nbf are compared with a tolerance of 15 seconds. A
// token without exp does not expire. The encoding must be canonical base64url,
// so that each token has exactly one spelling.
func Decode(p DecodeParams) (Claims, error) {
	if p.Token == "" {
		return nil, nil
	}
	if len(p.Secrets) == 0 {
		return nil, ErrMissingSecret
	}
	parts, err := split(p.Token)
	if err != nil {
		return nil, err
	}
	payload, err := p.open(parts)
	if err != nil {
		return nil, err
	}
	claims, err := parseClaims(payload)
	if err != nil {
		return nil, err
	}
	if err := claims.checkTimes(clock(p.Now)); err != nil {
		return nil, err
	}
	return claims, nil
}

// compact holds the parts of a token as they are written, base64url.
type compact struct{ header, iv, ciphertext, tag []byte }

// split takes a token apart. The encrypted key must be empty.
func split(token string) (compact, error) {
	if len(token) > MaxTokenSize {
		return compact{}, errTooLarge
	}
	if strings.ContainsAny(token, "\r\n") {
		return compact{}, errForm // the base64 decoder would skip them
	}
	part := bytes.SplitN([]byte(token), []byte("."), 6)
	if len(part) != 5 || len(part[1]) != 0 {
		return compact{}, errForm
	}
	return compact{header: part[0], iv: part[2], ciphertext: part[3], tag: part[4]}, nil
}

// open decrypts a token with the key that the kid of its header names. Without
// a kid it tries the keys of all secrets in turn. A header that Encode wrote
// with a cached key is recognised by its text; any other header is parsed.
func (p DecodeParams) open(parts compact) ([]byte, error) {
	for _, secret := range p.Secrets {
		k := p.Keys.cached(keyID{secret, p.Salt, jose.A256CBC_HS512})
		if k == nil {
			break // never derived, or no secret at all: read the header
		}
		if k.header == string(parts.header) {
			return k.open(parts)
		}
	}
	enc, kid, err := parseHeader(parts.header)
	if err != nil {
		return nil, err
	}
	refused := errNoKey
	for _, secret := range p.Secrets {
		k, err := p.Keys.get(keyID{secret, p.Salt, enc})
		if err != nil {
			return nil, err
		}
		if kid != nil && *kid != k.id {
			continue
		}
		payload, err := k.open(parts)
		if kid != nil || !errors.Is(err, errDecrypt) {
			return payload, err
		}
		refused = err
	}
	return nil, refused
}

// parseHeader reads a protected header: the content encryption, and the kid if
// the header has one. It ignores unknown members, and takes the last of two
// members with one name, as Auth.js does. It refuses crit and zip with any
// value.
func parseHeader(text []byte) (enc jose.ContentEncryption, kid *string, err error) {
	raw, err := base64url.AppendDecode(nil, text)
	if err != nil {
		return "", nil, errHeader
	}
	var h map[string]json.RawMessage // a struct would match names in any case
	if err := json.Unmarshal(raw, &h); err != nil {
		return "", nil, errHeader
	}
	if h["crit"] != nil || h["zip"] != nil {
		return "", nil, errExtension
	}
	var alg jose.KeyAlgorithm
	if json.Unmarshal(h["alg"], &alg) != nil || json.Unmarshal(h["enc"], &enc) != nil {
		return "", nil, errHeader
	}
	if alg != jose.DIRECT || enc != jose.A256CBC_HS512 && enc != jose.A256GCM {
		return "", nil, errAlgorithm
	}
	if member, ok := h["kid"]; ok {
		kid = new(string)
		if json.Unmarshal(member, kid) != nil {
			return "", nil, errNoKey
		}
	}
	return enc, kid, nil
}

// base64url decodes canonical base64url without padding.
var base64url = base64.RawURLEncoding.Strict()

// open decrypts the ciphertext after checking the tag.
func (k *key) open(c compact) ([]byte, error) {
	size := base64url.DecodedLen
	if size(len(c.iv)) != k.aead.NonceSize() || size(len(c.tag)) != k.tagSize {
		return nil, errForm
	}
	buf := make([]byte, 0, size(len(c.iv))+size(len(c.ciphertext))+size(len(c.tag)))
	var err error
	for _, part := range [...][]byte{c.iv, c.ciphertext, c.tag} {
		if buf, err = base64url.AppendDecode(buf, part); err != nil {
			return nil, errForm
		}
	}
	n := k.aead.NonceSize()
	payload, err := k.aead.Open(nil, buf[:n], buf[n:], c.header)
	if err != nil {
		return nil, errDecrypt
	}
	return payload, nil
}
