package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUser implements [adapter.Users]. A user without an ID, or with one that
// the column cannot hold, gets a random UUID; where users.id is an integer the
// database assigns every ID. The address is compared byte for byte. A user
// without one is stored with a null. [USER-01] [USER-05] [USER-11] [USER-12]
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	const op = "create user"
	var p problems
	p.user(user)
	var made *adapter.User
	err := a.call(ctx, op, func(db DB) error {
		if err := p.err(); err != nil {
			return err
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		rows, err := db.Query(ctx, sql.createUser, append(userArgs(user), sql.newID(user.ID)...)...)
		if made, err = first(rows, err, scanUser); err == nil && made == nil {
			return adapter.ErrConflict
		}
		return err
	})
	return made, err
}

// GetUser implements [adapter.Users]. An ID matches only as the database writes
// it: "007" is not user 7. [USER-02] [USER-08]
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	var user *adapter.User
	err := a.call(ctx, "get user", func(db DB) error {
		sql, arg, err := a.owner(ctx, db, id)
		if err != nil || arg == nil {
			return err
		}
		rows, err := db.Query(ctx, sql.getUser, arg)
		user, err = first(rows, err, scanUser)
		return err
	})
	return user, err
}

// GetUserByEmail implements [adapter.Users]. [USER-09] [USER-14]
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return lookup(ctx, a, "get user by e-mail", scanUser, a.sql.getUserByEmail, email)
}

// GetUserByAccount implements [adapter.Users]. [ACCT-01] [ACCT-05]
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	return lookup(ctx, a, "get user by account", scanUser, a.sql.getUserByAccount, key.Provider, key.ProviderAccountID)
}

// UpdateUser implements [adapter.Users]. Unset fields keep what they have at
// the instant of the change, so that concurrent updates of different fields all
// survive. [USER-17] [USER-22] [CONC-08] [CONC-10]
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
	err := a.call(ctx, "update user", func(db DB) error {
		if err := p.err(); err != nil {
			return err
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		id, ok := sql.kind.arg(update.ID)
		if !ok {
			return adapter.ErrNotFound
		}
		err = a.guard(ctx, db, setEmail, func(db DB) (err error) {
			var rows pgx.Rows
			if setName || setEmail || setVerified || setImage {
				rows, err = db.Query(ctx, sql.updateUser, id,
					setName, nullable(name), setEmail, emailArg(email),
					setVerified, nullableInstant(verified), setImage, nullable(image))
			} else {
				rows, err = db.Query(ctx, sql.getUser, id)
			}
			user, err = first(rows, err, scanUser)
			return err
		})
		if err == nil && user == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return user, err
}

// guard runs f under a savepoint if a unique index may fail it in a transaction
// of the caller, which then stays usable.
func (a *Adapter) guard(ctx context.Context, db DB, mayConflict bool, f func(DB) error) error {
	if !a.inTx || !mayConflict {
		return f(db)
	}
	return pgx.BeginFunc(ctx, db, func(savepoint pgx.Tx) error { return f(savepoint) })
}

// DeleteUser implements [adapter.Users]. It first locks the user, which waits
// for those who are writing for the user just now, and deletes in a second
// statement, which sees what they wrote. Both travel in one round trip and are
// one transaction. [CASC-01] to [CASC-09] [CONC-11] [FAULT-05]
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	var user *adapter.User
	err := a.call(ctx, "delete user", func(db DB) error {
		sql, arg, err := a.owner(ctx, db, id)
		if err != nil || arg == nil {
			return err
		}
		var batch pgx.Batch
		batch.Queue(sql.lockUser, arg)
		batch.Queue(sql.deleteUser, arg)
		user, err = second(db.SendBatch(ctx, &batch), scanUser)
		return err
	})
	return user, err
}

// user refuses what can't be stored of a user.
func (p *problems) user(u adapter.User) {
	p.text("id", u.ID)
	p.text("e-mail address", u.Email)
	p.optional("name", u.Name)
	p.optional("image", u.Image)
	p.optionalInstant("emailVerified", u.EmailVerified)
}

// userArgs are the values of newUserColumns.
func userArgs(u adapter.User) []any {
	return []any{nullable(u.Name), emailArg(u.Email), nullableInstant(u.EmailVerified), nullable(u.Image)}
}

// newID is the last argument of a statement that makes a user: null for an ID
// that the column can't hold, nothing where the database assigns every ID.
func (s *idStatements) newID(id string) []any {
	if s.kind.assigned {
		return nil
	}
	arg, ok := s.kind.arg(id)
	if !ok {
		arg = nil
	}
	return []any{arg}
}
