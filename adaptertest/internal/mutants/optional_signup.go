package mutants

import (
	"context"
	"errors"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

type (
	signUpFunc = func(context.Context, adapter.User, adapter.Account, *adapter.Authenticator) (*adapter.User, error)
	// methodsOf are the methods that a sign-up in several calls uses.
	methodsOf interface {
		base
	}
)

// inSteps signs up by the three methods; failed is called with an error.
func inSteps(b methodsOf, between func(), failed func(ctx context.Context, u *adapter.User)) signUpFunc {
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

// passkeyLast signs up without the authenticator and creates it afterwards.
func passkeyLast(b base) signUpFunc {
	return func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
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
	}
}

func signUpMutants() []Mutant {
	nothing := func() {}
	return []Mutant{
		{Name: "sign-up keeps the owner that the account names", Fails: []string{"SIGNUP-02"},
			Fault: "CreateUserWithAccount gives the account to the user whom its UserID names, if that user exists",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := m.CreateUserWithAccount(ctx, u, a, w)
					if err != nil || a.UserID == "" {
						return created, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					if _, ok := m.users[a.UserID]; ok {
						m.accounts[a.Key()] = copyAccount(a)
					}
					return created, nil
				}}}
			}},
		{Name: "sign-up in three calls", Fails: []string{"SIGNUP-03", "SIGNUP-04"},
			Fault: "CreateUserWithAccount is CreateUser, LinkAccount and CreateAuthenticator, and undoes nothing",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: inSteps(l, nothing, func(context.Context, *adapter.User) {})}}
			}},
		{Name: "sign-up in three calls over maps", Fails: []string{"SIGNUP-03", "SIGNUP-05"},
			Fault: "CreateUserWithAccount is CreateUser, LinkAccount and CreateAuthenticator, and undoes nothing",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: inSteps(m, nothing, func(context.Context, *adapter.User) {})}}
			}},
		{Name: "sign-up is undone with the context that ended it", Fails: []string{"SIGNUP-04"},
			Fault: "CreateUserWithAccount makes three calls and, when one fails, deletes the user over the same broken connection",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: inSteps(l, nothing, func(ctx context.Context, u *adapter.User) { _, _ = l.DeleteUser(ctx, u.ID) })}}
			}},
		{Name: "new user is seen without an account", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount stores the user first and the account a moment later",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: inSteps(m, gap, func(ctx context.Context, u *adapter.User) { _, _ = m.DeleteUser(ctx, u.ID) })}}
			}},
		{Name: "new user is seen between two statements", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount makes three calls and deletes the user when one fails",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: inSteps(l, nothing, func(ctx context.Context, u *adapter.User) { _, _ = l.DeleteUser(ctx, u.ID) })}}
			}},
		{Name: "sign-up stores the authenticator afterwards", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount stores the user and the account in one transaction, and the authenticator in another; if that fails, it deletes the user",
			lite:  func(l *lite) with { return with{optional: optional{signUp: passkeyLast(l)}} }},
		{Name: "passkey follows the sign-up", Fails: []string{"SIGNUP-05"}, Races: true,
			Fault: "CreateUserWithAccount adds the authenticator when the user and the account are there; if it is taken, it deletes the user",
			mem:   func(m *mem) with { return with{optional: optional{signUp: passkeyLast(m)}} }},
		{Name: "sign-up forgets the passkey", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount does not store the authenticator",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, _ *adapter.Authenticator) (*adapter.User, error) {
					return m.CreateUserWithAccount(ctx, u, a, nil)
				}}}
			}},
		{Name: "sign-up returns its argument", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount returns the user as given, without the ID that was assigned",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					if _, err := l.CreateUserWithAccount(ctx, u, a, w); err != nil {
						return nil, err
					}
					return &u, nil
				}}}
			}},
		{Name: "sign-up loses the tokens", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount stores the key of the account and none of the provider's tokens",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					return l.CreateUserWithAccount(ctx, u, adapter.Account{Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}, w)
				}}}
			}},
		{Name: "refused sign-up deletes the holder", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount cleans up after a conflict by deleting whoever has the address",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := m.CreateUserWithAccount(ctx, u, a, w)
					if errors.Is(err, adapter.ErrConflict) {
						if holder, _ := m.GetUserByEmail(ctx, u.Email); holder != nil {
							_, _ = m.DeleteUser(ctx, holder.ID)
						}
					}
					return created, err
				}}}
			}},
		{Name: "sign-up takes over the account", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount overwrites an account that has the key",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					if _, err := m.UnlinkAccount(ctx, a.Key()); err != nil {
						return nil, err
					}
					return m.CreateUserWithAccount(ctx, u, a, w)
				}}}
			}},
		{Name: "taken credential is ignored", Fails: []string{"SIGNUP-03"},
			Fault: "CreateUserWithAccount inserts the authenticator with ON CONFLICT DO NOTHING",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					if w != nil {
						if held, err := l.GetAuthenticator(ctx, w.CredentialID); err != nil {
							return nil, err
						} else if held != nil {
							w = nil
						}
					}
					return l.CreateUserWithAccount(ctx, u, a, w)
				}}}
			}},
		{Name: "conflict of a sign-up is another error", Fails: []string{"SIGNUP-03"},
			Fault: "the error of CreateUserWithAccount for a taken key does not match ErrConflict",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := l.CreateUserWithAccount(ctx, u, a, w)
					if errors.Is(err, adapter.ErrConflict) {
						err = errors.New("lite: constraint failed")
					}
					return created, err
				}}}
			}},
		{Name: "sign-up without a key", Fails: []string{"SIGNUP-06"},
			Fault: "CreateUserWithAccount stores an account with an empty provider or id",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					if a.Provider != "" && a.ProviderAccountID != "" {
						return m.CreateUserWithAccount(ctx, u, a, w)
					}
					created, err := m.CreateUser(ctx, u)
					if err != nil {
						return nil, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					a.UserID = created.ID
					m.accounts[a.Key()] = copyAccount(a)
					return created, nil
				}}}
			}},
		{Name: "cancelled sign-up continues", Fails: []string{"SIGNUP-06"},
			Fault: "CreateUserWithAccount ignores that its context is cancelled",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					return l.CreateUserWithAccount(context.WithoutCancel(ctx), u, a, w)
				}}}
			}},
		{Name: "sign-up changes the caller's authenticator", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount writes the ID of the user into the caller's authenticator",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					created, err := m.CreateUserWithAccount(ctx, u, a, w)
					if err == nil && w != nil {
						w.UserID = created.ID
					}
					return created, err
				}}}
			}},
		{Name: "sign-up folds the address", Fails: []string{"SIGNUP-01"},
			Fault: "CreateUserWithAccount stores the address in capitals, CreateUser as it is given",
			mem: func(m *mem) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					u.Email = strings.ToUpper(u.Email)
					return m.CreateUserWithAccount(ctx, u, a, w)
				}}}
			}},
	}
}
