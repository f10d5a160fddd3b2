package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// storable reports whether Postgres can hold s: text is UTF-8 without NUL. No
// record can have another key, so a lookup of such a key is a miss without a
// query. [INPUT-10] [INPUT-11]
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// possibleKey reports whether every part of a key could be in the database.
// [INPUT-01]
func possibleKey(parts ...string) bool {
	for _, s := range parts {
		if s == "" || !storable(s) {
			return false
		}
	}
	return true
}

// problems collects the reasons why a record cannot be stored. Such a record
// is refused before it reaches the server, so it does not abort a
// transaction.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// key adds a problem if a part of a key is empty. [INPUT-14]
func (p *problems) key(field, s string) {
	if s == "" {
		p.add("%s is empty", field)
	}
	p.text(field, s)
}

// text adds a problem if a text would not come back unchanged. [DATA-13]
func (p *problems) text(field, s string) {
	if !storable(s) {
		p.add("%s has a NUL byte or is not UTF-8", field)
	}
}

func (p *problems) optional(field string, s *string) {
	if s != nil {
		p.text(field, *s)
	}
}

// instant adds a problem if the year does not have four digits: not every
// execution mode of pgx can send such an instant.
func (p *problems) instant(field string, t time.Time) {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		p.add("%s is in the year %d, want 1 to 9999", field, y)
	}
}

func (p *problems) optionalInstant(field string, t *time.Time) {
	if t != nil {
		p.instant(field, *t)
	}
}

func (p *problems) json(field string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	p.text(field, string(raw))
	if !json.Valid(raw) {
		p.add("%s is not JSON", field)
	}
}

func (p problems) err() error { return errors.Join(p...) }

// Arguments are plain values and untyped nil, which all execution modes
// accept.

func nullable(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func nullableInt(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// nullableJSON returns nil for the JSON null. [ACCT-18]
func nullableJSON(raw json.RawMessage) any {
	if text := string(raw); text != "" && text != "null" {
		return text
	}
	return nil
}

// emailArg returns nil for the empty address, so that users without an
// address do not conflict. [USER-12]
func emailArg(email string) any {
	if email == "" {
		return nil
	}
	return email
}

// instantArg truncates t to microseconds, and drops its time zone and monotonic
// clock reading. [TIME-01] [TIME-09]
func instantArg(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func nullableInstant(t *time.Time) any {
	if t == nil {
		return nil
	}
	return instantArg(*t)
}
