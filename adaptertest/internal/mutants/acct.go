package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func acctMutants() []Mutant {
	return []Mutant{
		{Name: "owner comes without a name", Fails: []string{"ACCT-01"}, AuthJS: true,
			Fault: "GetUserByAccount selects the id and the e-mail only",
			mem: changed[*mem](getUserByAccount, func(_ adapter.AccountKey, u *adapter.User) {
				*u = adapter.User{ID: u.ID, Email: u.Email}
			})},
		{Name: "account by e-mail verifies the user", Fails: []string{"ACCT-01"},
			Fault: "LinkAccount of an account of type email sets EmailVerified of its owner.",
			both: on(linkAccount, func(ctx context.Context, b base, a adapter.Account) (*adapter.Account, error) {
				linked, err := b.LinkAccount(ctx, a)
				if err == nil && a.Type == adapter.AccountEmail {
					_, err = b.UpdateUser(ctx, adapter.UserUpdate{ID: a.UserID, EmailVerified: adapter.To(new(time.Now().UTC()))})
				}
				return linked, err
			})},
		{Name: "session_state is not stored", Fails: []string{"ACCT-02", "DATA-01"}, AuthJS: true,
			Fault: "LinkAccount leaves out session_state",
			mem:   given[*mem](linkAccount, func(a *adapter.Account) { a.SessionState = nil })},
		{Name: "getAccount ignores the provider", Fails: []string{"ACCT-03", "ACCT-05"}, AuthJS: true,
			Fault: "GetAccount compares the account id only",
			mem: onGetAccount(func(ctx context.Context, m *mem, id, _ string) (*adapter.Account, error) {
				return read(ctx, m, func() (*adapter.Account, error) {
					for _, a := range m.accounts {
						if a.ProviderAccountID == id {
							return new(copyAccount(a)), nil
						}
					}
					return nil, nil
				})
			})},
		{Name: "getAccount also accepts exchanged arguments", Fails: []string{"ACCT-03"},
			Fault: "GetAccount looks for (provider, id), then for (id, provider)",
			mem: onGetAccount(func(ctx context.Context, m *mem, id, provider string) (*adapter.Account, error) {
				a, err := m.GetAccount(ctx, id, provider)
				if a == nil && err == nil {
					return m.GetAccount(ctx, provider, id)
				}
				return a, err
			})},
		{Name: "account id ignored", Fails: []string{"ACCT-04", "ACCT-05"},
			Fault: "GetUserByAccount finds a user by the provider and ignores the id",
			mem: reading(getUserByAccount, func(m *mem, key adapter.AccountKey) (*adapter.User, error) {
				for _, a := range m.accounts {
					if a.Provider == key.Provider {
						return m.user(a.UserID), nil
					}
				}
				return nil, nil
			})},
		{Name: "provider ignored", Listed: "M06", Fails: []string{"ACCT-05"},
			Fault: "GetUserByAccount compares the account id only",
			mem: reading(getUserByAccount, func(m *mem, key adapter.AccountKey) (*adapter.User, error) {
				for _, a := range m.accounts {
					if a.ProviderAccountID == key.ProviderAccountID {
						return m.user(a.UserID), nil
					}
				}
				return nil, nil
			})},
		{Name: "unlink ignores the provider", Fails: []string{"ACCT-05"},
			Fault: "UnlinkAccount deletes the accounts of every provider that have the id",
			db:    replaced(`DELETE FROM "account" WHERE provider = ? AND providerAccountId = ?`, `DELETE FROM "account" WHERE ? <> '' AND providerAccountId = ?`)},
		{Name: "linking re-binds", Listed: "M08", Fails: []string{"ACCT-06"},
			Fault: "LinkAccount stores without checking; the pair then belongs to the second user",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				if _, err := m.UnlinkAccount(ctx, a.Key()); err != nil {
					return nil, err
				}
				return m.LinkAccount(ctx, a)
			})},
		{Name: "refused link takes the tokens", Fails: []string{"ACCT-06"},
			Fault: "LinkAccount of a pair that another user has fails after it has overwritten the tokens",
			mem: spoiling(linkAccount, adapter.ErrConflict, func(m *mem, a adapter.Account) {
				old := m.accounts[a.Key()]
				old.AccessToken, old.RefreshToken = a.AccessToken, a.RefreshToken
				m.accounts[a.Key()] = copyAccount(old)
			})},
		{Name: "deleting a user unlinks a pair that was refused", Fails: []string{"ACCT-06"},
			Fault: "a refused pair stays in the user's set of accounts, and DeleteUser deletes the set", mem: func(m *mem, w *with) {
				sets := kept(m.records, "sets", func() map[string][]adapter.AccountKey { return map[string][]adapter.AccountKey{} })
				w.linkAccount = prepared(m, m.LinkAccount, func(a *adapter.Account) {
					sets[a.UserID] = append(sets[a.UserID], a.Key())
				})
				w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					defer held(&m.mu)()
					for _, key := range sets[id] {
						delete(m.accounts, key)
					}
					delete(sets, id)
					return u, err
				}
			}},
		{Name: "account linked twice is stored twice", Fails: []string{"ACCT-07"},
			Fault: "the pair has no unique index, and UnlinkAccount deletes one row", mem: func(m *mem, w *with) {
				copies := kept(m.records, "copies", func() map[adapter.AccountKey][]adapter.Account { return map[adapter.AccountKey][]adapter.Account{} })
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if errors.Is(err, adapter.ErrConflict) {
						defer held(&m.mu)()
						copies[a.Key()] = append(copies[a.Key()], copyAccount(a))
						return new(copyAccount(a)), nil
					}
					return linked, err
				}
				w.unlinkAccount = func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := m.UnlinkAccount(ctx, key)
					defer held(&m.mu)()
					if n := len(copies[key]); n > 0 {
						m.accounts[key] = copies[key][n-1]
						copies[key] = copies[key][:n-1]
					}
					return a, err
				}
			}},
		{Name: "account ids lose leading zeros", Fails: []string{"ACCT-08", "DATA-05"},
			Fault: "an account id is compared without its leading zeros",
			mem: keyedAccounts(func(k adapter.AccountKey) adapter.AccountKey {
				k.ProviderAccountID = strings.TrimLeft(k.ProviderAccountID, "0")
				return k
			})},
		{Name: "providers fold case", Fails: []string{"ACCT-08"}, Fault: "the provider's name is compared in lower case",
			mem: keyedAccounts(func(k adapter.AccountKey) adapter.AccountKey {
				k.Provider = strings.ToLower(k.Provider)
				return k
			})},
		{Name: "owner is found by the provider in upper case", Fails: []string{"ACCT-08"},
			Fault: "GetUserByAccount looks up an unknown provider in lower case too.", lite: func(l *lite, w *with) {
				w.getUserByAccount = again(l.GetUserByAccount, func(k adapter.AccountKey) adapter.AccountKey {
					return adapter.AccountKey{Provider: strings.ToLower(k.Provider), ProviderAccountID: k.ProviderAccountID}
				})
			}},
		{Name: "one account per provider", Fails: []string{"ACCT-09", "ACCT-10"},
			Fault: "LinkAccount replaces the account that the user has at the provider",
			mem: noting(linkAccount, func(m *mem, a adapter.Account, _ *adapter.Account) {
				maps.DeleteFunc(m.accounts, func(key adapter.AccountKey, x adapter.Account) bool {
					return x.UserID == a.UserID && x.Provider == a.Provider && key != a.Key()
				})
			})},
		{Name: "unlink takes all", Listed: "M09", Fails: []string{"ACCT-10"},
			Fault: "UnlinkAccount deletes all accounts of the owner",
			lite: following(unlinkAccount, func(ctx context.Context, l *lite, a *adapter.Account) error {
				return l.exec(ctx, `DELETE FROM "account" WHERE userId = ?`, a.UserID)
			})},
		{Name: "authenticators are deleted with the account", Fails: []string{"ACCT-10"},
			Fault: "UnlinkAccount deletes the authenticators that are connected to the account.",
			lite: following(unlinkAccount, func(ctx context.Context, l *lite, a *adapter.Account) error {
				return l.exec(ctx, `DELETE FROM "authenticator" WHERE providerAccountId = ? AND userId = ?`, a.ProviderAccountID, a.UserID)
			})},
		{Name: "unlink returns another account", Fails: []string{"ACCT-11"},
			Fault: "UnlinkAccount returns some other account of the owner",
			mem: on(unlinkAccount, func(ctx context.Context, m *mem, key adapter.AccountKey) (*adapter.Account, error) {
				a, err := m.UnlinkAccount(ctx, key)
				defer held(m.mu.RLocker())()
				for _, x := range m.accounts {
					if a != nil && x.UserID == a.UserID {
						return new(copyAccount(x)), nil
					}
				}
				return a, err
			})},
		{Name: "unlinked account is returned as it was linked", Fails: []string{"ACCT-11"},
			Fault: "UnlinkAccount returns the record as LinkAccount stored it.", mem: func(m *mem, w *with) {
				loaded := accountMap(m, w)
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return loaded(m.LinkAccount(ctx, a))
				}

			}},
		{Name: "unlinked account is returned as it was read first", Fails: []string{"ACCT-11"},
			Fault: "UnlinkAccount returns the record as GetAccount read it first, without the changes since.",
			lite: func(l *lite, w *with) {
				loaded := accountMap(l, w)
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					return loaded(l.GetAccount(ctx, id, provider))
				}

			}},
		{Name: "unlink of an unknown pair is an error", Fails: []string{"ACCT-12"},
			Fault: "UnlinkAccount fails when it finds nothing", mem: missing[*mem](unlinkAccount, notFound("account"))},
		{Name: "unlinked pair remembers its owner", Fails: []string{"ACCT-13"},
			Fault: "LinkAccount gives a pair that was unlinked to its first owner again", mem: func(m *mem, w *with) {
				owners := kept(m.records, "owners", func() map[adapter.AccountKey]string { return map[adapter.AccountKey]string{} })
				w.linkAccount = prepared(m, m.LinkAccount, func(a *adapter.Account) {
					first, ok := owners[a.Key()]
					if !ok {
						owners[a.Key()] = a.UserID
					} else if _, there := m.users[first]; there {
						a.UserID = first
					}
				})
			}},
		{Name: "unlinked pair stays in the owner's set", Fails: []string{"ACCT-13"},
			Fault: "UnlinkAccount leaves the pair in the set that DeleteUser deletes", mem: func(m *mem, w *with) {
				sets := kept(m.records, "sets", func() map[string][]adapter.AccountKey { return map[string][]adapter.AccountKey{} })
				w.linkAccount = noted(m, m.LinkAccount, func(a adapter.Account, _ *adapter.Account) { sets[a.UserID] = append(sets[a.UserID], a.Key()) })
				w.deleteUser = prepared(m, m.DeleteUser, func(id *string) {
					for _, key := range sets[*id] {
						delete(m.accounts, key)
					}
				})
			}},
		{Name: "linked again with the old tokens", Fails: []string{"ACCT-13"},
			Fault: "UnlinkAccount marks the account as deleted. LinkAccount revives it and leaves the fields that the new account does not have.",
			both: func(b base, w *with) {
				s := softDeletedOf(b)
				w.linkAccount = s.link(b.LinkAccount)
				w.unlinkAccount = s.unlink(b.UnlinkAccount)
			}},
		{Name: "tokens cut", Listed: "M12", Fails: []string{"ACCT-14", "DATA-08"},
			Fault: "access_token, refresh_token and id_token are cut at 512 characters",
			db: boundTo(`INSERT INTO "account"`, func(args []any) {
				for i := 4; i <= 6; i++ {
					args[i] = cut(args[i], 512)
				}
			})},
		{Name: "expiry of an account in 32 bits", Fails: []string{"ACCT-15"}, Fault: "expires_at wraps around in 2038",
			mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if a.ExpiresAt != nil {
					a.ExpiresAt = new(int64(int32(*a.ExpiresAt)))
				}
			})},
		{Name: "account without an owner is kept", Fails: []string{"ACCT-16"},
			Fault: "LinkAccount does not check that the owner exists; the account finds a user who is created with that id later",
			mem: writing(linkAccount, func(m *mem, a adapter.Account) (*adapter.Account, error) {
				if _, taken := m.accounts[a.Key()]; taken {
					return nil, conflict("the account")
				}
				m.accounts[a.Key()] = copyAccount(a)
				return new(copyAccount(a)), nil
			})},
		{Name: "missing scope is an empty one", Fails: []string{"ACCT-17", "DATA-02"}, AuthJS: true,
			Fault: "GetAccount scans a null scope into a string",
			mem: onGetAccount(func(ctx context.Context, m *mem, id, provider string) (*adapter.Account, error) {
				a, err := m.GetAccount(ctx, id, provider)
				if a != nil && a.Scope == nil {
					a.Scope = new("")
				}
				return a, err
			})},
		{Name: "missing expiry is the epoch", Fails: []string{"ACCT-17", "DATA-02"},
			Fault: "expires_at that was not given is stored as 0", mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if a.ExpiresAt == nil {
					a.ExpiresAt = new(int64(0))
				}
			})},
		{Name: "authorization details keep only the first element", Fails: []string{"ACCT-18"},
			Fault: "the array is stored as its first element", mem: given[*mem](linkAccount, func(a *adapter.Account) {
				var list []json.RawMessage
				if json.Unmarshal(a.AuthorizationDetails, &list) == nil && len(list) > 1 {
					a.AuthorizationDetails, _ = json.Marshal(list[:1])
				}
			})},
		{Name: "account names its owner by an internal id", Fails: []string{"ACCT-20"}, AuthJS: true,
			Fault: "GetAccount returns the owner's key in the store, with its prefix",
			mem: onGetAccount(func(ctx context.Context, m *mem, id, provider string) (*adapter.Account, error) {
				a, err := m.GetAccount(ctx, id, provider)
				if a != nil {
					a.UserID = "user:" + a.UserID
				}
				return a, err
			})},
		{Name: "list of authenticators by a join", Fails: []string{"ACCT-21"},
			Fault: "ListAuthenticatorsByUserID joins the accounts by their id, and returns an authenticator once for each account",
			lite: on(listAuthenticators, func(ctx context.Context, l *lite, userID string) ([]adapter.Authenticator, error) {
				list, err := l.ListAuthenticatorsByUserID(ctx, userID)
				joined := []adapter.Authenticator{}
				for _, a := range list {
					accounts, err := l.column(ctx, `SELECT provider FROM "account" WHERE userId = ? AND providerAccountId = ?`, userID, a.ProviderAccountID)
					if err != nil {
						return nil, err
					}
					for range max(1, len(accounts)) {
						joined = append(joined, a)
					}
				}
				return joined, err
			})},
		{Name: "unlinking ignores the provider in the index", Fails: []string{"ACCT-21"},
			Fault: "UnlinkAccount removes every account with the id from the index of GetUserByAccount", mem: func(m *mem, w *with) {
				gone := kept(m.records, "unlinked", func() map[string]bool { return map[string]bool{} })
				w.linkAccount = noted(m, m.LinkAccount, func(a adapter.Account, _ *adapter.Account) {
					delete(gone, a.ProviderAccountID)
				})
				w.unlinkAccount = noted(m, m.UnlinkAccount, func(k adapter.AccountKey, _ *adapter.Account) {
					gone[k.ProviderAccountID] = true
				})
				w.getUserByAccount = func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
					if hidden, _ := look(m, &gone, k.ProviderAccountID); hidden {
						return nil, m.begin(ctx)
					}
					return m.GetUserByAccount(ctx, k)
				}
			}},
		{Name: "own account is linked again", Fails: []string{"ACCT-22"},
			Fault: "LinkAccount of an account that the user has replaces its tokens.",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				defer held(&m.mu)()
				if old, ok := m.accounts[a.Key()]; ok && old.UserID == a.UserID && m.begin(ctx) == nil {
					m.putAccount(a)
					return new(copyAccount(a)), nil
				}
				m.mu.Unlock()
				defer m.mu.Lock()
				return m.LinkAccount(ctx, a)
			})},
		{Name: "linking again is not refused", Fails: []string{"ACCT-22"},
			Fault: "LinkAccount of an account that the user has returns the stored one, and no error.",
			lite: on(linkAccount, func(ctx context.Context, l *lite, a adapter.Account) (*adapter.Account, error) {
				linked, err := l.LinkAccount(ctx, a)
				if errors.Is(err, adapter.ErrConflict) {
					if old, _ := l.GetAccount(ctx, a.ProviderAccountID, a.Provider); old != nil && old.UserID == a.UserID {
						return old, nil
					}
				}
				return linked, err
			})},
		{Name: "details that are not JSON are linked", Fails: []string{"ACCT-23"},
			Fault: "LinkAccount stores AuthorizationDetails that are not JSON", mem: linkingDetails(isJSON)},
		{Name: "details that are not JSON replace others", Fails: []string{"ACCT-23"},
			Fault: "UpdateAccount stores AuthorizationDetails that are not JSON",
			mem: on(updateAccount, func(ctx context.Context, m *mem, u adapter.AccountUpdate) (*adapter.Account, error) {
				details, _ := u.AuthorizationDetails.Get()
				if isJSON(details) {
					return m.UpdateAccount(ctx, u)
				}
				u.AuthorizationDetails = adapter.To[json.RawMessage](nil)
				if _, err := m.UpdateAccount(ctx, u); err != nil {
					return nil, err
				}
				return m.setDetails(ctx, u.Key(), details)
			})},
		{Name: "details that are cut off count as JSON", Fails: []string{"ACCT-23"},
			Fault: "LinkAccount looks at the first character of AuthorizationDetails only",
			mem:   linkingDetails(func(details json.RawMessage) bool { return isJSON(details) || details[0] != '[' })},
	}
}

