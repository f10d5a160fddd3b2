package mutants

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mem is a correct adapter over maps. It is a handle: several may share the same
// records.
type mem struct {
	*records
	closed atomic.Bool
	// refuse, if it is set, returns the error with which the store refuses a call.
	refuse func(write bool) error
}

// records are the maps. Broken adapters reach into them.
type records struct {
	mu             sync.RWMutex
	users          map[string]adapter.User
	emails         map[string]string // from the address to the user's ID
	accounts       map[adapter.AccountKey]adapter.Account
	sessions       map[string]adapter.Session
	tokens         map[adapter.VerificationTokenKey]adapter.VerificationToken
	authenticators map[string]adapter.Authenticator
	credentials    map[string][]string // from the user's ID to the credential IDs
	passwords      map[string]adapter.Password

	// Indexes of a user's accounts and sessions. An entry may be out of date: the
	// record may be deleted or belong to another user.
	accountsOf map[string]map[adapter.AccountKey]bool
	sessionsOf map[string]map[string]bool

	// extra holds the data that broken adapters store beside the records, and beside what
	// they keep without the lock.
	extra  map[string]any
	beside sync.Map

	clock  *clock
	spaces map[string]*records // the namespaces, shared by all of them

	foreign bool // another product has filled the maps
	stays   bool // the handle keeps a connection that refuses writes
}

// clock shows a fixed time until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	defer held(&c.mu)()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	defer held(&c.mu)()
	c.now = c.now.Add(d)
}

func newRecords(c *clock, spaces map[string]*records) *records {
	return &records{
		users: map[string]adapter.User{}, emails: map[string]string{},
		accounts: map[adapter.AccountKey]adapter.Account{}, sessions: map[string]adapter.Session{},
		tokens:         map[adapter.VerificationTokenKey]adapter.VerificationToken{},
		authenticators: map[string]adapter.Authenticator{}, credentials: map[string][]string{}, passwords: map[string]adapter.Password{},
		accountsOf: map[string]map[adapter.AccountKey]bool{}, sessionsOf: map[string]map[string]bool{},
		extra: map[string]any{}, clock: c, spaces: spaces,
	}
}

func newMem() *mem {
	return &mem{records: newRecords(&clock{now: time.Now()}, map[string]*records{})}
}

// kept returns the data that a broken adapter stores beside the records under a
// name. The caller holds the lock or is the only one that has the adapter.
func kept[T any](r *records, name string, create func() T) T {
	if _, ok := r.extra[name]; !ok {
		r.extra[name] = create()
	}
	return r.extra[name].(T)
}

var (
	errClosed  = errors.New("mem: the handle is closed")
	errEmpty   = errors.New("mem: part of the key is empty")
	errDetails = errors.New("mem: authorization_details is not JSON")
)

func conflict(what string) error {
	return fmt.Errorf("mem: %s is taken: %w", what, adapter.ErrConflict)
}
func notFound(what string) error { return fmt.Errorf("mem: no such %s: %w", what, adapter.ErrNotFound) }

// begin returns the error that a call fails with before it does anything.
func (m *mem) begin(ctx context.Context) error {
	if m.closed.Load() {
		return errClosed
	}
	return ctx.Err()
}

// enter is begin for a call that the store may refuse.
func (m *mem) enter(ctx context.Context, write bool) error {
	if err := m.begin(ctx); err != nil || m.refuse == nil {
		return err
	}
	return m.refuse(write)
}

// write and read run a call under the lock.
func write[T any](ctx context.Context, m *mem, call func() (T, error)) (result T, err error) {
	if err := m.enter(ctx, true); err != nil {
		return result, err
	}
	defer held(&m.mu)()
	return call()
}

func read[T any](ctx context.Context, m *mem, call func() (T, error)) (result T, err error) {
	if err := m.enter(ctx, false); err != nil {
		return result, err
	}
	defer held(m.mu.RLocker())()
	return call()
}

// found returns a copy of a record, or nil.
func found[K comparable, T any](ctx context.Context, m *mem, in *map[K]T, key K, copied func(T) T) (*T, error) {
	return read(ctx, m, func() (*T, error) {
		if x, ok := (*in)[key]; ok {
			return new(copied(x)), nil
		}
		return nil, nil
	})
}

// look reads an entry of a map under the lock.
func look[K comparable, T any](m *mem, in *map[K]T, key K) (T, bool) {
	defer held(m.mu.RLocker())()
	x, ok := (*in)[key]
	return x, ok
}

// taken deletes a record and returns it, or nil.
func taken[K comparable, T any](ctx context.Context, m *mem, in *map[K]T, key K) (*T, error) {
	return write(ctx, m, func() (*T, error) {
		x, ok := (*in)[key]
		if !ok {
			return nil, nil
		}
		delete(*in, key)
		return &x, nil
	})
}

