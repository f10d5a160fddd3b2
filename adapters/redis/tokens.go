package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken implements adapter.VerificationTokens. If the pair of
// identifier and token exists already, it is replaced.
func (a *Adapter) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (_ *adapter.VerificationToken, err error) {
	defer wrap(ctx, "create verification token", &err)
	if err := required("identifier", t.Identifier, "token", t.Token); err != nil {
		return nil, err
	}
	t.Expires = *kept(&t.Expires)
	_, err = a.run(ctx, "token", []any{a.keys.tokens(t.Identifier)}, "create", t.Token, micros(t.Expires), deadline(t.Expires))
	return unless(err, &t)
}

// UseVerificationToken implements adapter.VerificationTokens.
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (_ *adapter.VerificationToken, err error) {
	defer wrap(ctx, "use verification token", &err)
	r, err := a.run(ctx, "token", []any{a.keys.tokens(key.Identifier)}, "use", key.Token)
	if err != nil || r.word() == "absent" {
		return nil, err
	}
	us, err := strconv.ParseInt(at[string](r, 1), 10, 64)
	return unless(err, &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: time.UnixMicro(us).UTC()})
}
