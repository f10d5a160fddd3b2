package redis

import (
	"context"
	"crypto/rand"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUser implements adapter.Users.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (_ *adapter.User, err error) {
	defer wrap("create user", &err)
	return a.createUser(ctx, user, userRecord{})
}

// createUser writes a user together with what the record names, whose keys and
// values begin.
func (a *Adapter) createUser(ctx context.Context, u adapter.User, r userRecord, begin ...any) (*adapter.User, error) {
	if u.ID == "" {
		u.ID = rand.Text()
	}
	r.userFields, r.Inc = userFields(u), rand.Text()[:10]
	r.EmailVerified = kept(u.EmailVerified)
	value, err := encode(r, &u.ID, &u.Email, u.Name, u.Image)
	if err != nil {
		return nil, err
	}
	args := []any{"msetnx", a.keys.user(u.ID), value}
	if u.Email != "" {
		args = append(args, a.keys.email(u.Email), u.ID)
	}
	created, err := a.send(ctx, append(args, begin...)...).Bool()
	if err == nil && !created {
		err = errTaken
	}
	return result(answer{"ok", value}, err, userAs(u.ID))
}

// GetUser implements adapter.Users.
func (a *Adapter) GetUser(ctx context.Context, id string) (_ *adapter.User, err error) {
	defer wrap("get user", &err)
	r, err := a.get(ctx, a.keys.user(id))
	return result(r, err, userAs(id))
}

// GetUserByEmail implements adapter.Users.
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (_ *adapter.User, err error) {
	defer wrap("get user by e-mail", &err)
	return a.userBy(ctx, "email", a.keys.email(email))
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (_ *adapter.User, err error) {
	defer wrap("get user by account", &err)
	return a.userBy(ctx, "account", a.keys.account(key))
}

// userBy returns the user to whom a record leads.
func (a *Adapter) userBy(ctx context.Context, kind, key string) (*adapter.User, error) {
	r, err := a.run(ctx, "follow", []any{key}, kind)
	return result(r, err, func(id string) (*adapter.User, error) { return userAs(id)(at[string](r, 2)) })
}

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (_ *adapter.User, err error) {
	defer wrap("update user", &err)
	p := patch{}
	put(p, "name", update.Name, itself)
	put(p, "email", update.Email, filled)
	put(p, "emailVerified", update.EmailVerified, instant)
	put(p, "image", update.Image, itself)
	r, err := a.update(ctx, a.keys.user(update.ID), p, "", "", update.ID, "")
	return result(r, err, userAs(update.ID))
}

// sessionsAtOnce is how many sessions the script that deletes a user deletes
// along. Of more than these, each is dead at once and removed afterwards.
const sessionsAtOnce = 100

// DeleteUser implements adapter.Users.
func (a *Adapter) DeleteUser(ctx context.Context, id string) (_ *adapter.User, err error) {
	defer wrap("delete user", &err)
	r, err := a.run(ctx, "delete", []any{a.keys.user(id)}, "user", id, a.keys.session(""), sessionsAtOnce)
	if inc := at[string](r, 2); inc != "" {
		if _, err := a.endSessions(ctx, a.keys.ended(inc), inc, ""); err != nil {
			return nil, err
		}
	}
	return result(r, err, userAs(id))
}
