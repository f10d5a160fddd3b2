package mutants

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// lifetimeMutants keep something beside a record for another time than the record lives.
func lifetimeMutants() []Mutant {
	return []Mutant{
		{Name: "list of sessions ends with their first lifetimes", Fault: "The set of a user's sessions expires when the last of them was to expire that CreateSession stored. UpdateSession extends the session, not the set.", Fails: []string{"SLIST-01", "SLIST-04"},
			mem: func(m *mem) with { return listedFor(m, m.common(), m.clock.Now, (*lifetimes).last) }},
		{Name: "index of sessions has its own expiry", Fault: "A second table has the sessions of a user and when they expire, for the lists. UpdateSession does not write to it.", Fails: []string{"SLIST-01", "SLIST-04"},
			lite: func(l *lite) with { return listedFor(l, l.common(), time.Now, (*lifetimes).last) }},
		{Name: "list of sessions ends with the first session", Fault: "The set of a user's sessions gets its expiry from the session that creates the set.", Fails: []string{"SLIST-01", "SLIST-04"},
			mem: func(m *mem) with { return listedFor(m, m.common(), m.clock.Now, (*lifetimes).first) }},

		{Name: "set of tokens ends with the first token", Fault: "The set of an identifier's tokens gets its expiry from the token that creates the set. DeleteVerificationTokens then finds no others.", Fails: []string{"TEDIT-01"},
			mem: func(m *mem) with { return tokensFor(m, m.common(), m.clock.Now, (*lifetimes).first) }},
		{Name: "set of tokens ends with the last token", Fault: "Each token sets the expiry of the set of its identifier's tokens, also to an earlier one.", Fails: []string{"TEDIT-01"},
			lite: func(l *lite) with { return tokensFor(l, l.common(), time.Now, (*lifetimes).newest) }},

		{Name: "clean-up removes the set of tokens with the last token", Fault: "Each token sets the expiry of the set of its identifier's tokens, and DeleteExpired removes the sets that have expired.", Fails: []string{"EXP-05"},
			mem: func(m *mem) with { return tokensUntilCleanUp(m, m.common(), (*lifetimes).newest) }},
		{Name: "list leaves out what had expired before", Fault: "CreateSession adds the session to the user's list unless it has expired, and UpdateSession, which extends it, does not.", Fails: []string{"SLIST-01"},
			mem: func(m *mem) with { return listsWhatLived(m, m.common(), m.clock.Now) }},
		{Name: "index has no session that had expired", Fault: "A second table has the sessions of a user, for the lists. A session that has expired is not written to it, and is not when it is extended.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with { return listsWhatLived(l, l.common(), time.Now) }},

		{Name: "clean-up does not count down", Fault: "A counter has the number of an identifier's tokens, and DeleteVerificationTokens returns it. DeleteExpired deletes tokens and leaves the counter.", Fails: []string{"EXP-05"},
			mem: func(m *mem) with { return countsTokens(m, m.common()) }},
		{Name: "number of tokens outlives clean-up", Fault: "A column of a second table has the number of an identifier's tokens. DeleteExpired does not update it.", Fails: []string{"EXP-05"},
			lite: func(l *lite) with { return countsTokens(l, l.common()) }},

		{Name: "clean-up removes the set of tokens with the first token", Fault: "The set of an identifier's tokens has the expiry of the token that creates the set, and DeleteExpired removes the sets that have expired.", Fails: []string{"EXP-05"},
			lite: func(l *lite) with { return tokensUntilCleanUp(l, l.common(), (*lifetimes).first) }},
	}
}

// lifetimes are when the members of a set expired at first, in the order in which they came.
type lifetimes struct{ ends []time.Time }

func (l *lifetimes) first() time.Time  { return l.ends[0] }
func (l *lifetimes) newest() time.Time { return l.ends[len(l.ends)-1] }
func (l *lifetimes) last() time.Time   { return slices.MaxFunc(l.ends, time.Time.Compare) }

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
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.sets[set]; l == nil || s.isOver(l) {
		s.sets[set] = &lifetimes{}
	}
	s.sets[set].ends = append(s.sets[set].ends, end)
}

func (s *expiringSets) isOver(l *lifetimes) bool { return !s.until(l).After(s.now()) }

