package mutants

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func alistMutants() []Mutant {
	account := func(a adapter.Account) string { return a.Provider + " " + a.ProviderAccountID }
	return []Mutant{
		{Name: "one account of each provider is listed", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID builds a map keyed by provider.",
			lite: on(listAccounts, func(ctx context.Context, l *lite, id string) ([]adapter.Account, error) {
				all, err := l.ListAccountsByUserID(ctx, id)
				seen := map[string]bool{}
				return slices.DeleteFunc(all, func(a adapter.Account) bool {
					was := seen[a.Provider]
					seen[a.Provider] = true
					return was
				}), err
			})},
		{Name: "accounts of a user are joined with colons", Fails: []string{"ALIST-01"},
			Fault: "The list of a user's accounts joins provider and id with a colon, and each entry is split at the first colon.",
			lite: on(listAccounts, func(ctx context.Context, l *lite, id string) ([]adapter.Account, error) {
				keys, err := l.column(ctx, `SELECT provider || ':' || providerAccountId FROM "account" WHERE userId = ?`, id)
				list := []adapter.Account{}
				for _, key := range keys {
					provider, account, _ := strings.Cut(key, ":")
					a, e := l.GetAccount(ctx, account, provider)
					if a != nil {
						list = append(list, *a)
					}
					err = errors.Join(err, e)
				}
				return list, err
			})},
		{Name: "deletion of one page of a mebibyte", Fails: []string{"ALIST-01"},
			Fault: "DeleteUser reads which accounts the user has, and what it reads ends after one mebibyte.",
			mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				list, err := pageOfBytes(m.ListAccountsByUserID)(ctx, id)
				if err != nil {
					return nil, err
				}
				return m.drop(ctx, id, func(_ *adapter.User) {
					if len(list) == len(m.accountsOf[id]) {
						m.dropAccounts(id)
					}
					for _, a := range list {
						delete(m.accounts, a.Key())
					}
					m.dropSessions(id)
					m.dropAuthenticators(id)
					m.dropUser(id)
				})
			})},
		{Name: "rows of a mebibyte", Fails: []string{"ALIST-01"},
			Fault: "The rows of accounts are read until they are a mebibyte.",
			lite:  func(l *lite, w *with) { w.listAccountsByUserID = pageOfBytes(l.ListAccountsByUserID) }},
		{Name: "pages of accounts by OFFSET", Fails: []string{"ALIST-01"}, Races: true,
			Fault: "ListAccountsByUserID reads pages of 25 with OFFSET.",
			lite:  func(l *lite, w *with) { w.listAccountsByUserID = byPosition(l.ListAccountsByUserID, account) }},
		{Name: "accounts joined with sessions", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID joins the user's sessions, and returns each account once for each session.",
			lite: on(listAccounts, func(ctx context.Context, l *lite, id string) ([]adapter.Account, error) {
				list, err := l.ListAccountsByUserID(ctx, id)
				if err != nil {
					return nil, err
				}
				sessions, err := l.column(ctx, `SELECT sessionToken FROM "session" WHERE userId = ?`, id)
				joined := list
				for i := 1; i < len(sessions); i++ {
					joined = append(joined, list...)
				}
				return joined, err
			})},
		{Name: "list of accounts ends at a thousand", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID returns the first page of 1,000",
			mem: listing[*mem](func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
				return list[:min(len(list), 1000)], err
			})},
		{Name: "list of accounts by a join", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID joins accounts by their id alone, and returns an account twice if another provider has the id too",
			lite: func(l *lite, w *with) {
				listing[*lite](func(ctx context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
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
				})(l, w)
			}},
		{Name: "list of accounts by external id", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID keeps one account for each external id",
			mem:   listing[*mem](oneFor(func(a adapter.Account) string { return a.ProviderAccountID }))},
		{Name: "list of accounts by provider", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID keeps one account for each provider",
			lite:  listing[*lite](oneFor(func(a adapter.Account) string { return a.Provider }))},
		{Name: "unlinked account stays in the index", OnLite: "unlinked account stays in the index of SQL",
			Fails: []string{"ALIST-01"}, Fault: "UnlinkAccount leaves the key in the first owner's index, which the list follows without comparing the owner.",
			both: func(b base, w *with) {
				var former formerKeys[adapter.AccountKey]
				w.linkAccount = then(b.LinkAccount, func(a adapter.Account, _ *adapter.Account) { former.note(a.UserID, a.Key()) })
				w.listAccountsByUserID = func(ctx context.Context, userID string) ([]adapter.Account, error) {
					list, err := b.ListAccountsByUserID(ctx, userID)
					if err != nil {
						return nil, err
					}
					for _, key := range former.all(userID) {
						a, err := b.GetAccount(ctx, key.ProviderAccountID, key.Provider)
						if err != nil {
							return nil, err
						}
						if a != nil && a.UserID != userID {
							list = append(list, *a)
						}
					}
					return list, nil
				}
			}},
		{Name: "accounts are joined with authenticators", Fails: []string{"ALIST-01"},
			Fault: "ListAccountsByUserID returns an account once for each authenticator that is connected to it.",
			lite: on(listAccounts, func(ctx context.Context, l *lite, id string) ([]adapter.Account, error) {
				return joined(ctx, id, l.ListAccountsByUserID, l.ListAuthenticatorsByUserID,
					func(a adapter.Account, w adapter.Authenticator) bool {
						return a.ProviderAccountID == w.ProviderAccountID
					})
			})},
		{Name: "empty list of accounts is nil", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID of a user without accounts returns nil",
			mem: listing[*mem](func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
				if len(list) == 0 {
					return nil, err
				}
				return list, err
			})},
		{Name: "accounts of a malformed id are an error", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID fails for a malformed ID",
			lite: listing[*lite](func(_ context.Context, id string, list []adapter.Account, err error) ([]adapter.Account, error) {
				if len(id) < 8 {
					return nil, errors.New("lite: invalid id")
				}
				return list, err
			})},
		{Name: "accounts of an unknown user are an error", Fails: []string{"ALIST-02"},
			Fault: "ListAccountsByUserID of an unknown user fails with ErrNotFound", mem: func(m *mem, w *with) {
				listing[*mem](func(ctx context.Context, id string, list []adapter.Account, err error) ([]adapter.Account, error) {
					if u, _ := m.GetUser(ctx, id); u == nil && err == nil {
						return nil, notFound("user")
					}
					return list, err
				})(m, w)
			}},
		{Name: "failed list of accounts is short", Fails: []string{"ALIST-03"},
			Fault: "ListAccountsByUserID returns the rows that it has read when reading fails",
			lite: listing[*lite](func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
				if err != nil {
					return []adapter.Account{}, nil //nolint:nilerr // the seeded fault
				}
				return list, nil
			})},
		{Name: "update makes the empty text null", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount stores null for a field that is set to the empty text.",
			mem: given[*mem](updateAccount, func(u *adapter.AccountUpdate) {
				for _, f := range []*adapter.Change[*string]{&u.AccessToken, &u.RefreshToken, &u.IDToken, &u.Scope, &u.TokenType, &u.SessionState} {
					if v, set := f.Get(); set && v != nil && *v == "" {
						*f = adapter.To[*string](nil)
					}
				}
			})},
		{Name: "access token or refresh token", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount with a new access token and a new refresh token stores the access token only.",
			mem: given[*mem](updateAccount, func(u *adapter.AccountUpdate) {
				if u.AccessToken.IsSet() {
					u.RefreshToken = adapter.Change[*string]{}
				}
			})},
		{Name: "scope or expiry", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount with a new scope and a new expiry stores the scope only.",
			lite: given[*lite](updateAccount, func(u *adapter.AccountUpdate) {
				if u.Scope.IsSet() {
					u.ExpiresAt = adapter.Change[*int64]{}
				}
			})},
		{Name: "update of an account clears the rest", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount writes null into the fields that are not set",
			mem: on(updateAccount, func(ctx context.Context, m *mem, u adapter.AccountUpdate) (*adapter.Account, error) {
				var a adapter.Account
				a.Provider, a.ProviderAccountID = u.Provider, u.ProviderAccountID
				u.Apply(&a)
				return m.UpdateAccount(ctx, wholeUpdate(a))
			})},
		{Name: "account fields can't be cleared", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount treats null as a field that is not given",
			lite: given[*lite](updateAccount, func(u *adapter.AccountUpdate) {
				for _, f := range []*adapter.Change[*string]{&u.AccessToken, &u.RefreshToken, &u.IDToken, &u.Scope, &u.TokenType, &u.SessionState} {
					if v, set := f.Get(); set && v == nil {
						*f = adapter.Change[*string]{}
					}
				}
			})},
		{Name: "update of an account changes the user's other accounts", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount changes all accounts of the user",
			lite: on(updateAccount, func(ctx context.Context, l *lite, u adapter.AccountUpdate) (*adapter.Account, error) {
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
			})},
		{Name: "update of an account returns the old one", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount returns the account as it was before",
			mem: on(updateAccount, func(ctx context.Context, m *mem, u adapter.AccountUpdate) (*adapter.Account, error) {
				before, _ := m.GetAccount(ctx, u.ProviderAccountID, u.Provider)
				if _, err := m.UpdateAccount(ctx, u); err != nil {
					return nil, err
				}
				return before, nil
			})},
		{Name: "updated expiry is cut to 32 bits", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount binds the expiry as an int32",
			lite: given[*lite](updateAccount, func(u *adapter.AccountUpdate) {
				if v, set := u.ExpiresAt.Get(); set && v != nil {
					u.ExpiresAt = adapter.To(new(int64(int32(*v)))) //nolint:gosec // the fault
				}
			})},
		{Name: "updated tokens are cut", Fails: []string{"ALIST-04"}, Fault: "UpdateAccount keeps 4,096 bytes of a token",
			mem: given[*mem](updateAccount, func(u *adapter.AccountUpdate) {
				if v, set := u.AccessToken.Get(); set && v != nil {
					u.AccessToken = adapter.To(new((*v)[:min(len(*v), 4096)]))
				}
			})},
		{Name: "empty account field becomes null", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount stores null for an empty text",
			mem: given[*mem](updateAccount, func(u *adapter.AccountUpdate) {
				if v, set := u.Scope.Get(); set && v != nil && *v == "" {
					u.Scope = adapter.To[*string](nil)
				}
			})},
		{Name: "account that an update does not change is not found", OnLite: "update of an account counts changed rows", Fails: []string{"ALIST-04"},
			Fault: "UpdateAccount replaces the document, counts the modified ones and reports ErrNotFound if there are none. A provider that returns the same token twice is refused.",
			both: on(updateAccount, func(ctx context.Context, b base, update adapter.AccountUpdate) (*adapter.Account, error) {
				before, err := b.GetAccount(ctx, update.ProviderAccountID, update.Provider)
				if err != nil || before == nil {
					return b.UpdateAccount(ctx, update)
				}
				after := *before
				update.Apply(&after)
				sets := !reflect.DeepEqual(update, adapter.AccountUpdate{Provider: update.Provider, ProviderAccountID: update.ProviderAccountID})
				if sets && reflect.DeepEqual(&after, before) {
					return nil, notFound("changed account")
				}
				return b.UpdateAccount(ctx, update)
			})},
		{Name: "update creates an account", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount of an unknown key stores an account without an owner",
			mem: writing(updateAccount, func(m *mem, u adapter.AccountUpdate) (*adapter.Account, error) {
				a, ok := m.accounts[u.Key()]
				if !ok {
					a = adapter.Account{Type: adapter.AccountOAuth, Provider: u.Provider, ProviderAccountID: u.ProviderAccountID}
				}
				u.Apply(&a)
				m.accounts[a.Key()] = copyAccount(a)
				return new(copyAccount(a)), nil
			})},
		{Name: "update of an absent account is a miss", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount of an unknown key returns nothing and no error",
			lite:  failing[*lite](updateAccount, adapter.ErrNotFound, nil)},
		{Name: "absent account is a conflict", Fails: []string{"ALIST-05"},
			Fault: "the error of UpdateAccount of an unknown key matches ErrConflict as well",
			mem: erring[*mem](updateAccount, adapter.ErrNotFound, func(_ adapter.AccountUpdate, err error) error {
				return errors.Join(err, adapter.ErrConflict)
			})},
		{Name: "account key of an update ignores case", Fails: []string{"ALIST-05"},
			Fault: "UpdateAccount ignores the case of the provider, and also finds an account by a prefix of its key",
			mem: preparing(updateAccount, func(m *mem, u *adapter.AccountUpdate) {
				for k := range m.accounts {
					if strings.EqualFold(k.Provider, u.Provider) && u.ProviderAccountID != "" && strings.HasPrefix(u.ProviderAccountID, k.ProviderAccountID) {
						u.Provider, u.ProviderAccountID = k.Provider, k.ProviderAccountID
						break
					}
				}
			})},
		{Name: "account updates are lost", OnLite: "account updates are lost between statements", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount reads the account, changes it and writes all its fields",
			both: on(updateAccount, func(ctx context.Context, b base, u adapter.AccountUpdate) (*adapter.Account, error) {
				a, err := b.GetAccount(ctx, u.ProviderAccountID, u.Provider)
				if err != nil || a == nil {
					return b.UpdateAccount(ctx, u)
				}
				u.Apply(a)
				gap()
				return b.UpdateAccount(ctx, wholeUpdate(*a))
			})},
		{Name: "the two tokens of an account are written together", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount of the access token also writes the refresh token that it has read before",
			lite: on(updateAccount, func(ctx context.Context, l *lite, u adapter.AccountUpdate) (*adapter.Account, error) {
				_, access := u.AccessToken.Get()
				_, refresh := u.RefreshToken.Get()
				if access && !refresh {
					if a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider); err == nil && a != nil {
						u.RefreshToken = adapter.To(a.RefreshToken)
					}
				}
				return l.UpdateAccount(ctx, u)
			})},
		{Name: "scope and expiry of an account are written together", Fails: []string{"ALIST-06"}, Races: true,
			Fault: "UpdateAccount of the scope also writes the expiry that it has read before",
			lite: on(updateAccount, func(ctx context.Context, l *lite, u adapter.AccountUpdate) (*adapter.Account, error) {
				if _, set := u.Scope.Get(); set {
					if a, err := l.GetAccount(ctx, u.ProviderAccountID, u.Provider); err == nil && a != nil {
						if _, set := u.ExpiresAt.Get(); !set {
							u.ExpiresAt = adapter.To(a.ExpiresAt)
						}
					}
				}
				return l.UpdateAccount(ctx, u)
			})},
		{Name: "update revives an account", OnLite: "update links an account again", Fails: []string{"ALIST-07"}, Races: true,
			Fault: "UpdateAccount unlinks the account and links the record that it has read",
			both: on(updateAccount, func(ctx context.Context, b base, u adapter.AccountUpdate) (*adapter.Account, error) {
				a, err := b.GetAccount(ctx, u.ProviderAccountID, u.Provider)
				if err != nil || a == nil {
					return b.UpdateAccount(ctx, u)
				}
				u.Apply(a)
				gap()
				if _, err := b.UnlinkAccount(ctx, u.Key()); err != nil {
					return nil, err
				}
				return b.LinkAccount(ctx, *a)
			})},
	}
}

