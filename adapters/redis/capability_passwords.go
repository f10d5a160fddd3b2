package redis

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.Passwords = (*Adapter)(nil)

// CreateUserWithPassword implements adapter.Passwords.
func (a *Adapter) CreateUserWithPassword(ctx context.Context, user adapter.User, password adapter.Password) (_ *adapter.User, err error) {
	defer wrap(ctx, "create user with password", &err)
	if err := password.Check(); err != nil {
		return nil, err
	}
	if user.ID == "" {
		user.ID = rand.Text()
	}
	u := &userRecord{userFields: userFields(user), Inc: newIncarnation()}
	p := &passwordRecord{Inc: u.Inc, Hash: password.Hash, State: password.State}
	keys, args := a.keys.withPassword(u.ID), []any{"create"}
	for _, record := range []encoder{u, p} {
		value, err := record.encode()
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	if u.Email != "" {
		keys, args = append(keys, a.keys.email(u.Email)), append(args, u.ID)
	}
	_, err = a.run(ctx, "password", keys, args...)
	return unless(err, u.user())
}

// GetPassword implements adapter.Passwords.
func (a *Adapter) GetPassword(ctx context.Context, userID string) (_ *adapter.Password, err error) {
	defer wrap(ctx, "get password", &err)
	return runner(a.run).password(ctx, a.keys, userID, "get")
}

// SetPassword implements adapter.Passwords.
func (a *Adapter) SetPassword(ctx context.Context, password adapter.Password) (_ *adapter.Password, err error) {
	defer wrap(ctx, "set password", &err)
	if err := password.Check(); err != nil {
		return nil, err
	}
	return runner(a.run).password(ctx, a.keys, password.UserID, "set", password.Hash, password.State)
}

// SwapPassword implements adapter.Passwords.
func (a *Adapter) SwapPassword(ctx context.Context, from, to adapter.Password) (_ *adapter.Password, err error) {
	defer wrap(ctx, "swap password", &err)
	if err := to.Check(); err != nil {
		return nil, err
	}
	return runner(a.run).password(ctx, a.keys, from.UserID, "swap", from.Hash, from.State, to.Hash, to.State)
}

// DeletePassword implements adapter.Passwords.
func (a *Adapter) DeletePassword(ctx context.Context, userID string, keepOne bool) (_ *adapter.Password, err error) {
	defer wrap(ctx, "delete password", &err)
	return runner(a.run).password(ctx, a.keys, userID, "delete", strconv.FormatBool(keepOne))
}

// runner runs a script.
type runner func(ctx context.Context, script string, keys []any, args ...any) (answer, error)

// password runs an operation on the password of the user.
func (run runner) password(ctx context.Context, k keys, userID string, args ...any) (*adapter.Password, error) {
	r, err := run(ctx, "password", k.withPassword(userID), args...)
	p, err := result(r, err, new(passwordRecord))
	if p == nil {
		return nil, err
	}
	return &adapter.Password{UserID: userID, Hash: p.Hash, State: p.State}, err
}

// withPassword returns the keys of a user and of the user's password.
func (k keys) withPassword(userID string) []any { return []any{k.user(userID), k.password(userID)} }
