package memory

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// DeleteExpired removes the sessions and verification tokens whose Expires is
// at or before now. It looks at every session and token, and lets other calls
// in after each thousand. If the context ends during the sweep, the error is
// the context's error, and the counts say how many records are already
// removed. [EXP-01] [EXP-05] [EXP-06] [EXP-07]
func (s *store) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	const op = "delete expired"
	var swept adapter.Swept
	if err := begin(ctx, op); err != nil {
		return swept, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := 0
	pause := func() error {
		seen++
		s.letIn(seen)
		if seen%step != 0 {
			return nil
		}
		return begin(ctx, op)
	}
	for _, session := range s.sessions {
		if !session.expires.After(now) && !session.owner.gone {
			s.drop(session)
			swept.Sessions++
		}
		if err := pause(); err != nil {
			return swept, err
		}
	}
	for _, pending := range s.tokens {
		for _, token := range pending {
			if !token.Expires.After(now) && s.dropToken(token) {
				swept.VerificationTokens++
			}
			if err := pause(); err != nil {
				return swept, err
			}
		}
	}
	return swept, nil
}
