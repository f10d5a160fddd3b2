package ownadapter

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const tokenColumns = "identifier, token, expires"

func scanToken(scan func(...any) error) (*adapter.VerificationToken, error) {
	var t adapter.VerificationToken
	var expires int64
	err := scan(&t.Identifier, &t.Token, &expires)
	if err == nil {
		t.Expires, err = instant(expires)
	}
	return &t, err
}

// CreateVerificationToken stores a token.
func (a Adapter) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	const op = "create verification token"
	if err := required(op, t.Identifier, t.Token); err != nil {
		return nil, err
	}
	expires, err := millis(op, t.Expires)
	if err != nil {
		return nil, err
	}
	return one(ctx, a, op, scanToken, `INSERT INTO verification_tokens VALUES (?, ?, ?) RETURNING `+tokenColumns, t.Identifier, t.Token, expires)
}

// UseVerificationToken deletes the token and returns it, or nil. One statement
// does both, so exactly one of any number of callers gets the token.
func (a Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return one(ctx, a, "use verification token", scanToken,
		`DELETE FROM verification_tokens WHERE identifier = ? AND token = ? RETURNING `+tokenColumns, key.Identifier, key.Token)
}
