package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Claims is the payload of a token (docs/protocol.md, "Session tokens"): sub,
// name, email, picture, iat, exp, jti and the claims that an application adds.
// Values have the types of encoding/json. A decoded number is a float64, as in
// Auth.js, so Encode refuses integers that a float64 can't hold (beyond 2^53):
// store them as text.
type Claims map[string]any

// String returns the text claim of that name, or "" when the claim is absent,
// null or not a text.
func (c Claims) String(name string) string {
	s, _ := c[name].(string)
	return s
}

// Time returns the numeric date of that name (iat, exp, nbf) in UTC, with a
// precision of one millisecond. ok is false when the claim is absent, is not a
// number, or lies outside the years 1 to 9999.
func (c Claims) Time(name string) (t time.Time, ok bool) {
	seconds, ok := number(c[name])
	if !ok || !(seconds >= minSeconds && seconds <= maxSeconds) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), true
}

// Seconds of 0001-01-01 and 9999-12-31, the range that time.Time can write as
// RFC 3339.
const (
	minSeconds = -62135596800
	maxSeconds = 253402300799
)

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// numericDate returns t in seconds, as a whole number when t has no fraction.
func numericDate(t time.Time) any {
	if t.Nanosecond() == 0 {
		return t.Unix()
	}
	return float64(t.UnixMicro()) / 1e6
}

// marshal writes the claims as JSON.stringify does, without HTML escapes, so
// that a token is as long as that of Auth.js.
func (c Claims) marshal() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("jwt: encode claims: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

var errClaims = fmt.Errorf("%w: the claims are not a JSON object", ErrInvalid)

// parseClaims reads a decrypted payload. It must be a JSON object in UTF-8.
func parseClaims(payload []byte) (Claims, error) {
	if !utf8.Valid(payload) {
		return nil, errClaims
	}
	var c Claims
	if err := json.Unmarshal(payload, &c); err != nil || c == nil {
		return nil, errClaims
	}
	return c, nil
}

var (
	errNotNumber = fmt.Errorf("%w: iat, nbf and exp must be numbers", ErrInvalid)
	errNotYet    = fmt.Errorf("%w: not valid yet", ErrInvalid)
	errExpired   = errors.Join(ErrInvalid, ErrExpired)
)

// checkTimes compares exp and nbf with the clock. iat may lie in the future.
func (c Claims) checkTimes(now time.Time) error {
	clock := float64(now.Unix())
	for _, name := range [...]string{"iat", "nbf", "exp"} {
		v, present := c[name]
		if !present {
			continue
		}
		seconds, ok := v.(float64)
		switch {
		case !ok:
			return errNotNumber
		case name == "nbf" && seconds > clock+tolerance.Seconds():
			return errNotYet
		case name == "exp" && seconds <= clock-tolerance.Seconds():
			return errExpired
		}
	}
	return nil
}
