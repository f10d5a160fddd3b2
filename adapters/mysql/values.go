package mysql

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An instant is stored in UTC in a DATETIME(3), which no time zone changes, and written
// and read as text, which no setting of the driver changes. It is rounded down, so that
// no session or token lasts longer than its Expires. [TIME-02]
const instantForm = "2006-01-02 15:04:05.000"

var errRange = errors.New("the instant is outside the years 1 to 9999")

// instant is the text of an instant in a statement.
type instant string

func toInstant(t time.Time) (instant, error) {
	t = t.UTC().Truncate(time.Millisecond)
	if year := t.Year(); year < 1 || year > 9999 {
		return "", errRange
	}
	return instant(t.Format(instantForm)), nil
}

func toNullInstant(t *time.Time) (any, error) {
	if t == nil {
		return nil, nil
	}
	return toInstant(*t)
}

// latestAt is an instant for a comparison: one that can't be stored is as far as possible.
func latestAt(t time.Time) instant {
	if at, err := toInstant(t); err == nil {
		return at
	}
	if t.UTC().Year() > 9999 {
		return "9999-12-31 23:59:59.999"
	}
	return "0001-01-01 00:00:00.000"
}

// fromInstant returns an error for a text that toInstant can't have written, such as
// 0000-00-00. [ERR-10]
func fromInstant(text []byte) (t time.Time, err error) {
	form := append(make([]byte, 0, len(instantForm)+len("Z")), text...)
	if len(form) > len(time.DateOnly) {
		form[len(time.DateOnly)] = 'T' // RFC 3339, which is read without a copy
	}
	if t.UnmarshalText(append(form, 'Z')) != nil || t.Year() < 1 {
		return time.Time{}, errRange
	}
	return t, nil
}

// fromNullInstant returns nil for null.
func fromNullInstant(text []byte) (*time.Time, error) {
	if text == nil {
		return nil, nil
	}
	t, err := fromInstant(text)
	return &t, err
}

// toJSON keeps the text as it is. The error does not quote it. [ERR-08]
func toJSON(raw json.RawMessage) (any, error) {
	switch {
	case len(raw) == 0:
		return nil, nil
	case !json.Valid(raw):
		return nil, errors.New("not JSON")
	}
	return string(raw), nil
}

func fromJSON(text *string) (json.RawMessage, error) {
	if text == nil {
		return nil, nil
	}
	if raw := json.RawMessage(*text); json.Valid(raw) {
		return raw, nil
	}
	return nil, errors.New("not JSON")
}

// toNull returns the statement's argument for a field that may be nil.
func toNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// digest is the SHA-256 of texts that are too long for a key together. The tables compute
// the same: the length of each but the last, in bytes, stands before the texts.
func digest(texts ...string) []byte {
	h := sha256.New()
	for _, t := range texts[:len(texts)-1] {
		_, _ = h.Write([]byte(strconv.Itoa(len(t)) + ":"))
	}
	for _, t := range texts {
		_, _ = h.Write([]byte(t))
	}
	return h.Sum(nil)
}

// isKey reports whether a text can be the key of a record: others are absent, and the
// server is not asked. [INPUT-01] [INPUT-10] [INPUT-12]
func isKey(length int, texts ...string) bool {
	for _, t := range texts {
		if t == "" || len(t) > 4*length || !utf8.ValidString(t) || utf8.RuneCountInString(t) > length {
			return false
		}
	}
	return true
}

// fits returns an error for a text that its column can't hold, which the server would cut
// or refuse, as its mode says. [DATA-08] [DATA-13]
func (c column) fits(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", c.name)
	case c.length > 0 && utf8.RuneCountInString(text) > c.length:
		return fmt.Errorf("%s has more than %d characters", c.name, c.length)
	case len(text) > mediumText:
		return fmt.Errorf("%s has more than %d bytes", c.name, mediumText)
	}
	return nil
}

const mediumText = 1<<24 - 1

// fill puts the values in place of the question marks of a statement of this package; two of
// them are the last value again. A text becomes a hexadecimal
// literal: no setting of the connection changes what it means.
func fill(query string, args []any) string {
	if len(args) == 0 {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + lengthOf(args))
	var last any
	for {
		before, rest, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if again, ok := strings.CutPrefix(rest, "?"); ok {
			rest = again
		} else {
			last, args = args[0], args[1:]
		}
		literal(&b, last)
		query = rest
	}
}

// lengthOf is about the length of literals.
func lengthOf(args []any) (n int) {
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			n += 2*len(v) + len("_utf8mb4 X''")
		case []byte:
			n += 2*len(v) + len("X''")
		default:
			n += len("'" + instantForm + "'")
		}
	}
	return n
}

func literal(b *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString("NULL")
	case bool:
		b.WriteString(strings.ToUpper(strconv.FormatBool(v)))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case instant:
		b.WriteString("'" + string(v) + "'")
	case []byte:
		hexadecimal(b, v)
	case string:
		b.WriteString("_utf8mb4 ")
		hexadecimal(b, v)
	default:
		panic(fmt.Sprintf("mysql: no literal for %T", value))
	}
}

func hexadecimal[T string | []byte](b *strings.Builder, value T) {
	const digits = "0123456789abcdef"
	b.WriteString("X'")
	for i := range len(value) {
		b.WriteByte(digits[value[i]>>4])
		b.WriteByte(digits[value[i]&0xf])
	}
	b.WriteByte('\'')
}

// corrupt returns the error for a stored value that is not valid.
func corrupt(column string, err error) error { return fmt.Errorf("stored %s: %w", column, err) }

// newUUID returns a random UUID. RFC 9562 section 5.4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
