package mutants

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func failureMutants() []Mutant {
	return []Mutant{
		{Name: "token is returned although it was not deleted", Fails: []string{"FAULT-01"},
			Fault: "UseVerificationToken reads the token, deletes it, and ignores an error of the deletion",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.peek(ctx, key)
					if t != nil {
						_, _ = l.UseVerificationToken(ctx, key)
					}
					return t, err
				}}
			}},
		{Name: "index is written apart from the user", Fails: []string{"FAULT-02", "FAULT-03", "FAULT-05", "CTX-05"},
			Fault: "addresses are in a table of their own, which is written in another transaction than the user",
			lite:  emailTable},
		{Name: "deletion starts with the user", Fails: []string{"FAULT-04"},
			Fault: "DeleteUser deletes the user, then the other records, without a transaction; for an absent user it does nothing",
			lite: func(l *lite) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
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
				}}
			},
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``,
				`DELETE FROM "session" WHERE userId = old.id; DELETE FROM "account" WHERE userId = old.id; DELETE FROM "authenticator" WHERE userId = old.id;`, `SELECT 1;`)},
		{Name: "fields are written one by one", Fails: []string{"FAULT-05", "CTX-05"},
			Fault: "UpdateUser changes name and image in one statement, the rest in another",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					if _, err := l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Name: update.Name, Image: update.Image}); err != nil {
						return nil, err
					}
					return l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Email: update.Email, EmailVerified: update.EmailVerified})
				}}
			}},
		{Name: "one connection is used for ever", Fails: []string{"FAULT-06"},
			Fault: "GetUser keeps its first connection, also after the connection breaks",
			lite: func(l *lite) with {
				var mu sync.Mutex
				var lost bool
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					mu.Lock()
					defer mu.Unlock()
					if lost {
						return nil, errors.New("lite: connection is closed")
					}
					u, err := l.GetUser(ctx, id)
					if err != nil && ctx.Err() == nil {
						lost = true
					}
					return u, err
				}}
			}},
		{Name: "lost reply is read as success of the first try", Fails: []string{"FAULT-07"},
			Fault: "CreateUser tries again under another id when it fails, and treats a conflict as the success of its first try",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
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
				}}
			}},
		{Name: "used token is put back", Fails: []string{"FAULT-07", "FAULT-01"},
			Fault: "UseVerificationToken creates the token again when it fails, and returns it",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					before, _ := l.peek(ctx, key)
					t, err := l.UseVerificationToken(ctx, key)
					if err != nil && before != nil {
						_, _ = l.CreateVerificationToken(ctx, *before)
						return before, nil
					}
					return t, err
				}}
			}},
		{Name: "failed call leaves its transaction open", Fails: []string{"FAULT-08"},
			Fault: "UpdateSession begins a transaction and does not roll it back when it fails",
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
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
				}}
			}},
		{Name: "lock of an abandoned change", Fails: []string{"FAULT-08"},
			Fault: "UpdateUser locks the user by a row; when its context has ended it tries only once to release the lock",
			lite: func(l *lite) with {
				locked := rowLocks(l)
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (u *adapter.User, err error) {
					err = locked(ctx, update.ID, func() error {
						u, err = l.UpdateUser(ctx, update)
						return err
					})
					return u, err
				}}
			}},
		{Name: "lock of an abandoned extension", Fails: []string{"FAULT-08"},
			Fault: "UpdateSession locks the session by a row; when its context has ended it tries only once to release the lock",
			lite: func(l *lite) with {
				locked := rowLocks(l)
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (s *adapter.Session, err error) {
					err = locked(ctx, update.SessionToken, func() error {
						s, err = l.UpdateSession(ctx, update)
						return err
					})
					return s, err
				}}
			}},
		{Name: "session is returned with another user", Fails: []string{"FAULT-10"},
			Fault: "GetSessionAndUser reads the session, then the user; if the second read fails it returns the user whom it read last",
			lite: func(l *lite) with {
				var mu sync.Mutex
				var last *adapter.User
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := l.GetSessionAndUser(ctx, token)
					if found == nil || err != nil {
						return nil, err
					}
					u, err := l.GetUser(ctx, found.User.ID)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						u = last
					}
					if u == nil {
						u = &adapter.User{ID: found.User.ID}
					}
					last = u
					return &adapter.SessionAndUser{Session: found.Session, User: *u}, nil
				}}
			}},
		{Name: "created user is read by the last id of the connection", Fails: []string{"FAULT-11"},
			Fault: "CreateUser reads the user back by last_insert_rowid, in a second statement that may use another connection",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
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
				}}
			}},
		{Name: "failed call is tried for ever", Fails: []string{"FAULT-12"},
			Fault: "GetAuthenticator tries again at once until its context ends",
			lite: func(l *lite) with {
				return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					for {
						a, err := l.GetAuthenticator(ctx, id)
						if err == nil || ctx.Err() != nil {
							return a, err
						}
					}
				}}
			}},
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
func emailTable(l *lite) with {
	ctx := context.Background()
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS email_index (email TEXT PRIMARY KEY, id TEXT NOT NULL)`,
		`CREATE TRIGGER IF NOT EXISTS email_gone AFTER DELETE ON "user" BEGIN DELETE FROM email_index WHERE id = old.id; END`,
	} {
		if err := l.exec(ctx, statement); err != nil {
			panic(err)
		}
	}
	return with{
		createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
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
		},
		getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
			ids, err := l.column(ctx, `SELECT id FROM email_index WHERE email = ?`, email)
			if len(ids) == 0 || err != nil {
				return nil, err
			}
			return l.GetUser(ctx, ids[0])
		},
		updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
			u, err := l.UpdateUser(ctx, update)
			if err == nil && update.Email.IsSet() {
				err = l.exec(ctx, `UPDATE email_index SET email = ? WHERE id = ?`, u.Email, u.ID)
			}
			if err != nil {
				return nil, err
			}
			return u, nil
		},
	}
}

func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
