package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// identity is a person whom a provider has authenticated.
type identity struct {
	// user is the person as the provider describes them, without an address that
	// the provider says is not theirs.
	user    *User
	account *Account
	// given is the address of user as the provider spells it.
	given string
	// profile is set for OAuth and OpenID Connect.
	profile Profile
	// proof is what is known about the address of user.
	proof EmailProof
	// authenticator is a passkey that is being registered, to be stored with the
	// account.
	authenticator *adapter.Authenticator
	// stored chooses what of the token answer the adapter keeps. Nil keeps
	// nothing.
	stored func(ctx context.Context) (TokenSet, error)
	// kept is the result of stored, or nil before stored is called.
	kept *TokenSet
	// owner is the owner of the account, or nil if it has none. It is set only if
	// asked says that the store was asked.
	owner *adapter.User
	asked bool
	// linkByEmail is OAuth.AllowDangerousEmailAccountLinking.
	linkByEmail bool
	// begun says who began the sign-in.
	begun began.By
	// afresh says that another user holds the person's address, that the person
	// was asked what to do, and that they chose to start afresh.
	afresh bool
	// approvedAs is the ID of the stored user whom Callbacks.SignIn has allowed to
	// sign in, or empty for a new user. again asks it about another user.
	approvedAs string
	again      func(ctx context.Context, user *User) error
	// earlier is an address that was proven in this browser before, and waits for
	// its user to sign in; nil if there is none.
	earlier *provenAddress
	// password is the password that the person chose after a proof of the address,
	// or nil.
	password *adapter.Password
}

// signedIn is the outcome of a login.
type signedIn struct {
	user      *User
	account   *Account
	profile   Profile
	isNewUser bool
	// stored says that the adapter stores user.
	stored bool
	// session is the database session, new or kept; nil with StrategyJWT.
	session *adapter.Session
	// replaced says that the browser had a session in the store.
	replaced bool
	// subject is the subject of the session token; empty with StrategyDatabase.
	subject string
	// brief says that the session is a brief one.
	brief bool
	// passwordVersion is that of the password with which the person signed in.
	passwordVersion string
}

// authorizeSignIn calls Callbacks.SignIn. A result that is not nil means that
// the sign-in ends here with a redirect.
func (e *engine) authorizeSignIn(ctx context.Context, r *request, p SignInParams) (*Result, error) {
	if e.config.Callbacks.SignIn == nil {
		return nil, nil
	}
	p.Request = r.withBody(ctx)
	decision, err := guard(ctx, e.config.Callbacks.SignIn, shown(p))
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
	if !wire.IsWebURL(decision.location) {
		return nil, &Error{Type: ErrAccessDenied, Message: "Callbacks.SignIn returned a DenyTo that is neither a path nor an http(s) URL"}
	}
	return redirectTo(r.absolute(decision.location)), nil // the application chose it, not a client
}

// stopped is the error of a login that Callbacks.SignIn ended with a redirect.
type stopped struct{ result *Result }

func (*stopped) Error() string { return "Callbacks.SignIn sent the browser elsewhere" }

// ask makes Callbacks.SignIn be called again if the identity signs in as another
// user than p.User, who is the stored user with the ID approvedAs, or a new user
// if that is empty.
func (e *engine) ask(r *request, id *identity, approvedAs string, p SignInParams) {
	id.approvedAs = approvedAs
	id.again = func(ctx context.Context, user *User) error {
		owner := &User{}
		if p.User = user; user == nil {
			p.User = id.user
		} else if p.Account.Type == TypeEmail { // an account of another type is not linked to the user yet
			owner = user
		}
		p.Account = p.Account.ownedBy(owner)
		stop, err := e.authorizeSignIn(ctx, r, p)
		if err == nil && stop != nil {
			err = &stopped{stop}
		}
		return err
	}
}

