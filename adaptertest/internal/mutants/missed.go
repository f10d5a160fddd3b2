package mutants

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// missedMutants were not noticed by an earlier version of the suite, or failed
// only clauses that do not describe the fault.
func missedMutants() []Mutant {
	return []Mutant{
		{Name: "own address is a conflict", Fault: "UpdateUser first asks whether the address is in use, and does not check that the user of it is another one.", Fails: []string{"USER-28"},
			mem: func(m *mem) with {
				return with{updateUser: ownAddressTaken(m.GetUser, m.GetUserByEmail, m.UpdateUser)}
			}},
		{Name: "own address with a name is a conflict", Fault: "UpdateUser refuses the user's own address if another field is given with it.", Fails: []string{"USER-28"},
			lite: func(l *lite) with {
				update := ownAddressTaken(l.GetUser, l.GetUserByEmail, l.UpdateUser)
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if u.Name.IsSet() {
						return update(ctx, u)
					}
					return l.UpdateUser(ctx, u)
				}}
			}},
		{Name: "address can't be cleared", Fault: "UpdateUser treats an empty address as a field that is not given.", Fails: []string{"USER-29"},
			lite: func(l *lite) with { return with{updateUser: addressKept(l.UpdateUser)} }},
		{Name: "only one user may clear the address", Fault: "The index of addresses contains the empty address: clearing the address of a second user is a conflict.", Fails: []string{"USER-29"},
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if email, set := u.Email.Get(); set && email == "" {
						m.mu.Lock()
						first := kept(m.records, "without an address", func() *string { return new("") })
						taken := *first != "" && *first != u.ID
						*first = u.ID
						m.mu.Unlock()
						if taken {
							return nil, conflict("the e-mail")
						}
					}
					return m.UpdateUser(ctx, u)
				}}
			}},
		{Name: "id is derived from the address", Fault: "CreateUser assigns the address as id, so nobody can take an address that its first holder has given up.", Fails: []string{"USER-26"},
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.ID == "" && u.Email != "" {
						u.ID = "user-" + u.Email
					}
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "each handle counts its own users", Fault: "Ids come from a counter in the adapter, so two processes assign the same id.", Fails: []string{"USER-06"},
			lite: func(l *lite) with {
				var mu sync.Mutex
				var last int
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.ID == "" {
						mu.Lock()
						last++
						u.ID = fmt.Sprintf("user-%d", last)
						mu.Unlock()
					}
					return l.CreateUser(ctx, u)
				}}
			}},
		{Name: "names are unique", Fault: "A unique index on the name: a second person with the same name can't sign up.", Fails: []string{"DATA-15"},
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.Name != nil {
						taken, err := l.exists(ctx, `SELECT 1 FROM "user" WHERE name = ?`, *u.Name)
						if err != nil {
							return nil, err
						}
						if taken {
							return nil, fmt.Errorf("lite: user.name is taken: %w", adapter.ErrConflict)
						}
					}
					return l.CreateUser(ctx, u)
				}}
			}},
		{Name: "one authenticator for each connected account", Fault: "A unique index on the owner and the account that an authenticator is connected to.", Fails: []string{"DATA-15"},
			lite: func(l *lite) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					taken, err := l.exists(ctx, `SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ?`, a.UserID, a.ProviderAccountID)
					if err != nil {
						return nil, err
					}
					if taken {
						return nil, fmt.Errorf("lite: authenticator.providerAccountId is taken: %w", adapter.ErrConflict)
					}
					return l.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "sessions with one expiry are listed once", Fault: "The list of a user's sessions is a map keyed by expiry.", Fails: []string{"DATA-15"},
			mem: func(m *mem) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					all, err := m.ListSessionsByUserID(ctx, id)
					if err != nil {
						return nil, err
					}
					byExpiry := map[time.Time]adapter.Session{}
					for _, s := range all {
						byExpiry[s.Expires] = s
					}
					list := []adapter.Session{}
					for _, s := range byExpiry {
						list = append(list, s)
					}
					return list, nil
				}}}
			}},
		{Name: "deletion deletes accounts that were unlinked", Fault: "The set of a user's accounts keeps a pair that was unlinked; deleting the user deletes the account of the user who has it now.", Fails: []string{"CASC-12"},
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						for key := range m.accountsOf[id] {
							delete(m.accounts, key)
						}
					}
					return u, err
				}}
			}},
		{Name: "deletion frees an address that another user has", Fault: "DeleteUser frees the address that the user was created with, although another user has it now.", Fails: []string{"CASC-12"},
			mem: func(m *mem) with {
				first := func() map[string]string {
					return kept(m.records, "first addresses", func() map[string]string { return map[string]string{} })
				}
				return with{
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						got, err := m.CreateUser(ctx, u)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							first()[got.ID] = got.Email
						}
						return got, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := m.DeleteUser(ctx, id)
						if u != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							delete(m.emails, first()[id])
						}
						return u, err
					},
				}
			}},
		{Name: "deletion deletes sessions that were moved", Fault: "Sessions are stored with the user who signed in; deleting that user deletes a session that another user has now.", Fails: []string{"CASC-12", "SESS-23"},
			lite: func(l *lite) with {
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						got, err := l.CreateSession(ctx, s)
						if err == nil {
							if err := l.exec(ctx, `CREATE TABLE IF NOT EXISTS began (userId TEXT, sessionToken TEXT)`); err != nil {
								return nil, err
							}
							if err := l.exec(ctx, `INSERT INTO began VALUES (?, ?)`, s.UserID, s.SessionToken); err != nil {
								return nil, err
							}
						}
						return got, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := l.DeleteUser(ctx, id)
						if err == nil && u != nil {
							err = l.exec(ctx, `DELETE FROM "session" WHERE sessionToken IN (SELECT sessionToken FROM began WHERE userId = ?)`, id)
						}
						return u, err
					},
				}
			}},
		{Name: "clean-up uses its own clock", Fault: "DeleteExpired ignores the instant that it is given and uses the present.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, _ time.Time) (adapter.Swept, error) {
					return m.DeleteExpired(ctx, m.clock.Now())
				}}
			}},
		{Name: "clean-up leaves records that expire at the instant", Fault: "DeleteExpired keeps a record that expires exactly at the instant given.", Fails: []string{"EXP-09"},
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return l.DeleteExpired(ctx, now.Add(-time.Millisecond))
				}}
			}},
		{Name: "wrong guesses delete the token", Fault: "UseVerificationToken deletes all tokens of an identifier after three wrong ones, so a stranger can keep any person from signing in.", Fails: []string{"VTOK-04"},
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					if t == nil && err == nil {
						m.mu.Lock()
						guesses := kept(m.records, "guesses", func() map[string]int { return map[string]int{} })
						guesses[key.Identifier]++
						void := guesses[key.Identifier] > 5
						m.mu.Unlock()
						if void {
							_, err = m.DeleteVerificationTokens(ctx, key.Identifier)
						}
					}
					return t, err
				}}
			}},
		{Name: "concurrent reads share one record", Fault: "Concurrent calls of GetUser for one user make one read, and all of them get the same record.", Fails: []string{"ALIAS-06"}, Races: true,
			lite: func(l *lite) with { return with{getUser: inOneFlight(l.GetUser, nil)} }},
		{Name: "concurrent lists share one slice", Fault: "Concurrent calls of ListAuthenticatorsByUserID for one user make one read, and all of them get the same slice.", Fails: []string{"ALIAS-06"}, Races: true,
			mem: func(m *mem) with {
				return with{listAuthenticators: inOneFlight(func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					aWhile()
					return m.ListAuthenticatorsByUserID(ctx, id)
				}, nil)}
			}},
		{Name: "read joins an earlier read", Fault: "GetUser joins a running read of the same user, also if a write ended between the starts of the two.", Fails: []string{"ISO-08"}, Races: true,
			lite: func(l *lite) with { return with{getUser: inOneFlight(l.GetUser, userCopied)} }},
		{Name: "read by address joins an earlier read", Fault: "GetUserByEmail joins a running read of the same address, also if a write ended between the starts of the two.", Fails: []string{"ISO-08"}, Races: true,
			mem: func(m *mem) with {
				return with{getUserByEmail: inOneFlight(func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := m.GetUserByEmail(ctx, email)
					aWhile() // the answer is on its way
					return u, err
				}, userCopied)}
			}},
		{Name: "sign-out everywhere leaves expired sessions", Fault: "DeleteSessionsByUserID deletes live sessions only: an expired session is valid again if it is extended later.", Fails: []string{"SLIST-04"},
			lite: func(l *lite) with {
				return with{optional: optional{deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
					result, err := l.db.ExecContext(ctx, `DELETE FROM "session" WHERE userId = ? AND sessionToken <> ? AND expires > ?`, id, except, time.Now().UnixMilli())
					if err != nil {
						return 0, err
					}
					return result.RowsAffected()
				}}}
			}},
		{Name: "sign-out everywhere deletes listed sessions only", Fault: "DeleteSessionsByUserID deletes the sessions of a list that leaves out expired ones.", Fails: []string{"SLIST-04"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteSessions: func(ctx context.Context, id, except string) (n int64, err error) {
					all, err := m.ListSessionsByUserID(ctx, id)
					for _, s := range all {
						if s.Expires.After(m.clock.Now()) && s.SessionToken != except {
							gone, err := m.DeleteSession(ctx, s.SessionToken)
							if err != nil {
								return n, err
							}
							if gone != nil {
								n++
							}
						}
					}
					return n, err
				}}}
			}},
		{Name: "counter update forgets the name", Fault: "UpdateAuthenticatorCounter writes the record again with the fields of WebAuthn only.", Fails: []string{"AUTHN-09"},
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					_, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
					if err != nil {
						return nil, err
					}
					m.mu.Lock()
					a := m.authenticators[id]
					a.Name, a.Created = nil, nil
					m.authenticators[id] = a
					m.mu.Unlock()
					return m.GetAuthenticator(ctx, id)
				}}
			}},
		{Name: "touch forgets the name", Fault: "TouchAuthenticator writes the record again with the fields of WebAuthn only.", Fails: []string{"AEDIT-07"},
			lite: func(l *lite) with {
				return with{optional: optional{touch: func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					a, err := l.TouchAuthenticator(ctx, id, from, to, used)
					if a == nil || err != nil {
						return nil, err
					}
					if err := l.exec(ctx, `UPDATE "authenticator" SET name = NULL WHERE credentialID = ?`, id); err != nil {
						return nil, err
					}
					return l.GetAuthenticator(ctx, id)
				}}}
			}},
		{Name: "accounts joined with sessions", Fault: "ListAccountsByUserID joins the user's sessions, and returns each account once for each session.", Fails: []string{"ALIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listAccounts: func(ctx context.Context, id string) ([]adapter.Account, error) {
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
				}}}
			}},
		{Name: "authenticators joined with accounts", Fault: "ListAuthenticatorsByUserID joins the user's accounts, and returns each authenticator once for each account.", Fails: []string{"AUTHN-04"},
			mem: func(m *mem) with {
				return with{listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := m.ListAuthenticatorsByUserID(ctx, id)
					if err != nil {
						return nil, err
					}
					accounts, err := m.ListAccountsByUserID(ctx, id)
					joined := list
					for i := 1; i < len(accounts); i++ {
						for _, a := range list {
							joined = append(joined, copyAuthenticator(a))
						}
					}
					return joined, err
				}}
			}},
		{Name: "clean-up removes users who have nothing", Fault: "DeleteExpired deletes users who have no verified address, no account and no session.", Fails: []string{"EXP-02"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					swept, err := m.DeleteExpired(ctx, now)
					m.mu.Lock()
					defer m.mu.Unlock()
					for id, u := range m.users {
						if err == nil && u.EmailVerified == nil && len(m.accountsOf[id]) == 0 && len(m.sessionsOf[id]) == 0 {
							m.dropUser(id)
						}
					}
					return swept, err
				}}
			}},
		{Name: "clean-up removes users without records in SQL", Fault: "DeleteExpired deletes users who have no verified address, no account and no session, in one statement.", Fails: []string{"EXP-02"},
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					swept, err := l.DeleteExpired(ctx, now)
					if err != nil {
						return swept, err
					}
					return swept, l.exec(ctx, `DELETE FROM "user" WHERE emailVerified IS NULL AND id NOT IN (SELECT userId FROM "account") AND id NOT IN (SELECT userId FROM "session") AND id NOT IN (SELECT userId FROM "authenticator")`)
				}}
			}},
		{Name: "list elements are decoded into one variable", Fault: "An authenticator without transports gets those of its predecessor in the list.", Fails: []string{"AUTHN-04"},
			mem: func(m *mem) with { return with{listAuthenticators: decodedIntoOne(m.ListAuthenticatorsByUserID)} }},
		{Name: "rows are scanned into one variable", Fault: "A row without transports gets those of the row before it.", Fails: []string{"AUTHN-04"},
			lite: func(l *lite) with { return with{listAuthenticators: decodedIntoOne(l.ListAuthenticatorsByUserID)} }},
	}
}

