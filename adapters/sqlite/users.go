package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	newUser     = `id, name, email, emailVerified, image`
	userColumns = `{u.id}, {u.name}, {u.email}, {u.emailVerified}, {u.image}`
)

const insertUser = `
	INSERT INTO "user" ({new u: ` + newUser + `}) VALUES ({values u: ` + newUser + `})
	RETURNING ` + userColumns

// userValues returns the values of newUser for a new user.
func userValues(user adapter.User) ([]any, error) {
	if user.ID == "" {
		user.ID = newUUID()
	}
	verified, err := toNullMillis(user.EmailVerified)
	return []any{user.ID, toNull(user.Name), emailValue(user.Email), verified, toNull(user.Image)}, err
}

// emailValue returns null for the empty address, so that users without an address
// do not conflict. [USER-12]
func emailValue(email string) any {
	if email == "" {
		return nil
	}
	return email
}

// CreateUser stores a new user. A given ID is kept; without one the user gets
// a random UUID. Addresses are compared byte for byte.
// [USER-01] [USER-04] [USER-05] [USER-11] [USER-12] [USER-14] [CONC-03]
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	const op = "create user"
	values, err := userValues(user)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	created, err := one(ctx, a, insertUser, readUser, values...)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return created, nil
}

// GetUser returns the user with the ID, or nil. [USER-02] [USER-07] [USER-08]
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	user, err := one(ctx, a, `
		SELECT `+userColumns+` FROM "user" WHERE {u.id} = ?`, readUser, id)
	if err != nil {
		return nil, failed(ctx, "get user", err)
	}
	return user, nil
}

// GetUserByEmail returns the user with exactly the address, or nil. The empty
// address finds no user. [USER-09] [USER-10] [USER-13] [INPUT-01]
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	user, err := one(ctx, a, `
		SELECT `+userColumns+` FROM "user" WHERE {u.email} = ?`, readUser, emailValue(email))
	if err != nil {
		return nil, failed(ctx, "get user by e-mail", err)
	}
	return user, nil
}

// GetUserByAccount returns the owner of the account, or nil.
// [ACCT-01] [ACCT-04] [ACCT-05]
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	user, err := one(ctx, a, `
		SELECT u.{u.id}, u.{u.name}, u.{u.email}, u.{u.emailVerified}, u.{u.image}
		FROM "account" a JOIN "user" u ON u.{u.id} = a.{a.userId}
		WHERE a.{a.provider} = ? AND a.{a.providerAccountId} = ?`, readUser, key.Provider, key.ProviderAccountID)
	if err != nil {
		return nil, failed(ctx, "get user by account", err)
	}
	return user, nil
}

// UpdateUser changes the fields that the update sets, in one statement.
// Concurrent updates of other fields survive. [USER-17] to [USER-24] [USER-30]
// [CONC-08] [CONC-22]
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	const op = "update user"
	name, setName := update.Name.Get()
	email, setEmail := update.Email.Get()
	emailVerified, setVerified := update.EmailVerified.Get()
	image, setImage := update.Image.Get()
	verified, err := toNullMillis(emailVerified)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	var set assignments
	set.add(setName, "name", toNull(name))
	set.add(setEmail, "email", emailValue(email))
	set.add(setVerified, "emailVerified", verified)
	set.add(setEmail && !setVerified, "emailVerified of email", emailValue(email))
	set.add(setImage, "image", toNull(image))
	condition, args := "{u.id} = ?", append(set.values, update.ID)
	if update.IfEmail != "" {
		condition, args = condition+" AND {u.email} = ?", append(args, update.IfEmail)
	}
	user, err := one(ctx, a, set.update("user", condition, userColumns), readUser, args...)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case user == nil:
		return nil, notFound(op, "user")
	}
	return user, nil
}

// fewSessions is the largest number of sessions that one statement deletes
// together with their user.
const fewSessions = 50

