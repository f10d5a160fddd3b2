package mutants

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func concMutants() []Mutant {
	return []Mutant{
		{Name: "pair is stored by two callers", OnLite: "pair is stored in two rows", Fails: []string{"CONC-01"}, Races: true,
			Fault: "CreateVerificationToken looks the pair up and then inserts it, without a unique index. Two calls at one moment store it twice, and it can be used twice.",
			both:  insertedTwice},
		{Name: "token race", OnLite: "token race in statements", Listed: "M21", Fails: []string{"CONC-01"}, Races: true,
			Fault: "UseVerificationToken reads the token, lets other calls run, then deletes it and returns the one that it read",
			both: on(useToken, func(ctx context.Context, b base, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := b.peek(ctx, key)
				if t == nil || err != nil {
					return nil, err
				}
				gap()
				_, err = b.UseVerificationToken(ctx, key)
				return t, err
			})},
		{Name: "second of two concurrent uses gets an error", Fails: []string{"CONC-02"}, Races: true,
			Fault: "UseVerificationToken reads the token, then fails if another call has deleted it",
			lite: on(useToken, func(ctx context.Context, l *lite, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := l.peek(ctx, key)
				if t == nil || err != nil {
					return nil, err
				}
				used, err := l.UseVerificationToken(ctx, key)
				if used == nil && err == nil {
					err = errors.New("lite: revision conflict")
				}
				return used, err
			})},
		{Name: "e-mail race", Fails: []string{"CONC-03", "CONC-10"}, Races: true,
			Fault: "CreateUser checks whether the e-mail is taken, then stores in a second step",
			mem: inTwoSteps(createUser, func(m *mem, u adapter.User) error { return freeUser(m.records, &u) },
				func(m *mem, u adapter.User) (*adapter.User, error) {
					u.ID = cmp.Or(u.ID, newID())
					m.putUser(u)
					return new(copyUser(u)), nil
				})},
		{Name: "account race", Fails: []string{"CONC-04"}, Races: true,
			Fault: "LinkAccount checks whether the pair is taken, then stores in a second step",
			mem: inTwoSteps(linkAccount, func(m *mem, a adapter.Account) error {
				return creatable(m.records, m.accounts, a.Key(), "the account", a.UserID)
			}, func(m *mem, a adapter.Account) (*adapter.Account, error) {
				m.accounts[a.Key()] = copyAccount(a)
				return new(copyAccount(a)), nil
			})},
		{Name: "session race", Fails: []string{"CONC-05"}, Races: true,
			Fault: "CreateSession checks whether the token is taken, then stores in a second step",
			lite: on(createSession, func(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
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
			})},
		{Name: "credential race", Fails: []string{"CONC-06"}, Races: true,
			Fault: "CreateAuthenticator checks whether the credential is taken, then stores in a second step",
			mem: inTwoSteps(createAuthenticator, func(m *mem, a adapter.Authenticator) error {
				return creatable(m.records, m.authenticators, a.CredentialID, "the credential id", a.UserID)
			}, func(m *mem, a adapter.Authenticator) (*adapter.Authenticator, error) {
				m.putAuthenticator(a)
				return new(copyAuthenticator(a)), nil
			})},
		{Name: "new name brings a passkey back", Fails: []string{"CONC-07"}, Races: true,
			Fault: "RenameAuthenticator reads the record, changes it and writes the whole of it. If it is deleted in between, it is there again.",
			mem: onRename(func(ctx context.Context, m *mem, user, id, name string) (*adapter.Authenticator, error) {
				return bringingBack(ctx, m, id, func() (*adapter.Authenticator, error) { return m.RenameAuthenticator(ctx, user, id, name) })
			})},
		{Name: "sign-in brings a passkey back", Fails: []string{"CONC-07"}, Races: true,
			Fault: "TouchAuthenticator reads the record, changes it and writes the whole of it. If it is deleted in between, it is there again.",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				return bringingBack(ctx, l, id, func() (*adapter.Authenticator, error) { return l.TouchAuthenticator(ctx, id, from, to, used) })
			})},
		{Name: "counter brings a passkey back", Fails: []string{"CONC-07"}, Races: true,
			Fault: "UpdateAuthenticatorCounter inserts the record that it has read if the row is not there any more.",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				return bringingBack(ctx, m, id, func() (*adapter.Authenticator, error) { return m.UpdateAuthenticatorCounter(ctx, id, counter) })
			})},
		{Name: "profile brings a user back", Fails: []string{"CONC-07"}, Races: true,
			Fault: "UpdateUser inserts the user that it has read if the row is not there any more.",
			lite: on(updateUser, func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
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
			})},
		{Name: "update undoes deletion", Fails: []string{"CONC-07", "CONC-14"}, Races: true,
			Fault: "UpdateSession reads the session, then stores all of it, also if it was deleted meanwhile",
			mem: on(updateSession, func(ctx context.Context, m *mem, update adapter.SessionUpdate) (*adapter.Session, error) {
				s, ok := look(m, &m.sessions, update.SessionToken)
				if !ok {
					return nil, m.begin(ctx)
				}
				update.Apply(&s)
				gap()
				return write(ctx, m, func() (*adapter.Session, error) {
					m.sessions[s.SessionToken] = copySession(s)
					return &s, nil
				})
			})},
		{Name: "update undoes deletion in statements", Fails: []string{"CONC-07"}, Races: true,
			Fault: "UpdateSession is a SELECT and an INSERT OR REPLACE",
			lite: on(updateSession, func(ctx context.Context, l *lite, update adapter.SessionUpdate) (*adapter.Session, error) {
				found, err := l.GetSessionAndUser(ctx, update.SessionToken)
				if found == nil || err != nil {
					return nil, err
				}
				s := found.Session
				update.Apply(&s)
				return &s, l.exec(ctx, `INSERT OR REPLACE INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`, s.SessionToken, s.UserID, s.Expires.UnixMilli())
			})},
		{Name: "updates are lost", OnLite: "updates are lost in statements", Fails: []string{"CONC-08"}, Races: true,
			Fault: "UpdateUser reads the user, then stores all fields",
			both: on(updateUser, func(ctx context.Context, b base, update adapter.UserUpdate) (*adapter.User, error) {
				u, err := b.GetUser(ctx, update.ID)
				if u == nil || err != nil {
					return b.UpdateUser(ctx, update)
				}
				update.Apply(u)
				gap()
				return b.UpdateUser(ctx, adapter.UserUpdate{
					ID: u.ID, Name: adapter.To(u.Name), Email: adapter.To(u.Email), EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image),
				})
			})},
		{Name: "image and verification are written together", Fails: []string{"CONC-08"}, Races: true,
			Fault: "UpdateUser of the image also writes the emailVerified that it has read before",
			lite: on(updateUser, func(ctx context.Context, l *lite, u adapter.UserUpdate) (*adapter.User, error) {
				_, image := u.Image.Get()
				_, verified := u.EmailVerified.Get()
				if image && !verified {
					before, err := l.GetUser(ctx, u.ID)
					if err != nil {
						return nil, err
					}
					if before != nil {
						u.EmailVerified = adapter.To(before.EmailVerified)
					}
				}
				return l.UpdateUser(ctx, u)
			})},
		{Name: "proof is cleared in a second step", OnLite: "proof is cleared in a second statement", Fails: []string{"CONC-22"}, Races: true,
			Fault: "UpdateUser stores another address with the old emailVerified, then clears emailVerified.",
			both: on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
				before, err := b.GetUser(ctx, u.ID)
				email, set := u.Email.Get()
				if err != nil || before == nil || !set || email == before.Email || u.EmailVerified.IsSet() {
					return b.UpdateUser(ctx, u)
				}
				u.EmailVerified = adapter.To(before.EmailVerified)
				if updated, err := b.UpdateUser(ctx, u); err != nil {
					return updated, err
				}
				gap()
				return b.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, EmailVerified: adapter.To[*time.Time](nil)})
			})},
		{Name: "address is compared before the update", OnLite: "address is compared in a separate statement", Fails: []string{"CONC-22"}, Races: true,
			Fault: "UpdateUser reads the user and compares IfEmail, then updates the user whatever the address is by then.",
			both: on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
				before, err := b.GetUser(ctx, u.ID)
				if err != nil {
					return nil, err
				}
				if before != nil && u.IfEmail == before.Email {
					u.IfEmail = ""
					gap()
				}
				return b.UpdateUser(ctx, u)
			})},
		{Name: "busy counter returns nothing", OnLite: "locked counter is skipped", Fails: []string{"CONC-09"}, Races: true,
			Fault: "UpdateAuthenticatorCounter does not wait for another call with the same authenticator. It returns neither a record nor an error.",
			both: onUpdateCounter(func(ctx context.Context, b base, id string, counter int64) (*adapter.Authenticator, error) {
				return unlessLocked(b.common(), id, func() (*adapter.Authenticator, error) { return b.UpdateAuthenticatorCounter(ctx, id, counter) })
			})},
		{Name: "counter is written as a difference", Fails: []string{"CONC-09"}, Races: true,
			Fault: "UpdateAuthenticatorCounter reads the counter, then adds the difference",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				before, err := m.GetAuthenticator(ctx, id)
				if before == nil || err != nil {
					return m.UpdateAuthenticatorCounter(ctx, id, counter)
				}
				gap()
				return reworked(ctx, m, id, func(a *adapter.Authenticator) bool {
					a.Counter += counter - before.Counter
					return true
				})
			})},
		{Name: "address race", Fails: []string{"CONC-10"}, Races: true,
			Fault: "UpdateUser checks whether the e-mail is taken, then stores in a second step",
			mem: inTwoSteps(updateUser, func(m *mem, update adapter.UserUpdate) error {
				email, set := update.Email.Get()
				if holder, taken := m.emails[email]; set && taken && holder != update.ID {
					return conflict("the e-mail")
				}
				return nil
			}, (*mem).updateAnyUser)},
		{Name: "change of address is a delete and an insert", Fails: []string{"CONC-10"}, Races: true,
			Fault: "UpdateUser with a new address deletes the user and inserts it again; the user is absent between the two.",
			mem: on(updateUser, func(ctx context.Context, m *mem, u adapter.UserUpdate) (*adapter.User, error) {
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
				defer held(&m.mu)()
				u.Apply(&old)
				m.putUser(old)
				return new(copyUser(old)), nil
			})},
		{Name: "session that has moved is deleted", OnLite: "row of a session that has moved is deleted",
			Fails: []string{"CONC-11"}, Races: true,
			Fault: "DeleteUser collects the tokens of the user's sessions and deletes these sessions, also one that has another user by then.",
			both: on(deleteUser, func(ctx context.Context, b base, id string) (*adapter.User, error) {
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
			})},
		{Name: "account of a user who is being deleted is a conflict", Fails: []string{"CONC-11"}, Races: true,
			Fault: "LinkAccount looks for the owner first, and takes each later refusal for a taken key",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				owner, err := m.GetUser(ctx, a.UserID)
				gap()
				return foundBefore(owner, err, func() (*adapter.Account, error) { return m.LinkAccount(ctx, a) })
			})},
		{Name: "session of a user who is being deleted is a conflict", Fails: []string{"CONC-11"}, Races: true,
			Fault: "CreateSession looks for the owner first, and takes each later error of a constraint for a taken key",
			lite: on(createSession, func(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
				owner, err := l.GetUser(ctx, s.UserID)
				return foundBefore(owner, err, func() (*adapter.Session, error) { return l.CreateSession(ctx, s) })
			})},
		{Name: "deletion races creation", Fails: []string{"CONC-11"}, Races: true,
			Fault: "CreateSession checks that the user exists, then stores; a session of a user who was deleted meanwhile belongs to the next user with the id",
			mem: inTwoSteps(createSession, func(m *mem, s adapter.Session) error {
				return creatable(m.records, m.sessions, s.SessionToken, "the session token", s.UserID)
			}, func(m *mem, s adapter.Session) (*adapter.Session, error) {
				s = copySession(s)
				m.sessions[s.SessionToken] = s
				return &s, nil
			})},
		{Name: "deletion races a move", Fails: []string{"CONC-11"}, Races: true,
			Fault: "UpdateSession checks that the new owner exists, then stores; a session that is given to a user who is being deleted belongs to the next user with the id.",
			mem: on(updateSession, func(ctx context.Context, m *mem, u adapter.SessionUpdate) (*adapter.Session, error) {
				owner, moves := u.UserID.Get()
				if exists, err := m.GetUser(ctx, owner); !moves || err != nil || exists == nil {
					return m.UpdateSession(ctx, u)
				}
				gap()
				return write(ctx, m, func() (*adapter.Session, error) {
					s, ok := m.sessions[u.SessionToken]
					if !ok {
						return nil, nil
					}
					u.Apply(&s)
					s = copySession(s)
					m.putSession(s)
					return &s, nil
				})
			})},
		{Name: "deletion races a move in SQL", Fails: []string{"CONC-11"}, Races: true,
			Fault: "UpdateSession reads the new owner before the UPDATE, and no foreign key is declared.",
			lite: on(updateSession, func(ctx context.Context, l *lite, u adapter.SessionUpdate) (*adapter.Session, error) {
				owner, moves := u.UserID.Get()
				if !moves {
					return l.UpdateSession(ctx, u)
				}
				exists, err := l.GetUser(ctx, owner)
				if err != nil {
					return nil, err
				}
				if exists == nil {
					s, err := l.GetSessionAndUser(ctx, u.SessionToken)
					if s == nil || err != nil {
						return nil, err
					}
					return nil, notFound("user")
				}
				for range 100 { // the longer it takes, the more often the user is deleted meanwhile
					if _, err := l.GetSessionAndUser(ctx, u.SessionToken); err != nil {
						return nil, err
					}
				}
				return l.UpdateSession(ctx, u)
			}),
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``, `userId = (SELECT id FROM "user" WHERE id = ?)`, `userId = ?`)},
		{Name: "registration is lost", Fails: []string{"CONC-12"}, Races: true,
			Fault: "CreateAuthenticator reads the user's list, then stores it with one more element",
			mem: on(createAuthenticator, func(ctx context.Context, m *mem, a adapter.Authenticator) (*adapter.Authenticator, error) {
				m.mu.RLock()
				list := slices.Clone(m.credentials[a.UserID])
				m.mu.RUnlock()
				gap()
				created, err := m.CreateAuthenticator(ctx, a)
				if err == nil {
					defer held(&m.mu)()
					m.credentials[a.UserID] = append(list, a.CredentialID)
				}
				return created, err
			})},
		{Name: "no lock on reads", Listed: "M37", Detector: []string{"CONC-13"}, Process: true,
			Fault: "lookups read the maps without the lock", mem: func(m *mem, w *with) {
				unlocked := func() *mem {
					return &mem{records: &records{
						users: m.users, emails: m.emails, accounts: m.accounts, sessions: m.sessions, tokens: m.tokens,
						authenticators: m.authenticators, credentials: m.credentials, extra: m.extra, clock: m.clock, spaces: m.spaces,
					}}
				}
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) { return unlocked().GetUser(ctx, id) }
				w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
					return unlocked().GetUserByEmail(ctx, email)
				}
				w.getSessionAndUser = func(ctx context.Context, t string) (*adapter.SessionAndUser, error) {
					return unlocked().GetSessionAndUser(ctx, t)
				}
				w.getAuthenticator = func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					return unlocked().GetAuthenticator(ctx, id)
				}
			}},
		{Name: "update is deletion and creation", Fails: []string{"CONC-14"}, Races: true,
			Fault: "UpdateSession deletes the session and creates it again",
			mem: on(updateSession, func(ctx context.Context, m *mem, update adapter.SessionUpdate) (*adapter.Session, error) {
				s, err := m.DeleteSession(ctx, update.SessionToken)
				if s == nil || err != nil {
					return nil, err
				}
				update.Apply(s)
				gap()
				return m.CreateSession(ctx, *s)
			})},
		{Name: "update returns what it read, with the change", OnLite: "update returns the row it read, with the change",
			Fails: []string{"CONC-14"}, Races: true,
			Fault: "UpdateUser returns the record that it found before, with the update applied: of two updates at the same time, neither returns both changes.",
			both: on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
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
			})},
		{Name: "a session is absent while it moves", OnLite: "a row is absent while it moves", Fails: []string{"CONC-14"},
			Races: true, Fault: "UpdateSession with another owner deletes the session and creates it again. A lookup in between returns nil.",
			both: on(updateSession, func(ctx context.Context, b base, u adapter.SessionUpdate) (*adapter.Session, error) {
				owner, moves := u.UserID.Get()
				if !moves {
					return b.UpdateSession(ctx, u)
				}
				if exists, err := b.GetUser(ctx, owner); err != nil || exists == nil {
					return b.UpdateSession(ctx, u)
				}
				s, err := b.DeleteSession(ctx, u.SessionToken)
				if s == nil || err != nil {
					return nil, err
				}
				gap()
				u.Apply(s)
				return b.CreateSession(ctx, *s)
			})},
		{Name: "a session whose user goes is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "GetSessionAndUser reads the session and then the user. If the user is deleted in between, it returns an error.",
			mem: on(getSessionAndUser, func(ctx context.Context, m *mem, token string) (*adapter.SessionAndUser, error) {
				return joinedSession(ctx, m, token, func(u *adapter.User, err error) (*adapter.User, error) {
					if u == nil && err == nil {
						err = errNoOwner
					}
					return u, err
				})
			})},
		{Name: "an account whose user goes is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "GetUserByAccount reads the account and then the user, in two statements. If the user is deleted in between, it returns an error.",
			lite: on(getUserByAccount, func(ctx context.Context, l *lite, key adapter.AccountKey) (*adapter.User, error) {
				a, err := l.GetAccount(ctx, key.ProviderAccountID, key.Provider)
				if a == nil || err != nil {
					return nil, err
				}
				u, err := l.GetUser(ctx, a.UserID)
				if u == nil && err == nil {
					err = errNoOwner
				}
				return u, err
			})},
		{Name: "second sign-out is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "DeleteSession reads the session and then deletes it. If another call has deleted it in between, it returns an error.",
			mem: on(deleteSession, func(ctx context.Context, m *mem, token string) (*adapter.Session, error) {
				return deletesWhatItRead(func() (*adapter.Session, error) {
					s, err := m.GetSessionAndUser(ctx, token)
					if s == nil {
						return nil, err
					}
					return &s.Session, err
				}, func() (*adapter.Session, error) { return m.DeleteSession(ctx, token) })
			})},
		{Name: "second unlinking is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "UnlinkAccount reads the account and then deletes the row. If another call has deleted it in between, it returns an error.",
			lite: on(unlinkAccount, func(ctx context.Context, l *lite, key adapter.AccountKey) (*adapter.Account, error) {
				return deletesWhatItRead(func() (*adapter.Account, error) { return l.GetAccount(ctx, key.ProviderAccountID, key.Provider) },
					func() (*adapter.Account, error) { return l.UnlinkAccount(ctx, key) })
			})},
		{Name: "link that comes second is no conflict", Fails: []string{"CONC-15"}, Races: true,
			Fault: "LinkAccount looks the pair up and returns ErrConflict if it is there. If another call links it in between, the error of the store is returned as it is.",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				return createsWhatIsNotThere(func() (*adapter.Account, error) { return m.GetAccount(ctx, a.ProviderAccountID, a.Provider) },
					func() (*adapter.Account, error) { return m.LinkAccount(ctx, a) })
			})},
		{Name: "passkey that comes second is no conflict", Fails: []string{"CONC-15"}, Races: true,
			Fault: "CreateAuthenticator looks the credential ID up and returns ErrConflict if it is there. If another call creates it in between, the violation of the constraint is returned as it is.",
			lite: on(createAuthenticator, func(ctx context.Context, l *lite, w adapter.Authenticator) (*adapter.Authenticator, error) {
				return createsWhatIsNotThere(func() (*adapter.Authenticator, error) { return l.GetAuthenticator(ctx, w.CredentialID) },
					func() (*adapter.Authenticator, error) { return l.CreateAuthenticator(ctx, w) })
			})},
		{Name: "busy account is not found", OnLite: "locked account is not found", Fails: []string{"CONC-15"}, Races: true,
			Fault: "UpdateAccount does not wait for another call with the same account. It returns ErrNotFound, as for an absent one.",
			both:  func(b base, w *with) { w.updateAccount = foundUnlessLocked(b.common(), b.UpdateAccount) }},
		{Name: "contention is an error", Fails: []string{"CONC-15"}, Races: true,
			Fault: "UpdateUser fails if another call is writing",
			mem: on(updateUser, func(ctx context.Context, m *mem, update adapter.UserUpdate) (*adapter.User, error) {
				if !m.mu.TryLock() {
					return nil, errors.New("mem: database is locked")
				}
				m.mu.Unlock()
				return m.UpdateUser(ctx, update)
			})},
		{Name: "links of one user conflict", Fails: []string{"CONC-15"}, Races: true,
			Fault: "Two LinkAccount of one user at a time, with different keys: the second one waits for nothing and returns ErrConflict.",
			mem: func(m *mem, w *with) {
				busy := kept(m.records, "busy", func() *sync.Map { return new(sync.Map) })
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return oneAtATime(busy, a.UserID, func() (*adapter.Account, error) { gap(); return m.LinkAccount(ctx, a) })
				}
			}},
		{Name: "sessions of one user conflict", Fails: []string{"CONC-15"}, Races: true,
			Fault: "Two CreateSession of one user at a time, with different tokens: the transaction of the second one fails, and the call returns ErrConflict.",
			lite: func(l *lite, w *with) {
				busy, _ := busyFiles.LoadOrStore(l.path, new(sync.Map))
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					return oneAtATime(busy.(*sync.Map), s.UserID, func() (*adapter.Session, error) { return l.CreateSession(ctx, s) })
				}
			}},
		{Name: "opposite moves wait for each other", OnLite: "opposite moves of rows wait for each other",
			Fails: []string{"CONC-15"}, Races: true,
			Fault: "UpdateSession with a new owner locks the old owner, then the new one; the lock wait ends after 300 ms, with an error.",
			both:  func(b base, w *with) { w.updateSession = lockedMoves(b.GetSessionAndUser, b.UpdateSession) }},
		{Name: "second connection inside a transaction", Fails: []string{"CONC-16"},
			Fault: "UpdateUser holds a connection while it takes another from the pool",
			lite: on(updateUser, func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
				conn, err := l.db.Conn(ctx)
				if err != nil {
					return nil, err
				}
				defer func() { _ = conn.Close() }()
				return l.UpdateUser(ctx, update)
			})},
		{Name: "unlink and link disagree", Fails: []string{"CONC-17"}, Races: true,
			Fault: "the owner of a pair is stored apart from the account and deleted after it", mem: func(m *mem, w *with) {
				owners := kept(m.records, "owners", func() map[adapter.AccountKey]string { return map[adapter.AccountKey]string{} })
				w.linkAccount = noted(m, m.LinkAccount, func(a adapter.Account, _ *adapter.Account) { owners[a.Key()] = a.UserID })
				w.unlinkAccount = func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := m.UnlinkAccount(ctx, key)
					gap()
					defer held(&m.mu)()
					delete(owners, key)
					return a, err
				}
				w.getUserByAccount = rlocked(m, func(key adapter.AccountKey) (*adapter.User, error) { return m.user(owners[key]), nil })
			}},
		{Name: "sessions fall out of the list", Fails: []string{"CONC-18"}, AuthJS: true, Races: true,
			Fault: "CreateSession reads the user's list of sessions, then stores it with one more element; DeleteUser deletes the sessions in the list",
			mem: func(m *mem, w *with) {
				lists := kept(m.records, "lists", func() map[string][]string { return map[string][]string{} })
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					m.mu.RLock()
					list := slices.Clone(lists[s.UserID])
					m.mu.RUnlock()
					created, err := m.CreateSession(ctx, s)
					if err == nil {
						gap()
						defer held(&m.mu)()
						lists[s.UserID] = append(list, s.SessionToken)
					}
					return created, err
				}
				w.deleteUser = dropping(m, func(id string, u *adapter.User) {
					m.dropAccounts(id)
					m.dropAuthenticators(id)
					for _, token := range lists[id] {
						delete(m.sessions, token)
					}
					delete(lists, id)
					u.Name = nil // the user's record stays, so that sessions can be read
					m.users[id] = *u
					delete(m.emails, u.Email)
				})
				w.getUser = rlocked(m, func(id string) (*adapter.User, error) {
					if u := m.user(id); u != nil && (u.Email == "" || m.emails[u.Email] == id) {
						return u, nil
					}
					return nil, nil
				})
			}},
		{Name: "extension gives up", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession compares a version and writes. After three attempts that others were faster than, it returns nil, as for an absent session.",
			mem: func(m *mem, w *with) {
				versions := kept(m.records, "versions", func() map[string]int { return map[string]int{} })
				w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					for range 3 {
						version, _ := look(m, &versions, u.SessionToken)
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
				}
			}},
		{Name: "locked session is skipped", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession skips a row that another call has locked (FOR UPDATE SKIP LOCKED), and returns nil, as for an absent session.",
			lite: on(updateSession, func(ctx context.Context, l *lite, u adapter.SessionUpdate) (*adapter.Session, error) {
				return unlessLocked(l.common(), u.SessionToken, func() (*adapter.Session, error) { return l.UpdateSession(ctx, u) })
			})},
		{Name: "moved session keeps the old expiry", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession of the owner also writes the expiry that it has read before",
			mem: on(updateSession, func(ctx context.Context, m *mem, u adapter.SessionUpdate) (*adapter.Session, error) {
				if _, moves := u.UserID.Get(); moves {
					if s, _ := m.GetSessionAndUser(ctx, u.SessionToken); s != nil {
						gap()
						if _, set := u.Expires.Get(); !set {
							u.Expires = adapter.To(s.Session.Expires)
						}
					}
				}
				return m.UpdateSession(ctx, u)
			})},
		{Name: "extension undoes a change of owner", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession of the expiry also writes the owner that it has read before",
			lite: on(updateSession, func(ctx context.Context, l *lite, u adapter.SessionUpdate) (*adapter.Session, error) {
				if _, moves := u.UserID.Get(); !moves {
					s, err := l.GetSessionAndUser(ctx, u.SessionToken)
					if err != nil {
						return nil, err
					}
					if s != nil {
						u.UserID = adapter.To(s.Session.UserID)
					}
				}
				return l.UpdateSession(ctx, u)
			})},
		{Name: "owner and session are read at two moments", OnLite: "owner and session are two statements",
			Fails: []string{"CONC-19"}, Races: true,
			Fault: "GetSessionAndUser reads the owner, then the session. A session that moves in between comes with the user who had it before.",
			both: on(getSessionAndUser, func(ctx context.Context, b base, token string) (*adapter.SessionAndUser, error) {
				first, err := b.GetSessionAndUser(ctx, token)
				if first == nil || err != nil {
					return nil, err
				}
				gap()
				second, err := b.GetSessionAndUser(ctx, token)
				if second == nil || err != nil {
					return nil, err
				}
				return &adapter.SessionAndUser{Session: second.Session, User: first.User}, nil
			})},
		{Name: "extension joins another one", OnLite: "updates of one row are one", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession joins an update of the session that is running, and returns its result. Its own values are never stored.",
			both: func(b base, w *with) {
				update := func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					gap()
					return b.UpdateSession(ctx, u)
				}
				w.updateSession = inOneFlightBy(func(u adapter.SessionUpdate) string { return u.SessionToken }, update, copyPointer)
			}},
		{Name: "locked passkey is not renamed", OnLite: "locked row of a passkey is skipped", Fails: []string{"CONC-20"},
			Races: true, Fault: "RenameAuthenticator does not wait for another call that renames the same authenticator. It returns nil, as for an absent one.",
			both: onRename(func(ctx context.Context, b base, user, id, name string) (*adapter.Authenticator, error) {
				return unlessLocked(b.common(), id, func() (*adapter.Authenticator, error) { return b.RenameAuthenticator(ctx, user, id, name) })
			})},
		{Name: "renaming writes the counter too", Fails: []string{"CONC-20"},
			Fault: "RenameAuthenticator reads the record and writes its counter again.",
			lite: onRename(func(ctx context.Context, l *lite, userID, id, name string) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if a == nil || err != nil || a.UserID != userID {
					return nil, err
				}
				if _, err := l.RenameAuthenticator(ctx, userID, id, name); err != nil {
					return nil, err
				}
				return l.UpdateAuthenticatorCounter(ctx, id, a.Counter)
			})},
		{Name: "renaming writes the whole record", Fails: []string{"CONC-20"}, Races: true,
			Fault: "RenameAuthenticator reads the record, changes it and writes all its fields.",
			mem: onRename(func(ctx context.Context, m *mem, userID, id, name string) (*adapter.Authenticator, error) {
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
			})},
		{Name: "last two passkeys leave their account", Fails: []string{"CONC-21"}, Races: true,
			Fault: "DeleteAuthenticator looks whether another authenticator is connected to the account, and then deletes. Of two calls each sees the authenticator of the other, and the account stays.",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				var accounts []adapter.Account
				m.mu.RLock()
				if a, ok := m.authenticators[id]; ok && a.UserID == userID {
					for _, key := range m.connected(a) {
						accounts = append(accounts, copyAccount(m.accounts[key]))
					}
				}
				before := map[adapter.AccountKey]adapter.Account{}
				for key, a := range m.accounts {
					if a.UserID == userID {
						before[key] = copyAccount(a)
					}
				}
				m.mu.RUnlock()
				gap()
				gone, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
				if gone == nil || err != nil {
					return gone, err
				}
				defer held(&m.mu)()
				for key, a := range before { // what the correct deletion took away, and this one would not
					if _, there := m.accounts[key]; !there && m.users[userID].ID != "" && a.ProviderAccountID == gone.ProviderAccountID &&
						!slices.ContainsFunc(accounts, func(x adapter.Account) bool { return x.Key() == key }) {
						m.accounts[key] = a
					}
				}
				return gone, nil
			})},
		{Name: "deletion frees the address twice", Fails: []string{"CONC-21"}, Races: true,
			Fault: "DeleteUser takes the address out of the index once more after the deletion, also if a new user has it by then.",
			mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				u, err := m.DeleteUser(ctx, id)
				if u == nil || err != nil || u.Email == "" {
					return u, err
				}
				for range 10 {
					gap()
				}
				defer held(&m.mu)()
				delete(m.emails, u.Email)
				return u, nil
			})},
		{Name: "fresh tokens bring an account back", OnLite: "fresh tokens insert an account", Fails: []string{"CONC-21"},
			Races: true, Fault: "UpdateAccount reads the record, changes it and writes the whole of it. If the account is unlinked in between, it is there again.",
			both: on(updateAccount, func(ctx context.Context, b base, u adapter.AccountUpdate) (*adapter.Account, error) {
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
			})},
		{Name: "tokens are counted, then deleted", Fails: []string{"CONC-21"}, Races: true,
			Fault: "DeleteVerificationTokens counts the tokens and then deletes them. It does not count a token that is created in between, and deletes it.",
			mem:   countedFirst},
		{Name: "new token falls out of the set", Fails: []string{"CONC-21"}, Races: true,
			Fault: "The tokens of an identifier are in a set. DeleteVerificationTokens reads the set, deletes its tokens and then drops the set: a token that is created in between can be used, but not deleted.",
			mem: func(m *mem, w *with) {
				gone := kept(m.records, "gone", func() map[adapter.VerificationTokenKey]bool { return map[adapter.VerificationTokenKey]bool{} })
				w.createVerificationToken = prepared(m, m.CreateVerificationToken, func(t *adapter.VerificationToken) {
					delete(gone, t.Key())
				})
				w.deleteVerificationTokens = func(ctx context.Context, identifier string) (int64, error) {
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
						n := removed(m.tokens, func(key adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
							return set[key]
						})
						for key := range m.tokens {
							if key.Identifier == identifier {
								gone[key] = true
							}
						}
						return n, nil
					})
				}
			}},
	}
}

