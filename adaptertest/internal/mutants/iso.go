package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func isoMutants() []Mutant {
	var users, accounts sync.Map // in place of variables of the package
	var shared sync.Map          // from e-mail to user, in place of a variable of the package
	return []Mutant{
		{Name: "accounts are cached for all stores", Fails: []string{"ISO-01"},
			Fault: "GetAccount has a cache in a variable of the package, by the key of the account.", mem: func(m *mem, w *with) {
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					key := adapter.AccountKey{Provider: strings.Clone(provider), ProviderAccountID: strings.Clone(id)}
					if a, ok := accounts.Load(key); ok {
						return new(copyAccount(a.(adapter.Account))), m.begin(ctx)
					}
					a, err := m.GetAccount(ctx, id, provider)
					if a != nil {
						accounts.Store(key, copyAccount(*a))
					}
					return a, err
				}
				w.unlinkAccount = cleared(&accounts, m.UnlinkAccount)
				w.deleteUser = cleared(&accounts, m.DeleteUser)
				w.updateAccount = cleared(&accounts, m.UpdateAccount)
				w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
					defer accounts.Clear()
					return m.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
				}
			}},
		{Name: "users are cached for all stores", Fails: []string{"ISO-01"},
			Fault: "GetUser has a cache in a variable of the package, by ID.", lite: func(l *lite, w *with) {
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					if u, ok := users.Load(id); ok {
						return new(copyUser(u.(adapter.User))), ctx.Err()
					}
					u, err := l.GetUser(ctx, id)
					if u != nil {
						users.Store(u.ID, copyUser(*u))
					}
					return u, err
				}
				w.updateUser = cleared(&users, l.UpdateUser)
				w.deleteUser = cleared(&users, l.DeleteUser)
			}},
		{Name: "cache is shared by all adapters", Fails: []string{"ISO-01"},
			Fault: "GetUserByEmail reads from a cache that all adapters of the process share", mem: func(m *mem, w *with) {
				w.createUser = then(m.CreateUser, func(_ adapter.User, created *adapter.User) { shared.Store(created.Email, copyUser(*created)) })
				w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
					if u, ok := shared.Load(email); ok {
						return new(copyUser(u.(adapter.User))), nil
					}
					return m.GetUserByEmail(ctx, email)
				}
			}},
		{Name: "clean-up of all namespaces", Fails: []string{"ISO-02"},
			Fault: "DeleteExpired and DeleteUser work on every namespace", mem: func(m *mem, w *with) {
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					for _, space := range m.spaces {
						if _, err := (&mem{records: space}).DeleteExpired(ctx, now); err != nil {
							return adapter.Swept{}, err
						}
					}
					return m.DeleteExpired(ctx, now)
				}
				w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					for _, space := range m.spaces {
						if _, err := (&mem{records: space}).DeleteUser(ctx, id); err != nil {
							return nil, err
						}
					}
					return u, err
				}
			}},
		{Name: "sessions of all namespaces", Fails: []string{"ISO-02"},
			Fault: "DeleteSessionsByUserID ends the sessions of a user with the same ID in each namespace.",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
				for _, space := range m.spaces {
					if _, err := (&mem{records: space}).DeleteSessionsByUserID(ctx, userID, except); err != nil {
						return 0, err
					}
				}
				return m.DeleteSessionsByUserID(ctx, userID, except)
			})},
		{Name: "accounts of all namespaces", Fails: []string{"ISO-02"},
			Fault: "UpdateAccount changes the account with the same key in each namespace.",
			mem: on(updateAccount, func(ctx context.Context, m *mem, u adapter.AccountUpdate) (*adapter.Account, error) {
				for _, space := range m.spaces {
					if _, err := (&mem{records: space}).UpdateAccount(ctx, u); err != nil && !errors.Is(err, adapter.ErrNotFound) {
						return nil, err
					}
				}
				return m.UpdateAccount(ctx, u)
			})},
		{Name: "revoked session lives on in another process", Fails: []string{"ISO-03"},
			Fault: "GetSessionAndUser reads from a cache of its own handle", lite: func(l *lite, w *with) {
				var cache sync.Map
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					if s, ok := cache.Load(token); ok {
						return new(s.(adapter.SessionAndUser)), nil
					}
					s, err := l.GetSessionAndUser(ctx, token)
					if s != nil {
						cache.Store(token, *s)
					}
					return s, err
				}
				w.deleteSession = altered(l.DeleteSession, func(token *string) { cache.Delete(*token) })
			}},
		{Name: "a new image alone reaches no other handle", OnLite: "a new image alone reaches no other process",
			Fails: []string{"ISO-03"}, Fault: "GetUser has a cache of the handle. An entry is refreshed when name, address or verification differ, but not when only the image does.",
			both: func(b base, w *with) {
				var cached cachedImages
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) { return cached.image(b.GetUser(ctx, id)) }
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					return cached.refresh(b.UpdateUser(ctx, u))
				}
			}},
		{Name: "transports stay in the handle", Fails: []string{"ISO-04", "ISO-03"}, AuthJS: true,
			Fault: "CreateAuthenticator keeps the transports in the adapter, not in the store", mem: func(m *mem, w *with) {
				var transports sync.Map
				give := func(a *adapter.Authenticator) {
					if t, ok := transports.Load(a.CredentialID); ok {
						a.Transports = copyText(t.(*string))
					}
				}
				w.createAuthenticator = func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					given := a
					a.Transports = nil
					if _, err := m.CreateAuthenticator(ctx, a); err != nil {
						return nil, err
					}
					transports.Store(a.CredentialID, copyText(given.Transports))
					return new(copyAuthenticator(given)), nil
				}
				w.getAuthenticator = then(m.GetAuthenticator, func(_ string, a *adapter.Authenticator) { give(a) })
				w.listAuthenticatorsByUserID = func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := m.ListAuthenticatorsByUserID(ctx, id)
					for i := range list {
						give(&list[i])
					}
					return list, err
				}
			}},
		{Name: "cached accounts outlive their passkey", Fails: []string{"ISO-05"},
			Fault: "ListAccountsByUserID has a cache. Every method that changes accounts clears it, except DeleteAuthenticator, which deletes the account that goes with the authenticator.",
			mem: func(m *mem, w *with) {
				c := kept(m.records, "accounts", func() *listCache[adapter.Account] { return new(listCache[adapter.Account]) })
				account := func(a *adapter.Account) string { return a.UserID }
				w.linkAccount = forgets(c, m.LinkAccount, account)
				w.unlinkAccount = forgets(c, m.UnlinkAccount, account)
				w.deleteUser = forgets(c, m.DeleteUser, userID)
				w.listAccountsByUserID = c.list(m.ListAccountsByUserID)
				w.updateAccount = forgets(c, m.UpdateAccount, account)
				w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					return forgets(c, func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						return m.CreateUserWithAccount(ctx, u, a, w)
					}, userID)(ctx, u)
				}
			}},
		{Name: "cached passkeys miss a touch", Fails: []string{"ISO-05"},
			Fault: "ListAuthenticatorsByUserID has a cache. Every method that changes authenticators clears it, except TouchAuthenticator.",
			lite: func(l *lite, w *with) {
				c := new(listCache[adapter.Authenticator])
				owner := func(a *adapter.Authenticator) string { return a.UserID }
				w.createAuthenticator = forgets(c, l.CreateAuthenticator, owner)
				w.listAuthenticatorsByUserID = c.list(l.ListAuthenticatorsByUserID)
				w.deleteUser = forgets(c, l.DeleteUser, userID)
				w.updateAuthenticatorCounter = func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						return l.UpdateAuthenticatorCounter(ctx, id, counter)
					}, owner)(ctx, id)
				}
				w.deleteAuthenticator = func(ctx context.Context, user, id string, keepOne bool) (*adapter.Authenticator, error) {
					return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						return l.DeleteAuthenticator(ctx, user, id, keepOne)
					}, owner)(ctx, id)
				}
				w.renameAuthenticator = func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						return l.RenameAuthenticator(ctx, user, id, name)
					}, owner)(ctx, id)
				}
				w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					return forgets(c, func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						return l.CreateUserWithAccount(ctx, u, a, w)
					}, userID)(ctx, u)
				}
			}},
		{Name: "new address is found late", Fails: []string{"ISO-05", "USER-21"},
			Fault: "GetUserByEmail reads an index that is refreshed only after the first lookup that follows a change",
			mem: func(m *mem, w *with) {
				fresh := kept(m.records, "fresh", func() map[string]bool { return map[string]bool{} })
				w.updateUser = noted(m, m.UpdateUser, func(update adapter.UserUpdate, u *adapter.User) {
					if update.Email.IsSet() {
						fresh[u.Email] = true
					}
				})
				w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
					m.mu.Lock()
					late := fresh[email]
					delete(fresh, email)
					m.mu.Unlock()
					if late {
						return nil, m.begin(ctx)
					}
					return m.GetUserByEmail(ctx, email)
				}
			}},
		{Name: "cached session keeps the tag of its first owner", OnLite: "moved session shows its new owner as of then",
			Fails: []string{"ISO-05"}, Rounds: 3,
			Fault: "GetSessionAndUser has a cache. UpdateUser removes the sessions that have the user's tag, and UpdateSession, which may change the owner, leaves the tag.",
			both:  func(b base, w *with) { taggedSessions(b, b.common(), w) }},
		{Name: "sign-out everywhere ends older sessions that come later", Fails: []string{"ISO-05"}, Rounds: 3,
			Fault: "DeleteSessionsByUserID also keeps the instant. GetSessionAndUser takes a session for ended that is older and that belongs to the user by now.",
			mem: func(b *mem, w *with) {
				var mu sync.Mutex
				created, ended, n := map[string]int{}, map[string]int{}, 0
				w.createSession = then(b.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					defer held(&mu)()
					n++
					created[s.SessionToken] = n
				})
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := b.GetSessionAndUser(ctx, token)
					defer held(&mu)()
					if number, known := created[token]; found != nil && known && number <= ended[found.User.ID] {
						return nil, err
					}
					return found, err
				}
				w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
					deleted, err := b.DeleteSessionsByUserID(ctx, user, except)
					if err == nil && except == "" {
						defer held(&mu)()
						ended[user] = n
					}
					return deleted, err
				}
			}},
		{Name: "use of a token is eventual", Fails: []string{"ISO-07"}, AuthJS: true,
			Fault:   "reads are declared eventual, and a token can be used again within the bound",
			harness: func(h *adaptertest.Harness) { h.Declarations.EventualReads = 200 * time.Millisecond },
			mem: on(useToken, func(ctx context.Context, m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, ok := look(m, &m.tokens, key)
				if ok {
					time.AfterFunc(200*time.Millisecond, func() { _, _ = m.UseVerificationToken(context.Background(), key) })
					return &t, nil
				}
				return nil, m.begin(ctx)
			})},
		{Name: "old user comes into the cache", OnLite: "old row comes into the cache", Fails: []string{"ISO-08"},
			Races: true, Fault: "GetUser reads the user and then puts it into a cache that all handles share. If the user is changed and the cache cleared in between, the old record stays in the cache.",
			both: func(b base, w *with) { filledLate(b, b.common(), w) }},
		{Name: "read joins an earlier read", Fails: []string{"ISO-08"}, Races: true,
			Fault: "GetUser joins a running read of the same user, also if a write ended between the starts of the two.",
			lite:  func(l *lite, w *with) { w.getUser = inOneFlight(l.GetUser, userCopied) }},
		{Name: "read by address joins an earlier read", Fails: []string{"ISO-08"}, Races: true,
			Fault: "GetUserByEmail joins a running read of the same address, also if a write ended between the starts of the two.",
			mem: func(m *mem, w *with) {
				w.getUserByEmail = inOneFlight(func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := m.GetUserByEmail(ctx, email)
					aWhile() // the answer is on its way
					return u, err
				}, userCopied)
			}},
	}
}

