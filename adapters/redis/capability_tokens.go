package redis

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.TokenEdits = (*Adapter)(nil)

// DeleteVerificationTokens implements adapter.TokenEdits.
func (a *Adapter) DeleteVerificationTokens(ctx context.Context, identifier string) (_ int64, err error) {
	defer wrap(ctx, "delete verification tokens", &err)
	r, err := a.run(ctx, "token", []any{a.keys.tokens(identifier)}, "delete")
	return at[int64](r, 1), err
}
