package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// freshMutants are of the kinds that the suite missed, or failed only at a clause
// about something else, when a further batch of broken adapters was tried that its
// authors had not seen.
func freshMutants() []Mutant {
	return []Mutant{
		{Name: "cached accounts outlive their passkey", Fault: "ListAccountsByUserID has a cache. Every method that changes accounts clears it, except DeleteAuthenticator, which deletes the account that goes with the authenticator.", Fails: []string{"ISO-05"},
			mem: func(m *mem) with {
				c := kept(m.records, "accounts", func() *listCache[adapter.Account] { return new(listCache[adapter.Account]) })
				account := func(a *adapter.Account) string { return a.UserID }
				return with{
					linkAccount:   forgets(c, m.LinkAccount, account),
					unlinkAccount: forgets(c, m.UnlinkAccount, account),
					deleteUser:    forgets(c, m.DeleteUser, userID),
					optional: optional{
						listAccounts:  c.list(m.ListAccountsByUserID),
						updateAccount: forgets(c, m.UpdateAccount, account),
						signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
							return forgets(c, func(ctx context.Context, u adapter.User) (*adapter.User, error) {
								return m.CreateUserWithAccount(ctx, u, a, w)
							}, userID)(ctx, u)
						},
					},
				}
			}},
		{Name: "cached passkeys miss a touch", Fault: "ListAuthenticatorsByUserID has a cache. Every method that changes authenticators clears it, except TouchAuthenticator.", Fails: []string{"ISO-05"},
			lite: func(l *lite) with {
				c := new(listCache[adapter.Authenticator])
				owner := func(a *adapter.Authenticator) string { return a.UserID }
				return with{
					createAuthenticator: forgets(c, l.CreateAuthenticator, owner),
					listAuthenticators:  c.list(l.ListAuthenticatorsByUserID),
					deleteUser:          forgets(c, l.DeleteUser, userID),
					updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
						return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
							return l.UpdateAuthenticatorCounter(ctx, id, counter)
						}, owner)(ctx, id)
					},
					optional: optional{
						deleteAuthenticator: func(ctx context.Context, user, id string, keepOne bool) (*adapter.Authenticator, error) {
							return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
								return l.DeleteAuthenticator(ctx, user, id, keepOne)
							}, owner)(ctx, id)
						},
						renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
							return forgets(c, func(ctx context.Context, id string) (*adapter.Authenticator, error) {
								return l.RenameAuthenticator(ctx, user, id, name)
							}, owner)(ctx, id)
						},
						signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
							return forgets(c, func(ctx context.Context, u adapter.User) (*adapter.User, error) {
								return l.CreateUserWithAccount(ctx, u, a, w)
							}, userID)(ctx, u)
						},
					},
				}
			}},
		{Name: "listed sessions have the zone of the process", Fault: "ListSessionsByUserID returns each expiry in the zone of the process.", Fails: []string{"TIME-12"},
			mem: func(m *mem) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					list, err := m.ListSessionsByUserID(ctx, id)
					for i := range list {
						list[i].Expires = list[i].Expires.Local()
					}
					return list, err
				}}}
			}},
		{Name: "new token has the zone of the argument", Fault: "CreateVerificationToken returns the expiry in the zone in which it was given.", Fails: []string{"TIME-12"},
			lite: func(l *lite) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					got, err := l.CreateVerificationToken(ctx, t)
					if got != nil {
						got.Expires = got.Expires.In(t.Expires.Location())
					}
					return got, err
				}}
			}},
		{Name: "clean-up deletes a replaced token", Fault: "A token that is created again replaces the one before. DeleteExpired gathers the keys of expired tokens and then deletes by key, also a token that was replaced in between.", Fails: []string{"EXP-07"}, Races: true,
			mem: func(m *mem) with {
				return with{
					createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
						return write(ctx, m, func() (*adapter.VerificationToken, error) {
							if t.Identifier == "" || t.Token == "" {
								return nil, errEmpty
							}
							t = copyToken(t)
							m.tokens[t.Key()] = t
							return &t, nil
						})
					},
					deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
						gone, err := read(ctx, m, func() (gone []adapter.VerificationTokenKey, err error) {
							for key, t := range m.tokens {
								if !t.Expires.After(now) {
									gone = append(gone, key)
								}
							}
							return gone, nil
						})
						if err != nil {
							return swept, err
						}
						time.Sleep(time.Millisecond) // the keys travel to the adapter and back
						return write(ctx, m, func() (adapter.Swept, error) {
							for token, s := range m.sessions {
								if !s.Expires.After(now) {
									delete(m.sessions, token)
									swept.Sessions++
								}
							}
							for _, key := range gone {
								if _, ok := m.tokens[key]; ok {
									delete(m.tokens, key)
									swept.VerificationTokens++
								}
							}
							return swept, nil
						})
					},
				}
			}},
		{Name: "clean-up deletes tokens by value", Fault: "DeleteExpired selects the expired tokens, and deletes them by their value in a second statement, also one that was used and created again in between.", Fails: []string{"EXP-07"}, Races: true,
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					tokens, err := l.column(ctx, `SELECT token FROM "verificationToken" WHERE expires <= ?`, now.UnixMilli())
					for _, token := range tokens {
						err = errors.Join(err, l.exec(ctx, `DELETE FROM "verificationToken" WHERE token = ?`, token))
					}
					if err != nil {
						return adapter.Swept{}, err
					}
					swept, err := l.DeleteExpired(ctx, now)
					swept.VerificationTokens += int64(len(tokens))
					return swept, err
				}}
			}},
		{Name: "Close counts twice", Fault: "Handles share a counted connection. The second Close of one handle counts down again, and closes the connection of another.", Fails: []string{"LIFE-01"},
			mem: func(m *mem) with {
				kept(m.records, "handles", func() *handles { return new(handles) }).add(func() { m.closed.Store(true) })
				return with{}
			},
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					m := a.(*with).base.(*mem)
					m.closed.Store(true)
					kept(m.records, "handles", func() *handles { return new(handles) }).release()
					return nil
				}
			}},
		{Name: "Close of a file counts twice", Fault: "As before, for the handles on one file.", Fails: []string{"LIFE-01"},
			lite: func(l *lite) with {
				handlesOn(l.path).add(func() { _ = l.db.Close() })
				return with{}
			},
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					l := a.(*with).base.(*lite)
					handlesOn(l.path).release()
					return l.db.Close()
				}
			}},
		{Name: "one page of a mebibyte", Fault: "The list of authenticators and the one of accounts end after one mebibyte.", Fails: []string{"VOL-01", "ALIST-01"},
			mem: func(m *mem) with {
				return with{
					listAuthenticators: pageOfBytes(m.ListAuthenticatorsByUserID),
					optional:           optional{listAccounts: pageOfBytes(m.ListAccountsByUserID)},
				}
			}},
		{Name: "deletion of one page of a mebibyte", Fault: "DeleteUser reads which accounts the user has, and what it reads ends after one mebibyte.", Fails: []string{"ALIST-01"},
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					list, err := pageOfBytes(m.ListAccountsByUserID)(ctx, id)
					if err != nil {
						return nil, err
					}
					return write(ctx, m, func() (*adapter.User, error) {
						u := m.user(id)
						if u == nil {
							return nil, nil
						}
						if len(list) == len(m.accountsOf[id]) {
							m.dropAccounts(id)
						}
						for _, a := range list {
							delete(m.accounts, a.Key())
						}
						m.dropSessions(id)
						m.dropAuthenticators(id)
						m.dropUser(id)
						return u, nil
					})
				}}
			}},
		{Name: "rows of a mebibyte", Fault: "The rows of accounts are read until they are a mebibyte.", Fails: []string{"ALIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listAccounts: pageOfBytes(l.ListAccountsByUserID)}}
			}},
		{Name: "rows of sessions of a mebibyte", Fault: "The rows of sessions are read until they are a mebibyte.", Fails: []string{"SLIST-04"},
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: pageOfBytes(l.ListSessionsByUserID)}}
			}},
		{Name: "one page of sessions", Fault: "The list of sessions ends after one mebibyte.", Fails: []string{"SLIST-04"},
			mem: func(m *mem) with {
				return with{optional: optional{listSessions: pageOfBytes(m.ListSessionsByUserID)}}
			}},
		{Name: "touch has the zone of the argument", Fault: "TouchAuthenticator returns the instant of use in the zone in which it was given.", Fails: []string{"TIME-12"},
			mem: func(m *mem) with {
				return with{optional: optional{touch: func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					a, err := m.TouchAuthenticator(ctx, id, from, to, used)
					if a != nil {
						a.LastUsed = &used
					}
					return a, err
				}}}
			}},
		{Name: "access token or refresh token", Fault: "UpdateAccount with a new access token and a new refresh token stores the access token only.", Fails: []string{"ALIST-04"},
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if u.AccessToken.IsSet() {
						u.RefreshToken = adapter.Change[*string]{}
					}
					return m.UpdateAccount(ctx, u)
				}}}
			}},
		{Name: "scope or expiry", Fault: "UpdateAccount with a new scope and a new expiry stores the scope only.", Fails: []string{"ALIST-04"},
			lite: func(l *lite) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if u.Scope.IsSet() {
						u.ExpiresAt = adapter.Change[*int64]{}
					}
					return l.UpdateAccount(ctx, u)
				}}}
			}},
		{Name: "owner or expiry", Fault: "UpdateSession stores the new owner or, if none is given, the new expiry, and returns what it has stored.", Fails: []string{"SESS-08"},
			mem: func(m *mem) with { return with{updateSession: ownerOrExpiry(m.UpdateSession)} }},
		{Name: "column of the owner or of the expiry", Fault: "As before.", Fails: []string{"SESS-08"},
			lite: func(l *lite) with { return with{updateSession: ownerOrExpiry(l.UpdateSession)} }},
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
		c.mu.Lock()
		defer c.mu.Unlock()
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
		c.mu.Lock()
		defer c.mu.Unlock()
		r, err := call(ctx, a)
		if r != nil {
			delete(c.lists, owner(r))
		}
		return r, err
	}
}

