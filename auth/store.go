package auth

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// store is the only code that calls methods of the adapter. It names each call
// in the debug log, as Auth.js does, and marks each error as ErrAdapter. A nil
// *store means that there is no adapter.
//
// A function that calls the store takes plain values: it neither reads a request
// nor makes a response.
type store struct {
	adapter adapter.Adapter
	trace   func(ctx context.Context, call string)
	clock   func() time.Time
	session SessionConfig

	// The optional interfaces of the adapter; nil if the adapter does not have
	// them.
	signUps  adapter.SignUps
	accounts adapter.AccountLists
	sessions adapter.SessionLists
	tokens   adapter.TokenEdits

	passwords *keptPasswords
	// stamps says that the key of each new session has the instant of the sign-in.
	stamps bool
}

func newStore(c *Config, debug func(ctx context.Context, message string, attrs ...slog.Attr)) *store {
	if c.Adapter == nil {
		return nil
	}
	s := &store{adapter: c.Adapter, trace: func(ctx context.Context, call string) { debug(ctx, call) }, clock: c.Clock, session: c.Session}
	s.signUps, _ = adapter.Capability[adapter.SignUps](c.Adapter)
	s.accounts, _ = adapter.Capability[adapter.AccountLists](c.Adapter)
	s.sessions, _ = adapter.Capability[adapter.SessionLists](c.Adapter)
	s.tokens, _ = adapter.Capability[adapter.TokenEdits](c.Adapter)
	s.passwords = &keptPasswords{of: s}
	s.passwords.adapter, _ = adapter.Capability[adapter.Passwords](c.Adapter)
	return s
}

// requiresEmail reports whether the adapter refuses users without an address.
func (s *store) requiresEmail() bool {
	if s == nil {
		return false
	}
	of, ok := adapter.Capability[adapter.EmailRequirer](s.adapter)
	return ok && of.RequiresEmail()
}

// fromAdapter marks the error of a call of the adapter as ErrAdapter.
func fromAdapter[T any](v T, err error) (T, error) {
	if err != nil {
		err = &Error{Type: ErrAdapter, Cause: err}
	}
	return v, err
}

func (s *store) createUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	s.trace(ctx, "adapter_createUser")
	return fromAdapter(s.adapter.CreateUser(ctx, u))
}

func (s *store) user(ctx context.Context, id string) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUser")
	return fromAdapter(s.adapter.GetUser(ctx, id))
}

// userByEmail returns the user with an address. If no user has it, it looks for
// the same address in other spellings: those given, and those of an
// international domain. A user whose address is another one is not found, even
// if the store takes the two for equal.
func (s *store) userByEmail(ctx context.Context, email string, given ...string) (*adapter.User, error) {
	for _, spelling := range spellings(email, given) {
		user, err := s.userAt(ctx, spelling, email)
		if err != nil || user != nil {
			return user, err
		}
	}
	return nil, nil
}

// userByTypedEmail returns the user with an address that anybody may have typed. It
// asks for each spelling, whether somebody has the address or not, so that its time
// does not tell.
func (s *store) userByTypedEmail(ctx context.Context, email, typed string) (*adapter.User, error) {
	var found *adapter.User
	for _, spelling := range spellings(email, []string{typed}) {
		user, err := s.userAt(ctx, spelling, email)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = user
		}
	}
	return found, nil
}

// spellings are those of an address under which a store is asked.
func spellings(email string, given []string) []string {
	list := []string{email}
	for _, other := range append(given, otherSpellings(email)...) {
		if sameAddress(other, email) && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}

// userAt returns the user whose address is stored in a spelling.
func (s *store) userAt(ctx context.Context, spelling, email string) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUserByEmail")
	user, err := fromAdapter(s.adapter.GetUserByEmail(ctx, spelling))
	if err == nil && user != nil && (user.Email == "" || user.Email == spelling || sameAddress(user.Email, email)) {
		return user, nil
	}
	return nil, err
}

func (s *store) userByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	s.trace(ctx, "adapter_getUserByAccount")
	return fromAdapter(s.adapter.GetUserByAccount(ctx, key))
}

