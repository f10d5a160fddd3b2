package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	_ adapter.AuthenticatorEdits   = (*Adapter)(nil)
	_ adapter.AuthenticatorBackups = (*Adapter)(nil)
)

// DeleteAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "delete authenticator", &err)
	r, err := a.run(ctx, "authenticator_delete", []any{a.keys.authenticator(credentialID)}, credentialID, userID, strconv.FormatBool(keepOne))
	w, err := result(r, err, newAuthenticator(credentialID))
	return w.authenticator(), err
}

// RenameAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "rename authenticator", &err)
	fields, t := changes{"name": true}, terms{field: "user", value: userID}
	w, err := change(ctx, a, newAuthenticator(credentialID), a.keys.authenticator(credentialID), &authenticatorRecord{Name: &name}, fields, t)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil, nil
	}
	return w.authenticator(), err
}

// TouchAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "touch authenticator", &err)
	fields, t := changes{"counter": true, "lastUsed": true}, terms{field: "counter", value: strconv.FormatInt(from, 10)}
	w, err := change(ctx, a, newAuthenticator(credentialID), a.keys.authenticator(credentialID), &authenticatorRecord{Counter: to, LastUsed: &used}, fields, t)
	return w.authenticator(), err
}

// UpdateAuthenticatorBackup implements adapter.AuthenticatorBackups.
func (a *Adapter) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "update authenticator backup", &err)
	to := &authenticatorRecord{CredentialBackedUp: backedUp, CredentialDeviceType: deviceType}
	fields := changes{"credentialBackedUp": true, "credentialDeviceType": true}
	w, err := change(ctx, a, newAuthenticator(credentialID), a.keys.authenticator(credentialID), to, fields, terms{})
	return w.authenticator(), err
}
