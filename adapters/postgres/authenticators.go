package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator implements [adapter.Authenticators]. [AUTHN-03]
// [AUTHN-20] [CONC-06]
func (a *Adapter) CreateAuthenticator(ctx context.Context, authenticator adapter.Authenticator) (*adapter.Authenticator, error) {
	c := authenticator
	var p problems
	p.key("credentialID", c.CredentialID)
	p.key("userId", c.UserID)
	p.text("providerAccountId", c.ProviderAccountID)
	p.text("credentialPublicKey", c.CredentialPublicKey)
	p.text("credentialDeviceType", c.CredentialDeviceType)
	p.optional("transports", c.Transports)
	var made *adapter.Authenticator
	err := a.call(ctx, "create authenticator", func(db DB) error {
		if err := p.err(); err != nil {
			return err
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		owner, ok := sql.kind.arg(c.UserID)
		if !ok {
			return adapter.ErrNotFound
		}
		rows, err := db.Query(ctx, sql.createAuthenticator, c.CredentialID, owner, c.ProviderAccountID,
			c.CredentialPublicKey, c.Counter, c.CredentialBackedUp, c.CredentialDeviceType, nullable(c.Transports))
		if made, err = first(rows, err, scanAuthenticator); err == nil && made == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return made, err
}

// GetAuthenticator implements [adapter.Authenticators]. [AUTHN-02] [AUTHN-15]
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return lookup(ctx, a, "get authenticator", scanAuthenticator, a.sql.getAuthenticator, credentialID)
}

// ListAuthenticatorsByUserID implements [adapter.Authenticators]. [AUTHN-04]
// [AUTHN-07] [FAULT-09]
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	list := []adapter.Authenticator{}
	err := a.call(ctx, "list authenticators by user id", func(db DB) error {
		if !lookable(userID) {
			return nil
		}
		sql, err := a.learn(ctx, db)
		if err != nil {
			return err
		}
		owner, ok := sql.kind.arg(userID)
		if !ok {
			return nil
		}
		rows, err := db.Query(ctx, sql.listAuthenticatorsByUserID, owner)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (adapter.Authenticator, error) { return scanAuthenticator(rows) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// UpdateAuthenticatorCounter implements [adapter.Authenticators]. [AUTHN-08]
// [AUTHN-10] [CONC-09]
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	var updated *adapter.Authenticator
	err := a.call(ctx, "update authenticator counter", func(db DB) error {
		if !lookable(credentialID) {
			return adapter.ErrNotFound
		}
		rows, err := db.Query(ctx, a.sql.updateAuthenticatorCounter, credentialID, counter)
		if updated, err = first(rows, err, scanAuthenticator); err == nil && updated == nil {
			return adapter.ErrNotFound
		}
		return err
	})
	return updated, err
}
