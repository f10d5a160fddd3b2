package adaptertest

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	deletionMethods = []string{"CreateUser", "DeleteUser"}
)

var cascClauses = []check{
	{id: "CASC-01", words: "deleted-user-is-absent", requires: deletionMethods, run: func(c *clauseContext) {
		for _, b := range []belongings{{user: c.user()}, c.userWith(2, 0, 0), c.userWith(0, 2, 0), c.userWith(0, 0, 2), c.userWith(2, 2, 2)} {
			c.deleteUser(b.user.ID)
			c.absent("GetUser of a deleted user", c.getUser(b.user.ID), nil)
			c.absent("GetUserByEmail of a deleted user", c.getUserByEmail(b.user.Email), nil)
		}
	}},
	{id: "CASC-02", words: "deleted-users-sessions-are-absent", requires: []string{"CreateUser", "DeleteUser", "CreateSession"}, run: func(c *clauseContext) {
		c.deletedForGood(c.userWith(0, 5, 0))
		c.deletedForGood(c.userWith(1, 5, 1))
		if c.works("UpdateSession") {
			renewed := c.userWith(0, 3, 0)
			c.giveOwner(renewed.sessions...)
			c.deletedForGood(renewed)
		}
		back := c.userWith(0, 3, 0)
		c.cameBack(back)
		c.deletedForGood(back)
		u := c.user()
		c.deletedAtOnce(belongings{user: u, sessions: c.joinedSessions(u.ID)})
		for _, b := range c.outgrown() {
			c.deletedForGood(b)
		}
	}},
	{id: "CASC-03", words: "deleted-users-accounts-are-absent", requires: []string{"CreateUser", "DeleteUser", "LinkAccount"}, run: func(c *clauseContext) {
		c.deletedForGood(c.userWith(3, 0, 0))
		c.deletedForGood(c.userWith(3, 1, 1))
		back := c.userWith(3, 0, 0)
		c.cameBack(back)
		c.deletedForGood(back)
		u := c.user()
		c.deletedAtOnce(belongings{user: u, accounts: c.joinedAccounts(u.ID)})
	}},
	{id: "CASC-04", words: "deleted-users-authenticators-are-absent", requires: []string{"CreateUser", "DeleteUser", "CreateAuthenticator"}, run: func(c *clauseContext) {
		c.deletedForGood(c.userWith(0, 0, 3))
		c.deletedForGood(c.userWith(1, 1, 3))
		back := c.userWith(0, 0, 3)
		c.cameBack(back)
		c.deletedForGood(back)
		u := c.user()
		c.deletedAtOnce(belongings{user: u, authenticators: c.joinedAuthenticators(u.ID)})
	}},
	{id: "CASC-05", words: "other-users-keep-everything", requires: deletionMethods, run: func(c *clauseContext) {
		before, victim := c.everything(), c.userWith(2, 2, 2)
		var alike []belongings
		if u := c.userNamed(c.nearMissKey("user")); u != nil {
			victim, alike = c.give(u, 2, 2, 2), c.resemblingUsers(u.ID)
		}
		after := c.everything()
		alike = append(alike, c.withIDsOf(victim))
		pending := c.tokensBeside(victim.user.Email)
		c.deleteUser(victim.user.ID)
		for _, b := range append(alike, before, after) {
			c.unchanged("of another user", c.a, b)
			if b.token != nil {
				c.used("a pending token", *b.token)
			}
		}
		for _, t := range pending {
			got := c.useToken(t.Key())
			if got != nil {
				got.Identifier = c.addressAs(got.Identifier, t.Identifier)
			}
			c.same("a pending token of an identifier that resembles the deleted user's address", got, &t)
		}
	}},
	{id: "CASC-06", words: "deleting-an-unknown-user-is-no-error", requires: deletionMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, id := range append(malformedIDs(u.ID), c.id()) {
			got, err := c.a.DeleteUser(c.ctx, id)
			c.absent(fmt.Sprintf("DeleteUser(%q)", id), got, err)
		}
		c.same("a user whose id is like the unknown ones", c.getUser(u.ID), u)
		c.deleteUser(u.ID)
		got, err := c.a.DeleteUser(c.ctx, u.ID)
		c.absent("DeleteUser for the second time", got, err)
	}},
	{id: "CASC-07", words: "next-user-of-the-email-inherits-nothing", requires: deletionMethods, run: func(c *clauseContext) {
		old := c.userWith(3, 3, 3)
		c.unchanged("before the user's deletion", c.a, old) // an adapter may remember what it reads
		c.deleteUser(old.user.ID)
		u := c.newUser()
		u.Email = old.user.Email
		for range 2 { // the users with one address are deleted within a moment
			c.deleteUser(c.createUser(u).ID)
		}
		heir := c.createUser(u)
		c.same("GetUserByEmail", c.getUserByEmail(heir.Email), heir)
		c.inheritsNothing("the next user of the e-mail", heir, old)
		for _, x := range old.accounts {
			c.owned("an account that a deleted user had", c.linkAccount(c.accountWith(heir.ID, x.Key())), heir)
		}
	}},
	{id: "CASC-08", words: "next-user-of-the-id-inherits-nothing", requires: deletionMethods, run: func(c *clauseContext) {
		assigns := c.harness().Declarations.AssignsIDs
		for range 3 {
			old := c.userWith(3, 3, 3)
			c.deleteUser(old.user.ID)
			u := c.newUser()
			if !assigns {
				u.ID = old.user.ID
			}
			heir := c.createUser(u)
			if heir.ID != old.user.ID {
				c.Notef("the id of a deleted user is not given out again")
			}
			c.inheritsNothing("the user after a deleted one", heir, old)
			next := c.user() // a counter of ids would give the next id
			c.inheritsNothing("the second user after a deleted one", next, old)
		}
	}},
	{id: "CASC-09", words: "cascade-is-complete-past-any-batch", requires: deletionMethods, run: func(c *clauseContext) {
		n := min(4, c.stride)
		c.deletedForGood(c.userWith(40/n, 130/n, 40/n))
	}},
	{id: "CASC-10", words: "delete-may-return-the-user", requires: deletionMethods, run: func(c *clauseContext) {
		c.user()
		fresh, changed := c.user(), c.user()
		if c.works("UpdateUser") && c.works("GetUser") {
			c.same("GetUser before the update", c.getUser(changed.ID), changed) // an adapter may remember what it reads
			changed = c.updateUser(c.userUpdate(changed.ID, userFields))
		}
		returns := "nothing"
		for _, u := range []*adapter.User{fresh, changed} {
			if got := c.deleteUser(u.ID); got != nil {
				c.same("DeleteUser", got, u)
				returns = "the deleted user"
			}
		}
		c.Notef("DeleteUser returns %s", returns)
	}},
	{id: "CASC-11", words: "cascade-sees-through-lifetimes", requires: []string{"CreateUser", "DeleteUser"}, run: cascadeSeesThroughLifetimes},
	{id: "CASC-12", words: "what-changed-hands-survives", requires: []string{"CreateUser", "DeleteUser"}, run: whatChangedHandsSurvives},
}

