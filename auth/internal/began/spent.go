package began

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxSpent is the number of spent checks that are remembered, in about 10 MB.
// Anybody can add some by finishing their own sign-ins. If there are more, the
// oldest are forgotten. Then a browser that kept a deleted cookie can use its
// value again, but this succeeds only if the provider accepts a code twice.
const maxSpent = 1 << 16

// Spent remembers the values that were used in this process, for as long
// as their cookies are valid. So a browser that keeps a deleted cookie can't
// use it again.
type Spent struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time
	// order has the keys of seen, the oldest first. Its keys before the index
	// first are forgotten.
	order [][sha256.Size]byte
	first int
}

// NewSpent returns an empty list.
func NewSpent() *Spent {
	return &Spent{seen: map[[sha256.Size]byte]time.Time{}}
}

// Add reports whether the value was not there before.
func (s *Spent) Add(value string, now time.Time) bool {
	sum := sha256.Sum256([]byte(value))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(now)
	if expires, ok := s.seen[sum]; ok && !now.After(expires) {
		return false
	}
	if _, ok := s.seen[sum]; !ok {
		s.order = append(s.order, sum)
	}
	// A cookie is valid until a little after its maximum age: see package jwt.
	s.seen[sum] = now.Add(MaxAge + time.Minute)
	return true
}

// forget drops the checks that have expired, and the oldest one if there is no
// room.
func (s *Spent) forget(now time.Time) {
	for s.first < len(s.order) {
		oldest := s.order[s.first]
		if expires := s.seen[oldest]; !now.After(expires) && len(s.order)-s.first < maxSpent {
			break
		}
		delete(s.seen, oldest)
		s.first++
	}
	if s.first > len(s.order)/2 { // move what is left to a slice of its own
		s.order = append(make([][sha256.Size]byte, 0, len(s.order)-s.first+1), s.order[s.first:]...)
		s.first = 0
	}
}
