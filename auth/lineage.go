package auth

import (
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// maxLineage is how many tokens that were replaced, and how many sessions that were
// signed out, are remembered, in about 5 MB each.
const maxLineage = 1 << 14

// lineage remembers which session tokens came from which, and which of them were
// signed out in this process. A token is replaced now and then, so the answer with a
// new one may be under way when the old one is signed out; neither opens anything
// after that. Other processes don't know of it: see SessionConfig.Revoked.
type lineage struct {
	mu sync.Mutex
	// first is the first token of the session of a later one.
	first recent[string, string]
	ended recent[string, struct{}]
}

func newLineage() *lineage {
	return &lineage{first: recent[string, string]{max: maxLineage}, ended: recent[string, struct{}]{max: maxLineage}}
}

// tokenID is the claim jti, which names one token. It is empty for tokens of
// JWTConfig.Encode, which may give many tokens one name.
func (e *engine) tokenID(claims Claims) string {
	if e.config.JWT.Encode != nil {
		return ""
	}
	return claims.String("jti")
}

// idOf is the tokenID of a token that was just made. Salt is the name of the cookie.
func (e *engine) idOf(token, salt string) string {
	claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: e.config.JWT.Secret[:1], Salt: salt, Keys: e.keys, Now: e.config.Clock})
	if err != nil {
		return ""
	}
	return claims.String("jti")
}

// of is the first token of the session of a token.
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

// replace notes that a token takes the place of another, and reports whether it
// may: not where the session was signed out meanwhile.
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
