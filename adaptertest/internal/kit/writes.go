package kit

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Write is a method that changes the store. ERR and LIFE call each one with
// and without faults, and check afterwards whether the change is stored.
type Write struct {
	// read is a method that shows the change.
	Method, read string
	// Prepare makes the records that the write works on. It returns the write,
	// and a function that describes what is missing of the change in the store,
	// or returns "" if nothing is.
	Prepare func(c *Context) (change Call, missing func() string)
}

// Without compares a record with the record that a write should have stored.
func Without(c *Context, what string, got, want any) string {
	if d := c.Unlike(got, want); d != "" {
		return what + ": " + d
	}
	return ""
}

// holds describes how what the read returns differs from the wanted record.
func holds(c *Context, read Call, want any) func() string {
	return func() string { return Without(c, read.Method, Of[any](c, read), want) }
}

// gone describes a record that the read should no longer return.
func gone(c *Context, read Call) func() string {
	return func() string {
		if got := Of[any](c, read); !IsNilRecord(got) {
			return read.Method + " still finds " + diff.Show(got)
		}
		return ""
	}
}

var writes = []Write{
	{"CreateUser", "GetUserByEmail", func(c *Context) (Call, func() string) {
		u := c.NewUser()
		create := CreateUser(u).Yields(func(created any) any {
			if r, _ := created.(*adapter.User); r != nil {
				u.ID = r.ID // the adapter may assign it
			}
			return created
		})
		return create, holds(c, GetUserByEmail(u.Email), &u)
	}},
	{"UpdateUser", "GetUser", func(c *Context) (Call, func() string) {
		u := c.User()
		update := UserUpdate(c, u.ID, UserFields)
		update.Apply(u)
		return UpdateUser(update), holds(c, GetUser(u.ID), u)
	}},
	{"DeleteUser", "GetUser", func(c *Context) (Call, func() string) {
		id := c.User().ID
		return DeleteUser(id), gone(c, GetUser(id))
	}},
	{"LinkAccount", "GetAccount", func(c *Context) (Call, func() string) {
		x := c.NewAccount(c.User().ID)
		return LinkAccount(x), holds(c, GetAccountByKey(x.Key()), &x)
	}},
	{"UnlinkAccount", "GetAccount", func(c *Context) (Call, func() string) {
		key := c.Account(c.User().ID).Key()
		return UnlinkAccount(key), gone(c, GetAccountByKey(key))
	}},
	{"CreateSession", "GetSessionAndUser", func(c *Context) (Call, func() string) {
		u := c.User()
		x := c.NewSession(u.ID)
		return CreateSession(x), holds(c, GetSessionAndUser(x.SessionToken), &adapter.SessionAndUser{Session: x, User: *u})
	}},
	{"UpdateSession", "GetSessionAndUser", func(c *Context) (Call, func() string) {
		u := c.User()
		x := c.Session(u.ID)
		x.Expires = c.Instant(3 * time.Hour)
		update := adapter.SessionUpdate{SessionToken: x.SessionToken, Expires: adapter.To(x.Expires)}
		return UpdateSession(update), holds(c, GetSessionAndUser(x.SessionToken), &adapter.SessionAndUser{Session: x, User: *u})
	}},
	{"DeleteSession", "GetSessionAndUser", func(c *Context) (Call, func() string) {
		token := c.Session(c.User().ID).SessionToken
		return DeleteSession(token), gone(c, GetSessionAndUser(token))
	}},
	{"CreateVerificationToken", "UseVerificationToken", func(c *Context) (Call, func() string) {
		x := c.NewToken()
		return CreateVerificationToken(x), holds(c, UseVerificationToken(x.Key()), &x)
	}},
	{"UseVerificationToken", "UseVerificationToken", func(c *Context) (Call, func() string) {
		key := c.Token().Key()
		found := false
		use := UseVerificationToken(key).Yields(func(used any) any { found = !IsNilRecord(used); return used })
		return use, func() string {
			if !found {
				return "UseVerificationToken said that the pending token is absent"
			}
			return gone(c, UseVerificationToken(key))()
		}
	}},
	{"CreateAuthenticator", "GetAuthenticator", func(c *Context) (Call, func() string) {
		x := c.NewAuthenticator(c.User().ID)
		return CreateAuthenticator(x), holds(c, GetAuthenticator(x.CredentialID), &x)
	}},
	{"UpdateAuthenticatorCounter", "GetAuthenticator", func(c *Context) (Call, func() string) {
		x := c.Authenticator(c.User().ID)
		x.Counter += 1000
		return UpdateAuthenticatorCounter(x.CredentialID, x.Counter), holds(c, GetAuthenticator(x.CredentialID), &x)
	}},
}

