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
// that no session or token lasts longer than its Expires. A date in JSON can
// express the years 0 to 9999. [TIME-02] [TIME-06]
const (
	firstMilli = -62167219200000 // 0000-01-01T00:00:00Z
	lastMilli  = 253402300799999 // 9999-12-31T23:59:59.999Z
)

var errRange = errors.New("the instant is outside the years 0 to 9999")

func toMillis(t time.Time) (int64, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return 0, errRange
	}
	return t.UnixMilli(), nil
}

func toNullMillis(t *time.Time) (any, error) {
	if t == nil {
		return nil, nil
	}
	return toMillis(*t)
}

// fromMillis returns an error for a number that toMillis cannot have written.
// [ERR-10]
func fromMillis(ms int64) (time.Time, error) {
	if ms < firstMilli || ms > lastMilli {
		return time.Time{}, errRange
	}
	return time.UnixMilli(ms).UTC(), nil
}

func fromNullMillis(ms *int64) (*time.Time, error) {
	if ms == nil {
		return nil, nil
	}
	t, err := fromMillis(*ms)
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

// toNull returns the statement's argument for a field that may be nil. Nil is
// stored as null.
func toNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// orNull scans a column that may be null into a field. It is faster than the
// pointer to a pointer of database/sql.
type orNull[T any] struct{ field **T }

// Scan implements [sql.Scanner].
func (n orNull[T]) Scan(value any) error {
	if v, ok := value.(T); ok {
		*n.field = &v
		return nil
	}
	var converted sql.Null[T]
	err := converted.Scan(value)
	if *n.field = nil; converted.Valid {
		*n.field = &converted.V
	}
	return err
}

// corrupt returns the error for a stored value that is not valid.
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
