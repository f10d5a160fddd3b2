package mutants

import (
	"context"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func aliasMutants() []Mutant {
	return []Mutant{
		{Name: "argument is tidied up", Fails: []string{"ALIAS-01"},
			Fault: "CreateUser trims the caller's name",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.Name != nil {
						*u.Name = strings.ToUpper(*u.Name)
					}
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "token type of the argument is folded", Fails: []string{"ALIAS-01"},
			Fault: "LinkAccount writes a lower-case token type into the caller's record",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if a.TokenType != nil {
						*a.TokenType = strings.ToLower(*a.TokenType) + " "
					}
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "argument kept", Listed: "M36", Fails: []string{"ALIAS-02"},
			Fault: "CreateUser and CreateAuthenticator store what the caller's record points to",
			mem: func(m *mem) with {
				return with{
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						created, err := m.CreateUser(ctx, u)
						if created != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							u.ID = created.ID
							m.users[u.ID] = u
						}
						return created, err
					},
					createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
						created, err := m.CreateAuthenticator(ctx, a)
						if created != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							m.authenticators[a.CredentialID] = a
						}
						return created, err
					},
				}
			}},
		{Name: "authorization details of the argument kept", Fails: []string{"ALIAS-02"},
			Fault: "LinkAccount stores the caller's slice",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if err == nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						stored := m.accounts[a.Key()]
						stored.AuthorizationDetails = a.AuthorizationDetails
						m.accounts[a.Key()] = stored
					}
					return linked, err
				}}
			}},
		{Name: "updated authorization details kept", Fails: []string{"ALIAS-02"},
			Fault: "UpdateAccount stores the caller's slice",
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
					updated, err := m.UpdateAccount(ctx, update)
					if err == nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						stored := m.accounts[update.Key()]
						update.AuthorizationDetails.Apply(&stored.AuthorizationDetails)
						m.accounts[update.Key()] = stored
					}
					return updated, err
				}}}
			}},
		{Name: "update kept in a cache", Fails: []string{"ALIAS-02"},
			Fault: "UpdateAccount puts what the caller's update points to into the cache of GetAccount",
			lite: func(l *lite) with {
				var cache sync.Map
				return with{
					getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
						a, err := l.GetAccount(ctx, id, provider)
						if c, ok := cache.Load(provider + " " + id); ok && a != nil {
							return new(copyAccount(c.(adapter.Account))), nil
						}
						return a, err
					},
					optional: optional{updateAccount: func(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
						updated, err := l.UpdateAccount(ctx, update)
						if updated != nil {
							a := *updated
							update.Apply(&a)
							cache.Store(strings.Clone(a.Provider+" "+a.ProviderAccountID), a)
						}
						return updated, err
					}},
				}
			}},
		{Name: "user of a sign-up kept", Fails: []string{"ALIAS-02"},
			Fault: "CreateUserWithAccount stores what the caller's user points to",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := m.CreateUserWithAccount(ctx, u, a, w)
					if created != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						u.ID = created.ID
						m.users[u.ID] = u
					}
					return created, err
				}}}
			}},
		{Name: "sign-up names the owner in the argument", Fails: []string{"ALIAS-01"},
			Fault: "CreateUserWithAccount sets the UserID of the caller's authenticator",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := l.CreateUserWithAccount(ctx, u, a, w)
					if created != nil && w != nil {
						w.UserID = created.ID
					}
					return created, err
				}}}
			}},
		{Name: "stored object handed out", Listed: "M35", Fails: []string{"ALIAS-03"}, Detector: []string{"CONC-13"},
			Fault: "GetUser, GetUserByEmail and GetAuthenticator return what the store holds",
			mem: func(m *mem) with {
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return read(ctx, m, func() (*adapter.User, error) { return m.shared(id), nil })
					},
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						return read(ctx, m, func() (*adapter.User, error) { return m.shared(m.emails[email]), nil })
					},
					updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
						u, err := m.UpdateUser(ctx, update)
						if err == nil { // the fields are changed in place
							m.mu.Lock()
							defer m.mu.Unlock()
							objects := kept(m.records, "objects", func() map[string]*adapter.User { return map[string]*adapter.User{} })
							if o := objects[u.ID]; o != nil {
								*o = copyUser(*u)
							}
						}
						return u, err
					},
				}
			}},
		{Name: "updated session handed out", Fails: []string{"ALIAS-03"},
			Fault: "UpdateSession and GetSessionAndUser return pointers into one cached record",
			mem: func(m *mem) with {
				cache := kept(m.records, "cache", func() map[string]*adapter.SessionAndUser { return map[string]*adapter.SessionAndUser{} })
				return with{
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						found, err := m.GetSessionAndUser(ctx, token)
						m.mu.Lock()
						defer m.mu.Unlock()
						if c := cache[token]; c != nil && found != nil {
							return c, nil
						}
						if found != nil {
							cache[token] = found
						}
						return found, err
					},
					updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
						m.mu.Lock()
						delete(cache, update.SessionToken)
						m.mu.Unlock()
						return m.UpdateSession(ctx, update)
					},
				}
			}},
		{Name: "listed accounts share equal texts", Fails: []string{"ALIAS-04"},
			Fault: "ListAccountsByUserID stores equal scopes and token types once, and all accounts of the list point to them",
			mem: func(m *mem) with {
				return with{optional: optional{listAccounts: func(ctx context.Context, userID string) ([]adapter.Account, error) {
					list, err := m.ListAccountsByUserID(ctx, userID)
					texts := map[string]*string{}
					for i := range list {
						for _, p := range []**string{&list[i].Scope, &list[i].TokenType} {
							if *p == nil {
								continue
							}
							if texts[**p] == nil {
								texts[**p] = *p
							}
							*p = texts[**p]
						}
					}
					return list, err
				}}}
			}},
		{Name: "details of listed accounts lie in one array", Fails: []string{"ALIAS-04"},
			Fault: "ListAccountsByUserID copies all authorization details into one array; the end of one is the begin of the next, and an append overwrites it",
			lite: func(l *lite) with {
				return with{optional: optional{listAccounts: func(ctx context.Context, userID string) ([]adapter.Account, error) {
					list, err := l.ListAccountsByUserID(ctx, userID)
					var array []byte
					for _, a := range list {
						array = append(array, a.AuthorizationDetails...)
					}
					for i, a := range list {
						if n := len(a.AuthorizationDetails); n > 0 {
							list[i].AuthorizationDetails, array = array[:n], array[n:]
						}
					}
					return list, err
				}}}
			}},
		{Name: "list shares its elements", Fails: []string{"ALIAS-04"},
			Fault: "ListAuthenticatorsByUserID hands out the transports that the store holds",
			mem: func(m *mem) with {
				return with{listAuthenticators: func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
					return read(ctx, m, func() ([]adapter.Authenticator, error) {
						list := []adapter.Authenticator{}
						for _, id := range m.credentials[userID] {
							list = append(list, m.authenticators[id])
						}
						return list, nil
					})
				}}
			}},
	}
}

// shared returns the same object at every call for a user.
func (r *records) shared(id string) *adapter.User {
	objects := kept(r, "objects", func() map[string]*adapter.User { return map[string]*adapter.User{} })
	u, ok := r.users[id]
	if !ok {
		return nil
	}
	if objects[id] == nil {
		objects[id] = new(copyUser(u))
	}
	return objects[id]
}
