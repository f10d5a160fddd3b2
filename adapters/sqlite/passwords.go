package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	newPassword     = `userId, hash, state`
	passwordColumns = `{p.userId}, {p.hash}, {p.state}`
)

const insertPassword = `
	INSERT INTO "passwords" ({new p: ` + newPassword + `}) VALUES ({values p: ` + newPassword + `})
	RETURNING ` + passwordColumns

// CreateUserWithPassword stores a new user and the password of that user, in one
// transaction. [PASS-01] [PASS-08] [PASS-09]
func (a *Adapter) CreateUserWithPassword(ctx context.Context, user adapter.User, password adapter.Password) (*adapter.User, error) {
	const op = "create user with password"
	if user.ID == "" {
		user.ID = newUUID()
	}
	row, err := userValues(user)
	if err := errors.Join(err, password.Check()); err != nil {
		return nil, failed(ctx, op, err)
	}
	var created *adapter.User
	err = a.atomically(ctx, func(ctx context.Context, tx *Adapter) (err error) {
		if created, err = one(ctx, tx, insertUser, readUser, row...); err == nil {
			_, err = one(ctx, tx, insertPassword, readPassword, user.ID, password.Hash, password.State)
		}
		return err
	})
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return created, nil
}

// GetPassword returns the password of the user, or nil. [PASS-01] [PASS-02]
func (a *Adapter) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	password, err := one(ctx, a, `
		SELECT `+passwordColumns+` FROM "passwords" WHERE {p.userId} = ?`, readPassword, userID)
	if err != nil {
		return nil, failed(ctx, "get password", err)
	}
	return password, nil
}

// SetPassword stores the password of an existing user in place of the one that the
// user has. [PASS-01] [PASS-03] [PASS-10]
func (a *Adapter) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	const op = "set password"
	if err := password.Check(); err != nil {
		return nil, failed(ctx, op, err)
	}
	set, err := one(ctx, a, `
		INSERT INTO "passwords" ({new p: `+newPassword+`}) VALUES ({values p: `+newPassword+`})
		ON CONFLICT ({p.userId}) DO UPDATE SET {set p: hash, state}
		RETURNING `+passwordColumns, readPassword, password.UserID, password.Hash, password.State, password.Hash, password.State)
	if err != nil {
		return nil, ownerFailed(ctx, op, err)
	}
	return set, nil
}

// SwapPassword stores to, if the stored password is from. [PASS-04] [PASS-05]
func (a *Adapter) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	const op = "swap password"
	if err := to.Check(); err != nil {
		return nil, failed(ctx, op, err)
	}
	swapped, err := one(ctx, a, `
		UPDATE "passwords" SET {set p: hash, state} WHERE {p.userId} = ? AND {p.hash} = ? AND {p.state} = ?
		RETURNING `+passwordColumns, readPassword, to.Hash, to.State, from.UserID, from.Hash, from.State)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return swapped, nil
}

// DeletePassword deletes the password of the user and returns it, or nil.
// [PASS-06] [PASS-07]
func (a *Adapter) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	var deleted *adapter.Password
	err := a.atomically(ctx, func(ctx context.Context, tx *Adapter) (err error) {
		deleted, err = one(ctx, tx, `
			DELETE FROM "passwords" WHERE {p.userId} = ?
			RETURNING `+passwordColumns, readPassword, userID)
		if err != nil || deleted == nil || !keepOne {
			return err
		}
		return tx.keepsOne(ctx, userID)
	})
	if err != nil {
		return nil, failed(ctx, "delete password", err)
	}
	return deleted, nil
}

// keepsOne returns ErrLastCredential if the user has no way left to sign in.
func (a *Adapter) keepsOne(ctx context.Context, userID string) error {
	for _, query := range []string{
		`SELECT true FROM "account" WHERE {a.userId} = ? LIMIT 1`,
		`SELECT true FROM "authenticator" WHERE {c.userId} = ? LIMIT 1`,
		`SELECT true FROM "passwords" WHERE {p.userId} = ?`,
	} {
		left, err := one(ctx, a, query, readBool, userID)
		if errors.Is(err, errNoTable) {
			continue
		}
		if err != nil || left != nil {
			return err
		}
	}
	return adapter.ErrLastCredential
}

func readPassword(rows *sql.Rows) (*adapter.Password, error) {
	password := new(adapter.Password)
	return password, rows.Scan(&password.UserID, &password.Hash, &password.State)
}
