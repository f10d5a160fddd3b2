package kit

import (
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Draft is a record of each kind that is not stored yet, or a record of one kind, and changes of stored records.
type Draft struct {
	Kind          Kind // of a draft of one record
	User          adapter.User
	Account       adapter.Account
	Session       adapter.Session
	Token         adapter.VerificationToken
	Authenticator adapter.Authenticator
	Password      adapter.Password

	UserUpdate    adapter.UserUpdate
	SessionUpdate adapter.SessionUpdate
	accountUpdate adapter.AccountUpdate
	Touched       time.Time
}

// RecordKind is a kind of record, with methods that every adapter of the kind has.
type RecordKind struct {
	Kind         Kind
	Create, Read string
}

// RecordKinds are the five kinds of record. A record of each can be created in this order.
var RecordKinds = []RecordKind{
	{UserRecord, "CreateUser", "GetUser"},
	{AccountRecord, "LinkAccount", "GetAccount"},
	{SessionRecord, "CreateSession", "GetSessionAndUser"},
	{VerificationTokenRecord, "CreateVerificationToken", "UseVerificationToken"},
	{AuthenticatorRecord, "CreateAuthenticator", "GetAuthenticator"},
}

// KindOf returns the entry of a kind.
func KindOf(kind Kind) RecordKind {
	return RecordKinds[slices.IndexFunc(RecordKinds, func(k RecordKind) bool { return k.Kind == kind })]
}

// NewDraft returns a record of the kind, of the user if the kind has an owner.
func NewDraft(c *Context, kind Kind, owner string) *Draft {
	d := &Draft{}
	d.fill(c, kind, owner)
	return d
}

// fill makes the draft one of a record of the kind. Its other records stay.
func (d *Draft) fill(c *Context, kind Kind, owner string) {
	switch d.Kind = kind; kind {
	case UserRecord:
		d.User = UserWithID(c)
	case AccountRecord:
		d.Account = c.NewAccount(owner)
	case SessionRecord:
		d.Session = c.NewSession(owner)
	case VerificationTokenRecord:
		d.Token = c.NewToken()
	case AuthenticatorRecord:
		d.Authenticator = c.NewAuthenticator(owner)
	}
}

// NewSignUp returns a user with an ID, and an account and an authenticator that are connected and have no owner yet.
func NewSignUp(c *Context) Draft {
	d := *NewDraft(c, UserRecord, "")
	d.Account = c.NewAccount("")
	d.Account.Type = adapter.AccountWebAuthn
	d.Authenticator = c.NewAuthenticator("")
	d.Authenticator.ProviderAccountID = d.Account.ProviderAccountID
	return d
}

// NewEntrant returns a user with an ID, and a password that has no owner yet.
func NewEntrant(c *Context) Draft {
	d := *NewDraft(c, UserRecord, "")
	d.Password = NewPassword(c, "")
	return d
}

// parts are the record of a draft of one kind.
type parts struct {
	value                any // a pointer to the record
	name                 Record
	create, read, remove Call
}

func (d *Draft) parts() parts {
	name := Record{Kind: d.Kind}
	switch d.Kind {
	case AccountRecord:
		name.Account = d.Account.Key()
		return parts{&d.Account, name, LinkAccount(d.Account), GetAccountByKey(name.Account), UnlinkAccount(name.Account)}
	case SessionRecord:
		name.Key = d.Session.SessionToken
		return parts{&d.Session, name, CreateSession(d.Session), GetSessionAndUser(name.Key), DeleteSession(name.Key)}
	case VerificationTokenRecord:
		name.Token = d.Token.Key()
		use := UseVerificationToken(name.Token)
		return parts{&d.Token, name, CreateVerificationToken(d.Token), use, use}
	case AuthenticatorRecord:
		name.Key = d.Authenticator.CredentialID
		return parts{&d.Authenticator, name, CreateAuthenticator(d.Authenticator), GetAuthenticator(name.Key),
			DeleteAuthenticator(d.Authenticator.UserID, name.Key, false)}
	default:
		name.Key = d.User.ID
		return parts{&d.User, name, CreateUser(d.User), GetUser(name.Key), DeleteUser(name.Key)}
	}
}

// Value is a pointer to the record of a draft of one kind.
func (d *Draft) Value() any { return d.parts().value }

// Found is what a lookup of the record returns: a session comes with its user.
func (d *Draft) Found() any {
	if d.Kind == SessionRecord {
		return &adapter.SessionAndUser{Session: d.Session, User: d.User}
	}
	return d.Value()
}

// Look reads the record by its key and returns it, as Value does, or nil. An identifier may
// come back in another case, if that is declared.
func (d *Draft) Look(c *Context, a adapter.Adapter) (any, error) {
	got, err := d.Read().find(c, a)
	switch r := got.(type) {
	case *adapter.SessionAndUser:
		return &r.Session, err
	case *adapter.VerificationToken:
		r.Identifier = AddressAs(c, r.Identifier, d.Token.Identifier)
	}
	return got, err
}

// Give gives the records to the user.
func (d *Draft) Give(userID string) {
	d.Account.UserID, d.Session.UserID, d.Authenticator.UserID = userID, userID, userID
}

// NewDrafts returns a draft with a record of each kind, without an owner.
func NewDrafts(c *Context) Draft {
	return Draft{User: c.NewUser(), Account: c.NewAccount(""), Session: c.NewSession(""), Token: c.NewToken(), Authenticator: c.NewAuthenticator("")}
}

// TakeKey gives the record the key of another one.
func (d *Draft) TakeKey(of *Draft) {
	d.User.ID, d.Session.SessionToken, d.Authenticator.CredentialID = of.User.ID, of.Session.SessionToken, of.Authenticator.CredentialID
	d.Account.Provider, d.Account.ProviderAccountID = of.Account.Provider, of.Account.ProviderAccountID
	d.Token.Identifier, d.Token.Token = of.Token.Identifier, of.Token.Token
}

// Name names the record of a draft of one kind.
func (d *Draft) Name() Record { return d.parts().name }

// Create creates the record of a draft of one kind.
func (d *Draft) Create() Call { return d.parts().create }

// Read reads the record of a draft of one kind, by its key. A token is used up.
func (d *Draft) Read() Call { return d.parts().read }

// Remove removes the record of a draft of one kind.
func (d *Draft) Remove() Call { return d.parts().remove }

// Expires is the end of the session or the verification token.
func (d *Draft) Expires() time.Time {
	if d.Kind == VerificationTokenRecord {
		return d.Token.Expires
	}
	return d.Session.Expires
}

// Expire sets the end of the session and of the verification token.
func (d *Draft) Expire(at time.Time) { d.Session.Expires, d.Token.Expires = at, at }

// Store creates the record through an adapter. A failure ends the clause.
func (d *Draft) Store(c *Context, a adapter.Adapter) {
	result := Done(c, a, d.Create())
	if IsNilRecord(result) && d.Kind != VerificationTokenRecord {
		c.Fatalf("%s: returned no record", d.Create().Method)
	}
	if u, ok := result.(*adapter.User); ok {
		d.User.ID = u.ID // the adapter may assign IDs
	}
}

// StoredDraft creates, without the observer, a user and, if the kind is another, a record
// of the user. It returns both.
func StoredDraft(c *Context, kind Kind) *Draft {
	user := RawUser(c)
	if kind == UserRecord {
		return &Draft{Kind: kind, User: *user}
	}
	d := NewDraft(c, kind, user.ID)
	d.Store(c, c.Raw)
	d.User = *user
	return d
}

// Keys returns the keys of the records, except verification tokens.
func (d *Draft) Keys() Keys {
	look := Keys{Emails: []string{d.User.Email}}
	for _, kind := range RecordKinds {
		x := *d
		x.Kind = kind.Kind
		if name := x.Name(); name.Key != "" || name.Account.Provider != "" && name.Account.ProviderAccountID != "" {
			look.Add(name)
		}
	}
	return look
}

// Call is the call of CreateUserWithAccount with the authenticator.
func (d *Draft) Call() Call { return CreateUserWithAccount(d.User, d.Account, new(d.Authenticator)) }

// WithPassword is the call of CreateUserWithPassword.
func (d *Draft) WithPassword() Call { return CreateUserWithPassword(d.User, d.Password) }

// WithoutPasskey is the call of CreateUserWithAccount without the authenticator.
func (d *Draft) WithoutPasskey() Call { return CreateUserWithAccount(d.User, d.Account, nil) }
