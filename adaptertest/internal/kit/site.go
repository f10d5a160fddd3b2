package kit

import (
	"context"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Foreign is that of package adaptertest.
type Foreign struct {
	Name    string
	Open    func(t testing.TB) (adapter.Adapter, error)
	User    adapter.User
	Account adapter.AccountKey
	Session adapter.Session
}

// Reduced is that of package adaptertest.
type Reduced struct {
	Right   string
	Open    func(t testing.TB) adapter.Adapter
	Prepare func(ctx context.Context, a adapter.Adapter) error
	Witness func(t testing.TB) adapter.Adapter
}

// Use makes another adapter the one that the calls of the clause go to.
func Use(c *Context, a adapter.Adapter) {
	c.Raw, c.Adapter = a, c.Observe(a)
	c.UninvolvedGone = true // that user is in the store of the first adapter
}
