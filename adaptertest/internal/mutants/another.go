package mutants

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// anotherMutants are wrong only where there is another one: another caller, another
// user, another store, another time zone, or another state of the record. The suite missed
// them, or noticed them by chance, in a batch that its authors had not seen.
func anotherMutants() []Mutant {
	var users, accounts sync.Map // in place of variables of the package
	return []Mutant{
		{Name: "pair is stored by two callers", Races: true, Fault: "CreateVerificationToken looks the pair up and then inserts it, without a unique index. Two calls at one moment store it twice, and it can be used twice.", Fails: []string{"CONC-01"},
			mem: func(m *mem) with {
				return insertedTwice(m, m.common(), func(_ context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					defer m.mu.RUnlock()
					if t, ok := m.tokens[key]; ok {
						return &t, nil
					}
					return nil, nil
				})
			}},
		{Name: "pair is stored in two rows", Races: true, Fault: "The table of verification tokens has no unique key: CreateVerificationToken runs a SELECT, then an INSERT.", Fails: []string{"CONC-01"},
			lite: func(l *lite) with { return insertedTwice(l, l.common(), l.peek) }},

		{Name: "old user comes into the cache", Races: true, Fault: "GetUser reads the user and then puts it into a cache that all handles share. If the user is changed and the cache cleared in between, the old record stays in the cache.", Fails: []string{"ISO-08"},
			mem: func(m *mem) with { return filledLate(m, m.common()) }},
		{Name: "old row comes into the cache", Races: true, Fault: "GetUser puts the row that it has read into a cache, even if the row has changed since.", Fails: []string{"ISO-08"},
			lite: func(l *lite) with { return filledLate(l, l.common()) }},

		{Name: "session that has moved is deleted", Races: true, Fault: "DeleteUser collects the tokens of the user's sessions and deletes these sessions, also one that has another user by then.", Fails: []string{"CONC-11"},
			mem: func(m *mem) with { return deletedByToken(m) }},
		{Name: "row of a session that has moved is deleted", Races: true, Fault: "DeleteUser selects the tokens of the user's sessions and deletes the rows by token, without the user ID.", Fails: []string{"CONC-11"},
			lite: func(l *lite) with { return deletedByToken(l) }},

		{Name: "passkey of another user holds the account", Fault: "DeleteAuthenticator does not delete the connected account if an authenticator of another user has the same ProviderAccountID.", Fails: []string{"AEDIT-02"},
			mem: func(m *mem) with {
				return heldByOthers(m, func(_ context.Context, gone adapter.Authenticator) (bool, error) {
					m.mu.RLock()
					defer m.mu.RUnlock()
					for _, w := range m.authenticators {
						if w.ProviderAccountID == gone.ProviderAccountID {
							return true, nil
						}
					}
					return false, nil
				})
			}},
		{Name: "row of another user's passkey holds the account", Fault: "DeleteAuthenticator counts the authenticators of the connected account without the user ID.", Fails: []string{"AEDIT-02"},
			lite: func(l *lite) with {
				return heldByOthers(l, func(ctx context.Context, gone adapter.Authenticator) (bool, error) {
					return l.exists(ctx, `SELECT 1 FROM "authenticator" WHERE providerAccountId = ?`, gone.ProviderAccountID)
				})
			}},

		{Name: "clean-up compares texts with an offset", Fault: "DeleteExpired compares texts of RFC 3339, and prints the instant in the zone in which it was given.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with {
				const layout = "2006-01-02T15:04:05.000Z07:00"
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool { return s.Expires.Format(layout) <= now.Format(layout) })
				}}
			}},
		{Name: "clean-up drops the zone", Fault: "DeleteExpired binds the instant without its zone (TIMESTAMP, not TIMESTAMP WITH TIME ZONE).", Fails: []string{"EXP-09"},
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					_, offset := now.Zone()
					return l.DeleteExpired(ctx, now.Add(time.Duration(offset)*time.Second))
				}}
			}},

		{Name: "accounts are cached for all stores", Fault: "GetAccount has a cache in a variable of the package, by the key of the account.", Fails: []string{"ISO-01"},
			mem: func(m *mem) with {
				return with{
					getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
						key := adapter.AccountKey{Provider: strings.Clone(provider), ProviderAccountID: strings.Clone(id)}
						if a, ok := accounts.Load(key); ok {
							return new(copyAccount(a.(adapter.Account))), m.begin(ctx)
						}
						a, err := m.GetAccount(ctx, id, provider)
						if a != nil {
							accounts.Store(key, copyAccount(*a))
						}
						return a, err
					},
					unlinkAccount: clearing(&accounts, m.UnlinkAccount), deleteUser: clearing(&accounts, m.DeleteUser),
					optional: optional{
						updateAccount: clearing(&accounts, m.UpdateAccount),
						deleteAuthenticator: func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
							defer accounts.Clear()
							return m.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
						},
					},
				}
			}},
		{Name: "users are cached for all stores", Fault: "GetUser has a cache in a variable of the package, by ID.", Fails: []string{"ISO-01"},
			lite: func(l *lite) with {
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						if u, ok := users.Load(id); ok {
							return new(copyUser(u.(adapter.User))), ctx.Err()
						}
						u, err := l.GetUser(ctx, id)
						if u != nil {
							users.Store(u.ID, copyUser(*u))
						}
						return u, err
					},
					updateUser: clearing(&users, l.UpdateUser), deleteUser: clearing(&users, l.DeleteUser),
				}
			}},

		{Name: "clean-up counts, then deletes", Races: true, Fault: "DeleteExpired counts the expired records and then deletes them. Two calls at one moment count the same records.", Fails: []string{"EXP-08"},
			mem: func(m *mem) with {
				return countedFirst(m, func(_ context.Context, now time.Time) (due adapter.Swept, err error) {
					m.mu.RLock()
					defer m.mu.RUnlock()
					for _, s := range m.sessions {
						if !s.Expires.After(now) {
							due.Sessions++
						}
					}
					for _, t := range m.tokens {
						if !t.Expires.After(now) {
							due.VerificationTokens++
						}
					}
					return due, nil
				})
			}},
		{Name: "clean-up selects the count", Races: true, Fault: "DeleteExpired runs SELECT count(*) and then DELETE, and returns the count.", Fails: []string{"EXP-08"},
			lite: func(l *lite) with {
				return countedFirst(l, func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					counts, err := l.column(ctx, `SELECT count(*) FROM "session" WHERE expires <= ? UNION ALL SELECT count(*) FROM "verificationToken" WHERE expires <= ?`,
						now.UnixMilli(), now.UnixMilli())
					if err != nil {
						return adapter.Swept{}, err
					}
					sessions, _ := strconv.ParseInt(counts[0], 10, 64)
					tokens, _ := strconv.ParseInt(counts[1], 10, 64)
					return adapter.Swept{Sessions: sessions, VerificationTokens: tokens}, nil
				})
			}},

		{Name: "deleted passkey is returned as it was read first", Fault: "DeleteAuthenticator returns the record as GetAuthenticator read it first, without the changes since.", Fails: []string{"AEDIT-01"},
			mem: func(m *mem) with {
				w, loaded := passkeyMap(m)
				w.getAuthenticator = func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					return loaded(m.GetAuthenticator(ctx, id))
				}
				return w
			}},
		{Name: "deleted passkey is returned as it was created", Fault: "DeleteAuthenticator returns the record as CreateAuthenticator stored it.", Fails: []string{"AEDIT-01"},
			lite: func(l *lite) with {
				w, loaded := passkeyMap(l)
				w.createAuthenticator = func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					return loaded(l.CreateAuthenticator(ctx, a))
				}
				return w
			}},
		{Name: "unlinked account is returned as it was linked", Fault: "UnlinkAccount returns the record as LinkAccount stored it.", Fails: []string{"ACCT-11"},
			mem: func(m *mem) with {
				w, loaded := accountMap(m)
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return loaded(m.LinkAccount(ctx, a))
				}
				return w
			}},
		{Name: "unlinked account is returned as it was read first", Fault: "UnlinkAccount returns the record as GetAccount read it first, without the changes since.", Fails: []string{"ACCT-11"},
			lite: func(l *lite) with {
				w, loaded := accountMap(l)
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					return loaded(l.GetAccount(ctx, id, provider))
				}
				return w
			}},
	}
}

