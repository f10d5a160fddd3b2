package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// identity is somebody whom a provider has authenticated.
type identity struct {
	// user is the person as the provider describes them.
	user    *User
	account *Account
	// profile is set for OAuth and OpenID Connect.
	profile Profile
	// stored chooses what of the token answer the adapter keeps, when an account
	// is about to be linked.
	stored func(ctx context.Context) (TokenSet, error)
	// kept is what stored chose, once it was asked.
	kept *TokenSet
	// owner is whom the account belongs to, as far as asked says that the store
	// was asked already.
	owner *adapter.User
	asked bool
	// linkByEmail is OAuth.AllowDangerousEmailAccountLinking.
	linkByEmail bool
	// authenticator is a passkey that is being registered.
	authenticator *adapter.Authenticator
}

// signedIn is the outcome of a login.
type signedIn struct {
	user      *User
	account   *Account
	profile   Profile
	isNewUser bool
	// session is the database session, new or kept; nil with tokens.
	session *adapter.Session
}

// authorizeSignIn asks Callbacks.SignIn. A result means that the sign-in ends
// there with a redirect.
func (e *engine) authorizeSignIn(ctx context.Context, r *request, p SignInParams) (*Result, error) {
	if e.config.Callbacks.SignIn == nil {
		return nil, nil
	}
	decision, err := guard(ctx, e.config.Callbacks.SignIn, p)
	if err != nil {
		if _, ours := typeOf(err); ours {
			return nil, err
		}
		return nil, &Error{Type: ErrAccessDenied, Cause: err}
	}
	switch {
	case decision.allow:
		return nil, nil
	case decision.location == "":
		return nil, &Error{Type: ErrAccessDenied, Message: "Callbacks.SignIn refused"}
	}
	location, err := e.redirect(ctx, decision.location, r.origin)
	return redirectTo(location), err
}

// redirect asks Callbacks.Redirect.
func (e *engine) redirect(ctx context.Context, url, origin string) (string, error) {
	decide := e.config.Callbacks.Redirect
	if decide == nil {
		decide = defaultRedirect
	}
	return guard(ctx, decide, RedirectParams{URL: url, BaseURL: origin})
}

// login finds or makes the user and the session for an identity. Of concurrent
// logins with one account or address all end at one user. Behaviour reference
// section 7.4.
func (e *engine) login(ctx context.Context, b browser, id identity) (*signedIn, error) {
	if e.store == nil {
		return &signedIn{user: id.user, account: id.account, profile: id.profile}, nil
	}
	release, err := e.logins.acquire(ctx, id.account.Provider+"\x00"+id.account.ProviderAccountID)
	if err != nil {
		return nil, err
	}
	defer release()
	current, err := e.currentUser(ctx, b)
	if err != nil {
		return nil, err
	}
	races, pauses := 0, 0
	for {
		var done *signedIn
		switch {
		case id.authenticator != nil:
			return e.loginWithNewPasskey(ctx, &id, current)
		case id.account.Type == TypeEmail:
			done, err = e.loginByEmail(ctx, id, current)
		default:
			done, err = e.loginByAccount(ctx, &id, current)
		}
		stale := id.asked
		id.asked = false
		switch {
		case errors.Is(err, errAddressTaken) && stale:
			// The account was looked up before this login had its turn.
		case errors.Is(err, errRaced) && races < maxLoginRaces:
			races++
		case errors.Is(err, errAddressTaken) && pauses < maxLoginPauses:
			if err := pause(ctx, firstLoginPause<<pauses); err != nil {
				return nil, err
			}
			pauses++
		default:
			return done, err
		}
	}
}

const (
	// maxLoginRaces is how often a login starts again after it was overtaken by
	// another. Each time the other one got further.
	maxLoginRaces = 2
	// maxLoginPauses is how often a login waits for the account of the user who
	// has the address: first for firstLoginPause, then each time twice as long, 1.3
	// seconds in all.
	maxLoginPauses  = 7
	firstLoginPause = 10 * time.Millisecond
)

var (
	// errRaced says that the store changed in the course of a login.
	errRaced = errors.New("another sign-in of the same person came in between")
	// errAddressTaken says that the address of an account is that of a user who
	// may have been made an instant ago, by another process in which the same
	// account signs in for the first time, and whose account is about to be
	// linked.
	errAddressTaken = errors.New("the user does not have the account")
)

// raced turns the errors by which an adapter reports a change of the store into
// errRaced.
func raced(err error) error {
	if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
		return errors.Join(errRaced, err)
	}
	return err
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// browser is what a login needs to know of the browser that it is for.
type browser struct {
	// sessionToken is the value of the session cookie, salt is its name.
	sessionToken, salt string
}

func (r *request) browser() browser {
	token, _ := r.sessionCookie()
	return browser{sessionToken: token, salt: r.specs.session.name}
}

