package records

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	deletionMethods = []string{"CreateUser", "DeleteUser"}
)

var cascClauses = []kit.Check{
	{ID: "CASC-01", Words: "deleted-user-is-absent", Requires: deletionMethods, Test: func(c *kit.Context) {
		for _, b := range []belongings{{user: c.User()}, userWith(c, 2, 0, 0), userWith(c, 0, 2, 0), userWith(c, 0, 0, 2), userWith(c, 2, 2, 2)} {
			c.DeleteUser(b.user.ID)
			c.Absent("GetUser of a deleted user", c.GetUser(b.user.ID), nil)
			c.Absent("GetUserByEmail of a deleted user", c.GetUserByEmail(b.user.Email), nil)
		}
	}},
	{ID: "CASC-02", Words: "deleted-users-sessions-are-absent", Requires: []string{"CreateUser", "DeleteUser", "CreateSession"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 0, 5, 0))
		deletedForGood(c, userWith(c, 1, 5, 1))
		if c.Works("UpdateSession") {
			renewed := userWith(c, 0, 3, 0)
			giveOwner(c, renewed.sessions...)
			deletedForGood(c, renewed)
		}
		back := userWith(c, 0, 3, 0)
		cameBack(c, back)
		deletedForGood(c, back)
		u := c.User()
		deletedAtOnce(c, belongings{user: u, sessions: joinedSessions(c, u.ID)})
		for _, b := range outgrown(c) {
			deletedForGood(c, b)
		}
	}},
	{ID: "CASC-03", Words: "deleted-users-accounts-are-absent", Requires: []string{"CreateUser", "DeleteUser", "LinkAccount"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 3, 0, 0))
		deletedForGood(c, userWith(c, 3, 1, 1))
		back := userWith(c, 3, 0, 0)
		cameBack(c, back)
		deletedForGood(c, back)
		u := c.User()
		deletedAtOnce(c, belongings{user: u, accounts: joinedAccounts(c, u.ID)})
	}},
	{ID: "CASC-04", Words: "deleted-users-authenticators-are-absent", Requires: []string{"CreateUser", "DeleteUser", "CreateAuthenticator"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 0, 0, 3))
		deletedForGood(c, userWith(c, 1, 1, 3))
		back := userWith(c, 0, 0, 3)
		cameBack(c, back)
		deletedForGood(c, back)
		u := c.User()
		deletedAtOnce(c, belongings{user: u, authenticators: joinedAuthenticators(c, u.ID)})
	}},
	{ID: "CASC-05", Words: "other-users-keep-everything", Requires: deletionMethods, Test: func(c *kit.Context) {
		before, victim := everything(c), userWith(c, 2, 2, 2)
		var alike []belongings
		if u := userNamed(c, nearMissKey(c, "user")); u != nil {
			victim, alike = give(c, u, 2, 2, 2), resemblingUsers(c, u.ID)
		}
		after := everything(c)
		alike = append(alike, withIDsOf(c, victim))
		pending := tokensBeside(c, victim.user.Email)
		c.DeleteUser(victim.user.ID)
		for _, b := range append(alike, before, after) {
			unchanged(c, "of another user", c.Adapter, b)
			if b.token != nil {
				kit.Used(c, "a pending token", *b.token)
			}
		}
		for _, t := range pending {
			got := c.UseToken(t.Key())
			if got != nil {
				got.Identifier = kit.AddressAs(c, got.Identifier, t.Identifier)
			}
			c.Same("a pending token of an identifier that resembles the deleted user's address", got, &t)
		}
	}},
	{ID: "CASC-06", Words: "deleting-an-unknown-user-is-no-error", Requires: deletionMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, id := range append(kit.MalformedIDs(u.ID), c.ID()) {
			got, err := c.Adapter.DeleteUser(c.Ctx, id)
			c.Absent(fmt.Sprintf("DeleteUser(%q)", id), got, err)
		}
		c.Same("a user whose id is like the unknown ones", c.GetUser(u.ID), u)
		c.DeleteUser(u.ID)
		got, err := c.Adapter.DeleteUser(c.Ctx, u.ID)
		c.Absent("DeleteUser for the second time", got, err)
	}},
	{ID: "CASC-07", Words: "next-user-of-the-email-inherits-nothing", Requires: deletionMethods, Test: func(c *kit.Context) {
		old := userWith(c, 3, 3, 3)
		unchanged(c, "before the user's deletion", c.Adapter, old) // an adapter may remember what it reads
		c.DeleteUser(old.user.ID)
		u := c.NewUser()
		u.Email = old.user.Email
		for range 2 { // the users with one address are deleted within a moment
			c.DeleteUser(c.CreateUser(u).ID)
		}
		heir := c.CreateUser(u)
		c.Same("GetUserByEmail", c.GetUserByEmail(heir.Email), heir)
		inheritsNothing(c, "the next user of the e-mail", heir, old)
		for _, x := range old.accounts {
			owned(c, "an account that a deleted user had", c.LinkAccount(accountWith(c, heir.ID, x.Key())), heir)
		}
	}},
	{ID: "CASC-08", Words: "next-user-of-the-id-inherits-nothing", Requires: deletionMethods, Test: func(c *kit.Context) {
		assigns := c.Harness().Declarations.AssignsIDs
		for range 3 {
			old := userWith(c, 3, 3, 3)
			c.DeleteUser(old.user.ID)
			u := c.NewUser()
			if !assigns {
				u.ID = old.user.ID
			}
			heir := c.CreateUser(u)
			if heir.ID != old.user.ID {
				c.Notef("the id of a deleted user is not given out again")
			}
			inheritsNothing(c, "the user after a deleted one", heir, old)
			next := c.User() // a counter of ids would give the next id
			inheritsNothing(c, "the second user after a deleted one", next, old)
		}
	}},
	{ID: "CASC-09", Words: "cascade-is-complete-past-any-batch", Requires: deletionMethods, Test: func(c *kit.Context) {
		n := min(4, c.Stride)
		deletedForGood(c, userWith(c, 40/n, 130/n, 40/n))
	}},
	{ID: "CASC-10", Words: "delete-may-return-the-user", Requires: deletionMethods, Test: func(c *kit.Context) {
		c.User()
		fresh, changed := c.User(), c.User()
		if c.Works("UpdateUser") && c.Works("GetUser") {
			c.Same("GetUser before the update", c.GetUser(changed.ID), changed) // an adapter may remember what it reads
			changed = c.UpdateUser(kit.UserUpdate(c, changed.ID, kit.UserFields))
		}
		returns := "nothing"
		for _, u := range []*adapter.User{fresh, changed} {
			if got := c.DeleteUser(u.ID); got != nil {
				c.Same("DeleteUser", got, u)
				returns = "the deleted user"
			}
		}
		c.Notef("DeleteUser returns %s", returns)
	}},
	{ID: "CASC-11", Words: "cascade-sees-through-lifetimes", Requires: []string{"CreateUser", "DeleteUser"}, Test: cascadeSeesThroughLifetimes},
	{ID: "CASC-12", Words: "what-changed-hands-survives", Requires: []string{"CreateUser", "DeleteUser"}, Test: whatChangedHandsSurvives},
}

