package stores

import (
	"context"
	"time"
)

// fiberStorage is what the storages of github.com/gofiber/storage have.
type fiberStorage interface {
	GetWithContext(ctx context.Context, key string) ([]byte, error)
	SetWithContext(ctx context.Context, key string, val []byte, exp time.Duration) error
	DeleteWithContext(ctx context.Context, key string) error
}

// Fiber is the shim for a storage of fiber, which takes durations: zero means for ever.
type Fiber struct{ Storage fiberStorage }

// Find is SessionStore.Find. A storage returns nil for an absent key.
func (f Fiber) Find(ctx context.Context, token string) ([]byte, bool, error) {
	data, err := f.Storage.GetWithContext(ctx, token)
	return data, data != nil, err
}

// Commit is SessionStore.Commit. A session that has ended is deleted, as a session
// manager does it.
func (f Fiber) Commit(ctx context.Context, token string, data []byte, expires time.Time) error {
	left := time.Until(expires)
	if left <= 0 {
		return f.Storage.DeleteWithContext(ctx, token)
	}
	return f.Storage.SetWithContext(ctx, token, data, left)
}

// Delete is SessionStore.Delete.
func (f Fiber) Delete(ctx context.Context, token string) error {
	return f.Storage.DeleteWithContext(ctx, token)
}
