package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator implements [adapter.Authenticators]. [AUTHN-03]
// [AUTHN-20] [CONC-06]
func (a *Adapter) CreateAuthenticator(ctx context.Context, authenticator adapter.Authenticator) (*adapter.Authenticator, error) {
	var p problems
	p.key("userId", authenticator.UserID)
	p.authenticator(authenticator)
	return create(ctx, a, "create authenticator", scanAuthenticator, func(sql *statements) string { return sql.createAuthenticator },
		p, authenticator.UserID, newAuthenticator, authenticatorArgs(authenticator))
}

// GetAuthenticator implements [adapter.Authenticators]. [AUTHN-02] [AUTHN-15]
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return lookup(ctx, a, "get authenticator", scanAuthenticator,
		func(sql *statements) find { return sql.getAuthenticator }, credentialID)
}

// ListAuthenticatorsByUserID implements [adapter.Authenticators]. [AUTHN-04]
// [AUTHN-07] [FAULT-09]
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return list(ctx, a, "list authenticators by user id", scanAuthenticator,
		func(sql *statements) find { return sql.listAuthenticatorsByUserID }, userID)
}

// UpdateAuthenticatorCounter implements [adapter.Authenticators]. [AUTHN-08]
// [AUTHN-10] [CONC-09]
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	var updated *adapter.Authenticator
	err := a.passkeys(ctx, "update authenticator counter", func(db link, sql *statements) error {
		if !possibleKey(credentialID) {
			return adapter.ErrNotFound
		}
		to, err := sql.bind(sql.columns["c.counter"], counter)
		if err != nil {
			return err
		}
		updated, err = surely(ctx, db, func() (*adapter.Authenticator, error) {
			rows, err := db.query(ctx, sql.updateAuthenticatorCounter, credentialID, to)
			return first(rows, err, scanAuthenticator)
		}, false, sql.getAuthenticator.sure, credentialID)
		if err == nil && updated == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return updated, err
}

// UpdateAuthenticatorBackup implements [adapter.AuthenticatorBackups]. [AEDIT-11]
func (a *Adapter) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*adapter.Authenticator, error) {
	var p problems
	p.text("credentialDeviceType", deviceType)
	var updated *adapter.Authenticator
	err := a.passkeys(ctx, "update authenticator backup", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		if !possibleKey(credentialID) {
			return adapter.ErrNotFound
		}
		var err error
		updated, err = surely(ctx, db, func() (*adapter.Authenticator, error) {
			rows, err := db.query(ctx, sql.updateAuthenticatorBackup, credentialID, backedUp, deviceType)
			return first(rows, err, scanAuthenticator)
		}, false, sql.getAuthenticator.sure, credentialID)
		if err == nil && updated == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return updated, err
}

// DeleteAuthenticator implements [adapter.AuthenticatorEdits]. Calls for one
// user take turns by a lock on the user's row. The deletion follows the lock
// in the same transaction, with pgx in the same round trip, and sees the changes of the call before.
// [AEDIT-01] to [AEDIT-05]
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	var deleted *adapter.Authenticator
	err := a.passkeys(ctx, "delete authenticator", func(db link, sql *statements) error {
		owner, ok := sql.ids.arg(userID)
		if !ok || !possibleKey(credentialID) {
			return nil
		}
		var err error
		deleted, err = surely(ctx, db, func() (*adapter.Authenticator, error) {
			return inTurn(ctx, db, query{sql.takeTurnForUser, []any{owner}}, query{sql.deleteAuthenticator, []any{owner, credentialID, keepOne}},
				scanAuthenticator)
		}, false, sql.getOwnAuthenticator, owner, credentialID)
		if errors.Is(err, errRefused) {
			return adapter.ErrLastCredential
		}
		return err
	})
	return deleted, err
}

// RenameAuthenticator implements [adapter.AuthenticatorEdits]. [AEDIT-06]
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	var p problems
	p.text("name", name)
	var renamed *adapter.Authenticator
	err := a.passkeys(ctx, "rename authenticator", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		owner, ok := sql.ids.arg(userID)
		if !ok || !possibleKey(credentialID) {
			return nil
		}
		of := sql.columns["c.name"]
		if of.name == "" {
			return fmt.Errorf("%s: %w", of.field, errNotKept)
		}
		arg, err := sql.bind(of, name)
		if err != nil {
			return err
		}
		renamed, err = surely(ctx, db, func() (*adapter.Authenticator, error) {
			rows, err := db.query(ctx, sql.renameAuthenticator, owner, credentialID, arg)
			return first(rows, err, scanAuthenticator)
		}, false, sql.getOwnAuthenticator, owner, credentialID)
		return err
	})
	return renamed, err
}

// TouchAuthenticator implements [adapter.AuthenticatorEdits]. [AEDIT-07] to
// [AEDIT-10]
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	var p problems
	p.instant("lastUsed", used)
	var touched *adapter.Authenticator
	err := a.passkeys(ctx, "touch authenticator", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		if !possibleKey(credentialID) {
			return adapter.ErrNotFound
		}
		counter, err := sql.bind(sql.columns["c.counter"], to)
		if _, never := sql.bind(sql.columns["c.counter"], from); never != nil { // no stored counter is from
			there, err := exists(ctx, db, sql.getAuthenticator.sure, credentialID)
			if err == nil && !there {
				err = adapter.ErrNotFound
			}
			return err
		}
		if err != nil {
			return err
		}
		args := []any{credentialID, from, counter}
		if of := sql.columns["c.lastUsed"]; of.name != "" {
			lastUsed, err := sql.bind(of, instantArg(used))
			if err != nil {
				return err
			}
			args = append(args, lastUsed)
		}
		there := false
		touched, err = surely(ctx, db, func() (*adapter.Authenticator, error) {
			rows, err := db.query(ctx, sql.touchAuthenticator, args...)
			touched, err := first(rows, err, scanAuthenticator)
			if there = errors.Is(err, errRefused); there {
				return nil, nil
			}
			return touched, err
		}, false, sql.getAuthenticatorAt, credentialID, from)
		if err == nil && touched == nil && !there {
			err = adapter.ErrNotFound
		}
		return err
	})
	return touched, err
}

// errNoAuthenticators means that the site has no table of passkeys.
var errNoAuthenticators = fmt.Errorf("%w: the table of authenticators is missing", adapter.ErrUnsupported)

// passkeys is call for a method that needs the table of authenticators.
func (a *Adapter) passkeys(ctx context.Context, op string, f func(db link, sql *statements) error) error {
	return a.call(ctx, op, func(db link, sql *statements) error {
		if sql.getAuthenticator.sure == "" {
			return errNoAuthenticators
		}
		return f(db, sql)
	})
}

// authenticator adds a problem for each field of an authenticator that can't
// be stored. It does not check the owner.
func (p *problems) authenticator(c adapter.Authenticator) {
	p.key("credentialID", c.CredentialID)
	p.text("providerAccountId", c.ProviderAccountID)
	p.text("credentialPublicKey", c.CredentialPublicKey)
	p.text("credentialDeviceType", c.CredentialDeviceType)
	p.optional("transports", c.Transports)
	p.optional("name", c.Name)
	p.optionalInstant("created", c.Created)
	p.optionalInstant("lastUsed", c.LastUsed)
}

// authenticatorArgs returns the values of newAuthenticator.
func authenticatorArgs(c adapter.Authenticator) []any {
	return []any{c.CredentialID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp,
		c.CredentialDeviceType, nullable(c.Transports), nullable(c.Name), nullableInstant(c.Created), nullableInstant(c.LastUsed)}
}
