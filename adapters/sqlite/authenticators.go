package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	newAuthenticator = `credentialID, userId, providerAccountId, credentialPublicKey, counter,
		credentialDeviceType, credentialBackedUp, transports, name, created, lastUsed`
	authenticatorColumns = `{c.credentialID}, {c.userId}, {c.providerAccountId}, {c.credentialPublicKey}, {c.counter},
		{c.credentialDeviceType}, {c.credentialBackedUp}, {c.transports}, {c.name}, {c.created}, {c.lastUsed}`
)

const insertAuthenticator = `
	INSERT INTO "authenticator" ({new c: ` + newAuthenticator + `}) VALUES ({values c: ` + newAuthenticator + `})
	RETURNING ` + authenticatorColumns

// authenticatorValues are the values of newAuthenticator.
func authenticatorValues(c adapter.Authenticator) ([]any, error) {
	if c.CredentialID == "" {
		return nil, errors.New("credential id is empty")
	}
	created, err1 := toNullMillis(c.Created)
	lastUsed, err2 := toNullMillis(c.LastUsed)
	return []any{c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialDeviceType,
		c.CredentialBackedUp, toNull(c.Transports), toNull(c.Name), created, lastUsed}, errors.Join(err1, err2)
}

// CreateAuthenticator stores a credential of an existing user.
// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06] [CONC-12]
func (a *Adapter) CreateAuthenticator(ctx context.Context, authenticator adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	values, err := authenticatorValues(authenticator)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	created, err := one(ctx, a, insertAuthenticator, readAuthenticator, values...)
	if err != nil {
		return nil, ownerFailed(ctx, op, err)
	}
	return created, nil
}

// GetAuthenticator returns the authenticator, or nil. [AUTHN-02] [AUTHN-15]
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	authenticator, err := one(ctx, a, `
		SELECT `+authenticatorColumns+` FROM "authenticator" WHERE {c.credentialID} = ?`, readAuthenticator, credentialID)
	if err != nil {
		return nil, failed(ctx, "get authenticator", err)
	}
	return authenticator, nil
}

// ListAuthenticatorsByUserID returns the user's authenticators in no
// particular order. For an unknown user the slice is empty and not nil.
// [AUTHN-04] to [AUTHN-07] [AUTHN-21] [FAULT-09]
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	list, err := all(ctx, a, `
		SELECT `+authenticatorColumns+` FROM "authenticator" WHERE {c.userId} = ?`, readAuthenticator, userID)
	if err != nil {
		return nil, failed(ctx, "list authenticators", err)
	}
	return list, nil
}

// UpdateAuthenticatorCounter stores the counter, even a lower one, and returns
// the record. [AUTHN-08] to [AUTHN-13] [CONC-09]
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	const op = "update authenticator counter"
	authenticator, err := one(ctx, a, `
		UPDATE "authenticator" SET {set c: counter} WHERE {c.credentialID} = ?
		RETURNING `+authenticatorColumns, readAuthenticator, counter, credentialID)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case authenticator == nil:
		return nil, notFound(op, "authenticator")
	}
	return authenticator, nil
}

// UpdateAuthenticatorBackup stores the backup flags and returns the record.
// [AEDIT-11]
func (a *Adapter) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*adapter.Authenticator, error) {
	const op = "update authenticator backup"
	authenticator, err := one(ctx, a, `
		UPDATE "authenticator" SET {set c: credentialBackedUp, credentialDeviceType} WHERE {c.credentialID} = ?
		RETURNING `+authenticatorColumns, readAuthenticator, backedUp, deviceType, credentialID)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case authenticator == nil:
		return nil, notFound(op, "authenticator")
	}
	return authenticator, nil
}

// DeleteAuthenticator deletes the user's authenticator and the account that it
// is connected to, in one transaction. [AEDIT-01] to [AEDIT-05]
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	var deleted *adapter.Authenticator
	err := a.atomically(ctx, func(ctx context.Context, tx *Adapter) (err error) {
		deleted, err = one(ctx, tx, `
			DELETE FROM "authenticator" WHERE {c.credentialID} = ? AND {c.userId} = ?
			RETURNING `+authenticatorColumns, readAuthenticator, credentialID, userID)
		if err != nil || deleted == nil {
			return err
		}
		// Delete the account together with the last authenticator that is
		// connected to it.
		if _, err := tx.exec(ctx, `
			DELETE FROM "account" WHERE {a.userId} = ? AND {a.type} = ? AND {a.providerAccountId} = ?
			AND NOT EXISTS (SELECT 1 FROM "authenticator" WHERE {c.userId} = ? AND {c.providerAccountId} = ?)`,
			userID, string(adapter.AccountWebAuthn), deleted.ProviderAccountID, userID, deleted.ProviderAccountID); err != nil {
			return err
		}
		if !keepOne {
			return nil
		}
		return tx.keepsOne(ctx, userID)
	})
	if err != nil {
		return nil, failed(ctx, "delete authenticator", err)
	}
	return deleted, nil
}

// RenameAuthenticator stores the name of the user's authenticator. [AEDIT-06]
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	if err := a.keepsNames(ctx); err != nil {
		return nil, failed(ctx, "rename authenticator", err)
	}
	renamed, err := one(ctx, a, `
		UPDATE "authenticator" SET {set c: name} WHERE {c.credentialID} = ? AND {c.userId} = ?
		RETURNING `+authenticatorColumns, readAuthenticator, name, credentialID, userID)
	if err != nil {
		return nil, failed(ctx, "rename authenticator", err)
	}
	return renamed, nil
}

// keepsNames returns an error if the table of others has no names of authenticators.
func (a *Adapter) keepsNames(ctx context.Context) error {
	if err := a.patiently(ctx, func() error { return a.ready(ctx) }); err != nil {
		return err
	}
	if of := a.shape.Load().columns["c.name"]; of.name == "" {
		return fmt.Errorf("%s: %w", of.field, errNotKept)
	}
	return nil
}

// TouchAuthenticator stores the counter to and the instant of use, if the
// stored counter equals from. [AEDIT-07] to [AEDIT-10]
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	const op = "touch authenticator"
	lastUsed, err := toMillis(used)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	touched, err := one(ctx, a, `
		UPDATE "authenticator" SET {set c: counter, lastUsed} WHERE {c.credentialID} = ? AND {c.counter} = ?
		RETURNING `+authenticatorColumns, readAuthenticator, to, lastUsed, credentialID, from)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	if touched != nil {
		return touched, nil
	}
	stored, err := a.GetAuthenticator(ctx, credentialID)
	if err == nil && stored == nil {
		err = notFound(op, "authenticator")
	}
	return nil, err
}

func readAuthenticator(rows *sql.Rows) (*adapter.Authenticator, error) {
	var (
		authenticator     adapter.Authenticator
		created, lastUsed *int64
	)
	err := rows.Scan(&authenticator.CredentialID, &authenticator.UserID, &authenticator.ProviderAccountID,
		&authenticator.CredentialPublicKey, &authenticator.Counter, &authenticator.CredentialDeviceType,
		&authenticator.CredentialBackedUp,
		orNull[string]{&authenticator.Transports}, orNull[string]{&authenticator.Name}, orNull[int64]{&created}, orNull[int64]{&lastUsed})
	if err != nil {
		return nil, err
	}
	if authenticator.Created, err = fromNullMillis(created); err != nil {
		return nil, corrupt("created", err)
	}
	if authenticator.LastUsed, err = fromNullMillis(lastUsed); err != nil {
		return nil, corrupt("lastUsed", err)
	}
	return &authenticator, nil
}
