package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// write is a method that changes the store. ERR and LIFE call each one with
// and without faults, and check afterwards whether the change is stored.
type write struct {
	// read is a method that shows the change.
	method, read string
	// prepare makes the records that the write works on. It returns the write,
	// and a function that describes what is missing of the change in the store,
	// or returns "" if nothing is.
	prepare func(c *clauseContext) (change call, missing func() string)
}

// without compares a record with the record that a write should have stored.
func (c *clauseContext) without(what string, got, want any) string {
	if d := c.unlike(got, want); d != "" {
		return what + ": " + d
	}
	return ""
}

// holds describes how what the read returns differs from the wanted record.
func (c *clauseContext) holds(read call, want any) func() string {
	return func() string { return c.without(read.method, of[any](c, read), want) }
}

// gone describes a record that the read should no longer return.
func (c *clauseContext) gone(read call) func() string {
	return func() string {
		if got := of[any](c, read); !isNilRecord(got) {
			return read.method + " still finds " + diff.Show(got)
		}
		return ""
	}
}

var writes = []write{
	{"CreateUser", "GetUserByEmail", func(c *clauseContext) (call, func() string) {
		u := c.newUser()
		create := createUser(u).yields(func(created any) any {
			if r, _ := created.(*adapter.User); r != nil {
				u.ID = r.ID // the adapter may assign it
			}
			return created
		})
		return create, c.holds(getUserByEmail(u.Email), &u)
	}},
	{"UpdateUser", "GetUser", func(c *clauseContext) (call, func() string) {
		u := c.user()
		update := c.userUpdate(u.ID, userFields)
		update.Apply(u)
		return updateUser(update), c.holds(getUser(u.ID), u)
	}},
	{"DeleteUser", "GetUser", func(c *clauseContext) (call, func() string) {
		id := c.user().ID
		return deleteUser(id), c.gone(getUser(id))
	}},
	{"LinkAccount", "GetAccount", func(c *clauseContext) (call, func() string) {
		x := c.newAccount(c.user().ID)
		return linkAccount(x), c.holds(getAccount(x.Key()), &x)
	}},
	{"UnlinkAccount", "GetAccount", func(c *clauseContext) (call, func() string) {
		key := c.account(c.user().ID).Key()
		return unlinkAccount(key), c.gone(getAccount(key))
	}},
	{"CreateSession", "GetSessionAndUser", func(c *clauseContext) (call, func() string) {
		u := c.user()
		x := c.newSession(u.ID)
		return createSession(x), c.holds(getSession(x.SessionToken), &adapter.SessionAndUser{Session: x, User: *u})
	}},
	{"UpdateSession", "GetSessionAndUser", func(c *clauseContext) (call, func() string) {
		u := c.user()
		x := c.session(u.ID)
		x.Expires = c.instant(3 * time.Hour)
		update := adapter.SessionUpdate{SessionToken: x.SessionToken, Expires: adapter.To(x.Expires)}
		return updateSession(update), c.holds(getSession(x.SessionToken), &adapter.SessionAndUser{Session: x, User: *u})
	}},
	{"DeleteSession", "GetSessionAndUser", func(c *clauseContext) (call, func() string) {
		token := c.session(c.user().ID).SessionToken
		return deleteSession(token), c.gone(getSession(token))
	}},
	{"CreateVerificationToken", "UseVerificationToken", func(c *clauseContext) (call, func() string) {
		x := c.newToken()
		return createToken(x), c.holds(useToken(x.Key()), &x)
	}},
	{"UseVerificationToken", "UseVerificationToken", func(c *clauseContext) (call, func() string) {
		key := c.token().Key()
		found := false
		use := useToken(key).yields(func(used any) any { found = !isNilRecord(used); return used })
		return use, func() string {
			if !found {
				return "UseVerificationToken said that the pending token is absent"
			}
			return c.gone(useToken(key))()
		}
	}},
	{"CreateAuthenticator", "GetAuthenticator", func(c *clauseContext) (call, func() string) {
		x := c.newAuthenticator(c.user().ID)
		return createAuthenticator(x), c.holds(getAuthenticator(x.CredentialID), &x)
	}},
	{"UpdateAuthenticatorCounter", "GetAuthenticator", func(c *clauseContext) (call, func() string) {
		x := c.authenticator(c.user().ID)
		x.Counter += 1000
		return updateCounter(x.CredentialID, x.Counter), c.holds(getAuthenticator(x.CredentialID), &x)
	}},
}