// filledLate caches users. It fills the cache some time after it has read the record.
func filledLate(b base, cache *sync.Map, w *with) {
	w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
		if u, ok := cache.Load(id); ok {
			return new(copyUser(u.(adapter.User))), ctx.Err()
		}
		u, err := b.GetUser(ctx, id)
		gap()
		if u != nil {
			cache.Store(u.ID, copyUser(*u))
		}
		return u, err
	}
	w.updateUser = func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
		defer cache.Delete(update.ID)
		return b.UpdateUser(ctx, update)
	}
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		defer cache.Delete(id)
		return b.DeleteUser(ctx, id)
	}
}

// listCache keeps the lists of users until it is told to forget them.
type listCache[T any] struct {
	mu    sync.Mutex
	lists map[string][]T
}

// list returns the list of a user, from the cache if it is there.
func (c *listCache[T]) list(read func(context.Context, string) ([]T, error)) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, id string) ([]T, error) {
		defer held(&c.mu)()
		if c.lists == nil {
			c.lists = map[string][]T{}
		}
		list, ok := c.lists[id]
		if !ok {
			var err error
			if list, err = read(ctx, id); err != nil || len(list) == 0 {
				return list, err
			}
			c.lists[id] = list
		}
		return copied(list), ctx.Err()
	}
}