func (s *store) updateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	s.trace(ctx, "adapter_updateUser")
	return fromAdapter(s.adapter.UpdateUser(ctx, u))
}

// prove stores that the address of a user, as it was read, was proven at the instant. If
// the user has another address by now, raced of the error is a race. The proof that an
// adapter stores nevertheless is taken back.
func (s *store) prove(ctx context.Context, u *adapter.User, at time.Time) (*adapter.User, error) {
	proven, err := s.updateUser(ctx, adapter.UserUpdate{ID: u.ID, IfEmail: u.Email, EmailVerified: adapter.To(&at)})
	if err != nil || proven == nil || proven.Email == u.Email {
		return proven, err
	}
	_, err = s.updateUser(context.WithoutCancel(ctx), adapter.UserUpdate{ID: u.ID, EmailVerified: adapter.To[*time.Time](nil)})
	return nil, errors.Join(errRaced, err)
}

func (s *store) deleteUser(ctx context.Context, id string) error {
	s.trace(ctx, "adapter_deleteUser")
	_, err := fromAdapter(s.adapter.DeleteUser(ctx, id))
	return err
}

// beginSession stores a new session of the user, with the token.
func (s *store) beginSession(ctx context.Context, userID, token string) (*adapter.Session, error) {
	s.trace(ctx, "adapter_createSession")
	now := s.clock()
	expires := s.session.expires(now, now)
	if isBrief(token) {
		expires = briefEnd(expires, now)
	}
	if s.stamps || s.session.AbsoluteMaxAge > 0 {
		token = stamped(token, now)
	}
	return fromAdapter(s.adapter.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: userID, Expires: expires}))
}

// maxSessionKey is the length of the longest key of a session. A longer key was
// not made here, so the store is not asked for it.
const maxSessionKey = 4096

// sessionAndUser returns the session, or nil if it has ended. A session that
// has ended is deleted.
func (s *store) sessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	if len(token) > maxSessionKey {
		return nil, nil
	}
	s.trace(ctx, "adapter_getSessionAndUser")
	stored, err := fromAdapter(s.adapter.GetSessionAndUser(ctx, token))
	if err != nil || stored == nil {
		return nil, err
	}
	now := s.clock()
	if over, _ := s.session.outlived(token, now); over || now.After(stored.Session.Expires) {
		_, err := s.endSession(ctx, token)
		return nil, err
	}
	return stored, nil
}

// liveSession returns what sessionAndUser returns, and extends the session, at
// most once per UpdateAge in this process.
func (s *store) liveSession(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	stored, err := s.sessionAndUser(ctx, token)
	if err != nil || stored == nil || isBrief(token) {
		return stored, err
	}
	now := s.clock()
	_, until := s.session.outlived(token, now)
	if extended := stored.Session.Expires.Add(-s.session.MaxAge); extended.Add(*s.session.UpdateAge).After(now) || s.session.AbsoluteMaxAge > 0 && !until.After(stored.Session.Expires) {
		return stored, nil
	}
	begun, failed := extended.begin(s.adapter, stored.Session, now, *s.session.UpdateAge)
	if !begun {
		return stored, nil
	}
	s.trace(ctx, "adapter_updateSession")
	updated, err := fromAdapter(s.adapter.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(until)}))
	if err != nil || updated == nil { // it was deleted while it was being read
		failed()
		return nil, err
	}
	stored.Session.Expires = updated.Expires
	return stored, nil
}

// endSession deletes a session and returns it, or nil if there was none.
func (s *store) endSession(ctx context.Context, token string) (*adapter.Session, error) {
	s.trace(ctx, "adapter_deleteSession")
	return fromAdapter(s.adapter.DeleteSession(ctx, token))
}

func (s *store) createVerificationToken(ctx context.Context, t adapter.VerificationToken) error {
	s.trace(ctx, "adapter_createVerificationToken")
	_, err := fromAdapter(s.adapter.CreateVerificationToken(ctx, t))
	return err
}