// approve asks Callbacks.SignIn whether the person may sign in as the stored
// user, or as a new one if it is nil, unless it has answered that already.
func (id *identity) approve(ctx context.Context, user *adapter.User) error {
	as, shown := "", (*User)(nil)
	if user != nil {
		as, shown = user.ID, userFromRecord(user)
	}
	if as == id.approvedAs || id.again == nil {
		return nil
	}
	if err := id.again(ctx, shown); err != nil {
		return err
	}
	id.approvedAs = as
	return nil
}

// redirect calls Callbacks.Redirect.
func (e *engine) redirect(ctx context.Context, url, origin string) (string, error) {
	decide := e.config.Callbacks.Redirect
	if decide == nil {
		return keepOnSite(url, origin, e.config.home(origin)), nil
	}
	return guard(ctx, decide, RedirectParams{URL: url, BaseURL: origin})
}

// login finds or makes the user and the session for an identity. Concurrent
// logins with one account or one address all end with the same user. The error
// is a *heldAddress if the person must be asked first.
func (e *engine) login(ctx context.Context, b browser, id *identity) (*signedIn, error) {
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
		if id.account.Type == TypeEmail {
			done, err = e.loginByEmail(ctx, id, current)
		} else {
			done, err = e.loginByAccount(ctx, id, current)
		}
		id.asked = false
		switch {
		case errors.Is(err, errRaced) && races < maxLoginRaces:
			races++
		case errors.Is(err, errAddressTaken) && pauses <= e.store.twinPauses():
			if pauses > 0 {
				if err := pause(ctx, firstLoginPause<<(pauses-1)); err != nil {
					return nil, err
				}
			}
			pauses++
		case err != nil:
			return nil, err
		default:
			done.replaced = current.session != nil
			done.brief = current.brief && (done.session == nil || isBrief(done.session.SessionToken))
			return done, nil
		}
	}
}

const (
	// maxLoginRaces is how often a login starts again after another login overtook
	// it. Each time the other login got further.
	maxLoginRaces = 2
	// maxLoginPauses is how often a login waits for the account of the user who
	// has the address: first for firstLoginPause, then each time twice as long, 70
	// ms in all.
	maxLoginPauses  = 3
	firstLoginPause = 10 * time.Millisecond
)

var (
	// errRaced says that another request changed the store during a login.
	errRaced = errors.New("another sign-in of the same person changed the records meanwhile")
	// errAddressTaken says that the address of an account belongs to a user who
	// does not have the account. The user may have been made an instant ago, by
	// another process in which the same account signs in for the first time.
	errAddressTaken = errors.New("the user does not have the account")
)

// twinPauses is how often a login waits before it is refused because of an
// address. It is 0 if the adapter stores a user and their account in one call:
// then no other login ever sees the user without the account.
func (s *store) twinPauses() int {
	if s.signUps != nil {
		return 0
	}
	return maxLoginPauses
}

// raced turns the errors by which an adapter reports a change of the store into
// errRaced.
func raced(err error) error {
	if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) || errors.Is(err, errGivenAway) {
		return errors.Join(errRaced, err)
	}
	return err
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// browser is what a login needs to know about its browser.
type browser struct {
	// sessionToken is the value of the session cookie, salt is its name.
	sessionToken, salt string
}

func (e *engine) browser(ctx context.Context, r *request) browser {
	token, _ := e.sessionCookie(ctx, r)
	return browser{sessionToken: token, salt: r.specs.Session.Name}
}

// loggedIn is the user who is already signed in with the browser of a request.
type loggedIn struct {
	record  *adapter.User // nil if nobody is signed in
	session *adapter.Session
	// browser holds the session cookie in which the user was found.
	browser browser
	// brief says that the session is a brief one, as is the one that follows.
	brief bool
}

// user is the user, or nil if nobody is signed in.
func (l loggedIn) user() *User {
	if l.record == nil {
		return nil
	}
	return userFromRecord(l.record)
}

