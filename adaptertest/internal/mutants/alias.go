package mutants

import (
	"context"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func aliasMutants() []Mutant {
	return []Mutant{
		{Name: "argument is tidied up", Fails: []string{"ALIAS-01"}, Fault: "CreateUser trims the caller's name",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Name != nil {
					*u.Name = strings.ToUpper(*u.Name)
				}
			})},
		{Name: "token type of the argument is folded", Fails: []string{"ALIAS-01"},
			Fault: "LinkAccount writes a lower-case token type into the caller's record",
			mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if a.TokenType != nil {
					*a.TokenType = strings.ToLower(*a.TokenType) + " "
				}
			})},
		{Name: "sign-up names the owner in the argument", Fails: []string{"ALIAS-01"},
			Fault: "CreateUserWithAccount sets the UserID of the caller's authenticator",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := l.CreateUserWithAccount(ctx, u, a, w)
				if created != nil && w != nil {
					w.UserID = created.ID
				}
				return created, err
			})},
		{Name: "argument kept", Listed: "M36", Fails: []string{"ALIAS-02"},
			Fault: "CreateUser and CreateAuthenticator store what the caller's record points to", mem: func(m *mem, w *with) {
				w.createUser = noted(m, m.CreateUser, func(u adapter.User, created *adapter.User) {
					u.ID = created.ID
					m.users[u.ID] = u
				})
				w.createAuthenticator = noted(m, m.CreateAuthenticator, func(a adapter.Authenticator, _ *adapter.Authenticator) { m.authenticators[a.CredentialID] = a })
			}},
		{Name: "authorization details of the argument kept", Fails: []string{"ALIAS-02"},
			Fault: "LinkAccount stores the caller's slice",
			mem: noting(linkAccount, func(m *mem, a adapter.Account, _ *adapter.Account) {
				stored := m.accounts[a.Key()]
				stored.AuthorizationDetails = a.AuthorizationDetails
				m.accounts[a.Key()] = stored
			})},
		{Name: "updated authorization details kept", Fails: []string{"ALIAS-02"},
			Fault: "UpdateAccount stores the caller's slice",
			mem: noting(updateAccount, func(m *mem, update adapter.AccountUpdate, _ *adapter.Account) {
				stored := m.accounts[update.Key()]
				update.AuthorizationDetails.Apply(&stored.AuthorizationDetails)
				m.accounts[update.Key()] = stored
			})},
		{Name: "update kept in a cache", Fails: []string{"ALIAS-02"},
			Fault: "UpdateAccount puts what the caller's update points to into the cache of GetAccount",
			lite: func(l *lite, w *with) {
				var cache sync.Map
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := l.GetAccount(ctx, id, provider)
					if c, ok := cache.Load(provider + " " + id); ok && a != nil {
						return new(copyAccount(c.(adapter.Account))), nil
					}
					return a, err
				}
				w.updateAccount = then(l.UpdateAccount, func(update adapter.AccountUpdate, updated *adapter.Account) {
					a := *updated
					update.Apply(&a)
					cache.Store(strings.Clone(a.Provider+" "+a.ProviderAccountID), a)
				})
			}},
		{Name: "user of a sign-up kept", Fails: []string{"ALIAS-02"},
			Fault: "CreateUserWithAccount stores what the caller's user points to",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := m.CreateUserWithAccount(ctx, u, a, w)
				if created != nil {
					defer held(&m.mu)()
					u.ID = created.ID
					m.users[u.ID] = u
				}
				return created, err
			})},
		{Name: "stored object handed out", Listed: "M35", Fails: []string{"ALIAS-03"}, Detector: []string{"CONC-13"},
			Fault: "GetUser, GetUserByEmail and GetAuthenticator return what the store holds", mem: func(m *mem, w *with) {
				w.getUser = rlocked(m, func(id string) (*adapter.User, error) { return m.shared(id), nil })
				w.getUserByEmail = rlocked(m, func(email string) (*adapter.User, error) { return m.shared(m.emails[email]), nil })
				w.updateUser = noted(m, m.UpdateUser, func(_ adapter.UserUpdate, u *adapter.User) {
					objects := kept(m.records, "objects", func() map[string]*adapter.User { return map[string]*adapter.User{} })
					if o := objects[u.ID]; o != nil {
						*o = copyUser(*u)
					}
				})
			}},
		{Name: "updated session handed out", Fails: []string{"ALIAS-03"},
			Fault: "UpdateSession and GetSessionAndUser return pointers into one cached record", mem: func(m *mem, w *with) {
				cache := kept(m.records, "cache", func() map[string]*adapter.SessionAndUser { return map[string]*adapter.SessionAndUser{} })
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := m.GetSessionAndUser(ctx, token)
					defer held(&m.mu)()
					if c := cache[token]; c != nil && found != nil {
						return c, nil
					}
					if found != nil {
						cache[token] = found
					}
					return found, err
				}
				w.updateSession = prepared(m, m.UpdateSession, func(update *adapter.SessionUpdate) {
					delete(cache, update.SessionToken)
				})
			}},
		{Name: "listed accounts share equal texts", Fails: []string{"ALIAS-04"},
			Fault: "ListAccountsByUserID stores equal scopes and token types once, and all accounts of the list point to them",
			mem: on(listAccounts, func(ctx context.Context, m *mem, userID string) ([]adapter.Account, error) {
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
			})},
		{Name: "details of listed accounts lie in one array", Fails: []string{"ALIAS-04"},
			Fault: "ListAccountsByUserID copies all authorization details into one array; the end of one is the begin of the next, and an append overwrites it",
			lite: on(listAccounts, func(ctx context.Context, l *lite, userID string) ([]adapter.Account, error) {
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
			})},
		{Name: "list shares its elements", Fails: []string{"ALIAS-04"},
			Fault: "ListAuthenticatorsByUserID hands out the transports that the store holds",
			mem: reading(listAuthenticators, func(m *mem, userID string) ([]adapter.Authenticator, error) {
				list := []adapter.Authenticator{}
				for _, id := range m.credentials[userID] {
					list = append(list, m.authenticators[id])
				}
				return list, nil
			})},
		{Name: "concurrent reads share one record", Fails: []string{"ALIAS-06"}, Races: true,
			Fault: "Concurrent calls of GetUser for one user make one read, and all of them get the same record.",
			lite:  func(l *lite, w *with) { w.getUser = inOneFlight(l.GetUser, nil) }},
		{Name: "concurrent lists share one slice", Fails: []string{"ALIAS-06"}, Races: true,
			Fault: "Concurrent calls of ListAuthenticatorsByUserID for one user make one read, and all of them get the same slice.",
			mem: func(m *mem, w *with) {
				w.listAuthenticatorsByUserID = inOneFlight(altered(m.ListAuthenticatorsByUserID, func(id *string) { aWhile() }), nil)
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
