package kit

import (
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

func (c *Context) CreateUser(u adapter.User) *adapter.User {
	r, err := c.Adapter.CreateUser(c.Ctx, u)
	return MustRecord(c, "CreateUser", r, err)
}

// User creates a user with every field set.
func (c *Context) User() *adapter.User { return c.CreateUser(c.NewUser()) }

func (c *Context) GetUser(id string) *adapter.User {
	r, err := c.Adapter.GetUser(c.Ctx, id)
	return Must(c, "GetUser", r, err)
}

func (c *Context) GetUserByEmail(email string) *adapter.User {
	r, err := c.Adapter.GetUserByEmail(c.Ctx, email)
	return Must(c, "GetUserByEmail", r, err)
}

func (c *Context) GetUserByAccount(key adapter.AccountKey) *adapter.User {
	r, err := c.Adapter.GetUserByAccount(c.Ctx, key)
	return Must(c, "GetUserByAccount", r, err)
}

func (c *Context) UpdateUser(u adapter.UserUpdate) *adapter.User {
	r, err := c.Adapter.UpdateUser(c.Ctx, u)
	return MustRecord(c, "UpdateUser", r, err)
}

func (c *Context) DeleteUser(id string) *adapter.User {
	r, err := c.Adapter.DeleteUser(c.Ctx, id)
	return Must(c, "DeleteUser", r, err)
}

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
	r, err := c.Adapter.UnlinkAccount(c.Ctx, key)
	return Must(c, "UnlinkAccount", r, err)
}

func (c *Context) GetAccount(key adapter.AccountKey) *adapter.Account {
	r, err := c.Adapter.GetAccount(c.Ctx, key.ProviderAccountID, key.Provider)
	return Must(c, "GetAccount", r, err)
}

func (c *Context) CreateSession(s adapter.Session) *adapter.Session {
	r, err := c.Adapter.CreateSession(c.Ctx, s)
	return MustRecord(c, "CreateSession", r, err)
}

// Session creates a session of the user that expires in an hour.
func (c *Context) Session(userID string) adapter.Session {
	s := c.NewSession(userID)
	c.CreateSession(s)
	return s
}

func (c *Context) GetSession(token string) *adapter.SessionAndUser {
	r, err := c.Adapter.GetSessionAndUser(c.Ctx, token)
	return Must(c, "GetSessionAndUser", r, err)
}

func (c *Context) UpdateSession(u adapter.SessionUpdate) *adapter.Session {
	r, err := c.Adapter.UpdateSession(c.Ctx, u)
	return Must(c, "UpdateSession", r, err)
}

func (c *Context) DeleteSession(token string) *adapter.Session {
	r, err := c.Adapter.DeleteSession(c.Ctx, token)
	return Must(c, "DeleteSession", r, err)
}

func (c *Context) CreateToken(t adapter.VerificationToken) *adapter.VerificationToken {
	r, err := c.Adapter.CreateVerificationToken(c.Ctx, t)
	return Must(c, "CreateVerificationToken", r, err)
}

// Token creates a verification token that expires in an hour.
func (c *Context) Token() adapter.VerificationToken {
	t := c.NewToken()
	c.CreateToken(t)
	return t
}

func (c *Context) UseToken(key adapter.VerificationTokenKey) *adapter.VerificationToken {
	r, err := c.Adapter.UseVerificationToken(c.Ctx, key)
	return Must(c, "UseVerificationToken", r, err)
}

func (c *Context) CreateAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	r, err := c.Adapter.CreateAuthenticator(c.Ctx, a)
	return MustRecord(c, "CreateAuthenticator", r, err)
}

// Authenticator creates an authenticator of the user with every field set.
func (c *Context) Authenticator(userID string) adapter.Authenticator {
	a := c.NewAuthenticator(userID)
	c.CreateAuthenticator(a)
	return a
}

func (c *Context) GetAuthenticator(credentialID string) *adapter.Authenticator {
	r, err := c.Adapter.GetAuthenticator(c.Ctx, credentialID)
	return Must(c, "GetAuthenticator", r, err)
}

func (c *Context) ListAuthenticators(userID string) []adapter.Authenticator {
	r, err := c.Adapter.ListAuthenticatorsByUserID(c.Ctx, userID)
	return Must(c, "ListAuthenticatorsByUserID", r, err)
}

func (c *Context) UpdateCounter(credentialID string, counter int64) *adapter.Authenticator {
	r, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, credentialID, counter)
	return MustRecord(c, "UpdateAuthenticatorCounter", r, err)
}

func SomeUsers(c *Context, n int) []*adapter.User {
	users := make([]*adapter.User, n)
	for i := range users {
		users[i] = c.User()
	}
	return users
}

// RawUser creates a user without the observer.
func RawUser(c *Context) *adapter.User {
	u, err := c.Raw.CreateUser(c.Ctx, c.NewUser())
	return MustRecord(c, "CreateUser", u, err)
}

// Used reports a breach unless the token can be used.
func Used(c *Context, what string, t adapter.VerificationToken) {
	c.Same("UseVerificationToken, "+what, c.UseToken(t.Key()), &t)
}
