package mutants

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// besideMutants are wrong only beside another call, after a read, or after a
// clean-up of other records. The suite missed them, or noticed them by chance, in a batch
// that its authors had not seen.
func besideMutants() []Mutant {
	return []Mutant{
		{Name: "a session whose user goes is an error", Races: true, Fault: "GetSessionAndUser reads the session and then the user. If the user is deleted in between, it returns an error.", Fails: []string{"CONC-15"},
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					return joinedSession(ctx, m, token, func(u *adapter.User, err error) (*adapter.User, error) {
						if u == nil && err == nil {
							err = errNoOwner
						}
						return u, err
					})
				}}
			}},
		{Name: "an account whose user goes is an error", Races: true, Fault: "GetUserByAccount reads the account and then the user, in two statements. If the user is deleted in between, it returns an error.", Fails: []string{"CONC-15"},
			lite: func(l *lite) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					a, err := l.GetAccount(ctx, key.ProviderAccountID, key.Provider)
					if a == nil || err != nil {
						return nil, err
					}
					u, err := l.GetUser(ctx, a.UserID)
					if u == nil && err == nil {
						err = errNoOwner
					}
					return u, err
				}}
			}},
		{Name: "extension gives up", Races: true, Fault: "UpdateSession compares a version and writes. After three attempts that others were faster than, it returns nil, as for an absent session.", Fails: []string{"CONC-19"},
			mem: func(m *mem) with {
				versions := kept(m.records, "versions", func() map[string]int { return map[string]int{} })
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					for range 3 {
						m.mu.RLock()
						version := versions[u.SessionToken]
						m.mu.RUnlock()
						gap()
						m.mu.Lock()
						same := versions[u.SessionToken] == version
						if same {
							versions[u.SessionToken]++
						}
						m.mu.Unlock()
						if same {
							return m.UpdateSession(ctx, u)
						}
					}
					return nil, m.begin(ctx)
				}}
			}},
		{Name: "locked session is skipped", Races: true, Fault: "UpdateSession skips a row that another call has locked (FOR UPDATE SKIP LOCKED), and returns nil, as for an absent session.", Fails: []string{"CONC-19"},
			lite: func(l *lite) with {
				locked := l.common()
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					return unlessLocked(locked, u.SessionToken, func() (*adapter.Session, error) { return l.UpdateSession(ctx, u) })
				}}
			}},
		{Name: "locked passkey is not renamed", Races: true, Fault: "RenameAuthenticator does not wait for another call that renames the same authenticator. It returns nil, as for an absent one.", Fails: []string{"CONC-20"},
			mem: func(m *mem) with {
				locked := m.common()
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return unlessLocked(locked, id, func() (*adapter.Authenticator, error) { return m.RenameAuthenticator(ctx, user, id, name) })
				}}}
			}},
		{Name: "locked row of a passkey is skipped", Races: true, Fault: "RenameAuthenticator skips a row that another call has locked (FOR UPDATE SKIP LOCKED), and returns nil, as for an absent authenticator.", Fails: []string{"CONC-20"},
			lite: func(l *lite) with {
				locked := l.common()
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return unlessLocked(locked, id, func() (*adapter.Authenticator, error) { return l.RenameAuthenticator(ctx, user, id, name) })
				}}}
			}},
		{Name: "busy counter returns nothing", Races: true, Fault: "UpdateAuthenticatorCounter does not wait for another call with the same authenticator. It returns neither a record nor an error.", Fails: []string{"CONC-09"},
			mem: func(m *mem) with {
				locked := m.common()
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return unlessLocked(locked, id, func() (*adapter.Authenticator, error) { return m.UpdateAuthenticatorCounter(ctx, id, counter) })
				}}
			}},
		{Name: "locked counter is skipped", Races: true, Fault: "UpdateAuthenticatorCounter skips a row that another call has locked, and returns neither a record nor an error.", Fails: []string{"CONC-09"},
			lite: func(l *lite) with {
				locked := l.common()
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return unlessLocked(locked, id, func() (*adapter.Authenticator, error) { return l.UpdateAuthenticatorCounter(ctx, id, counter) })
				}}
			}},
		{Name: "second sign-out is an error", Races: true, Fault: "DeleteSession reads the session and then deletes it. If another call has deleted it in between, it returns an error.", Fails: []string{"CONC-15"},
			mem: func(m *mem) with {
				return with{deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
					return deletesWhatItRead(func() (*adapter.Session, error) {
						s, err := m.GetSessionAndUser(ctx, token)
						if s == nil {
							return nil, err
						}
						return &s.Session, err
					}, func() (*adapter.Session, error) { return m.DeleteSession(ctx, token) })
				}}
			}},
		{Name: "second unlinking is an error", Races: true, Fault: "UnlinkAccount reads the account and then deletes the row. If another call has deleted it in between, it returns an error.", Fails: []string{"CONC-15"},
			lite: func(l *lite) with {
				return with{unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					return deletesWhatItRead(func() (*adapter.Account, error) { return l.GetAccount(ctx, key.ProviderAccountID, key.Provider) },
						func() (*adapter.Account, error) { return l.UnlinkAccount(ctx, key) })
				}}
			}},
		{Name: "link that comes second is no conflict", Races: true, Fault: "LinkAccount looks the pair up and returns ErrConflict if it is there. If another call links it in between, the error of the store is returned as it is.", Fails: []string{"CONC-15"},
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return createsWhatIsNotThere(func() (*adapter.Account, error) { return m.GetAccount(ctx, a.ProviderAccountID, a.Provider) },
						func() (*adapter.Account, error) { return m.LinkAccount(ctx, a) })
				}}
			}},
		{Name: "passkey that comes second is no conflict", Races: true, Fault: "CreateAuthenticator looks the credential ID up and returns ErrConflict if it is there. If another call creates it in between, the violation of the constraint is returned as it is.", Fails: []string{"CONC-15"},
			lite: func(l *lite) with {
				return with{createAuthenticator: func(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
					return createsWhatIsNotThere(func() (*adapter.Authenticator, error) { return l.GetAuthenticator(ctx, w.CredentialID) },
						func() (*adapter.Authenticator, error) { return l.CreateAuthenticator(ctx, w) })
				}}
			}},
		{Name: "busy account is not found", Races: true, Fault: "UpdateAccount does not wait for another call with the same account. It returns ErrNotFound, as for an absent one.", Fails: []string{"CONC-15"},
			mem: func(m *mem) with {
				locked := m.common()
				return with{optional: optional{updateAccount: foundUnlessLocked(locked, m.UpdateAccount)}}
			}},
		{Name: "locked account is not found", Races: true, Fault: "UpdateAccount skips a row that another call has locked (FOR UPDATE SKIP LOCKED), and returns ErrNotFound, as for an absent account.", Fails: []string{"CONC-15"},
			lite: func(l *lite) with {
				locked := l.common()
				return with{optional: optional{updateAccount: foundUnlessLocked(locked, l.UpdateAccount)}}
			}},
		{Name: "new name is cut", Fault: "RenameAuthenticator cuts the name after 60 characters.", Fails: []string{"AEDIT-06"},
			mem: func(m *mem) with {
				return with{optional: optional{renameAuthenticator: cuttingNames(m.RenameAuthenticator, 60)}}
			}},
		{Name: "new name is cut to the column", Fault: "RenameAuthenticator cuts the name after 255 characters, the width of its column.", Fails: []string{"AEDIT-06"},
			lite: func(l *lite) with {
				return with{optional: optional{renameAuthenticator: cuttingNames(l.RenameAuthenticator, 255)}}
			}},
		{Name: "new name brings a passkey back", Races: true, Fault: "RenameAuthenticator reads the record, changes it and writes the whole of it. If it is deleted in between, it is there again.", Fails: []string{"CONC-07"},
			mem: func(m *mem) with {
				return with{optional: optional{renameAuthenticator: func(ctx context.Context, user, id, name string) (*adapter.Authenticator, error) {
					return bringingBack(ctx, m, id, func() (*adapter.Authenticator, error) { return m.RenameAuthenticator(ctx, user, id, name) })
				}}}
			}},
		{Name: "sign-in brings a passkey back", Races: true, Fault: "TouchAuthenticator reads the record, changes it and writes the whole of it. If it is deleted in between, it is there again.", Fails: []string{"CONC-07"},
			lite: func(l *lite) with {
				return with{optional: optional{touch: func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					return bringingBack(ctx, l, id, func() (*adapter.Authenticator, error) { return l.TouchAuthenticator(ctx, id, from, to, used) })
				}}}
			}},
		{Name: "counter brings a passkey back", Races: true, Fault: "UpdateAuthenticatorCounter inserts the record that it has read if the row is not there any more.", Fails: []string{"CONC-07"},
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return bringingBack(ctx, m, id, func() (*adapter.Authenticator, error) { return m.UpdateAuthenticatorCounter(ctx, id, counter) })
				}}
			}},
		{Name: "profile brings a user back", Races: true, Fault: "UpdateUser inserts the user that it has read if the row is not there any more.", Fails: []string{"CONC-07"},
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					old, err := l.GetUser(ctx, update.ID)
					if err != nil {
						return nil, err
					}
					u, err := l.UpdateUser(ctx, update)
					if old == nil || !errors.Is(err, adapter.ErrNotFound) {
						return u, err
					}
					update.Apply(old)
					return l.CreateUser(ctx, *old)
				}}
			}},
		{Name: "second read of a session is not checked", Fault: "GetSessionAndUser reads the session and then the user, and ignores the error of the second read: a call that is cancelled in between finds nothing.", Fails: []string{"CTX-03"},
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					return joinedSession(ctx, m, token, func(u *adapter.User, _ error) (*adapter.User, error) { return u, nil })
				}}
			}},
		{Name: "second statement of a lookup is not checked", Fault: "GetUserByAccount reads the account and then the user, in two statements, and ignores the error of the second one.", Fails: []string{"CTX-03", "ERR-01"},
			lite: func(l *lite) with {
				return with{getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
					a, err := l.GetAccount(ctx, key.ProviderAccountID, key.Provider)
					if a == nil || err != nil {
						return nil, err
					}
					u, _ := l.GetUser(ctx, a.UserID)
					return u, nil
				}}
			}},
		{Name: "owner of an account is remembered", Fault: "GetUserByAccount remembers the ID of the owner until the account is unlinked. Deleting the user does not forget it, so nobody else is found by the account.", Fails: []string{"CASC-03", "CASC-07"},
			mem: func(m *mem) with {
				return rememberingOwners(m, kept(m.records, "owners", func() *sync.Map { return new(sync.Map) }))
			}},
		{Name: "owner of an account is cached", Fault: "GetUserByAccount has a cache of owners in the process, which UnlinkAccount clears and DeleteUser does not.", Fails: []string{"CASC-03", "CASC-07"},
			lite: func(l *lite) with { return rememberingOwners(l, new(sync.Map)) }},
		{Name: "deleted user is returned as first read", Fault: "DeleteUser returns the user from the objects that the adapter has read, which updates do not refresh.", Fails: []string{"CASC-10"},
			mem: func(m *mem) with { return identityMap(m) }},
		{Name: "deleted user is returned as loaded", Fault: "DeleteUser returns the user from an identity map, as GetUser loaded it before an update.", Fails: []string{"CASC-10"},
			lite: func(l *lite) with { return identityMap(l) }},
		{Name: "deleted session is returned as first read", Fault: "DeleteSession returns the session from the objects that the adapter has read, which updates do not refresh.", Fails: []string{"SESS-17"},
			mem: func(m *mem) with { return sessionMap(m) }},
		{Name: "deleted session is returned as loaded", Fault: "DeleteSession returns the session from an identity map, as GetSessionAndUser loaded it before an extension.", Fails: []string{"SESS-17"},
			lite: func(l *lite) with { return sessionMap(l) }},
		{Name: "clean-up drops the index of the user", Fault: "DeleteExpired removes the list of sessions of each user who has an expired one. The sessions that have not expired are not listed, ended or deleted with the user any more.", Fails: []string{"EXP-05"},
			mem: func(m *mem) with {
				unlisted := kept(m.records, "unlisted", func() map[string]bool { return map[string]bool{} })
				return with{
					deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
						return m.sweep(ctx, now, func(s adapter.Session) bool {
							for token, x := range m.sessions {
								unlisted[token] = unlisted[token] || x.UserID == s.UserID
							}
							return true
						})
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return write(ctx, m, func() (*adapter.User, error) {
							u := m.user(id)
							if u == nil {
								return nil, nil
							}
							for token, s := range m.sessions {
								if s.UserID == id && !unlisted[token] {
									delete(m.sessions, token)
								}
							}
							m.dropAccounts(id)
							m.dropAuthenticators(id)
							m.dropUser(id)
							return u, nil
						})
					},
				}
			}},
		{Name: "clean-up forgets the user's other sessions", Fault: "DeleteExpired clears the cached list of sessions of each user who has an expired one. Until the user gets a new session the list is empty, and the end of all sessions ends none.", Fails: []string{"EXP-05"},
			lite: func(l *lite) with {
				var cleared sync.Map
				return with{
					deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
						users, err := l.column(ctx, `SELECT DISTINCT userId FROM "session" WHERE expires <= ?`, now.UnixMilli())
						if err != nil {
							return adapter.Swept{}, err
						}
						for _, id := range users {
							cleared.Store(id, true)
						}
						return l.DeleteExpired(ctx, now)
					},
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						cleared.Delete(strings.Clone(s.UserID))
						return l.CreateSession(ctx, s)
					},
					optional: optional{
						listSessions: func(ctx context.Context, user string) ([]adapter.Session, error) {
							if _, empty := cleared.Load(user); empty {
								return []adapter.Session{}, ctx.Err()
							}
							return l.ListSessionsByUserID(ctx, user)
						},
						deleteSessions: func(ctx context.Context, user, except string) (int64, error) {
							if _, empty := cleared.Load(user); empty {
								return 0, ctx.Err()
							}
							return l.DeleteSessionsByUserID(ctx, user, except)
						},
					},
				}
			}},
	}
}