// id is the ID of the user, or empty.
func (l loggedIn) id() string {
	if l.record == nil {
		return ""
	}
	return l.record.ID
}

// currentUser finds the user who is signed in. Nobody is signed in if the
// session has expired, if a callback shows no user for it, if its user was
// deleted, or if the subject of the token is not the ID of a user of the
// adapter.
func (e *engine) currentUser(ctx context.Context, b browser) (loggedIn, error) {
	if b.sessionToken == "" || e.store == nil {
		return loggedIn{}, nil
	}
	if e.config.Session.Strategy == StrategyDatabase {
		stored, err := e.store.sessionAndUser(ctx, b.sessionToken)
		if err != nil || stored == nil {
			return loggedIn{}, err
		}
		current := loggedIn{record: &stored.User, session: &stored.Session, browser: b, brief: isBrief(b.sessionToken)}
		if shown, err := askSession(ctx, e.config.Callbacks.Session, storedSession(stored)); err != nil || shown == nil || shown.User == nil {
			return loggedIn{session: current.session}, err
		}
		return current, nil
	}
	opened, err := e.tokens.open(ctx, b.sessionToken, b.salt)
	if isVoid(err) {
		return loggedIn{}, nil // a token that is not good signs nobody in
	}
	if err != nil {
		return loggedIn{}, err
	}
	sub := opened.claims.String("sub")
	if sub == "" || !namesAdapterUser(opened.claims, e.config.Providers) {
		return loggedIn{}, nil
	}
	claims, _, err := e.tokens.ask(ctx, opened.claims, JWTParams{ReadOnly: true})
	if err != nil || claims == nil {
		return loggedIn{}, err
	}
	if shown, err := askSession(ctx, e.config.Callbacks.Session, tokenSession(claims, opened.expires)); err != nil || shown == nil || shown.User == nil {
		return loggedIn{}, err
	}
	user, err := e.store.user(ctx, sub)
	if err != nil || user == nil {
		return loggedIn{}, err
	}
	return loggedIn{record: user, browser: b, brief: opened.claims[claimBrief] == true}, nil
}

// loginByEmail signs in the user with the address, or a new user. It replaces
// the session that the browser had.
func (e *engine) loginByEmail(ctx context.Context, id *identity, current loggedIn) (*signedIn, error) {
	found, err := e.store.userByEmail(ctx, id.user.Email)
	if err != nil {
		return nil, err
	}
	proves := found != nil && found.EmailVerified == nil
	if proves && e.otherWays {
		if found, err = e.claimAddress(ctx, id, found); err != nil {
			return nil, err
		}
	}
	if err := id.approve(ctx, found); err != nil {
		return nil, err
	}
	if current.session != nil {
		e.endOldSession(ctx, current.session.SessionToken)
	}
	now := e.config.Clock()
	done := &signedIn{account: id.account, stored: true}
	if found != nil {
		if found.EmailVerified == nil {
			if found, err = e.store.prove(ctx, found, now); err != nil {
				return nil, raced(err)
			}
		}
		done.user = userFromRecord(found)
		if proves {
			notify(ctx, e, "UpdateUser", e.config.Events.UpdateUser, UpdateUserEvent{User: done.user})
		}
		if err := e.store.passwords.renewPassword(ctx, found.ID, id.password); err != nil {
			return nil, err
		}
	} else {
		record := id.user.record()
		record.EmailVerified = &now
		created, err := e.store.passwords.createUserWith(ctx, record, id.password)
		if err != nil {
			return nil, raced(err)
		}
		done.user, done.isNewUser = userFromRecord(created), true
		notify(ctx, e, "CreateUser", e.config.Events.CreateUser, CreateUserEvent{User: done.user})
	}
	done.session, err = e.newSession(ctx, done.user, current.brief)
	return done, err
}

