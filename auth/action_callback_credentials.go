package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// callbackCredentials serves POST callback for a credentials provider: it asks
// the application whether the submitted form is right. With StrategyJWT no
// adapter is involved, unless the browser has proven an address that the user
// holds.
func (e *engine) callbackCredentials(ctx context.Context, r *request, p *Credentials) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	form, err := r.wholeForm()
	if err != nil {
		return nil, err
	}
	if err := e.limit(ctx, r, Attempt{Provider: p.id(), Type: TypeCredentials, Identifier: p.typedName(form), Form: form}); err != nil {
		return nil, err
	}
	authorized, err := guard(ctx, func(ctx context.Context, form Form) (*User, error) {
		return p.Authorize(ctx, form, r.withBody(ctx))
	}, form)
	if err != nil {
		return nil, withCode(err)
	}
	if authorized == nil {
		return nil, &Error{Type: ErrCredentialsSignin, Message: "provider " + p.id() + ": Authorize refused", Code: defaultCode}
	}
	user := *authorized
	switch {
	case user.ID != "" && !identifies(user.ID):
		return nil, &Error{Type: ErrCallbackRoute, Message: "provider " + p.id() + ": Authorize returned an ID that is damaged or shows nothing, so it could be the ID of several people"}
	case user.ID == "" && e.config.Session.Strategy == StrategyDatabase:
		return nil, noAdapterUser(p, "returned a user without an ID")
	}
	if user.ID == "" {
		if user.ID, err = wire.RandomUUID(e.config.Random); err != nil {
			return nil, err
		}
	}
	account := &Account{Provider: p.id(), Type: TypeCredentials, ProviderAccountID: user.ID, UserID: user.ID}
	stop, err := e.authorizeSignIn(ctx, r, SignInParams{User: &user, Account: account, Credentials: form})
	if stop != nil || err != nil {
		return stop, err
	}
	if p.UsesAdapterIDs {
		if err := e.proveEarlier(ctx, e.earlierProof(r), user.ID); err != nil {
			return nil, err
		}
	}
	if e.config.Session.Strategy == StrategyDatabase {
		done, err := e.loginByCredentials(ctx, p, account, e.browser(ctx, r))
		if err != nil {
			return nil, err
		}
		return e.finishSignIn(ctx, r, done)
	}
	return e.finishSignIn(ctx, r, &signedIn{user: &user, account: account, stored: p.UsesAdapterIDs})
}

// loginByCredentials gives the user of the adapter to whom the form belongs a
// database session, in place of the one that the browser had.
func (e *engine) loginByCredentials(ctx context.Context, p *Credentials, account *Account, b browser) (*signedIn, error) {
	user, err := e.store.user(ctx, account.UserID)
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, noAdapterUser(p, "returned an ID that no user of the adapter has")
	}
	current, err := e.currentUser(ctx, b)
	if err != nil {
		return nil, err
	}
	done := &signedIn{user: userFromRecord(user), account: account, stored: true, replaced: current.session != nil, brief: current.brief}
	done.session, err = e.rotateSession(ctx, done.user, current)
	return done, err
}

// noAdapterUser is the error of a database session without a user.
func noAdapterUser(p *Credentials, message string) error {
	return &Error{Type: ErrCallbackRoute, Message: "provider " + p.id() + ": Authorize " + message + ", so there is no database session"}
}

// defaultCode is the code of a refusal that has none.
const defaultCode = "credentials"

// withCode fills in the code of an error of type ErrCredentialsSignin.
func withCode(err error) error {
	t, _ := typeOf(err)
	e, ok := errors.AsType[*Error](err)
	if t != ErrCredentialsSignin || ok && e.Code != "" {
		return err
	}
	coded := &Error{Type: t, Code: defaultCode, Cause: err}
	if ok && error(e) == err { //nolint:errorlint // whether it is wrapped
		*coded = *e // the application may return one value again and again
		coded.Code = defaultCode
	} else if err == error(t) { //nolint:errorlint // whether it is wrapped
		coded.Cause = nil
	}
	return coded
}

// proveEarlier records that the address of the user was proven in the same
// browser before.
func (e *engine) proveEarlier(ctx context.Context, earlier *provenAddress, userID string) error {
	if earlier == nil || earlier.userID != userID {
		return nil
	}
	user, err := e.store.user(ctx, userID)
	if err != nil || user == nil {
		return err
	}
	_, err = e.noteProof(ctx, &identity{earlier: earlier}, user)
	return err
}
