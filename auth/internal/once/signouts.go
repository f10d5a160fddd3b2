package once

import (
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/recent"
)

const (
	// maxUsers is the number of users of whom signed-out sessions are remembered,
	// and of those of whom replaced tokens are.
	maxUsers = 1 << 14
	// maxTokens is the number of tokens of one user that are remembered.
	maxTokens = 64
)

// Token is a session token: the user who is its subject, its ID (the claim jti),
// and when it was issued.
type Token struct {
	User, ID string
	Issued   time.Time
}

// signOuts has the sessions that were signed out in this process, and which
// session token replaced which. A token is replaced now and then, so the
// response with a new token may be under way when the old one is signed out.
// After that, neither is accepted. Other processes do not know about the
// sign-out: see SessionConfig.Revoked.
//
// Each user has an own, bounded part, so what one user does makes nobody else's
// sign-out forgotten.
type signOuts struct {
	// users have ended sessions, and renewed have replaced tokens.
	users   recent.Map[string, *ended]
	renewed recent.Map[string, *links]
}

// ended are the sessions of a user that were signed out, by their first token.
type ended struct {
	sessions map[string]time.Time
	// before says that all tokens issued before it are over, because sessions were
	// forgotten that may be theirs.
	before time.Time
}

// links have, for the later tokens of a user's sessions, the first token of the
// session.
type links struct {
	first map[string]string
	order []string // the keys of first, the oldest first
}

// first returns the first token of the session to which a token belongs.
func (s *signOuts) first(t Token) string {
	if l, ok := s.renewed.Peek(t.User); ok {
		if first, ok := l.first[t.ID]; ok {
			return first
		}
	}
	return t.ID
}

func (s *signOuts) isOver(t Token) bool {
	e, ok := s.users.Peek(t.User)
	if !ok {
		return false
	}
	_, over := e.sessions[s.first(t)]
	return over || t.Issued.Before(e.before)
}

func (s *signOuts) end(t Token) {
	e := s.users.Get(t.User, func() *ended { return &ended{sessions: map[string]time.Time{}} })
	e.sessions[s.first(t)] = t.Issued
	if len(e.sessions) <= maxTokens {
		return
	}
	oldest := ""
	for id, issued := range e.sessions {
		if oldest == "" || issued.Before(e.sessions[oldest]) {
			oldest = id
		}
	}
	if issued := e.sessions[oldest]; issued.After(e.before) {
		e.before = issued
	}
	delete(e.sessions, oldest)
}

func (s *signOuts) replace(old Token, by string) bool {
	if s.isOver(old) {
		return false
	}
	first := s.first(old)
	l := s.renewed.Get(old.User, func() *links { return &links{first: map[string]string{}} })
	l.first[by] = first
	if l.order = append(l.order, by); len(l.order) > maxTokens {
		delete(l.first, l.order[0])
		l.order = append([]string(nil), l.order[1:]...)
	}
	return true
}

// End marks the session of a token as signed out.
func (m *Memory) End(t Token, now time.Time) {
	m.each(m.ended, true, now, func(p *page) bool { p.signOuts.end(t); return true })
}

// IsOver reports whether the session of a token was signed out.
func (m *Memory) IsOver(t Token, now time.Time) bool {
	return !m.each(m.ended, false, now, func(p *page) bool { return !p.signOuts.isOver(t) })
}

// Replace records that a token replaces an old one, and returns true. If the
// session was signed out in the meantime, it returns false.
func (m *Memory) Replace(old Token, by string, now time.Time) bool {
	return m.each(m.ended, true, now, func(p *page) bool { return p.signOuts.replace(old, by) })
}
