package auth

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
)

// signOutPage serves GET signout: it asks for confirmation, so that following a
// link signs nobody out.
func (e *engine) signOutPage(r *request) (*Result, error) {
	if custom := e.config.Pages.SignOut; custom != "" {
		return redirectTo(custom), nil
	}
	page := pages.SignOut{Look: e.look.of(r.http), Action: r.target, CSRFToken: r.csrf.Token}
	return r.htmlWithToken(page.Render()), nil
}

// signOut serves POST signout: it ends the session, in the store and in the
// browser. If the store fails, the browser is signed out nevertheless.
func (e *engine) signOut(ctx context.Context, r *request) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	result := redirectTo(r.callbackURL)
	result.Cookies = append(e.endCookies(ctx, r), e.begun(r).ForgetFinished()...)
	return result, nil
}

// endSession ends a database session in the store. With session tokens it
// remembers that the token was signed out, and returns its claims. Salt is the
// name of the session cookie.
func (e *engine) endSession(ctx context.Context, token, salt string) (SignOutEvent, error) {
	if e.config.Session.Strategy == StrategyJWT {
		claims, _, err := e.tokens.decode(ctx, token, salt)
		if t := e.tokens.named(claims); t.ID != "" {
			e.once.End(t, e.config.Clock())
		}
		return SignOutEvent{Token: claims}, err
	}
	session, err := e.store.endSession(ctx, token)
	return SignOutEvent{Session: session}, err
}
