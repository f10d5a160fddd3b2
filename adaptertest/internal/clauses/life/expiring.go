package life

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// newExpiring creates a session and a verification token for each lifetime.
func newExpiring(c *kit.Context, lives ...time.Duration) *kit.Records {
	e := &kit.Records{}
	hasSessions := c.Stores(kit.SessionRecord)
	if !hasSessions && !c.Stores(kit.VerificationTokenRecord) {
		c.NotApplicable("the adapter keeps neither sessions nor verification tokens")
	}
	if hasSessions {
		e.User = *c.User()
	}
	for _, d := range lives {
		expires := c.Now().Add(d).UTC().Truncate(c.Harness().Precision())
		for _, kind := range []kit.Kind{kit.SessionRecord, kit.VerificationTokenRecord} {
			if !c.Stores(kind) {
				continue
			}
			x := kit.NewDraft(c, kind, e.User.ID)
			x.Expire(expires)
			create := x.Create()
			if _, err := create.Do(c.Ctx, c.Adapter); err != nil {
				c.Errorf("%s with an expiry in %v: %v", create.Method, d, err)
				continue
			}
			e.Add(x)
		}
	}
	return e
}

// there reads the records that have not expired yet, and reports those that are missing or changed.
func there(c *kit.Context, e *kit.Records, when string) {
	for _, x := range e.Drafts() {
		got, err := x.Look(c, c.Adapter)
		if !c.Now().Add(200 * time.Millisecond).Before(x.Expires()) { // EXP-07 cleans up so far ahead of the clock
			continue // it has expired because the machine is slow
		}
		verb := map[kit.Kind]string{kit.SessionRecord: "read", kit.VerificationTokenRecord: "used"}[x.Kind]
		what := fmt.Sprintf("a %s that expires %s, %s %s", x.Kind, diff.Show(x.Expires()), verb, when)
		switch {
		case err != nil:
			c.Errorf("%s: %v", what, err)
		case kit.IsNilRecord(got):
			c.Errorf("%s: absent", what)
		default:
			c.Same(what, got, x.Value())
		}
	}
}

// truthful reads the expired records: each must be absent or have its true instant.
func truthful(c *kit.Context, e *kit.Records) {
	for _, x := range e.Drafts() {
		what := fmt.Sprintf("a %s that expired %s", x.Kind, diff.Show(x.Expires()))
		got, err := x.Look(c, c.Adapter)
		if err != nil {
			c.Errorf("%s: %v", what, err)
		}
		if err != nil || kit.IsNilRecord(got) {
			continue
		}
		given := x.Expires()
		switch r := got.(type) {
		case *adapter.Session:
			pastAsGiven(c, what, r.Expires, given)
		case *adapter.VerificationToken:
			pastAsGiven(c, what, r.Expires, given)
			if again, err := c.Adapter.UseVerificationToken(c.Ctx, r.Key()); err == nil && again != nil {
				c.Errorf("%s could be used twice", what)
			}
		}
	}
}

func pastAsGiven(c *kit.Context, what string, got, given time.Time) {
	if d := got.Sub(given); d > c.Harness().Precision() || d <= -time.Second {
		c.Errorf("%s comes with %s", what, diff.Show(got))
	}
}
