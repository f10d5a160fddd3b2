package mutants

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func deletionMutants() []Mutant {
	return []Mutant{
		{Name: "deleteUser does nothing", Fails: []string{"CASC-01", "CASC-02", "CASC-03", "CASC-04"}, AuthJS: true,
			Fault: "DeleteUser has an empty body",
			mem: func(*mem) with {
				return with{deleteUser: func(context.Context, string) (*adapter.User, error) { return nil, nil }}
			}},
		{Name: "user without sessions is not deleted", Fails: []string{"CASC-01"},
			Fault: "DeleteUser returns early when it finds no session",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					m.mu.RLock()
					var sessions int
					for _, s := range m.sessions {
						if s.UserID == id {
							sessions++
						}
					}
					m.mu.RUnlock()
					if sessions == 0 {
						return nil, m.begin(ctx)
					}
					return m.DeleteUser(ctx, id)
				}}
			}},
		{Name: "only one session per user is deleted", Listed: "M34", Fails: []string{"CASC-02", "CASC-08"},
			Fault: "DeleteUser deletes the session that was created last; the others are hidden until the id is used again",
			mem: func(m *mem) with {
				last := kept(m.records, "last", func() map[string]string { return map[string]string{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							last[s.UserID] = s.SessionToken
						}
						return created, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return write(ctx, m, func() (*adapter.User, error) {
							u := m.user(id)
							if u == nil {
								return nil, nil
							}
							m.dropAccounts(id)
							delete(m.sessions, last[id])
							m.dropAuthenticators(id)
							m.dropUser(id)
							return u, nil
						})
					},
				}
			}},
		{Name: "declared cascade is not enforced", Listed: "M33", Fails: []string{"CASC-02", "CASC-03", "SESS-22"}, AuthJS: true,
			Fault: "foreign keys are declared but not enforced, and DeleteUser deletes the user only; reading a session without a user fails",
			lite: func(l *lite) with {
				w := withoutCascade(l)
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					s, err := l.GetSessionAndUser(ctx, token)
					if s != nil || err != nil {
						return s, err
					}
					there, err := l.exists(ctx, `SELECT 1 FROM "session" WHERE sessionToken = ?`, token)
					if there {
						return nil, notFound("user")
					}
					return nil, err
				}
				return w
			},
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``,
				`DELETE FROM "session" WHERE userId = old.id; DELETE FROM "account" WHERE userId = old.id; DELETE FROM "authenticator" WHERE userId = old.id;`, `SELECT 1;`)},
		{Name: "accounts survive", Fails: []string{"CASC-03", "CASC-07", "CASC-08"}, AuthJS: true,
			Fault: "DeleteUser leaves the accounts",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						u := m.user(id)
						if u != nil {
							m.dropSessions(id)
							m.dropAuthenticators(id)
							m.dropUser(id)
						}
						return u, nil
					})
				}}
			}},
		{Name: "passkeys survive", Listed: "M32", Fails: []string{"CASC-04"},
			Fault: "DeleteUser leaves the authenticators",
			db: replaced(`credentialID TEXT NOT NULL PRIMARY KEY, userId TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE`, `credentialID TEXT NOT NULL PRIMARY KEY, userId TEXT NOT NULL`,
				`DELETE FROM "authenticator" WHERE userId = old.id;`, ``)},
		{Name: "sessions of all users are deleted", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes every session",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						clear(m.sessions)
					}
					return u, err
				}}
			}},
		{Name: "deleting a missing user is an error", Fails: []string{"CASC-06"},
			Fault: "DeleteUser fails when there is no such user",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u == nil && err == nil {
						return nil, notFound("user")
					}
					return u, err
				}}
			}},
		{Name: "next user of the e-mail gets the old accounts", Fails: []string{"CASC-07"},
			Fault: "DeleteUser keeps the accounts under the e-mail, and the next user with that e-mail gets them",
			mem: func(m *mem) with {
				filed := kept(m.records, "filed", func() map[string][]adapter.Account { return map[string][]adapter.Account{} })
				return with{
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						m.mu.Lock()
						for _, a := range m.accounts {
							if a.UserID == id {
								filed[m.users[id].Email] = append(filed[m.users[id].Email], a)
							}
						}
						m.mu.Unlock()
						return m.DeleteUser(ctx, id)
					},
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						created, err := m.CreateUser(ctx, u)
						if created != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							for _, a := range filed[u.Email] {
								a.UserID = created.ID
								m.accounts[a.Key()] = a
							}
							delete(filed, u.Email)
						}
						return created, err
					},
				}
			}},
		{Name: "next user of the id gets the old passkeys", Fails: []string{"CASC-08", "CASC-04"},
			Fault: "DeleteUser leaves the list of credentials, and the next user with the id has them",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					m.mu.RLock()
					var left []adapter.Authenticator
					for _, c := range m.credentials[id] {
						left = append(left, m.authenticators[c])
					}
					m.mu.RUnlock()
					waiting := kept(m.records, "waiting", func() map[string][]adapter.Authenticator { return map[string][]adapter.Authenticator{} })
					waiting[id] = left
					return m.DeleteUser(ctx, id)
				}, listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := m.ListAuthenticatorsByUserID(ctx, id)
					waiting := kept(m.records, "waiting", func() map[string][]adapter.Authenticator { return map[string][]adapter.Authenticator{} })
					if u, _ := m.GetUser(ctx, id); u != nil {
						list = append(list, waiting[id]...)
					}
					return list, err
				}}
			}},
		{Name: "only the first sessions are deleted", Fails: []string{"CASC-09"},
			Fault: "DeleteUser deletes 25 sessions at most",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						u := m.user(id)
						if u == nil {
							return nil, nil
						}
						batch := 25
						for token, s := range m.sessions {
							if s.UserID == id && batch > 0 {
								delete(m.sessions, token)
								batch--
							}
						}
						m.dropAccounts(id)
						m.dropAuthenticators(id)
						m.dropUser(id)
						return u, nil
					})
				}}
			}},
		{Name: "deleteUser returns another user", Fails: []string{"CASC-10"},
			Fault: "DeleteUser returns another user, who still exists",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					m.mu.RLock()
					defer m.mu.RUnlock()
					for other := range m.users {
						if u != nil {
							return m.user(other), nil
						}
					}
					return u, err
				}}
			}},
	}
}

// withoutCascade deletes only the user's row.
func withoutCascade(l *lite) with {
	return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
		u, err := l.GetUser(ctx, id)
		if u != nil {
			err = l.exec(ctx, `DELETE FROM "user" WHERE id = ?`, id)
		}
		return u, err
	}}
}
