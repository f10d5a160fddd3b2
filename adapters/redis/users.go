package redis

import (
	"context"
	"crypto/rand"
	"slices"

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
	value, err := encode(&r, []*string{&u.ID, &u.Email}, &r.Name, &r.Image)
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
	if err != nil {
		return nil, err
	}
	return r.user(u.ID), nil
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
	_, u, err := follow(ctx, a, "email", a.keys.email(email), text, func(id *string) string { return *id })
	if err != nil || u == nil || u.Email != email { // the address moved on between two reads
		return nil, err
	}
	return u.user(u.ID), nil
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (_ *adapter.User, err error) {
	defer wrap("get user by account", &err)
	owner := text // which the script has read
	if a.declared {
		owner = as(func(r *accountRecord) *string { return &r.UserID })
	}
	_, u, err := follow(ctx, a, "account", a.keys.account(key), owner, func(id *string) string { return *id })
	if err != nil || u == nil || !slices.Contains(u.Accounts, accountName(key)) {
		return nil, err
	}
	return u.user(u.ID), nil
}

func text(value string) (*string, error) { return &value, nil }

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (_ *adapter.User, err error) {
	defer wrap("update user", &err)
	p := patch{}
	set(&p, "name", update.Name, itself)
	set(&p, "email", update.Email, filled)
	set(&p, "emailVerified", update.EmailVerified, instant)
	set(&p, "image", update.Image, itself)
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