// DeleteUser deletes the user and, by a trigger of the same statement, all
// accounts, sessions and authenticators and the password of that user. If the user has more than
// 50 sessions, the sessions are deleted first, in short batches; if such a call
// fails half-way, the user still exists and the call can be repeated. If a
// foreign key in a table of the application forbids the deletion, the call fails
// and the user stays. [CASC-01] to [CASC-10] [CONC-11]
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	const op = "delete user"
	if a.foreign {
		return a.deleteEverythingOf(ctx, id)
	}
	for {
		user, err := one(ctx, a, `
			DELETE FROM "user" WHERE {u.id} = ? AND NOT EXISTS (SELECT 1 FROM "session" WHERE {s.userId} = ? LIMIT 1 OFFSET ?)
			RETURNING `+userColumns+kept, readDeletedUser, id, id, fewSessions)
		if err != nil {
			return nil, failed(ctx, op, err)
		}
		if user != nil {
			return user, nil
		}
		if user, err = a.GetUser(ctx, id); user == nil || err != nil {
			return nil, err
		}
		if _, err := a.DeleteSessionsByUserID(ctx, id, ""); err != nil {
			return nil, err
		}
	}
}

// kept fails, and undoes the deletion of a user, if a trigger of the site has kept a record
// of the user.
const kept = `, CASE WHEN EXISTS (SELECT 1 FROM "session" WHERE {s.userId} = "user".{u.id}) OR EXISTS (SELECT 1 FROM "account" WHERE {a.userId} = "user".{u.id})
	OR EXISTS (SELECT 1 FROM "authenticator" WHERE {c.userId} = "user".{u.id}) OR EXISTS (SELECT 1 FROM "passwords" WHERE {p.userId} = "user".{u.id})
	THEN abs(-9223372036854775808) END`

func readDeletedUser(rows *sql.Rows) (*adapter.User, error) {
	var row userRow
	if err := rows.Scan(append(row.columns(), new(any))...); err != nil {
		return nil, err
	}
	user, err := row.user()
	return &user, err
}

// deleteEverythingOf deletes a user at a site of others, where the trigger is missing.
func (a *Adapter) deleteEverythingOf(ctx context.Context, id string) (user *adapter.User, err error) {
	err = a.atomically(ctx, func(ctx context.Context, tx *Adapter) (err error) {
		if err := tx.ready(ctx); err != nil {
			return err
		}
		for _, theirs := range []string{`"session" WHERE {s.userId} = ?`, `"account" WHERE {a.userId} = ?`, `"authenticator" WHERE {c.userId} = ?`, `"passwords" WHERE {p.userId} = ?`} {
			if _, err := tx.exec(ctx, `DELETE FROM `+theirs, id); errors.Is(err, errNoTable) {
				continue
			} else if err != nil {
				return err
			}
			left, err := one(ctx, tx, `SELECT EXISTS (SELECT 1 FROM `+theirs+`)`, readBool, id)
			if err != nil {
				return err
			}
			if *left {
				return errNotDone
			}
		}
		user, err = one(ctx, tx, `DELETE FROM "user" WHERE {u.id} = ? RETURNING `+userColumns, readUser, id)
		return err
	})
	if err != nil {
		return nil, failed(ctx, "delete user", err)
	}
	return user, nil
}

// userRow receives userColumns.
type userRow struct {
	id                 string
	name, email, image *string
	verified           *int64
}

// columns are where the columns go; there is room for one more.
func (r *userRow) columns() []any {
	return append(make([]any, 0, 6), &r.id, orNull[string]{&r.name}, orNull[string]{&r.email}, orNull[int64]{&r.verified}, orNull[string]{&r.image})
}

func (r *userRow) user() (adapter.User, error) {
	user := adapter.User{ID: r.id, Name: r.name, Image: r.image}
	if r.email != nil {
		user.Email = *r.email
	}
	var err error
	if user.EmailVerified, err = fromNullMillis(r.verified); err != nil {
		return adapter.User{}, corrupt("emailVerified", err)
	}
	return user, nil
}

func readUser(rows *sql.Rows) (*adapter.User, error) {
	var row userRow
	if err := rows.Scan(row.columns()...); err != nil {
		return nil, err
	}
	user, err := row.user()
	return &user, err
}
