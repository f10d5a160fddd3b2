package records

import (
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// giveOwner gives each session the user whom it has already. The update may be
// refused.
func giveOwner(c *kit.Context, sessions ...adapter.Session) {
	for _, s := range sessions {
		_, _ = c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(s.UserID)})
	}
}
