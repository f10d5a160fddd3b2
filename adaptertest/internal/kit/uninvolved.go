package kit

import (
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Lasting compares the uninvolved user's records that never expire.
func (b *UninvolvedUser) Lasting(c *Context, when string) {
	lasting := *b
	lasting.SessionToken, lasting.Session, lasting.Token = "", nil, nil
	after := lasting
	after.User, after.byEmail, after.Account, after.byAccount, after.Authenticator, after.list = nil, nil, nil, nil, nil, nil
	after.read(c, c.Raw)
	if b.User != nil && after.User == nil {
		c.Errorf("a user is absent %s", when)
	}
	c.Same("a user "+when, after.User, b.User)
	c.Same("a user by e-mail "+when, after.byEmail, b.byEmail)
	c.Same("an account "+when, after.Account, b.Account)
	c.Same("a user by account "+when, after.byAccount, b.byAccount)
	c.Same("an authenticator "+when, after.Authenticator, b.Authenticator)
	c.SameAuthenticators("the list of authenticators "+when, after.list, b.list)
}

// UninvolvedUser is a user with one record of each kind, whom a clause does not use
// and must not change. The lookups before the clause are compared with those after
// it. A store that loses a record at once breaks other clauses.
type UninvolvedUser struct {
	ID            string
	User          *adapter.User
	byEmail       *adapter.User
	AccountKey    adapter.AccountKey
	Account       *adapter.Account
	byAccount     *adapter.User
	SessionToken  string
	Session       *adapter.SessionAndUser
	Token         *adapter.VerificationToken
	CredentialID  string
	Authenticator *adapter.Authenticator
	list          []adapter.Authenticator
	accountList   []adapter.Account
	sessionList   []adapter.Session
}

// addUninvolved creates the uninvolved user. It leaves out a kind of record that can't
// be created.
func addUninvolved(c *Context) *UninvolvedUser {
	var b UninvolvedUser
	for _, kind := range RecordKinds {
		if kind.Kind != UserRecord && kind.Kind != VerificationTokenRecord && b.ID == "" {
			continue
		}
		r := kind.Fresh(c, b.ID)
		if kind.Kind == UserRecord {
			r.Create = CreateUser(c.NewUser()) // the adapter assigns its ID
		}
		made, err := r.Create.Do(c.Ctx, c.Raw)
		if err != nil {
			continue
		}
		switch x := r.Value.(type) {
		case *adapter.User:
			if u, _ := made.(*adapter.User); u != nil {
				b.ID = u.ID
			}
		case *adapter.Account:
			b.AccountKey = x.Key()
		case *adapter.Session:
			b.SessionToken = x.SessionToken
		case *adapter.VerificationToken:
			b.Token = x
		case *adapter.Authenticator:
			b.CredentialID = x.CredentialID
		}
	}
	Wrote(c)
	b.read(c, c.Raw)
	return &b
}

// read looks up all records of the uninvolved user except the verification token,
// which a lookup would use up.
func (b *UninvolvedUser) read(c *Context, a adapter.Adapter) {
	c.Settle()
	if b.ID != "" {
		b.User, _ = a.GetUser(c.Ctx, b.ID)
		b.list, _ = a.ListAuthenticatorsByUserID(c.Ctx, b.ID)
		if c.Works("ListAccountsByUserID") {
			b.accountList, _ = Optional[adapter.AccountLists](a).ListAccountsByUserID(c.Ctx, b.ID)
		}
		if c.Works("ListSessionsByUserID") {
			b.sessionList, _ = Optional[adapter.SessionLists](a).ListSessionsByUserID(c.Ctx, b.ID)
		}
	}
	if b.User != nil {
		b.byEmail, _ = a.GetUserByEmail(c.Ctx, b.User.Email)
	}
	if b.AccountKey != (adapter.AccountKey{}) {
		b.Account, _ = a.GetAccount(c.Ctx, b.AccountKey.ProviderAccountID, b.AccountKey.Provider)
		b.byAccount, _ = a.GetUserByAccount(c.Ctx, b.AccountKey)
	}
	if b.SessionToken != "" {
		b.Session, _ = a.GetSessionAndUser(c.Ctx, b.SessionToken)
	}
	if b.CredentialID != "" {
		b.Authenticator, _ = a.GetAuthenticator(c.Ctx, b.CredentialID)
	}
}

// Check compares the uninvolved user's records with those before the clause.
func (b *UninvolvedUser) Check(c *Context, a adapter.Adapter) {
	defer inThreeLines(c, breaches(c))
	after := *b
	Wrote(c)
	after.read(c, a)
	for _, r := range []struct {
		what      string
		got, want any
	}{
		{"user", after.User, b.User},
		{"user by e-mail", after.byEmail, b.byEmail},
		{"account", after.Account, b.Account},
		{"user by account", after.byAccount, b.byAccount},
		{"session and user", after.Session, b.Session},
		{"authenticator", after.Authenticator, b.Authenticator},
		{"list of accounts", after.accountList, b.accountList},
		{"list of sessions", after.sessionList, b.sessionList},
	} {
		c.Same("the uninvolved user's "+r.what+" changed", r.got, r.want)
	}
	c.SameAuthenticators("the uninvolved user's list of authenticators changed", after.list, b.list)
	if b.Token != nil {
		if t, err := a.UseVerificationToken(c.Ctx, b.Token.Key()); err == nil && t == nil {
			c.Errorf("the uninvolved user's verification token is absent")
		}
	}
}

// breaches returns how many breaches were reported.
func breaches(c *Context) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.failures)
}

// inThreeLines shortens the list of breaches after the first n to three lines. The
// last line gives the number of the others.
func inThreeLines(c *Context, n int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if more := len(c.failures) - n - 2; more > 1 {
		c.failures = append(c.failures[:n+2], fmt.Sprintf("and %d more differences of the uninvolved user", more))
	}
}