var errNoOwner = errors.New("the user of the record is missing")

// joinedSession reads a session and then its user.
func joinedSession(ctx context.Context, m *mem, token string, judge func(*adapter.User, error) (*adapter.User, error)) (*adapter.SessionAndUser, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	m.mu.RLock()
	s, ok := m.sessions[token]
	m.mu.RUnlock()
	if !ok {
		return nil, nil
	}
	gap()
	u, err := judge(m.GetUser(ctx, s.UserID))
	if u == nil || err != nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: s, User: *u}, nil
}

// deletesWhatItRead deletes a record that it has read, and fails if it has gone by then.
func deletesWhatItRead[T any](read, remove func() (*T, error)) (*T, error) {
	x, err := read()
	if x == nil || err != nil {
		return nil, err
	}
	gap()
	if x, err = remove(); x == nil && err == nil {
		err = errors.New("no row was deleted")
	}
	return x, err
}

// createsWhatIsNotThere creates a record that it has looked for. A conflict with a record
// that has come by then is another error.
func createsWhatIsNotThere[T any](read, create func() (*T, error)) (*T, error) {
	x, err := read()
	if err != nil {
		return nil, err
	}
	if x != nil {
		return nil, conflict("the key")
	}
	gap()
	if x, err = create(); errors.Is(err, adapter.ErrConflict) {
		err = errors.New("the key violates a unique constraint")
	}
	return x, err
}

