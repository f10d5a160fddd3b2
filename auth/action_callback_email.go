package auth

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// callbackEmail serves the link of a mail. A link that is wrong or expired, or
// names another address, uses up nothing; nor does one that is opened in another
// browser than the one that asked for it, before somebody confirms it.
func (e *engine) callbackEmail(ctx context.Context, r *request, p *Email) (*Result, error) {
	token, email := r.submitted("token"), r.submitted("email")
	if token == "" {
		return nil, &Error{Type: ErrCallbackRoute, Message: "the link has no token"}
	}
	if email == "" {
		return nil, &Error{Type: ErrVerification, Message: "the link has no address"}
	}
	if e.isOfAnother(token, p) {
		return nil, &Error{Type: ErrVerification, Message: "the link is one of another provider"}
	}
	switch ok, err := r.mayUseLink(token); {
	case err != nil:
		return nil, err
	case !ok:
		return e.confirmLinkPage(r, p, token, email), nil
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
	result, err := e.complete(ctx, r, identity{user: user, account: account, proof: EmailProven}, SignInParams{User: user, Account: account})
	if err != nil {
		return nil, err
	}
	e.endLinks(ctx, p, invite.Identifier)
	return result, nil
}

// signInTimeout bounds what goes on after something that works once was spent,
// whether or not the client is still there.
const signInTimeout = time.Minute

// endLinks voids the other links of an address.
func (e *engine) endLinks(ctx context.Context, p *Email, identifier string) {
	if err := e.store.endTries(ctx, p.id(), identifier); err != nil {
		e.logError(ctx, err) // they expire
	}
}

// useToken spends the token of a link. One that can be guessed is tried five
// times, then all texts of the address are void.
func (e *engine) useToken(ctx context.Context, p *Email, email, token string) (*adapter.VerificationToken, error) {
	if p.GenerateVerificationToken == nil || textBits(token) >= secureBits {
		return e.spendToken(ctx, p, email, token)
	}
	allowed, last, err := e.store.useTry(ctx, p.id(), email)
	if err != nil {
		return nil, err
	}
	var invite *adapter.VerificationToken
	err = &Error{Type: ErrVerification, Message: "there is no such link, or too many were tried"}
	if allowed {
		invite, err = e.spendToken(ctx, p, email, token)
	}
	if last && errors.Is(err, ErrVerification) {
		e.endLinks(ctx, p, email)
	}
	return invite, err
}

// spendToken spends the token of a link, under any of the secrets.
func (e *engine) spendToken(ctx context.Context, p *Email, email, token string) (*adapter.VerificationToken, error) {
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
