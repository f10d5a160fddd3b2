package mutants

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// unchangingMutants take a record that an update does not change for one that is absent.
func unchangingMutants() []Mutant {
	return []Mutant{
		{Name: "account that an update does not change is not found", Fault: "UpdateAccount replaces the document, counts the modified ones and reports ErrNotFound if there are none. A provider that returns the same token twice is refused.", Fails: []string{"ALIST-04"},
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
					before, err := m.GetAccount(ctx, update.ProviderAccountID, update.Provider)
					if err != nil || before == nil {
						return m.UpdateAccount(ctx, update)
					}
					after := *before
					update.Apply(&after)
					sets := !reflect.DeepEqual(update, adapter.AccountUpdate{Provider: update.Provider, ProviderAccountID: update.ProviderAccountID})
					if sets && reflect.DeepEqual(&after, before) {
						return nil, fmt.Errorf("mem: no account was changed: %w", adapter.ErrNotFound)
					}
					return m.UpdateAccount(ctx, update)
				}}}
			}},
		{Name: "update of an account counts changed rows", Fault: "UpdateAccount writes only rows that differ, and takes no row for an absent account.", Fails: []string{"ALIST-04"}, db: onlyDiffering("account")},
		{Name: "user that an update does not change is not found", Fault: "UpdateUser replaces the document, counts the modified ones and reports ErrNotFound if there are none.", Fails: []string{"USER-19"},
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					before, err := m.GetUser(ctx, update.ID)
					if err != nil || before == nil {
						return m.UpdateUser(ctx, update)
					}
					after := *before
					update.Apply(&after)
					if update != (adapter.UserUpdate{ID: update.ID}) && reflect.DeepEqual(&after, before) {
						return nil, fmt.Errorf("mem: no user was changed: %w", adapter.ErrNotFound)
					}
					return m.UpdateUser(ctx, update)
				}}
			}},
		{Name: "update of a user counts changed rows", Fault: "UpdateUser writes only rows that differ, and takes no row for an absent user.", Fails: []string{"USER-19"}, db: onlyDiffering("user")},
	}
}

// onlyDiffering lets the updates of a table write only the rows that they change.
func onlyDiffering(table string) func(sqlite.DB) sqlite.DB {
	return func(db sqlite.DB) sqlite.DB {
		return altered{DB: db, query: func(query string, args []any) (string, []any) {
			set, updates := strings.CutPrefix(query, `UPDATE "`+table+`" SET `)
			set, rest, whole := strings.Cut(set, " WHERE ")
			condition, returning, _ := strings.Cut(rest, " RETURNING ")
			if !updates || !whole {
				return query, args
			}
			var differs []string
			for i, assignment := range strings.Split(set, ", ") {
				column, _, _ := strings.Cut(assignment, " = ")
				differs = append(differs, fmt.Sprintf("%s IS NOT ?%d", column, i+1))
			}
			return `UPDATE "` + table + `" SET ` + set + " WHERE " + condition + " AND (" + strings.Join(differs, " OR ") + ") RETURNING " + returning, args
		}}
	}
}

// besideLiveMutants clean up records together that expire at different instants.
func besideLiveMutants() []Mutant {
	return []Mutant{
		{Name: "tokens of an identifier are cleaned up together", Fault: "The tokens of an identifier are one document, which expires with the last of them. DeleteExpired removes whole documents.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return write(ctx, m, func() (swept adapter.Swept, err error) {
						live := map[string]bool{}
						for _, t := range m.tokens {
							live[t.Identifier] = live[t.Identifier] || t.Expires.After(now)
						}
						for key := range m.tokens {
							if !live[key.Identifier] {
								delete(m.tokens, key)
								swept.VerificationTokens++
							}
						}
						for token, s := range m.sessions {
							if !s.Expires.After(now) {
								delete(m.sessions, token)
								swept.Sessions++
							}
						}
						return swept, nil
					})
				}}
			}},
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
	}
}
