package mutants

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// lifetimes are when the members of a set expired at first, in the order in which they came.
type lifetimes struct{ ends []time.Time }

func (l *lifetimes) first() time.Time { return l.ends[0] }

func (l *lifetimes) newest() time.Time { return l.ends[len(l.ends)-1] }

func (l *lifetimes) last() time.Time { return slices.MaxFunc(l.ends, time.Time.Compare) }

// expiringSets are sets with a lifetime.
type expiringSets struct {
	mu    sync.Mutex
	sets  map[string]*lifetimes
	now   func() time.Time
	until func(*lifetimes) time.Time
}

func setsIn(shared *sync.Map, now func() time.Time, until func(*lifetimes) time.Time) *expiringSets {
	s, _ := shared.LoadOrStore("sets", &expiringSets{sets: map[string]*lifetimes{}, now: now, until: until})
	return s.(*expiringSets)
}

func (s *expiringSets) add(set string, end time.Time) {
	defer held(&s.mu)()
	if l := s.sets[set]; l == nil || s.isOver(l) {
		s.sets[set] = &lifetimes{}
	}
	s.sets[set].ends = append(s.sets[set].ends, end)
}

func (s *expiringSets) isOver(l *lifetimes) bool { return !s.until(l).After(s.now()) }

// over reports whether the set has existed and its lifetime is over.
func (s *expiringSets) over(set string) bool {
	defer held(&s.mu)()
	l := s.sets[set]
	return l != nil && s.isOver(l)
}

// tokensFor deletes the tokens of an identifier as long as a set of them lives.
func tokensFor(b base, shared *sync.Map, now func() time.Time, until func(*lifetimes) time.Time, w *with) {
	sets := setsIn(shared, now, until)
	w.createVerificationToken = func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
		created, err := b.CreateVerificationToken(ctx, t)
		if err == nil && t.Expires.After(now()) {
			sets.add(t.Identifier, t.Expires)
		}
		return created, err
	}
	w.deleteVerificationTokens = func(ctx context.Context, identifier string) (int64, error) {
		if sets.over(identifier) {
			return 0, ctx.Err()
		}
		return b.DeleteVerificationTokens(ctx, identifier)
	}
}
