package remote

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// explicit makes the calls of updateUser for a program whose contract has less in them, as that of Auth.js: the
// program stores the fields that it gets. So the user's address is compared before an update on the condition that the
// user has it, and another address comes with the proof that it clears.
type explicit struct {
	// store is held while an address is compared and changed, and shared by other changes of addresses.
	store sync.RWMutex
}

// update updates a user through c.
func (e *explicit) update(ctx context.Context, c *Client, update adapter.UserUpdate) (*adapter.User, error) {
	email, moves := update.Email.Get()
	switch {
	case update.IfEmail != "":
		e.store.Lock()
		defer e.store.Unlock()
	case moves:
		e.store.RLock()
		defer e.store.RUnlock()
	default:
		return call[*adapter.User](ctx, c, "updateUser", update)
	}
	before, err := c.GetUser(ctx, update.ID)
	if err != nil {
		return nil, err
	}
	if update.IfEmail != "" && (before == nil || before.Email != update.IfEmail) {
		return nil, adapter.ErrNotFound
	}
	update.IfEmail = ""
	if moves && before != nil && before.Email != email && !update.EmailVerified.IsSet() {
		update.EmailVerified = adapter.To[*time.Time](nil)
	}
	return call[*adapter.User](ctx, c, "updateUser", update)
}
