package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken implements adapter.VerificationTokens. A pending pair
// is replaced.
func (a *Adapter) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (_ *adapter.VerificationToken, err error) {
	defer wrap("create verification token", &err)
	if err := required("identifier", t.Identifier, "token", t.Token); err != nil {
		return nil, err
	}
	t.Expires = *kept(&t.Expires)
	r, err := a.run(ctx, "token", []any{a.keys.tokens(t.Identifier)}, "create", t.Token, micros(t.Expires), deadline(t.Expires))
	return result(r, err, given(&t))
}

// UseVerificationToken implements adapter.VerificationTokens.
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (_ *adapter.VerificationToken, err error) {
	defer wrap("use verification token", &err)
	r, err := a.run(ctx, "token", []any{a.keys.tokens(key.Identifier)}, "use", key.Token)
	return result(r, err, func(expires string) (*adapter.VerificationToken, error) {
		us, err := strconv.ParseInt(expires, 10, 64)
		return &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: time.UnixMicro(us).UTC()}, err
	})
}
