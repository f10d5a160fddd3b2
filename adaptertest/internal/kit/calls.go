package kit

import (
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The calls below are steps that must succeed: an error ends the clause.

func Must[T any](c *Context, method string, result T, err error) T {
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return result
}

func MustRecord[T any](c *Context, method string, result *T, err error) *T {
	if Must(c, method, result, err) == nil {
		c.Fatalf("%s: returned no record", method)
	}
	return result
}

// stored makes a call that must return a record.
func stored[T any](c *Context, k Call) *T { return MustRecord(c, k.Method, Of[*T](c, k), nil) }

func (c *Context) CreateUser(u adapter.User) *adapter.User {
	return stored[adapter.User](c, CreateUser(u))
}

// User creates a user with every field set.
func (c *Context) User() *adapter.User { return c.CreateUser(c.NewUser()) }

func (c *Context) GetUser(id string) *adapter.User { return Of[*adapter.User](c, GetUser(id)) }

func (c *Context) GetUserByEmail(email string) *adapter.User {
	return Of[*adapter.User](c, GetUserByEmail(email))
}

func (c *Context) GetUserByAccount(key adapter.AccountKey) *adapter.User {
	return Of[*adapter.User](c, GetUserByAccount(key))
}

func (c *Context) UpdateUser(u adapter.UserUpdate) *adapter.User {
	return stored[adapter.User](c, UpdateUser(u))
}

func (c *Context) DeleteUser(id string) *adapter.User { return Of[*adapter.User](c, DeleteUser(id)) }

// LinkAccount links an account. The contract allows LinkAccount to return
// nil, so LinkAccount returns its argument.
func (c *Context) LinkAccount(a adapter.Account) adapter.Account {
	r, err := c.Adapter.LinkAccount(c.Ctx, a)
	Must(c, "LinkAccount", r, err)
	return a
}

// Account links an account with every field set to the user.
func (c *Context) Account(userID string) adapter.Account {
	return c.LinkAccount(c.NewAccount(userID))
}

func (c *Context) UnlinkAccount(key adapter.AccountKey) *adapter.Account {
	return Of[*adapter.Account](c, UnlinkAccount(key))
}

func (c *Context) GetAccount(key adapter.AccountKey) *adapter.Account {
	return Of[*adapter.Account](c, GetAccount(key.ProviderAccountID, key.Provider))
}

func (c *Context) CreateSession(s adapter.Session) *adapter.Session {
	return stored[adapter.Session](c, CreateSession(s))
}

// Session creates a session of the user that expires in an hour.
func (c *Context) Session(userID string) adapter.Session {
	s := c.NewSession(userID)
	c.CreateSession(s)
	return s
}

// SessionUntil creates a session of the user that expires at the instant.
func SessionUntil(c *Context, userID string, expires time.Time) adapter.Session {
	s := c.NewSession(userID)
	s.Expires = expires
	c.CreateSession(s)
	return s
}

func (c *Context) GetSession(token string) *adapter.SessionAndUser {
	return Of[*adapter.SessionAndUser](c, GetSessionAndUser(token))
}

func (c *Context) UpdateSession(u adapter.SessionUpdate) *adapter.Session {
	return Of[*adapter.Session](c, UpdateSession(u))
}

func (c *Context) DeleteSession(token string) *adapter.Session {
	return Of[*adapter.Session](c, DeleteSession(token))
}

func (c *Context) CreateToken(t adapter.VerificationToken) *adapter.VerificationToken {
	return Of[*adapter.VerificationToken](c, CreateVerificationToken(t))
}

// Token creates a verification token that expires in an hour.
func (c *Context) Token() adapter.VerificationToken {
	t := c.NewToken()
	c.CreateToken(t)
	return t
}

// TokenOf creates a verification token of the identifier that expires at the instant.
func TokenOf(c *Context, identifier string, expires time.Time) adapter.VerificationToken {
	t := c.NewToken()
	t.Identifier, t.Expires = identifier, expires
	c.CreateToken(t)
	return t
}

func (c *Context) UseToken(key adapter.VerificationTokenKey) *adapter.VerificationToken {
	return Of[*adapter.VerificationToken](c, UseVerificationToken(key))
}

func (c *Context) CreateAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	return stored[adapter.Authenticator](c, CreateAuthenticator(a))
}

// Authenticator creates an authenticator of the user with every field set.
func (c *Context) Authenticator(userID string) adapter.Authenticator {
	a := c.NewAuthenticator(userID)
	c.CreateAuthenticator(a)
	return a
}

func (c *Context) GetAuthenticator(credentialID string) *adapter.Authenticator {
	return Of[*adapter.Authenticator](c, GetAuthenticator(credentialID))
}

func (c *Context) ListAuthenticators(userID string) []adapter.Authenticator {
	return Of[[]adapter.Authenticator](c, ListAuthenticatorsByUserID(userID))
}

func (c *Context) UpdateCounter(credentialID string, counter int64) *adapter.Authenticator {
	return stored[adapter.Authenticator](c, UpdateAuthenticatorCounter(credentialID, counter))
}

// SomeUsers creates n users.
func SomeUsers(c *Context, n int) []*adapter.User { return Times(n, c.User) }

// Times returns what n calls of one return.
func Times[T any](n int, one func() T) (all []T) {
	for range n {
		all = append(all, one())
	}
	return all
}

// RawUser creates a user without the observer.
func RawUser(c *Context) *adapter.User {
	u, err := c.Raw.CreateUser(c.Ctx, c.NewUser())
	return MustRecord(c, "CreateUser", u, err)
}

// StoreRaw makes a call that creates a record, without the observer.
func StoreRaw(c *Context, create Call) {
	got, err := create.Do(c.Ctx, c.Raw)
	Must(c, create.Method, got, err)
}

// Used reports a breach unless the token can be used.
func Used(c *Context, what string, t adapter.VerificationToken) {
	c.Same("UseVerificationToken, "+what, c.UseToken(t.Key()), &t)
}
