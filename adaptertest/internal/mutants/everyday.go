package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// flight is a query that several callers wait for.
type flight struct {
	done chan struct{}
	s    *adapter.SessionAndUser
	err  error
}

// everydayMutants have faults that experienced authors make: with caches,
// reservations, limits of transactions, ORMs and indexes.
func everydayMutants() []Mutant {
	return []Mutant{
		{Name: "short extension is not written", Fault: "UpdateSession returns an extension by less than a minute and does not store it.", Fails: []string{"TIME-02"}, mem: func(m *mem) with {
			return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
				m.mu.RLock()
				s, ok := m.sessions[u.SessionToken]
				m.mu.RUnlock()
				if to, set := u.Expires.Get(); ok && set && !u.UserID.IsSet() && to.After(s.Expires) && to.Sub(s.Expires) < time.Minute {
					if err := m.begin(ctx); err != nil {
						return nil, err
					}
					s.Expires = to.UTC()
					return &s, nil
				}
				return m.UpdateSession(ctx, u)
			}}
		}},
		{Name: "failed update keeps the address reserved", Fault: "UpdateUser of an absent user fails after it has reserved the address.", Fails: []string{"ERR-12"}, mem: func(m *mem) with {
			return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
				got, err := m.UpdateUser(ctx, u)
				if email, set := u.Email.Get(); err != nil && set && email != "" && ctx.Err() == nil {
					m.mu.Lock()
					defer m.mu.Unlock()
					if _, ok := m.users[u.ID]; !ok && m.emails[email] == "" {
						m.emails[email] = u.ID
					}
				}
				return got, err
			}}
		}},
		{Name: "account key of a deleted user stays taken", Fault: "DeleteUser leaves the keys of the user's accounts in the index.", Fails: []string{"CASC-03"}, mem: func(m *mem) with {
			gone := kept(m.records, "gone", func() map[adapter.AccountKey]bool { return map[adapter.AccountKey]bool{} })
			return with{
				deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						u := m.user(id)
						if u == nil {
							return nil, nil
						}
						for k, a := range m.accounts {
							if a.UserID == id {
								gone[k] = true
							}
						}
						m.dropAccounts(id)
						m.dropSessions(id)
						m.dropAuthenticators(id)
						m.dropUser(id)
						return u, nil
					})
				},
				linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					m.mu.RLock()
					taken := gone[a.Key()]
					m.mu.RUnlock()
					if taken {
						return nil, conflict("the account")
					}
					return m.LinkAccount(ctx, a)
				},
			}
		}},
		{Name: "touch from zero has no condition", Fault: "TouchAuthenticator from counter zero drops the condition on the stored counter.", Fails: []string{"AEDIT-08"}, lite: func(l *lite) with {
			return with{optional: optional{touch: func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				if from == 0 {
					if err := l.exec(ctx, `UPDATE "authenticator" SET counter = 0 WHERE credentialID = ?`, id); err != nil {
						return nil, err
					}
				}
				return l.TouchAuthenticator(ctx, id, from, to, used)
			}}}
		}},
		{Name: "user with a hundred records can't be deleted", Fault: "DeleteUser is one transaction, and the store allows a hundred items in a transaction.", Fails: []string{"CASC-09"}, lite: func(l *lite) with {
			return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
				var n int
				err := l.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM "account" WHERE userId = ?1) + (SELECT count(*) FROM "session" WHERE userId = ?1) + (SELECT count(*) FROM "authenticator" WHERE userId = ?1)`, id).Scan(&n)
				if err != nil {
					return nil, err
				}
				if n >= 100 {
					return nil, fmt.Errorf("lite: a transaction has at most 100 items")
				}
				return l.DeleteUser(ctx, id)
			}}
		}},
		{Name: "update makes the empty text null", Fault: "UpdateAccount stores null for a field that is set to the empty text.", Fails: []string{"ALIST-04"}, mem: func(m *mem) with {
			return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
				for _, f := range []*adapter.Change[*string]{&u.AccessToken, &u.RefreshToken, &u.IDToken, &u.Scope, &u.TokenType, &u.SessionState} {
					if v, set := f.Get(); set && v != nil && *v == "" {
						*f = adapter.To[*string](nil)
					}
				}
				return m.UpdateAccount(ctx, u)
			}}}
		}},
		{Name: "new address is not verified", Fault: "UpdateUser with an address alone clears emailVerified.", Fails: []string{"USER-17"}, lite: func(l *lite) with {
			return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
				if u.Email.IsSet() && !u.EmailVerified.IsSet() {
					u.EmailVerified = adapter.To[*time.Time](nil)
				}
				return l.UpdateUser(ctx, u)
			}}
		}},
		{Name: "sign-up connects the authenticator", Fault: "CreateUserWithAccount gives the authenticator the id of the account.", Fails: []string{"SIGNUP-05"}, lite: func(l *lite) with {
			return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				if x != nil {
					c := *x
					c.ProviderAccountID = a.ProviderAccountID
					x = &c
				}
				return l.CreateUserWithAccount(ctx, u, a, x)
			}}}
		}},
		{Name: "change of address is a delete and an insert", Fault: "UpdateUser with a new address deletes the user and inserts it again; the user is absent between the two.", Fails: []string{"CONC-10"}, Races: true, mem: func(m *mem) with {
			return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
				if !u.Email.IsSet() {
					return m.UpdateUser(ctx, u)
				}
				var old adapter.User
				_, err := write(ctx, m, func() (*adapter.User, error) {
					x, ok := m.users[u.ID]
					if !ok {
						return nil, notFound("user")
					}
					old = x
					u.Apply(&x)
					if holder, taken := m.emails[x.Email]; taken && holder != x.ID {
						return nil, conflict("the e-mail")
					}
					m.dropUser(x.ID)
					return nil, nil
				})
				if err != nil {
					return nil, err
				}
				runtime.Gosched()
				m.mu.Lock()
				defer m.mu.Unlock()
				u.Apply(&old)
				m.putUser(old)
				return new(copyUser(old)), nil
			}}
		}},
		{Name: "cached miss outlives a sign-up", Fault: "GetUserByAccount caches misses, and CreateUserWithAccount does not clear the cache.", Fails: []string{"SIGNUP-03"}, mem: func(m *mem) with {
			var mu sync.Mutex
			miss := map[adapter.AccountKey]bool{}
			return with{
				getUserByAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
					mu.Lock()
					known := miss[k]
					mu.Unlock()
					if err := m.begin(ctx); err != nil {
						return nil, err
					}
					if known {
						return nil, nil
					}
					u, err := m.GetUserByAccount(ctx, k)
					if u == nil && err == nil {
						mu.Lock()
						miss[k] = true
						mu.Unlock()
					}
					return u, err
				},
				linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					got, err := m.LinkAccount(ctx, a)
					mu.Lock()
					delete(miss, a.Key())
					mu.Unlock()
					return got, err
				},
			}
		}},
		{Name: "cached session keeps its first user", Fault: "GetSessionAndUser caches the owner, and UpdateSession of the owner does not clear the cache.", Fails: []string{"SESS-08"}, mem: func(m *mem) with {
			cache := kept(m.records, "cache", func() *sync.Map { return &sync.Map{} })
			return with{
				getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					got, err := m.GetSessionAndUser(ctx, token)
					if got == nil || err != nil {
						return got, err
					}
					first, _ := cache.LoadOrStore(token, got.User.ID)
					m.mu.RLock()
					defer m.mu.RUnlock()
					if u := m.user(first.(string)); u != nil {
						got.User = *u
					}
					return got, nil
				},
				deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
					cache.Delete(token)
					return m.DeleteSession(ctx, token)
				},
			}
		}},
		{Name: "clean-up rounds the instant", Fault: "DeleteExpired rounds the instant to the nearest second.", Fails: []string{"EXP-09"}, lite: func(l *lite) with {
			return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
				return l.DeleteExpired(ctx, now.Round(time.Second))
			}}
		}},
		{Name: "tokens of another case are deleted too", Fault: "DeleteVerificationTokens compares the identifier without regard to case.", Fails: []string{"TEDIT-02"}, db: func(db sqlite.DB) sqlite.DB {
			return altered{DB: db, query: func(q string, args []any) (string, []any) {
				if strings.HasSuffix(q, `DELETE FROM "verificationToken" WHERE identifier = ?`) {
					q += " COLLATE NOCASE"
				}
				return q, args
			}}
		}},
		{Name: "account of any type is deleted with the authenticator", Fault: "DeleteAuthenticator deletes every account of the user that has the connected id, of any type.", Fails: []string{"AEDIT-02"}, mem: func(m *mem) with {
			return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
				if a != nil {
					m.mu.Lock()
					defer m.mu.Unlock()
					for k, x := range m.accounts {
						if x.UserID == userID && x.ProviderAccountID == a.ProviderAccountID {
							delete(m.accounts, k)
						}
					}
				}
				return a, err
			}}}
		}},
		{Name: "instant of use is the store's time", Fault: "TouchAuthenticator stores the time of the store, not the instant given.", Fails: []string{"AEDIT-07"}, mem: func(m *mem) with {
			return with{optional: optional{touch: func(ctx context.Context, id string, from, to int64, _ time.Time) (*adapter.Authenticator, error) {
				return m.TouchAuthenticator(ctx, id, from, to, m.clock.Now())
			}}}
		}},
		{Name: "empty exception is null", Fault: "DeleteSessionsByUserID compares with NULL if except is empty; no token is unequal to NULL, so no session is deleted.", Fails: []string{"SLIST-04"}, db: replaced("sessionToken <> ?", "sessionToken <> NULLIF(?, '')")},
		{Name: "callers share one lookup", Fault: "Callers of GetSessionAndUser wait for one query, also if it began before a write or its caller gave up.", Fails: []string{"CTX-06"}, lite: func(l *lite) with {
			var mu sync.Mutex
			flights := map[string]*flight{}
			return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
				mu.Lock()
				f, ok := flights[token]
				if !ok {
					f = &flight{done: make(chan struct{})}
					flights[token] = f
				}
				mu.Unlock()
				if !ok {
					f.s, f.err = l.GetSessionAndUser(ctx, token)
					mu.Lock()
					delete(flights, token)
					mu.Unlock()
					close(f.done)
				}
				select {
				case <-f.done:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if f.s == nil {
					return nil, f.err
				}
				return &adapter.SessionAndUser{Session: f.s.Session, User: copyUser(f.s.User)}, f.err
			}}
		}},
		{Name: "pages begin after an expiry", Fault: "ListSessionsByUserID reads pages by expiry: if sessions with one expiry cross the end of a page, some are missing.", Fails: []string{"SLIST-04"}, mem: func(m *mem) with {
			return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
				all, err := m.ListSessionsByUserID(ctx, id)
				if err != nil {
					return nil, err
				}
				slices.SortFunc(all, func(a, b adapter.Session) int {
					return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.SessionToken, b.SessionToken))
				})
				list := []adapter.Session{}
				for len(all) > 0 {
					n := min(len(all), 50)
					list = append(list, all[:n]...)
					last := all[n-1].Expires
					all = slices.DeleteFunc(all[n:], func(s adapter.Session) bool { return !s.Expires.After(last) })
				}
				return list, nil
			}}}
		}},
		{Name: "one account of each provider is listed", Fault: "ListAccountsByUserID builds a map keyed by provider.", Fails: []string{"ALIST-01"}, lite: func(l *lite) with {
			return with{optional: optional{listAccounts: func(ctx context.Context, id string) ([]adapter.Account, error) {
				all, err := l.ListAccountsByUserID(ctx, id)
				seen := map[string]bool{}
				return slices.DeleteFunc(all, func(a adapter.Account) bool {
					was := seen[a.Provider]
					seen[a.Provider] = true
					return was
				}), err
			}}}
		}},
		{Name: "update keeps seconds", Fault: "UpdateUser stores emailVerified in seconds, CreateUser in milliseconds.", Fails: []string{"TIME-01"}, lite: func(l *lite) with {
			return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
				if at, set := u.EmailVerified.Get(); set && at != nil {
					u.EmailVerified = adapter.To(new(at.Truncate(time.Second)))
				}
				return l.UpdateUser(ctx, u)
			}}
		}},
		{Name: "UUID is found in other spellings", Fault: "GetUser accepts every spelling of a UUID.", Fails: []string{"USER-08"}, mem: func(m *mem) with {
			hex := regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
			return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
				u, err := m.GetUser(ctx, id)
				if u != nil || err != nil {
					return u, err
				}
				plain := strings.ToLower(strings.ReplaceAll(strings.Trim(id, "{}"), "-", ""))
				if !hex.MatchString(plain) {
					return nil, nil
				}
				return m.GetUser(ctx, plain[:8]+"-"+plain[8:12]+"-"+plain[12:16]+"-"+plain[16:20]+"-"+plain[20:])
			}}
		}},
		{Name: "shortened session is swept at its old end", Fault: "The index of expiries keeps the latest one of a session: DeleteExpired does not find a session that was shortened.", Fails: []string{"EXP-06"}, mem: func(m *mem) with {
			ends := kept(m.records, "ends", func() map[string]time.Time { return map[string]time.Time{} })
			note := func(s *adapter.Session) {
				if s == nil {
					return
				}
				m.mu.Lock()
				defer m.mu.Unlock()
				if s.Expires.After(ends[s.SessionToken]) {
					ends[s.SessionToken] = s.Expires
				}
			}
			return with{
				createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					m.mu.Lock()
					delete(ends, s.SessionToken)
					m.mu.Unlock()
					got, err := m.CreateSession(ctx, s)
					note(got)
					return got, err
				},
				updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					got, err := m.UpdateSession(ctx, u)
					note(got)
					return got, err
				},
				deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool { return !ends[s.SessionToken].After(now) })
				},
			}
		}},
		{Name: "ten tokens for an identifier", Fault: "The eleventh token of an identifier removes the first.", Fails: []string{"VTOK-13"}, lite: func(l *lite) with {
			return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
				got, err := l.CreateVerificationToken(ctx, t)
				if err == nil {
					err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?1 AND token NOT IN (SELECT token FROM "verificationToken" WHERE identifier = ?1 ORDER BY expires DESC LIMIT 10)`, t.Identifier)
				}
				if err != nil {
					return nil, err
				}
				return got, nil
			}}
		}},
		{Name: "failed sign-up deletes the user who has the id", Fault: "CreateUserWithAccount undoes a failure by deleting the user with the id, also a user who existed before.", Fails: []string{"SIGNUP-03"}, lite: func(l *lite) with {
			return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				got, err := l.CreateUserWithAccount(ctx, u, a, x)
				if err != nil && u.ID != "" {
					_, _ = l.DeleteUser(context.WithoutCancel(ctx), u.ID)
				}
				return got, err
			}}}
		}},
		{Name: "renaming writes the counter too", Fault: "RenameAuthenticator reads the record and writes its counter again.", Fails: []string{"CONC-20"}, lite: func(l *lite) with {
			return with{optional: optional{renameAuthenticator: func(ctx context.Context, userID, id, name string) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if a == nil || err != nil || a.UserID != userID {
					return nil, err
				}
				if _, err := l.RenameAuthenticator(ctx, userID, id, name); err != nil {
					return nil, err
				}
				return l.UpdateAuthenticatorCounter(ctx, id, a.Counter)
			}}}
		}},
	}
}