// linkingDetails stores the authorization details that are not fine, whatever they are.
func linkingDetails(fine func(json.RawMessage) bool) func(*mem, *with) {
	return on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
		details := a.AuthorizationDetails
		if fine(details) {
			return m.LinkAccount(ctx, a)
		}
		a.AuthorizationDetails = nil
		if _, err := m.LinkAccount(ctx, a); err != nil {
			return nil, err
		}
		return m.setDetails(ctx, a.Key(), details)
	})
}

func (m *mem) setDetails(ctx context.Context, key adapter.AccountKey, details json.RawMessage) (*adapter.Account, error) {
	return write(ctx, m, func() (*adapter.Account, error) {
		a := m.accounts[key]
		a.AuthorizationDetails = details
		m.accounts[key] = copyAccount(a)
		return new(copyAccount(a)), nil
	})
}

// accountMap returns an unlinked account as it was when a call was given to loaded first.
func accountMap(b base, w *with) (loaded func(*adapter.Account, error) (*adapter.Account, error)) {
	var first firstReads[adapter.Account]
	name := func(key adapter.AccountKey) string { return key.Provider + " " + key.ProviderAccountID }
	w.unlinkAccount = func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
		a, err := b.UnlinkAccount(ctx, key)
		return first.deleted(name(key), a), err
	}
	return func(a *adapter.Account, err error) (*adapter.Account, error) {
		if a != nil {
			first.records.LoadOrStore(name(a.Key()), copyAccount(*a))
		}
		return a, err
	}
}

