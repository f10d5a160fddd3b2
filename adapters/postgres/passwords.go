package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithPassword implements [adapter.Passwords]. It is one statement: it
// stores both records or none. [PASS-01] [PASS-08] [PASS-09]
func (a *Adapter) CreateUserWithPassword(ctx context.Context, user adapter.User, password adapter.Password) (*adapter.User, error) {
	var p problems
	p.user(user)
	var made *adapter.User
	err := a.passwords(ctx, "create user with password", func(db link, sql *statements) error {
		if err := errors.Join(p.err(), password.Check()); err != nil {
			return err
		}
		args, err := sql.args(newUser, userArgs(user))
		if err != nil {
			return err
		}
		args = append(args, password.Hash, password.State)
		err = a.guard(ctx, db, func(db link) error {
			rows, err := db.query(ctx, sql.createUserWithPassword, append(args, sql.newID(user.ID)...)...)
			made, err = first(rows, err, scanUser)
			return err
		})
		if err == nil && made == nil || isCode(err, divisionByZero) {
			return errNotDone
		}
		return err
	})
	return made, err
}

// GetPassword implements [adapter.Passwords]. [PASS-01] [PASS-02]
func (a *Adapter) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	var found *adapter.Password
	err := a.passwords(ctx, "get password", func(db link, sql *statements) error {
		owner, ok := sql.ids.arg(userID)
		if !ok {
			return nil
		}
		var err error
		found, err = get(ctx, db, sql.getPassword, scanPassword, owner)
		return err
	})
	return found, err
}

// SetPassword implements [adapter.Passwords]. The foreign key locks the owner in the
// same statement. [PASS-01] [PASS-03] [PASS-10]
func (a *Adapter) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	var stored *adapter.Password
	err := a.passwords(ctx, "set password", func(db link, sql *statements) error {
		if err := password.Check(); err != nil {
			return err
		}
		owner, ok := sql.ids.arg(password.UserID)
		if !ok {
			return adapter.ErrNotFound
		}
		err := a.guard(ctx, db, func(db link) error {
			rows, err := db.query(ctx, sql.setPassword, password.Hash, password.State, owner)
			stored, err = first(rows, err, scanPassword)
			return err
		})
		switch {
		case sql.own.violated(err, foreignKeyViolation):
			return adapter.ErrNotFound
		case err == nil && stored == nil:
			return errNotDone
		}
		return err
	})
	return stored, err
}

// SwapPassword implements [adapter.Passwords]. [PASS-04] [PASS-05]
func (a *Adapter) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	var stored *adapter.Password
	err := a.passwords(ctx, "swap password", func(db link, sql *statements) error {
		if err := to.Check(); err != nil {
			return err
		}
		owner, ok := sql.ids.arg(from.UserID)
		if !ok || from.Check() != nil {
			return nil //nolint:nilerr // no user has such a password
		}
		var err error
		stored, err = surely(ctx, db, func() (*adapter.Password, error) {
			rows, err := db.query(ctx, sql.swapPassword, owner, from.Hash, from.State, to.Hash, to.State)
			return first(rows, err, scanPassword)
		}, false, sql.getPasswordAt, owner, from.Hash, from.State)
		return err
	})
	return stored, err
}

// DeletePassword implements [adapter.Passwords]. Calls of it and of DeleteAuthenticator
// for one user take turns by a lock on the user's row. [PASS-06] [PASS-07]
func (a *Adapter) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	var deleted *adapter.Password
	err := a.passwords(ctx, "delete password", func(db link, sql *statements) error {
		owner, ok := sql.ids.arg(userID)
		if !ok {
			return nil
		}
		var err error
		deleted, err = surely(ctx, db, func() (*adapter.Password, error) {
			return inTurn(ctx, db, query{sql.takeTurnForUser, []any{owner}}, query{sql.deletePassword, []any{owner, keepOne}}, scanPassword)
		}, false, sql.getPassword.sure, owner)
		if errors.Is(err, errRefused) {
			return adapter.ErrLastCredential
		}
		return err
	})
	return deleted, err
}

// passwords is call for a method that needs the table of passwords.
func (a *Adapter) passwords(ctx context.Context, op string, f func(db link, sql *statements) error) error {
	return a.call(ctx, op, func(db link, sql *statements) error {
		if why := sql.absent["passwords"]; why != nil {
			return fmt.Errorf("%w: %w", adapter.ErrUnsupported, why)
		}
		return f(db, sql)
	})
}
