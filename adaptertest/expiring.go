package adaptertest

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const day = 24 * time.Hour

// expiring is a set of sessions and verification tokens.
type expiring struct {
	sessions []adapter.Session
	tokens   []adapter.VerificationToken
}

// expiring creates a session and a verification token for each lifetime.
func (c *clauseContext) expiring(lives ...time.Duration) expiring {
	var e expiring
	hasSessions := c.stores(SessionRecord)
	hasTokens := c.stores(VerificationTokenRecord)
	if !hasSessions && !hasTokens {
		c.notApplicable("the adapter keeps neither sessions nor verification tokens")
	}
	owner := ""
	if hasSessions {
		owner = c.user().ID
	}
	for _, d := range lives {
		expires := c.now().Add(d).UTC().Truncate(c.harness().precision())
		if hasSessions {
			s := c.newSession(owner)
			s.Expires = expires
			if _, err := c.a.CreateSession(c.ctx, s); err != nil {
				c.Errorf("CreateSession with an expiry in %v: %v", d, err)
			} else {
				e.sessions = append(e.sessions, s)
			}
		}
		if hasTokens {
			t := c.newToken()
			t.Expires = expires
			if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil {
				c.Errorf("CreateVerificationToken with an expiry in %v: %v", d, err)
			} else {
				e.tokens = append(e.tokens, t)
			}
		}
	}
	return e
}

// there reads the records that have not expired yet, and reports those that
// are missing or changed.
func (e expiring) there(c *clauseContext, when string) {
	for _, s := range e.sessions {
		got, err := c.a.GetSessionAndUser(c.ctx, s.SessionToken)
		if !c.now().Before(s.Expires) {
			continue // it has expired because the machine is slow
		}
		what := fmt.Sprintf("a session that expires %s, read %s", diff.Show(s.Expires), when)
		switch {
		case err != nil:
			c.Errorf("%s: %v", what, err)
		case got == nil:
			c.Errorf("%s: absent", what)
		default:
			c.same(what, &got.Session, &s)
		}
	}
	for _, t := range e.tokens {
		got, err := c.a.UseVerificationToken(c.ctx, t.Key())
		if !c.now().Before(t.Expires) {
			continue
		}
		what := fmt.Sprintf("a verification token that expires %s, used %s", diff.Show(t.Expires), when)
		switch {
		case err != nil:
			c.Errorf("%s: %v", what, err)
		case got == nil:
			c.Errorf("%s: absent", what)
		default:
			c.same(what, got, &t)
		}
	}
}

// truthful reads the expired records: each must be absent or have its true
// instant.
func (e expiring) truthful(c *clauseContext) {
	for _, s := range e.sessions {
		got, err := c.a.GetSessionAndUser(c.ctx, s.SessionToken)
		switch {
		case err != nil:
			c.Errorf("a session that expired %s: %v", diff.Show(s.Expires), err)
		case got != nil:
			c.pastAsGiven("a session", got.Session.Expires, s.Expires)
		}
	}
	for _, t := range e.tokens {
		got, err := c.a.UseVerificationToken(c.ctx, t.Key())
		switch {
		case err != nil:
			c.Errorf("a verification token that expired %s: %v", diff.Show(t.Expires), err)
		case got != nil:
			c.pastAsGiven("a verification token", got.Expires, t.Expires)
			if again, err := c.a.UseVerificationToken(c.ctx, t.Key()); err == nil && again != nil {
				c.Errorf("a verification token that expired %s could be used twice", diff.Show(t.Expires))
			}
		}
	}
}

func (c *clauseContext) pastAsGiven(what string, got, given time.Time) {
	if d := got.Sub(given); d > c.harness().precision() || d <= -time.Second {
		c.Errorf("%s that expired %s comes with %s", what, diff.Show(given), diff.Show(got))
	}
}
