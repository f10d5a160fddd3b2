package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// unseenMutants have faults that the suite once missed, or noticed only by a clause
// about something else. They were found with broken adapters that the authors of the
// suite had not seen before.
func unseenMutants() []Mutant {
	return []Mutant{
		{Name: "accounts are joined with authenticators", Fault: "ListAccountsByUserID returns an account once for each authenticator that is connected to it.", Fails: []string{"ALIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listAccounts: func(ctx context.Context, id string) ([]adapter.Account, error) {
					return joined(ctx, id, l.ListAccountsByUserID, l.ListAuthenticatorsByUserID,
						func(a adapter.Account, w adapter.Authenticator) bool {
							return a.ProviderAccountID == w.ProviderAccountID
						})
				}}}
			}},
		{Name: "authenticators are joined with accounts", Fault: "ListAuthenticatorsByUserID returns an authenticator once for each account with the ID that it is connected to.", Fails: []string{"AUTHN-04"},
			mem: func(m *mem) with {
				return with{listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					return joined(ctx, id, m.ListAuthenticatorsByUserID, m.ListAccountsByUserID,
						func(w adapter.Authenticator, a adapter.Account) bool {
							return a.ProviderAccountID == w.ProviderAccountID
						})
				}}
			}},
		{Name: "sessions are joined with authenticators", Fault: "ListSessionsByUserID returns each session once for each authenticator of the user.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					return joined(ctx, id, l.ListSessionsByUserID, l.ListAuthenticatorsByUserID, func(adapter.Session, adapter.Authenticator) bool { return true })
				}}}
			}},
		{Name: "link beside a sign-up", Fault: "LinkAccount locks out other links and looks for the account, but a sign-up takes no such lock: both get the account.", Fails: []string{"SIGNUP-05"}, Races: true,
			mem: func(m *mem) with {
				linking := kept(m.records, "linking", func() *sync.Mutex { return new(sync.Mutex) })
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if a.Provider == "" || a.ProviderAccountID == "" {
						return nil, errEmpty
					}
					linking.Lock()
					defer linking.Unlock()
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
				}}
			}},
		{Name: "registration beside a sign-up", Fault: "CreateAuthenticator looks for the credential and then replaces what is there, so that it takes the credential of a sign-up that came in between.", Fails: []string{"SIGNUP-05"}, Races: true,
			lite: func(l *lite) with {
				var registering sync.Mutex
				return with{createAuthenticator: func(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
					registering.Lock()
					defer registering.Unlock()
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
				}}
			}},
		{Name: "same owner leaves the list", Fault: "An update that names the user whom the session has adds the session to the user's list, and then removes it from the list of the user before, who is the same.", Fails: []string{"SLIST-01", "CASC-02"},
			mem: unlistedByOwnUpdate},
		{Name: "same owner leaves the table of owners", Fault: "As before, in a table of its own that says whose sessions to list and to end.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with {
				unlisted := func(ctx context.Context, token string) (bool, error) {
					if err := l.exec(ctx, `CREATE TABLE IF NOT EXISTS unlisted (token TEXT PRIMARY KEY)`); err != nil {
						return false, err
					}
					return l.exists(ctx, `SELECT 1 FROM unlisted WHERE token = ?`, token)
				}
				return with{
					updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
						found, err := l.GetSessionAndUser(ctx, u.SessionToken)
						if err != nil {
							return nil, err
						}
						updated, err := l.UpdateSession(ctx, u)
						if id, set := u.UserID.Get(); err == nil && set && found != nil && found.User.ID == id {
							if _, err = unlisted(ctx, u.SessionToken); err == nil {
								err = l.exec(ctx, `INSERT OR IGNORE INTO unlisted VALUES (?)`, u.SessionToken)
							}
						}
						return updated, err
					},
					optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
						all, err := l.ListSessionsByUserID(ctx, id)
						list := []adapter.Session{}
						for _, s := range all {
							gone, goneErr := unlisted(ctx, s.SessionToken)
							if err = errors.Join(err, goneErr); !gone {
								list = append(list, s)
							}
						}
						return list, err
					}},
				}
			}},
		{Name: "each call watches its context", Fault: "Each lookup of a session starts a goroutine that ends with the context of the call, not with the call.", Fails: []string{"LIFE-09"},
			lite: func(l *lite) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					go func() { <-ctx.Done() }()
					return l.GetSessionAndUser(ctx, token)
				}}
			}},
		{Name: "each new session is counted by a goroutine", Fault: "CreateSession hands the session to a goroutine over a channel that nobody closes.", Fails: []string{"LIFE-09"},
			mem: func(m *mem) with {
				counter := make(chan struct{}, 1)
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					got, err := m.CreateSession(ctx, s)
					if err == nil {
						go func() { counter <- struct{}{} }()
					}
					return got, err
				}}
			}},
		{Name: "first call cancelled, all calls cancelled", Fault: "The adapter connects once, with the context of the first call, and keeps the error.", Fails: []string{"CTX-06"},
			lite: func(l *lite) with {
				var once sync.Once
				var problem error
				connect := func(ctx context.Context) error {
					once.Do(func() { problem = l.db.PingContext(ctx) })
					return problem
				}
				return with{getUser: after(connect, l.GetUser), createUser: after(connect, l.CreateUser), getSessionAndUser: after(connect, l.GetSessionAndUser)}
			}},
		{Name: "first call cancelled, no session ever", Fault: "As before, for the lookup of users and the creation of sessions.", Fails: []string{"CTX-06"},
			mem: func(m *mem) with {
				var once sync.Once
				var problem error
				prepare := func(ctx context.Context) error {
					once.Do(func() { problem = ctx.Err() })
					return problem
				}
				return with{getUser: after(prepare, m.GetUser), createSession: after(prepare, m.CreateSession)}
			}},
		{Name: "circuit breaker counts conflicts", Fault: "Five errors in a row, refusals included, make CreateUser fail for a second.", Fails: []string{"ERR-13"},
			lite: func(l *lite) with { return with{createUser: breakerOf(new(breaker), l.CreateUser)} }},
		{Name: "circuit breaker counts what is absent", Fault: "Five errors in a row of the creation of sessions, ErrNotFound included, make it fail for a second.", Fails: []string{"ERR-13"},
			mem: func(m *mem) with { return with{createSession: breakerOf(new(breaker), m.CreateSession)} }},
		{Name: "the last credential keeps a connection", Fault: "DeleteAuthenticator doesn't give its connection back when it fails with ErrLastCredential.", Fails: []string{"ERR-13"},
			lite: func(l *lite) with {
				return deleting(func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
					if errors.Is(err, adapter.ErrLastCredential) {
						if _, err := l.db.Conn(ctx); err != nil { // never closed
							return nil, err
						}
					}
					return a, err
				})
			}},
		{Name: "opposite moves wait for each other", Fault: "UpdateSession with a new owner locks the old owner, then the new one; the lock wait ends after 300 ms, with an error.", Fails: []string{"CONC-15"}, Races: true,
			mem: func(m *mem) with { return with{updateSession: lockedMoves(m.GetSessionAndUser, m.UpdateSession)} }},
		{Name: "opposite moves of rows wait for each other", Fault: "As before.", Fails: []string{"CONC-15"}, Races: true,
			lite: func(l *lite) with { return with{updateSession: lockedMoves(l.GetSessionAndUser, l.UpdateSession)} }},
		{Name: "short extension is saved later", Fault: "UpdateSession does not store a change of less than a minute, and returns the session as if it had.", Fails: []string{"SESS-12", "SESS-13"},
			lite: func(l *lite) with {
				return with{updateSession: unlessShort(l.GetSessionAndUser, l.UpdateSession, time.Minute)}
			}},
		{Name: "extension by seconds is saved later", Fault: "As before, for a change of less than ten seconds.", Fails: []string{"SESS-12", "SESS-13"},
			mem: func(m *mem) with {
				return with{updateSession: unlessShort(m.GetSessionAndUser, m.UpdateSession, 10*time.Second)}
			}},
		{Name: "batch with the session to keep is the last", Fault: "DeleteSessionsByUserID deletes batches of 100 and ends when one deletes fewer: the one with the session to keep.", Fails: []string{"SLIST-04"},
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (total int64, err error) {
					for {
						r, err := l.db.ExecContext(ctx, `DELETE FROM "session" WHERE sessionToken <> ? AND sessionToken IN (SELECT sessionToken FROM "session" WHERE userId = ? LIMIT 100)`, except, userID)
						if err != nil {
							return total, err
						}
						n, err := r.RowsAffected()
						if total += n; err != nil || n < 100 {
							return total, err
						}
					}
				})
			}},
		{Name: "page with the session to keep is the last", Fault: "As before, in pages of 1,000 by expiry.", Fails: []string{"SLIST-04"},
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (total int64, err error) {
					for {
						page, err := m.ListSessionsByUserID(ctx, userID)
						if err != nil {
							return total, err
						}
						slices.SortFunc(page, func(a, b adapter.Session) int { return a.Expires.Compare(b.Expires) })
						n := int64(0)
						for _, s := range page[:min(len(page), 1000)] {
							if s.SessionToken == except {
								continue
							}
							gone, err := m.DeleteSession(ctx, s.SessionToken)
							if err != nil {
								return total, err
							}
							if gone != nil {
								n++
							}
						}
						if total += n; n < 1000 {
							return total, nil
						}
					}
				})
			}},
		{Name: "next page begins after the last expiry", Fault: "ListSessionsByUserID reads pages of 50; the next one has what expires after the last session of the page.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with { return pagedSessions(l.ListSessionsByUserID, 50) }},
		{Name: "next long page begins after the last expiry", Fault: "As before, with pages of 100.", Fails: []string{"SLIST-01"},
			mem: func(m *mem) with { return pagedSessions(m.ListSessionsByUserID, 100) }},
		{Name: "cause in place of the context's error", Fault: "A call whose context has ended returns the cause that the caller gave, which does not match context.Canceled.", Fails: []string{"CTX-01"},
			mem: func(m *mem) with {
				return with{getUser: causeReturned(m.GetUser), createSession: causeReturned(m.CreateSession)}
			}},
		{Name: "cause in place of the error of a lookup", Fault: "As before, for one lookup.", Fails: []string{"CTX-01"},
			lite: func(l *lite) with { return with{getSessionAndUser: causeReturned(l.GetSessionAndUser)} }},
		{Name: "deadline in whole seconds", Fault: "The time that is left is cut to whole seconds: with less than a second a call fails at once.", Fails: []string{"CTX-08"},
			mem: func(m *mem) with {
				return with{updateSession: inSeconds(m.UpdateSession), createToken: inSeconds(m.CreateVerificationToken)}
			}},
		{Name: "deadline of a lookup in whole seconds", Fault: "As before, for one lookup.", Fails: []string{"CTX-08"},
			lite: func(l *lite) with { return with{getUserByEmail: inSeconds(l.GetUserByEmail)} }},
		{Name: "credential IDs are unique by their beginning", Fault: "The unique index of credential IDs holds their first 767 bytes.", Fails: []string{"DATA-08"},
			mem: func(m *mem) with {
				return with{createAuthenticator: uniqueBeginning(767, func(a adapter.Authenticator) string { return a.CredentialID }, m.CreateAuthenticator)}
			}},
		{Name: "session tokens are unique by their beginning", Fault: "The unique index of session tokens holds their first 191 bytes.", Fails: []string{"DATA-08"},
			lite: func(l *lite) with {
				return with{createSession: uniqueBeginning(191, func(s adapter.Session) string { return s.SessionToken }, l.CreateSession)}
			}},
		{Name: "sessions of all namespaces", Fault: "DeleteSessionsByUserID ends the sessions of a user with the same ID in each namespace.", Fails: []string{"ISO-02"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteSessions: func(ctx context.Context, userID, except string) (int64, error) {
					for _, space := range m.spaces {
						if _, err := (&mem{records: space}).DeleteSessionsByUserID(ctx, userID, except); err != nil {
							return 0, err
						}
					}
					return m.DeleteSessionsByUserID(ctx, userID, except)
				}}}
			}},
		{Name: "accounts of all namespaces", Fault: "UpdateAccount changes the account with the same key in each namespace.", Fails: []string{"ISO-02"},
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					for _, space := range m.spaces {
						if _, err := (&mem{records: space}).UpdateAccount(ctx, u); err != nil && !errors.Is(err, adapter.ErrNotFound) {
							return nil, err
						}
					}
					return m.UpdateAccount(ctx, u)
				}}}
			}},
		{Name: "one sign-up without an address", Fault: "The index of addresses that a sign-up fills holds the empty one: the second sign-up without an address is a conflict.", Fails: []string{"USER-12"},
			mem: func(m *mem) with { return with{optional: optional{signUp: oneNameless(m.CreateUserWithAccount)}} }},
		{Name: "one row without an address", Fault: "As before.", Fails: []string{"USER-12"},
			lite: func(l *lite) with { return with{optional: optional{signUp: oneNameless(l.CreateUserWithAccount)}} }},
		{Name: "five tokens of an identifier", Fault: "The sixth token of an identifier removes the one that expires first.", Fails: []string{"VTOK-09"},
			lite: func(l *lite) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					got, err := l.CreateVerificationToken(ctx, t)
					if err == nil {
						err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token <> ? AND token NOT IN (
							SELECT token FROM "verificationToken" WHERE identifier = ? AND token <> ? ORDER BY expires DESC LIMIT 4)`,
							t.Identifier, t.Token, t.Identifier, t.Token)
					}
					return got, err
				}}
			}},
		{Name: "twenty tokens of an identifier", Fault: "The 21st token of an identifier removes any other.", Fails: []string{"VTOK-09"},
			mem: func(m *mem) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					got, err := m.CreateVerificationToken(ctx, t)
					m.mu.Lock()
					defer m.mu.Unlock()
					n := 0
					for key := range m.tokens {
						if key.Identifier != t.Identifier {
							continue
						}
						if n++; n > 20 && key.Token != t.Token {
							delete(m.tokens, key)
						}
					}
					return got, err
				}}
			}},
	}
}

// joined lists records of a user as an outer join does: a record appears once for
// each record of the other kind that on accepts for it.
func joined[A, B any](ctx context.Context, id string, list func(context.Context, string) ([]A, error), others func(context.Context, string) ([]B, error), on func(A, B) bool) ([]A, error) {
	records, err := list(ctx, id)
	if err != nil {
		return nil, err
	}
	beside, err := others(ctx, id)
	if err != nil {
		return nil, err
	}
	rows := []A{}
	for _, a := range records {
		n := 0
		for _, b := range beside {
			if on(a, b) {
				n++
			}
		}
		rows = append(rows, slices.Repeat([]A{a}, max(1, n))...)
	}
	return rows, nil
}

// unlistedByOwnUpdate keeps the sessions that are stored and in no user's list.
func unlistedByOwnUpdate(m *mem) with {
	unlisted := func() map[string]bool {
		return kept(m.records, "unlisted", func() map[string]bool { return map[string]bool{} })
	}
	end := func(id, except string) (n int64) {
		for token, s := range m.sessions {
			if s.UserID == id && token != except && !unlisted()[token] {
				delete(m.sessions, token)
				n++
			}
		}
		return n
	}
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			got, err := m.CreateSession(ctx, s)
			if err == nil {
				m.mu.Lock()
				delete(unlisted(), s.SessionToken)
				m.mu.Unlock()
			}
			return got, err
		},
		updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
			m.mu.RLock()
			before := m.sessions[u.SessionToken].UserID
			m.mu.RUnlock()
			updated, err := m.UpdateSession(ctx, u)
			if updated != nil && u.UserID.IsSet() {
				m.mu.Lock()
				unlisted()[u.SessionToken] = before == updated.UserID
				m.mu.Unlock()
			}
			return updated, err
		},
		deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
			return write(ctx, m, func() (*adapter.User, error) {
				u := m.user(id)
				if u != nil {
					m.dropAccounts(id)
					end(id, "")
					m.dropAuthenticators(id)
					m.dropUser(id)
				}
				return u, nil
			})
		},
		optional: optional{
			listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
				list, err := m.ListSessionsByUserID(ctx, id)
				m.mu.Lock()
				defer m.mu.Unlock()
				return slices.DeleteFunc(list, func(s adapter.Session) bool { return unlisted()[s.SessionToken] }), err
			},
			deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
				return write(ctx, m, func() (int64, error) { return end(id, except), nil })
			},
		},
	}
}

// after makes a call after another function has returned no error.
func after[A, T any](prepare func(context.Context) error, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (result T, err error) {
		if err := prepare(ctx); err != nil {
			return result, err
		}
		return call(ctx, a)
	}
}

// breaker is a circuit breaker that counts every error.
type breaker struct {
	mu    sync.Mutex
	count int
	until time.Time
}

func breakerOf[A, T any](b *breaker, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (result T, err error) {
		b.mu.Lock()
		open := time.Now().Before(b.until)
		b.mu.Unlock()
		if open {
			return result, errors.New("the circuit breaker is open")
		}
		result, err = call(ctx, a)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.count++; err == nil {
			b.count = 0
		}
		if b.count == 5 {
			b.count, b.until = 0, time.Now().Add(time.Second)
		}
		return result, err
	}
}

// lockedMoves locks the present owner of a session, and then the new one.
func lockedMoves(find func(context.Context, string) (*adapter.SessionAndUser, error), update updateSessionFunc) updateSessionFunc {
	var mu sync.Mutex
	locks := map[string]chan struct{}{}
	lock := func(id string) (unlock func(), err error) {
		mu.Lock()
		if locks[id] == nil {
			locks[id] = make(chan struct{}, 1)
		}
		held := locks[id]
		mu.Unlock()
		select {
		case held <- struct{}{}:
			return func() { <-held }, nil
		case <-time.After(300 * time.Millisecond):
			return nil, errors.New("lock wait timeout exceeded")
		}
	}
	return func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		to, set := u.UserID.Get()
		found, err := find(ctx, u.SessionToken)
		if err != nil || found == nil || !set || found.User.ID == to {
			return update(ctx, u)
		}
		unlock, err := lock(found.User.ID)
		if err != nil {
			return nil, err
		}
		defer unlock()
		gap()
		unlockNext, err := lock(to)
		if err != nil {
			return nil, err
		}
		defer unlockNext()
		return update(ctx, u)
	}
}

type updateSessionFunc = func(context.Context, adapter.SessionUpdate) (*adapter.Session, error)

// unlessShort does not store a change of the expiry that is shorter than least.
func unlessShort(find func(context.Context, string) (*adapter.SessionAndUser, error), update updateSessionFunc, least time.Duration) updateSessionFunc {
	return func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		expires, set := u.Expires.Get()
		found, err := find(ctx, u.SessionToken)
		if err != nil || found == nil || !set || expires.Sub(found.Session.Expires).Abs() >= least {
			return update(ctx, u)
		}
		u.Expires = adapter.Change[time.Time]{}
		s, err := update(ctx, u)
		if s != nil {
			s.Expires = expires.UTC()
		}
		return s, err
	}
}

// pagedSessions lists the sessions of a user in pages. The next page has the
// sessions that expire after the last one of the page.
func pagedSessions(list func(context.Context, string) ([]adapter.Session, error), size int) with {
	return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
		rest, err := list(ctx, id)
		slices.SortFunc(rest, func(a, b adapter.Session) int { return a.Expires.Compare(b.Expires) })
		all := []adapter.Session{}
		for len(rest) > 0 {
			page := rest[:min(size, len(rest))]
			all = append(all, page...)
			last := page[len(page)-1].Expires
			rest = slices.DeleteFunc(rest[len(page):], func(s adapter.Session) bool { return !s.Expires.After(last) })
		}
		return all, err
	}}}
}

// causeReturned puts the cause of the context in place of its error.
func causeReturned[A, T any](call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		result, err := call(ctx, a)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result, err
	}
}

// uniqueBeginning refuses a record whose key is longer than size and begins with the
// same bytes as an earlier one.
func uniqueBeginning[A, T any](size int, key func(A) string, create func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	var known sync.Map
	return func(ctx context.Context, a A) (result T, err error) {
		if k := key(a); len(k) > size {
			if _, taken := known.LoadOrStore(k[:size], true); taken {
				return result, conflict("the key")
			}
		}
		return create(ctx, a)
	}
}

// inSeconds gives a call the whole seconds that are left to it.
func inSeconds[A, T any](call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		if end, ok := ctx.Deadline(); ok {
			limited, cancel := context.WithTimeout(ctx, time.Until(end).Truncate(time.Second))
			defer cancel()
			ctx = limited
		}
		return call(ctx, a)
	}
}

// oneNameless lets one user sign up without an address.
func oneNameless(signUp signUpFunc) signUpFunc {
	var once sync.Mutex
	return func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
		if u.Email == "" && !once.TryLock() {
			return nil, conflict("the e-mail")
		}
		return signUp(ctx, u, a, w)
	}
}
