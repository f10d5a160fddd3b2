package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const selectPassword = "SELECT p.userId, p.hash, p.state FROM `passwords` p WHERE p.userId = ?"

// passwordRecord returns the columns of a password.
func passwordRecord(p adapter.Password) *record {
	r := recordOf("passwords").set("userId", p.UserID).set("hash", p.Hash).set("state", p.State)
	r.err = errors.Join(p.Check(), r.err)
	return r
}

// CreateUserWithPassword stores a new user and the password of that user, in one
// transaction. [PASS-01] [PASS-08] [PASS-09]
func (a *Adapter) CreateUserWithPassword(ctx context.Context, user adapter.User,
	password adapter.Password) (*adapter.User, error) {
	const op = "create user with password"
	if user.ID == "" {
		user.ID = newUUID()
	}
	password.UserID = user.ID
	return a.signUp(ctx, op, user, passwordRecord(password))
}

// GetPassword returns the password of the user, or nil. [PASS-01] [PASS-02]
func (a *Adapter) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	const op = "get password"
	if !isKey(idLength, userID) {
		return nil, absent(ctx, op)
	}
	// A site without foreign keys may have deleted the user alone.
	return get(ctx, a, op, "SELECT p.userId, p.hash, p.state FROM `passwords` p JOIN `user` u ON u.id = p.userId WHERE p.userId = ?",
		readPassword, userID)
}

// SetPassword stores the password of an existing user, in place of an earlier one.
// [PASS-01] [PASS-03] [PASS-10]
func (a *Adapter) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	const op = "set password"
	r := passwordRecord(password)
	if err := password.Check(); err != nil {
		return nil, failed(ctx, op, err)
	}
	if !isKey(idLength, password.UserID) {
		return nil, notFound(op, "user")
	}
	err := a.write(ctx, op, func(o on) error {
		bound, err := o.bind(ctx, r, false)
		if err == nil {
			_, err = o.exec(ctx, bound.insertOrUpdate(), append(bound.values[:len(bound.values):len(bound.values)], bound.values...)...)
		}
		return o.explain(ctx, err, r, "TRUE")
	})
	if err != nil {
		return nil, err
	}
	return &password, nil
}

// SwapPassword stores to, if the stored password is from. [PASS-04] [PASS-05]
func (a *Adapter) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	const op = "swap password"
	to.UserID = from.UserID
	if err := to.Check(); err != nil {
		return nil, failed(ctx, op, err)
	}
	if !isKey(idLength, from.UserID) || from.Check() != nil {
		return nil, absent(ctx, op)
	}
	swapped := false
	err := a.write(ctx, op, func(o on) error {
		const is = "p.userId = ? AND p.hash = ? AND p.state = ?"
		if from == to { // the server may not count a row that stays what it is
			n, err := o.count(ctx, "`passwords` p WHERE "+is, from.UserID, from.Hash, from.State)
			swapped = n > 0
			return err
		}
		r, err := o.bind(ctx, recordOf("passwords").set("hash", to.Hash).set("state", to.State), true)
		if err != nil {
			return err
		}
		n, err := o.exec(ctx, r.update(is), append(r.values[:len(r.values):len(r.values)], from.UserID, from.Hash, from.State)...)
		swapped = n > 0
		return err
	})
	if err != nil || !swapped {
		return nil, err
	}
	return &to, nil
}

// DeletePassword deletes the password of the user, in one transaction that locks the user,
// so that of this and a deletion of an authenticator at once one sees what the other has
// left. [PASS-06] [PASS-07]
func (a *Adapter) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	const op = "delete password"
	if !isKey(idLength, userID) {
		return nil, absent(ctx, op)
	}
	var deleted *adapter.Password
	err := a.write(ctx, op, func(o on) (err error) {
		if err = o.lockUser(ctx, userID); err != nil {
			return err
		}
		if deleted, err = one(ctx, o, selectPassword+" FOR UPDATE", readPassword, userID); err != nil || deleted == nil {
			return err
		}
		if _, err = o.exec(ctx, "DELETE p FROM `passwords` p WHERE p.userId = ?", userID); err != nil || !keepOne {
			return err
		}
		return o.keepsOne(ctx, userID)
	})
	if err != nil {
		return nil, err
	}
	return deleted, nil
}

// lockUser makes the calls for one user take turns. The nodes of a Galera cluster do not know
// each other's locks: there the COMMIT of one of two transactions fails if both have changed
// one row, so the user's name is changed and changed back.
func (o on) lockUser(ctx context.Context, userID string) error {
	name, err := one(ctx, o, "SELECT u.name FROM `user` u WHERE u.id = ? FOR UPDATE", readText, userID)
	if err != nil || name == nil || !o.a.galera.Load() {
		return err
	}
	other := sql.NullString{Valid: true}
	if *name == other {
		other.String = "-"
	}
	for _, value := range []sql.NullString{other, *name} {
		var text any
		if value.Valid {
			text = value.String
		}
		if err := o.update(ctx, recordOf("user").set("name", text), "u.id = ?", userID); err != nil {
			return err
		}
	}
	return nil
}

func readText(rows *sql.Rows) (*sql.NullString, error) {
	text := new(sql.NullString)
	return text, rows.Scan(text)
}

// keepsOne returns an error if the user has no way to sign in: no authenticator, no account
// and no password. A site may have no table of passwords or authenticators.
func (o on) keepsOne(ctx context.Context, userID string) error {
	for _, from := range []string{"`authenticator` c WHERE c.userId = ?", "`account` a WHERE a.userId = ?", "`passwords` p WHERE p.userId = ?"} {
		n, err := o.count(ctx, from, userID)
		if n > 0 || err != nil && !errors.Is(err, adapter.ErrUnsupported) {
			return err
		}
	}
	return adapter.ErrLastCredential
}

func readPassword(rows *sql.Rows) (*adapter.Password, error) {
	p := new(adapter.Password)
	return p, rows.Scan(&p.UserID, &p.Hash, &p.State)
}
