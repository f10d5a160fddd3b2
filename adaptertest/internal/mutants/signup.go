package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func signupMutants() []Mutant {
	nothing := func() {}
	return []Mutant{
		{Name: "sign-up forgets the passkey", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount does not store the authenticator",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, _ *adapter.Authenticator) (*adapter.User, error) {
				return m.CreateUserWithAccount(ctx, u, a, nil)
			})},
		{Name: "sign-up returns its argument", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount returns the user as given, without the ID that was assigned",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if _, err := l.CreateUserWithAccount(ctx, u, a, w); err != nil {
					return nil, err
				}
				return &u, nil
			})},
		{Name: "sign-up loses the tokens", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount stores the key of the account and none of the provider's tokens",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				return l.CreateUserWithAccount(ctx, u, adapter.Account{Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}, w)
			})},
		{Name: "sign-up changes the caller's authenticator", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount writes the ID of the user into the caller's authenticator",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := m.CreateUserWithAccount(ctx, u, a, w)
				if err == nil && w != nil {
					w.UserID = created.ID
				}
				return created, err
			})},
		{Name: "sign-up folds the address", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount stores the address in capitals, CreateUser as it is given",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				u.Email = strings.ToUpper(u.Email)
				return m.CreateUserWithAccount(ctx, u, a, w)
			})},
		{Name: "sign-up keeps the owner that the account names", Fails: []string{"SIGNUP-02"},
			Fault: "CreateUserWithAccount gives the account to the user whom its UserID names, if that user exists",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := m.CreateUserWithAccount(ctx, u, a, w)
				if err != nil || a.UserID == "" {
					return created, err
				}
				defer held(&m.mu)()
				if _, ok := m.users[a.UserID]; ok {
					m.accounts[a.Key()] = copyAccount(a)
				}
				return created, nil
			})},
		{Name: "cached miss outlives a sign-up", Fails: []string{"SIGNUP-03"},
			Fault: "GetUserByAccount caches misses, and CreateUserWithAccount does not clear the cache.",
			mem: func(m *mem, w *with) {
				var misses sync.Map
				w.getUserByAccount = func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
					if _, known := misses.Load(k); known {
						return nil, m.begin(ctx)
					}
					u, err := m.GetUserByAccount(ctx, k)
					if u == nil && err == nil {
						misses.Store(k, true)
					}
					return u, err
				}
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					defer misses.Delete(a.Key())
					return m.LinkAccount(ctx, a)
				}
			}},
		{Name: "failed sign-up deletes the user who has the id", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount undoes a failure by deleting the user with the id, also a user who existed before.",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				got, err := l.CreateUserWithAccount(ctx, u, a, x)
				if err != nil && u.ID != "" {
					_, _ = l.DeleteUser(context.WithoutCancel(ctx), u.ID)
				}
				return got, err
			})},
		{Name: "sign-up in three calls", Fails: []string{"SIGNUP-03", "SIGNUP-04"},
			Fault: "CreateUserWithAccount is CreateUser, LinkAccount and CreateAuthenticator, and undoes nothing",
			lite: func(l *lite, w *with) {
				w.createUserWithAccount = inSteps(l, nothing, func(context.Context, *adapter.User) {})
			}},
		{Name: "sign-up in three calls over maps", Fails: []string{"SIGNUP-03", "SIGNUP-05"},
			Fault: "CreateUserWithAccount is CreateUser, LinkAccount and CreateAuthenticator, and undoes nothing",
			mem: func(m *mem, w *with) {
				w.createUserWithAccount = inSteps(m, nothing, func(context.Context, *adapter.User) {})
			}},
		{Name: "refused sign-up deletes the holder", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount cleans up after a conflict by deleting whoever has the address",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := m.CreateUserWithAccount(ctx, u, a, w)
				if errors.Is(err, adapter.ErrConflict) {
					if holder, _ := m.GetUserByEmail(ctx, u.Email); holder != nil {
						_, _ = m.DeleteUser(ctx, holder.ID)
					}
				}
				return created, err
			})},
		{Name: "sign-up takes over the account", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount overwrites an account that has the key",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if _, err := m.UnlinkAccount(ctx, a.Key()); err != nil {
					return nil, err
				}
				return m.CreateUserWithAccount(ctx, u, a, w)
			})},
		{Name: "taken credential is ignored", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount inserts the authenticator with ON CONFLICT DO NOTHING",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if w != nil {
					if held, err := l.GetAuthenticator(ctx, w.CredentialID); err != nil {
						return nil, err
					} else if held != nil {
						w = nil
					}
				}
				return l.CreateUserWithAccount(ctx, u, a, w)
			})},
		{Name: "conflict of a sign-up is another error", Fails: []string{"SIGNUP-03"},
			Fault: "the error of CreateUserWithAccount for a taken key does not match ErrConflict",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				created, err := l.CreateUserWithAccount(ctx, u, a, w)
				if errors.Is(err, adapter.ErrConflict) {
					err = errors.New("lite: constraint failed")
				}
				return created, err
			})},
		{Name: "sign-up is undone with the context that ended it", Fails: []string{"SIGNUP-04"},
			Fault: "CreateUserWithAccount makes three calls and, when one fails, deletes the user over the same broken connection",
			lite: func(l *lite, w *with) {
				w.createUserWithAccount = inSteps(l, nothing, func(ctx context.Context, u *adapter.User) { _, _ = l.DeleteUser(ctx, u.ID) })
			}},
		{Name: "sign-up connects the authenticator", Fails: []string{"SIGNUP-05"},
			Fault: "CreateUserWithAccount gives the authenticator the id of the account.",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				if x != nil {
					c := *x
					c.ProviderAccountID = a.ProviderAccountID
					x = &c
				}
				return l.CreateUserWithAccount(ctx, u, a, x)
			})},
		{Name: "new user is seen without an account", OnLite: "new user is seen between two statements", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount stores the user first and the account a moment later", both: func(b base, w *with) {
				w.createUserWithAccount = inSteps(b, gap, func(ctx context.Context, u *adapter.User) { _, _ = b.DeleteUser(ctx, u.ID) })
			}},
		{Name: "passkey follows the sign-up", OnLite: "sign-up stores the authenticator afterwards",
			Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount adds the authenticator when the user and the account are there; if it is taken, it deletes the user",
			both: onSignUp(func(ctx context.Context, b base, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if w != nil && w.CredentialID == "" {
					return nil, errEmpty
				}
				created, err := b.CreateUserWithAccount(ctx, u, a, nil)
				if err != nil || w == nil {
					return created, err
				}
				gap()
				x := *w
				x.UserID = created.ID
				if _, err := b.CreateAuthenticator(ctx, x); err != nil {
					_, _ = b.DeleteUser(context.WithoutCancel(ctx), created.ID)
					return nil, err
				}
				return created, nil
			})},
		{Name: "link beside a sign-up", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "LinkAccount locks out other links and looks for the account, but a sign-up takes no such lock: both get the account.",
			mem: func(m *mem, w *with) {
				linking := kept(m.records, "linking", func() *sync.Mutex { return new(sync.Mutex) })
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if a.Provider == "" || a.ProviderAccountID == "" {
						return nil, errEmpty
					}
					defer held(linking)()
					if found, err := m.GetAccount(ctx, a.ProviderAccountID, a.Provider); err != nil {
						return nil, err
					} else if found != nil {
						return nil, conflict("the account")
					}
					gap()
					return write(ctx, m, func() (*adapter.Account, error) {
						if _, ok := m.users[a.UserID]; !ok {
							return nil, notFound("user")
						}
						m.putAccount(a)
						return new(copyAccount(a)), nil
					})
				}
			}},
		{Name: "registration beside a sign-up", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateAuthenticator looks for the credential and then replaces what is there, so that it takes the credential of a sign-up that came in between.",
			lite: func(l *lite, w *with) {
				var registering sync.Mutex
				w.createAuthenticator = func(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
					defer held(&registering)()
					if found, err := l.GetAuthenticator(ctx, w.CredentialID); err != nil {
						return nil, err
					} else if found != nil {
						return nil, fmt.Errorf("lite: the credential is taken: %w", adapter.ErrConflict)
					}
					gap()
					if err := l.exec(ctx, `DELETE FROM "authenticator" WHERE credentialID = ?`, w.CredentialID); err != nil {
						return nil, err
					}
					return l.CreateAuthenticator(ctx, w)
				}
			}},
		{Name: "sign-up without a key", Fails: []string{"SIGNUP-06"},
			Fault: "CreateUserWithAccount stores an account with an empty provider or id",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if a.Provider != "" && a.ProviderAccountID != "" {
					return m.CreateUserWithAccount(ctx, u, a, w)
				}
				created, err := m.CreateUser(ctx, u)
				if err != nil {
					return nil, err
				}
				defer held(&m.mu)()
				a.UserID = created.ID
				m.accounts[a.Key()] = copyAccount(a)
				return created, nil
			})},
		{Name: "cancelled sign-up continues", Fails: []string{"SIGNUP-06"},
			Fault: "CreateUserWithAccount ignores that its context is cancelled",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				return l.CreateUserWithAccount(context.WithoutCancel(ctx), u, a, w)
			})},
	}
}

// inSteps signs up by the three methods; failed is called with an error.
func inSteps(b base, between func(), failed func(ctx context.Context, u *adapter.User)) signUpFunc {
	return func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
		if a.Provider == "" || a.ProviderAccountID == "" || w != nil && w.CredentialID == "" {
			return nil, errEmpty
		}
		created, err := b.CreateUser(ctx, u)
		if err != nil {
			return nil, err
		}
		between()
		a.UserID = created.ID
		if _, err = b.LinkAccount(ctx, a); err == nil && w != nil {
			x := *w
			x.UserID = created.ID
			_, err = b.CreateAuthenticator(ctx, x)
		}
		if err != nil {
			failed(ctx, created)
			return nil, err
		}
		return created, nil
	}
}
