package mutants

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func faultMutants() []Mutant {
	return []Mutant{
		{Name: "use tried again finds no token", Fails: []string{"FAULT-01", "FAULT-07"},
			Fault: "UseVerificationToken tries again when the store fails. If only the reply was lost, the call says that there was no token.",
			lite: on(useToken, func(ctx context.Context, l *lite, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				return triedAgain(ctx, k, l.UseVerificationToken)
			})},
		{Name: "token is returned although it was not deleted", Fails: []string{"FAULT-01"},
			Fault: "UseVerificationToken reads the token, deletes it, and ignores an error of the deletion",
			lite: on(useToken, func(ctx context.Context, l *lite, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := l.peek(ctx, key)
				if t != nil {
					_, _ = l.UseVerificationToken(ctx, key)
				}
				return t, err
			})},
		{Name: "index is written apart from the user", Fails: []string{"FAULT-02", "FAULT-03", "FAULT-05", "CTX-05"},
			Fault: "addresses are in a table of their own, which is written in another transaction than the user",
			lite:  emailTable},
		{Name: "deletion starts with the user", Fails: []string{"FAULT-04"},
			Fault: "DeleteUser deletes the user, then the other records, without a transaction; for an absent user it does nothing",
			lite: on(deleteUser, func(ctx context.Context, l *lite, id string) (*adapter.User, error) {
				u, err := l.GetUser(ctx, id)
				if u == nil || err != nil {
					return nil, err
				}
				for _, table := range []string{"user", "session", "account", "authenticator"} {
					column := "userId"
					if table == "user" {
						column = "id"
					}
					if err := l.exec(ctx, `DELETE FROM "`+table+`" WHERE `+column+` = ?`, id); err != nil {
						return nil, err
					}
				}
				return u, nil
			}),
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``,
				`DELETE FROM "session" WHERE userId = old.id; DELETE FROM "account" WHERE userId = old.id; DELETE FROM "authenticator" WHERE userId = old.id;`, `SELECT 1;`)},
		{Name: "failed sign-up is cleaned up by address", Fails: []string{"FAULT-05"},
			Fault: "CreateUserWithAccount undoes a failure of the store by deleting whoever has the address, also if the address was taken before.",
			lite: onSignUp(func(ctx context.Context, l *lite, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				got, err := l.CreateUserWithAccount(ctx, u, a, w)
				if storeFailed(ctx, err) && u.Email != "" {
					if holder, _ := l.GetUserByEmail(ctx, u.Email); holder != nil {
						_, _ = l.DeleteUser(ctx, holder.ID)
					}
				}
				return got, err
			})},
		{Name: "taken account counts as linked", Fails: []string{"FAULT-05"},
			Fault: "LinkAccount tries again when the store fails, and takes a conflict then for its own first try. The account may be another user's.",
			lite: on(linkAccount, func(ctx context.Context, l *lite, a adapter.Account) (*adapter.Account, error) {
				return takenAsOwn(ctx, a, l.LinkAccount, func() (*adapter.Account, error) { return &a, nil })
			})},
		{Name: "taken address counts as the own one", Fails: []string{"FAULT-05"},
			Fault: "CreateUser tries again when the store fails. If the address is taken then, it returns the user who has it, as the one that its first try has created.",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				return takenAsOwn(ctx, u, l.CreateUser, func() (*adapter.User, error) { return l.GetUserByEmail(ctx, u.Email) })
			})},
		{Name: "failed link is unlinked", Fails: []string{"FAULT-05"},
			Fault: "LinkAccount undoes a failure of the store by unlinking the account, also if another user had it before.",
			lite: on(linkAccount, func(ctx context.Context, l *lite, a adapter.Account) (*adapter.Account, error) {
				got, err := l.LinkAccount(ctx, a)
				if storeFailed(ctx, err) {
					_, _ = l.UnlinkAccount(ctx, a.Key())
				}
				return got, err
			})},
		{Name: "fields are written one by one", Fails: []string{"FAULT-05", "CTX-05"},
			Fault: "UpdateUser changes name and image in one statement, the rest in another",
			lite: on(updateUser, func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
				if _, err := l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Name: update.Name, Image: update.Image}); err != nil {
					return nil, err
				}
				return l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Email: update.Email, EmailVerified: update.EmailVerified})
			})},
		{Name: "new connections do not check owners", Fails: []string{"FAULT-06"},
			Fault: "Foreign keys are enforced on the first connection only: after it broke, CreateSession for an absent user succeeds.",
			lite: func(l *lite, w *with) {
				var broke atomic.Bool
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := l.GetUser(ctx, id)
					if storeFailed(ctx, err) {
						broke.Store(true)
					}
					return u, err
				}
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					if broke.Load() {
						return ownerUnchecked(ctx, l, s)
					}
					return l.CreateSession(ctx, s)
				}
			}},
		{Name: "one connection is used for ever", Fails: []string{"FAULT-06"},
			Fault: "GetUser keeps its first connection, also after the connection breaks", lite: func(l *lite, w *with) {
				var mu sync.Mutex
				var lost bool
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					defer held(&mu)()
					if lost {
						return nil, errors.New("lite: connection is closed")
					}
					u, err := l.GetUser(ctx, id)
					if err != nil && ctx.Err() == nil {
						lost = true
					}
					return u, err
				}
			}},
		{Name: "unlinking tried again finds nothing", Fails: []string{"FAULT-07"},
			Fault: "UnlinkAccount tries again when the store fails. If only the reply was lost, the second try finds nothing, and the call says that there was no account.",
			lite: on(unlinkAccount, func(ctx context.Context, l *lite, k adapter.AccountKey) (*adapter.Account, error) {
				return triedAgain(ctx, k, l.UnlinkAccount)
			})},
		{Name: "counter that is written again is stale", Fails: []string{"FAULT-07"},
			Fault: "TouchAuthenticator tries again when the store fails. If only the reply was lost, the second try finds its own counter, and says that the counter was not the expected one.",
			lite: onTouch(func(ctx context.Context, l *lite, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				return triedAgain(ctx, credentialID, func(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
					return l.TouchAuthenticator(ctx, credentialID, from, to, used)
				})
			})},
		{Name: "lost reply is read as success of the first try", Fails: []string{"FAULT-07"},
			Fault: "CreateUser tries again under another id when it fails, and treats a conflict as the success of its first try",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				created, err := l.CreateUser(ctx, u)
				if err == nil || errors.Is(err, adapter.ErrConflict) || ctx.Err() != nil {
					return created, err
				}
				u.ID = newID()
				created, err = l.CreateUser(ctx, u)
				if errors.Is(err, adapter.ErrConflict) {
					return &u, nil
				}
				return created, err
			})},
		{Name: "used token is put back", Fails: []string{"FAULT-07", "FAULT-01"},
			Fault: "UseVerificationToken creates the token again when it fails, and returns it",
			lite: on(useToken, func(ctx context.Context, l *lite, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				before, _ := l.peek(ctx, key)
				t, err := l.UseVerificationToken(ctx, key)
				if err != nil && before != nil {
					_, _ = l.CreateVerificationToken(ctx, *before)
					return before, nil
				}
				return t, err
			})},
		{Name: "failed call leaves its transaction open", Fails: []string{"FAULT-08"},
			Fault: "UpdateSession begins a transaction and does not roll it back when it fails",
			lite: on(updateSession, func(ctx context.Context, l *lite, update adapter.SessionUpdate) (*adapter.Session, error) {
				found, err := l.GetSessionAndUser(ctx, update.SessionToken)
				if found == nil || err != nil {
					return nil, err
				}
				s := found.Session
				update.Apply(&s)
				tx, err := l.db.BeginTx(context.WithoutCancel(ctx), nil)
				if err != nil {
					return nil, err
				}
				for _, set := range []struct {
					column string
					value  any
				}{{"userId", s.UserID}, {"expires", s.Expires.UnixMilli()}} {
					if _, err := tx.ExecContext(ctx, `UPDATE "session" SET `+set.column+` = ? WHERE sessionToken = ?`, set.value, s.SessionToken); err != nil {
						return nil, err
					}
				}
				return &s, tx.Commit()
			})},
		{Name: "lock of an abandoned change", Fails: []string{"FAULT-08"},
			Fault: "UpdateUser locks the user by a row; when its context has ended it tries only once to release the lock",
			lite: func(l *lite, w *with) {
				locked := rowLocks(l)
				w.updateUser = func(ctx context.Context, update adapter.UserUpdate) (u *adapter.User, err error) {
					err = locked(ctx, update.ID, func() error {
						u, err = l.UpdateUser(ctx, update)
						return err
					})
					return u, err
				}
			}},
		{Name: "lock of an abandoned extension", Fails: []string{"FAULT-08"},
			Fault: "UpdateSession locks the session by a row; when its context has ended it tries only once to release the lock",
			lite: func(l *lite, w *with) {
				locked := rowLocks(l)
				w.updateSession = func(ctx context.Context, update adapter.SessionUpdate) (s *adapter.Session, err error) {
					err = locked(ctx, update.SessionToken, func() error {
						s, err = l.UpdateSession(ctx, update)
						return err
					})
					return s, err
				}
			}},
		{Name: "last known session is served", Fails: []string{"FAULT-09"},
			Fault: "GetSessionAndUser returns its last good answer when the store fails, also if another process has ended the session since.",
			lite: func(l *lite, w *with) {
				var known sync.Map
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := l.GetSessionAndUser(ctx, token)
					if storeFailed(ctx, err) {
						if last, ok := known.Load(token); ok {
							s := last.(adapter.SessionAndUser)
							return &adapter.SessionAndUser{Session: copySession(s.Session), User: copyUser(s.User)}, nil
						}
					}
					if found != nil {
						known.Store(strings.Clone(token), adapter.SessionAndUser{Session: copySession(found.Session), User: copyUser(found.User)})
					}
					return found, err
				}
				w.updateSession = cleared(&known, l.UpdateSession)
				w.deleteSession = cleared(&known, l.DeleteSession)
				w.updateUser = cleared(&known, l.UpdateUser)
				w.deleteUser = cleared(&known, l.DeleteUser)
			}},
		{Name: "last known user is served", Fails: []string{"FAULT-09"},
			Fault: "GetUser returns its last good answer when the store fails, also if another process has changed or deleted the user since.",
			lite: func(l *lite, w *with) {
				var known sync.Map
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					found, err := l.GetUser(ctx, id)
					if storeFailed(ctx, err) {
						if last, ok := known.Load(id); ok {
							return new(copyUser(last.(adapter.User))), nil
						}
					}
					if found != nil {
						known.Store(strings.Clone(id), copyUser(*found))
					}
					return found, err
				}
				w.updateUser = cleared(&known, l.UpdateUser)
				w.deleteUser = cleared(&known, l.DeleteUser)
			}},
		{Name: "session is returned with another user", Fails: []string{"FAULT-10"},
			Fault: "GetSessionAndUser reads the session, then the user; if the second read fails it returns the user whom it read last",
			lite: func(l *lite, w *with) {
				var mu sync.Mutex
				var last *adapter.User
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := l.GetSessionAndUser(ctx, token)
					if found == nil || err != nil {
						return nil, err
					}
					u, err := l.GetUser(ctx, found.User.ID)
					defer held(&mu)()
					if err != nil {
						u = last
					}
					if u == nil {
						u = &adapter.User{ID: found.User.ID}
					}
					last = u
					return &adapter.SessionAndUser{Session: found.Session, User: *u}, nil
				}
			}},
		{Name: "created user is read by the last id of the connection", Fails: []string{"FAULT-11"},
			Fault: "CreateUser reads the user back by last_insert_rowid, in a second statement that may use another connection",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				if created, err := l.CreateUser(ctx, u); err != nil {
					return created, err
				}
				var id string
				err := l.db.QueryRowContext(ctx, `SELECT id FROM "user" WHERE rowid = last_insert_rowid()`).Scan(&id)
				if errors.Is(err, sql.ErrNoRows) {
					return nil, errNoRows
				}
				if err != nil {
					return nil, err
				}
				return l.GetUser(ctx, id)
			})},
		{Name: "failed call is tried for ever", Fails: []string{"FAULT-12"},
			Fault: "GetAuthenticator tries again at once until its context ends",
			lite: on(getAuthenticator, func(ctx context.Context, l *lite, id string) (*adapter.Authenticator, error) {
				for {
					a, err := l.GetAuthenticator(ctx, id)
					if err == nil || ctx.Err() != nil {
						return a, err
					}
				}
			})},
	}
}

