package adapter

import (
	"strings"
	"time"
)

// dates are the forms of a date as text.
var dates = [...]string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05-0700",
	"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly,
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05-07", time.DateTime, "2006-01-02 15:04",
	time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700", time.RFC850, time.ANSIC,
}

// IsDate reports whether v can be parsed into a date. That is a time.Time other
// than the zero value, or a string in one of these forms:
//
//   - RFC 3339 section 5.6, with or without seconds, and with an offset that has
//     no colon: 2026-01-15T12:00:00.000Z, 2026-01-15T12:00+02:00,
//     2026-01-15T12:00:00+0200
//   - the same without a time, or without an offset: 2026-01-15,
//     2026-01-15T12:00:00
//   - the same with a space in place of the T, as in SQL: 2026-01-15 12:00:00,
//     2026-01-15 12:00:00.123+02
//   - an HTTP date (RFC 9110 section 5.6.7): Thu, 15 Jan 2026 12:00:00 GMT,
//     Thursday, 15-Jan-26 12:00:00 GMT, Thu Jan 15 12:00:00 2026
//   - a date of a mail (RFC 5322 section 3.3): Thu, 15 Jan 2026 12:00:00 +0200
//
// A day that does not exist is no date. Adapters meet such strings in stores
// that keep only text.
func IsDate(v any) bool {
	switch v := v.(type) {
	case time.Time:
		return !v.IsZero()
	case *time.Time:
		return v != nil && !v.IsZero()
	case string:
		v = strings.ToUpper(v) // RFC 3339 allows t and z
		for _, layout := range dates {
			if _, err := time.Parse(layout, v); err == nil {
				return true
			}
		}
	}
	return false
}