// Writes returns the writes whose methods the adapter has; the clause does not
// apply if there is none.
func Writes(c *Context) []Write {
	have := slices.DeleteFunc(slices.Clone(writes), func(w Write) bool { return !c.Works(w.Method) || !c.Works(w.read) })
	if len(have) == 0 {
		c.NotApplicable("the adapter has no write that can be read back")
	}
	return have
}

// conflict is a write that must fail, because the record that it creates
// exists already, or because the record that it changes does not exist.
type conflict struct {
	What, Method string
	Do           func() (any, error)
	// Missing is as in write. It is used if the call succeeds.
	Missing func() string
}

// Conflicts returns one conflict for each unique key.
func Conflicts(c *Context) []conflict {
	var all []conflict
	add := func(what, method string, do func() (any, error), missing func() string) {
		if c.Works(method) {
			all = append(all, conflict{what, method, do, missing})
		}
	}
	if c.Stores(UserRecord) && c.Works("GetUserByEmail") {
		a, b := c.User(), c.User()
		twin := c.NewUser()
		twin.Email = a.Email
		add("a taken e-mail address", "CreateUser", func() (any, error) { return RecordOrNil(c.Adapter.CreateUser(c.Ctx, twin)) }, func() string {
			twin.ID = c.GetUserByEmail(twin.Email).ID
			return Without(c, "GetUserByEmail", c.GetUserByEmail(twin.Email), &twin)
		})
		add("a change to a taken e-mail address", "UpdateUser", func() (any, error) {
			return RecordOrNil(c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: b.ID, Email: adapter.To(a.Email)}))
		}, func() string { b.Email = a.Email; return Without(c, "GetUser", c.GetUser(b.ID), b) })
		if !AssignsIDs(c) {
			same := c.NewUser()
			same.ID = a.ID
			add("a taken user ID", "CreateUser", func() (any, error) {
				r, err := c.Adapter.CreateUser(c.Ctx, same)
				if err == nil && r != nil {
					same.ID = r.ID
				}
				return RecordOrNil(r, err)
			}, func() string { return Without(c, "GetUserByEmail", c.GetUserByEmail(same.Email), &same) })
		}
	}
	if !c.Works("CreateUser") {
		return all
	}
	a, b := c.User(), c.User()
	if c.Stores(AccountRecord) {
		x := c.Account(a.ID)
		y := c.NewAccount(b.ID)
		y.Provider, y.ProviderAccountID = x.Provider, x.ProviderAccountID
		add("a taken account", "LinkAccount", func() (any, error) { return RecordOrNil(c.Adapter.LinkAccount(c.Ctx, y)) },
			func() string { return Without(c, "GetAccount", c.GetAccount(y.Key()), &y) })
	}
	if c.Stores(SessionRecord) {
		x := c.Session(a.ID)
		y := c.NewSession(b.ID)
		y.SessionToken, y.Expires = x.SessionToken, c.Instant(2*time.Hour)
		add("a session token in use", "CreateSession", func() (any, error) { return RecordOrNil(c.Adapter.CreateSession(c.Ctx, y)) }, func() string {
			return Without(c, "GetSessionAndUser", c.GetSession(y.SessionToken), &adapter.SessionAndUser{Session: y, User: *b})
		})
	}
	if c.Stores(AuthenticatorRecord) {
		x := c.Authenticator(a.ID)
		y := c.NewAuthenticator(b.ID)
		y.CredentialID, y.Counter = x.CredentialID, 3
		add("a credential ID in use", "CreateAuthenticator", func() (any, error) { return RecordOrNil(c.Adapter.CreateAuthenticator(c.Ctx, y)) },
			func() string { return Without(c, "GetAuthenticator", c.GetAuthenticator(y.CredentialID), &y) })
	}
	return all
}

// Unknowns returns updates of records that do not exist.
func Unknowns(c *Context) []conflict {
	var all []conflict
	if c.Works("UpdateUser") {
		update := UserUpdate(c, c.ID(), UserFields)
		all = append(all, conflict{"an unknown user", "UpdateUser", func() (any, error) { return RecordOrNil(c.Adapter.UpdateUser(c.Ctx, update)) }, func() string {
			if !c.Works("GetUser") || c.GetUser(update.ID) != nil {
				return ""
			}
			return fmt.Sprintf("GetUser(%q): absent", update.ID)
		}})
	}
	if c.Works("UpdateAuthenticatorCounter") {
		id := c.Unique("credential")
		all = append(all, conflict{"an unknown credential", "UpdateAuthenticatorCounter", func() (any, error) {
			return RecordOrNil(c.Adapter.UpdateAuthenticatorCounter(c.Ctx, id, 9))
		}, func() string {
			if !c.Works("GetAuthenticator") || c.GetAuthenticator(id) != nil {
				return ""
			}
			return fmt.Sprintf("GetAuthenticator(%q): absent", id)
		}})
	}
	return all
}
