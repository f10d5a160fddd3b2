package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUser implements [adapter.Users]. A user without an ID, or with an ID
// that the column cannot hold, gets a random UUID. If users.id is an integer,
// the database assigns every ID. Addresses are compared byte for byte. For a
// user without an address, null is stored. [USER-01] [USER-05] [USER-11]
// [USER-12]
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	const op = "create user"
	var p problems
	p.user(user)
	var made *adapter.User
	err := a.call(ctx, op, func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		args, err := sql.args(newUser, userArgs(user))
		if err != nil {
			return err
		}
		var id any
		newID := sql.newID(user.ID)
		if len(newID) > 0 {
			id = newID[0]
		}
		made, err = surely(ctx, db, func() (*adapter.User, error) {
			rows, err := db.query(ctx, sql.createUser, append(args, newID...)...)
			return first(rows, err, scanUser)
		}, true, sql.getUserByEither, emailArg(user.Email), id)
		if err == nil && made == nil {
			return adapter.ErrConflict
		}
		return err
	})
	return made, err
}

// GetUser implements [adapter.Users]. An ID matches only in the form that the
// database writes: "007" is not user 7. [USER-02] [USER-08]
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return a.byID(ctx, "get user", id, func(db link, sql *statements, arg any) (*adapter.User, error) {
		return get(ctx, db, sql.getUser, scanUser, arg)
	})
}

// byID runs f with the ID of a user, unless no user can have it.
func (a *Adapter) byID(ctx context.Context, op, id string, f func(db link, sql *statements, arg any) (*adapter.User, error)) (*adapter.User, error) {
	var user *adapter.User
	err := a.call(ctx, op, func(db link, sql *statements) (err error) {
		if arg, ok := sql.ids.arg(id); ok {
			user, err = f(db, sql, arg)
		}
		return err
	})
	return user, err
}

// GetUserByEmail implements [adapter.Users]. [USER-09] [USER-14]
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return lookup(ctx, a, "get user by e-mail", scanUser,
		func(sql *statements) find { return sql.getUserByEmail }, email)
}

// GetUserByAccount implements [adapter.Users]. [ACCT-01] [ACCT-05]
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	return lookup(ctx, a, "get user by account", scanUser,
		func(sql *statements) find { return sql.getUserByAccount }, key.Provider, key.ProviderAccountID)
}

// UpdateUser implements [adapter.Users]. The statement does not write fields
// that are not set, so that concurrent updates of different fields all survive. It
// clears the proof of an address that it replaces. [USER-17] [USER-22] [USER-30]
// [CONC-08] [CONC-10] [CONC-22]
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	name, setName := update.Name.Get()
	email, setEmail := update.Email.Get()
	verified, setVerified := update.EmailVerified.Get()
	image, setImage := update.Image.Get()
	var p problems
	p.text("e-mail address", email)
	p.optional("name", name)
	p.optional("image", image)
	p.optionalInstant("emailVerified", verified)
	var user *adapter.User
	err := a.call(ctx, "update user", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		id, ok := sql.ids.arg(update.ID)
		if !ok || !storable(update.IfEmail) {
			return adapter.ErrNotFound
		}
		set, change, read := assignments{args: []any{id}}, sql.updateUser, sql.getUser.sure
		if update.IfEmail != "" {
			set.args, change, read = append(set.args, update.IfEmail), sql.updateUserIf, sql.getUserIf
		}
		if setEmail && !setVerified {
			set.cleared = "u.emailVerified"
		}
		set.add(setName, "u.name", nullable(name))
		set.add(setEmail, "u.email", emailArg(email))
		set.add(setVerified, "u.emailVerified", nullableInstant(verified))
		set.add(setImage, "u.image", nullable(image))
		statement, args, err := set.in(sql, change, read)
		if err != nil {
			return err
		}
		err = a.guard(ctx, db, func(db link) (err error) {
			user, err = surely(ctx, db, func() (*adapter.User, error) {
				rows, err := db.query(ctx, statement, args...)
				return first(rows, err, scanUser)
			}, false, read, set.args...)
			return err
		})
		if err == nil && user == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return user, err
}

// DeleteUser implements [adapter.Users]. It waits for transactions that are
// writing records of the user. The foreign keys then delete these records
// together with the user. [CASC-01] to [CASC-09] [CONC-11] [FAULT-05]
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return a.byID(ctx, "delete user", id, func(db link, sql *statements, arg any) (*adapter.User, error) {
		return surely(ctx, db, func() (*adapter.User, error) {
			if sql.keeping {
				return deleteInTurn(ctx, db, a.guard, sql, arg)
			}
			rows, err := db.query(ctx, sql.deleteUser, arg)
			return first(rows, err, scanUser)
		}, false, sql.getUser.sure, arg)
	})
}

// A guarding keeps what it is given from ending a transaction of the caller.
type guarding func(ctx context.Context, db link, f func(link) error) error

// deleteInTurn deletes what belongs to a user and then the user. It returns nil, and has
// changed nothing, if the user is absent, or if something that belongs to the user is still
// there: the site kept it, or somebody has just made it.
func deleteInTurn(ctx context.Context, db link, guard guarding, sql *statements, id any) (user *adapter.User, err error) {
	err = guard(ctx, db, func(db link) (err error) {
		user, err = inTurn(ctx, db, query{sql.deleteAllOfUser, []any{id}}, query{sql.deleteBareUser, []any{id}}, scanUser)
		return err
	})
	if isCode(err, divisionByZero) {
		return nil, nil
	}
	return user, err
}

// user adds a problem for each field of a user that can't be stored.
func (p *problems) user(u adapter.User) {
	p.text("id", u.ID)
	p.text("e-mail address", u.Email)
	p.optional("name", u.Name)
	p.optional("image", u.Image)
	p.optionalInstant("emailVerified", u.EmailVerified)
}

// userArgs returns the values of newUser.
func userArgs(u adapter.User) []any {
	return []any{nullable(u.Name), emailArg(u.Email), nullableInstant(u.EmailVerified), nullable(u.Image)}
}

// newID returns the last argument of a statement that makes a user. For an ID
// that the column can't hold, the argument is null. If the database assigns
// every ID, there is no such argument.
func (s *statements) newID(id string) []any {
	if s.ids.assigned {
		return nil
	}
	arg, ok := s.ids.arg(id)
	if !ok {
		arg = nil
	}
	return []any{arg}
}
