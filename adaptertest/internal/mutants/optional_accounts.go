package mutants

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// listing alters the list of accounts.
func listing(b base, alter func(ctx context.Context, userID string, list []adapter.Account, err error) ([]adapter.Account, error)) with {
	return with{optional: optional{listAccounts: func(ctx context.Context, userID string) ([]adapter.Account, error) {
		list, err := b.ListAccountsByUserID(ctx, userID)
		return alter(ctx, userID, list, err)
	}}}
}

// updating alters the update of accounts.
func updating(update func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error)) with {
	return with{optional: optional{updateAccount: update}}
}

// wholeUpdate sets every field of an account.
func wholeUpdate(a adapter.Account) adapter.AccountUpdate {
	return adapter.AccountUpdate{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: adapter.To(a.AccessToken), RefreshToken: adapter.To(a.RefreshToken), IDToken: adapter.To(a.IDToken), Scope: adapter.To(a.Scope),
		TokenType: adapter.To(a.TokenType), SessionState: adapter.To(a.SessionState), ExpiresAt: adapter.To(a.ExpiresAt), AuthorizationDetails: adapter.To(a.AuthorizationDetails)}
}

func accountListMutants() []Mutant {
	return []Mutant{
		{Name: "list of accounts ends at a thousand", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID returns the first page of 1,000",
			mem: func(m *mem) with {
				return listing(m, func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					return list[:min(len(list), 1000)], err
				})
			}},
		{Name: "list of accounts by a join", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID joins accounts by their id alone, and returns an account twice if another provider has the id too",
			lite: func(l *lite) with {
				return listing(l, func(ctx context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					var joined []adapter.Account
					for _, a := range list {
						others, err := l.column(ctx, `SELECT provider FROM "account" WHERE providerAccountId = ?`, a.ProviderAccountID)
						if err != nil {
							return nil, err
						}
						for range others {
							joined = append(joined, a)
						}
					}
					return slices.Concat([]adapter.Account{}, joined), err
				})
			}},
		{Name: "list of accounts by external id", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID keeps one account for each external id",
			mem: func(m *mem) with {
				return listing(m, func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					seen := map[string]bool{}
					return slices.DeleteFunc(list, func(a adapter.Account) bool {
						double := seen[a.ProviderAccountID]
						seen[a.ProviderAccountID] = true
						return double
					}), err
				})
			}},
		{Name: "list of accounts by provider", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID keeps one account for each provider",
			lite: func(l *lite) with {
				return listing(l, func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					seen := map[string]bool{}
					return slices.DeleteFunc(list, func(a adapter.Account) bool {
						double := seen[a.Provider]
						seen[a.Provider] = true
						return double
					}), err
				})
			}},
		{Name: "empty list of accounts is nil", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID of a user without accounts returns nil",
			mem: func(m *mem) with {
				return listing(m, func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					if len(list) == 0 {
						return nil, err
					}
					return list, err
				})
			}},
		{Name: "accounts of a malformed id are an error", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID fails for a malformed ID",
			lite: func(l *lite) with {
				return listing(l, func(_ context.Context, id string, list []adapter.Account, err error) ([]adapter.Account, error) {
					if len(id) < 8 {
						return nil, errors.New("lite: invalid id")
					}
					return list, err
				})
			}},
		{Name: "accounts of an unknown user are an error", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID of an unknown user fails with ErrNotFound",
			mem: func(m *mem) with {
				return listing(m, func(ctx context.Context, id string, list []adapter.Account, err error) ([]adapter.Account, error) {
					if u, _ := m.GetUser(ctx, id); u == nil && err == nil {
						return nil, notFound("user")
					}
					return list, err
				})
			}},
		{Name: "failed list of accounts is short", Fails: []string{"ALIST-03"},
			Fault: "ListAccountsByUserID returns the rows that it has read when reading fails",
			lite: func(l *lite) with {
				return listing(l, func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
					if err != nil {
						return []adapter.Account{}, nil //nolint:nilerr // the seeded fault
					}
					return list, nil
				})
			}},
		{Name: "update of an account clears the rest", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount writes null into the fields that are not set",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					var a adapter.Account
					a.Provider, a.ProviderAccountID = u.Provider, u.ProviderAccountID
					u.Apply(&a)
					return m.UpdateAccount(ctx, wholeUpdate(a))
				})
			}},
		{Name: "account fields can't be cleared", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount treats null as a field that is not given",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					for _, f := range []*adapter.Change[*string]{&u.AccessToken, &u.RefreshToken, &u.IDToken, &u.Scope, &u.TokenType, &u.SessionState} {
						if v, set := f.Get(); set && v == nil {
							*f = adapter.Change[*string]{}
						}
					}
					return l.UpdateAccount(ctx, u)
				})
			}},
		{Name: "update of an account changes the user's other accounts", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount changes all accounts of the user",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := l.UpdateAccount(ctx, u)
					if a == nil || err != nil {
						return a, err
					}
					siblings, err := l.ListAccountsByUserID(ctx, a.UserID)
					for _, s := range siblings {
						u.Provider, u.ProviderAccountID = s.Provider, s.ProviderAccountID
						if _, err := l.UpdateAccount(ctx, u); err != nil {
							return nil, err
						}
					}
					return a, err
				})
			}},
		{Name: "update of an account returns the old one", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount returns the account as it was before",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					before, _ := m.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if _, err := m.UpdateAccount(ctx, u); err != nil {
						return nil, err
					}
					return before, nil
				})
			}},
		{Name: "updated expiry is cut to 32 bits", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount binds the expiry as an int32",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if v, set := u.ExpiresAt.Get(); set && v != nil {
						u.ExpiresAt = adapter.To(new(int64(int32(*v)))) //nolint:gosec // the fault
					}
					return l.UpdateAccount(ctx, u)
				})
			}},
		{Name: "updated tokens are cut", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount keeps 4,096 bytes of a token",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if v, set := u.AccessToken.Get(); set && v != nil {
						u.AccessToken = adapter.To(new((*v)[:min(len(*v), 4096)]))
					}
					return m.UpdateAccount(ctx, u)
				})
			}},
		{Name: "empty account field becomes null", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount stores null for an empty text",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if v, set := u.Scope.Get(); set && v != nil && *v == "" {
						u.Scope = adapter.To[*string](nil)
					}
					return m.UpdateAccount(ctx, u)
				})
			}},
		{Name: "update creates an account", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount of an unknown key stores an account without an owner",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					return write(ctx, m, func() (*adapter.Account, error) {
						a, ok := m.accounts[u.Key()]
						if !ok {
							a = adapter.Account{Type: adapter.AccountOAuth, Provider: u.Provider, ProviderAccountID: u.ProviderAccountID}
						}
						u.Apply(&a)
						m.accounts[a.Key()] = copyAccount(a)
						return new(copyAccount(a)), nil
					})
				})
			}},
		{Name: "update of an absent account is a miss", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount of an unknown key returns nothing and no error",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := l.UpdateAccount(ctx, u)
					if errors.Is(err, adapter.ErrNotFound) {
						return nil, nil
					}
					return a, err
				})
			}},
		{Name: "absent account is a conflict", Fails: []string{"ALIST-05"},
			Fault: "the error of UpdateAccount of an unknown key matches ErrConflict as well",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := m.UpdateAccount(ctx, u)
					if errors.Is(err, adapter.ErrNotFound) {
						err = errors.Join(err, adapter.ErrConflict)
					}
					return a, err
				})
			}},
		{Name: "account updates are lost", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount reads the account, changes it and writes all its fields",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := m.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if err != nil || a == nil {
						return m.UpdateAccount(ctx, u)
					}
					u.Apply(a)
					gap()
					return m.UpdateAccount(ctx, wholeUpdate(*a))
				})
			}},
		{Name: "account updates are lost between statements", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount is a SELECT and an UPDATE of all columns",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if err != nil || a == nil {
						return l.UpdateAccount(ctx, u)
					}
					u.Apply(a)
					return l.UpdateAccount(ctx, wholeUpdate(*a))
				})
			}},
		{Name: "the two tokens of an account are written together", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount of the access token also writes the refresh token that it has read before",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					_, access := u.AccessToken.Get()
					_, refresh := u.RefreshToken.Get()
					if access && !refresh {
						if a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider); err == nil && a != nil {
							u.RefreshToken = adapter.To(a.RefreshToken)
						}
					}
					return l.UpdateAccount(ctx, u)
				})
			}},
		{Name: "scope and expiry of an account are written together", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount of the scope also writes the expiry that it has read before",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					if _, set := u.Scope.Get(); set {
						if a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider); err == nil && a != nil {
							if _, set := u.ExpiresAt.Get(); !set {
								u.ExpiresAt = adapter.To(a.ExpiresAt)
							}
						}
					}
					return l.UpdateAccount(ctx, u)
				})
			}},
		{Name: "update revives an account", Fails: []string{"ALIST-07"}, Races: true,
			Fault: "UpdateAccount reads the account and stores it again, also if it was unlinked meanwhile",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := m.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if err != nil || a == nil {
						return m.UpdateAccount(ctx, u)
					}
					u.Apply(a)
					gap()
					return write(ctx, m, func() (*adapter.Account, error) {
						m.accounts[a.Key()] = copyAccount(*a)
						return a, nil
					})
				})
			}},
		{Name: "update links an account again", Fails: []string{"ALIST-07"}, Races: true,
			Fault: "UpdateAccount unlinks the account and links the record that it has read",
			lite: func(l *lite) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if err != nil || a == nil {
						return l.UpdateAccount(ctx, u)
					}
					u.Apply(a)
					if _, err := l.UnlinkAccount(ctx, u.Key()); err != nil {
						return nil, err
					}
					return l.LinkAccount(ctx, *a)
				})
			}},
		{Name: "account key of an update ignores case", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount ignores the case of the provider, and also finds an account by a prefix of its key",
			mem: func(m *mem) with {
				return updating(func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					m.mu.RLock()
					for k := range m.accounts {
						if strings.EqualFold(k.Provider, u.Provider) && u.ProviderAccountID != "" && strings.HasPrefix(u.ProviderAccountID, k.ProviderAccountID) {
							u.Provider, u.ProviderAccountID = k.Provider, k.ProviderAccountID
							break
						}
					}
					m.mu.RUnlock()
					return m.UpdateAccount(ctx, u)
				})
			}},
	}
}