// loginByAccount signs in the owner of an account, links the account to the
// user who is signed in, or makes a new user for it.
func (e *engine) loginByAccount(ctx context.Context, id *identity, current loggedIn) (*signedIn, error) {
	owner, err := e.store.ownerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if id.kept == nil {
		id.kept = new(TokenSet)
		if id.stored != nil {
			if *id.kept, err = id.stored(ctx); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case owner != nil && id.authenticator != nil:
		// A registration does not prove that the person owns the credential ID.
		return nil, &Error{Type: ErrAccountNotLinked, Message: "the passkey belongs to another user already"}
	case owner != nil && current.record != nil && owner.ID != current.id():
		return nil, &Error{Type: id.notLinked(), Message: "the account belongs to another user than the signed-in one"}
	case owner != nil:
		return e.returning(ctx, id, owner, current)
	case !id.mayLinkTo(current):
		return nil, id.notBegunBy()
	case current.record != nil:
		return e.linkTo(ctx, id, current.record, &current)
	}
	return e.signUp(ctx, id)
}

// mayLinkTo reports whether the user who is signed in now began the sign-in, so
// that an account may be linked to them. If nobody is signed in, nothing is
// linked to a signed-in user, and the sign-in may have begun in another browser.
func (id *identity) mayLinkTo(current loggedIn) bool {
	return id.begun.User == current.id() && (id.begun.Bound || current.record == nil)
}

// notBegunBy is the error of a sign-in that one user began, and that ends in a
// browser in which another user is signed in.
func (id *identity) notBegunBy() error {
	return &Error{Type: id.notLinked(), Message: "the account is new, and the sign-in was started by another user than the signed-in one"}
}

// returning signs in the owner of an account.
func (e *engine) returning(ctx context.Context, id *identity, owner *adapter.User, current loggedIn) (*signedIn, error) {
	if err := id.approve(ctx, owner); err != nil {
		return nil, err
	}
	account := id.kept.account(id.account)
	if err := e.store.updateTokens(ctx, account.record()); err != nil {
		if err = raced(err); errors.Is(err, errRaced) {
			return nil, err
		}
		e.logError(ctx, err) // the tokens of an earlier sign-in stay
	}
	owner, err := e.noteProof(ctx, id, owner)
	if err != nil {
		return nil, err
	}
	done := &signedIn{user: userFromRecord(owner), account: id.account, profile: id.profile, stored: true}
	done.session, err = e.rotateSession(ctx, done.user, current)
	return done, err
}

// linkTo links an account to a user, and signs the user in.
func (e *engine) linkTo(ctx context.Context, id *identity, user *adapter.User, current *loggedIn) (*signedIn, error) {
	if err := id.approve(ctx, user); err != nil {
		return nil, err
	}
	account := id.kept.account(id.account)
	if err := mayLink(ctx, e.config.Callbacks.Link, id, user); err != nil {
		return nil, err
	}
	if current.record != nil && e.config.Callbacks.Link != nil { // after a slow callback, the session may have ended
		now, err := e.currentUser(ctx, current.browser)
		if err != nil {
			return nil, err
		}
		if now.id() != user.ID {
			return nil, id.notBegunBy()
		}
	}
	if err := e.store.link(ctx, user, account.record(), id.authenticator); err != nil {
		return nil, raced(err)
	}
	done := &signedIn{user: userFromRecord(user), account: id.account, profile: id.profile, stored: true}
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: done.user, Account: account.ownedBy(done.user), Profile: id.user})
	var err error
	done.session, err = e.rotateSession(ctx, done.user, *current)
	return done, err
}

// mayLink calls Callbacks.Link. The error is nil if the account may be linked.
func mayLink(ctx context.Context, ask func(context.Context, LinkParams) (bool, error), id *identity, user *adapter.User) error {
	if ask == nil {
		return nil
	}
	ok, err := guard(ctx, ask, shown(LinkParams{User: userFromRecord(user), Account: id.account, Profile: id.profile}))
	if err == nil && !ok {
		return &Error{Type: id.notLinked(), Message: "Callbacks.Link refused"}
	}
	if _, ours := typeOf(err); err != nil && !ours {
		return &Error{Type: ErrAccessDenied, Message: "Callbacks.Link", Cause: err}
	}
	return err
}

