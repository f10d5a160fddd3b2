package began

import (
	"strconv"
	"testing"
	"time"
)

// TestSpentChecksAreCapped: a client that finishes sign-ins without end uses no
// more memory than the cap, and the last used checks stay used.
func TestSpentChecksAreCapped(t *testing.T) {
	t.Parallel()
	s, now := NewSpent(), time.Unix(1e9, 0)
	const more = 3*maxSpent + 7
	for i := range more {
		if !s.Add(strconv.Itoa(i), now) {
			t.Fatalf("value %d was spent before", i)
		}
	}
	if len(s.seen) > maxSpent || cap(s.order) > 4*maxSpent {
		t.Errorf("%d values are kept, in room for %d, want at most %d", len(s.seen), cap(s.order), maxSpent)
	}
	for i := more - maxSpent + 1; i < more; i++ {
		if s.Add(strconv.Itoa(i), now) {
			t.Fatalf("value %d of %d is good twice", i, more)
		}
	}
	now = now.Add(MaxAge + 2*time.Minute)
	if !s.Add("new", now) || len(s.seen) != 1 {
		t.Errorf("%d values are kept after they expired, want 1", len(s.seen))
	}
	if s.Add("new", now) {
		t.Error("a value is good twice")
	}
}