func (m *mem) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	return write(ctx, m, func() (*adapter.User, error) {
		if err := freeUser(m.records, &u); err != nil {
			return nil, err
		}
		m.putUser(u)
		return new(copyUser(u)), nil
	})
}

// freeUser gives the new user an ID if it has none, and returns an error if its ID or
// address is taken.
func freeUser(r *records, u *adapter.User) error {
	if u.ID == "" {
		u.ID = newID()
	}
	if _, taken := r.users[u.ID]; taken {
		return conflict("the id")
	}
	if _, taken := r.emails[u.Email]; taken {
		return conflict("the e-mail")
	}
	return nil
}

func newID() string { return strings.ToLower(rand.Text()) }

// putUser stores a user and indexes the e-mail.
func (r *records) putUser(u adapter.User) {
	u = copyUser(u)
	if old, ok := r.users[u.ID]; ok && old.Email != u.Email {
		delete(r.emails, old.Email)
	}
	r.users[u.ID] = u
	if u.Email != "" {
		r.emails[u.Email] = u.ID
	}
}

func (m *mem) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	return read(ctx, m, func() (*adapter.User, error) { return m.user(id), nil })
}

// user returns a copy of the user, or nil.
func (r *records) user(id string) *adapter.User {
	if u, ok := r.users[id]; ok {
		return new(copyUser(u))
	}
	return nil
}

func (m *mem) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return read(ctx, m, func() (*adapter.User, error) { return m.user(m.emails[email]), nil })
}

func (m *mem) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	return read(ctx, m, func() (*adapter.User, error) { return m.user(m.accounts[key].UserID), nil })
}

func (m *mem) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	return write(ctx, m, func() (*adapter.User, error) {
		u, ok := m.users[update.ID]
		if !ok || update.IfEmail != "" && update.IfEmail != u.Email {
			return nil, notFound("user")
		}
		update.Apply(&u)
		if holder, taken := m.emails[u.Email]; taken && holder != u.ID {
			return nil, conflict("the e-mail")
		}
		m.putUser(u)
		return new(copyUser(u)), nil
	})
}

func (m *mem) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return m.drop(ctx, id, func(_ *adapter.User) {
		m.dropAccounts(id)
		m.dropSessions(id)
		m.dropAuthenticators(id)
		m.dropUser(id)
	})
}

// drop deletes a user by what that drops. dropping is drop as a method.
func (m *mem) drop(ctx context.Context, id string, what func(*adapter.User)) (*adapter.User, error) {
	return write(ctx, m, func() (*adapter.User, error) {
		u := m.user(id)
		if u != nil {
			what(u)
		}
		return u, nil
	})
}

func dropping(m *mem, what func(id string, u *adapter.User)) call[string, *adapter.User] {
	return func(ctx context.Context, id string) (*adapter.User, error) {
		return m.drop(ctx, id, func(u *adapter.User) { what(id, u) })
	}
}

// droppingButSessions is dropping with the other records of the user, after sessions.
func droppingButSessions(m *mem, sessions func(id string)) call[string, *adapter.User] {
	return dropping(m, func(id string, _ *adapter.User) {
		sessions(id)
		m.dropAccounts(id)
		m.dropAuthenticators(id)
		m.dropUser(id)
	})
}

func (r *records) dropUser(id string) {
	delete(r.emails, r.users[id].Email)
	delete(r.users, id)
	delete(r.passwords, id)
}

func (r *records) dropAccounts(userID string) {
	maps.DeleteFunc(r.accounts, func(_ adapter.AccountKey, a adapter.Account) bool { return a.UserID == userID })
}

func (r *records) dropSessions(userID string) {
	maps.DeleteFunc(r.sessions, func(_ string, s adapter.Session) bool { return s.UserID == userID })
}

func (r *records) dropAuthenticators(userID string) {
	for _, id := range r.credentials[userID] {
		delete(r.authenticators, id)
	}
	delete(r.credentials, userID)
}

func (m *mem) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return write(ctx, m, func() (*adapter.Account, error) {
		if a.Provider == "" || a.ProviderAccountID == "" {
			return nil, errEmpty
		}
		if !isJSON(a.AuthorizationDetails) {
			return nil, errDetails
		}
		if err := creatable(m.records, m.accounts, a.Key(), "the account", a.UserID); err != nil {
			return nil, err
		}
		m.putAccount(a)
		return new(copyAccount(a)), nil
	})
}

// creatable returns an error if the key of a new record is taken or its owner is absent.
func creatable[K comparable, T any](r *records, in map[K]T, key K, what, userID string) error {
	if _, taken := in[key]; taken {
		return conflict(what)
	}
	if _, ok := r.users[userID]; !ok {
		return notFound("user")
	}
	return nil
}

func isJSON(details json.RawMessage) bool { return len(details) == 0 || json.Valid(details) }

