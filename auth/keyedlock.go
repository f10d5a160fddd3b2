package auth

import (
	"context"
	"sync"
)

// keyedLock is a lock for each key. One caller at a time holds a key. The zero
// value is ready for use.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]*heldKey
}

type heldKey struct {
	// turn is a channel of capacity one, which is full while the key is held.
	turn chan struct{}
	// interested is the number of callers that hold the key or wait for it.
	interested int
}

// acquire waits until it holds the key, or until the context ends. The caller
// holds the key until it calls release.
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
