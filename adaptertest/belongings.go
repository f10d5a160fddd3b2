package adaptertest

import "github.com/gatehouse-go/gatehouse/auth/adapter"

// belongings is a user with records of each kind that the adapter keeps.
type belongings struct {
	user           *adapter.User
	accounts       []adapter.Account
	sessions       []adapter.Session
	authenticators []adapter.Authenticator
	token          *adapter.VerificationToken // created too, though it has no owner
}

// everything creates a user with one record of each kind.
func (c *clauseContext) everything() belongings {
	b := c.userWith(1, 1, 1)
	if c.stores(VerificationTokenRecord) {
		b.token = new(c.token())
	}
	return b
}

// userWith creates a user with the given numbers of records, of each kind
// that the adapter keeps.
func (c *clauseContext) userWith(accounts, sessions, authenticators int) belongings {
	b := belongings{user: c.user()}
	if c.works("LinkAccount") {
		for range accounts {
			b.accounts = append(b.accounts, c.account(b.user.ID))
		}
	}
	if c.works("CreateSession") {
		for range sessions {
			b.sessions = append(b.sessions, c.session(b.user.ID))
		}
	}
	if c.works("CreateAuthenticator") {
		for range authenticators {
			b.authenticators = append(b.authenticators, c.authenticator(b.user.ID))
		}
	}
	return b
}

// cameBack takes the records away from the user and gives them back: sessions move to
// another user and back, or are deleted and created again; accounts and authenticators
// go and come, and another user has an account in between.
func (c *clauseContext) cameBack(b belongings) {
	other := c.user().ID
	moves := len(b.sessions) > 0 && c.sessionsMove()
	for i, s := range b.sessions {
		switch {
		case i%2 == 0 && moves:
			for _, owner := range []string{other, b.user.ID} {
				c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner)})
			}
		case c.works("DeleteSession"):
			c.deleteSession(s.SessionToken)
			c.createSession(s)
		}
	}
	for i, a := range b.accounts {
		if !c.works("UnlinkAccount") {
			break
		}
		c.unlinkAccount(a.Key())
		if i%2 == 0 {
			c.linkAccount(c.accountWith(other, a.Key()))
			c.unlinkAccount(a.Key())
		}
		c.linkAccount(a)
	}
	for _, a := range b.authenticators {
		if c.works("DeleteAuthenticator") {
			of[*adapter.Authenticator](c, deleteAuthenticator(b.user.ID, a.CredentialID, false))
			c.createAuthenticator(a)
		}
	}
}

// unchanged compares the stored records with the created ones, by every lookup
// except the one that uses up a token.
func (c *clauseContext) unchanged(when string, a adapter.Adapter, b belongings) {
	ctx := c.ctx
	compare := func(method string, got any, err error, want any) {
		if err != nil {
			c.Errorf("%s %s: %v", method, when, err)
			return
		}
		c.same(method+" "+when, got, want)
	}
	if c.works("GetUser") {
		got, err := a.GetUser(ctx, b.user.ID)
		compare("GetUser", got, err, b.user)
	}
	if c.works("GetUserByEmail") {
		got, err := a.GetUserByEmail(ctx, b.user.Email)
		compare("GetUserByEmail", got, err, b.user)
	}
	for _, x := range b.accounts {
		if c.works("GetAccount") {
			got, err := a.GetAccount(ctx, x.ProviderAccountID, x.Provider)
			compare("GetAccount", got, err, &x)
		}
		if c.works("GetUserByAccount") {
			got, err := a.GetUserByAccount(ctx, x.Key())
			compare("GetUserByAccount", got, err, b.user)
		}
	}
	for _, x := range b.sessions {
		if c.works("GetSessionAndUser") {
			got, err := a.GetSessionAndUser(ctx, x.SessionToken)
			compare("GetSessionAndUser", got, err, &adapter.SessionAndUser{Session: x, User: *b.user})
		}
	}
	for _, x := range b.authenticators {
		if c.works("GetAuthenticator") {
			got, err := a.GetAuthenticator(ctx, x.CredentialID)
			compare("GetAuthenticator", got, err, &x)
		}
	}
	if c.works("CreateAuthenticator") && c.works("ListAuthenticatorsByUserID") {
		got, err := a.ListAuthenticatorsByUserID(ctx, b.user.ID)
		if err != nil {
			c.Errorf("ListAuthenticatorsByUserID %s: %v", when, err)
		}
		c.sameAuthenticators("ListAuthenticatorsByUserID "+when, got, b.authenticators)
	}
}

// accountWith returns an account with the key and every field set.
func (c *clauseContext) accountWith(userID string, key adapter.AccountKey) adapter.Account {
	a := c.newAccount(userID)
	a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
	return a
}

// owned compares an account and its owner, by every lookup.
func (c *clauseContext) owned(what string, a adapter.Account, owner *adapter.User) {
	c.same("GetUserByAccount of "+what, c.getUserByAccount(a.Key()), owner)
	if c.works("GetAccount") {
		c.same("GetAccount of "+what, c.getAccount(a.Key()), &a)
	}
}
