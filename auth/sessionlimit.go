package auth

import (
	"strconv"
	"strings"
	"time"
)

// expires is when a session that is renewed at an instant ends.
func (c *SessionConfig) expires(renewed, began time.Time) time.Time {
	end := renewed.Add(c.MaxAge)
	if last := began.Add(c.AbsoluteMaxAge); c.AbsoluteMaxAge > 0 && last.Before(end) {
		return last
	}
	return end
}

// stamp separates the random part of the key of a database session from the
// instant at which the session began. The instant is added only with
// AbsoluteMaxAge. It needs no signature: a changed key finds another session,
// or none.
const stamp = ".t"

// stamped is the key of a database session that begins now.
func (c *SessionConfig) stamped(key string, now time.Time) string {
	if c.AbsoluteMaxAge <= 0 {
		return key
	}
	return key + stamp + strconv.FormatInt(now.Unix(), 36)
}

// beganAt is when the database session with a key began, if the key contains that
// instant.
func beganAt(key string) (time.Time, bool) {
	i := strings.LastIndex(key, stamp)
	if i < 0 {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(key[i+len(stamp):], 36, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0
}

// outlived reports whether the database session with a key is older than
// AbsoluteMaxAge, and until when it can be extended; the zero time means that
// it can't be extended.
func (c *SessionConfig) outlived(key string, now time.Time) (over bool, until time.Time) {
	if c.AbsoluteMaxAge <= 0 {
		return false, now.Add(c.MaxAge)
	}
	start, ok := beganAt(key)
	if !ok {
		return false, time.Time{}
	}
	return !now.Before(start.Add(c.AbsoluteMaxAge)), c.expires(now, start)
}
