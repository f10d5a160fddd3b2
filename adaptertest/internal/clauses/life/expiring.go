package life

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// expiring is a set of sessions and verification tokens.
type expiring struct {
	sessions []adapter.Session
	tokens   []adapter.VerificationToken
}

// newExpiring creates a session and a verification token for each lifetime.
func newExpiring(c *kit.Context, lives ...time.Duration) expiring {
	var e expiring
	hasSessions := c.Stores(kit.SessionRecord)
	hasTokens := c.Stores(kit.VerificationTokenRecord)
	if !hasSessions && !hasTokens {
		c.NotApplicable("the adapter keeps neither sessions nor verification tokens")
	}
	owner := ""
	if hasSessions {
		owner = c.User().ID
	}
	for _, d := range lives {
		expires := c.Now().Add(d).UTC().Truncate(c.Harness().Precision())
		if hasSessions {
			s := c.NewSession(owner)
			s.Expires = expires
			if _, err := c.Adapter.CreateSession(c.Ctx, s); err != nil {
				c.Errorf("CreateSession with an expiry in %v: %v", d, err)
			} else {
				e.sessions = append(e.sessions, s)
			}
		}
		if hasTokens {
			t := c.NewToken()
			t.Expires = expires
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil {
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
func (e expiring) there(c *kit.Context, when string) {
	for _, s := range e.sessions {
		got, err := c.Adapter.GetSessionAndUser(c.Ctx, s.SessionToken)
		if !c.Now().Before(s.Expires) {
			continue // it has expired because the machine is slow
		}
		what := fmt.Sprintf("a session that expires %s, read %s", diff.Show(s.Expires), when)
		switch {
		case err != nil:
			c.Errorf("%s: %v", what, err)
		case got == nil:
			c.Errorf("%s: absent", what)
		default:
			c.Same(what, &got.Session, &s)
		}
	}
	for _, t := range e.tokens {
		got, err := c.Adapter.UseVerificationToken(c.Ctx, t.Key())
		if !c.Now().Before(t.Expires) {
			continue
		}
		what := fmt.Sprintf("a verification token that expires %s, used %s", diff.Show(t.Expires), when)
		switch {
		case err != nil:
			c.Errorf("%s: %v", what, err)
		case got == nil:
			c.Errorf("%s: absent", what)
		default:
			c.Same(what, got, &t)
		}
	}
}

// truthful reads the expired records: each must be absent or have its true
// instant.
func (e expiring) truthful(c *kit.Context) {
	for _, s := range e.sessions {
		got, err := c.Adapter.GetSessionAndUser(c.Ctx, s.SessionToken)
		switch {
		case err != nil:
			c.Errorf("a session that expired %s: %v", diff.Show(s.Expires), err)
		case got != nil:
			pastAsGiven(c, "a session", got.Session.Expires, s.Expires)
		}
	}
	for _, t := range e.tokens {
		got, err := c.Adapter.UseVerificationToken(c.Ctx, t.Key())
		switch {
		case err != nil:
			c.Errorf("a verification token that expired %s: %v", diff.Show(t.Expires), err)
		case got != nil:
			pastAsGiven(c, "a verification token", got.Expires, t.Expires)
			if again, err := c.Adapter.UseVerificationToken(c.Ctx, t.Key()); err == nil && again != nil {
				c.Errorf("a verification token that expired %s could be used twice", diff.Show(t.Expires))
			}
		}
	}
}

func pastAsGiven(c *kit.Context, what string, got, given time.Time) {
	if d := got.Sub(given); d > c.Harness().Precision() || d <= -time.Second {
		c.Errorf("%s that expired %s comes with %s", what, diff.Show(given), diff.Show(got))
	}
}