// triedAgain makes a call, and makes it again if the store fails.
func triedAgain[K, T any](ctx context.Context, key K, call func(context.Context, K) (T, error)) (T, error) {
	result, err := call(ctx, key)
	if storeFailed(ctx, err) {
		return call(ctx, key)
	}
	return result, err
}

// takenAsOwn makes a call again when the store fails, and takes a conflict then for the
// record of its own first try.
func takenAsOwn[A, T any](ctx context.Context, argument A, call func(context.Context, A) (*T, error), own func() (*T, error)) (*T, error) {
	got, err := call(ctx, argument)
	if !storeFailed(ctx, err) {
		return got, err
	}
	if got, err = call(ctx, argument); errors.Is(err, adapter.ErrConflict) {
		return own()
	}
	return got, err
}

// cleared makes a call and clears a cache afterwards.
func cleared[A, T any](cache *sync.Map, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, argument A) (T, error) {
		defer cache.Clear()
		return call(ctx, argument)
	}
}

// rowLocks stores locks as rows. It releases a lock before the call returns, and
// repeats a failed release only until the call's context ends.
func rowLocks(l *lite) func(ctx context.Context, key string, do func() error) error {
	if err := l.exec(context.Background(), `CREATE TABLE IF NOT EXISTS locks (key TEXT PRIMARY KEY, holder TEXT)`); err != nil {
		panic(err)
	}
	return func(ctx context.Context, key string, do func() error) error {
		const rest = 20 * time.Millisecond
		holder := newID()
		for {
			_ = l.exec(ctx, `INSERT OR IGNORE INTO locks VALUES (?, ?)`, key, holder)
			held, err := l.exists(ctx, `SELECT * FROM locks WHERE key = ? AND holder = ?`, key, holder)
			if err == nil && held || ctx.Err() != nil {
				break
			}
			time.Sleep(rest)
		}
		err := ctx.Err()
		if err == nil {
			err = do()
		}
		for l.exec(context.WithoutCancel(ctx), `DELETE FROM locks WHERE key = ? AND holder = ?`, key, holder) != nil && ctx.Err() == nil {
			time.Sleep(rest)
		}
		return err
	}
}

