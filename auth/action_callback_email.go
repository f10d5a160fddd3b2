package auth

import (
	"context"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// callbackEmail serves the link of a mail. A link that is wrong or expired, or
// names another address, uses up nothing.
func (e *engine) callbackEmail(ctx context.Context, r *request, p *Email) (*Result, error) {
	token, email := r.parameter("token"), r.parameter("email")
	if token == "" {
		return nil, &Error{Type: ErrCallbackRoute, Message: "the link has no token"}
	}
	if email == "" {
		return nil, &Error{Type: ErrVerification, Message: "the link has no address"}
	}
	// Once the token is spent, a client that goes away must not lose the sign-in.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	invite, err := e.useToken(ctx, p, email, token)
	if err != nil {
		return nil, err
	}
	user, err := e.userOfEmail(ctx, invite.Identifier)
	if err != nil {
		return nil, err
	}
	account := &Account{Provider: p.id(), Type: TypeEmail, ProviderAccountID: user.Email, UserID: user.ID}
	return e.complete(ctx, r, identity{user: user, account: account, proof: EmailProven}, SignInParams{User: user, Account: account})
}

// signInTimeout bounds what goes on after something that works once was spent,
// whether or not the client is still there.
const signInTimeout = time.Minute

// useToken spends the token of a link, under any of the secrets.
func (e *engine) useToken(ctx context.Context, p *Email, email, token string) (*adapter.VerificationToken, error) {
	for _, key := range e.verificationKeys(p) {
		invite, err := e.store.useVerificationToken(ctx, email, hashWith(token, key))
		switch {
		case err != nil:
			return nil, err
		case invite == nil:
			continue
		case e.config.Clock().After(invite.Expires):
			return nil, &Error{Type: ErrVerification, Message: "the link has expired"}
		case invite.Identifier != email:
			return nil, &Error{Type: ErrVerification, Message: "the adapter returned the token of another address"}
		}
		return invite, nil
	}
	return nil, &Error{Type: ErrVerification, Message: "there is no such link, or it was used"}
}
