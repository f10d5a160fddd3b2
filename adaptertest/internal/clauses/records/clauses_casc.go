package records

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var deletionMethods = []string{"CreateUser", "DeleteUser"}

var cascClauses = []kit.Check{
	{ID: "CASC-01", Words: "deleted-user-is-absent", Requires: deletionMethods, Test: func(c *kit.Context) {
		for _, b := range []*kit.Records{give(c, c.User(), 0, 0, 0), userWith(c, 2, 0, 0), userWith(c, 0, 2, 0), userWith(c, 0, 0, 2), userWith(c, 2, 2, 2)} {
			c.DeleteUser(b.User.ID)
			c.Absent("GetUser of a deleted user", c.GetUser(b.User.ID), nil)
			c.Absent("GetUserByEmail of a deleted user", c.GetUserByEmail(b.User.Email), nil)
		}
	}},
	{ID: "CASC-02", Words: "deleted-users-sessions-are-absent", Requires: []string{"CreateUser", "DeleteUser", "CreateSession"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 0, 5, 0))
		deletedForGood(c, userWith(c, 1, 5, 1))
		if c.Works("UpdateSession") {
			renewed := userWith(c, 0, 3, 0)
			giveOwner(c, renewed.Sessions...)
			deletedForGood(c, renewed)
		}
		deletedForGood(c, cameBack(c, userWith(c, 0, 3, 0)))
		deletedAtOnce(c, joined(c, kit.SessionRecord, c.User()))
		for _, b := range outgrown(c) {
			deletedForGood(c, b)
		}
	}},
	{ID: "CASC-03", Words: "deleted-users-accounts-are-absent", Requires: []string{"CreateUser", "DeleteUser", "LinkAccount"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 3, 0, 0))
		deletedForGood(c, userWith(c, 3, 1, 1))
		deletedForGood(c, cameBack(c, userWith(c, 3, 0, 0)))
		deletedAtOnce(c, joined(c, kit.AccountRecord, c.User()))
	}},
	{ID: "CASC-04", Words: "deleted-users-authenticators-are-absent", Requires: []string{"CreateUser", "DeleteUser", "CreateAuthenticator"}, Test: func(c *kit.Context) {
		deletedForGood(c, userWith(c, 0, 0, 3))
		deletedForGood(c, userWith(c, 1, 1, 3))
		deletedForGood(c, cameBack(c, userWith(c, 0, 0, 3)))
		deletedAtOnce(c, joined(c, kit.AuthenticatorRecord, c.User()))
	}},
	{ID: "CASC-05", Words: "other-users-keep-everything", Requires: deletionMethods, Test: func(c *kit.Context) {
		before, victim := everything(c), userWith(c, 2, 2, 2)
		var alike []*kit.Records
		if u := userNamed(c, nearMissKey(c, "user")); u != nil {
			victim, alike = give(c, u, 2, 2, 2), resemblingUsers(c, u.ID)
		}
		after := everything(c)
		alike = append(alike, withIDsOf(c, victim))
		pending := tokensBeside(c, victim.User.Email)
		c.DeleteUser(victim.User.ID)
		for _, b := range append(alike, before, after) {
			unchanged(c, "of another user", c.Adapter, b)
			for _, t := range b.Tokens {
				kit.Used(c, "a pending token", t)
			}
		}
		for _, t := range pending {
			kit.UsedAsSpelled(c, "a pending token of an identifier that resembles the deleted user's address", t)
		}
	}},
	{ID: "CASC-06", Words: "deleting-an-unknown-user-is-no-error", Requires: deletionMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, id := range append(kit.MalformedIDs(u.ID), c.ID()) {
			kit.FindsNothing(c, fmt.Sprintf("DeleteUser(%q)", id), kit.DeleteUser(id))
		}
		c.Same("a user whose id is like the unknown ones", c.GetUser(u.ID), u)
		c.DeleteUser(u.ID)
		kit.FindsNothing(c, "DeleteUser for the second time", kit.DeleteUser(u.ID))
	}},
	{ID: "CASC-07", Words: "next-user-of-the-email-inherits-nothing", Requires: deletionMethods, Test: func(c *kit.Context) {
		old := userWith(c, 3, 3, 3)
		unchanged(c, "before the user's deletion", c.Adapter, old) // an adapter may remember what it reads
		c.DeleteUser(old.User.ID)
		u := kit.UserAt(c, old.User.Email)
		for range 2 { // the users with one address are deleted within a moment
			c.DeleteUser(c.CreateUser(u).ID)
		}
		heir := c.CreateUser(u)
		c.Same("GetUserByEmail", c.GetUserByEmail(heir.Email), heir)
		inheritsNothing(c, "the next user of the e-mail", heir, old)
		for _, x := range old.Accounts {
			owned(c, "an account that a deleted user had", c.LinkAccount(accountWith(c, heir.ID, x.Key())), heir)
		}
	}},
	{ID: "CASC-08", Words: "next-user-of-the-id-inherits-nothing", Requires: deletionMethods, Test: func(c *kit.Context) {
		assigns := c.Harness().Declarations.AssignsIDs
		for range 3 {
			old := userWith(c, 3, 3, 3)
			c.DeleteUser(old.User.ID)
			u := c.NewUser()
			if !assigns {
				u.ID = old.User.ID
			}
			heir := c.CreateUser(u)
			if heir.ID != old.User.ID {
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

// tokensBeside creates tokens of identifiers that resemble an address and are not equal to it. Whether a token of the
// address itself ends with its user is the adapter's choice: it needs no user [VTOK-16], and none of another is lost.
func tokensBeside(c *kit.Context, address string) (all []adapter.VerificationToken) {
	if !c.Stores(kit.VerificationTokenRecord) {
		return nil
	}
	for _, identifier := range []string{address + "x", "x" + address, address[:len(address)-1], address[1:], swapCase(address)} {
		if kit.AddressAs(c, identifier, address) == address {
			continue
		}
		all = append(all, kit.TokenOf(c, identifier, c.Instant(time.Hour)))
	}
	return all
}

// withIDsOf creates a user whose accounts, at other providers, and whose authenticators
// have the ProviderAccountIDs of the given user's ones.
func withIDsOf(c *kit.Context, b *kit.Records) *kit.Records {
	x := userWith(c, 0, 0, 0)
	for _, d := range b.Drafts() {
		id := d.Account.ProviderAccountID + d.Authenticator.ProviderAccountID // the draft has at most one of them
		for _, kind := range []kit.Kind{kit.AccountRecord, kit.AuthenticatorRecord} {
			if id != "" && c.Stores(kind) {
				y := kit.NewDraft(c, kind, x.User.ID)
				y.Account.ProviderAccountID, y.Authenticator.ProviderAccountID = id, id
				y.Store(c, c.Adapter)
				x.Add(y)
			}
		}
	}
	return x
}

// deletedForGood deletes the user and reports every record of the user that remains. It looks with the lookups
// and with the harness. It also looks after a new user has the id, and by writing under the same keys. Each
// record is read before the deletion, because an adapter may remember what it reads.
func deletedForGood(c *kit.Context, b *kit.Records) {
	unchanged(c, "before the user's deletion", c.Adapter, b)
	deletedAtOnce(c, b)
	if !c.Harness().Declarations.AssignsIDs {
		again := c.CreateUser(kit.UserNamed(c, b.User.ID))
		inheritsNothing(c, "a user with the deleted one's id", again, b)
		c.DeleteUser(again.ID)
	}
	other := c.User()
	for _, s := range b.Sessions {
		if c.Works("UpdateSession") {
			update := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(other.ID), Expires: adapter.To(c.Instant(time.Hour))}
			if got, err := c.Adapter.UpdateSession(c.Ctx, update); err == nil {
				c.Absent("UpdateSession of a deleted user's session", got, nil)
			}
			c.Absent("GetSessionAndUser after an update of it", c.GetSession(s.SessionToken), nil)
		}
		kit.Sees(c, "DeleteSession of a deleted user's session", kit.DeleteSession(s.SessionToken), nil)
	}
	for _, x := range b.Accounts {
		if c.Works("UnlinkAccount") {
			if got, err := c.Adapter.UnlinkAccount(c.Ctx, x.Key()); err == nil {
				c.Absent("UnlinkAccount of a deleted user's account", got, nil)
			}
		}
		owned(c, "an account that a deleted user had", c.LinkAccount(accountWith(c, other.ID, x.Key())), other)
	}
	for _, w := range b.Authenticators {
		if c.Works("UpdateAuthenticatorCounter") {
			kit.IsRefused(c, "UpdateAuthenticatorCounter of a deleted user's authenticator", kit.UpdateAuthenticatorCounter(w.CredentialID, 99))
		}
		x := registeredAs(c, other.ID, func(x *adapter.Authenticator) { x.CredentialID = w.CredentialID })
		c.Same("GetAuthenticator of a credential that a deleted user had", c.GetAuthenticator(w.CredentialID), &x)
	}
}

// deletedAtOnce deletes the user and reports whatever the lookups and the harness find of theirs.
func deletedAtOnce(c *kit.Context, b *kit.Records) {
	c.DeleteUser(b.User.ID)
	absentRecords(c, "of a deleted user", b)
	notInStore(c, b)
}

// absentRecords reports each record of a user that lookups still find.
func absentRecords(c *kit.Context, whose string, b *kit.Records) {
	absent := func(what string, i int, k kit.Call) {
		if c.Works(k.Method) {
			kit.FindsNothing(c, fmt.Sprintf("%s %d %s", what, i+1, whose), k)
		}
	}
	for i, s := range b.Sessions {
		absent("session", i, kit.GetSessionAndUser(s.SessionToken))
	}
	for i, x := range b.Accounts {
		absent("user by account", i, kit.GetUserByAccount(x.Key()))
		absent("account", i, kit.GetAccountByKey(x.Key()))
	}
	for i, w := range b.Authenticators {
		absent("authenticator", i, kit.GetAuthenticator(w.CredentialID))
	}
	if len(b.Authenticators) > 0 && c.Works("ListAuthenticatorsByUserID") {
		c.Same("the list "+whose, c.ListAuthenticators(b.User.ID), []adapter.Authenticator(nil))
	}
}

// inheritsNothing reports each record of a deleted user that another user has now.
func inheritsNothing(c *kit.Context, who string, heir *adapter.User, old *kit.Records) {
	absentRecords(c, "of the one before "+who, old)
	if c.Works("CreateAuthenticator") && c.Works("ListAuthenticatorsByUserID") {
		c.Same("the list of "+who, c.ListAuthenticators(heir.ID), []adapter.Authenticator(nil))
	}
}

// notInStore reports each record of a user that the harness finds in the store.
func notInStore(c *kit.Context, b *kit.Records) {
	if !c.Has(kit.AbilityInspect) {
		return
	}
	for _, x := range append(b.Drafts(), &kit.Draft{Kind: kit.UserRecord, User: b.User}) {
		if there, _ := kit.InStore(c, x.Name()); there {
			c.Errorf("the store still has the %s of a deleted user", x.Kind)
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
	in := func(life time.Duration) time.Time { return c.Now().Add(life).UTC().Truncate(time.Millisecond) }
	var people []*kit.Records
	for i, order := range lives {
		p := kit.RecordsOf(c.CreateUser(kit.UserWithID(c)))
		for j := 0; j < len(order) && c.Works("CreateSession"); j++ {
			p.Sessions = append(p.Sessions, kit.SessionUntil(c, p.User.ID, in(order[j])))
		}
		if i%2 == 1 && len(p.Sessions) > 0 && c.Works("UpdateSession") { // the last write is an extension
			c.UpdateSession(adapter.SessionUpdate{SessionToken: p.Sessions[0].SessionToken, Expires: adapter.To(in(soon))})
		}
		people = append(people, p)
	}
	kit.Wait(c, soon+100*time.Millisecond+c.Harness().Precision())
	for _, p := range people {
		tokens := kit.Map(p.Sessions, func(s adapter.Session) string { return s.SessionToken })
		look := kit.Keys{Users: []string{p.User.ID}, Sessions: tokens}
		c.DeleteUser(p.User.ID)
		if err := kit.NothingOf(c, look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
		for _, s := range p.Sessions {
			if s.Expires.After(c.Now()) {
				kit.ReallyGone(c, "DeleteUser", kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
			}
		}
		if err := kit.Inherited(c, p.User.ID, look); err != nil {
			c.Errorf("after DeleteUser: %v", err)
		}
	}
}

// whatChangedHandsSurvives is CASC-12: an adapter's list of a user's records must
// not name a key that now belongs to another user.
func whatChangedHandsSurvives(c *kit.Context) {
	former, owner := c.User(), c.User()
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
		look = append(look, func() { resolves(c, "a session whose token a deleted user had before", s, owner) })
	}
	if c.Works("UpdateSession") && c.Works("GetSessionAndUser") {
		s := c.Session(former.ID)
		moved, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner.ID)})
		if err == nil && moved != nil { // an adapter may refuse a change of the owner
			s.UserID = owner.ID
			look = append(look, func() { resolves(c, "a session that a deleted user had before", s, owner) })
		}
	}
	if c.Works("DeleteAuthenticator") && c.Works("GetAuthenticator") {
		first := c.Authenticator(former.ID)
		kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(former.ID, first.CredentialID, false))
		w := registeredAs(c, owner.ID, func(w *adapter.Authenticator) { w.CredentialID = first.CredentialID })
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
		w := kit.UserAt(c, address)
		kit.IsRefused(c, "CreateUser with the address that a deleted user had before and another has now", kit.CreateUser(w))
	}
}

// resemblingUsers creates users whose IDs are near misses of the ID, each with one record of each kind.
func resemblingUsers(c *kit.Context, id string) (all []*kit.Records) {
	for m := range kit.Some(&c.Budget, kit.NearMisses(id)) {
		u := userNamed(c, m.Value)
		if u == nil {
			continue
		}
		b := kit.RecordsOf(u)
		for _, kind := range []kit.Kind{kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord} {
			x := kit.NewDraft(c, kind, u.ID)
			create := x.Create()
			if !c.Works(create.Method) {
				continue
			}
			if _, err := create.Do(c.Ctx, c.Adapter); stored(c, create.Method+" of a user whose ID is another one's", m, err) {
				b.Add(x)
			}
		}
		all = append(all, b)
	}
	return all
}