// insertedTwice stores a pair a second time if another call has created it since this call looked.
func insertedTwice(b base, second *sync.Map, peek func(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error)) with {
	return with{
		createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
			if there, err := peek(ctx, t.Key()); there != nil || err != nil {
				return nil, errors.Join(err, conflict("the verification token"))
			}
			gap()
			created, err := b.CreateVerificationToken(ctx, t)
			if errors.Is(err, adapter.ErrConflict) {
				t = copyToken(t)
				second.Store(t.Key(), t)
				return &t, nil
			}
			return created, err
		},
		useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
			t, err := b.UseVerificationToken(ctx, key)
			if t == nil && err == nil {
				if row, ok := second.LoadAndDelete(key); ok {
					t = new(row.(adapter.VerificationToken))
				}
			}
			return t, err
		},
	}
}

// filledLate caches users. It fills the cache some time after it has read the record.
func filledLate(b base, cache *sync.Map) with {
	return with{
		getUser: func(ctx context.Context, id string) (*adapter.User, error) {
			if u, ok := cache.Load(id); ok {
				return new(copyUser(u.(adapter.User))), ctx.Err()
			}
			u, err := b.GetUser(ctx, id)
			gap()
			if u != nil {
				cache.Store(u.ID, copyUser(*u))
			}
			return u, err
		},
		updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
			defer cache.Delete(update.ID)
			return b.UpdateUser(ctx, update)
		},
		deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
			defer cache.Delete(id)
			return b.DeleteUser(ctx, id)
		},
	}
}

