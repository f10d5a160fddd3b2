package auth

import (
	"context"
	"sync"
)

// keyedLock lets one at a time hold a key. The zero value is ready.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]*heldKey
}

type heldKey struct {
	// turn has room for the one that holds the key.
	turn chan struct{}
	// interested counts the holder and those who wait.
	interested int
}

// acquire waits for the key until the context ends. The key is held until
// release is called.
func (l *keyedLock) acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*heldKey)
	}
	k := l.held[key]
	if k == nil {
		k = &heldKey{turn: make(chan struct{}, 1)}
		l.held[key] = k
	}
	k.interested++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.interested--; k.interested == 0 {
			delete(l.held, key)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