// emailTable stores the addresses in a separate table.
func emailTable(l *lite, w *with) {
	ctx := context.Background()
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS email_index (email TEXT PRIMARY KEY, id TEXT NOT NULL)`,
		`CREATE TRIGGER IF NOT EXISTS email_gone AFTER DELETE ON "user" BEGIN DELETE FROM email_index WHERE id = old.id; END`,
	} {
		if err := l.exec(ctx, statement); err != nil {
			panic(err)
		}
	}
	w.createUser = func(ctx context.Context, u adapter.User) (*adapter.User, error) {
		if u.ID == "" {
			u.ID = newID()
		}
		if taken, err := l.exists(ctx, `SELECT 1 FROM email_index WHERE email = ? UNION SELECT 1 FROM "user" WHERE id = ?`, u.Email, u.ID); taken || err != nil {
			return nil, errors.Join(err, conflict("the id or the e-mail"))
		}
		if err := l.exec(ctx, `INSERT INTO email_index (email, id) VALUES (?, ?)`, u.Email, u.ID); err != nil {
			return nil, err
		}
		return l.CreateUser(ctx, u)
	}
	w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
		ids, err := l.column(ctx, `SELECT id FROM email_index WHERE email = ?`, email)
		if len(ids) == 0 || err != nil {
			return nil, err
		}
		return l.GetUser(ctx, ids[0])
	}
	w.updateUser = func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
		u, err := l.UpdateUser(ctx, update)
		if err == nil && update.Email.IsSet() {
			err = l.exec(ctx, `UPDATE email_index SET email = ? WHERE id = ?`, u.Email, u.ID)
		}
		if err != nil {
			return nil, err
		}
		return u, nil
	}
}

// storeFailed reports whether an error is one of the store, not one of the contract, of
// the context, of the arguments, of the stored data or of Close.
func storeFailed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	for _, known := range []error{adapter.ErrConflict, adapter.ErrNotFound, adapter.ErrLastCredential, adapter.ErrUnsupported, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return false
		}
	}
	for _, text := range []string{"is empty", "stored ", "outside the years", "not JSON", "is closed"} {
		if strings.Contains(err.Error(), text) {
			return false
		}
	}
	return true
}

// ownerUnchecked creates a session over a connection that does not enforce foreign keys.
func ownerUnchecked(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
	created, err := l.CreateSession(ctx, s)
	if !errors.Is(err, adapter.ErrNotFound) {
		return created, err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `PRAGMA foreign_keys = 0`); err != nil {
		return nil, err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA foreign_keys = 1`) //nolint:errcheck // as at the beginning
	_, err = conn.ExecContext(ctx, `INSERT INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`, s.SessionToken, s.UserID, s.Expires.UnixMilli())
	if err != nil {
		return nil, err
	}
	s.Expires = s.Expires.UTC().Truncate(time.Millisecond)
	return &s, nil
}
