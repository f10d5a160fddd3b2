package mutants

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func concurrencyMutants() []Mutant {
	return []Mutant{
		{Name: "token race", Listed: "M21", Fails: []string{"CONC-01"}, Races: true,
			Fault: "UseVerificationToken reads the token, lets other calls run, then deletes it and returns the one that it read",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					t, ok := m.tokens[key]
					m.mu.RUnlock()
					gap()
					if _, err := m.UseVerificationToken(ctx, key); err != nil || !ok {
						return nil, err
					}
					return &t, nil
				}}
			}},
		{Name: "token race in statements", Fails: []string{"CONC-01"}, Races: true,
			Fault: "UseVerificationToken is a SELECT and a DELETE, and ignores how many rows the DELETE removed",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.peek(ctx, key)
					if t == nil || err != nil {
						return nil, err
					}
					return t, l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`, key.Identifier, key.Token)
				}}
			}},
		{Name: "second of two concurrent uses gets an error", Fails: []string{"CONC-02"}, Races: true,
			Fault: "UseVerificationToken reads the token, then fails if another call has deleted it",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.peek(ctx, key)
					if t == nil || err != nil {
						return nil, err
					}
					used, err := l.UseVerificationToken(ctx, key)
					if used == nil && err == nil {
						err = errors.New("lite: revision conflict")
					}
					return used, err
				}}
			}},
		{Name: "account of a user who is being deleted is a conflict", Fails: []string{"CONC-11"}, Races: true,
			Fault: "LinkAccount looks for the owner first, and takes each later refusal for a taken key",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					owner, err := m.GetUser(ctx, a.UserID)
					gap()
					return foundBefore(owner, err, func() (*adapter.Account, error) { return m.LinkAccount(ctx, a) })
				}}
			}},
		{Name: "session of a user who is being deleted is a conflict", Fails: []string{"CONC-11"}, Races: true,
			Fault: "CreateSession looks for the owner first, and takes each later error of a constraint for a taken key",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					owner, err := l.GetUser(ctx, s.UserID)
					return foundBefore(owner, err, func() (*adapter.Session, error) { return l.CreateSession(ctx, s) })
				}}
			}},
		{Name: "e-mail race", Fails: []string{"CONC-03", "CONC-10"}, Races: true,
			Fault: "CreateUser checks whether the e-mail is taken, then stores in a second step",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					m.mu.RLock()
					_, taken := m.emails[u.Email]
					_, exists := m.users[u.ID]
					m.mu.RUnlock()
					if taken || exists {
						return nil, conflict("the e-mail or the id")
					}
					gap()
					return write(ctx, m, func() (*adapter.User, error) {
						if u.ID == "" {
							u.ID = newID()
						}
						m.putUser(u)
						return new(copyUser(u)), nil
					})
				}}
			}},
		{Name: "account race", Fails: []string{"CONC-04"}, Races: true,
			Fault: "LinkAccount checks whether the pair is taken, then stores in a second step",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					m.mu.RLock()
					_, taken := m.accounts[a.Key()]
					_, known := m.users[a.UserID]
					m.mu.RUnlock()
					if taken {
						return nil, conflict("the account")
					}
					if !known {
						return nil, notFound("user")
					}
					gap()
					return write(ctx, m, func() (*adapter.Account, error) {
						m.accounts[a.Key()] = copyAccount(a)
						return new(copyAccount(a)), nil
					})
				}}
			}},
		{Name: "session race", Fails: []string{"CONC-05"}, Races: true,
			Fault: "CreateSession checks whether the token is taken, then stores in a second step",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					taken, err := l.exists(ctx, `SELECT 1 FROM "session" WHERE sessionToken = ?`, s.SessionToken)
					if err != nil {
						return nil, err
					}
					if taken {
						return nil, conflict("the session token")
					}
					known, err := l.exists(ctx, `SELECT 1 FROM "user" WHERE id = ?`, s.UserID)
					if err != nil {
						return nil, err
					}
					if !known {
						return nil, notFound("user")
					}
					return &s, l.exec(ctx, `INSERT OR REPLACE INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`, s.SessionToken, s.UserID, s.Expires.UnixMilli())
				}}
			}},
		{Name: "credential race", Fails: []string{"CONC-06"}, Races: true,
			Fault: "CreateAuthenticator checks whether the credential is taken, then stores in a second step",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					m.mu.RLock()
					_, taken := m.authenticators[a.CredentialID]
					_, known := m.users[a.UserID]
					m.mu.RUnlock()
					if taken {
						return nil, conflict("the credential id")
					}
					if !known {
						return nil, notFound("user")
					}
					gap()
					return write(ctx, m, func() (*adapter.Authenticator, error) {
						m.putAuthenticator(a)
						return new(copyAuthenticator(a)), nil
					})
				}}
			}},
		{Name: "update undoes deletion", Fails: []string{"CONC-07", "CONC-14"}, Races: true,
			Fault: "UpdateSession reads the session, then stores all of it, also if it was deleted meanwhile",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					m.mu.RLock()
					s, ok := m.sessions[update.SessionToken]
					m.mu.RUnlock()
					if !ok {
						return nil, m.begin(ctx)
					}
					update.Apply(&s)
					gap()
					return write(ctx, m, func() (*adapter.Session, error) {
						m.sessions[s.SessionToken] = copySession(s)
						return &s, nil
					})
				}}
			}},
		{Name: "update undoes deletion in statements", Fails: []string{"CONC-07"}, Races: true,
			Fault: "UpdateSession is a SELECT and an INSERT OR REPLACE",
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					found, err := l.GetSessionAndUser(ctx, update.SessionToken)
					if found == nil || err != nil {
						return nil, err
					}
					s := found.Session
					update.Apply(&s)
					return &s, l.exec(ctx, `INSERT OR REPLACE INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`, s.SessionToken, s.UserID, s.Expires.UnixMilli())
				}}
			}},
		{Name: "updates are lost", Fails: []string{"CONC-08"}, Races: true,
			Fault: "UpdateUser reads the user, then stores all fields",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					u, err := m.GetUser(ctx, update.ID)
					if u == nil || err != nil {
						return m.UpdateUser(ctx, update)
					}
					update.Apply(u)
					gap()
					return m.UpdateUser(ctx, adapter.UserUpdate{
						ID: u.ID, Name: adapter.To(u.Name), Email: adapter.To(u.Email), EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image),
					})
				}}
			}},
		{Name: "updates are lost in statements", Fails: []string{"CONC-08"}, Races: true,
			Fault: "UpdateUser is a SELECT and an UPDATE of all columns",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					u, err := l.GetUser(ctx, update.ID)
					if u == nil || err != nil {
						return l.UpdateUser(ctx, update)
					}
					update.Apply(u)
					return l.UpdateUser(ctx, adapter.UserUpdate{
						ID: u.ID, Name: adapter.To(u.Name), Email: adapter.To(u.Email), EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image),
					})
				}}
			}},
		{Name: "counter is written as a difference", Fails: []string{"CONC-09"}, Races: true,
			Fault: "UpdateAuthenticatorCounter reads the counter, then adds the difference",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					before, err := m.GetAuthenticator(ctx, id)
					if before == nil || err != nil {
						return m.UpdateAuthenticatorCounter(ctx, id, counter)
					}
					gap()
					return write(ctx, m, func() (*adapter.Authenticator, error) {
						a, ok := m.authenticators[id]
						if !ok {
							return nil, notFound("authenticator")
						}
						a.Counter += counter - before.Counter
						m.authenticators[id] = a
						return new(copyAuthenticator(a)), nil
					})
				}}
			}},
		{Name: "address race", Fails: []string{"CONC-10"}, Races: true,
			Fault: "UpdateUser checks whether the e-mail is taken, then stores in a second step",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					email, set := update.Email.Get()
					m.mu.RLock()
					holder, taken := m.emails[email]
					m.mu.RUnlock()
					if set && taken && holder != update.ID {
						return nil, conflict("the e-mail")
					}
					gap()
					return write(ctx, m, func() (*adapter.User, error) {
						u, ok := m.users[update.ID]
						if !ok {
							return nil, notFound("user")
						}
						update.Apply(&u)
						m.putUser(u)
						return new(copyUser(u)), nil
					})
				}}
			}},
		{Name: "deletion races creation", Fails: []string{"CONC-11"}, Races: true,
			Fault: "CreateSession checks that the user exists, then stores; a session of a user who was deleted meanwhile belongs to the next user with the id",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					m.mu.RLock()
					_, known := m.users[s.UserID]
					_, taken := m.sessions[s.SessionToken]
					m.mu.RUnlock()
					if !known {
						return nil, notFound("user")
					}
					if taken {
						return nil, conflict("the session token")
					}
					gap()
					return write(ctx, m, func() (*adapter.Session, error) {
						s = copySession(s)
						m.sessions[s.SessionToken] = s
						return &s, nil
					})
				}}
			}},
		{Name: "registration is lost", Fails: []string{"CONC-12"}, Races: true,
			Fault: "CreateAuthenticator reads the user's list, then stores it with one more element",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					m.mu.RLock()
					list := slices.Clone(m.credentials[a.UserID])
					m.mu.RUnlock()
					gap()
					created, err := m.CreateAuthenticator(ctx, a)
					if err == nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						m.credentials[a.UserID] = append(list, a.CredentialID)
					}
					return created, err
				}}
			}},
		{Name: "no lock on reads", Listed: "M37", Detector: []string{"CONC-13"}, Process: true,
			Fault: "lookups read the maps without the lock",
			mem: func(m *mem) with {
				unlocked := func() *mem {
					return &mem{records: &records{
						users: m.users, emails: m.emails, accounts: m.accounts, sessions: m.sessions, tokens: m.tokens,
						authenticators: m.authenticators, credentials: m.credentials, extra: m.extra, clock: m.clock, spaces: m.spaces,
					}}
				}
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) { return unlocked().GetUser(ctx, id) },
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						return unlocked().GetUserByEmail(ctx, email)
					},
					getSessionAndUser: func(ctx context.Context, t string) (*adapter.SessionAndUser, error) {
						return unlocked().GetSessionAndUser(ctx, t)
					},
					getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						return unlocked().GetAuthenticator(ctx, id)
					},
				}
			}},
		{Name: "update is deletion and creation", Fails: []string{"CONC-14"}, Races: true,
			Fault: "UpdateSession deletes the session and creates it again",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					s, err := m.DeleteSession(ctx, update.SessionToken)
					if s == nil || err != nil {
						return nil, err
					}
					update.Apply(s)
					gap()
					return m.CreateSession(ctx, *s)
				}}
			}},
		{Name: "contention is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "UpdateUser fails if another call is writing",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					if !m.mu.TryLock() {
						return nil, errors.New("mem: database is locked")
					}
					m.mu.Unlock()
					return m.UpdateUser(ctx, update)
				}}
			}},
		{Name: "second connection inside a transaction", Fails: []string{"CONC-16"},
			Fault: "UpdateUser holds a connection while it takes another from the pool",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					conn, err := l.db.Conn(ctx)
					if err != nil {
						return nil, err
					}
					defer func() { _ = conn.Close() }()
					return l.UpdateUser(ctx, update)
				}}
			}},
		{Name: "unlink and link disagree", Fails: []string{"CONC-17"}, Races: true,
			Fault: "the owner of a pair is stored apart from the account and deleted after it",
			mem: func(m *mem) with {
				owners := kept(m.records, "owners", func() map[adapter.AccountKey]string { return map[adapter.AccountKey]string{} })
				return with{
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						linked, err := m.LinkAccount(ctx, a)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							owners[a.Key()] = a.UserID
						}
						return linked, err
					},
					unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
						a, err := m.UnlinkAccount(ctx, key)
						gap()
						m.mu.Lock()
						defer m.mu.Unlock()
						delete(owners, key)
						return a, err
					},
					getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
						return read(ctx, m, func() (*adapter.User, error) { return m.user(owners[key]), nil })
					},
				}
			}},
		{Name: "sessions fall out of the list", Fails: []string{"CONC-18"}, AuthJS: true, Races: true,
			Fault: "CreateSession reads the user's list of sessions, then stores it with one more element; DeleteUser deletes the sessions in the list",
			mem: func(m *mem) with {
				lists := kept(m.records, "lists", func() map[string][]string { return map[string][]string{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						m.mu.RLock()
						list := slices.Clone(lists[s.UserID])
						m.mu.RUnlock()
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							gap()
							m.mu.Lock()
							defer m.mu.Unlock()
							lists[s.UserID] = append(list, s.SessionToken)
						}
						return created, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return write(ctx, m, func() (*adapter.User, error) {
							u := m.user(id)
							if u == nil {
								return nil, nil
							}
							m.dropAccounts(id)
							m.dropAuthenticators(id)
							for _, token := range lists[id] {
								delete(m.sessions, token)
							}
							delete(lists, id)
							u.Name = nil // the user's record stays, so that sessions can be read
							m.users[id] = *u
							delete(m.emails, u.Email)
							return u, nil
						})
					},
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return read(ctx, m, func() (*adapter.User, error) {
							if u := m.user(id); u != nil && (u.Email == "" || m.emails[u.Email] == id) {
								return u, nil
							}
							return nil, nil
						})
					},
				}
			}},
	}
}

// gap lets other calls run between two steps of a call.
func gap() {
	runtime.Gosched()
	runtime.Gosched()
}

// peek reads a verification token without using it.
func (l *lite) peek(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	found, err := l.column(ctx, `SELECT expires FROM "verificationToken" WHERE identifier = ? AND token = ?`, key.Identifier, key.Token)
	if len(found) == 0 || err != nil {
		return nil, err
	}
	var ms int64
	if _, err := fmt.Sscan(found[0], &ms); err != nil {
		return nil, err
	}
	return &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: millis(ms)}, nil
}

// foundBefore calls create for an owner who was looked up before. If the owner was there, it
// turns a refusal because of an absent owner into a conflict.
func foundBefore[T any](owner *adapter.User, err error, create func() (*T, error)) (*T, error) {
	if err != nil {
		return nil, err
	}
	created, err := create()
	if owner != nil && errors.Is(err, adapter.ErrNotFound) {
		return nil, conflict("the key")
	}
	return created, err
}
