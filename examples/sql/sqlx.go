package sqlexamples

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// WithSqlx makes a user and a profile in a transaction of sqlx.
func WithSqlx(ctx context.Context, db *sqlx.DB, store *postgres.Adapter, email, name string) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	user, err := store.OnSQL(tx).CreateUser(ctx, adapter.User{Email: email})
	if err != nil {
		return err
	}
	profile := Profile{UserID: user.ID, Name: name}
	if _, err := tx.NamedExecContext(ctx, `INSERT INTO profiles VALUES (:user_id, :name)`, profile); err != nil {
		return err
	}
	return tx.Commit()
}