func (s *store) useVerificationToken(ctx context.Context, identifier, hash string) (*adapter.VerificationToken, error) {
	s.trace(ctx, "adapter_useVerificationToken")
	return fromAdapter(s.adapter.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: identifier, Token: hash}))
}

// updateTokens replaces the stored tokens of an account by those of a new
// answer of the provider. Values that the answer leaves out stay, except the
// expiry, which belongs to the access token. An adapter without AccountLists
// keeps the tokens of the first sign-in.
func (s *store) updateTokens(ctx context.Context, a adapter.Account) error {
	if s.accounts == nil {
		return nil
	}
	u := adapter.AccountUpdate{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
	changed := false
	for _, f := range []struct {
		to  *adapter.Change[*string]
		now *string
	}{
		{&u.AccessToken, a.AccessToken}, {&u.RefreshToken, a.RefreshToken}, {&u.IDToken, a.IDToken},
		{&u.Scope, a.Scope}, {&u.TokenType, a.TokenType}, {&u.SessionState, a.SessionState},
	} {
		if f.now != nil {
			*f.to, changed = adapter.To(f.now), true
		}
	}
	if a.AccessToken != nil || a.ExpiresAt != nil {
		u.ExpiresAt, changed = adapter.To(a.ExpiresAt), true
	}
	if a.AuthorizationDetails != nil {
		u.AuthorizationDetails, changed = adapter.To(a.AuthorizationDetails), true
	}
	if !changed {
		return nil
	}
	s.trace(ctx, "adapter_updateAccount")
	_, err := fromAdapter(s.accounts.UpdateAccount(ctx, u))
	if errors.Is(err, adapter.ErrUnsupported) {
		return nil
	}
	return err
}

// waysIn is how a user signs in.
type waysIn struct {
	// unknown says that the adapter can't tell.
	unknown  bool
	accounts []adapter.Account
	passkeys int
	password bool
	// unlisted says that there may be a way that no adapter lists, such as a
	// password.
	unlisted bool
	// sessions says that somebody may be signed in as the user, with a session
	// that can't be ended.
	sessions bool
}

// none reports that certainly nobody can sign in as the user.
func (w waysIn) none() bool {
	return !w.unknown && len(w.accounts) == 0 && w.passkeys == 0 && !w.password && !w.unlisted
}

// only reports that the account is certainly the only way in.
func (w waysIn) only(key adapter.AccountKey) bool {
	return !w.unknown && len(w.accounts) == 1 && w.accounts[0].Key() == key && w.passkeys == 0 && !w.password && !w.unlisted
}

// waysIn lists the accounts, counts the passkeys and finds the password of a user. An adapter that
// does not support passkeys has none of this user.
func (s *store) waysIn(ctx context.Context, userID string) (waysIn, error) {
	if s.accounts == nil {
		return waysIn{unknown: true}, nil
	}
	s.trace(ctx, "adapter_listAccountsByUserId")
	accounts, err := fromAdapter(s.accounts.ListAccountsByUserID(ctx, userID))
	if errors.Is(err, adapter.ErrUnsupported) {
		return waysIn{unknown: true}, nil
	}
	if err != nil {
		return waysIn{}, err
	}
	s.trace(ctx, "adapter_listAuthenticatorsByUserId")
	passkeys, err := fromAdapter(s.adapter.ListAuthenticatorsByUserID(ctx, userID))
	if err != nil && !errors.Is(err, adapter.ErrUnsupported) {
		return waysIn{}, err
	}
	password, err := s.passwords.Password(ctx, userID)
	return waysIn{accounts: accounts, passkeys: len(passkeys), password: password != nil}, err
}

// endsSessions reports whether all sessions of a user can be ended. Session
// tokens can't.
func (s *store) endsSessions() bool {
	return s.session.Strategy == StrategyDatabase && s.sessions != nil
}

// endSessions ends all sessions of a user.
func (s *store) endSessions(ctx context.Context, userID string) error {
	if s.sessions == nil {
		return nil
	}
	s.trace(ctx, "adapter_deleteSessionsByUserId")
	_, err := fromAdapter(s.sessions.DeleteSessionsByUserID(ctx, userID, ""))
	return err
}