// copied returns a deep copy of records.
func copied[T any](list []T) []T {
	all := []T{}
	for _, x := range list {
		switch r := any(x).(type) {
		case adapter.Account:
			x = any(copyAccount(r)).(T)
		case adapter.Authenticator:
			x = any(copyAuthenticator(r)).(T)
		}
		all = append(all, x)
	}
	return all
}

// forgets clears the list of the user whom the result of a call belongs to.
func forgets[L, A, T any](c *listCache[L], call func(context.Context, A) (*T, error), owner func(*T) string) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, a A) (*T, error) {
		defer held(&c.mu)()
		r, err := call(ctx, a)
		if r != nil {
			delete(c.lists, owner(r))
		}
		return r, err
	}
}

func userID(u *adapter.User) string { return u.ID }

func userCopied(u *adapter.User) *adapter.User {
	if u == nil {
		return nil
	}
	return new(copyUser(*u))
}

// cachedImages keeps the images of users by what else a user has.
type cachedImages struct{ of sync.Map }

type imageKey struct{ id, name, email, verified string }

func keyOfImage(u adapter.User) imageKey {
	return imageKey{u.ID, fmt.Sprint(u.Name == nil, text(u.Name)), u.Email, fmt.Sprint(u.EmailVerified)}
}

func (c *cachedImages) image(u *adapter.User, err error) (*adapter.User, error) {
	if u != nil {
		image, _ := c.of.LoadOrStore(keyOfImage(*u), u.Image)
		u.Image = copyText(image.(*string))
	}
	return u, err
}

