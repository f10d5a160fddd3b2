package kit

import (
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Keys returns the keys of the records that a sign-up stores.
func (s SignUp) Keys() Keys {
	look := Keys{Emails: []string{s.User.Email}}
	if s.User.ID != "" {
		look.Users = []string{s.User.ID}
	}
	if s.Account.Provider != "" && s.Account.ProviderAccountID != "" {
		look.Accounts = []adapter.AccountKey{s.Account.Key()}
	}
	if s.Authenticator.CredentialID != "" {
		look.Credentials = []string{s.Authenticator.CredentialID}
	}
	return look
}

// Fixture is what a call of every method needs: a user with one record of each
// kind, and one record of each kind that is not stored yet.
type Fixture struct {
	User          adapter.User
	Account       adapter.Account
	Session       adapter.Session
	Token         adapter.VerificationToken
	Authenticator adapter.Authenticator

	NewUser          adapter.User
	NewAccount       adapter.Account
	NewSession       adapter.Session
	NewToken         adapter.VerificationToken
	NewAuthenticator adapter.Authenticator
	UserUpdate       adapter.UserUpdate
	SessionUpdate    adapter.SessionUpdate

	// Passkey is the account that the authenticator is connected to. It is
	// stored if the adapter can delete authenticators.
	Passkey       adapter.Account
	SignUp        SignUp
	accountUpdate adapter.AccountUpdate
	Touched       time.Time
}

// SignUp is a new user with the first ways to sign in.
type SignUp struct {
	User          adapter.User
	Account       adapter.Account
	Authenticator adapter.Authenticator
}

// NewSignUp returns a user with an ID, and an account and an authenticator
// that are connected and have no owner yet.
func NewSignUp(c *Context) SignUp {
	var s SignUp
	s.User = c.NewUser()
	s.User.ID = c.ID()
	s.Account = c.NewAccount("")
	s.Account.Type = adapter.AccountWebAuthn
	s.Authenticator = c.NewAuthenticator("")
	s.Authenticator.ProviderAccountID = s.Account.ProviderAccountID
	return s
}

// NewFixture creates the records of a fixture through an adapter.
func NewFixture(c *Context, a adapter.Adapter) *Fixture {
	var k Fixture
	put := func(kind Kind) any {
		r := KindOf(kind).Fresh(c, k.User.ID)
		if c.Works(r.Create.Method) {
			r.Store(c, a)
		}
		return r.Value
	}
	k.User = *put(UserRecord).(*adapter.User)
	k.Account = *put(AccountRecord).(*adapter.Account)
	k.Session = *put(SessionRecord).(*adapter.Session)
	k.Token = *put(VerificationTokenRecord).(*adapter.VerificationToken)
	k.Authenticator = *put(AuthenticatorRecord).(*adapter.Authenticator)
	k.Passkey = c.NewAccount(k.User.ID)
	k.Passkey.Type, k.Passkey.ProviderAccountID = adapter.AccountWebAuthn, k.Authenticator.ProviderAccountID
	if Connects(c) {
		if _, err := a.LinkAccount(c.Ctx, k.Passkey); err != nil {
			c.Fatalf("LinkAccount: %v", err)
		}
	}
	k.NewUser = c.NewUser()
	k.NewUser.ID = c.ID()
	k.NewAccount, k.NewSession, k.NewToken = c.NewAccount(k.User.ID), c.NewSession(k.User.ID), c.NewToken()
	k.NewAuthenticator = c.NewAuthenticator(k.User.ID)
	k.UserUpdate = UserUpdate(c, k.User.ID, UserFields)
	k.SessionUpdate = adapter.SessionUpdate{SessionToken: k.Session.SessionToken, Expires: adapter.To(c.Instant(3 * time.Hour))}
	k.SignUp = NewSignUp(c)
	k.accountUpdate = AccountUpdate(c, k.Account.Key(), AccountFields)
	k.Touched = c.Instant(0)
	return &k
}

// Connects reports whether the adapter deletes an account together with the
// authenticator that is connected to it.
func Connects(c *Context) bool {
	return c.Works("DeleteAuthenticator") && c.Stores(AccountRecord)
}

// Keys returns the keys of all records of the fixture except verification
// tokens.
func (k *Fixture) Keys() Keys {
	email, _ := k.UserUpdate.Email.Get()
	return Keys{
		Users:       []string{k.User.ID, k.NewUser.ID, k.SignUp.User.ID},
		Emails:      []string{k.User.Email, email, k.NewUser.Email, k.SignUp.User.Email},
		Accounts:    []adapter.AccountKey{k.Account.Key(), k.NewAccount.Key(), k.Passkey.Key(), k.SignUp.Account.Key()},
		Sessions:    []string{k.Session.SessionToken, k.NewSession.SessionToken},
		Credentials: []string{k.Authenticator.CredentialID, k.NewAuthenticator.CredentialID, k.SignUp.Authenticator.CredentialID},
	}
}
