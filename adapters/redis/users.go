package redis

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUser implements adapter.Users.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (_ *adapter.User, err error) {
	defer wrap(ctx, "create user", &err)
	return a.createUser(ctx, &userRecord{userFields: userFields(user)}, nil)
}

// createUser writes a user and the user's first records, which begin has by
// their keys.
func (a *Adapter) createUser(ctx context.Context, r *userRecord, begin map[string]encoder) (*adapter.User, error) {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	r.Inc = newIncarnation()
	value, err := r.encode()
	if err != nil {
		return nil, err
	}
	args := []any{"msetnx", a.keys.user(r.ID), value}
	if r.Email != "" {
		args = append(args, a.keys.email(r.Email), r.ID)
	}
	for key, record := range begin {
		value, err := record.encode()
		if err != nil {
			return nil, err
		}
		args = append(args, key, value)
	}
	created, err := a.send(ctx, args...).Bool()
	if err == nil && !created {
		err = failures["taken"]
	}
	return unless(err, r.user())
}

func newIncarnation() string { return rand.Text()[:10] }

// GetUser implements adapter.Users.
func (a *Adapter) GetUser(ctx context.Context, id string) (_ *adapter.User, err error) {
	defer wrap(ctx, "get user", &err)
	r, err := read(ctx, a, a.keys.user(id), newUser(id))
	return r.user(), err
}

// GetUserByEmail implements adapter.Users.
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (_ *adapter.User, err error) {
	defer wrap(ctx, "get user by e-mail", &err)
	u, err := a.follow(ctx, "email", a.keys.email(email), itself)
	if u != nil && u.Email != email { // the user's address changed between the two reads
		u = nil
	}
	return u.user(), err
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (_ *adapter.User, err error) {
	defer wrap(ctx, "get user by account", &err)
	owner := itself
	if a.declared {
		owner = ownerOfAccount
	}
	u, err := a.follow(ctx, "account", a.keys.account(key), owner)
	if u != nil && !slices.Contains(u.Accounts, accountName(key)) {
		u = nil
	}
	return u.user(), err
}

func itself(id string) (string, error) { return id, nil }

func ownerOfAccount(value string) (string, error) {
	r := accountRecord{}
	_, err := decode(value, &r)
	return r.UserID, err
}

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (_ *adapter.User, err error) {
	defer wrap(ctx, "update user", &err)
	u := new(userRecord)
	update.Apply(u.user())
	fields := changes{"name": update.Name.IsSet(), "email": update.Email.IsSet(), "emailVerified": update.EmailVerified.IsSet(), "image": update.Image.IsSet()}
	t := terms{userID: update.ID}
	if update.IfEmail != "" {
		t.field, t.value = "email", update.IfEmail
	}
	r, err := change(ctx, a, newUser(update.ID), a.keys.user(update.ID), u, fields, t)
	if err == nil && r == nil {
		err = errNoUser // the user has another address
	}
	return r.user(), err
}

// sessionsAtOnce is the largest number of sessions that the script deletes
// together with their user. If there are more, all of them end at once, and
// their keys are removed afterwards.
const sessionsAtOnce = 100

// DeleteUser implements adapter.Users.
func (a *Adapter) DeleteUser(ctx context.Context, id string) (_ *adapter.User, err error) {
	defer wrap(ctx, "delete user", &err)
	r, err := a.run(ctx, "delete", []any{a.keys.user(id)}, "user", id, a.keys.session(""), sessionsAtOnce)
	if inc := at[string](r, 2); inc != "" {
		_, err = a.endSessions(ctx, a.keys.ended(inc), inc, "")
	}
	u, err := result(r, err, newUser(id))
	return u.user(), err
}
