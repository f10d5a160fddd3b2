package sqlexamples

import (
	"context"
	"database/sql"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// WithEnt makes a user and a profile in a transaction that ent writes in. The client that
// ent generates takes the driver: ent.NewClient(ent.Driver(inTx)).
func WithEnt(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	user, err := store.OnSQL(tx).CreateUser(ctx, adapter.User{Email: email})
	if err != nil {
		return err
	}
	inTx := entsql.NewDriver(dialect.Postgres, entsql.Conn{ExecQuerier: tx})
	insert, args := entsql.Dialect(dialect.Postgres).Insert("profiles").
		Columns("user_id", "name").Values(user.ID, name).Query()
	if err := inTx.Exec(ctx, insert, args, nil); err != nil {
		return err
	}
	return tx.Commit()
}
