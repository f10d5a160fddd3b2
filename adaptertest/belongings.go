package adaptertest

import (
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

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
	return c.give(c.user(), accounts, sessions, authenticators)
}

// give creates the given numbers of records for the user, of each kind that the adapter
// keeps.
func (c *clauseContext) give(u *adapter.User, accounts, sessions, authenticators int) belongings {
	b := belongings{user: u}
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

// outgrown creates users whose sessions have outlived the lifetime that they were created
// with, because they were extended: of one user only these, of another they also moved to
// the user, and a third has one more session, which was created after them. A fourth has
// sessions that had expired before. What a store keeps beside a session, such as a list of
// the user's sessions, must live as long as the session.
func (c *clauseContext) outgrown() []belongings {
	if !c.works("UpdateSession") {
		return nil
	}
	moves := c.sessionsMove()
	for soon := 1200 * time.Millisecond; ; soon *= 2 {
		end := c.now().Add(soon).UTC().Truncate(time.Millisecond)
		users := []belongings{c.extended(end, false), c.extended(end, moves), c.extended(end, false)}
		users[2].sessions = append(users[2].sessions, c.session(users[2].user.ID))
		if left := end.Sub(c.now()); left > 0 || soon > openTime {
			c.wait(max(left, 0) + 50*time.Millisecond + c.harness().precision())
			if b := c.revived(); b != nil {
				users = append(users, *b)
			}
			return users
		} // else a session may have expired before it was extended, and others get more time
	}
}

// extended creates a user with sessions that expire at the instant, or that expire then
// and belong to another user, and extends them.
func (c *clauseContext) extended(end time.Time, fromAnother bool) belongings {
	b := belongings{user: c.user()}
	for i := range 3 {
		s := c.newSession(b.user.ID)
		s.Expires = end
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(time.Duration(1+i) * time.Hour))}
		if fromAnother {
			s.UserID, update.UserID = c.user().ID, adapter.To(b.user.ID)
		}
		c.createSession(s)
		c.updateSession(update)
		update.Apply(&s)
		b.sessions = append(b.sessions, s)
	}
	return b
}

// revived creates a user with sessions that have expired, and extends them. It returns nil if
// the adapter takes an expired session for absent.
func (c *clauseContext) revived() *belongings {
	b := &belongings{user: c.user()}
	for i := range 3 {
		s := c.newSession(b.user.ID)
		s.Expires = c.instant(-time.Minute)
		if _, err := c.a.CreateSession(c.ctx, s); err != nil {
			return nil // an instant that has passed may be refused
		}
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(time.Duration(1+i) * time.Hour))}
		_, _ = c.a.UpdateSession(c.ctx, update)
		update.Apply(&s)
		if got := c.getSession(s.SessionToken); got == nil || c.unlike(&got.Session, &s) != "" {
			return nil
		}
		b.sessions = append(b.sessions, s)
	}
	return b
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
