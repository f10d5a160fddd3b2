package redis

import (
	"context"
	"strconv"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator implements adapter.Authenticators.
func (a *Adapter) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (_ *adapter.Authenticator, err error) {
	defer wrap("create authenticator", &err)
	value, err := encodeAuthenticator(&w)
	if err != nil {
		return nil, err
	}
	return give(ctx, a, w.UserID, "authenticator", w.CredentialID, value, &w)
}

// GetAuthenticator implements adapter.Authenticators.
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (_ *adapter.Authenticator, err error) {
	defer wrap("get authenticator", &err)
	r, err := a.get(ctx, a.keys.authenticator(credentialID))
	return result(r, err, authenticatorAs(credentialID))
}

// ListAuthenticatorsByUserID implements adapter.Authenticators.
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) (_ []adapter.Authenticator, err error) {
	defer wrap("list authenticators", &err)
	return list(ctx, a, userID, "authenticator", authenticatorAs)
}

// list returns what the user has of a kind.
func list[R any](ctx context.Context, a *Adapter, userID, kind string, as func(name string) func(value string) (*R, error)) ([]R, error) {
	r, err := a.run(ctx, "follow", []any{a.keys.user(userID)}, "user", kind+"s", kind)
	if err != nil {
		return nil, err
	}
	all, names, values := []R{}, at[[]any](r, 1), at[[]any](r, 2)
	for i := range names {
		record, err := as(at[string](names, i))(at[string](values, i))
		if err != nil {
			return nil, err
		}
		all = append(all, *record)
	}
	return all, nil
}

// UpdateAuthenticatorCounter implements adapter.Authenticators.
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (_ *adapter.Authenticator, err error) {
	defer wrap("update authenticator counter", &err)
	p := patch{"counter", "=" + strconv.FormatInt(counter, 10)}
	r, err := a.update(ctx, a.keys.authenticator(credentialID), p, "", "", "", "")
	return result(r, err, authenticatorAs(credentialID))
}
