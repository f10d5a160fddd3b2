package sqlite

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const tokenColumns = `{v.identifier}, {v.token}, {v.expires}`

// CreateVerificationToken stores a token. If the pair of identifier and token
// exists already, the error matches adapter.ErrConflict. [VTOK-01] [VTOK-06] to
// [VTOK-10] [VTOK-16]
func (a *Adapter) CreateVerificationToken(ctx context.Context, token adapter.VerificationToken) (*adapter.VerificationToken, error) {
	const op = "create verification token"
	switch {
	case token.Identifier == "":
		return nil, missing(op, "identifier")
	case token.Token == "":
		return nil, missing(op, "token")
	}
	expires, err := toMillis(token.Expires)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	created, err := one(ctx, a, `
		INSERT INTO "verificationToken" ({new v: identifier, token, expires}) VALUES ({values v: identifier, token, expires})
		RETURNING `+tokenColumns, readToken,
		token.Identifier, token.Token, expires)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return created, nil
}

// UseVerificationToken deletes the token and returns it, or nil, in one
// statement. Of any number of concurrent callers, across processes, exactly one
// gets the token. [VTOK-02] to [VTOK-06] [CONC-01] [CONC-02] [FAULT-01]
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	token, err := one(ctx, a, `
		DELETE FROM "verificationToken" WHERE {v.identifier} = ? AND {v.token} = ?
		RETURNING `+tokenColumns, readToken, key.Identifier, key.Token)
	if err != nil {
		return nil, failed(ctx, "use verification token", err)
	}
	return token, nil
}

// DeleteVerificationTokens deletes all tokens of the identifier.
// [TEDIT-01] to [TEDIT-03]
func (a *Adapter) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	deleted, err := a.exec(ctx, `DELETE FROM "verificationToken" WHERE {v.identifier} = ?`, identifier)
	if err != nil {
		return 0, failed(ctx, "delete verification tokens", err)
	}
	return deleted, nil
}

func readToken(rows *sql.Rows) (*adapter.VerificationToken, error) {
	var (
		token   adapter.VerificationToken
		expires int64
	)
	err := rows.Scan(&token.Identifier, &token.Token, &expires)
	if err != nil {
		return nil, err
	}
	if token.Expires, err = fromMillis(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &token, nil
}
