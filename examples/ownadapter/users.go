package ownadapter

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const userColumns = "id, name, coalesce(email, ''), email_verified, image"

func scanUser(scan func(...any) error) (*adapter.User, error) {
	var u adapter.User
	var verified *int64
	if err := scan(&u.ID, &u.Name, &u.Email, &verified, &u.Image); err != nil {
		return nil, err
	}
	return &u, setVerified(&u, verified)
}

func setVerified(u *adapter.User, ms *int64) (err error) {
	if ms != nil {
		var t time.Time
		t, err = instant(*ms)
		u.EmailVerified = &t
	}
	return err
}

func verifiedMillis(op string, t *time.Time) (*int64, error) {
	if t == nil {
		return nil, nil
	}
	ms, err := millis(op, *t)
	return &ms, err
}

// CreateUser stores a new user. An empty address is stored as null, so that any
// number of users may have none.
func (a Adapter) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	const op = "create user"
	verified, err := verifiedMillis(op, u.EmailVerified)
	if err != nil {
		return nil, err
	}
	if u.ID == "" {
		u.ID = newID()
	}
	return one(ctx, a, op, scanUser, `INSERT INTO users VALUES (?, ?, nullif(?, ''), ?, ?) RETURNING `+userColumns,
		u.ID, u.Name, u.Email, verified, u.Image)
}

// GetUser returns the user, or nil.
func (a Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return one(ctx, a, "get user", scanUser, `SELECT `+userColumns+` FROM users WHERE id = ?`, id)
}

// GetUserByEmail returns the user with exactly the address, or nil.
func (a Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return one(ctx, a, "get user by e-mail", scanUser, `SELECT `+userColumns+` FROM users WHERE email = nullif(?, '')`, email)
}

// GetUserByAccount returns the owner of the account, or nil.
func (a Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	return one(ctx, a, "get user by account", scanUser, `SELECT `+userColumns+` FROM users
		WHERE id = (SELECT user_id FROM accounts WHERE provider = ? AND provider_account_id = ?)`, key.Provider, key.ProviderAccountID)
}

// UpdateUser changes the fields that are set in one statement. Concurrent
// changes of other fields are kept. Another address loses the proof of the old one.
func (a Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	const op = "update user"
	name, setName := update.Name.Get()
	email, setEmail := update.Email.Get()
	emailVerified, setVerified := update.EmailVerified.Get()
	image, setImage := update.Image.Get()
	verified, err := verifiedMillis(op, emailVerified)
	if err != nil {
		return nil, err
	}
	updated, err := one(ctx, a, op, scanUser, `UPDATE users SET
		name = iif(?, ?, name), email = iif(?, nullif(?, ''), email),
		email_verified = CASE WHEN ? THEN ? WHEN ? AND email IS NOT nullif(?, '') THEN NULL ELSE email_verified END,
		image = iif(?, ?, image)
		WHERE id = ? AND (? = '' OR email = ?) RETURNING `+userColumns,
		setName, name, setEmail, email, setVerified, verified, setEmail, email, setImage, image, update.ID, update.IfEmail, update.IfEmail)
	if err == nil && updated == nil {
		return nil, fmt.Errorf("ownadapter: %s: no such user: %w", op, adapter.ErrNotFound)
	}
	return updated, err
}

// DeleteUser deletes the user; the foreign keys delete the user's other
// records.
func (a Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return one(ctx, a, "delete user", scanUser, `DELETE FROM users WHERE id = ? RETURNING `+userColumns, id)
}
