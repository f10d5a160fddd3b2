package adaptertest

import (
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// uninvolvedUser is a user with one record of each kind, whom a clause does not use
// and must not change. The lookups before the clause are compared with those after
// it. A store that loses a record at once breaks other clauses.
type uninvolvedUser struct {
	id            string
	user          *adapter.User
	byEmail       *adapter.User
	accountKey    adapter.AccountKey
	account       *adapter.Account
	byAccount     *adapter.User
	sessionToken  string
	session       *adapter.SessionAndUser
	token         *adapter.VerificationToken
	credentialID  string
	authenticator *adapter.Authenticator
	list          []adapter.Authenticator
	accountList   []adapter.Account
	sessionList   []adapter.Session
}

// addUninvolved creates the uninvolved user. It leaves out a kind of record that can't
// be created.
func (c *clauseContext) addUninvolved() *uninvolvedUser {
	var b uninvolvedUser
	for _, kind := range recordKinds {
		if kind.kind != UserRecord && kind.kind != VerificationTokenRecord && b.id == "" {
			continue
		}
		r := kind.fresh(c, b.id)
		if kind.kind == UserRecord {
			r.create = createUser(c.newUser()) // the adapter assigns its ID
		}
		made, err := r.create.do(c.ctx, c.raw)
		if err != nil {
			continue
		}
		switch x := r.value.(type) {
		case *adapter.User:
			if u, _ := made.(*adapter.User); u != nil {
				b.id = u.ID
			}
		case *adapter.Account:
			b.accountKey = x.Key()
		case *adapter.Session:
			b.sessionToken = x.SessionToken
		case *adapter.VerificationToken:
			b.token = x
		case *adapter.Authenticator:
			b.credentialID = x.CredentialID
		}
	}
	c.wrote()
	b.read(c, c.raw)
	return &b
}

// read looks up all records of the uninvolved user except the verification token,
// which a lookup would use up.
func (b *uninvolvedUser) read(c *clauseContext, a adapter.Adapter) {
	c.settle()
	if b.id != "" {
		b.user, _ = a.GetUser(c.ctx, b.id)
		b.list, _ = a.ListAuthenticatorsByUserID(c.ctx, b.id)
		if c.works("ListAccountsByUserID") {
			b.accountList, _ = optional[adapter.AccountLists](a).ListAccountsByUserID(c.ctx, b.id)
		}
		if c.works("ListSessionsByUserID") {
			b.sessionList, _ = optional[adapter.SessionLists](a).ListSessionsByUserID(c.ctx, b.id)
		}
	}
	if b.user != nil {
		b.byEmail, _ = a.GetUserByEmail(c.ctx, b.user.Email)
	}
	if b.accountKey != (adapter.AccountKey{}) {
		b.account, _ = a.GetAccount(c.ctx, b.accountKey.ProviderAccountID, b.accountKey.Provider)
		b.byAccount, _ = a.GetUserByAccount(c.ctx, b.accountKey)
	}
	if b.sessionToken != "" {
		b.session, _ = a.GetSessionAndUser(c.ctx, b.sessionToken)
	}
	if b.credentialID != "" {
		b.authenticator, _ = a.GetAuthenticator(c.ctx, b.credentialID)
	}
}

// check compares the uninvolved user's records with those before the clause.
func (b *uninvolvedUser) check(c *clauseContext, a adapter.Adapter) {
	defer c.inThreeLines(c.breaches())
	after := *b
	c.wrote()
	after.read(c, a)
	for _, r := range []struct {
		what      string
		got, want any
	}{
		{"user", after.user, b.user},
		{"user by e-mail", after.byEmail, b.byEmail},
		{"account", after.account, b.account},
		{"user by account", after.byAccount, b.byAccount},
		{"session and user", after.session, b.session},
		{"authenticator", after.authenticator, b.authenticator},
		{"list of accounts", after.accountList, b.accountList},
		{"list of sessions", after.sessionList, b.sessionList},
	} {
		c.same("the uninvolved user's "+r.what+" changed", r.got, r.want)
	}
	c.sameAuthenticators("the uninvolved user's list of authenticators changed", after.list, b.list)
	if b.token != nil {
		if t, err := a.UseVerificationToken(c.ctx, b.token.Key()); err == nil && t == nil {
			c.Errorf("the uninvolved user's verification token is absent")
		}
	}
}

// breaches returns how many breaches were reported.
func (c *clauseContext) breaches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.failures)
}

// inThreeLines shortens the list of breaches after the first n to three lines. The
// last line gives the number of the others.
func (c *clauseContext) inThreeLines(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if more := len(c.failures) - n - 2; more > 1 {
		c.failures = append(c.failures[:n+2], fmt.Sprintf("and %d more differences of the uninvolved user", more))
	}
}