// softDeleted has the accounts that were unlinked.
type softDeleted struct {
	mu       sync.Mutex
	accounts map[adapter.AccountKey]adapter.Account
}

func softDeletedOf(b base) *softDeleted {
	s, _ := b.common().LoadOrStore("unlinked", &softDeleted{accounts: map[adapter.AccountKey]adapter.Account{}})
	return s.(*softDeleted)
}

func (s *softDeleted) link(link func(context.Context, adapter.Account) (*adapter.Account, error)) func(context.Context, adapter.Account) (*adapter.Account, error) {
	return func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
		defer held(&s.mu)()
		if old, ok := s.accounts[a.Key()]; ok {
			for _, x := range []struct{ field, old **string }{
				{&a.AccessToken, &old.AccessToken}, {&a.RefreshToken, &old.RefreshToken}, {&a.IDToken, &old.IDToken},
				{&a.Scope, &old.Scope}, {&a.TokenType, &old.TokenType}, {&a.SessionState, &old.SessionState},
			} {
				if *x.field == nil {
					*x.field = *x.old
				}
			}
		}
		return link(ctx, a)
	}
}

func (s *softDeleted) unlink(unlink func(context.Context, adapter.AccountKey) (*adapter.Account, error)) func(context.Context, adapter.AccountKey) (*adapter.Account, error) {
	return func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
		defer held(&s.mu)()
		a, err := unlink(ctx, key)
		if a != nil {
			s.accounts[key] = copyAccount(*a)
		}
		return a, err
	}
}
