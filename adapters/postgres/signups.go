package postgres

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithAccount implements [adapter.SignUps]. It is one statement: it
// stores all of the records or none. [SIGNUP-01] to [SIGNUP-06]
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	var p problems
	p.user(user)
	p.account(account)
	if authenticator != nil {
		p.authenticator(*authenticator)
	}
	var made *adapter.User
	err := a.call(ctx, "create user with account", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		args, err := sql.args(newUser, userArgs(user))
		more, err2 := sql.args(newAccount, accountArgs(account))
		args = append(args, more...)
		statement := sql.createUserWithAccount
		if authenticator != nil {
			statement = sql.createUserWithAccountAuthenticator
			if statement == "" {
				return errNoAuthenticators
			}
			var err3 error
			more, err3 = sql.args(newAuthenticator, authenticatorArgs(*authenticator))
			args, err2 = append(args, more...), errors.Join(err2, err3)
		}
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		err = a.guard(ctx, db, func(db link) error {
			rows, err := db.query(ctx, statement, append(args, sql.newID(user.ID)...)...)
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
