package records

import (
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// shownAsBefore reports a breach if the name or an instant of an authenticator
// was stored before and is missing now: a store keeps these fields always or
// never.
func shownAsBefore(c *kit.Context, what string, got, before *adapter.Authenticator) {
	if got == nil || before == nil {
		return
	}
	if before.Name != nil && got.Name == nil || before.Created != nil && got.Created == nil || before.LastUsed != nil && got.LastUsed == nil {
		c.Errorf("%s: got %s, which has lost what was shown before: %s", what, diff.Show(got), diff.Show(before))
	}
}