// tokensBeside creates tokens of identifiers that resemble an address and are not
// equal to it. Whether a token of the address itself ends with its user is the
// adapter's choice: it needs no user [VTOK-16], and none of another is lost.
func tokensBeside(c *kit.Context, address string) (all []adapter.VerificationToken) {
	if !c.Stores(kit.VerificationTokenRecord) {
		return nil
	}
	for _, identifier := range []string{address + "x", "x" + address, address[:len(address)-1], address[1:], swapCase(address)} {
		if kit.AddressAs(c, identifier, address) == address {
			continue
		}
		t := c.NewToken()
		t.Identifier = identifier
		c.CreateToken(t)
		all = append(all, t)
	}
	return all
}

// withIDsOf creates a user whose accounts, at other providers, and whose authenticators
// have the ProviderAccountIDs of the given user's ones.
func withIDsOf(c *kit.Context, b belongings) belongings {
	x := userWith(c, 0, 0, 0)
	var ids []string
	for _, a := range b.accounts {
		ids = append(ids, a.ProviderAccountID)
	}
	for _, a := range b.authenticators {
		ids = append(ids, a.ProviderAccountID)
	}
	for _, id := range ids {
		if c.Stores(kit.AccountRecord) {
			a := c.NewAccount(x.user.ID)
			a.ProviderAccountID = id
			x.accounts = append(x.accounts, c.LinkAccount(a))
		}
		if c.Stores(kit.AuthenticatorRecord) {
			a := c.NewAuthenticator(x.user.ID)
			a.ProviderAccountID = id
			c.CreateAuthenticator(a)
			x.authenticators = append(x.authenticators, a)
		}
	}
	return x
}

