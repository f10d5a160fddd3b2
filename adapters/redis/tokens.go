package redis

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken implements adapter.VerificationTokens. A pending pair
// is replaced.
func (a *Adapter) CreateVerificationToken(ctx context.Context, token adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if err := required("identifier", token.Identifier, "token", token.Token); err != nil {
		return nil, wrap("create verification token", err)
	}
	err := a.once(ctx, scriptTokenCreate, a.keys.token(token.Key()), nonce(), formatTime(token.Expires), deadline(token.Expires)).Err()
	if err != nil {
		return nil, wrap("create verification token", err)
	}
	token.Expires = token.Expires.UTC().Truncate(time.Microsecond)
	return &token, nil
}

// UseVerificationToken implements adapter.VerificationTokens.
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if key.Identifier == "" || key.Token == "" {
		return nil, nil
	}
	expires, err := a.once(ctx, scriptTokenUse, a.keys.token(key), nonce()).Text()
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("use verification token", err)
	}
	t, err := parseTime(expires)
	if err != nil {
		return nil, wrap("use verification token", err)
	}
	return &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: t}, nil
}