// sharedMaps has a map for each database file.
var sharedMaps sync.Map

// common is a map that all handles of the database file share.
func (l *lite) common() *sync.Map {
	shared, _ := sharedMaps.LoadOrStore(l.path, new(sync.Map))
	return shared.(*sync.Map)
}

// common is a map that all handles of the records share.
func (m *mem) common() *sync.Map {
	return kept(m.records, "shared", func() *sync.Map { return new(sync.Map) })
}

// unlessLocked makes a call that locks a row, or returns nothing if the row is locked.
func unlessLocked[T any](locked *sync.Map, row string, call func() (*T, error)) (*T, error) {
	row = strings.Clone(row)
	if _, is := locked.LoadOrStore(row, true); is {
		return nil, nil
	}
	defer locked.Delete(row)
	gap()
	return call()
}

// bringingBack updates an authenticator that it has read before, and creates it
// again if it has gone by then.
func bringingBack(ctx context.Context, b base, id string, update func() (*adapter.Authenticator, error)) (*adapter.Authenticator, error) {
	old, err := b.GetAuthenticator(ctx, id)
	if old == nil || err != nil {
		return update() // which knows what to return
	}
	gap()
	if w, err := update(); w != nil || err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return w, err
	}
	if there, err := b.GetAuthenticator(ctx, id); there != nil || err != nil {
		return nil, err
	}
	return b.CreateAuthenticator(ctx, *old)
}

