package mutants

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func instanceMutants() []Mutant {
	var shared sync.Map // from e-mail to user, in place of a variable of the package
	return []Mutant{
		{Name: "cache is shared by all adapters", Fails: []string{"ISO-01"},
			Fault: "GetUserByEmail reads from a cache that all adapters of the process share",
			mem: func(m *mem) with {
				return with{
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						created, err := m.CreateUser(ctx, u)
						if created != nil {
							shared.Store(created.Email, copyUser(*created))
						}
						return created, err
					},
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						if u, ok := shared.Load(email); ok {
							return new(copyUser(u.(adapter.User))), nil
						}
						return m.GetUserByEmail(ctx, email)
					},
				}
			}},
		{Name: "clean-up of all namespaces", Fails: []string{"ISO-02"},
			Fault: "DeleteExpired and DeleteUser work on every namespace",
			mem: func(m *mem) with {
				return with{
					deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
						for _, space := range m.spaces {
							if _, err := (&mem{records: space}).DeleteExpired(ctx, now); err != nil {
								return adapter.Swept{}, err
							}
						}
						return m.DeleteExpired(ctx, now)
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := m.DeleteUser(ctx, id)
						for _, space := range m.spaces {
							if _, err := (&mem{records: space}).DeleteUser(ctx, id); err != nil {
								return nil, err
							}
						}
						return u, err
					},
				}
			}},
		{Name: "revoked session lives on in another process", Fails: []string{"ISO-03"},
			Fault: "GetSessionAndUser reads from a cache of its own handle",
			lite: func(l *lite) with {
				var cache sync.Map
				return with{
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						if s, ok := cache.Load(token); ok {
							return new(s.(adapter.SessionAndUser)), nil
						}
						s, err := l.GetSessionAndUser(ctx, token)
						if s != nil {
							cache.Store(token, *s)
						}
						return s, err
					},
					deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
						cache.Delete(token)
						return l.DeleteSession(ctx, token)
					},
				}
			}},
		{Name: "transports stay in the handle", Fails: []string{"ISO-04", "ISO-03"}, AuthJS: true,
			Fault: "CreateAuthenticator keeps the transports in the adapter, not in the store",
			mem: func(m *mem) with {
				var transports sync.Map
				give := func(a *adapter.Authenticator) {
					if t, ok := transports.Load(a.CredentialID); ok {
						a.Transports = copyText(t.(*string))
					}
				}
				return with{
					createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
						given := a
						a.Transports = nil
						if _, err := m.CreateAuthenticator(ctx, a); err != nil {
							return nil, err
						}
						transports.Store(a.CredentialID, copyText(given.Transports))
						return new(copyAuthenticator(given)), nil
					},
					getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						a, err := m.GetAuthenticator(ctx, id)
						if a != nil {
							give(a)
						}
						return a, err
					},
					listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
						list, err := m.ListAuthenticatorsByUserID(ctx, id)
						for i := range list {
							give(&list[i])
						}
						return list, err
					},
				}
			}},
		{Name: "new address is found late", Fails: []string{"ISO-05", "USER-21"},
			Fault: "GetUserByEmail reads an index that is refreshed only after the first lookup that follows a change",
			mem: func(m *mem) with {
				fresh := kept(m.records, "fresh", func() map[string]bool { return map[string]bool{} })
				return with{
					updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
						u, err := m.UpdateUser(ctx, update)
						if u != nil && update.Email.IsSet() {
							m.mu.Lock()
							defer m.mu.Unlock()
							fresh[u.Email] = true
						}
						return u, err
					},
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						m.mu.Lock()
						late := fresh[email]
						delete(fresh, email)
						m.mu.Unlock()
						if late {
							return nil, m.begin(ctx)
						}
						return m.GetUserByEmail(ctx, email)
					},
				}
			}},
		{Name: "use of a token is eventual", Fails: []string{"ISO-07"}, AuthJS: true,
			Fault: "reads are declared eventual, and a token can be used again within the bound",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					t, ok := m.tokens[key]
					m.mu.RUnlock()
					if ok {
						time.AfterFunc(200*time.Millisecond, func() { _, _ = m.UseVerificationToken(context.Background(), key) })
						return &t, nil
					}
					return nil, m.begin(ctx)
				}}
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.EventualReads = 200 * time.Millisecond }},
	}
}