// inTwoSteps checks and then stores. Other calls run between the two steps.
func inTwoSteps[A, T any](x method[A, *T], check func(*mem, A) error, store func(*mem, A) (*T, error)) func(*mem, *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (*T, error) {
		m.mu.RLock()
		err := check(m, a)
		m.mu.RUnlock()
		if err != nil {
			return nil, err
		}
		gap()
		return write(ctx, m, func() (*T, error) { return store(m, a) })
	})
}

// updateAnyUser updates a user without a look at the index of addresses. The caller holds the lock.
func (m *mem) updateAnyUser(update adapter.UserUpdate) (*adapter.User, error) {
	u, ok := m.users[update.ID]
	if !ok {
		return nil, notFound("user")
	}
	update.Apply(&u)
	m.putUser(u)
	return new(copyUser(u)), nil
}

// insertedTwice stores a pair a second time if another call has created it since this call looked.
func insertedTwice(b base, w *with) {
	w.createVerificationToken = func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
		if there, err := b.peek(ctx, t.Key()); there != nil || err != nil {
			return nil, errors.Join(err, conflict("the verification token"))
		}
		gap()
		created, err := b.CreateVerificationToken(ctx, t)
		if errors.Is(err, adapter.ErrConflict) {
			t = copyToken(t)
			b.common().Store(t.Key(), t)
			return &t, nil
		}
		return created, err
	}
	w.useVerificationToken = func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
		t, err := b.UseVerificationToken(ctx, key)
		if t == nil && err == nil {
			if row, ok := b.common().LoadAndDelete(key); ok {
				t = new(row.(adapter.VerificationToken))
			}
		}
		return t, err
	}
}

var errNoOwner = errors.New("the user of the record is missing")

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

// busyFiles has the users of each database file for whom a transaction runs.
var busyFiles sync.Map

// oneAtATime refuses a call while another one of the user runs.
func oneAtATime[T any](busy *sync.Map, user string, call func() (*T, error)) (*T, error) {
	if _, runs := busy.LoadOrStore(user, true); runs {
		return nil, conflict("the transaction")
	}
	defer busy.Delete(user)
	return call()
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
