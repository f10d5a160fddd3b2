package kit

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Write is a method that changes the store. ERR and LIFE call each one with
// and without faults, and check afterwards whether the change is stored.
type Write struct {
	// read is a method that shows the change.
	Method, read string
	// Prepare makes the records that the write works on. It returns the write, and a function that describes what is
	// missing of the change in the store, or returns "" if nothing is.
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

// ownedDraft returns a record of the kind, and the user whose it is.
func ownedDraft(c *Context, kind Kind) *Draft {
	if kind == VerificationTokenRecord {
		return NewDraft(c, kind, "")
	}
	u := c.User()
	d := NewDraft(c, kind, u.ID)
	d.User = *u
	return d
}

// creating is the creation of a record of the kind.
func creating(kind Kind) Write {
	return Write{KindOf(kind).Create, KindOf(kind).Read, func(c *Context) (Call, func() string) {
		d := ownedDraft(c, kind)
		return d.Create(), holds(c, d.Read(), d.Found())
	}}
}

// removing is the removal of a record of the kind.
func removing(method string, kind Kind) Write {
	return Write{method, KindOf(kind).Read, func(c *Context) (Call, func() string) {
		d := ownedDraft(c, kind)
		if kind != UserRecord {
			d.Store(c, c.Adapter)
		}
		return d.Remove(), gone(c, d.Read())
	}}
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
	removing("DeleteUser", UserRecord),
	creating(AccountRecord),
	removing("UnlinkAccount", AccountRecord),
	creating(SessionRecord),
	{"UpdateSession", "GetSessionAndUser", func(c *Context) (Call, func() string) {
		d := ownedDraft(c, SessionRecord)
		d.Store(c, c.Adapter)
		d.Session.Expires = c.Instant(3 * time.Hour)
		return ExtendSession(d.Session.SessionToken, d.Session.Expires), holds(c, d.Read(), d.Found())
	}},
	removing("DeleteSession", SessionRecord),
	creating(VerificationTokenRecord),
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
	creating(AuthenticatorRecord),
	{"UpdateAuthenticatorCounter", "GetAuthenticator", func(c *Context) (Call, func() string) {
		x := c.Authenticator(c.User().ID)
		x.Counter += 1000
		return UpdateAuthenticatorCounter(x.CredentialID, x.Counter), holds(c, GetAuthenticator(x.CredentialID), &x)
	}},
}

// Writes returns the writes whose methods the adapter has; the clause does not apply if there is none.
func Writes(c *Context) []Write {
	works := func(w Write) bool { return c.Works(w.Method) && c.Works(w.read) }
	return Applicable(c, writes, works, "the adapter has no write that can be read back")
}

// Conflict is a write that must fail, because the record that it creates
// exists already, or because the record that it changes does not exist.
type Conflict struct {
	What string
	Call
	// Missing is as in write. It is used if the call succeeds.
	Missing func() string
}

// Try makes the call.
func (x Conflict) Try(c *Context) (any, error) { return x.Do(c.Ctx, c.Adapter) }

// Conflicts returns one conflict for each unique key.
func Conflicts(c *Context) (all []Conflict) {
	add := func(what string, k Call, missing func() string) {
		if c.Works(k.Method) {
			all = append(all, Conflict{what, k, missing})
		}
	}
	if c.Stores(UserRecord) && c.Works("GetUserByEmail") {
		a, b := c.User(), c.User()
		twin := UserAt(c, a.Email)
		add("a taken e-mail address", CreateUser(twin), func() string {
			twin.ID = c.GetUserByEmail(twin.Email).ID
			return Without(c, "GetUserByEmail", c.GetUserByEmail(twin.Email), &twin)
		})
		update := adapter.UserUpdate{ID: b.ID, Email: adapter.To(a.Email)}
		update.Apply(b)
		add("a change to a taken e-mail address", UpdateUser(update), holds(c, GetUser(b.ID), b))
		if !AssignsIDs(c) {
			same := UserNamed(c, a.ID)
			add("a taken user ID", CreateUser(same), holds(c, GetUserByEmail(same.Email), &same))
		}
	}
	if !c.Works("CreateUser") {
		return all
	}
	a, b := c.User(), c.User()
	for _, x := range []struct {
		kind Kind
		what string
	}{{AccountRecord, "a taken account"}, {SessionRecord, "a session token in use"}, {AuthenticatorRecord, "a credential ID in use"}} {
		if !c.Stores(x.kind) {
			continue
		}
		d := NewDraft(c, x.kind, a.ID)
		d.Store(c, c.Adapter)
		twin := NewDraft(c, x.kind, b.ID)
		twin.TakeKey(d)
		twin.User, twin.Session.Expires, twin.Authenticator.Counter = *b, c.Instant(2*time.Hour), 3
		add(x.what, twin.Create(), holds(c, twin.Read(), twin.Found()))
	}
	return all
}

// Unknowns returns updates of records that do not exist.
func Unknowns(c *Context) []Conflict {
	there := func(read Call) func() string {
		return func() string {
			if !c.Works(read.Method) || !IsNilRecord(Of[any](c, read)) {
				return ""
			}
			return fmt.Sprintf("%s(%s): absent", read.Method, diff.Show(read.Args...))
		}
	}
	var all []Conflict
	if c.Works("UpdateUser") {
		update := UserUpdate(c, c.ID(), UserFields)
		all = append(all, Conflict{"an unknown user", UpdateUser(update), there(GetUser(update.ID))})
	}
	if c.Works("UpdateAuthenticatorCounter") {
		id := c.Unique("credential")
		all = append(all, Conflict{"an unknown credential", UpdateAuthenticatorCounter(id, 9), there(GetAuthenticator(id))})
	}
	return all
}
