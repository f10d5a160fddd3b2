package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	authenticatorColumns = `c.credentialID, c.userId, c.providerAccountId, c.credentialPublicKey, c.counter, c.credentialDeviceType,
		c.credentialBackedUp, c.transports, c.name, CAST(c.created AS CHAR), CAST(c.lastUsed AS CHAR)`
	selectAuthenticator = "SELECT " + authenticatorColumns + " FROM `authenticator` c WHERE "
)

// credential returns the condition that finds a credential, and its values.
func (a *Adapter) credential(id string) (is string, values []any) {
	if a.layout != nil {
		return "c.credentialID = ?", []any{id}
	}
	return "c.credential = ? AND c.credentialID = ?", []any{digest(id), id}
}

// authenticatorRecord returns the columns of a new authenticator.
func authenticatorRecord(c adapter.Authenticator) *record {
	created, err1 := toNullInstant(c.Created)
	lastUsed, err2 := toNullInstant(c.LastUsed)
	r := recordOf("authenticator").set("credentialID", c.CredentialID).set("userId", c.UserID).
		set("providerAccountId", c.ProviderAccountID).set("credentialPublicKey", c.CredentialPublicKey).
		set("counter", c.Counter).set("credentialDeviceType", c.CredentialDeviceType).
		set("credentialBackedUp", c.CredentialBackedUp).set("transports", toNull(c.Transports)).
		set("name", toNull(c.Name)).instant("created", created, err1).instant("lastUsed", lastUsed, err2)
	if c.CredentialID == "" {
		r.err = errors.Join(r.err, errors.New("credential id is empty"))
	}
	return r
}

// storedAuthenticator returns a copy of the authenticator as the table has it.
func (a *Adapter) storedAuthenticator(c adapter.Authenticator) *adapter.Authenticator {
	c.Transports, c.Name = clone(c.Transports), clone(c.Name)
	if !a.shape.Load().has("c.name") {
		c.Name = nil
	}
	c.Created, c.LastUsed = a.storedInstant("c.created", c.Created), a.storedInstant("c.lastUsed", c.LastUsed)
	return &c
}

// CreateAuthenticator stores a credential of an existing user.
// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06] [CONC-12]
func (a *Adapter) CreateAuthenticator(ctx context.Context,
	authenticator adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	r := authenticatorRecord(authenticator)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if err := a.insert(ctx, op, r); err != nil {
		return nil, err
	}
	return a.storedAuthenticator(authenticator), nil
}

// GetAuthenticator returns the authenticator, or nil. [AUTHN-02] [AUTHN-15]
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	const op = "get authenticator"
	if !isKey(credentialLength, credentialID) {
		return nil, absent(ctx, op)
	}
	is, values := a.credential(credentialID)
	return get(ctx, a, op, selectAuthenticator+is, readAuthenticator, values...)
}

// ListAuthenticatorsByUserID returns the user's authenticators in no particular order. For
// an unknown user the slice is empty and not nil. [AUTHN-04] to [AUTHN-07] [AUTHN-21]
// [FAULT-09]
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	const op = "list authenticators"
	if !isKey(idLength, userID) {
		return none[adapter.Authenticator](ctx, op)
	}
	return list(ctx, a, op, "SELECT "+authenticatorColumns+" FROM `authenticator` c WHERE c.userId = ?",
		readAuthenticator, userID)
}

// change changes an authenticator on a locked row, unless refuse says that it must not, and
// returns it, or nil if there is none.
func (a *Adapter) change(ctx context.Context, op, credentialID string, r *record,
	refuse func(*adapter.Authenticator) bool, apply func(*adapter.Authenticator)) (*adapter.Authenticator, error) {
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if !isKey(credentialLength, credentialID) {
		return nil, absent(ctx, op)
	}
	var changed *adapter.Authenticator
	is, values := a.credential(credentialID)
	err := a.write(ctx, op, func(o on) (err error) {
		changed, err = one(ctx, o, selectAuthenticator+is+" FOR UPDATE", readAuthenticator, values...)
		if err != nil || changed == nil || refuse != nil && refuse(changed) {
			return err
		}
		apply(changed)
		return o.update(ctx, r, is, values...)
	})
	if err != nil || changed == nil {
		return nil, err
	}
	return a.storedAuthenticator(*changed), nil
}

// UpdateAuthenticatorCounter stores the counter, even a lower one, and returns the record.
// [AUTHN-08] to [AUTHN-13] [CONC-09]
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string,
	counter int64) (*adapter.Authenticator, error) {
	const op = "update authenticator counter"
	changed, err := a.change(ctx, op, credentialID, recordOf("authenticator").set("counter", counter), nil,
		func(c *adapter.Authenticator) { c.Counter = counter })
	if err == nil && changed == nil {
		err = notFound(op, "authenticator")
	}
	return changed, err
}

