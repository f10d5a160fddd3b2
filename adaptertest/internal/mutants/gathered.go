package mutants

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// gatheredMutants delete records as a set: together although they expire at different
// instants, or one after the other although they have changed since they were gathered.
func gatheredMutants() []Mutant {
	return []Mutant{
		{Name: "tokens of an identifier are cleaned up together", Fault: "The tokens of an identifier are one document, which expires with the last of them. DeleteExpired removes whole documents.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweepBoth(ctx, now, anySession, func() func(adapter.VerificationToken) bool {
						live := map[string]bool{}
						for _, t := range m.tokens {
							live[t.Identifier] = live[t.Identifier] || t.Expires.After(now)
						}
						return func(t adapter.VerificationToken) bool { return !live[t.Identifier] }
					})
				}}
			}},
		{Name: "clean-up deletes all tokens of a hash", Fault: "DeleteExpired deletes the tokens whose value an expired token has, of any identifier.", Fails: []string{"EXP-05"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweepBoth(ctx, now, anySession, func() func(adapter.VerificationToken) bool {
						over := map[string]bool{}
						for _, t := range m.tokens {
							over[t.Token] = over[t.Token] || !t.Expires.After(now)
						}
						return func(t adapter.VerificationToken) bool { return over[t.Token] }
					})
				}}
			}},
		{Name: "clean-up finds tokens by their hash", Fault: "DeleteExpired selects the values of the expired tokens, and deletes by value.", Fails: []string{"EXP-05"},
			db: replaced(`DELETE FROM "verificationToken" WHERE (identifier, token) IN ( SELECT identifier, token FROM`, `DELETE FROM "verificationToken" WHERE token IN ( SELECT token FROM`)},
		{Name: "clean-up keeps tokens beside a live one", Fault: "DeleteExpired groups the tokens by identifier and compares the greatest expiry.", Fails: []string{"EXP-09"},
			db: replaced(`SELECT identifier, token FROM "verificationToken" WHERE expires <= ?`,
				`SELECT identifier, token FROM "verificationToken" AS t WHERE (SELECT max(expires) FROM "verificationToken" WHERE identifier = t.identifier) <= ?`)},
		{Name: "sessions of a user are cleaned up together", Fault: "DeleteExpired removes the sessions of the users whose sessions have all expired.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool {
						for _, other := range m.sessions {
							if other.UserID == s.UserID && other.Expires.After(now) {
								return false
							}
						}
						return true
					})
				}}
			}},
		{Name: "clean-up keeps sessions beside a live one", Fault: "DeleteExpired groups the sessions by user and compares the greatest expiry.", Fails: []string{"EXP-09"},
			db: replaced(`SELECT sessionToken FROM "session" WHERE expires <= ?`,
				`SELECT sessionToken FROM "session" AS s WHERE (SELECT max(expires) FROM "session" WHERE userId = s.userId) <= ?`)},
		{Name: "clean-up deletes gathered keys in batches", Fault: "DeleteExpired gathers the tokens of the expired sessions, and deletes them in batches of 25. Other calls run between the batches, and may extend a session.", Fails: []string{"EXP-07"}, Races: true,
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					rest, err := m.sweep(ctx, now, func(adapter.Session) bool { return false })
					if err != nil {
						return rest, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					var expired []string
					for token, s := range m.sessions {
						if !s.Expires.After(now) {
							expired = append(expired, token)
						}
					}
					for batch := range slices.Chunk(expired, 25) {
						for _, token := range batch {
							if _, ok := m.sessions[token]; ok {
								delete(m.sessions, token)
								rest.Sessions++
							}
						}
						m.mu.Unlock()
						runtime.Gosched()
						m.mu.Lock()
					}
					return rest, nil
				}}
			}},
		{Name: "sign-out deletes gathered sessions", Fault: "DeleteSessionsByUserID gathers the tokens of the sessions, and deletes the sessions one by one. Other calls run in between, and may give a session to another user.", Fails: []string{"SLIST-06"}, Races: true,
			mem: func(m *mem) with {
				return with{optional: optional{deleteSessions: func(ctx context.Context, user, except string) (deleted int64, err error) {
					list, err := m.ListSessionsByUserID(ctx, user)
					for _, s := range list {
						if s.SessionToken == except {
							continue
						}
						gone, err := m.DeleteSession(ctx, s.SessionToken)
						if err != nil {
							return deleted, err
						}
						if gone != nil {
							deleted++
						}
					}
					return deleted, err
				}}}
			}},
	}
}
