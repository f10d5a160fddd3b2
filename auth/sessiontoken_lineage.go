package auth

import (
	"sync"
)

// maxLineage is the number of replaced tokens that are remembered, and also the
// number of signed-out sessions. Each of the two takes about 5 MB.
const maxLineage = 1 << 14

// lineage remembers which session token replaced which, and which sessions were
// signed out in this process. A token is replaced now and then, so the response
// with a new token may be under way when the old one is signed out. After that,
// neither token is accepted. Other processes do not know about the sign-out:
// see SessionConfig.Revoked.
type lineage struct {
	mu sync.Mutex
	// first has, for each later token of a session, the first token of that
	// session.
	first recent[string, string]
	ended recent[string, struct{}]
}

func newLineage() *lineage {
	return &lineage{first: recent[string, string]{max: maxLineage}, ended: recent[string, struct{}]{max: maxLineage}}
}

// of returns the first token of the session to which a token belongs.
func (l *lineage) of(token string) string {
	if first, ok := l.first.peek(token); ok {
		return first
	}
	return token
}

// end marks the session of a token as signed out.
func (l *lineage) end(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended.get(l.of(token), func() struct{} { return struct{}{} })
}

// isOver reports whether the session of a token was signed out.
func (l *lineage) isOver(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, over := l.ended.peek(l.of(token))
	return over
}

// replace records that a token replaces an old one, and returns true. If the
// session was signed out in the meantime, it records nothing and returns false.
func (l *lineage) replace(old, by string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.of(old)
	if _, over := l.ended.peek(first); over {
		return false
	}
	l.first.get(by, func() string { return first })
	return true
}
