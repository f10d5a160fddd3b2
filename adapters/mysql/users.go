package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const userColumns = "u.id, u.name, u.email, CAST(u.emailVerified AS CHAR), u.image"

// userRecord returns the columns of a new user.
func userRecord(user adapter.User) *record {
	verified, err := toNullInstant(user.EmailVerified)
	return recordOf("user").set("id", user.ID).set("name", toNull(user.Name)).
		set("email", emailValue(user.Email)).instant("emailVerified", verified, err).
		set("image", toNull(user.Image))
}

// emailValue returns null for the empty address, so that users without an address do not
// conflict. [USER-12]
func emailValue(email string) any {
	if email == "" {
		return nil
	}
	return email
}

// CreateUser stores a new user. A given ID is kept; without one the user gets a random
// UUID. Addresses are compared byte for byte.
// [USER-01] [USER-04] [USER-05] [USER-11] [USER-12] [USER-14] [CONC-03]
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	const op = "create user"
	if user.ID == "" {
		user.ID = newUUID()
	}
	r := userRecord(user)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if err := a.insert(ctx, op, r); err != nil {
		return nil, err
	}
	return a.storedUser(user), nil
}

// insert stores one record.
func (a *Adapter) insert(ctx context.Context, op string, r *record) error {
	return a.write(ctx, op, func(o on) error { return o.insert(ctx, r) })
}

// storedUser returns a copy of the user as the table has it.
func (a *Adapter) storedUser(user adapter.User) *adapter.User {
	user.Name, user.Image = clone(user.Name), clone(user.Image)
	user.EmailVerified = a.storedInstant("u.emailVerified", user.EmailVerified)
	return &user
}

func clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// storedInstant returns an instant as a column has it.
func (a *Adapter) storedInstant(column string, t *time.Time) *time.Time {
	s := a.shape.Load()
	if t == nil || !s.has(column) {
		return nil
	}
	at := s.stored(column, *t)
	return &at
}

// GetUser returns the user with the ID, or nil. [USER-02] [USER-07] [USER-08]
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if !isKey(idLength, id) {
		return nil, absent(ctx, "get user")
	}
	return get(ctx, a, "get user", "SELECT "+userColumns+" FROM `user` u WHERE u.id = ?", readUser, id)
}

// absent is the result of a lookup by what can be no key: an error only if ctx has ended.
func absent(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return failed(ctx, op, err)
	}
	return nil
}

// GetUserByEmail returns the user with exactly the address, or nil. The empty address
// finds no user. [USER-09] [USER-10] [USER-13] [INPUT-01]
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	const op = "get user by e-mail"
	if !isKey(emailLength, email) {
		return nil, absent(ctx, op)
	}
	return get(ctx, a, op, "SELECT "+userColumns+" FROM `user` u WHERE u.email = ?", readUser, email)
}

// GetUserByAccount returns the owner of the account, or nil.
// [ACCT-01] [ACCT-04] [ACCT-05]
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	const op = "get user by account"
	if !isKey(providerLength, key.Provider, key.ProviderAccountID) {
		return nil, absent(ctx, op)
	}
	return get(ctx, a, op, "SELECT "+userColumns+" FROM `account` a JOIN `user` u ON u.id = a.userId WHERE a.provider = ? AND a.providerAccountId = ?",
		readUser, key.Provider, key.ProviderAccountID)
}

