package sqlexamples

import (
	"context"

	"gorm.io/gorm"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// WithGORM makes a user and a profile in a transaction of GORM.
func WithGORM(ctx context.Context, db *gorm.DB, store *postgres.Adapter, email, name string) error {
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		user, err := store.OnSQL(tx.Statement.ConnPool).CreateUser(ctx, adapter.User{Email: email})
		if err != nil {
			return err
		}
		return tx.Create(&Profile{UserID: user.ID, Name: name}).Error
	})
}
