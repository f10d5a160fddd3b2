package large

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openSQLite(ctx context.Context) (_ *Store, err error) {
	folder, err := os.MkdirTemp("", "benchlarge")
	if err != nil {
		return nil, err
	}
	s := &Store{Name: "sqlite", close: []func(context.Context) error{func(context.Context) error { return os.RemoveAll(folder) }}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	db, err := modernc.Open(filepath.Join(folder, "auth.db"))
	if err != nil {
		return nil, err
	}
	s.close = append([]func(context.Context) error{func(context.Context) error { return db.Close() }}, s.close...)
	if err := db.QueryRowContext(ctx, `SELECT 'SQLite ' || sqlite_version()`).Scan(&s.Server); err != nil {
		return nil, err
	}
	a, err := sqlite.New(db)
	if err != nil {
		return nil, err
	}
	if err := a.EnsureSchema(ctx); err != nil {
		return nil, err
	}
	s.Adapter = a
	if s.Hand, err = newSQLiteHand(ctx, db); err != nil {
		return nil, err
	}
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		return inBatches(from, to, func(from, to int) error {
			return inTransaction(ctx, db, func(tx *sql.Tx) error {
				for n := from; n < to; n++ {
					if _, err := tx.ExecContext(ctx, `INSERT INTO "user" (id, name, email) VALUES (?, 'Somebody Else', ?)`, r.id(n), r.email(n)); err != nil {
						return err
					}
					if _, err := tx.ExecContext(ctx, sqliteInsertSession, r.token(n), r.id(n), r.expires(n).UnixMilli()); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	s.AddSessions = func(ctx context.Context, r *Records, userID string, n int) error {
		return inBatches(0, n, func(from, to int) error {
			return inTransaction(ctx, db, func(tx *sql.Tx) error {
				for n := from; n < to; n++ {
					if _, err := tx.ExecContext(ctx, sqliteInsertSession, "many-"+r.token(n), userID, r.Start.Add(30*day).UnixMilli()); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	s.Size = func(ctx context.Context) (n int64, err error) {
		err = db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`).Scan(&n)
		return n, err
	}
	return s, nil
}

func inTransaction(ctx context.Context, db *sql.DB, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

const sqliteInsertSession = `INSERT INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`

// sqliteHand uses one prepared statement for each method.
type sqliteHand struct{ session, user, create, update, sweep *sql.Stmt }

func newSQLiteHand(ctx context.Context, db *sql.DB) (*sqliteHand, error) {
	h := new(sqliteHand)
	for to, text := range map[**sql.Stmt]string{
		&h.session: `SELECT s.userId, s.expires, u.id, u.name, u.email, u.emailVerified, u.image
			FROM "session" s JOIN "user" u ON u.id = s.userId WHERE s.sessionToken = ?`,
		&h.user:   `SELECT id, name, email, emailVerified, image FROM "user" WHERE email = ?`,
		&h.create: sqliteInsertSession + ` RETURNING sessionToken, userId, expires`,
		&h.update: `UPDATE "user" SET name = ? WHERE id = ? RETURNING id, name, email, emailVerified, image`,
		&h.sweep:  `DELETE FROM "session" WHERE expires <= ?`,
	} {
		var err error
		if *to, err = db.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // closing the database closes it
			return nil, err
		}
	}
	return h, nil
}

// sqliteUser scans a user.
func sqliteUser(u *adapter.User, row *sql.Row, before ...any) error {
	var verified sql.NullInt64
	if err := row.Scan(append(before, &u.ID, &u.Name, &u.Email, &verified, &u.Image)...); err != nil {
		return err
	}
	if verified.Valid {
		u.EmailVerified = new(time.UnixMilli(verified.Int64).UTC())
	}
	return nil
}

// orAbsent returns the record, or nil if err is the error for an absent record.
func orAbsent[T any](found *T, err, nothing error) (*T, error) {
	switch {
	case errors.Is(err, nothing):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return found, nil
	}
}

func (h *sqliteHand) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := &adapter.SessionAndUser{Session: adapter.Session{SessionToken: token}}
	var expires int64
	err := sqliteUser(&r.User, h.session.QueryRowContext(ctx, token), &r.Session.UserID, &expires)
	r.Session.Expires = time.UnixMilli(expires).UTC()
	return orAbsent(r, err, sql.ErrNoRows)
}

func (h *sqliteHand) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	u := new(adapter.User)
	return orAbsent(u, sqliteUser(u, h.user.QueryRowContext(ctx, email)), sql.ErrNoRows)
}

func (h *sqliteHand) CreateSession(ctx context.Context, s adapter.Session) error {
	var expires int64
	err := h.create.QueryRowContext(ctx, s.SessionToken, s.UserID, s.Expires.UnixMilli()).Scan(&s.SessionToken, &s.UserID, &expires)
	s.Expires = time.UnixMilli(expires).UTC()
	return err
}

func (h *sqliteHand) UpdateUser(ctx context.Context, id, name string) error {
	return sqliteUser(new(adapter.User), h.update.QueryRowContext(ctx, name, id))
}

func (h *sqliteHand) DeleteExpired(ctx context.Context, now time.Time) error {
	_, err := h.sweep.ExecContext(ctx, now.UnixMilli())
	return err
}
