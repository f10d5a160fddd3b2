package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func accountMutants() []Mutant {
	return []Mutant{
		{Name: "owner comes without a name", Fails: []string{"ACCT-01"}, AuthJS: true,
			Fault: "GetUserByAccount selects the id and the e-mail only",
			mem: func(m *mem) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					u, err := m.GetUserByAccount(ctx, key)
					if u != nil {
						u = &adapter.User{ID: u.ID, Email: u.Email}
					}
					return u, err
				}}
			}},
		{Name: "session_state is not stored", Fails: []string{"ACCT-02", "DATA-01"}, AuthJS: true,
			Fault: "LinkAccount leaves out session_state",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					a.SessionState = nil
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "getAccount ignores the provider", Fails: []string{"ACCT-03", "ACCT-05"}, AuthJS: true,
			Fault: "GetAccount compares the account id only",
			mem: func(m *mem) with {
				return with{getAccount: func(ctx context.Context, id, _ string) (*adapter.Account, error) {
					return read(ctx, m, func() (*adapter.Account, error) {
						for _, a := range m.accounts {
							if a.ProviderAccountID == id {
								return new(copyAccount(a)), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "getAccount also accepts exchanged arguments", Fails: []string{"ACCT-03"},
			Fault: "GetAccount looks for (provider, id), then for (id, provider)",
			mem: func(m *mem) with {
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := m.GetAccount(ctx, id, provider)
					if a == nil && err == nil {
						return m.GetAccount(ctx, provider, id)
					}
					return a, err
				}}
			}},
		{Name: "account id ignored", Fails: []string{"ACCT-04", "ACCT-05"},
			Fault: "GetUserByAccount finds a user by the provider and ignores the id",
			mem: func(m *mem) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					return read(ctx, m, func() (*adapter.User, error) {
						for _, a := range m.accounts {
							if a.Provider == key.Provider {
								return m.user(a.UserID), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "provider ignored", Listed: "M06", Fails: []string{"ACCT-05"},
			Fault: "GetUserByAccount compares the account id only",
			mem: func(m *mem) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					return read(ctx, m, func() (*adapter.User, error) {
						for _, a := range m.accounts {
							if a.ProviderAccountID == key.ProviderAccountID {
								return m.user(a.UserID), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "unlink ignores the provider", Fails: []string{"ACCT-05"},
			Fault: "UnlinkAccount deletes the accounts of every provider that have the id",
			db:    replaced(`DELETE FROM "account" WHERE provider = ? AND providerAccountId = ?`, `DELETE FROM "account" WHERE ? <> '' AND providerAccountId = ?`)},
		{Name: "concatenated pair", Listed: "M07", Fails: []string{"INPUT-04"},
			Fault: "accounts are keyed by provider + ':' + id",
			mem:   func(m *mem) with { return keyedAccounts(m, joinedPair) }},
		{Name: "linking re-binds", Listed: "M08", Fails: []string{"ACCT-06"},
			Fault: "LinkAccount stores without checking; the pair then belongs to the second user",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if _, err := m.UnlinkAccount(ctx, a.Key()); err != nil {
						return nil, err
					}
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "refused link takes the tokens", Fails: []string{"ACCT-06"},
			Fault: "LinkAccount of a pair that another user has fails after it has overwritten the tokens",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if errors.Is(err, adapter.ErrConflict) {
						m.mu.Lock()
						defer m.mu.Unlock()
						old := m.accounts[a.Key()]
						old.AccessToken, old.RefreshToken = a.AccessToken, a.RefreshToken
						m.accounts[a.Key()] = copyAccount(old)
					}
					return linked, err
				}}
			}},
		{Name: "deleting a user unlinks a pair that was refused", Fails: []string{"ACCT-06"},
			Fault: "a refused pair stays in the user's set of accounts, and DeleteUser deletes the set",
			mem: func(m *mem) with {
				sets := kept(m.records, "sets", func() map[string][]adapter.AccountKey { return map[string][]adapter.AccountKey{} })
				return with{
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						m.mu.Lock()
						sets[a.UserID] = append(sets[a.UserID], a.Key())
						m.mu.Unlock()
						return m.LinkAccount(ctx, a)
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := m.DeleteUser(ctx, id)
						m.mu.Lock()
						defer m.mu.Unlock()
						for _, key := range sets[id] {
							delete(m.accounts, key)
						}
						delete(sets, id)
						return u, err
					},
				}
			}},
		{Name: "account linked twice is stored twice", Fails: []string{"ACCT-07"},
			Fault: "the pair has no unique index, and UnlinkAccount deletes one row",
			mem: func(m *mem) with {
				copies := kept(m.records, "copies", func() map[adapter.AccountKey][]adapter.Account { return map[adapter.AccountKey][]adapter.Account{} })
				return with{
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						linked, err := m.LinkAccount(ctx, a)
						if errors.Is(err, adapter.ErrConflict) {
							m.mu.Lock()
							defer m.mu.Unlock()
							copies[a.Key()] = append(copies[a.Key()], copyAccount(a))
							return new(copyAccount(a)), nil
						}
						return linked, err
					},
					unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
						a, err := m.UnlinkAccount(ctx, key)
						m.mu.Lock()
						defer m.mu.Unlock()
						if n := len(copies[key]); n > 0 {
							m.accounts[key] = copies[key][n-1]
							copies[key] = copies[key][:n-1]
						}
						return a, err
					},
				}
			}},
		{Name: "account ids lose leading zeros", Fails: []string{"ACCT-08", "DATA-05"},
			Fault: "an account id is compared without its leading zeros",
			mem: func(m *mem) with {
				return keyedAccounts(m, func(k adapter.AccountKey) adapter.AccountKey {
					k.ProviderAccountID = strings.TrimLeft(k.ProviderAccountID, "0")
					return k
				})
			}},
		{Name: "providers fold case", Fails: []string{"ACCT-08"},
			Fault: "the provider's name is compared in lower case",
			mem: func(m *mem) with {
				return keyedAccounts(m, func(k adapter.AccountKey) adapter.AccountKey {
					k.Provider = strings.ToLower(k.Provider)
					return k
				})
			}},
		{Name: "one account per provider", Fails: []string{"ACCT-09", "ACCT-10"},
			Fault: "LinkAccount replaces the account that the user has at the provider",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if err == nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						for key, x := range m.accounts {
							if x.UserID == a.UserID && x.Provider == a.Provider && key != a.Key() {
								delete(m.accounts, key)
							}
						}
					}
					return linked, err
				}}
			}},
		{Name: "unlink takes all", Listed: "M09", Fails: []string{"ACCT-10"},
			Fault: "UnlinkAccount deletes all accounts of the owner",
			lite: func(l *lite) with {
				return with{unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := l.UnlinkAccount(ctx, key)
					if a != nil {
						err = l.exec(ctx, `DELETE FROM "account" WHERE userId = ?`, a.UserID)
					}
					return a, err
				}}
			}},
		{Name: "unlink returns another account", Fails: []string{"ACCT-11"},
			Fault: "UnlinkAccount returns some other account of the owner",
			mem: func(m *mem) with {
				return with{unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := m.UnlinkAccount(ctx, key)
					m.mu.RLock()
					defer m.mu.RUnlock()
					for _, x := range m.accounts {
						if a != nil && x.UserID == a.UserID {
							return new(copyAccount(x)), nil
						}
					}
					return a, err
				}}
			}},
		{Name: "unlink of an unknown pair is an error", Fails: []string{"ACCT-12"},
			Fault: "UnlinkAccount fails when it finds nothing",
			mem: func(m *mem) with {
				return with{unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := m.UnlinkAccount(ctx, key)
					if a == nil && err == nil {
						return nil, notFound("account")
					}
					return a, err
				}}
			}},
		{Name: "unlinked pair remembers its owner", Fails: []string{"ACCT-13"},
			Fault: "LinkAccount gives a pair that was unlinked to its first owner again",
			mem: func(m *mem) with {
				owners := kept(m.records, "owners", func() map[adapter.AccountKey]string { return map[adapter.AccountKey]string{} })
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					m.mu.Lock()
					first, ok := owners[a.Key()]
					if !ok {
						owners[a.Key()] = a.UserID
					} else if _, there := m.users[first]; there {
						a.UserID = first
					}
					m.mu.Unlock()
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "unlinked pair stays in the owner's set", Fails: []string{"ACCT-13"},
			Fault: "UnlinkAccount leaves the pair in the set that DeleteUser deletes",
			mem: func(m *mem) with {
				sets := kept(m.records, "sets", func() map[string][]adapter.AccountKey { return map[string][]adapter.AccountKey{} })
				return with{
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						linked, err := m.LinkAccount(ctx, a)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							sets[a.UserID] = append(sets[a.UserID], a.Key())
						}
						return linked, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						m.mu.Lock()
						for _, key := range sets[id] {
							delete(m.accounts, key)
						}
						m.mu.Unlock()
						return m.DeleteUser(ctx, id)
					},
				}
			}},
		{Name: "tokens cut", Listed: "M12", Fails: []string{"ACCT-14", "DATA-08"},
			Fault: "access_token, refresh_token and id_token are cut at 512 characters",
			db: boundTo(`INSERT INTO "account"`, func(args []any) {
				for i := 4; i <= 6; i++ {
					args[i] = cut(args[i], 512)
				}
			})},
		{Name: "expiry of an account in 32 bits", Fails: []string{"ACCT-15"},
			Fault: "expires_at wraps around in 2038",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if a.ExpiresAt != nil {
						a.ExpiresAt = new(int64(int32(*a.ExpiresAt)))
					}
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "account without an owner is kept", Fails: []string{"ACCT-16"},
			Fault: "LinkAccount does not check that the owner exists; the account finds a user who is created with that id later",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return write(ctx, m, func() (*adapter.Account, error) {
						if _, taken := m.accounts[a.Key()]; taken {
							return nil, conflict("the account")
						}
						m.accounts[a.Key()] = copyAccount(a)
						return new(copyAccount(a)), nil
					})
				}}
			}},
		{Name: "failed link swallowed", Listed: "M10", Fails: []string{"ERR-02", "ACCT-06", "ACCT-16"},
			Fault: "LinkAccount returns its argument when the pair is taken or the user is unknown",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
						return new(copyAccount(a)), nil
					}
					return linked, err
				}}
			}},
		{Name: "missing scope is an empty one", Fails: []string{"ACCT-17", "DATA-02"}, AuthJS: true,
			Fault: "GetAccount scans a null scope into a string",
			mem: func(m *mem) with {
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := m.GetAccount(ctx, id, provider)
					if a != nil && a.Scope == nil {
						a.Scope = new("")
					}
					return a, err
				}}
			}},
		{Name: "missing expiry is the epoch", Fails: []string{"ACCT-17", "DATA-02"},
			Fault: "expires_at that was not given is stored as 0",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if a.ExpiresAt == nil {
						a.ExpiresAt = new(int64(0))
					}
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "authorization details keep only the first element", Fails: []string{"ACCT-18"},
			Fault: "the array is stored as its first element",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					var list []json.RawMessage
					if json.Unmarshal(a.AuthorizationDetails, &list) == nil && len(list) > 1 {
						a.AuthorizationDetails, _ = json.Marshal(list[:1])
					}
					return m.LinkAccount(ctx, a)
				}}
			}},
		{Name: "details that are not JSON are linked", Fails: []string{"ACCT-23"},
			Fault: "LinkAccount stores AuthorizationDetails that are not JSON",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					details := a.AuthorizationDetails
					if isJSON(details) {
						return m.LinkAccount(ctx, a)
					}
					a.AuthorizationDetails = nil
					if _, err := m.LinkAccount(ctx, a); err != nil {
						return nil, err
					}
					return m.setDetails(ctx, a.Key(), details)
				}}
			}},
		{Name: "details that are not JSON replace others", Fails: []string{"ACCT-23"},
			Fault: "UpdateAccount stores AuthorizationDetails that are not JSON",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					details, _ := u.AuthorizationDetails.Get()
					if isJSON(details) {
						return m.UpdateAccount(ctx, u)
					}
					u.AuthorizationDetails = adapter.To[json.RawMessage](nil)
					if _, err := m.UpdateAccount(ctx, u); err != nil {
						return nil, err
					}
					return m.setDetails(ctx, u.Key(), details)
				})
			}},
		{Name: "details that are cut off count as JSON", Fails: []string{"ACCT-23"},
			Fault: "LinkAccount looks at the first character of AuthorizationDetails only",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					details := a.AuthorizationDetails
					if isJSON(details) || details[0] != '[' {
						return m.LinkAccount(ctx, a)
					}
					a.AuthorizationDetails = nil
					if _, err := m.LinkAccount(ctx, a); err != nil {
						return nil, err
					}
					return m.setDetails(ctx, a.Key(), details)
				}}
			}},
		{Name: "account names its owner by an internal id", Fails: []string{"ACCT-20"}, AuthJS: true,
			Fault: "GetAccount returns the owner's key in the store, with its prefix",
			mem: func(m *mem) with {
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := m.GetAccount(ctx, id, provider)
					if a != nil {
						a.UserID = "user:" + a.UserID
					}
					return a, err
				}}
			}},
	}
}

