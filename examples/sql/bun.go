package sqlexamples

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// WithBun makes a user and a profile in a transaction of bun.
func WithBun(ctx context.Context, db *bun.DB, store *postgres.Adapter, email, name string) error {
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		user, err := store.OnSQL(tx).CreateUser(ctx, adapter.User{Email: email})
		if err != nil {
			return err
		}
		_, err = tx.NewInsert().Model(&Profile{UserID: user.ID, Name: name}).Exec(ctx)
		return err
	})
}