func foundUnlessLocked(
	locked *sync.Map, update func(context.Context, adapter.AccountUpdate) (*adapter.Account, error),
) func(context.Context, adapter.AccountUpdate) (*adapter.Account, error) {
	return func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
		a, err := unlessLocked(locked, u.Provider+" "+u.ProviderAccountID, func() (*adapter.Account, error) { return update(ctx, u) })
		if a == nil && err == nil {
			err = notFound("account")
		}
		return a, err
	}
}

type renaming func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error)

func cuttingNames(rename renaming, length int) renaming {
	return func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
		letters := []rune(name)
		return rename(ctx, userID, credentialID, string(letters[:min(len(letters), length)]))
	}
}

// rememberingOwners remembers the owners of accounts that GetUserByAccount has found.
func rememberingOwners(b base, owners *sync.Map) with {
	return with{
		getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
			if id, ok := owners.Load(key); ok {
				return b.GetUser(ctx, id.(string))
			}
			u, err := b.GetUserByAccount(ctx, key)
			if u != nil {
				owners.Store(adapter.AccountKey{Provider: strings.Clone(key.Provider), ProviderAccountID: strings.Clone(key.ProviderAccountID)}, u.ID)
			}
			return u, err
		},
		unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
			owners.Delete(key)
			return b.UnlinkAccount(ctx, key)
		},
	}
}