// loggedIn is who is signed in already in the browser of a request.
type loggedIn struct {
	user    *User // nil if nobody is
	session *adapter.Session
	// token is the value of the session cookie.
	token string
}

// currentUser finds out who is signed in. A session that has expired, or whose
// user is gone, is nobody's.
func (e *engine) currentUser(ctx context.Context, b browser) (loggedIn, error) {
	current := loggedIn{token: b.sessionToken}
	if b.sessionToken == "" {
		return current, nil
	}
	if e.config.Session.Strategy == StrategyDatabase {
		stored, err := e.store.sessionAndUser(ctx, b.sessionToken)
		if err == nil && stored != nil {
			current.session, current.user = &stored.Session, userFromRecord(&stored.User)
		}
		return current, err
	}
	opened, err := e.openToken(ctx, b.sessionToken, b.salt)
	if isVoid(err) {
		return current, nil
	}
	if err != nil {
		return current, err
	}
	if sub := opened.claims.String("sub"); sub != "" {
		user, err := e.store.user(ctx, sub)
		if err != nil {
			return current, err
		}
		if user != nil {
			current.user = userFromRecord(user)
		}
	}
	return current, nil
}

// loginByEmail signs in the user with the address, or a new one. A session
// that the browser had is replaced.
func (e *engine) loginByEmail(ctx context.Context, id identity, current loggedIn) (*signedIn, error) {
	now := e.config.Clock()
	found, err := e.store.userByEmail(ctx, id.user.Email)
	if err != nil {
		return nil, err
	}
	if current.session != nil {
		if _, err := e.store.endSession(ctx, current.token); err != nil {
			e.logError(ctx, err) // it ends by itself
		}
	}
	done := &signedIn{account: id.account}
	if found != nil {
		updated, err := e.store.updateUser(ctx, adapter.UserUpdate{ID: found.ID, EmailVerified: adapter.To(&now)})
		if err != nil {
			return nil, raced(err)
		}
		done.user = userFromRecord(updated)
		notify(ctx, e, "UpdateUser", e.config.Events.UpdateUser, UpdateUserEvent{User: done.user})
	} else {
		record := id.user.record()
		record.EmailVerified = &now
		if done.user, err = e.createUser(ctx, record); err != nil {
			return nil, err
		}
		done.isNewUser = true
	}
	done.session, err = e.newSession(ctx, done.user)
	return done, err
}

// loginByAccount signs in the owner of an account, links the account to who is
// signed in, or makes a new user for it.
func (e *engine) loginByAccount(ctx context.Context, id *identity, current loggedIn) (*signedIn, error) {
	done := &signedIn{account: id.account, profile: id.profile}
	record, err := e.ownerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if record == nil && id.kept == nil {
		id.kept = new(TokenSet)
		if id.stored != nil {
			if *id.kept, err = id.stored(ctx); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case record != nil && current.user == nil:
		done.user = userFromRecord(record)
		done.session, err = e.newSession(ctx, done.user)
		return done, err
	case record != nil && record.ID == current.user.ID:
		done.user, done.session = current.user, current.session
		return done, nil
	case record != nil:
		return nil, &Error{Type: id.notLinked(), Message: "the account belongs to another user than the one who is signed in"}
	case current.user != nil:
		done.user, done.session = current.user, current.session
		return done, e.linkAccount(ctx, id, current.user)
	}
	return e.signUp(ctx, id, done)
}

// ownerOf returns the user who has the account, or nil. A login that starts
// again asks anew.
func (e *engine) ownerOf(ctx context.Context, id *identity) (*adapter.User, error) {
	if id.asked {
		return id.owner, nil
	}
	return e.store.userByAccount(ctx, id.key())
}

// lookUp asks the store who has the account of the identity.
func (e *engine) lookUp(ctx context.Context, id *identity) error {
	if e.store == nil {
		return nil
	}
	var err error
	id.owner, err = e.store.userByAccount(ctx, id.key())
	id.asked = err == nil
	return err
}

// signUp makes a user for an account that nobody has.
func (e *engine) signUp(ctx context.Context, id *identity, done *signedIn) (*signedIn, error) {
	var existing *adapter.User
	var err error
	if id.user.Email != "" {
		if existing, err = e.store.userByEmail(ctx, id.user.Email); err != nil {
			return nil, err
		}
	}
	switch {
	case existing == nil:
		record := id.user.record()
		record.EmailVerified = nil
		if done.user, err = e.createUser(ctx, record); err != nil {
			return nil, err
		}
		done.isNewUser = true
	case id.linkByEmail:
		done.user = userFromRecord(existing)
	default:
		refused := &Error{Type: id.notLinked(), Message: "another user has the e-mail address of the account"}
		if existing.EmailVerified == nil && id.account.Type != TypeWebAuthn { // as signUp makes them
			refused.Cause = errAddressTaken
		}
		return nil, refused
	}
	if err := e.linkAccount(ctx, id, done.user); err != nil {
		if done.isNewUser {
			e.undoSignUp(context.WithoutCancel(ctx), id, done.user)
		}
		return nil, err
	}
	done.session, err = e.newSession(ctx, done.user)
	return done, err
}

// undoSignUp removes a user whose account could not be linked. Nobody could
// ever sign in as them: the address is taken, and no account leads to it. The
// user stays if they have the account all the same, because an answer was lost
// or because another process linked it by the address.
func (e *engine) undoSignUp(ctx context.Context, id *identity, user *User) {
	owner, err := e.store.userByAccount(ctx, id.key())
	if err == nil && owner != nil && owner.ID == user.ID {
		return
	}
	if err == nil {
		err = e.store.deleteUser(ctx, user.ID)
	}
	if err != nil {
		e.logError(ctx, &Error{Type: ErrAdapter, Message: "user without account left behind", Cause: err})
	}
}

func (id *identity) key() adapter.AccountKey {
	return adapter.AccountKey{Provider: id.account.Provider, ProviderAccountID: id.account.ProviderAccountID}
}

// notLinked is the type of the error for an account that can't be linked.
func (id *identity) notLinked() ErrorType {
	if id.account.Type == TypeWebAuthn {
		return ErrAccountNotLinked
	}
	return ErrOAuthAccountNotLinked
}

func (e *engine) createUser(ctx context.Context, record adapter.User) (*User, error) {
	created, err := e.store.createUser(ctx, record)
	if err != nil {
		return nil, raced(err)
	}
	user := userFromRecord(created)
	notify(ctx, e, "CreateUser", e.config.Events.CreateUser, CreateUserEvent{User: user})
	return user, nil
}

func (e *engine) linkAccount(ctx context.Context, id *identity, user *User) error {
	account := &Account{Provider: id.account.Provider, Type: id.account.Type, ProviderAccountID: id.account.ProviderAccountID, TokenSet: *id.kept}
	record := account.record()
	record.UserID = user.ID
	if err := e.store.linkAccount(ctx, record); err != nil {
		return raced(err)
	}
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: user, Account: account, Profile: id.user})
	return nil
}

