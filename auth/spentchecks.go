package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// spend lets a value of a provider's checks through once.
func (e *engine) spend(o *oauthClient, what, value string) error {
	if !e.spent.add(o.provider.ID+"\x00"+value, e.config.Clock()) {
		return invalidCheck(what, "the sign-in was finished before")
	}
	return nil
}

// maxSpent is how many spent checks are remembered, in about 10 MB. Everybody can
// make some by finishing sign-ins of their own. When there are more, the oldest
// are forgotten: then who keeps a deleted cookie can show its value again, and
// gets as far as the provider lets a code be used twice.
const maxSpent = 1 << 16

// spentChecks remembers the checks that were used in this process, for as long
// as their cookies are good. A browser that keeps a deleted cookie gets nowhere
// with it.
type spentChecks struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time
	// order has the keys of seen, as a ring that begins at first.
	order [][sha256.Size]byte
	first int
}

func newSpentChecks() *spentChecks {
	return &spentChecks{seen: map[[sha256.Size]byte]time.Time{}}
}

// add reports whether the value was not there before.
func (s *spentChecks) add(value string, now time.Time) bool {
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
	// A cookie is good until a little after its age, see package jwt.
	s.seen[sum] = now.Add(checkMaxAge + time.Minute)
	return true
}

// forget drops what has expired, and the oldest where there is no room.
func (s *spentChecks) forget(now time.Time) {
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