// tokensBeside creates tokens of identifiers that resemble an address and are not
// equal to it. Whether a token of the address itself ends with its user is the
// adapter's choice: it needs no user [VTOK-16], and none of another is lost.
func (c *clauseContext) tokensBeside(address string) (all []adapter.VerificationToken) {
	if !c.stores(VerificationTokenRecord) {
		return nil
	}
	for _, identifier := range []string{address + "x", "x" + address, address[:len(address)-1], address[1:], swapCase(address)} {
		if c.addressAs(identifier, address) == address {
			continue
		}
		t := c.newToken()
		t.Identifier = identifier
		c.createToken(t)
		all = append(all, t)
	}
	return all
}

// withIDsOf creates a user whose accounts, at other providers, and whose authenticators
// have the ProviderAccountIDs of the given user's ones.
func (c *clauseContext) withIDsOf(b belongings) belongings {
	x := c.userWith(0, 0, 0)
	var ids []string
	for _, a := range b.accounts {
		ids = append(ids, a.ProviderAccountID)
	}
	for _, a := range b.authenticators {
		ids = append(ids, a.ProviderAccountID)
	}
	for _, id := range ids {
		if c.stores(AccountRecord) {
			a := c.newAccount(x.user.ID)
			a.ProviderAccountID = id
			x.accounts = append(x.accounts, c.linkAccount(a))
		}
		if c.stores(AuthenticatorRecord) {
			a := c.newAuthenticator(x.user.ID)
			a.ProviderAccountID = id
			c.createAuthenticator(a)
			x.authenticators = append(x.authenticators, a)
		}
	}
	return x
}