// deletedForGood deletes the user and reports every record of the user that
// remains. It looks with the lookups and with the harness. It also looks after a
// new user has the id, and by writing under the same keys. Each record is read
// before the deletion, because an adapter may remember what it reads.
func deletedForGood(c *kit.Context, b belongings) {
	unchanged(c, "before the user's deletion", c.Adapter, b)
	deletedAtOnce(c, b)
	if !c.Harness().Declarations.AssignsIDs {
		again := createUserWithID(c, b.user.ID)
		inheritsNothing(c, "a user with the deleted one's id", again, b)
		c.DeleteUser(again.ID)
	}
	other := c.User()
	for _, s := range b.sessions {
		if c.Works("UpdateSession") {
			update := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(other.ID), Expires: adapter.To(c.Instant(time.Hour))}
			if got, err := c.Adapter.UpdateSession(c.Ctx, update); err == nil {
				c.Absent("UpdateSession of a deleted user's session", got, nil)
			}
			c.Absent("GetSessionAndUser after an update of it", c.GetSession(s.SessionToken), nil)
		}
		if c.Works("DeleteSession") {
			c.Absent("DeleteSession of a deleted user's session", c.DeleteSession(s.SessionToken), nil)
		}
	}
	for _, x := range b.accounts {
		if c.Works("UnlinkAccount") {
			if got, err := c.Adapter.UnlinkAccount(c.Ctx, x.Key()); err == nil {
				c.Absent("UnlinkAccount of a deleted user's account", got, nil)
			}
		}
		owned(c, "an account that a deleted user had", c.LinkAccount(accountWith(c, other.ID, x.Key())), other)
	}
	for _, w := range b.authenticators {
		if c.Works("UpdateAuthenticatorCounter") {
			got, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, w.CredentialID, 99)
			c.Fails("UpdateAuthenticatorCounter of a deleted user's authenticator", got, err)
		}
		x := c.NewAuthenticator(other.ID)
		x.CredentialID = w.CredentialID
		c.CreateAuthenticator(x)
		c.Same("GetAuthenticator of a credential that a deleted user had", c.GetAuthenticator(w.CredentialID), &x)
	}
}

// deletedAtOnce deletes the user and reports whatever the lookups and the harness
// find of theirs.
func deletedAtOnce(c *kit.Context, b belongings) {
	c.DeleteUser(b.user.ID)
	absentBelongings(c, "of a deleted user", b)
	notInStore(c, b)
}

