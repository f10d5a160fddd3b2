package adaptertest

import "github.com/gatehouse-go/gatehouse/auth/adapter"

// The calls below are for steps that must succeed: an error ends the clause.

func must[T any](c *C, method string, result T, err error) T {
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return result
}

func mustRecord[T any](c *C, method string, result *T, err error) *T {
	if must(c, method, result, err) == nil {
		c.Fatalf("%s: returned no record", method)
	}
	return result
}

func (c *C) createUser(u adapter.User) *adapter.User {
	r, err := c.A.CreateUser(c.ctx, u)
	return mustRecord(c, "CreateUser", r, err)
}

// user creates a user with every field set.
func (c *C) user() *adapter.User { return c.createUser(c.newUser()) }

func (c *C) getUser(id string) *adapter.User {
	r, err := c.A.GetUser(c.ctx, id)
	return must(c, "GetUser", r, err)
}

func (c *C) getUserByEmail(email string) *adapter.User {
	r, err := c.A.GetUserByEmail(c.ctx, email)
	return must(c, "GetUserByEmail", r, err)
}

func (c *C) getUserByAccount(key adapter.AccountKey) *adapter.User {
	r, err := c.A.GetUserByAccount(c.ctx, key)
	return must(c, "GetUserByAccount", r, err)
}

func (c *C) updateUser(u adapter.UserUpdate) *adapter.User {
	r, err := c.A.UpdateUser(c.ctx, u)
	return mustRecord(c, "UpdateUser", r, err)
}

func (c *C) deleteUser(id string) *adapter.User {
	r, err := c.A.DeleteUser(c.ctx, id)
	return must(c, "DeleteUser", r, err)
}

// linkAccount links an account. The contract lets LinkAccount return nothing,
// so the account given is what is returned.
func (c *C) linkAccount(a adapter.Account) adapter.Account {
	r, err := c.A.LinkAccount(c.ctx, a)
	must(c, "LinkAccount", r, err)
	return a
}

// account links an account with every field set to the user.
func (c *C) account(userID string) adapter.Account { return c.linkAccount(c.newAccount(userID)) }

func (c *C) unlinkAccount(key adapter.AccountKey) *adapter.Account {
	r, err := c.A.UnlinkAccount(c.ctx, key)
	return must(c, "UnlinkAccount", r, err)
}

func (c *C) getAccount(key adapter.AccountKey) *adapter.Account {
	r, err := c.A.GetAccount(c.ctx, key.ProviderAccountID, key.Provider)
	return must(c, "GetAccount", r, err)
}

func (c *C) createSession(s adapter.Session) *adapter.Session {
	r, err := c.A.CreateSession(c.ctx, s)
	return mustRecord(c, "CreateSession", r, err)
}

// session creates a session of the user that expires in an hour.
func (c *C) session(userID string) adapter.Session {
	s := c.newSession(userID)
	c.createSession(s)
	return s
}

func (c *C) getSession(token string) *adapter.SessionAndUser {
	r, err := c.A.GetSessionAndUser(c.ctx, token)
	return must(c, "GetSessionAndUser", r, err)
}

func (c *C) updateSession(u adapter.SessionUpdate) *adapter.Session {
	r, err := c.A.UpdateSession(c.ctx, u)
	return must(c, "UpdateSession", r, err)
}

func (c *C) deleteSession(token string) *adapter.Session {
	r, err := c.A.DeleteSession(c.ctx, token)
	return must(c, "DeleteSession", r, err)
}

func (c *C) createToken(t adapter.VerificationToken) *adapter.VerificationToken {
	r, err := c.A.CreateVerificationToken(c.ctx, t)
	return must(c, "CreateVerificationToken", r, err)
}

// token creates a verification token that expires in an hour.
func (c *C) token() adapter.VerificationToken {
	t := c.newToken()
	c.createToken(t)
	return t
}

func (c *C) useToken(key adapter.VerificationTokenKey) *adapter.VerificationToken {
	r, err := c.A.UseVerificationToken(c.ctx, key)
	return must(c, "UseVerificationToken", r, err)
}

func (c *C) createAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	r, err := c.A.CreateAuthenticator(c.ctx, a)
	return mustRecord(c, "CreateAuthenticator", r, err)
}

// authenticator creates an authenticator of the user with every field set.
func (c *C) authenticator(userID string) adapter.Authenticator {
	a := c.newAuthenticator(userID)
	c.createAuthenticator(a)
	return a
}

func (c *C) getAuthenticator(credentialID string) *adapter.Authenticator {
	r, err := c.A.GetAuthenticator(c.ctx, credentialID)
	return must(c, "GetAuthenticator", r, err)
}

func (c *C) listAuthenticators(userID string) []adapter.Authenticator {
	r, err := c.A.ListAuthenticatorsByUserID(c.ctx, userID)
	return must(c, "ListAuthenticatorsByUserID", r, err)
}

func (c *C) updateCounter(credentialID string, counter int64) *adapter.Authenticator {
	r, err := c.A.UpdateAuthenticatorCounter(c.ctx, credentialID, counter)
	return mustRecord(c, "UpdateAuthenticatorCounter", r, err)
}
