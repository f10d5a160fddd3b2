package mutants

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// orderMutants are wrong when two calls that no other clause pairs run at the same time:
// neither order of the two explains the outcome.
func orderMutants() []Mutant {
	return []Mutant{
		{Name: "fresh tokens bring an account back", Races: true, Fault: "UpdateAccount reads the record, changes it and writes the whole of it. If the account is unlinked in between, it is there again.", Fails: []string{"CONC-21"},
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					return linkingAgain(ctx, m, u)
				}}}
			}},
		{Name: "fresh tokens insert an account", Races: true, Fault: "UpdateAccount inserts the account that it has read if the row is not there any more.", Fails: []string{"CONC-21"},
			lite: func(l *lite) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					return linkingAgain(ctx, l, u)
				}}}
			}},
		{Name: "tokens are counted, then deleted", Races: true, Fault: "DeleteVerificationTokens counts the tokens and then deletes them. It does not count a token that is created in between, and deletes it.", Fails: []string{"CONC-21"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteTokens: func(ctx context.Context, identifier string) (int64, error) {
					m.mu.RLock()
					var n int64
					for key := range m.tokens {
						if key.Identifier == identifier {
							n++
						}
					}
					m.mu.RUnlock()
					gap()
					_, err := m.DeleteVerificationTokens(ctx, identifier)
					return n, err
				}}}
			}},
		{Name: "new token falls out of the set", Races: true, Fault: "The tokens of an identifier are in a set. DeleteVerificationTokens reads the set, deletes its tokens and then drops the set: a token that is created in between can be used, but not deleted.", Fails: []string{"CONC-21"},
			mem: func(m *mem) with {
				gone := kept(m.records, "gone", func() map[adapter.VerificationTokenKey]bool { return map[adapter.VerificationTokenKey]bool{} })
				return with{
					createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
						m.mu.Lock()
						delete(gone, t.Key())
						m.mu.Unlock()
						return m.CreateVerificationToken(ctx, t)
					},
					optional: optional{deleteTokens: func(ctx context.Context, identifier string) (n int64, err error) {
						if err := m.begin(ctx); err != nil {
							return 0, err
						}
						set := map[adapter.VerificationTokenKey]bool{}
						m.mu.RLock()
						for key := range m.tokens {
							set[key] = key.Identifier == identifier && !gone[key]
						}
						m.mu.RUnlock()
						gap()
						return write(ctx, m, func() (int64, error) {
							for key := range m.tokens {
								switch {
								case set[key]:
									delete(m.tokens, key)
									n++
								case key.Identifier == identifier:
									gone[key] = true
								}
							}
							return n, nil
						})
					}},
				}
			}},
		{Name: "update returns what it read, with the change", Races: true, Fault: "UpdateUser returns the record that it found before, with the update applied: of two updates at the same time, neither returns both changes.", Fails: []string{"CONC-14"},
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) { return overlaid(ctx, m, u) }}
			}},
		{Name: "update returns the row it read, with the change", Races: true, Fault: "UpdateUser reads the row, updates it in another statement, and returns the row that it read with the update applied.", Fails: []string{"CONC-14"},
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) { return overlaid(ctx, l, u) }}
			}},
		{Name: "names of a user's passkeys are unique", Fault: "RenameAuthenticator returns ErrConflict if another authenticator of the user has the name.", Fails: []string{"AEDIT-06"},
			mem: func(m *mem) with {
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return renamedUnlessTaken(ctx, m, user, id, name)
				}}}
			}},
		{Name: "unique index over user and name of a passkey", Fault: "A unique index covers the user and the name of an authenticator, so RenameAuthenticator can return ErrConflict.", Fails: []string{"AEDIT-06"},
			lite: func(l *lite) with {
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return renamedUnlessTaken(ctx, l, user, id, name)
				}}}
			}},
	}
}

// linkingAgain updates an account. If it is gone after it was read, the account is stored
// as it was read, with the change.
func linkingAgain(ctx context.Context, b base, u adapter.AccountUpdate) (*adapter.Account, error) {
	old, err := b.GetAccount(ctx, u.ProviderAccountID, u.Provider)
	if old == nil || err != nil {
		return b.UpdateAccount(ctx, u) // which knows what to return
	}
	gap()
	a, err := b.UpdateAccount(ctx, u)
	if !errors.Is(err, adapter.ErrNotFound) {
		return a, err
	}
	u.Apply(old)
	return b.LinkAccount(ctx, *old)
}

// overlaid updates a user and returns the record that was read before, with the change.
func overlaid(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
	old, err := b.GetUser(ctx, u.ID)
	if old == nil || err != nil {
		return b.UpdateUser(ctx, u) // which knows what to return
	}
	gap()
	if updated, err := b.UpdateUser(ctx, u); updated == nil || err != nil {
		return updated, err
	}
	u.Apply(old)
	return old, nil
}

func renamedUnlessTaken(ctx context.Context, b base, user, id, name string) (*adapter.Authenticator, error) {
	list, err := b.ListAuthenticatorsByUserID(ctx, user)
	if err != nil {
		return nil, err
	}
	for _, w := range list {
		if w.CredentialID != id && w.Name != nil && *w.Name == name {
			return nil, conflict("the name")
		}
	}
	return b.RenameAuthenticator(ctx, user, id, name)
}
