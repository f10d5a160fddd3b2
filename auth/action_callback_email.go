package auth

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// callbackEmail serves a mail link. A link that is wrong or names another
// address spends no token. A link that is opened in a browser other than the
// one that asked for it spends its token only after the person confirms it.
func (e *engine) callbackEmail(ctx context.Context, r *request, p *Email) (*Result, error) {
	token, email := r.linkFields(p)
	if code, ok := p.guessOf(r, token); ok {
		return e.callbackCode(ctx, r, p, code, email)
	}
	if token == "" {
		return nil, &Error{Type: ErrVerification, Message: "the link has no token"}
	}
	if email == "" {
		return nil, &Error{Type: ErrVerification, Message: "the link has no address"}
	}
	if e.isOfAnother(token, p) {
		return nil, &Error{Type: ErrVerification, Message: "the link belongs to another provider"}
	}
	r.attempt = "link " + p.id() + " " + spaceAsPlus(email+" "+token)
	switch ok, err := r.mayUseLink(token, e.begun(r).Codes()); {
	case err != nil:
		return nil, err
	case !ok:
		if done := e.finishedBefore(ctx, r); done != nil {
			return done, nil
		}
		return e.confirmLinkPage(r, p, token, email), nil
	}
	// The token is spent now: the sign-in must be finished even if the client goes
	// away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	keys := p.verificationKeys(e.csrfKeys)
	invite, err := spendToken(ctx, e.store, keys, email, token)
	if plus := spaceAsPlus(token); plus != token && errors.Is(err, ErrVerification) {
		invite, err = spendToken(ctx, e.store, keys, email, plus)
	}
	if err != nil {
		return nil, err
	}
	return e.signInInvited(ctx, r, p, invite)
}

// signInInvited signs in the person whose link or code was used.
func (e *engine) signInInvited(ctx context.Context, r *request, p *Email, invite *adapter.VerificationToken) (*Result, error) {
	user, owner, err := e.userOfEmail(ctx, invite.Identifier)
	if err != nil {
		return nil, err
	}
	account := &Account{Provider: p.id(), Type: TypeEmail, ProviderAccountID: user.Email, UserID: owner}
	result, err := e.complete(ctx, r, identity{user: user, account: account, proof: EmailProven}, owner, SignInParams{User: user, Account: account})
	if err != nil {
		return nil, err
	}
	e.endLinks(ctx, invite.Identifier)
	forgotten, err := e.begun(r).ForgetCodes(p.id(), invite.Identifier)
	if err != nil {
		e.logError(ctx, err) // they are of no use any more
		return result, nil
	}
	result.Cookies = append(result.Cookies, forgotten...)
	return result, nil
}

// signInTimeout limits the work that follows after a single-use value was
// spent. That work goes on even if the client has gone away.
const signInTimeout = time.Minute

// endLinks makes the other links of an address invalid.
func (e *engine) endLinks(ctx context.Context, identifier string) {
	if err := e.store.deleteVerificationTokens(ctx, identifier); err != nil {
		e.logError(ctx, err) // the links expire in any case
	}
}

// spendToken spends the token of a link. Its hash may have been made with any
// of the secrets.
func spendToken(ctx context.Context, s *store, keys wire.HashKeys, email, token string) (*adapter.VerificationToken, error) {
	for _, key := range keys {
		invite, err := s.useVerificationToken(ctx, email, wire.HashWith(token, key))
		switch {
		case err != nil:
			return nil, err
		case invite == nil:
			continue
		case s.clock().After(invite.Expires):
			return nil, &Error{Type: ErrVerification, Message: "the link has expired"}
		case invite.Identifier != email:
			return nil, &Error{Type: ErrVerification, Message: "the adapter returned the token of another address"}
		}
		return invite, nil
	}
	return nil, &Error{Type: ErrVerification, Message: "the link does not exist or was used before"}
}
