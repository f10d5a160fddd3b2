package auth

import (
	"context"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// passwordFlow serves a request of password.Provider.
type passwordFlow struct {
	e *engine
	r *request
	p *Password
}

// errWrongPassword is the same for everybody: nobody has the address, the user has
// no password, the password is wrong, or it does not count.
var errWrongPassword = &Error{Type: ErrCredentialsSignin, Message: "address and password are not those of a user", Code: defaultCode, client: true}

// signIn serves POST callback for the provider.
func (f passwordFlow) signIn(ctx context.Context) (*Result, error) {
	if err := f.r.needCSRF(); err != nil {
		return nil, err
	}
	form, err := f.r.wholeForm()
	if err != nil {
		return nil, err
	}
	address, err := NormalizeEmail(form.Get("email"))
	if err != nil {
		return nil, errWrongPassword
	}
	if err := f.limit(ctx, TypeCredentials, address); err != nil {
		return nil, err
	}
	record, stored, err := f.owner(ctx, address, form.Get("email"), form.Get("password"))
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, errWrongPassword
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	user := userFromRecord(record)
	account := &Account{Provider: f.p.id(), Type: TypeCredentials, ProviderAccountID: user.ID, UserID: user.ID}
	stop, err := f.e.authorizeSignIn(ctx, f.r, SignInParams{User: user, Account: account})
	if stop != nil || err != nil {
		return stop, err
	}
	if err := f.e.proveEarlier(ctx, f.e.earlierProof(f.r), user.ID); err != nil {
		return nil, err
	}
	return f.begin(ctx, record, account, stored, !remembers(form))
}

// remembers reports whether the browser is to be remembered, which a form says as a
// text and a script as a truth value.
func remembers(form Form) bool { return form["remember"] != "false" && form["remember"] != false }

// limit calls Config.Limit, before anything is looked up or hashed.
func (f passwordFlow) limit(ctx context.Context, kind ProviderType, address string) error {
	form, err := f.r.wholeForm()
	if err != nil {
		return err
	}
	return f.e.limit(ctx, f.r, Attempt{Provider: f.p.id(), Type: kind, Identifier: address, Form: form})
}

// owner returns the user who has the address and the password, and the record of
// the password; a nil record means that there is none.
func (f passwordFlow) owner(ctx context.Context, address, typed, password string) (*adapter.User, *adapter.Password, error) {
	if password == "" || len(password) > passwords.MaxBytes {
		return nil, nil, nil
	}
	user, err := f.find(ctx, address, typed)
	if err != nil {
		return nil, nil, err
	}
	id := ""
	if user != nil {
		id = user.ID
	}
	stored, err := f.try(ctx, id, address, password)
	return user, stored, err
}

// find returns the user with a typed address, or nil.
func (f passwordFlow) find(ctx context.Context, address, typed string) (*adapter.User, error) {
	return f.e.store.userByTypedEmail(ctx, address, strings.TrimSpace(typed))
}

// try compares a password with that of a user; the ID is empty for nobody. A hash
// that can't be read matches nothing, and is logged.
func (f passwordFlow) try(ctx context.Context, userID, address, password string) (*adapter.Password, error) {
	nobody, err := wire.RandomUUID(f.e.config.Random)
	if err != nil {
		return nil, err
	}
	stored, err := passwords.Check(ctx, f.e.store.passwords, f.p.settings.Hasher, passwords.Attempt{
		UserID: userID, Nobody: nobody, Client: f.client(), Password: password, Browser: f.knownBrowser,
		Lock: func() (func(), error) { return f.e.logins.acquire(ctx, "password\x00"+address) },
	})
	if passwords.IsHashError(err) {
		f.e.logError(ctx, &Error{Type: ErrAdapter, Cause: err})
		return nil, nil
	}
	return stored, err
}

// client is who takes a turn at hashing.
func (f passwordFlow) client() string { return f.e.config.clientOf(f.r.http) }

// knownBrowser is the name of a browser in which the user signed in with the
// password of this version before, or empty.
func (f passwordFlow) knownBrowser(userID, version string) string {
	return f.e.begun(f.r).KnownTo(userID, version)
}

// begin signs a user in who has shown the password, or chosen another one. A
// database session ends again if the password was changed meanwhile.
func (f passwordFlow) begin(ctx context.Context, record *adapter.User, account *Account, shown *adapter.Password, brief bool) (*Result, error) {
	e := f.e
	current, err := e.currentUser(ctx, e.browser(ctx, f.r))
	if err != nil {
		return nil, err
	}
	version := passwords.StateOf(shown).Version
	current.brief = brief
	done := &signedIn{
		user: userFromRecord(record), account: account, stored: true, replaced: current.session != nil, brief: brief, passwordVersion: version,
	}
	if done.session, err = e.rotateSession(ctx, done.user, current); err != nil {
		return nil, err
	}
	if done.session != nil && shown != nil {
		if err := stillHas(ctx, e.store.passwords, record.ID, version); err != nil {
			e.endOldSession(ctx, done.session.SessionToken)
			return nil, err
		}
	}
	return e.finishSignIn(ctx, f.r, done)
}

// stillHas returns an error unless the user has the password of that version.
func stillHas(ctx context.Context, s *keptPasswords, userID, version string) error {
	now, err := s.Password(ctx, userID)
	if err == nil && (now == nil || passwords.StateOf(now).Version != version) {
		err = errWrongPassword
	}
	return err
}

// newPassword hashes a password that was chosen.
func (f passwordFlow) newPassword(ctx context.Context, userID, password string) (*adapter.Password, error) {
	hash, err := f.p.settings.Hasher.Hash(ctx, f.client(), password)
	if err != nil {
		return nil, err
	}
	version, err := wire.RandomHex(f.e.config.Random)
	if err != nil {
		return nil, err
	}
	record := passwords.New(userID, hash, version[:32], f.e.config.Clock())
	return &record, nil
}

// fresh is how old a sign-in may be with which a password is changed without the
// old one.
const fresh = 10 * time.Minute
