package sqlite

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const authenticatorColumns = `credentialID, userId, providerAccountId, credentialPublicKey, counter,
	credentialDeviceType, credentialBackedUp, transports`

// CreateAuthenticator stores a credential of an existing user.
// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06] [CONC-12]
func (a *Adapter) CreateAuthenticator(ctx context.Context, authenticator adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	if authenticator.CredentialID == "" {
		return nil, missing(op, "credential id")
	}
	created, err := one(ctx, a, `
		INSERT INTO "authenticator" (`+authenticatorColumns+`)
		SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM "user" WHERE id = ?)
		RETURNING `+authenticatorColumns, readAuthenticator,
		authenticator.CredentialID, authenticator.UserID, authenticator.ProviderAccountID,
		authenticator.CredentialPublicKey, authenticator.Counter, authenticator.CredentialDeviceType,
		authenticator.CredentialBackedUp, toNull(authenticator.Transports), authenticator.UserID)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case created == nil:
		return nil, notFound(op, "user")
	}
	return created, nil
}

// GetAuthenticator returns the authenticator, or nil. [AUTHN-02] [AUTHN-15]
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	authenticator, err := one(ctx, a, `
		SELECT `+authenticatorColumns+` FROM "authenticator" WHERE credentialID = ?`, readAuthenticator, credentialID)
	if err != nil {
		return nil, failed(ctx, "get authenticator", err)
	}
	return authenticator, nil
}

// ListAuthenticatorsByUserID returns the user's authenticators in no
// particular order. For an unknown user the slice is empty and not nil.
// [AUTHN-04] to [AUTHN-07] [AUTHN-21] [FAULT-09]
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	var list []adapter.Authenticator
	err := a.patiently(ctx, func() error {
		list = []adapter.Authenticator{}
		return a.each(ctx, `
			SELECT `+authenticatorColumns+` FROM "authenticator" WHERE userId = ?`, []any{userID}, func(rows *sql.Rows) error {
			authenticator, err := readAuthenticator(rows)
			if err == nil {
				list = append(list, *authenticator)
			}
			return err
		})
	})
	if err != nil {
		return nil, failed(ctx, "list authenticators", err)
	}
	return list, nil
}

// UpdateAuthenticatorCounter stores the counter, a lower one included, and
// returns the record. [AUTHN-08] to [AUTHN-13] [CONC-09]
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	const op = "update authenticator counter"
	authenticator, err := one(ctx, a, `
		UPDATE "authenticator" SET counter = ? WHERE credentialID = ?
		RETURNING `+authenticatorColumns, readAuthenticator, counter, credentialID)
	switch {
	case err != nil:
		return nil, failed(ctx, op, err)
	case authenticator == nil:
		return nil, notFound(op, "authenticator")
	}
	return authenticator, nil
}

func readAuthenticator(rows *sql.Rows) (*adapter.Authenticator, error) {
	var (
		authenticator adapter.Authenticator
		transports    sql.Null[string]
	)
	err := rows.Scan(&authenticator.CredentialID, &authenticator.UserID, &authenticator.ProviderAccountID,
		&authenticator.CredentialPublicKey, &authenticator.Counter, &authenticator.CredentialDeviceType,
		&authenticator.CredentialBackedUp, &transports)
	if err != nil {
		return nil, err
	}
	authenticator.Transports = fromNull(transports)
	return &authenticator, nil
}