// over reports whether the set has existed and its lifetime is over.
func (s *expiringSets) over(set string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.sets[set]
	return l != nil && s.isOver(l)
}

// listedFor lists and ends the sessions of a user as long as a set of them lives.
func listedFor(b base, shared *sync.Map, now func() time.Time, until func(*lifetimes) time.Time) with {
	sets := setsIn(shared, now, until)
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			created, err := b.CreateSession(ctx, s)
			if err == nil && s.Expires.After(now()) {
				sets.add(s.UserID, s.Expires)
			}
			return created, err
		},
		optional: optional{
			listSessions: func(ctx context.Context, user string) ([]adapter.Session, error) {
				list, err := b.ListSessionsByUserID(ctx, user)
				if err == nil && sets.over(user) {
					return []adapter.Session{}, nil
				}
				return list, err
			},
			deleteSessions: func(ctx context.Context, user, except string) (int64, error) {
				if sets.over(user) {
					return 0, ctx.Err()
				}
				return b.DeleteSessionsByUserID(ctx, user, except)
			},
		},
	}
}

// tokensFor deletes the tokens of an identifier as long as a set of them lives.
func tokensFor(b base, shared *sync.Map, now func() time.Time, until func(*lifetimes) time.Time) with {
	sets := setsIn(shared, now, until)
	return with{
		createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
			created, err := b.CreateVerificationToken(ctx, t)
			if err == nil && t.Expires.After(now()) {
				sets.add(t.Identifier, t.Expires)
			}
			return created, err
		},
		optional: optional{
			deleteTokens: func(ctx context.Context, identifier string) (int64, error) {
				if sets.over(identifier) {
					return 0, ctx.Err()
				}
				return b.DeleteVerificationTokens(ctx, identifier)
			},
		},
	}
}

// tokensUntilCleanUp deletes the tokens of an identifier as long as no clean-up has removed
// the set of them.
func tokensUntilCleanUp(b base, shared *sync.Map, until func(*lifetimes) time.Time) with {
	var mu sync.Mutex
	cleaned := func() time.Time {
		at, _ := shared.LoadOrStore("cleaned", time.Time{})
		return at.(time.Time)
	}
	w := tokensFor(b, shared, cleaned, until)
	w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		mu.Lock()
		if now.After(cleaned()) {
			shared.Store("cleaned", now)
		}
		mu.Unlock()
		return b.DeleteExpired(ctx, now)
	}
	return w
}

// listsWhatLived lists the sessions that had not expired when they were created.
func listsWhatLived(b base, shared *sync.Map, now func() time.Time) with {
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			created, err := b.CreateSession(ctx, s)
			if err == nil && s.Expires.After(now()) {
				shared.Delete(s.SessionToken)
			} else if err == nil {
				shared.Store(s.SessionToken, true)
			}
			return created, err
		},
		optional: optional{listSessions: func(ctx context.Context, user string) ([]adapter.Session, error) {
			list, err := b.ListSessionsByUserID(ctx, user)
			return slices.DeleteFunc(list, func(s adapter.Session) bool { _, unlisted := shared.Load(s.SessionToken); return unlisted }), err
		}},
	}
}

// countsTokens counts the tokens of an identifier beside them.
func countsTokens(b base, shared *sync.Map) with {
	var mu sync.Mutex
	add := func(identifier string, n int64) {
		mu.Lock()
		defer mu.Unlock()
		before, _ := shared.LoadOrStore(identifier, int64(0))
		shared.Store(identifier, before.(int64)+n)
	}
	return with{
		createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
			created, err := b.CreateVerificationToken(ctx, t)
			if err == nil {
				add(t.Identifier, 1)
			}
			return created, err
		},
		useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
			used, err := b.UseVerificationToken(ctx, key)
			if used != nil {
				add(key.Identifier, -1)
			}
			return used, err
		},
		optional: optional{deleteTokens: func(ctx context.Context, identifier string) (int64, error) {
			if _, err := b.DeleteVerificationTokens(ctx, identifier); err != nil {
				return 0, err
			}
			n, _ := shared.LoadAndDelete(identifier)
			count, _ := n.(int64)
			return count, nil
		}},
	}
}
