package adaptertest

import (
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// fixture is what a call of every method needs: a user with one record of each
// kind, and one record of each kind that is not stored yet.
type fixture struct {
	user          adapter.User
	account       adapter.Account
	session       adapter.Session
	token         adapter.VerificationToken
	authenticator adapter.Authenticator

	newUser          adapter.User
	newAccount       adapter.Account
	newSession       adapter.Session
	newToken         adapter.VerificationToken
	newAuthenticator adapter.Authenticator
	userUpdate       adapter.UserUpdate
	sessionUpdate    adapter.SessionUpdate

	// passkey is the account that the authenticator is connected to. It is
	// stored if the adapter can delete authenticators.
	passkey       adapter.Account
	signUp        signUp
	accountUpdate adapter.AccountUpdate
	touched       time.Time
}

// signUp is a new user with the first ways to sign in.
type signUp struct {
	user          adapter.User
	account       adapter.Account
	authenticator adapter.Authenticator
}

// newSignUp returns a user with an ID, and an account and an authenticator
// that are connected and have no owner yet.
func (c *clauseContext) newSignUp() signUp {
	var s signUp
	s.user = c.newUser()
	s.user.ID = c.id()
	s.account = c.newAccount("")
	s.account.Type = adapter.AccountWebAuthn
	s.authenticator = c.newAuthenticator("")
	s.authenticator.ProviderAccountID = s.account.ProviderAccountID
	return s
}

// newFixture creates the records of a fixture through an adapter.
func (c *clauseContext) newFixture(a adapter.Adapter) *fixture {
	var k fixture
	put := func(kind Kind) any {
		r := kindOf(kind).fresh(c, k.user.ID)
		if c.works(r.create.method) {
			r.store(c, a)
		}
		return r.value
	}
	k.user = *put(UserRecord).(*adapter.User)
	k.account = *put(AccountRecord).(*adapter.Account)
	k.session = *put(SessionRecord).(*adapter.Session)
	k.token = *put(VerificationTokenRecord).(*adapter.VerificationToken)
	k.authenticator = *put(AuthenticatorRecord).(*adapter.Authenticator)
	k.passkey = c.newAccount(k.user.ID)
	k.passkey.Type, k.passkey.ProviderAccountID = adapter.AccountWebAuthn, k.authenticator.ProviderAccountID
	if c.connects() {
		if _, err := a.LinkAccount(c.ctx, k.passkey); err != nil {
			c.Fatalf("LinkAccount: %v", err)
		}
	}
	k.newUser = c.newUser()
	k.newUser.ID = c.id()
	k.newAccount, k.newSession, k.newToken = c.newAccount(k.user.ID), c.newSession(k.user.ID), c.newToken()
	k.newAuthenticator = c.newAuthenticator(k.user.ID)
	k.userUpdate = c.userUpdate(k.user.ID, userFields)
	k.sessionUpdate = adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(c.instant(3 * time.Hour))}
	k.signUp = c.newSignUp()
	k.accountUpdate = c.accountUpdate(k.account.Key(), accountFields)
	k.touched = c.instant(0)
	return &k
}

// connects reports whether the adapter deletes an account together with the
// authenticator that is connected to it.
func (c *clauseContext) connects() bool {
	return c.works("DeleteAuthenticator") && c.stores(AccountRecord)
}

// keys returns the keys of all records of the fixture except verification
// tokens.
func (k *fixture) keys() keys {
	email, _ := k.userUpdate.Email.Get()
	return keys{
		users:       []string{k.user.ID, k.newUser.ID, k.signUp.user.ID},
		emails:      []string{k.user.Email, email, k.newUser.Email, k.signUp.user.Email},
		accounts:    []adapter.AccountKey{k.account.Key(), k.newAccount.Key(), k.passkey.Key(), k.signUp.account.Key()},
		sessions:    []string{k.session.SessionToken, k.newSession.SessionToken},
		credentials: []string{k.authenticator.CredentialID, k.newAuthenticator.CredentialID, k.signUp.authenticator.CredentialID},
	}
}

// model returns a model that holds the fixture.
func (k *fixture) model(c *clauseContext) *model.Model {
	m := model.New()
	m.Tokens[k.token.Key()] = k.token
	if !c.works("CreateUser") {
		return m
	}
	m.Users[k.user.ID] = k.user
	if c.works("LinkAccount") {
		m.Accounts[k.account.Key()] = k.account
	}
	if c.works("CreateSession") {
		m.Sessions[k.session.SessionToken] = k.session
	}
	if c.works("CreateAuthenticator") {
		m.Authenticators[k.authenticator.CredentialID] = k.authenticator
	}
	if c.connects() {
		m.Accounts[k.passkey.Key()] = k.passkey
	}
	return m
}

// surround gives a user two records of each kind but one, so that a list of that
// kind which joins another one would have each record twice. The accounts and
// authenticators are connected to the account IDs.
func (c *clauseContext) surround(userID string, but Kind, connections ...string) {
	for _, kind := range []Kind{AccountRecord, SessionRecord, AuthenticatorRecord} {
		if kind == but || !c.works(kindOf(kind).create) {
			continue
		}
		for range 2 {
			for _, connection := range append(connections, c.unique("connection")) {
				switch kind {
				case AccountRecord:
					x := c.newAccount(userID)
					x.Type, x.Provider, x.ProviderAccountID = adapter.AccountWebAuthn, c.unique("provider"), connection
					c.linkAccount(x)
				case SessionRecord:
					c.session(userID)
				case AuthenticatorRecord:
					x := c.newAuthenticator(userID)
					x.ProviderAccountID = connection
					c.createAuthenticator(x)
				}
			}
		}
	}
}