// writes returns the writes whose methods the adapter has; the clause does not
// apply if there is none.
func (c *clauseContext) writes() []write {
	have := slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return !c.works(w.method) || !c.works(w.read) })
	if len(have) == 0 {
		c.notApplicable("the adapter has no write that can be read back")
	}
	return have
}

// conflict is a write that must fail, because the record that it creates
// exists already, or because the record that it changes does not exist.
type conflict struct {
	what, method string
	do           func() (any, error)
	// missing is as in write. It is used if the call succeeds.
	missing func() string
}

// conflicts returns one conflict for each unique key.
func (c *clauseContext) conflicts() []conflict {
	var all []conflict
	add := func(what, method string, do func() (any, error), missing func() string) {
		if c.works(method) {
			all = append(all, conflict{what, method, do, missing})
		}
	}
	if c.stores(UserRecord) && c.works("GetUserByEmail") {
		a, b := c.user(), c.user()
		twin := c.newUser()
		twin.Email = a.Email
		add("a taken e-mail address", "CreateUser", func() (any, error) { return record(c.a.CreateUser(c.ctx, twin)) }, func() string {
			twin.ID = c.getUserByEmail(twin.Email).ID
			return c.without("GetUserByEmail", c.getUserByEmail(twin.Email), &twin)
		})
		add("a change to a taken e-mail address", "UpdateUser", func() (any, error) {
			return record(c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: b.ID, Email: adapter.To(a.Email)}))
		}, func() string { b.Email = a.Email; return c.without("GetUser", c.getUser(b.ID), b) })
		if !c.assignsIDs() {
			same := c.newUser()
			same.ID = a.ID
			add("a taken user ID", "CreateUser", func() (any, error) {
				r, err := c.a.CreateUser(c.ctx, same)
				if err == nil && r != nil {
					same.ID = r.ID
				}
				return record(r, err)
			}, func() string { return c.without("GetUserByEmail", c.getUserByEmail(same.Email), &same) })
		}
	}
	if !c.works("CreateUser") {
		return all
	}
	a, b := c.user(), c.user()
	if c.stores(AccountRecord) {
		x := c.account(a.ID)
		y := c.newAccount(b.ID)
		y.Provider, y.ProviderAccountID = x.Provider, x.ProviderAccountID
		add("a taken account", "LinkAccount", func() (any, error) { return record(c.a.LinkAccount(c.ctx, y)) },
			func() string { return c.without("GetAccount", c.getAccount(y.Key()), &y) })
	}
	if c.stores(SessionRecord) {
		x := c.session(a.ID)
		y := c.newSession(b.ID)
		y.SessionToken, y.Expires = x.SessionToken, c.instant(2*time.Hour)
		add("a session token in use", "CreateSession", func() (any, error) { return record(c.a.CreateSession(c.ctx, y)) }, func() string {
			return c.without("GetSessionAndUser", c.getSession(y.SessionToken), &adapter.SessionAndUser{Session: y, User: *b})
		})
	}
	if c.stores(AuthenticatorRecord) {
		x := c.authenticator(a.ID)
		y := c.newAuthenticator(b.ID)
		y.CredentialID, y.Counter = x.CredentialID, 3
		add("a credential ID in use", "CreateAuthenticator", func() (any, error) { return record(c.a.CreateAuthenticator(c.ctx, y)) },
			func() string { return c.without("GetAuthenticator", c.getAuthenticator(y.CredentialID), &y) })
	}
	return all
}

// unknowns returns updates of records that do not exist.
func (c *clauseContext) unknowns() []conflict {
	var all []conflict
	if c.works("UpdateUser") {
		update := c.userUpdate(c.id(), userFields)
		all = append(all, conflict{"an unknown user", "UpdateUser", func() (any, error) { return record(c.a.UpdateUser(c.ctx, update)) }, func() string {
			if !c.works("GetUser") || c.getUser(update.ID) != nil {
				return ""
			}
			return fmt.Sprintf("GetUser(%q): absent", update.ID)
		}})
	}
	if c.works("UpdateAuthenticatorCounter") {
		id := c.unique("credential")
		all = append(all, conflict{"an unknown credential", "UpdateAuthenticatorCounter", func() (any, error) {
			return record(c.a.UpdateAuthenticatorCounter(c.ctx, id, 9))
		}, func() string {
			if !c.works("GetAuthenticator") || c.getAuthenticator(id) != nil {
				return ""
			}
			return fmt.Sprintf("GetAuthenticator(%q): absent", id)
		}})
	}
	return all
}
