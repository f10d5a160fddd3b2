package mutants

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func volMutants() []Mutant {
	return []Mutant{
		{Name: "one page of a mebibyte", Fails: []string{"VOL-01", "ALIST-01"},
			Fault: "The list of authenticators and the one of accounts end after one mebibyte.", mem: func(m *mem, w *with) {
				w.listAuthenticatorsByUserID = pageOfBytes(m.ListAuthenticatorsByUserID)
				w.listAccountsByUserID = pageOfBytes(m.ListAccountsByUserID)
			}},
		{Name: "pages by the instant of creation", Fails: []string{"VOL-01"},
			Fault: "ListAuthenticatorsByUserID reads pages of 50. The next page begins after the Created of the last authenticator, so others with this instant are missing.",
			mem: func(m *mem, w *with) {
				w.listAuthenticatorsByUserID = pagedBy(m.ListAuthenticatorsByUserID, func(a adapter.Authenticator) *time.Time { return a.Created })
			}},
		{Name: "pages by the instant of use in SQL", Fails: []string{"VOL-01"},
			Fault: "ListAuthenticatorsByUserID reads pages of 50 with WHERE lastUsed > ? ORDER BY lastUsed, so others with the instant of the last row are missing.",
			lite: func(l *lite, w *with) {
				w.listAuthenticatorsByUserID = pagedBy(l.ListAuthenticatorsByUserID, func(a adapter.Authenticator) *time.Time { return a.LastUsed })
			}},
		{Name: "list ends at its page", Fails: []string{"VOL-01"},
			Fault: "ListAuthenticatorsByUserID returns the first hundred",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 100`)},
		{Name: "hashes of addresses are too short", Fails: []string{"VOL-02"},
			Fault: "the e-mail index has 12 bits, and the newer of two users stays in it", mem: func(m *mem, w *with) {
				index := kept(m.records, "index", func() map[uint16]string { return map[uint16]string{} })
				hash := func(email string) uint16 {
					h := fnv.New32a()
					_, _ = h.Write([]byte(email))
					return uint16(h.Sum32() & 0xfff)
				}
				w.createUser = noted(m, m.CreateUser, func(_ adapter.User, created *adapter.User) { index[hash(created.Email)] = created.ID })
				w.getUserByEmail = rlocked(m, func(email string) (*adapter.User, error) {
					u := m.user(index[hash(email)])
					if u != nil && u.Email != email {
						return nil, nil
					}
					return u, nil
				})
			}},
		{Name: "a user has a hundred sessions at most", Fails: []string{"VOL-03"},
			Fault: "CreateSession deletes the oldest session of a user who has more than a hundred", mem: func(m *mem, w *with) {
				order := kept(m.records, "order", func() map[string][]string { return map[string][]string{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					order[s.UserID] = append(order[s.UserID], s.SessionToken)
					if len(order[s.UserID]) > 100 {
						delete(m.sessions, order[s.UserID][0])
						order[s.UserID] = order[s.UserID][1:]
					}
				})
			}},
		{Name: "lookup by address reads all users", Fails: []string{"VOL-04"}, Fault: "GetUserByEmail walks over all users",
			mem: reading(getUserByEmail, func(m *mem, email string) (*adapter.User, error) {
				for _, u := range m.users {
					if u.Email == email && email != "" {
						return new(copyUser(u)), nil
					}
				}
				return nil, nil
			})},
		{Name: "lookup of an unknown address reads all users", Fails: []string{"VOL-04"},
			Fault: "GetUserByEmail reads all users when the index has no entry",
			lite: on(getUserByEmail, func(ctx context.Context, l *lite, email string) (*adapter.User, error) {
				u, err := l.GetUserByEmail(ctx, email)
				if u == nil && err == nil {
					_, err = l.column(ctx, `SELECT id FROM "user" WHERE email || '' = ?`, email)
				}
				return u, err
			})},
		{Name: "query can't use the index", Fails: []string{"VOL-04"},
			Fault: "GetSessionAndUser compares an expression of the column",
			db:    replaced(`s.sessionToken = ?`, `s.sessionToken || '' = ?`)},
		{Name: "lookup of an account reads all accounts", Fails: []string{"VOL-04"},
			Fault: "GetAccount walks over all accounts",
			mem: onGetAccount(func(ctx context.Context, m *mem, id, provider string) (*adapter.Account, error) {
				return read(ctx, m, func() (*adapter.Account, error) {
					for k, a := range m.accounts {
						if k == (adapter.AccountKey{Provider: provider, ProviderAccountID: id}) {
							return new(copyAccount(a)), nil
						}
					}
					return nil, nil
				})
			})},
		{Name: "list of authenticators reads all authenticators", Fails: []string{"VOL-04"},
			Fault: "ListAuthenticatorsByUserID has no index that it could use",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId || '' = ?`)},
		{Name: "lookups walk the table", Fails: []string{"VOL-04"}, Fault: "GetUserByAccount has no index",
			mem: reading(getUserByAccount, func(m *mem, key adapter.AccountKey) (*adapter.User, error) {
				var all []adapter.Account
				for _, a := range m.accounts {
					all = append(all, a)
				}
				i := slices.IndexFunc(all, func(a adapter.Account) bool { return a.Key() == key })
				if i < 0 {
					return nil, nil
				}
				return m.user(all[i].UserID), nil
			})},
	}
}

// pagedBy lists in pages of 50. A page begins after the instant with which the one
// before it ended; no instant comes before all others.
func pagedBy(
	list func(context.Context, string) ([]adapter.Authenticator, error), at func(adapter.Authenticator) *time.Time,
) func(context.Context, string) ([]adapter.Authenticator, error) {
	const page = 50
	instant := func(a adapter.Authenticator) (t time.Time) {
		if x := at(a); x != nil {
			t = *x
		}
		return t
	}
	order := func(a, b adapter.Authenticator) int { return instant(a).Compare(instant(b)) }
	return func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
		rest, err := list(ctx, userID)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rest, order)
		pages := []adapter.Authenticator{}
		for len(rest) > page {
			last := rest[page-1]
			pages = append(pages, rest[:page]...)
			rest = slices.DeleteFunc(rest[page:], func(a adapter.Authenticator) bool { return order(a, last) <= 0 })
		}
		return append(pages, rest...), nil
	}
}