// aWhile waits about as long as a server takes to answer.
func aWhile() {
	for start := time.Now(); time.Since(start) < 50*time.Microsecond; {
		runtime.Gosched()
	}
}

// inOneFlight answers concurrent calls for one key with one read. Each caller gets
// a copy of the result if copied is not nil, else the result itself.
func inOneFlight[T any](read func(context.Context, string) (T, error), copied func(T) T) func(context.Context, string) (T, error) {
	return inOneFlightBy(func(key string) string { return key }, read, copied)
}

// inOneFlightBy is inOneFlight for calls with another argument, which has the key.
func inOneFlightBy[A, T any](keyOf func(A) string, call func(context.Context, A) (T, error), copied func(T) T) func(context.Context, A) (T, error) {
	type flight struct {
		landed chan struct{}
		result T
		err    error
	}
	var mu sync.Mutex
	flights := map[string]*flight{}
	return func(ctx context.Context, arg A) (T, error) {
		key := strings.Clone(keyOf(arg))
		mu.Lock()
		f, ok := flights[key]
		if !ok {
			f = &flight{landed: make(chan struct{})}
			flights[key] = f
		}
		mu.Unlock()
		if ok {
			<-f.landed
		} else {
			f.result, f.err = call(ctx, arg)
			mu.Lock()
			delete(flights, key)
			mu.Unlock()
			close(f.landed)
		}
		if copied != nil {
			return copied(f.result), f.err
		}
		return f.result, f.err
	}
}