// deletedForGood deletes the user and reports every record of the user that
// remains. It looks with the lookups and with the harness. It also looks after a
// new user has the id, and by writing under the same keys. Each record is read
// before the deletion, because an adapter may remember what it reads.
func (c *clauseContext) deletedForGood(b belongings) {
	c.unchanged("before the user's deletion", c.a, b)
	c.deletedAtOnce(b)
	if !c.harness().Declarations.AssignsIDs {
		again := c.createUserWithID(b.user.ID)
		c.inheritsNothing("a user with the deleted one's id", again, b)
		c.deleteUser(again.ID)
	}
	other := c.user()
	for _, s := range b.sessions {
		if c.works("UpdateSession") {
			update := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(other.ID), Expires: adapter.To(c.instant(time.Hour))}
			if got, err := c.a.UpdateSession(c.ctx, update); err == nil {
				c.absent("UpdateSession of a deleted user's session", got, nil)
			}
			c.absent("GetSessionAndUser after an update of it", c.getSession(s.SessionToken), nil)
		}
		if c.works("DeleteSession") {
			c.absent("DeleteSession of a deleted user's session", c.deleteSession(s.SessionToken), nil)
		}
	}
	for _, x := range b.accounts {
		if c.works("UnlinkAccount") {
			if got, err := c.a.UnlinkAccount(c.ctx, x.Key()); err == nil {
				c.absent("UnlinkAccount of a deleted user's account", got, nil)
			}
		}
		c.owned("an account that a deleted user had", c.linkAccount(c.accountWith(other.ID, x.Key())), other)
	}
	for _, w := range b.authenticators {
		if c.works("UpdateAuthenticatorCounter") {
			got, err := c.a.UpdateAuthenticatorCounter(c.ctx, w.CredentialID, 99)
			c.fails("UpdateAuthenticatorCounter of a deleted user's authenticator", got, err)
		}
		x := c.newAuthenticator(other.ID)
		x.CredentialID = w.CredentialID
		c.createAuthenticator(x)
		c.same("GetAuthenticator of a credential that a deleted user had", c.getAuthenticator(w.CredentialID), &x)
	}
}

// deletedAtOnce deletes the user and reports whatever the lookups and the harness
// find of theirs.
func (c *clauseContext) deletedAtOnce(b belongings) {
	c.deleteUser(b.user.ID)
	c.absentBelongings("of a deleted user", b)
	c.notInStore(b)
}

// absentBelongings reports each record of a user that lookups still find.
func (c *clauseContext) absentBelongings(whose string, b belongings) {
	for i, s := range b.sessions {
		if c.works("GetSessionAndUser") {
			got, err := c.a.GetSessionAndUser(c.ctx, s.SessionToken)
			c.absent(fmt.Sprintf("session %d %s", i+1, whose), got, err)
		}
	}
	for i, x := range b.accounts {
		if c.works("GetUserByAccount") {
			got, err := c.a.GetUserByAccount(c.ctx, x.Key())
			c.absent(fmt.Sprintf("user by account %d %s", i+1, whose), got, err)
		}
		if c.works("GetAccount") {
			got, err := c.a.GetAccount(c.ctx, x.ProviderAccountID, x.Provider)
			c.absent(fmt.Sprintf("account %d %s", i+1, whose), got, err)
		}
	}
	for i, w := range b.authenticators {
		if c.works("GetAuthenticator") {
			got, err := c.a.GetAuthenticator(c.ctx, w.CredentialID)
			c.absent(fmt.Sprintf("authenticator %d %s", i+1, whose), got, err)
		}
	}
	if len(b.authenticators) > 0 && c.works("ListAuthenticatorsByUserID") {
		c.sameAuthenticators("the list "+whose, c.listAuthenticators(b.user.ID), nil)
	}
}

// inheritsNothing reports each record of a deleted user that another user has
// now.
func (c *clauseContext) inheritsNothing(who string, heir *adapter.User, old belongings) {
	c.absentBelongings("of the one before "+who, old)
	if c.works("CreateAuthenticator") && c.works("ListAuthenticatorsByUserID") {
		c.sameAuthenticators("the list of "+who, c.listAuthenticators(heir.ID), nil)
	}
}

// notInStore reports each record of a user that the harness finds in the store.
func (c *clauseContext) notInStore(b belongings) {
	if !c.has(abilityInspect) {
		return
	}
	records := []Record{{Kind: UserRecord, Key: b.user.ID}}
	for _, s := range b.sessions {
		records = append(records, Record{Kind: SessionRecord, Key: s.SessionToken})
	}
	for _, x := range b.accounts {
		records = append(records, Record{Kind: AccountRecord, Account: x.Key()})
	}
	for _, w := range b.authenticators {
		records = append(records, Record{Kind: AuthenticatorRecord, Key: w.CredentialID})
	}
	for _, r := range records {
		there, err := c.harness().Inspect(c.ctx, c.raw, r)
		if err != nil {
			c.Errorf("Inspect: %v", err)
		} else if there {
			c.Errorf("the store still has the %s of a deleted user", r.Kind)
		}
	}
}

