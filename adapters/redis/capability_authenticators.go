package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.AuthenticatorEdits = (*Adapter)(nil)

// DeleteAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (_ *adapter.Authenticator, err error) {
	defer wrap("delete authenticator", &err)
	r, err := a.run(ctx, "authenticator_delete", []any{a.keys.authenticator(credentialID)}, credentialID, userID, strconv.FormatBool(keepOne))
	if err == nil && r.word() == "last" {
		return nil, adapter.ErrLastCredential
	}
	return result(r, err, authenticatorAs(credentialID))
}

// RenameAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (_ *adapter.Authenticator, err error) {
	defer wrap("rename authenticator", &err)
	r, err := a.update(ctx, a.keys.authenticator(credentialID), patch{"name", "=" + name}, "user", userID, "", "")
	if errors.Is(err, adapter.ErrNotFound) {
		return nil, nil
	}
	return result(r, err, authenticatorAs(credentialID))
}

// TouchAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (_ *adapter.Authenticator, err error) {
	defer wrap("touch authenticator", &err)
	p := patch{"counter", "=" + strconv.FormatInt(to, 10), "lastUsed", "=" + *instant(&used)}
	r, err := a.update(ctx, a.keys.authenticator(credentialID), p, "counter", strconv.FormatInt(from, 10), "", "")
	return result(r, err, authenticatorAs(credentialID))
}