// absentBelongings reports each record of a user that lookups still find.
func absentBelongings(c *kit.Context, whose string, b belongings) {
	for i, s := range b.sessions {
		if c.Works("GetSessionAndUser") {
			got, err := c.Adapter.GetSessionAndUser(c.Ctx, s.SessionToken)
			c.Absent(fmt.Sprintf("session %d %s", i+1, whose), got, err)
		}
	}
	for i, x := range b.accounts {
		if c.Works("GetUserByAccount") {
			got, err := c.Adapter.GetUserByAccount(c.Ctx, x.Key())
			c.Absent(fmt.Sprintf("user by account %d %s", i+1, whose), got, err)
		}
		if c.Works("GetAccount") {
			got, err := c.Adapter.GetAccount(c.Ctx, x.ProviderAccountID, x.Provider)
			c.Absent(fmt.Sprintf("account %d %s", i+1, whose), got, err)
		}
	}
	for i, w := range b.authenticators {
		if c.Works("GetAuthenticator") {
			got, err := c.Adapter.GetAuthenticator(c.Ctx, w.CredentialID)
			c.Absent(fmt.Sprintf("authenticator %d %s", i+1, whose), got, err)
		}
	}
	if len(b.authenticators) > 0 && c.Works("ListAuthenticatorsByUserID") {
		c.SameAuthenticators("the list "+whose, c.ListAuthenticators(b.user.ID), nil)
	}
}

// inheritsNothing reports each record of a deleted user that another user has
// now.
func inheritsNothing(c *kit.Context, who string, heir *adapter.User, old belongings) {
	absentBelongings(c, "of the one before "+who, old)
	if c.Works("CreateAuthenticator") && c.Works("ListAuthenticatorsByUserID") {
		c.SameAuthenticators("the list of "+who, c.ListAuthenticators(heir.ID), nil)
	}
}