// ownerOf returns the user who has the account, or nil. A login that starts
// again asks the store again.
func (s *store) ownerOf(ctx context.Context, id *identity) (*adapter.User, error) {
	if id.asked {
		return id.owner, nil
	}
	return s.userByAccount(ctx, id.key())
}

// lookUp asks the store for the owner of the account of the identity.
func (e *engine) lookUp(ctx context.Context, id *identity) error {
	if e.store == nil {
		return nil
	}
	var err error
	id.owner, err = e.store.userByAccount(ctx, id.key())
	id.asked = err == nil
	return err
}

// signUp makes a user for an account that nobody has. If a user already holds
// the address of the account, mayTakeAddress decides whether the account is
// linked to that user.
func (e *engine) signUp(ctx context.Context, id *identity) (*signedIn, error) {
	var holder *adapter.User
	var err error
	if id.user.Email != "" {
		if holder, err = e.store.userByEmail(ctx, id.user.Email, id.given); err != nil {
			return nil, err
		}
	}
	if holder != nil {
		link, err := e.mayTakeAddress(ctx, id, holder)
		switch {
		case err != nil:
			return nil, err
		case link != nil:
			return e.linkTo(ctx, id, link, &loggedIn{})
		}
	}
	if err := id.approve(ctx, nil); err != nil {
		return nil, err
	}
	record := id.user.record()
	record.EmailVerified = nil
	if id.proof == EmailProven && record.Email != "" {
		record.EmailVerified = new(e.config.Clock())
	}
	account := id.kept.account(id.account)
	created, err := e.store.signUp(ctx, record, account.record(), id.authenticator)
	if err != nil {
		return nil, raced(err)
	}
	done := &signedIn{user: userFromRecord(created), account: id.account, profile: id.profile, stored: true, isNewUser: true}
	notify(ctx, e, "CreateUser", e.config.Events.CreateUser, CreateUserEvent{User: done.user})
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: done.user, Account: account.ownedBy(done.user), Profile: id.user})
	done.session, err = e.newSession(ctx, done.user, false)
	return done, err
}

func (id *identity) key() adapter.AccountKey {
	return adapter.AccountKey{Provider: id.account.Provider, ProviderAccountID: id.account.ProviderAccountID}
}

// account returns a copy of an account with these tokens.
func (t *TokenSet) account(a *Account) *Account {
	return &Account{Provider: a.Provider, Type: a.Type, ProviderAccountID: a.ProviderAccountID, TokenSet: *t}
}

// notLinked is the type of the error for an account that can't be linked.
func (id *identity) notLinked() ErrorType {
	if id.account.Type == TypeWebAuthn {
		return ErrAccountNotLinked
	}
	return ErrOAuthAccountNotLinked
}

// newSession stores a new database session. With StrategyJWT it stores nothing
// and returns nil.
func (e *engine) newSession(ctx context.Context, user *User, brief bool) (*adapter.Session, error) {
	if e.config.Session.Strategy != StrategyDatabase {
		return nil, nil
	}
	token, err := newSessionToken(ctx, &e.config)
	if err != nil {
		return nil, err
	}
	if brief {
		token += briefMark
	}
	return e.store.beginSession(ctx, user.ID, token)
}

// rotateSession makes a new session and ends the one that the browser had, so
// that a key that somebody saw before is useless afterwards.
func (e *engine) rotateSession(ctx context.Context, user *User, current loggedIn) (*adapter.Session, error) {
	session, err := e.newSession(ctx, user, current.brief)
	if err == nil && current.session != nil {
		e.endOldSession(ctx, current.session.SessionToken)
	}
	return session, err
}