// cascadeSeesThroughLifetimes is CASC-11: an adapter's list of a user's records
// must not expire before the records, in any order of their writes.
func cascadeSeesThroughLifetimes(c *clauseContext) {
	const soon = 1200 * time.Millisecond
	lives := [][]time.Duration{
		{24 * time.Hour, 400 * 24 * time.Hour, soon}, {soon, 24 * time.Hour, soon}, {-time.Hour, 24 * time.Hour, -time.Hour}, {24 * time.Hour, soon, 2 * time.Hour, soon},
	}
	type person struct {
		id  string
		all []adapter.Session
	}
	var people []person
	for i, order := range lives {
		u := c.newUser()
		u.ID = c.id()
		p := person{id: c.createUser(u).ID}
		for _, life := range order {
			if !c.works("CreateSession") {
				break
			}
			s := c.newSession(p.id)
			s.Expires = c.now().Add(life).UTC().Truncate(time.Millisecond)
			c.createSession(s)
			p.all = append(p.all, s)
		}
		if i%2 == 1 && len(p.all) > 0 && c.works("UpdateSession") { // the last write is an extension
			c.updateSession(adapter.SessionUpdate{SessionToken: p.all[0].SessionToken, Expires: adapter.To(c.now().Add(soon).UTC().Truncate(time.Millisecond))})
		}
		people = append(people, p)
	}
	c.wait(soon + 100*time.Millisecond + c.harness().precision())
	for _, p := range people {
		look := keys{users: []string{p.id}}
		for _, s := range p.all {
			look.sessions = append(look.sessions, s.SessionToken)
		}
		c.deleteUser(p.id)
		if err := c.nothingOf(look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
		for _, s := range p.all {
			if s.Expires.After(c.now()) {
				c.reallyGone("DeleteUser", Record{Kind: SessionRecord, Key: s.SessionToken})
			}
		}
		if err := c.inherited(p.id, look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
	}
}

// whatChangedHandsSurvives is CASC-12: an adapter's list of a user's records must
// not name a key that now belongs to another user.
func whatChangedHandsSurvives(c *clauseContext) {
	former, owner := c.user(), c.user()
	holds := func(what string, s adapter.Session) {
		c.same(what, c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *owner})
	}
	var look []func()
	if c.works("UnlinkAccount") && c.works("GetUserByAccount") {
		first := c.account(former.ID)
		c.unlinkAccount(first.Key())
		a := c.linkAccount(c.accountWith(owner.ID, first.Key()))
		look = append(look, func() { c.owned("an account that a deleted user had unlinked", a, owner) })
	}
	if c.works("DeleteSession") && c.works("GetSessionAndUser") {
		first := c.session(former.ID)
		c.deleteSession(first.SessionToken)
		s := c.newSession(owner.ID)
		s.SessionToken = first.SessionToken
		c.createSession(s)
		look = append(look, func() { holds("a session whose token a deleted user had before", s) })
	}
	if c.works("UpdateSession") && c.works("GetSessionAndUser") {
		s := c.session(former.ID)
		moved, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner.ID)})
		if err == nil && moved != nil { // an adapter may refuse a change of the owner
			s.UserID = owner.ID
			look = append(look, func() { holds("a session that a deleted user had before", s) })
		}
	}
	if c.works("DeleteAuthenticator") && c.works("GetAuthenticator") {
		first := c.authenticator(former.ID)
		of[*adapter.Authenticator](c, deleteAuthenticator(former.ID, first.CredentialID, false))
		w := c.newAuthenticator(owner.ID)
		w.CredentialID = first.CredentialID
		c.createAuthenticator(w)
		look = append(look, func() {
			c.same("GetAuthenticator of a credential that a deleted user had before", c.getAuthenticator(w.CredentialID), &w)
		})
	}
	address := ""
	if c.works("UpdateUser") && c.works("GetUserByEmail") {
		address = former.Email
		c.updateUser(adapter.UserUpdate{ID: former.ID, Email: adapter.To(c.newUser().Email)})
		owner = c.updateUser(adapter.UserUpdate{ID: owner.ID, Email: adapter.To(address)})
		look = append(look, func() {
			c.same("GetUserByEmail of an address that a deleted user had before", c.getUserByEmail(address), owner)
		})
	}
	c.deleteUser(former.ID)
	for _, f := range look {
		f()
	}
	if address != "" {
		w := c.newUser()
		w.Email = address
		got, err := c.a.CreateUser(c.ctx, w)
		c.fails("CreateUser with the address that a deleted user had before and another has now", got, err)
	}
}