func (c *cachedImages) refresh(u *adapter.User, err error) (*adapter.User, error) {
	if u != nil {
		c.of.Store(keyOfImage(*u), copyText(u.Image))
	}
	return u, err
}

// taggedSession is an entry of a cache.
type taggedSession struct {
	tag   string // the user's ID when the entry was made
	found adapter.SessionAndUser
}

// taggedSessions looks up sessions through a cache. All writes of sessions and users empty it,
// except UpdateUser, which removes the entries with the user's tag, and UpdateSession,
// which changes the entry.
func taggedSessions(b base, shared *sync.Map, w *with) {
	lock, _ := shared.LoadOrStore("lock", new(sync.Mutex))
	entries, _ := shared.LoadOrStore("entries", map[string]taggedSession{})
	cache := entries.(map[string]taggedSession)
	within := func(f func()) {
		lock.(*sync.Mutex).Lock()
		defer lock.(*sync.Mutex).Unlock()
		f()
	}
	empty := func() { within(func() { clear(cache) }) }
	w.getSessionAndUser = func(ctx context.Context, token string) (found *adapter.SessionAndUser, err error) {
		within(func() {
			if e, ok := cache[token]; ok && ctx.Err() == nil {
				found = &adapter.SessionAndUser{Session: e.found.Session, User: copyUser(e.found.User)}
				return
			}
			if found, err = b.GetSessionAndUser(ctx, token); found != nil {
				cache[token] = taggedSession{found.User.ID, adapter.SessionAndUser{Session: found.Session, User: copyUser(found.User)}}
			}
		})
		return found, err
	}
	w.updateUser = func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
		user, err := b.UpdateUser(ctx, update)
		within(func() {
			for token, e := range cache {
				if e.tag == update.ID {
					delete(cache, token)
				}
			}
		})
		return user, err
	}
	w.updateSession = func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
		session, err := b.UpdateSession(ctx, update)
		within(func() {
			e, cached := cache[update.SessionToken]
			delete(cache, update.SessionToken)
			if fresh, lookErr := b.GetSessionAndUser(ctx, update.SessionToken); cached && lookErr == nil && fresh != nil {
				cache[update.SessionToken] = taggedSession{e.tag, *fresh}
			}
		})
		return session, err
	}
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		defer empty()
		return b.DeleteUser(ctx, id)
	}
	w.deleteSession = func(ctx context.Context, token string) (*adapter.Session, error) {
		defer empty()
		return b.DeleteSession(ctx, token)
	}
	w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		defer empty()
		return b.DeleteExpired(ctx, now)
	}
	w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
		defer empty()
		return b.DeleteSessionsByUserID(ctx, user, except)
	}
}