// endOldSession ends a session that was replaced. If that fails, the session
// ends when it expires.
func (e *engine) endOldSession(ctx context.Context, token string) {
	if _, err := e.store.endSession(ctx, token); err != nil {
		e.logError(ctx, err)
	}
}

func newSessionToken(ctx context.Context, c *Config) (string, error) {
	if generate := c.Session.GenerateSessionToken; generate != nil {
		token, err := guard(ctx, func(ctx context.Context, _ struct{}) (string, error) { return generate(ctx) }, struct{}{})
		if err != nil || token != "" {
			return token, err
		}
	}
	return wire.RandomUUID(c.Random)
}

// finishSignIn sets the session cookie, calls Events.SignIn, and redirects the
// browser.
func (e *engine) finishSignIn(ctx context.Context, r *request, done *signedIn) (*Result, error) {
	done.account = done.account.ownedBy(done.user)
	cookies := e.sessionCookies(ctx, r)
	old := cookies.names
	result := Result{Location: r.callbackURL}
	if page := e.config.Pages.NewUser; page != "" && done.isNewUser {
		result.Location = wire.WithQuery(page, "callbackUrl="+wire.QueryEscape(r.callbackURL))
	}
	if done.session != nil {
		expires := done.session.Expires
		if isBrief(done.session.SessionToken) {
			expires = time.Time{} // the cookie ends with the browser
		}
		result.Cookies = r.specs.Session.Spread(old, done.session.SessionToken, e.config.Clock(), expires)
	} else {
		cookies, err := e.sessionToken(ctx, r, done, old)
		if err != nil {
			return nil, err
		}
		result.Cookies = cookies
	}
	if e.replaces(ctx, r, cookies, done) {
		result.Cookies = append(result.Cookies, cookies.elsewhere(&r.specs.Session)...)
	}
	finished, err := e.finished(ctx, r, done, result.Location)
	if err != nil {
		return nil, err
	}
	result.Cookies = append(result.Cookies, finished...)
	if proof := r.proofCookie(); r.cookies.Get(proof.Name) != "" {
		result.Cookies = append(result.Cookies, proof.Clear(proof.Name))
	}
	if o := e.oauth[done.account.Provider]; o != nil {
		o.noteIssuer(ctx, e.log, r.answeredBy)
	}
	notify(ctx, e, "SignIn", e.config.Events.SignIn, SignInEvent{User: done.user, Account: done.account, Profile: done.profile, IsNewUser: done.isNewUser})
	return &result, nil
}

// sessionToken makes the session token of a person who signs in, and returns
// its cookies.
func (e *engine) sessionToken(ctx context.Context, r *request, done *signedIn, old []string) ([]*http.Cookie, error) {
	claims := claimsFromUser(done.user)
	if change := e.config.Callbacks.JWT; change != nil {
		p := JWTParams{Token: claims, User: done.user, Account: done.account, Profile: done.profile, Trigger: TriggerSignIn, IsNewUser: done.isNewUser}
		if done.isNewUser {
			p.Trigger = TriggerSignUp
		}
		var err error
		if claims, err = guard(ctx, change, p); err != nil {
			return nil, err
		}
		if claims == nil {
			return r.specs.Session.Spread(old, "", time.Time{}, time.Time{}), nil
		}
	}
	done.subject = claims.String("sub")
	if e.store != nil {
		if err := e.tokens.mark(ctx, claims, done); err != nil {
			return nil, err
		}
	}
	now := e.tokens.wholeSecond()
	expires := e.config.Session.expires(now, now)
	if done.brief {
		expires = briefEnd(expires, now)
	}
	token, err := e.tokens.issue(ctx, r.specs.Session.Name, claims, now, now, expires)
	if err != nil {
		return nil, err
	}
	if done.brief {
		expires = time.Time{}
	}
	return e.tokenCookies(ctx, r, old, token, expires), nil
}