// listing alters the list of accounts.
func listing[B base](alter func(ctx context.Context, userID string, list []adapter.Account, err error) ([]adapter.Account, error)) func(B, *with) {
	return func(b B, w *with) {
		w.listAccountsByUserID = func(ctx context.Context, userID string) ([]adapter.Account, error) {
			list, err := b.ListAccountsByUserID(ctx, userID)
			return alter(ctx, userID, list, err)
		}
	}
}

// oneFor keeps one account of a list for each key.
func oneFor(key func(adapter.Account) string) func(context.Context, string, []adapter.Account, error) ([]adapter.Account, error) {
	return func(_ context.Context, _ string, list []adapter.Account, err error) ([]adapter.Account, error) {
		seen := map[string]bool{}
		return slices.DeleteFunc(list, func(a adapter.Account) bool {
			double := seen[key(a)]
			seen[key(a)] = true
			return double
		}), err
	}
}

// wholeUpdate sets every field of an account.
func wholeUpdate(a adapter.Account) adapter.AccountUpdate {
	return adapter.AccountUpdate{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: adapter.To(a.AccessToken), RefreshToken: adapter.To(a.RefreshToken), IDToken: adapter.To(a.IDToken), Scope: adapter.To(a.Scope),
		TokenType: adapter.To(a.TokenType), SessionState: adapter.To(a.SessionState), ExpiresAt: adapter.To(a.ExpiresAt), AuthorizationDetails: adapter.To(a.AuthorizationDetails)}
}
