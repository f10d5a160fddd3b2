package stores

import (
	"context"
	"time"
)

// scsStore is what the stores of github.com/alexedwards/scs have.
type scsStore interface {
	Find(token string) ([]byte, bool, error)
	Commit(token string, b []byte, expiry time.Time) error
	Delete(token string) error
}

// scsIterable is what most of them have, too.
type scsIterable interface {
	scsStore
	All() (map[string][]byte, error)
}

// SCS is the shim for a store of scs, whose methods have no contexts.
type SCS struct{ Store scsStore }

// Find is SessionStore.Find.
func (s SCS) Find(_ context.Context, token string) ([]byte, bool, error) { return s.Store.Find(token) }

// Commit is SessionStore.Commit.
func (s SCS) Commit(_ context.Context, token string, data []byte, expires time.Time) error {
	return s.Store.Commit(token, data, expires)
}

// Delete is SessionStore.Delete.
func (s SCS) Delete(_ context.Context, token string) error { return s.Store.Delete(token) }

// SCSIterable is the shim for a store of scs that can iterate.
type SCSIterable struct {
	SCS
	iterable scsIterable
}

// NewSCSIterable returns the shim for a store.
func NewSCSIterable(s scsIterable) SCSIterable { return SCSIterable{SCS{s}, s} }

// All is SessionIterator.All.
func (s SCSIterable) All(context.Context) (map[string][]byte, error) { return s.iterable.All() }