// putAccount stores an account and indexes it by its owner.
func (r *records) putAccount(a adapter.Account) {
	a = copyAccount(a)
	r.accounts[a.Key()] = a
	note(r.accountsOf, a.UserID, a.Key())
}

// putSession stores a session and indexes it by its owner.
func (r *records) putSession(s adapter.Session) {
	r.sessions[s.SessionToken] = s
	note(r.sessionsOf, s.UserID, s.SessionToken)
}

func note[K comparable](of map[string]map[K]bool, userID string, key K) {
	if of[userID] == nil {
		of[userID] = map[K]bool{}
	}
	of[userID][key] = true
}

func (m *mem) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return taken(ctx, m, &m.accounts, key)
}

func (m *mem) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	return found(ctx, m, &m.accounts, adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}, copyAccount)
}

func (m *mem) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	return write(ctx, m, func() (*adapter.Session, error) {
		if s.SessionToken == "" {
			return nil, errEmpty
		}
		if err := creatable(m.records, m.sessions, s.SessionToken, "the session token", s.UserID); err != nil {
			return nil, err
		}
		s = copySession(s)
		m.putSession(s)
		return &s, nil
	})
}

func (m *mem) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	return read(ctx, m, func() (*adapter.SessionAndUser, error) {
		s, ok := m.sessions[token]
		if !ok {
			return nil, nil
		}
		u := m.user(s.UserID)
		if u == nil {
			return nil, nil
		}
		return &adapter.SessionAndUser{Session: s, User: *u}, nil
	})
}

func (m *mem) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	return write(ctx, m, func() (*adapter.Session, error) {
		s, ok := m.sessions[update.SessionToken]
		if !ok {
			return nil, nil
		}
		update.Apply(&s)
		if _, ok := m.users[s.UserID]; !ok {
			return nil, notFound("user")
		}
		s = copySession(s)
		m.putSession(s)
		return &s, nil
	})
}

func (m *mem) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return taken(ctx, m, &m.sessions, token)
}

func (m *mem) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return write(ctx, m, func() (*adapter.VerificationToken, error) {
		if t.Identifier == "" || t.Token == "" {
			return nil, errEmpty
		}
		if _, taken := m.tokens[t.Key()]; taken {
			return nil, conflict("the verification token")
		}
		t = copyToken(t)
		m.tokens[t.Key()] = t
		return &t, nil
	})
}

func (m *mem) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return taken(ctx, m, &m.tokens, key)
}

func (m *mem) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	return write(ctx, m, func() (*adapter.Authenticator, error) {
		if a.CredentialID == "" {
			return nil, errEmpty
		}
		if err := creatable(m.records, m.authenticators, a.CredentialID, "the credential id", a.UserID); err != nil {
			return nil, err
		}
		m.putAuthenticator(a)
		return new(copyAuthenticator(a)), nil
	})
}

// putAuthenticator stores an authenticator and adds it to its user's list.
func (r *records) putAuthenticator(a adapter.Authenticator) {
	a = copyAuthenticator(a)
	r.authenticators[a.CredentialID] = a
	r.credentials[a.UserID] = append(r.credentials[a.UserID], a.CredentialID)
}

func (m *mem) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	return found(ctx, m, &m.authenticators, credentialID, copyAuthenticator)
}

func (m *mem) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return read(ctx, m, func() ([]adapter.Authenticator, error) {
		list := []adapter.Authenticator{}
		for _, id := range m.credentials[userID] {
			list = append(list, copyAuthenticator(m.authenticators[id]))
		}
		return list, nil
	})
}

func (m *mem) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	return reworked(ctx, m, credentialID, func(a *adapter.Authenticator) bool {
		a.Counter = counter
		return true
	})
}

func (m *mem) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*adapter.Authenticator, error) {
	return reworked(ctx, m, credentialID, func(a *adapter.Authenticator) bool {
		a.CredentialBackedUp, a.CredentialDeviceType = backedUp, deviceType
		return true
	})
}

// reworked changes an authenticator, unless change returns false.
func reworked(ctx context.Context, m *mem, credentialID string, change func(*adapter.Authenticator) bool) (*adapter.Authenticator, error) {
	return write(ctx, m, func() (*adapter.Authenticator, error) {
		a, ok := m.authenticators[credentialID]
		if !ok {
			return nil, notFound("authenticator")
		}
		if !change(&a) {
			return nil, nil
		}
		m.authenticators[credentialID] = a
		return new(copyAuthenticator(a)), nil
	})
}

func (m *mem) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	return m.sweep(ctx, now, anySession)
}