// newSession makes a database session; with tokens there is nothing to make.
func (e *engine) newSession(ctx context.Context, user *User) (*adapter.Session, error) {
	if e.config.Session.Strategy != StrategyDatabase {
		return nil, nil
	}
	token, err := e.newSessionToken(ctx)
	if err != nil {
		return nil, err
	}
	return e.store.beginSession(ctx, user.ID, token)
}

func (e *engine) newSessionToken(ctx context.Context) (string, error) {
	if generate := e.config.Session.GenerateSessionToken; generate != nil {
		token, err := guard(ctx, func(ctx context.Context, _ struct{}) (string, error) { return generate(ctx) }, struct{}{})
		if err != nil || token != "" {
			return token, err
		}
	}
	return randomUUID(e.config.Random)
}

// finishSignIn sets the session cookie, tells the application, and sends the
// browser on. Behaviour reference sections 7.2 and 7.3.
func (e *engine) finishSignIn(ctx context.Context, r *request, done *signedIn) (*Result, error) {
	_, old := r.sessionCookie()
	var result Result
	if done.session != nil {
		result.Cookies = r.specs.session.sessionCookies(old, done.session.SessionToken, done.session.Expires)
	} else {
		cookies, err := e.sessionToken(ctx, r, done, old)
		if err != nil {
			return nil, err
		}
		result.Cookies = cookies
	}
	notify(ctx, e, "SignIn", e.config.Events.SignIn, SignInEvent{User: done.user, Account: done.account, Profile: done.profile, IsNewUser: done.isNewUser})
	result.Location = r.callbackURL
	if page := e.config.Pages.NewUser; page != "" && done.isNewUser {
		result.Location = withQuery(page, "callbackUrl="+queryEscape(r.callbackURL))
	}
	return &result, nil
}

// sessionToken makes the session token of somebody who signs in.
func (e *engine) sessionToken(ctx context.Context, r *request, done *signedIn, old []string) ([]*http.Cookie, error) {
	claims := claimsFromUser(done.user)
	if make := e.config.Callbacks.JWT; make != nil {
		p := JWTParams{Token: claims, User: done.user, Account: done.account, Profile: done.profile, Trigger: TriggerSignIn}
		if done.isNewUser {
			p.Trigger = TriggerSignUp
		}
		var err error
		if claims, err = guard(ctx, make, p); err != nil {
			return nil, err
		}
		if claims == nil {
			return r.specs.session.sessionCookies(old, "", time.Time{}), nil
		}
	}
	now := e.config.Clock()
	token, err := e.issueToken(ctx, r, claims, now)
	if err != nil {
		return nil, err
	}
	return e.tokenCookies(ctx, r, old, token, e.config.Session.expires(now, now)), nil
}
