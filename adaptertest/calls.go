package adaptertest

import "github.com/gatehouse-go/gatehouse/auth/adapter"

// The calls below are steps that must succeed: an error ends the clause.

func must[T any](c *clauseContext, method string, result T, err error) T {
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return result
}

func mustRecord[T any](c *clauseContext, method string, result *T, err error) *T {
	if must(c, method, result, err) == nil {
		c.Fatalf("%s: returned no record", method)
	}
	return result
}

func (c *clauseContext) createUser(u adapter.User) *adapter.User {
	r, err := c.a.CreateUser(c.ctx, u)
	return mustRecord(c, "CreateUser", r, err)
}

// user creates a user with every field set.
func (c *clauseContext) user() *adapter.User { return c.createUser(c.newUser()) }

func (c *clauseContext) getUser(id string) *adapter.User {
	r, err := c.a.GetUser(c.ctx, id)
	return must(c, "GetUser", r, err)
}

func (c *clauseContext) getUserByEmail(email string) *adapter.User {
	r, err := c.a.GetUserByEmail(c.ctx, email)
	return must(c, "GetUserByEmail", r, err)
}

func (c *clauseContext) getUserByAccount(key adapter.AccountKey) *adapter.User {
	r, err := c.a.GetUserByAccount(c.ctx, key)
	return must(c, "GetUserByAccount", r, err)
}

func (c *clauseContext) updateUser(u adapter.UserUpdate) *adapter.User {
	r, err := c.a.UpdateUser(c.ctx, u)
	return mustRecord(c, "UpdateUser", r, err)
}

func (c *clauseContext) deleteUser(id string) *adapter.User {
	r, err := c.a.DeleteUser(c.ctx, id)
	return must(c, "DeleteUser", r, err)
}

// linkAccount links an account. The contract allows LinkAccount to return
// nil, so linkAccount returns its argument.
func (c *clauseContext) linkAccount(a adapter.Account) adapter.Account {
	r, err := c.a.LinkAccount(c.ctx, a)
	must(c, "LinkAccount", r, err)
	return a
}

// account links an account with every field set to the user.
func (c *clauseContext) account(userID string) adapter.Account {
	return c.linkAccount(c.newAccount(userID))
}

func (c *clauseContext) unlinkAccount(key adapter.AccountKey) *adapter.Account {
	r, err := c.a.UnlinkAccount(c.ctx, key)
	return must(c, "UnlinkAccount", r, err)
}

func (c *clauseContext) getAccount(key adapter.AccountKey) *adapter.Account {
	r, err := c.a.GetAccount(c.ctx, key.ProviderAccountID, key.Provider)
	return must(c, "GetAccount", r, err)
}

func (c *clauseContext) createSession(s adapter.Session) *adapter.Session {
	r, err := c.a.CreateSession(c.ctx, s)
	return mustRecord(c, "CreateSession", r, err)
}

// session creates a session of the user that expires in an hour.
func (c *clauseContext) session(userID string) adapter.Session {
	s := c.newSession(userID)
	c.createSession(s)
	return s
}

func (c *clauseContext) getSession(token string) *adapter.SessionAndUser {
	r, err := c.a.GetSessionAndUser(c.ctx, token)
	return must(c, "GetSessionAndUser", r, err)
}

func (c *clauseContext) updateSession(u adapter.SessionUpdate) *adapter.Session {
	r, err := c.a.UpdateSession(c.ctx, u)
	return must(c, "UpdateSession", r, err)
}

func (c *clauseContext) deleteSession(token string) *adapter.Session {
	r, err := c.a.DeleteSession(c.ctx, token)
	return must(c, "DeleteSession", r, err)
}

func (c *clauseContext) createToken(t adapter.VerificationToken) *adapter.VerificationToken {
	r, err := c.a.CreateVerificationToken(c.ctx, t)
	return must(c, "CreateVerificationToken", r, err)
}

// token creates a verification token that expires in an hour.
func (c *clauseContext) token() adapter.VerificationToken {
	t := c.newToken()
	c.createToken(t)
	return t
}

func (c *clauseContext) useToken(key adapter.VerificationTokenKey) *adapter.VerificationToken {
	r, err := c.a.UseVerificationToken(c.ctx, key)
	return must(c, "UseVerificationToken", r, err)
}

func (c *clauseContext) createAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	r, err := c.a.CreateAuthenticator(c.ctx, a)
	return mustRecord(c, "CreateAuthenticator", r, err)
}

// authenticator creates an authenticator of the user with every field set.
func (c *clauseContext) authenticator(userID string) adapter.Authenticator {
	a := c.newAuthenticator(userID)
	c.createAuthenticator(a)
	return a
}

func (c *clauseContext) getAuthenticator(credentialID string) *adapter.Authenticator {
	r, err := c.a.GetAuthenticator(c.ctx, credentialID)
	return must(c, "GetAuthenticator", r, err)
}

func (c *clauseContext) listAuthenticators(userID string) []adapter.Authenticator {
	r, err := c.a.ListAuthenticatorsByUserID(c.ctx, userID)
	return must(c, "ListAuthenticatorsByUserID", r, err)
}

func (c *clauseContext) updateCounter(credentialID string, counter int64) *adapter.Authenticator {
	r, err := c.a.UpdateAuthenticatorCounter(c.ctx, credentialID, counter)
	return mustRecord(c, "UpdateAuthenticatorCounter", r, err)
}

func (c *clauseContext) someUsers(n int) []*adapter.User {
	users := make([]*adapter.User, n)
	for i := range users {
		users[i] = c.user()
	}
	return users
}

// rawUser creates a user without the observer.
func (c *clauseContext) rawUser() *adapter.User {
	u, err := c.raw.CreateUser(c.ctx, c.newUser())
	return mustRecord(c, "CreateUser", u, err)
}

// used reports a breach unless the token can be used.
func (c *clauseContext) used(what string, t adapter.VerificationToken) {
	c.same("UseVerificationToken, "+what, c.useToken(t.Key()), &t)
}
