package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken implements adapter.VerificationTokens. A pair of
// identifier and token that is already stored is a conflict.
func (a *Adapter) CreateVerificationToken(ctx context.Context, token adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if err := required("identifier", token.Identifier, "token", token.Token); err != nil {
		return nil, wrap("create verification token", err)
	}
	if err := storable(token.Identifier, token.Token); err != nil {
		return nil, wrap("create verification token", err)
	}
	err := a.tokens.insert(ctx, fields{
		{Key: "identifier", Value: token.Identifier}, {Key: "token", Value: token.Token}, {Key: "expires", Value: date(token.Expires)},
	})
	if err != nil {
		return nil, wrap("create verification token", err)
	}
	token.Expires = kept(token.Expires)
	return &token, nil
}

// UseVerificationToken implements adapter.VerificationTokens. If the token can't
// be read, it is deleted and the call returns an error.
func (a *Adapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	token, err := a.useToken(ctx, key)
	return token, wrap("use verification token", err)
}

func (a *Adapter) useToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if !lookup(key.Identifier, key.Token) {
		return nil, a.site.absent(ctx)
	}
	raw, err := a.tokens.take(ctx, bson.D{{Key: "identifier", Value: key.Identifier}, {Key: "token", Value: key.Token}})
	if err != nil || raw == nil {
		return nil, err
	}
	d := &document{raw: raw}
	token := &adapter.VerificationToken{
		Identifier: d.text("identifier"), Token: d.text("token"), Expires: must(d, "expires", d.instant("expires")),
	}
	if d.err != nil {
		return nil, d.err
	}
	return token, nil
}

// DeleteVerificationTokens implements adapter.TokenEdits.
func (a *Adapter) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	if !lookup(identifier) {
		return 0, wrap("delete verification tokens", a.site.absent(ctx))
	}
	n, err := a.tokens.deleteInBatches(ctx, bson.D{{Key: "identifier", Value: identifier}})
	return n, wrap("delete verification tokens", err)
}
