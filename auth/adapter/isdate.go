package adapter

import "time"

// IsDate reports whether v is a date: a time.Time other than the zero value, or
// a string in the form of RFC 3339 section 5.6, with or without seconds.
// Adapters meet such strings in stores that keep only text.
func IsDate(v any) bool {
	switch v := v.(type) {
	case time.Time:
		return !v.IsZero()
	case *time.Time:
		return v != nil && !v.IsZero()
	case string:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
			if _, err := time.Parse(layout, v); err == nil {
				return true
			}
		}
	}
	return false
}
