package mysql

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken stores a token. If the pair of identifier and token exists
// already, the error matches adapter.ErrConflict. [VTOK-01] [VTOK-06] to [VTOK-10]
// [VTOK-16]
func (a *Adapter) CreateVerificationToken(ctx context.Context,
	token adapter.VerificationToken) (*adapter.VerificationToken, error) {
	const op = "create verification token"
	switch {
	case token.Identifier == "":
		return nil, missing(op, "identifier")
	case token.Token == "":
		return nil, missing(op, "token")
	}
	expires, err := toInstant(token.Expires)
	r := recordOf("verificationToken").set("identifier", token.Identifier).set("token", token.Token).
		instant("expires", expires, err)
	if r.err != nil {
		return nil, failed(ctx, op, r.err)
	}
	if err := a.insert(ctx, op, r); err != nil {
		return nil, err
	}
	token.Expires = a.shape.Load().stored("v.expires", token.Expires)
	return &token, nil
}

// UseVerificationToken deletes the token and returns it, or nil. The row is locked before
// it is read, so of any number of concurrent callers, across processes, exactly one gets
// the token. [VTOK-02] to [VTOK-06] [CONC-01] [CONC-02] [FAULT-01]
func (a *Adapter) UseVerificationToken(ctx context.Context,
	key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	const op = "use verification token"
	if !isKey(emailLength, key.Identifier) || !isKey(tokenLength, key.Token) {
		return nil, absent(ctx, op)
	}
	is, args := "v.identifier = ? AND v.token = ?", []any{key.Identifier, key.Token}
	if a.layout == nil {
		is, args = "v.pair = ? AND "+is, append([]any{digest(key.Identifier, key.Token)}, args...)
	}
	return remove(ctx, a, op, "SELECT v.identifier, v.token, CAST(v.expires AS CHAR) FROM `verificationToken` v WHERE "+is,
		"DELETE v FROM `verificationToken` v WHERE "+is, readToken, args...)
}

// DeleteVerificationTokens deletes all tokens of the identifier. [TEDIT-01] to [TEDIT-03]
func (a *Adapter) DeleteVerificationTokens(ctx context.Context, identifier string) (deleted int64, err error) {
	const op = "delete verification tokens"
	if !isKey(emailLength, identifier) {
		return 0, absent(ctx, op)
	}
	err = a.write(ctx, op, func(o on) (err error) {
		deleted, err = o.exec(ctx, "DELETE v FROM `verificationToken` v WHERE v.identifier = ?", identifier)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

func readToken(rows *sql.Rows) (*adapter.VerificationToken, error) {
	var (
		token   adapter.VerificationToken
		expires sql.RawBytes
	)
	err := rows.Scan(&token.Identifier, &token.Token, &expires)
	if err != nil {
		return nil, err
	}
	if token.Expires, err = fromInstant(expires); err != nil {
		return nil, corrupt("expires", err)
	}
	return &token, nil
}