// firstReads has the records of one kind as they were read first.
type firstReads[T any] struct{ records sync.Map }

// deleted returns the record as it was read first, in place of the deleted one.
func (f *firstReads[T]) deleted(key string, gone *T) *T {
	if old, ok := f.records.LoadAndDelete(key); ok && gone != nil {
		return new(old.(T))
	}
	return gone
}

// identityMap returns a deleted user as GetUser read it first.
func identityMap(b base) with {
	var loaded firstReads[adapter.User]
	return with{
		getUser: func(ctx context.Context, id string) (*adapter.User, error) {
			u, err := b.GetUser(ctx, id)
			if u != nil {
				loaded.records.LoadOrStore(u.ID, copyUser(*u))
			}
			return u, err
		},
		deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
			u, err := b.DeleteUser(ctx, id)
			return loaded.deleted(id, u), err
		},
	}
}

// sessionMap returns a deleted session as GetSessionAndUser read it first.
func sessionMap(b base) with {
	var loaded firstReads[adapter.Session]
	return with{
		getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
			s, err := b.GetSessionAndUser(ctx, token)
			if s != nil {
				loaded.records.LoadOrStore(s.Session.SessionToken, copySession(s.Session))
			}
			return s, err
		},
		deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
			s, err := b.DeleteSession(ctx, token)
			return loaded.deleted(token, s), err
		},
	}
}
