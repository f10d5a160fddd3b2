package redis

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator implements adapter.Authenticators.
func (a *Adapter) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "create authenticator", &err)
	if err := required("userId", w.UserID, "credentialID", w.CredentialID); err != nil {
		return nil, err
	}
	r := authenticatorRecord(w)
	return unless(a.give(ctx, w.UserID, "authenticator", w.CredentialID, &r), r.authenticator())
}

// GetAuthenticator implements adapter.Authenticators.
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "get authenticator", &err)
	r, err := read(ctx, a, a.keys.authenticator(credentialID), newAuthenticator(credentialID))
	return r.authenticator(), err
}

// ListAuthenticatorsByUserID implements adapter.Authenticators.
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) (_ []adapter.Authenticator, err error) {
	defer wrap(ctx, "list authenticators", &err)
	return list(ctx, a, userID, "authenticator", func(name, value string) (*adapter.Authenticator, error) {
		r, err := decode(value, newAuthenticator(name))
		return r.authenticator(), err
	})
}

// list returns the user's records of a kind.
func list[T any](ctx context.Context, a *Adapter, userID, kind string, decode func(name, value string) (*T, error)) ([]T, error) {
	r, err := a.run(ctx, "follow", []any{a.keys.user(userID)}, "user", kind+"s", kind)
	if err != nil {
		return nil, err
	}
	all, names, values := []T{}, at[[]any](r, 1), at[[]any](r, 2)
	for i := range names {
		record, err := decode(at[string](names, i), at[string](values, i))
		if err != nil {
			return nil, err
		}
		all = append(all, *record)
	}
	return all, nil
}

// UpdateAuthenticatorCounter implements adapter.Authenticators.
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (_ *adapter.Authenticator, err error) {
	defer wrap(ctx, "update authenticator counter", &err)
	to := &authenticatorRecord{Counter: counter}
	r, err := change(ctx, a, newAuthenticator(credentialID), a.keys.authenticator(credentialID), to, changes{"counter": true}, terms{})
	return r.authenticator(), err
}