// deletedByToken deletes the sessions that a user had, before it deletes the user.
func deletedByToken(b base) with {
	return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
		sessions, err := b.ListSessionsByUserID(ctx, id)
		if err != nil {
			return nil, err
		}
		gap()
		for _, s := range sessions {
			if _, err := b.DeleteSession(ctx, s.SessionToken); err != nil {
				return nil, err
			}
		}
		return b.DeleteUser(ctx, id)
	}}
}

// heldByOthers keeps the connected account of a deleted authenticator if held says so.
func heldByOthers(b base, held func(ctx context.Context, gone adapter.Authenticator) (bool, error)) with {
	return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		before, err := b.ListAccountsByUserID(ctx, userID)
		if err != nil {
			return nil, err
		}
		gone, err := b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
		if gone == nil || err != nil {
			return nil, err
		}
		if is, err := held(ctx, *gone); !is || err != nil {
			return gone, err
		}
		for _, a := range before {
			if _, err := b.LinkAccount(ctx, a); err != nil && !errors.Is(err, adapter.ErrConflict) {
				return nil, err
			}
		}
		return gone, nil
	}}}
}

// clearing clears the cache after the call.
func clearing[A, T any](cache *sync.Map, call func(context.Context, A) (*T, error)) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, arg A) (*T, error) {
		defer cache.Clear()
		return call(ctx, arg)
	}
}

// countedFirst reports what was due before it deletes.
func countedFirst(b base, due func(context.Context, time.Time) (adapter.Swept, error)) with {
	return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		counts, err := due(ctx, now)
		if err != nil {
			return adapter.Swept{}, err
		}
		gap()
		if _, err := b.DeleteExpired(ctx, now); err != nil {
			return adapter.Swept{}, err
		}
		return counts, nil
	}}
}

// passkeyMap returns a deleted authenticator as it was when a call was given to loaded first.
func passkeyMap(b base) (w with, loaded func(*adapter.Authenticator, error) (*adapter.Authenticator, error)) {
	var first firstReads[adapter.Authenticator]
	w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		a, err := b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
		return first.deleted(credentialID, a), err
	}
	return w, func(a *adapter.Authenticator, err error) (*adapter.Authenticator, error) {
		if a != nil {
			first.records.LoadOrStore(a.CredentialID, copyAuthenticator(*a))
		}
		return a, err
	}
}

// accountMap returns an unlinked account as it was when a call was given to loaded first.
func accountMap(b base) (w with, loaded func(*adapter.Account, error) (*adapter.Account, error)) {
	var first firstReads[adapter.Account]
	name := func(key adapter.AccountKey) string { return key.Provider + " " + key.ProviderAccountID }
	w.unlinkAccount = func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
		a, err := b.UnlinkAccount(ctx, key)
		return first.deleted(name(key), a), err
	}
	return w, func(a *adapter.Account, err error) (*adapter.Account, error) {
		if a != nil {
			first.records.LoadOrStore(name(a.Key()), copyAccount(*a))
		}
		return a, err
	}
}