// notInStore reports each record of a user that the harness finds in the store.
func notInStore(c *kit.Context, b belongings) {
	if !c.Has(kit.AbilityInspect) {
		return
	}
	records := []kit.Record{{Kind: kit.UserRecord, Key: b.user.ID}}
	for _, s := range b.sessions {
		records = append(records, kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
	}
	for _, x := range b.accounts {
		records = append(records, kit.Record{Kind: kit.AccountRecord, Account: x.Key()})
	}
	for _, w := range b.authenticators {
		records = append(records, kit.Record{Kind: kit.AuthenticatorRecord, Key: w.CredentialID})
	}
	for _, r := range records {
		there, err := c.Harness().Inspect(c.Ctx, c.Raw, r)
		if err != nil {
			c.Errorf("Inspect: %v", err)
		} else if there {
			c.Errorf("the store still has the %s of a deleted user", r.Kind)
		}
	}
}

// cascadeSeesThroughLifetimes is CASC-11: an adapter's list of a user's records
// must not expire before the records, in any order of their writes.
func cascadeSeesThroughLifetimes(c *kit.Context) {
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
		u := c.NewUser()
		u.ID = c.ID()
		p := person{id: c.CreateUser(u).ID}
		for _, life := range order {
			if !c.Works("CreateSession") {
				break
			}
			s := c.NewSession(p.id)
			s.Expires = c.Now().Add(life).UTC().Truncate(time.Millisecond)
			c.CreateSession(s)
			p.all = append(p.all, s)
		}
		if i%2 == 1 && len(p.all) > 0 && c.Works("UpdateSession") { // the last write is an extension
			c.UpdateSession(adapter.SessionUpdate{SessionToken: p.all[0].SessionToken, Expires: adapter.To(c.Now().Add(soon).UTC().Truncate(time.Millisecond))})
		}
		people = append(people, p)
	}
	kit.Wait(c, soon+100*time.Millisecond+c.Harness().Precision())
	for _, p := range people {
		look := kit.Keys{Users: []string{p.id}}
		for _, s := range p.all {
			look.Sessions = append(look.Sessions, s.SessionToken)
		}
		c.DeleteUser(p.id)
		if err := kit.NothingOf(c, look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
		for _, s := range p.all {
			if s.Expires.After(c.Now()) {
				kit.ReallyGone(c, "DeleteUser", kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
			}
		}
		if err := kit.Inherited(c, p.id, look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
	}
}

// whatChangedHandsSurvives is CASC-12: an adapter's list of a user's records must
// not name a key that now belongs to another user.
func whatChangedHandsSurvives(c *kit.Context) {
	former, owner := c.User(), c.User()
	holds := func(what string, s adapter.Session) {
		c.Same(what, c.GetSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *owner})
	}
	var look []func()
	if c.Works("UnlinkAccount") && c.Works("GetUserByAccount") {
		first := c.Account(former.ID)
		c.UnlinkAccount(first.Key())
		a := c.LinkAccount(accountWith(c, owner.ID, first.Key()))
		look = append(look, func() { owned(c, "an account that a deleted user had unlinked", a, owner) })
	}
	if c.Works("DeleteSession") && c.Works("GetSessionAndUser") {
		first := c.Session(former.ID)
		c.DeleteSession(first.SessionToken)
		s := c.NewSession(owner.ID)
		s.SessionToken = first.SessionToken
		c.CreateSession(s)
		look = append(look, func() { holds("a session whose token a deleted user had before", s) })
	}
	if c.Works("UpdateSession") && c.Works("GetSessionAndUser") {
		s := c.Session(former.ID)
		moved, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner.ID)})
		if err == nil && moved != nil { // an adapter may refuse a change of the owner
			s.UserID = owner.ID
			look = append(look, func() { holds("a session that a deleted user had before", s) })
		}
	}
	if c.Works("DeleteAuthenticator") && c.Works("GetAuthenticator") {
		first := c.Authenticator(former.ID)
		kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(former.ID, first.CredentialID, false))
		w := c.NewAuthenticator(owner.ID)
		w.CredentialID = first.CredentialID
		c.CreateAuthenticator(w)
		look = append(look, func() {
			c.Same("GetAuthenticator of a credential that a deleted user had before", c.GetAuthenticator(w.CredentialID), &w)
		})
	}
	address := ""
	if c.Works("UpdateUser") && c.Works("GetUserByEmail") {
		address = former.Email
		c.UpdateUser(adapter.UserUpdate{ID: former.ID, Email: adapter.To(c.NewUser().Email)})
		owner = c.UpdateUser(adapter.UserUpdate{ID: owner.ID, Email: adapter.To(address)})
		look = append(look, func() {
			c.Same("GetUserByEmail of an address that a deleted user had before", c.GetUserByEmail(address), owner)
		})
	}
	c.DeleteUser(former.ID)
	for _, f := range look {
		f()
	}
	if address != "" {
		w := c.NewUser()
		w.Email = address
		got, err := c.Adapter.CreateUser(c.Ctx, w)
		c.Fails("CreateUser with the address that a deleted user had before and another has now", got, err)
	}
}

// resemblingUsers creates users whose IDs are near misses of the ID, each with one record of
// each kind.
func resemblingUsers(c *kit.Context, id string) (all []belongings) {
	for m := range kit.Some(&c.Budget, kit.NearMisses(id)) {
		u := userNamed(c, m.Value)
		if u == nil {
			continue
		}
		b := belongings{user: u}
		if x := c.NewAccount(u.ID); c.Works("LinkAccount") {
			if _, err := c.Adapter.LinkAccount(c.Ctx, x); stored(c, "LinkAccount of a user whose ID is another one's", m, err) {
				b.accounts = append(b.accounts, x)
			}
		}
		if s := c.NewSession(u.ID); c.Works("CreateSession") {
			if _, err := c.Adapter.CreateSession(c.Ctx, s); stored(c, "CreateSession of a user whose ID is another one's", m, err) {
				b.sessions = append(b.sessions, s)
			}
		}
		if w := c.NewAuthenticator(u.ID); c.Works("CreateAuthenticator") {
			if _, err := c.Adapter.CreateAuthenticator(c.Ctx, w); stored(c, "CreateAuthenticator of a user whose ID is another one's", m, err) {
				b.authenticators = append(b.authenticators, w)
			}
		}
		all = append(all, b)
	}
	return all
}
