package ownadapter

import (
	"context"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const authenticatorColumns = "credential_id, user_id, provider_account_id, public_key, counter, backed_up, device_type, transports"

func scanAuthenticator(scan func(...any) error) (*adapter.Authenticator, error) {
	var c adapter.Authenticator
	err := scan(&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey, &c.Counter, &c.CredentialBackedUp,
		&c.CredentialDeviceType, &c.Transports)
	return &c, err
}

// CreateAuthenticator stores a credential of an existing user.
func (a Adapter) CreateAuthenticator(ctx context.Context, c adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	if err := required(op, c.CredentialID); err != nil {
		return nil, err
	}
	return one(ctx, a, op, scanAuthenticator, `INSERT INTO authenticators VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+authenticatorColumns,
		c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp, c.CredentialDeviceType, c.Transports)
}

// GetAuthenticator returns the authenticator, or nil.
func (a Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return one(ctx, a, "get authenticator", scanAuthenticator, `SELECT `+authenticatorColumns+` FROM authenticators WHERE credential_id = ?`, credentialID)
}

// ListAuthenticatorsByUserID returns all authenticators of the user.
func (a Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return all(ctx, a, "list authenticators", scanAuthenticator, `SELECT `+authenticatorColumns+` FROM authenticators WHERE user_id = ?`, userID)
}

// UpdateAuthenticatorCounter stores the counter.
func (a Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	const op = "update authenticator counter"
	updated, err := one(ctx, a, op, scanAuthenticator, `UPDATE authenticators SET counter = ? WHERE credential_id = ? RETURNING `+authenticatorColumns, counter, credentialID)
	if err == nil && updated == nil {
		return nil, fmt.Errorf("ownadapter: %s: no such authenticator: %w", op, adapter.ErrNotFound)
	}
	return updated, err
}