func userID(u *adapter.User) string { return u.ID }

// handles counts the open handles on one store, and closes all when none is left.
type handles struct {
	mu   sync.Mutex
	open int
	all  []func()
}

func (h *handles) add(closeIt func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	h.all = append(h.all, closeIt)
}

func (h *handles) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open = max(0, h.open-1); h.open > 0 {
		return
	}
	for _, closeIt := range h.all {
		closeIt()
	}
	h.all = nil
}

var handlesByPath sync.Map

func handlesOn(path string) *handles {
	h, _ := handlesByPath.LoadOrStore(path, new(handles))
	return h.(*handles)
}

// pageOfBytes cuts a list before its JSON is longer than a mebibyte.
func pageOfBytes[T any](list func(context.Context, string) ([]T, error)) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, id string) ([]T, error) {
		all, err := list(ctx, id)
		size := 0
		for i, x := range all {
			raw, _ := json.Marshal(x)
			if size += len(raw); size > 1<<20 {
				return all[:i], err
			}
		}
		return all, err
	}
}

// ownerOrExpiry leaves out the expiry of an update that names an owner.
func ownerOrExpiry(update updateSessionFunc) updateSessionFunc {
	return func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		if u.UserID.IsSet() {
			u.Expires = adapter.Change[time.Time]{}
		}
		return update(ctx, u)
	}
}