// pairedMutants have the same faults as those everyday mutants for which a clause was
// added, but break the other correct adapter.
func pairedMutants() []Mutant {
	return []Mutant{
		{Name: "own account is linked again", Fault: "LinkAccount of an account that the user has replaces its tokens.", Fails: []string{"ACCT-22"}, mem: func(m *mem) with {
			return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if old, ok := m.accounts[a.Key()]; ok && old.UserID == a.UserID && m.begin(ctx) == nil {
					m.putAccount(a)
					return new(copyAccount(a)), nil
				}
				m.mu.Unlock()
				defer m.mu.Lock()
				return m.LinkAccount(ctx, a)
			}}
		}},
		{Name: "linking again is not refused", Fault: "LinkAccount of an account that the user has returns the stored one, and no error.", Fails: []string{"ACCT-22"}, lite: func(l *lite) with {
			return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
				linked, err := l.LinkAccount(ctx, a)
				if errors.Is(err, adapter.ErrConflict) {
					if old, _ := l.GetAccount(ctx, a.ProviderAccountID, a.Provider); old != nil && old.UserID == a.UserID {
						return old, nil
					}
				}
				return linked, err
			}}
		}},
		{Name: "clean-up compares seconds", Fault: "DeleteExpired compares whole seconds.", Fails: []string{"EXP-09"}, mem: func(m *mem) with {
			return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
				return m.DeleteExpired(ctx, now.Truncate(time.Second).Add(time.Second-1))
			}}
		}},
		{Name: "clean-up searches by the first expiry", Fault: "DeleteExpired finds sessions by the expiry that they were created with, and then compares the expiry of the record.", Fails: []string{"EXP-06"}, lite: func(l *lite) with {
			const ends = `CREATE TABLE IF NOT EXISTS ends (token TEXT PRIMARY KEY, at INTEGER)`
			return with{
				createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := l.CreateSession(ctx, s)
					if err == nil {
						err = errors.Join(l.exec(ctx, ends), l.exec(ctx, `INSERT OR REPLACE INTO ends VALUES (?, ?)`, s.SessionToken, s.Expires.UnixMilli()))
					}
					return created, err
				},
				deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					if err := l.exec(ctx, ends); err != nil {
						return swept, err
					}
					kept, err := l.column(ctx, `SELECT sessionToken FROM "session" JOIN ends ON token = sessionToken WHERE expires <= ?1 AND at > ?1`, now.UnixMilli())
					if err != nil {
						return swept, err
					}
					sessions := []*adapter.SessionAndUser{}
					for _, token := range kept {
						s, err := l.GetSessionAndUser(ctx, token)
						if err != nil || s == nil {
							return swept, err
						}
						sessions = append(sessions, s)
					}
					swept, err = l.DeleteExpired(ctx, now)
					for _, s := range sessions {
						if _, err := l.CreateSession(ctx, s.Session); err != nil {
							return swept, err
						}
						swept.Sessions--
					}
					return swept, err
				},
			}
		}},
		{Name: "failed link keeps the key reserved", Fault: "LinkAccount for an absent owner fails after it has reserved the key.", Fails: []string{"ERR-12"}, lite: func(l *lite) with {
			var reserved sync.Map
			return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
				if _, taken := reserved.Load(a.Key()); taken {
					return nil, fmt.Errorf("lite: the key is reserved: %w", adapter.ErrConflict)
				}
				linked, err := l.LinkAccount(ctx, a)
				if errors.Is(err, adapter.ErrNotFound) {
					reserved.Store(a.Key(), true)
				}
				return linked, err
			}}
		}},
		{Name: "renaming writes the whole record", Fault: "RenameAuthenticator reads the record, changes it and writes all its fields.", Fails: []string{"CONC-20"}, Races: true, mem: func(m *mem) with {
			return with{optional: optional{renameAuthenticator: func(ctx context.Context, userID, id, name string) (*adapter.Authenticator, error) {
				a, err := m.GetAuthenticator(ctx, id)
				if a == nil || err != nil || a.UserID != userID {
					return nil, err
				}
				runtime.Gosched()
				return write(ctx, m, func() (*adapter.Authenticator, error) {
					a.Name = copyText(&name)
					m.authenticators[id] = copyAuthenticator(*a)
					return a, nil
				})
			}}}
		}},
		{Name: "id is found in upper case", Fault: "GetUser looks up an unknown id in lower case too.", Fails: []string{"USER-08"}, lite: func(l *lite) with {
			return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
				u, err := l.GetUser(ctx, id)
				if u == nil && err == nil {
					return l.GetUser(ctx, strings.ToLower(id))
				}
				return u, err
			}}
		}},
		{Name: "tokens of a user are joined with commas", Fault: "The list of a user's session tokens is one text that is split at commas.", Fails: []string{"SLIST-01", "SLIST-04"}, mem: func(m *mem) with {
			split := func(id string) []string {
				var tokens []string
				for token := range m.sessionsOf[id] {
					if s, ok := m.sessions[token]; ok && s.UserID == id {
						tokens = append(tokens, token)
					}
				}
				return strings.Split(strings.Join(tokens, ","), ",")
			}
			return with{optional: optional{
				listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					return read(ctx, m, func() ([]adapter.Session, error) {
						list := []adapter.Session{}
						for _, token := range split(id) {
							if s, ok := m.sessions[token]; ok {
								list = append(list, copySession(s))
							}
						}
						return list, nil
					})
				},
				deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
					return write(ctx, m, func() (n int64, err error) {
						for _, token := range split(id) {
							if _, ok := m.sessions[token]; ok && token != except {
								delete(m.sessions, token)
								n++
							}
						}
						return n, nil
					})
				},
			}}
		}},
		{Name: "accounts of a user are joined with colons", Fault: "The list of a user's accounts joins provider and id with a colon, and each entry is split at the first colon.", Fails: []string{"ALIST-01"}, lite: func(l *lite) with {
			return with{optional: optional{listAccounts: func(ctx context.Context, id string) ([]adapter.Account, error) {
				keys, err := l.column(ctx, `SELECT provider || ':' || providerAccountId FROM "account" WHERE userId = ?`, id)
				list := []adapter.Account{}
				for _, key := range keys {
					provider, account, _ := strings.Cut(key, ":")
					a, e := l.GetAccount(ctx, account, provider)
					if a != nil {
						list = append(list, *a)
					}
					err = errors.Join(err, e)
				}
				return list, err
			}}}
		}},
		{Name: "credentials of a user are joined with line breaks", Fault: "The list of a user's credential ids is one text with a line for each.", Fails: []string{"AUTHN-04"}, lite: func(l *lite) with {
			return with{listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
				ids, err := l.column(ctx, `SELECT credentialID FROM "authenticator" WHERE userId = ?`, id)
				list := []adapter.Authenticator{}
				for _, line := range strings.Fields(strings.Join(ids, "\n")) {
					a, e := l.GetAuthenticator(ctx, line)
					if a != nil {
						list = append(list, *a)
					}
					err = errors.Join(err, e)
				}
				return list, err
			}}
		}},
		{Name: "identifier is split at semicolons", Fault: "DeleteVerificationTokens treats an identifier with semicolons as several.", Fails: []string{"TEDIT-02"}, mem: func(m *mem) with {
			return with{optional: optional{deleteTokens: func(ctx context.Context, identifier string) (n int64, err error) {
				for _, one := range strings.Split(identifier, ";") {
					deleted, e := m.DeleteVerificationTokens(ctx, one)
					n, err = n+deleted, errors.Join(err, e)
				}
				return n, err
			}}}
		}},
		{Name: "owner is found by the provider in upper case", Fault: "GetUserByAccount looks up an unknown provider in lower case too.", Fails: []string{"ACCT-08"}, lite: func(l *lite) with {
			return with{getUserByAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
				u, err := l.GetUserByAccount(ctx, k)
				if u == nil && err == nil {
					return l.GetUserByAccount(ctx, adapter.AccountKey{Provider: strings.ToLower(k.Provider), ProviderAccountID: k.ProviderAccountID})
				}
				return u, err
			}}
		}},
		{Name: "session is found by its token in lower case", Fault: "GetSessionAndUser looks up an unknown token in upper case too.", Fails: []string{"SESS-04"}, mem: func(m *mem) with {
			return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
				s, err := m.GetSessionAndUser(ctx, token)
				if s == nil && err == nil {
					return m.GetSessionAndUser(ctx, strings.ToUpper(token))
				}
				return s, err
			}}
		}},
		{Name: "token is used in upper case", Fault: "UseVerificationToken looks up an unknown token in lower case too.", Fails: []string{"VTOK-13"}, mem: func(m *mem) with {
			return with{useToken: func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, k)
				if t == nil && err == nil && k.Token != "" {
					return m.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: k.Identifier, Token: strings.ToLower(k.Token)})
				}
				return t, err
			}}
		}},
		{Name: "credential is found in lower case", Fault: "GetAuthenticator looks up an unknown id in upper case too.", Fails: []string{"AUTHN-15"}, lite: func(l *lite) with {
			return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if a == nil && err == nil {
					return l.GetAuthenticator(ctx, strings.ToUpper(id))
				}
				return a, err
			}}
		}},
		{Name: "update reads numbers of the details as floats", Fault: "UpdateAccount decodes the details into doubles and encodes them again.", Fails: []string{"DATA-14"}, lite: func(l *lite) with {
			return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
				if details, set := u.AuthorizationDetails.Get(); set && details != nil {
					u.AuthorizationDetails = adapter.To(asDoubles(details))
				}
				return l.UpdateAccount(ctx, u)
			}}}
		}},
		{Name: "sign-up reads numbers of the details as floats", Fault: "CreateUserWithAccount decodes the details into doubles and encodes them again.", Fails: []string{"DATA-14"}, mem: func(m *mem) with {
			return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				a.AuthorizationDetails = asDoubles(a.AuthorizationDetails)
				return m.CreateUserWithAccount(ctx, u, a, x)
			}}}
		}},
		{Name: "update stores the expiry in 32 bits", Fault: "UpdateAccount cuts expires_at to 32 bits.", Fails: []string{"DATA-14"}, mem: func(m *mem) with {
			return with{optional: optional{updateAccount: func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
				if at, set := u.ExpiresAt.Get(); set && at != nil {
					u.ExpiresAt = adapter.To(new(int64(uint32(*at)))) //nolint:gosec // the fault
				}
				return m.UpdateAccount(ctx, u)
			}}}
		}},
		{Name: "authenticators are deleted with the account", Fault: "UnlinkAccount deletes the authenticators that are connected to the account.", Fails: []string{"ACCT-10"}, lite: func(l *lite) with {
			return with{unlinkAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
				a, err := l.UnlinkAccount(ctx, k)
				if a != nil {
					err = l.exec(ctx, `DELETE FROM "authenticator" WHERE providerAccountId = ? AND userId = ?`, a.ProviderAccountID, a.UserID)
				}
				return a, err
			}}
		}},
		{Name: "used token ends the sessions", Fault: "UseVerificationToken deletes the sessions of the user with the address.", Fails: []string{"VTOK-14"}, mem: func(m *mem) with {
			return with{useToken: func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, k)
				if t != nil {
					m.mu.Lock()
					defer m.mu.Unlock()
					if id, ok := m.emails[t.Identifier]; ok {
						m.dropSessions(id)
					}
				}
				return t, err
			}}
		}},
		{Name: "moved session ends with the others", Fault: "DeleteSessionsByUserID lists the sessions and deletes each by its token, also if another user has it by then.", Fails: []string{"SLIST-06"}, lite: func(l *lite) with {
			return with{optional: optional{deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
				return endListed(ctx, l, id, except)
			}}}
		}},
		{Name: "session moved meanwhile ends too", Fault: "DeleteSessionsByUserID lists the sessions, does other work, and deletes each by its token.", Fails: []string{"SLIST-06"}, Races: true, mem: func(m *mem) with {
			return with{optional: optional{deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
				return endListed(ctx, m, id, except)
			}}}
		}},
		{Name: "tokens that begin with the address are deleted", Fault: "DeleteUser deletes the tokens whose identifiers begin with the address.", Fails: []string{"CASC-05"}, lite: func(l *lite) with {
			return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
				u, err := l.DeleteUser(ctx, id)
				if u != nil && u.Email != "" {
					err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier LIKE ? || '%'`, u.Email)
				}
				return u, err
			}}
		}},
		{Name: "tokens of the address in any case are deleted", Fault: "DeleteUser deletes the tokens of the address without regard to case.", Fails: []string{"CASC-05"}, mem: func(m *mem) with {
			return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
				u, err := m.DeleteUser(ctx, id)
				if u != nil {
					m.mu.Lock()
					defer m.mu.Unlock()
					for k := range m.tokens {
						if strings.EqualFold(k.Identifier, u.Email) {
							delete(m.tokens, k)
						}
					}
				}
				return u, err
			}}
		}},
	}
}

// asDoubles decodes JSON into Go's default types and encodes it again.
func asDoubles(details json.RawMessage) json.RawMessage {
	var x any
	if json.Unmarshal(details, &x) != nil {
		return details
	}
	again, err := json.Marshal(x)
	if err != nil {
		return details
	}
	return again
}

// endListed lists a user's sessions and deletes each by its token. Other calls
// can run in between.
func endListed(ctx context.Context, b base, id, except string) (n int64, err error) {
	all, err := b.ListSessionsByUserID(ctx, id)
	for _, s := range all {
		if err != nil {
			return n, err
		}
		if s.SessionToken == except {
			continue
		}
		for range 20 {
			runtime.Gosched()
		}
		var deleted *adapter.Session
		if deleted, err = b.DeleteSession(ctx, s.SessionToken); deleted != nil {
			n++
		}
	}
	return n, err
}
