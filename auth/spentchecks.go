package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// spend lets a value through once.
func (o *oauthClient) spend(what, value string) error {
	if !o.spent.add(value) {
		return invalidCheck(what, "the sign-in was finished before")
	}
	return nil
}

// spentChecks remembers the checks that were used in this process, for as long
// as their cookies are good. A browser that keeps a deleted cookie gets nowhere
// with it.
type spentChecks struct {
	now  func() time.Time
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time
	// next is when what has expired is dropped.
	next time.Time
}

func newSpentChecks(now func() time.Time) *spentChecks {
	return &spentChecks{now: now, seen: map[[sha256.Size]byte]time.Time{}}
}

// add reports whether the value was not there before.
func (s *spentChecks) add(value string) bool {
	sum := sha256.Sum256([]byte(value))
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.next) {
		for k, expires := range s.seen {
			if now.After(expires) {
				delete(s.seen, k)
			}
		}
		s.next = now.Add(time.Minute)
	}
	if expires, ok := s.seen[sum]; ok && !now.After(expires) {
		return false
	}
	// A cookie is good until a little after its age, see package jwt.
	s.seen[sum] = now.Add(checkMaxAge + time.Minute)
	return true
}
