package mutants

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// firstReads has the records of one kind as they were read first.
type firstReads[T any] struct{ records sync.Map }

// deleted returns the record as it was read first, in place of the deleted one.
func (f *firstReads[T]) deleted(key string, gone *T) *T {
	if old, ok := f.records.LoadAndDelete(key); ok && gone != nil {
		return new(old.(T))
	}
	return gone
}

// forgetfulIndex lists a user's sessions by an index, which expires together with
// the session that was written last.
func forgetfulIndex(m *mem, w *with) {
	type index struct {
		tokens map[string]bool
		until  time.Time
	}
	all := func() map[string]*index {
		return kept(m.records, "index", func() map[string]*index { return map[string]*index{} })
	}
	listed := func(id string) []adapter.Session { // the caller holds the lock
		list := []adapter.Session{}
		if x := all()[id]; x != nil && x.until.After(m.clock.Now()) {
			for token := range x.tokens {
				if s, ok := m.sessions[token]; ok && s.UserID == id {
					list = append(list, copySession(s))
				}
			}
		}
		return list
	}
	wrote := func(s adapter.Session) {
		defer held(&m.mu)()
		x := all()[s.UserID]
		if x == nil {
			x = &index{tokens: map[string]bool{}}
			all()[s.UserID] = x
		}
		x.tokens[s.SessionToken], x.until = true, s.Expires
	}
	w.createSession = then(m.CreateSession, func(s adapter.Session, _ *adapter.Session) { wrote(s) })
	w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		updated, err := m.UpdateSession(ctx, u)
		if err == nil && updated != nil {
			wrote(*updated)
		}
		return updated, err
	}
	w.listSessionsByUserID = locked(m, func(id string) ([]adapter.Session, error) { return listed(id), nil })
	w.deleteSessionsByUserID = func(ctx context.Context, id, except string) (int64, error) {
		return write(ctx, m, func() (n int64, err error) {
			for _, s := range listed(id) {
				if s.SessionToken != except {
					delete(m.sessions, s.SessionToken)
					n++
				}
			}
			return n, nil
		})
	}
}

// formerKeys has the keys of the records that each user ever had.
type formerKeys[K comparable] struct {
	mu sync.Mutex
	of map[string]map[K]bool
}

func (f *formerKeys[K]) note(userID string, key K) {
	defer held(&f.mu)()
	if f.of == nil {
		f.of = map[string]map[K]bool{}
	}
	note(f.of, userID, key)
}

func (f *formerKeys[K]) all(userID string) []K {
	defer held(&f.mu)()
	return slices.Collect(maps.Keys(f.of[userID]))
}
