package kit

import (
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// RecordKind is a kind of record: the methods that create, read, change and
// remove a record, and a function that makes a new one.
type RecordKind struct {
	Kind Kind
	// Create and read are methods that every adapter of the kind has. update and
	// remove are empty if the read does their work.
	Create, read, update, remove string
	// Fresh returns a record that is not stored yet, of the user if the kind has
	// an owner.
	Fresh func(c *Context, owner string) FreshRecord
}

// FreshRecord is a record that is not stored yet, with the calls that create,
// read, change and remove it.
type FreshRecord struct {
	Record
	Value  any // a pointer to the record
	Create Call
	read   Call
	Remove Call
}

// RecordKinds are the five kinds of record. A record of each can be created in
// this order.
var RecordKinds = []RecordKind{
	{UserRecord, "CreateUser", "GetUser", "UpdateUser", "DeleteUser", func(c *Context, _ string) FreshRecord {
		u := c.NewUser()
		u.ID = c.ID()
		return FreshRecord{Record{Kind: UserRecord, Key: u.ID}, &u, CreateUser(u), GetUser(u.ID), DeleteUser(u.ID)}
	}},
	{AccountRecord, "LinkAccount", "GetAccount", "UpdateAccount", "UnlinkAccount", func(c *Context, owner string) FreshRecord {
		a := c.NewAccount(owner)
		return FreshRecord{Record{Kind: AccountRecord, Account: a.Key()}, &a, LinkAccount(a), GetAccountByKey(a.Key()), UnlinkAccount(a.Key())}
	}},
	{SessionRecord, "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession", func(c *Context, owner string) FreshRecord {
		s := c.NewSession(owner)
		return FreshRecord{Record{Kind: SessionRecord, Key: s.SessionToken}, &s, CreateSession(s), GetSessionAndUser(s.SessionToken), DeleteSession(s.SessionToken)}
	}},
	{VerificationTokenRecord, "CreateVerificationToken", "UseVerificationToken", "", "", func(c *Context, _ string) FreshRecord {
		t := c.NewToken()
		return FreshRecord{Record{Kind: VerificationTokenRecord, Token: t.Key()}, &t, CreateVerificationToken(t), UseVerificationToken(t.Key()), UseVerificationToken(t.Key())}
	}},
	{AuthenticatorRecord, "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter", "DeleteAuthenticator", func(c *Context, owner string) FreshRecord {
		a := c.NewAuthenticator(owner)
		return FreshRecord{Record{Kind: AuthenticatorRecord, Key: a.CredentialID}, &a, CreateAuthenticator(a), GetAuthenticator(a.CredentialID),
			DeleteAuthenticator(owner, a.CredentialID, false)}
	}},
}

// KindOf returns the entry of a kind.
func KindOf(kind Kind) RecordKind {
	return RecordKinds[slices.IndexFunc(RecordKinds, func(k RecordKind) bool { return k.Kind == kind })]
}

// Store creates the record through an adapter. A failure ends the clause.
func (r FreshRecord) Store(c *Context, a adapter.Adapter) {
	result, err := r.Create.Do(c.Ctx, a)
	if err != nil {
		c.Fatalf("%s: %v", r.Create.Method, err)
	}
	if u, ok := result.(*adapter.User); ok {
		if u == nil {
			c.Fatalf("%s: returned no record", r.Create.Method)
		}
		r.Value.(*adapter.User).ID = u.ID // the adapter may assign IDs
	}
}