// setDetails stores authorization details of an account, whatever they are.
func (m *mem) setDetails(ctx context.Context, key adapter.AccountKey, details json.RawMessage) (*adapter.Account, error) {
	return write(ctx, m, func() (*adapter.Account, error) {
		a := m.accounts[key]
		a.AuthorizationDetails = details
		m.accounts[key] = copyAccount(a)
		return new(copyAccount(a)), nil
	})
}

func joinedPair(k adapter.AccountKey) adapter.AccountKey {
	return adapter.AccountKey{ProviderAccountID: k.Provider + ":" + k.ProviderAccountID}
}

// keyedAccounts stores the accounts under the text that key returns for a pair.
func keyedAccounts(m *mem, key func(adapter.AccountKey) adapter.AccountKey) with {
	find := func(k adapter.AccountKey) (adapter.Account, bool) {
		for _, a := range m.accounts {
			if key(a.Key()) == key(k) {
				return a, true
			}
		}
		return adapter.Account{}, false
	}
	return with{
		linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
			m.mu.RLock()
			_, taken := find(a.Key())
			m.mu.RUnlock()
			if taken {
				return nil, conflict("the account")
			}
			return m.LinkAccount(ctx, a)
		},
		unlinkAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
			m.mu.RLock()
			a, ok := find(k)
			m.mu.RUnlock()
			if ok {
				k = a.Key()
			}
			return m.UnlinkAccount(ctx, k)
		},
		getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
			return read(ctx, m, func() (*adapter.Account, error) {
				if a, ok := find(adapter.AccountKey{Provider: provider, ProviderAccountID: id}); ok {
					return new(copyAccount(a)), nil
				}
				return nil, nil
			})
		},
		getUserByAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
			return read(ctx, m, func() (*adapter.User, error) {
				if a, ok := find(k); ok {
					return m.user(a.UserID), nil
				}
				return nil, nil
			})
		},
	}
}