func userCopied(u *adapter.User) *adapter.User {
	if u == nil {
		return nil
	}
	return new(copyUser(*u))
}

// decodedIntoOne gives an authenticator without transports those of the previous
// one in the list.
func decodedIntoOne(list func(context.Context, string) ([]adapter.Authenticator, error)) func(context.Context, string) ([]adapter.Authenticator, error) {
	return func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
		all, err := list(ctx, id)
		for i := 1; i < len(all); i++ {
			if all[i].Transports == nil {
				all[i].Transports = copyText(all[i-1].Transports)
			}
		}
		return all, err
	}
}

// ownAddressTaken refuses an address that any user has, also the user itself.
func ownAddressTaken(get, byEmail func(context.Context, string) (*adapter.User, error), update func(context.Context, adapter.UserUpdate) (*adapter.User, error)) func(context.Context, adapter.UserUpdate) (*adapter.User, error) {
	return func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		if email, set := u.Email.Get(); set && email != "" {
			known, err := get(ctx, u.ID)
			if err != nil {
				return nil, err
			}
			holder, err := byEmail(ctx, email)
			if err != nil {
				return nil, err
			}
			if known != nil && holder != nil {
				return nil, conflict("the e-mail")
			}
		}
		return update(ctx, u)
	}
}

// addressKept does not clear addresses.
func addressKept(update func(context.Context, adapter.UserUpdate) (*adapter.User, error)) func(context.Context, adapter.UserUpdate) (*adapter.User, error) {
	return func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		if email, set := u.Email.Get(); set && email == "" {
			u.Email = adapter.Change[string]{}
		}
		return update(ctx, u)
	}
}
