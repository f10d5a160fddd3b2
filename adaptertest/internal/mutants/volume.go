package mutants

import (
	"context"
	"hash/fnv"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func volumeMutants() []Mutant {
	return []Mutant{
		{Name: "list ends at its page", Fails: []string{"VOL-01"},
			Fault: "ListAuthenticatorsByUserID returns the first hundred",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 100`)},
		{Name: "hashes of addresses are too short", Fails: []string{"VOL-02"},
			Fault: "the e-mail index has 12 bits, and the newer of two users stays in it",
			mem: func(m *mem) with {
				index := kept(m.records, "index", func() map[uint16]string { return map[uint16]string{} })
				hash := func(email string) uint16 {
					h := fnv.New32a()
					_, _ = h.Write([]byte(email))
					return uint16(h.Sum32() & 0xfff)
				}
				return with{
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						created, err := m.CreateUser(ctx, u)
						if created != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							index[hash(created.Email)] = created.ID
						}
						return created, err
					},
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						return read(ctx, m, func() (*adapter.User, error) {
							u := m.user(index[hash(email)])
							if u != nil && u.Email != email {
								return nil, nil
							}
							return u, nil
						})
					},
				}
			}},
		{Name: "a user has a hundred sessions at most", Fails: []string{"VOL-03"},
			Fault: "CreateSession deletes the oldest session of a user who has more than a hundred",
			mem: func(m *mem) with {
				order := kept(m.records, "order", func() map[string][]string { return map[string][]string{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							order[s.UserID] = append(order[s.UserID], s.SessionToken)
							if len(order[s.UserID]) > 100 {
								delete(m.sessions, order[s.UserID][0])
								order[s.UserID] = order[s.UserID][1:]
							}
						}
						return created, err
					},
				}
			}},
		{Name: "lookups walk the table", Fails: []string{"VOL-04"},
			Fault: "GetUserByAccount has no index",
			mem: func(m *mem) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					return read(ctx, m, func() (*adapter.User, error) {
						var all []adapter.Account
						for _, a := range m.accounts {
							all = append(all, a)
						}
						i := slices.IndexFunc(all, func(a adapter.Account) bool { return a.Key() == key })
						if i < 0 {
							return nil, nil
						}
						return m.user(all[i].UserID), nil
					})
				}}
			}},
	}
}