// UpdateUser changes the fields that the update sets, on a locked row. Concurrent updates
// of other fields survive. [USER-17] to [USER-24] [USER-30] [CONC-08] [CONC-22]
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	const op = "update user"
	if !isKey(idLength, update.ID) {
		return nil, notFound(op, "user")
	}
	var to adapter.User
	update.Apply(&to)
	r := recordOf("user").change(update.Name.IsSet(), "name", toNull(to.Name)).
		change(update.Email.IsSet(), "email", emailValue(to.Email)).
		change(update.Image.IsSet(), "image", toNull(to.Image))
	if update.EmailVerified.IsSet() {
		verified, err := toNullInstant(to.EmailVerified)
		r.instant("emailVerified", verified, err)
	}
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	var updated *adapter.User
	err := a.write(ctx, op, func(o on) (err error) {
		updated, err = one(ctx, o, "SELECT "+userColumns+" FROM `user` u WHERE u.id = ? FOR UPDATE", readUser, update.ID)
		if err != nil || updated == nil {
			return err
		}
		if update.IfEmail != "" && updated.Email != update.IfEmail {
			updated = nil
			return nil
		}
		if len(r.columns) == 0 {
			return nil
		}
		columns, proof := *r, updated.EmailVerified
		update.Apply(updated)
		if proof != nil && updated.EmailVerified == nil && !update.EmailVerified.IsSet() {
			columns.set("emailVerified", nil) // the address is another one
		}
		return o.update(ctx, &columns, "u.id = ?", update.ID)
	})
	switch {
	case err != nil:
		return nil, err
	case updated == nil:
		return nil, notFound(op, "user")
	}
	return a.storedUser(*updated), nil
}

// fewSessions is the number of sessions up to which a user is deleted together with them.
// More are deleted before, in batches.
const fewSessions = "200"

// DeleteUser deletes the user with all accounts, sessions and authenticators, and returns
// the user, or nil. If a foreign key in a table of the application forbids the deletion,
// the call fails and the user stays. [CASC-01] to [CASC-10] [CONC-11]
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	const op = "delete user"
	if !isKey(idLength, id) {
		return nil, absent(ctx, op)
	}
	for {
		var user *adapter.User
		var many bool
		err := a.write(ctx, op, func(o on) (err error) {
			const sessions = "SELECT 1 FROM `session` s WHERE s.userId = ? LIMIT 1 OFFSET " + fewSessions
			args, later := []any{id, id}, "("+sessions+")"
			if o.shape != nil {
				args, later = args[1:], "NULL"
			}
			var further *int64
			user, err = one(ctx, o, "SELECT "+userColumns+", "+later+" FROM `user` u WHERE u.id = ? FOR UPDATE",
				func(rows *sql.Rows) (*adapter.User, error) {
					found := new(adapter.User)
					return found, scanUser(rows, found, &further)
				}, args...)
			if err != nil || user == nil {
				return err
			}
			if o.shape != nil && !o.theirs { // no snapshot begins: the table may have no index, and the deletion then reads all of it
				if further, err = one(ctx, o, sessions+" LOCK IN SHARE MODE", readNumber, id); err != nil {
					return err
				}
			}
			if many = !o.theirs && further != nil; many {
				return nil
			}
			if err := o.deleteOwned(ctx, id); err != nil {
				return err
			}
			_, err = o.exec(ctx, "DELETE u FROM `user` u WHERE u.id = ?", id)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case !many:
			return user, nil
		}
		if _, err := a.DeleteSessionsByUserID(ctx, id, ""); err != nil {
			return nil, err
		}
	}
}

// deleteOwned deletes what the user has in the tables of a site, which may have no foreign
// keys.
func (o on) deleteOwned(ctx context.Context, id string) error {
	if o.shape == nil {
		return nil
	}
	for _, t := range tables {
		if !o.shape.owned[t.name] {
			continue
		}
		alias := aliases[t.name]
		if _, err := o.exec(ctx, "DELETE "+alias+" FROM `"+t.name+"` "+alias+" WHERE "+alias+".userId = ?",
			id); err != nil {
			return err
		}
	}
	return nil
}

func readUser(rows *sql.Rows) (*adapter.User, error) {
	user := new(adapter.User)
	return user, scanUser(rows, user)
}

// scanUser reads userColumns, and what follows them.
func scanUser(rows *sql.Rows, user *adapter.User, more ...any) error {
	var email, verified sql.RawBytes
	err := rows.Scan(append([]any{&user.ID, &user.Name, &email, &verified, &user.Image}, more...)...)
	if err != nil {
		return err
	}
	user.Email = string(email) // null is no address
	if user.EmailVerified, err = fromNullInstant(verified); err != nil {
		return corrupt("emailVerified", err)
	}
	return nil
}

func readNumber(rows *sql.Rows) (*int64, error) {
	n := new(int64)
	return n, rows.Scan(n)
}
