package postgres

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken implements [adapter.VerificationTokens]. If the pair
// of identifier and token exists already, the error matches ErrConflict.
// [VTOK-10] [VTOK-15]
func (a *Adapter) CreateVerificationToken(ctx context.Context, token adapter.VerificationToken) (*adapter.VerificationToken, error) {
	var p problems
	p.key("identifier", token.Identifier)
	p.key("token", token.Token)
	p.instant("expires", token.Expires)
	var made *adapter.VerificationToken
	err := a.call(ctx, "create verification token", func(db link, sql *statements) error {
		if err := p.err(); err != nil {
			return err
		}
		args, err := sql.args(newToken, []any{token.Identifier, token.Token, instantArg(token.Expires)})
		if err != nil {
			return err
		}
		made, err = surely(ctx, db, func() (*adapter.VerificationToken, error) {
			rows, err := db.query(ctx, sql.createVerificationToken, args...)
			return first(rows, err, scanVerificationToken)
		}, true, sql.getVerificationToken, token.Identifier, token.Token)
		if err == nil && made == nil {
			return adapter.ErrConflict
		}
		return err
	})
	return made, err
}

// UseVerificationToken implements [adapter.VerificationTokens]. It returns the
// token after the server has confirmed the commit of its deletion. In a
// transaction of the caller, the token is used when that transaction commits.
// [VTOK-02] [CONC-01] [FAULT-01]
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return remove(ctx, a, "use verification token", scanVerificationToken, func(sql *statements) string { return sql.useVerificationToken },
		func(sql *statements) string { return sql.getVerificationToken }, key.Identifier, key.Token)
}

// DeleteVerificationTokens implements [adapter.TokenEdits]. [TEDIT-01] to
// [TEDIT-03]
func (a *Adapter) DeleteVerificationTokens(ctx context.Context, identifier string) (deleted int64, err error) {
	err = a.call(ctx, "delete verification tokens", func(db link, sql *statements) error {
		if !possibleKey(identifier) {
			return nil
		}
		deleted, err = countSurely(ctx, db, sql.deleteVerificationTokens, sql.getTokenOf, identifier)
		return err
	})
	return deleted, err
}
