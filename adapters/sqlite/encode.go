package sqlite

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An instant is stored in milliseconds since the Unix epoch, rounded down, so
// that nothing lasts longer than it should. The years 0 to 9999 are what a
// date in JSON can say. [TIME-02] [TIME-06]
const (
	firstMilli = -62167219200000 // 0000-01-01T00:00:00Z
	lastMilli  = 253402300799999 // 9999-12-31T23:59:59.999Z
)

var errRange = errors.New("instant outside the years 0 to 9999")

func toMillis(t time.Time) (int64, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return 0, errRange
	}
	return t.UnixMilli(), nil
}

func toNullMillis(t *time.Time) (sql.Null[int64], error) {
	if t == nil {
		return sql.Null[int64]{}, nil
	}
	ms, err := toMillis(*t)
	return sql.Null[int64]{V: ms, Valid: true}, err
}

// fromMillis refuses what toMillis cannot have written. [ERR-10]
func fromMillis(ms int64) (time.Time, error) {
	if ms < firstMilli || ms > lastMilli {
		return time.Time{}, errRange
	}
	return time.UnixMilli(ms).UTC(), nil
}

func fromNullMillis(ms sql.Null[int64]) (*time.Time, error) {
	if !ms.Valid {
		return nil, nil
	}
	t, err := fromMillis(ms.V)
	return &t, err
}

// toJSON keeps the text as it is. The error does not quote it. [ERR-08]
func toJSON(raw json.RawMessage) (sql.Null[string], error) {
	switch {
	case len(raw) == 0:
		return sql.Null[string]{}, nil
	case !json.Valid(raw):
		return sql.Null[string]{}, errors.New("not JSON")
	}
	return sql.Null[string]{V: string(raw), Valid: true}, nil
}

func fromJSON(text sql.Null[string]) (json.RawMessage, error) {
	if !text.Valid {
		return nil, nil
	}
	if raw := json.RawMessage(text.V); json.Valid(raw) {
		return raw, nil
	}
	return nil, errors.New("not JSON")
}

func toNull[T any](v *T) sql.Null[T] {
	if v == nil {
		return sql.Null[T]{}
	}
	return sql.Null[T]{V: *v, Valid: true}
}

func fromNull[T any](n sql.Null[T]) *T {
	if !n.Valid {
		return nil
	}
	return &n.V
}

// corrupt is the error of a stored value that does not make sense.
func corrupt(column string, err error) error {
	return fmt.Errorf("stored %s: %w", column, err)
}

// newUUID returns a random UUID. RFC 9562 section 5.4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
