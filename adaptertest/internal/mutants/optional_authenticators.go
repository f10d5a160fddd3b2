package mutants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

type (
	deleteFunc = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error)
	touchFunc  = func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error)
)

func deleting(f deleteFunc) with { return with{optional: optional{deleteAuthenticator: f}} }
func touching(f touchFunc) with  { return with{optional: optional{touch: f}} }

// waysIn counts the authenticators and accounts that the user can sign in with.
func (r *records) waysIn(userID string) (authenticators, accounts int) {
	for _, a := range r.accounts {
		if a.UserID == userID {
			accounts++
		}
	}
	return len(r.credentials[userID]), accounts
}

func authenticatorEditMutants() []Mutant {
	return []Mutant{
		{Name: "anybody deletes an authenticator", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator does not check who owns the authenticator",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					if a, _ := m.GetAuthenticator(ctx, id); a != nil {
						userID = a.UserID
					}
					return m.DeleteAuthenticator(ctx, userID, id, keepOne)
				})
			}},
		{Name: "another user's authenticator is an error", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator of another user's or an unknown authenticator fails with ErrNotFound",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a == nil && err == nil {
						return nil, notFound("authenticator")
					}
					return a, err
				})
			}},
		{Name: "deleted authenticator stays in the list", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes the record but not its entry in the user's list",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a != nil {
						m.mu.Lock()
						m.credentials[userID] = append(m.credentials[userID], id)
						m.mu.Unlock()
					}
					return a, err
				})
			}},
		{Name: "all authenticators go at once", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes all authenticators of the user",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a == nil || err != nil {
						return a, err
					}
					return a, l.exec(ctx, `DELETE FROM "authenticator" WHERE userId = ?`, userID)
				})
			}},
		{Name: "deletion returns nothing", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes the authenticator and reports that there was none",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					_, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
					return nil, err
				})
			}},
		{Name: "account of a deleted passkey stays", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator leaves the account that it was connected to",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					return write(ctx, m, func() (*adapter.Authenticator, error) {
						a, ok := m.authenticators[id]
						if !ok || a.UserID != userID {
							return nil, nil
						}
						m.dropAuthenticator(a)
						return &a, nil
					})
				})
			}},
		{Name: "shared account is deleted with the first passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator deletes the account although another authenticator is connected to it",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a != nil {
						m.mu.Lock()
						for key, x := range m.accounts {
							if x.UserID == userID && x.Type == adapter.AccountWebAuthn && x.ProviderAccountID == a.ProviderAccountID {
								delete(m.accounts, key)
							}
						}
						m.mu.Unlock()
					}
					return a, err
				})
			}},
		{Name: "accounts of every type are deleted with the passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator removes all accounts of the user that have the id",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a == nil || err != nil {
						return a, err
					}
					return a, l.exec(ctx, `DELETE FROM "account" WHERE userId = ? AND providerAccountId = ?`, userID, a.ProviderAccountID)
				})
			}},
		{Name: "accounts of other users are deleted with the passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator removes the WebAuthn accounts of all users that have the id",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
					if a != nil {
						m.mu.Lock()
						for key, x := range m.accounts {
							if x.UserID != userID && x.Type == adapter.AccountWebAuthn && x.ProviderAccountID == a.ProviderAccountID {
								delete(m.accounts, key)
							}
						}
						m.mu.Unlock()
					}
					return a, err
				})
			}},
		{Name: "accounts are not counted as ways to sign in", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne counts authenticators only",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					m.mu.RLock()
					authenticators, _ := m.waysIn(userID)
					a, ok := m.authenticators[id]
					m.mu.RUnlock()
					if keepOne && ok && a.UserID == userID && authenticators == 1 {
						return nil, fmt.Errorf("mem: %w", adapter.ErrLastCredential)
					}
					return m.DeleteAuthenticator(ctx, userID, id, keepOne)
				})
			}},
		{Name: "account of the passkey is counted as a way to sign in", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne counts the account that is deleted with the authenticator",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					m.mu.RLock()
					authenticators, accounts := m.waysIn(userID)
					m.mu.RUnlock()
					return m.DeleteAuthenticator(ctx, userID, id, keepOne && authenticators+accounts < 2)
				})
			}},
		{Name: "keepOne keeps the passkey of the last account", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne assumes that every account of type webauthn is deleted with the authenticator",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					if keepOne {
						others, err := l.column(ctx, `SELECT 1 FROM "authenticator" WHERE userId = ?1 AND credentialID <> ?2 UNION ALL SELECT 1 FROM "account" WHERE userId = ?1 AND type <> 'webauthn'`, userID, id)
						own, ownErr := l.exists(ctx, `SELECT 1 FROM "authenticator" WHERE userId = ? AND credentialID = ?`, userID, id)
						if err := errors.Join(err, ownErr); err != nil {
							return nil, err
						}
						if own && len(others) == 0 {
							return nil, fmt.Errorf("lite: %w", adapter.ErrLastCredential)
						}
					}
					return l.DeleteAuthenticator(ctx, userID, id, keepOne)
				})
			}},
		{Name: "refusal for the last credential is another error", Fails: []string{"AEDIT-03"},
			Fault: "the refusal of DeleteAuthenticator matches ErrNotFound",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
					if errors.Is(err, adapter.ErrLastCredential) {
						err = notFound("other credential")
					}
					return a, err
				})
			}},
		{Name: "refusal comes after the removal", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne deletes the connected account, and then refuses",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
					if errors.Is(err, adapter.ErrLastCredential) {
						m.mu.Lock()
						m.dropAccounts(userID)
						m.mu.Unlock()
					}
					return a, err
				})
			}},
		{Name: "two tabs remove two passkeys", Fails: []string{"AEDIT-04"}, Races: true,
			Fault: "DeleteAuthenticator with keepOne counts the ways to sign in, and deletes a moment later",
			mem: func(m *mem) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					m.mu.RLock()
					authenticators, _ := m.waysIn(userID)
					m.mu.RUnlock()
					gap()
					return m.DeleteAuthenticator(ctx, userID, id, keepOne && authenticators < 2)
				})
			}},
		{Name: "passkeys are counted in a separate statement", Fails: []string{"AEDIT-04"}, Races: true,
			Fault: "DeleteAuthenticator with keepOne lists the authenticators, then deletes one",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					list, err := l.ListAuthenticatorsByUserID(ctx, userID)
					if err != nil {
						return nil, err
					}
					return l.DeleteAuthenticator(ctx, userID, id, keepOne && len(list) < 2)
				})
			}},
		{Name: "account and passkey are deleted separately", Fails: []string{"AEDIT-05"},
			Fault: "DeleteAuthenticator deletes the authenticator and the account in two statements without a transaction",
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, _ bool) (*adapter.Authenticator, error) {
					a, err := l.GetAuthenticator(ctx, id)
					if a == nil || err != nil || a.UserID != userID {
						return nil, err
					}
					if err := l.exec(ctx, `DELETE FROM "authenticator" WHERE credentialID = ?`, id); err != nil {
						return nil, err
					}
					return a, l.exec(ctx, `DELETE FROM "account" WHERE userId = ? AND type = 'webauthn' AND providerAccountId = ?`, userID, a.ProviderAccountID)
				})
			}},
		{Name: "anybody renames an authenticator", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator does not check who owns the authenticator",
			mem: func(m *mem) with {
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, userID, id, name string) (*adapter.Authenticator, error) {
					if a, _ := m.GetAuthenticator(ctx, id); a != nil {
						userID = a.UserID
					}
					return m.RenameAuthenticator(ctx, userID, id, name)
				}}}
			}},
		{Name: "new name is not stored", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator returns the record with the name and stores nothing",
			lite: func(l *lite) with {
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, userID, id, name string) (*adapter.Authenticator, error) {
					a, err := l.GetAuthenticator(ctx, id)
					if a == nil || err != nil || a.UserID != userID {
						return nil, err
					}
					a.Name = &name
					return a, nil
				}}}
			}},
		{Name: "counter update loses the name", Fails: []string{"AEDIT-06"},
			Fault: "UpdateAuthenticatorCounter writes the record without its name",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					m.mu.Lock()
					if a, ok := m.authenticators[id]; ok {
						a.Name = new("")
						m.authenticators[id] = a
					}
					m.mu.Unlock()
					return m.UpdateAuthenticatorCounter(ctx, id, counter)
				}}
			}},
		{Name: "creation and last use of a passkey are exchanged", Fails: []string{"AEDIT-06"},
			Fault: "GetAuthenticator returns the instant of last use as the instant of creation",
			mem: func(m *mem) with {
				return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					a, err := m.GetAuthenticator(ctx, id)
					if a != nil {
						a.Created, a.LastUsed = a.LastUsed, a.Created
					}
					return a, err
				}}
			}},
		{Name: "touch stores any counter", Fails: []string{"AEDIT-08", "AEDIT-10"},
			Fault: "TouchAuthenticator does not compare the stored counter",
			mem: func(m *mem) with {
				return touching(func(ctx context.Context, id string, _, to int64, used time.Time) (*adapter.Authenticator, error) {
					return write(ctx, m, func() (*adapter.Authenticator, error) {
						a, ok := m.authenticators[id]
						if !ok {
							return nil, notFound("authenticator")
						}
						a.Counter, a.LastUsed = to, copyInstant(&used)
						m.authenticators[id] = a
						return new(copyAuthenticator(a)), nil
					})
				})
			}},
		{Name: "touch to the same counter is not stored", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator does nothing if the new counter equals the stored one, as with authenticators that do not count",
			mem: func(m *mem) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					if a, _ := m.GetAuthenticator(ctx, id); a != nil && to <= from {
						return nil, nil
					}
					return m.TouchAuthenticator(ctx, id, from, to, used)
				})
			}},
		{Name: "touch adds one", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator stores the old counter plus one",
			lite: func(l *lite) with {
				return touching(func(ctx context.Context, id string, from, _ int64, used time.Time) (*adapter.Authenticator, error) {
					return l.TouchAuthenticator(ctx, id, from, from+1, used)
				})
			}},
		{Name: "touch compares 32 bits", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator compares the counters as 32-bit numbers",
			mem: func(m *mem) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					if a, _ := m.GetAuthenticator(ctx, id); a != nil && uint32(a.Counter) == uint32(from) { //nolint:gosec // the fault
						from = a.Counter
					}
					return m.TouchAuthenticator(ctx, id, from, to, used)
				})
			}},
		{Name: "touch from another counter fails", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator fails with ErrConflict when the stored counter is another one",
			lite: func(l *lite) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					a, err := l.TouchAuthenticator(ctx, id, from, to, used)
					if a == nil && err == nil {
						return nil, conflict("the counter")
					}
					return a, err
				})
			}},
		{Name: "touch from another counter is a use", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator stores the instant of use also when the stored counter is another one",
			mem: func(m *mem) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					m.mu.Lock()
					if a, ok := m.authenticators[id]; ok {
						a.LastUsed = copyInstant(&used)
						m.authenticators[id] = a
					}
					m.mu.Unlock()
					return m.TouchAuthenticator(ctx, id, from, to, used)
				})
			}},
		{Name: "touch of an absent passkey is not an error", Fails: []string{"AEDIT-09"},
			Fault: "TouchAuthenticator of an unknown authenticator returns no record and no error, as for another counter",
			lite: func(l *lite) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					a, err := l.TouchAuthenticator(ctx, id, from, to, used)
					if errors.Is(err, adapter.ErrNotFound) {
						return nil, nil
					}
					return a, err
				})
			}},
		{Name: "two concurrent touches succeed", Fails: []string{"AEDIT-10"}, Races: true,
			Fault: "TouchAuthenticator reads the counter, compares, and stores a moment later",
			mem: func(m *mem) with {
				return touching(func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					a, err := m.GetAuthenticator(ctx, id)
					if err != nil {
						return nil, err
					}
					if a == nil {
						return nil, notFound("authenticator")
					}
					if a.Counter != from {
						return nil, nil
					}
					gap()
					return write(ctx, m, func() (*adapter.Authenticator, error) {
						a.Counter, a.LastUsed = to, copyInstant(&used)
						m.authenticators[id] = *a
						return new(copyAuthenticator(*a)), nil
					})
				})
			}},
		{Name: "two concurrent touches succeed between statements", Fails: []string{"AEDIT-10"}, Races: true,
			Fault: "TouchAuthenticator is a SELECT and an UPDATE",
			lite: func(l *lite) with {
				return touching(func(ctx context.Context, id string, from, to int64, _ time.Time) (*adapter.Authenticator, error) {
					a, err := l.GetAuthenticator(ctx, id)
					if err != nil {
						return nil, err
					}
					if a != nil && a.Counter != from {
						return nil, nil
					}
					return l.UpdateAuthenticatorCounter(ctx, id, to)
				})
			}},
	}
}
