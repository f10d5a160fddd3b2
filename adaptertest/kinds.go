package adaptertest

import (
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// recordKind is a kind of record: the methods that create, read, change and
// remove a record, and a function that makes a new one.
type recordKind struct {
	kind Kind
	// create and read are methods that every adapter of the kind has. update and
	// remove are empty if the read does their work.
	create, read, update, remove string
	// fresh returns a record that is not stored yet, of the user if the kind has
	// an owner.
	fresh func(c *clauseContext, owner string) freshRecord
}

// freshRecord is a record that is not stored yet, with the calls that create,
// read, change and remove it.
type freshRecord struct {
	Record
	value  any // a pointer to the record
	create call
	read   call
	remove call
}

// recordKinds are the five kinds of record. A record of each can be created in
// this order.
var recordKinds = []recordKind{
	{UserRecord, "CreateUser", "GetUser", "UpdateUser", "DeleteUser", func(c *clauseContext, _ string) freshRecord {
		u := c.newUser()
		u.ID = c.id()
		return freshRecord{Record{Kind: UserRecord, Key: u.ID}, &u, createUser(u), getUser(u.ID), deleteUser(u.ID)}
	}},
	{AccountRecord, "LinkAccount", "GetAccount", "UpdateAccount", "UnlinkAccount", func(c *clauseContext, owner string) freshRecord {
		a := c.newAccount(owner)
		return freshRecord{Record{Kind: AccountRecord, Account: a.Key()}, &a, linkAccount(a), getAccount(a.Key()), unlinkAccount(a.Key())}
	}},
	{SessionRecord, "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession", func(c *clauseContext, owner string) freshRecord {
		s := c.newSession(owner)
		return freshRecord{Record{Kind: SessionRecord, Key: s.SessionToken}, &s, createSession(s), getSession(s.SessionToken), deleteSession(s.SessionToken)}
	}},
	{VerificationTokenRecord, "CreateVerificationToken", "UseVerificationToken", "", "", func(c *clauseContext, _ string) freshRecord {
		t := c.newToken()
		return freshRecord{Record{Kind: VerificationTokenRecord, Token: t.Key()}, &t, createToken(t), useToken(t.Key()), useToken(t.Key())}
	}},
	{AuthenticatorRecord, "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter", "DeleteAuthenticator", func(c *clauseContext, owner string) freshRecord {
		a := c.newAuthenticator(owner)
		return freshRecord{Record{Kind: AuthenticatorRecord, Key: a.CredentialID}, &a, createAuthenticator(a), getAuthenticator(a.CredentialID),
			deleteAuthenticator(owner, a.CredentialID, false)}
	}},
}

// kindOf returns the entry of a kind.
func kindOf(kind Kind) recordKind {
	return recordKinds[slices.IndexFunc(recordKinds, func(k recordKind) bool { return k.kind == kind })]
}

// store creates the record through an adapter. A failure ends the clause.
func (r freshRecord) store(c *clauseContext, a adapter.Adapter) {
	result, err := r.create.do(c.ctx, a)
	if err != nil {
		c.Fatalf("%s: %v", r.create.method, err)
	}
	if u, ok := result.(*adapter.User); ok {
		if u == nil {
			c.Fatalf("%s: returned no record", r.create.method)
		}
		r.value.(*adapter.User).ID = u.ID // the adapter may assign IDs
	}
}