// sweep deletes the expired tokens, and the expired sessions that goes accepts.
func (m *mem) sweep(ctx context.Context, now time.Time, goes func(adapter.Session) bool) (adapter.Swept, error) {
	return m.sweepBoth(ctx, now, goes, func() func(adapter.VerificationToken) bool {
		return func(t adapter.VerificationToken) bool { return !t.Expires.After(now) }
	})
}

// sweepBoth deletes the expired sessions that goes accepts, and the tokens that the result of
// tokens accepts, which is called under the lock.
func (m *mem) sweepBoth(ctx context.Context, now time.Time, goes func(adapter.Session) bool, tokens func() func(adapter.VerificationToken) bool) (adapter.Swept, error) {
	return write(ctx, m, func() (swept adapter.Swept, err error) {
		over := tokens()
		swept.Sessions = removed(m.sessions, func(_ string, s adapter.Session) bool {
			return !s.Expires.After(now) && goes(s)
		})
		swept.VerificationTokens = removed(m.tokens, func(_ adapter.VerificationTokenKey, t adapter.VerificationToken) bool {
			return over(t)
		})
		return swept, nil
	})
}

// removed deletes the records that goes accepts, and returns how many they were.
func removed[K comparable, T any](from map[K]T, goes func(K, T) bool) int64 {
	before := len(from)
	maps.DeleteFunc(from, goes)
	return int64(before - len(from))
}

func anySession(adapter.Session) bool { return true }

func (m *mem) common() *sync.Map { return &m.beside }

func (m *mem) now() time.Time { return m.clock.Now() }

func (m *mem) peek(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return found(ctx, m, &m.tokens, key, copyToken)
}

func (m *mem) due(ctx context.Context, now time.Time) (adapter.Swept, error) {
	return read(ctx, m, func() (due adapter.Swept, err error) {
		for _, s := range m.sessions {
			if !s.Expires.After(now) {
				due.Sessions++
			}
		}
		for _, t := range m.tokens {
			if !t.Expires.After(now) {
				due.VerificationTokens++
			}
		}
		return due, nil
	})
}

// has reports whether the record exists.
func (r *records) has(x adaptertest.Record) bool {
	defer held(r.mu.RLocker())()
	var ok bool
	switch x.Kind {
	case adaptertest.UserRecord:
		_, ok = r.users[x.Key]
	case adaptertest.AccountRecord:
		_, ok = r.accounts[x.Account]
	case adaptertest.SessionRecord:
		_, ok = r.sessions[x.Key]
	case adaptertest.VerificationTokenRecord:
		_, ok = r.tokens[x.Token]
	case adaptertest.AuthenticatorRecord:
		_, ok = r.authenticators[x.Key]
	}
	return ok
}

// Records are copied when they are stored and when they are returned. Strings are
// copied too: they may lie in a buffer of the caller.

func copyUser(u adapter.User) adapter.User {
	u.ID, u.Email = strings.Clone(u.ID), strings.Clone(u.Email)
	u.Name, u.Image, u.EmailVerified = copyText(u.Name), copyText(u.Image), copyInstant(u.EmailVerified)
	return u
}

func copyAccount(a adapter.Account) adapter.Account {
	a.UserID, a.Provider, a.ProviderAccountID = strings.Clone(a.UserID), strings.Clone(a.Provider), strings.Clone(a.ProviderAccountID)
	a.Type = adapter.AccountType(strings.Clone(string(a.Type)))
	for _, text := range []**string{&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType, &a.SessionState} {
		*text = copyText(*text)
	}
	a.ExpiresAt = copyPointer(a.ExpiresAt)
	a.AuthorizationDetails = bytes.Clone(a.AuthorizationDetails)
	return a
}

func copySession(s adapter.Session) adapter.Session {
	s.SessionToken, s.UserID, s.Expires = strings.Clone(s.SessionToken), strings.Clone(s.UserID), s.Expires.UTC()
	return s
}

func copyToken(t adapter.VerificationToken) adapter.VerificationToken {
	t.Identifier, t.Token, t.Expires = strings.Clone(t.Identifier), strings.Clone(t.Token), t.Expires.UTC()
	return t
}

func copyAuthenticator(a adapter.Authenticator) adapter.Authenticator {
	a.CredentialID, a.UserID, a.ProviderAccountID = strings.Clone(a.CredentialID), strings.Clone(a.UserID), strings.Clone(a.ProviderAccountID)
	a.CredentialPublicKey, a.CredentialDeviceType = strings.Clone(a.CredentialPublicKey), strings.Clone(a.CredentialDeviceType)
	a.Transports, a.Name = copyText(a.Transports), copyText(a.Name)
	a.Created, a.LastUsed = copyInstant(a.Created), copyInstant(a.LastUsed)
	return a
}

func copyText(s *string) *string {
	if s == nil {
		return nil
	}
	return new(strings.Clone(*s))
}

func copyPointer[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}

func copyInstant(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// without returns the list without a value.
func without(list []string, value string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == value })
}
