package stores

import (
	"context"
	"errors"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/storage"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// FositeCodes is the shim for the authorization codes of fosite's memory store, which
// are used once as verification tokens are. A code is identifier and token; its use finds it
// and invalidates it, as fosite's handler does.
type FositeCodes struct{ Store *storage.MemoryStore }

func fositeCode(key adapter.VerificationTokenKey) string { return key.Identifier + "\x00" + key.Token }

// CreateVerificationToken is adapter.VerificationTokens.CreateVerificationToken.
func (f FositeCodes) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	request := fosite.NewRequest()
	request.RequestedAt = t.Expires
	request.Form.Set("expires", t.Expires.Format(time.RFC3339Nano))
	if err := f.Store.CreateAuthorizeCodeSession(ctx, fositeCode(t.Key()), request); err != nil {
		return nil, err
	}
	t.Expires = t.Expires.UTC()
	return &t, nil
}

// UseVerificationToken is adapter.VerificationTokens.UseVerificationToken.
func (f FositeCodes) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	request, err := f.Store.GetAuthorizeCodeSession(ctx, fositeCode(key), nil)
	if errors.Is(err, fosite.ErrNotFound) || errors.Is(err, fosite.ErrInvalidatedAuthorizeCode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := f.Store.InvalidateAuthorizeCodeSession(ctx, fositeCode(key)); err != nil {
		return nil, err
	}
	expires, err := time.Parse(time.RFC3339Nano, request.GetRequestForm().Get("expires"))
	if err != nil {
		return nil, err
	}
	return &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: expires.UTC()}, nil
}