// UpdateAuthenticatorBackup stores the backup flags and returns the record. [AEDIT-11]
func (a *Adapter) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool,
	deviceType string) (*adapter.Authenticator, error) {
	const op = "update authenticator backup"
	r := recordOf("authenticator").set("credentialBackedUp", backedUp).set("credentialDeviceType", deviceType)
	changed, err := a.change(ctx, op, credentialID, r, nil,
		func(c *adapter.Authenticator) { c.CredentialBackedUp, c.CredentialDeviceType = backedUp, deviceType })
	if err == nil && changed == nil {
		err = notFound(op, "authenticator")
	}
	return changed, err
}

// RenameAuthenticator stores the name of the user's authenticator. [AEDIT-06]
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID,
	name string) (*adapter.Authenticator, error) {
	others := false
	if s := a.shape.Load(); !s.has("c.name") {
		return nil, failed(ctx, "rename authenticator", errNotKept)
	}
	renamed, err := a.change(ctx, "rename authenticator", credentialID, recordOf("authenticator").set("name", name),
		func(c *adapter.Authenticator) bool { others = c.UserID != userID; return others },
		func(c *adapter.Authenticator) { c.Name = &name })
	if others {
		return nil, err
	}
	return renamed, err
}

// TouchAuthenticator stores the counter to and the instant of use, if the stored counter
// equals from. [AEDIT-07] to [AEDIT-10]
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64,
	used time.Time) (*adapter.Authenticator, error) {
	const op = "touch authenticator"
	lastUsed, err := toInstant(used)
	other := false
	touched, err := a.change(ctx, op, credentialID, recordOf("authenticator").set("counter", to).instant("lastUsed",
		lastUsed, err),
		func(c *adapter.Authenticator) bool { other = c.Counter != from; return other },
		func(c *adapter.Authenticator) { c.Counter, c.LastUsed = to, &used })
	switch {
	case err != nil || other:
		return nil, err
	case touched == nil:
		return nil, notFound(op, "authenticator")
	}
	return touched, nil
}

// DeleteAuthenticator deletes the user's authenticator and the account that it is connected
// to, in one transaction that locks the user, so that of two deletions at once one sees
// what the other has left. [AEDIT-01] to [AEDIT-05]
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string,
	keepOne bool) (*adapter.Authenticator, error) {
	const op = "delete authenticator"
	if !isKey(idLength, userID) || !isKey(credentialLength, credentialID) {
		return nil, absent(ctx, op)
	}
	var deleted *adapter.Authenticator
	is, values := a.credential(credentialID)
	err := a.write(ctx, op, func(o on) (err error) {
		if err = o.lockUser(ctx, userID); err != nil {
			return err
		}
		deleted, err = one(ctx, o, selectAuthenticator+is+" AND c.userId = ? FOR UPDATE", readAuthenticator,
			append(values[:len(values):len(values)], userID)...)
		if err != nil || deleted == nil {
			return err
		}
		if _, err := o.exec(ctx, "DELETE c FROM `authenticator` c WHERE "+is, values...); err != nil {
			return err
		}
		left, err := o.count(ctx, "`authenticator` c WHERE c.userId = ? AND c.providerAccountId = ?", userID,
			deleted.ProviderAccountID)
		if err == nil && left == 0 { // the account goes with the last authenticator that is connected to it
			_, err = o.exec(ctx, "DELETE a FROM `account` a WHERE a.userId = ? AND a.type = ? AND a.providerAccountId = ?", userID,
				string(adapter.AccountWebAuthn), deleted.ProviderAccountID)
		}
		if err != nil || !keepOne {
			return err
		}
		return o.keepsOne(ctx, userID)
	})
	if err != nil {
		return nil, err
	}
	return deleted, nil
}

// count returns the number of records, also of those that are newer than the snapshot of
// the caller's transaction.
func (o on) count(ctx context.Context, from string, args ...any) (int64, error) {
	n, err := one(ctx, o, "SELECT COUNT(*) FROM "+from+" LOCK IN SHARE MODE", readNumber, args...)
	if err != nil {
		return 0, err
	}
	return *n, nil
}

func readAuthenticator(rows *sql.Rows) (*adapter.Authenticator, error) {
	var (
		c                 adapter.Authenticator
		created, lastUsed sql.RawBytes
	)
	err := rows.Scan(&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey, &c.Counter,
		&c.CredentialDeviceType,
		&c.CredentialBackedUp, &c.Transports, &c.Name, &created, &lastUsed)
	if err != nil {
		return nil, err
	}
	if c.Created, err = fromNullInstant(created); err != nil {
		return nil, corrupt("created", err)
	}
	if c.LastUsed, err = fromNullInstant(lastUsed); err != nil {
		return nil, corrupt("lastUsed", err)
	}
	return &c, nil
}
