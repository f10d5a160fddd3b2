package large

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
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
	s.Adapter, s.Hand = a, sqlitetest.NewBaseline(db)
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
