package adaptertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var signUpMethods = []string{"CreateUserWithAccount"}

var signupClauses = []check{
	{id: "SIGNUP-01", words: "user-account-and-passkey-are-stored", requires: signUpMethods, run: func(c *clauseContext) {
		for _, withPasskey := range []bool{false, true} {
			for _, withID := range []bool{true, false} {
				s := c.newSignUp()
				if !withID {
					s.user.ID = ""
				}
				c.signedUp(s, withPasskey && c.works("CreateAuthenticator"))
			}
		}
		bare := c.newSignUp()
		bare.user.Name, bare.user.EmailVerified, bare.user.Image = nil, nil, nil
		bare.account = adapter.Account{Type: adapter.AccountOAuth, Provider: bare.account.Provider, ProviderAccountID: bare.account.ProviderAccountID}
		c.signedUp(bare, false)
	}},
	{id: "SIGNUP-02", words: "new-user-owns-what-is-stored", requires: signUpMethods, run: func(c *clauseContext) {
		other := c.residents(1)
		for _, stated := range []string{other[0].id, c.id(), "nobody"} {
			s := c.newSignUp()
			s.account.UserID, s.authenticator.UserID = stated, stated
			c.signedUp(s, c.works("CreateAuthenticator"))
		}
		c.intact(other)
	}},
	{id: "SIGNUP-03", words: "conflict-leaves-nothing-behind", requires: append(signUpMethods, "CreateUser"), run: signUpConflicts},
	{id: "SIGNUP-04", words: "failed-sign-up-leaves-all-or-nothing", needs: needsFaults, requires: signUpMethods, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"CreateUserWithAccount"}, func(x faulted) {
			done, whole := c.wholeOrNone(x)
			if !whole || done || x.err == nil {
				return
			}
			u, err := x.call.do(c.ctx, c.a)
			if err != nil || isNilRecord(u) {
				if done, whole := c.wholeOrNone(x); done && whole {
					return // the first try took effect late, which CTX-07 judges
				}
				c.Errorf("%s: trying again: got %s, error %v", x, diff.Show(u), err)
			}
		})
	}},
	{id: "SIGNUP-05", words: "one-of-concurrent-sign-ups-wins", races: true, requires: append(signUpMethods, "GetUserByEmail", "GetUserByAccount"), run: func(c *clauseContext) {
		for _, shared := range []string{"e-mail", "account", "credential"} {
			if shared == "credential" && !c.works("CreateAuthenticator") {
				continue
			}
			c.race(4, func(n, round int) raceCase { return c.arrangeSignUps(n, round, shared) })
		}
		c.race(2, func(_, round int) raceCase { return c.arrangeSignUpAndLook(round) })
		if c.works("LinkAccount") {
			holder := c.user()
			c.race(2, func(_, round int) raceCase { return c.arrangeSignUpAndLink(round, holder) })
		}
	}},
	{id: "SIGNUP-06", words: "incomplete-sign-up-is-refused", requires: signUpMethods, run: func(c *clauseContext) {
		for what, spoil := range map[string]func(*signUp){
			"an empty provider":            func(s *signUp) { s.account.Provider = "" },
			"an empty provider account id": func(s *signUp) { s.account.ProviderAccountID = "" },
			"an empty credential id":       func(s *signUp) { s.authenticator.CredentialID = "" },
		} {
			if what == "an empty credential id" && !c.works("CreateAuthenticator") {
				continue
			}
			s := c.newSignUp()
			spoil(&s)
			k := s.call()
			got, err := k.do(c.ctx, c.a)
			if c.fails("CreateUserWithAccount with "+what, got, err) {
				c.nothingOfSignUp("CreateUserWithAccount with "+what, s)
			}
		}
		s := c.newSignUp()
		cancelled, cancel := context.WithCancel(c.ctx)
		cancel()
		got, err := s.call().do(cancelled, c.a)
		c.fails("CreateUserWithAccount with a cancelled context", got, err)
		c.nothingOfSignUp("CreateUserWithAccount with a cancelled context", s)
		c.signedUp(s, c.works("CreateAuthenticator"))
	}},
}

// signedUp signs up and compares the results of every lookup with the given
// records.
func (c *clauseContext) signedUp(s signUp, withPasskey bool) {
	var passkey *adapter.Authenticator
	if withPasskey {
		passkey = new(s.authenticator)
	}
	user, account := s.user, s.account
	got, err := optional[adapter.SignUps](c.a).CreateUserWithAccount(c.ctx, user, account, passkey)
	mustRecord(c, "CreateUserWithAccount", got, err)
	if passkey != nil {
		c.same("the argument of CreateUserWithAccount, after the call", passkey, &s.authenticator)
	}
	want := s.user
	if got.ID == "" {
		c.Fatalf("CreateUserWithAccount returned a user without an ID")
	}
	if s.user.ID != "" && got.ID != s.user.ID && !c.harness().Declarations.AssignsIDs {
		c.Errorf("CreateUserWithAccount replaced the ID %q by %q, which is not declared", s.user.ID, got.ID)
	}
	want.ID = got.ID
	want.Email = c.addressAs(want.Email, got.Email)
	s.account.UserID, s.authenticator.UserID = got.ID, got.ID
	c.same("what CreateUserWithAccount returned", got, &want)
	c.same("GetUser after CreateUserWithAccount", c.getUser(got.ID), &want)
	c.same("GetUserByEmail after CreateUserWithAccount", c.getUserByEmail(s.user.Email), &want)
	c.same("GetAccount after CreateUserWithAccount", c.getAccount(s.account.Key()), &s.account)
	c.same("GetUserByAccount after CreateUserWithAccount", c.getUserByAccount(s.account.Key()), &want)
	var credentials []adapter.Authenticator
	if withPasskey {
		credentials = append(credentials, s.authenticator)
		if c.works("GetAuthenticator") {
			c.same("GetAuthenticator after CreateUserWithAccount", c.getAuthenticator(s.authenticator.CredentialID), &s.authenticator)
		}
	}
	if c.works("ListAuthenticatorsByUserID") {
		c.sameAuthenticators("ListAuthenticatorsByUserID after CreateUserWithAccount", c.listAuthenticators(got.ID), credentials)
	}
	if c.works("ListAccountsByUserID") {
		c.same("ListAccountsByUserID after CreateUserWithAccount", of[[]adapter.Account](c, listAccounts(got.ID)), []adapter.Account{s.account})
	}
}

// keys returns the keys of the records that a sign-up stores.
func (s signUp) keys() keys {
	look := keys{emails: []string{s.user.Email}}
	if s.user.ID != "" {
		look.users = []string{s.user.ID}
	}
	if s.account.Provider != "" && s.account.ProviderAccountID != "" {
		look.accounts = []adapter.AccountKey{s.account.Key()}
	}
	if s.authenticator.CredentialID != "" {
		look.credentials = []string{s.authenticator.CredentialID}
	}
	return look
}

// nothingOfSignUp reports the records that a failed sign-up has left.
func (c *clauseContext) nothingOfSignUp(what string, s signUp) {
	if err := c.nothingOf(s.keys()); err != nil {
		c.Errorf("%s left something behind: %v", what, err)
	}
}

// signUpConflicts is SIGNUP-03.
func signUpConflicts(c *clauseContext) {
	passkeys := c.stores(AuthenticatorRecord)
	for _, taken := range []string{"user ID", "e-mail", "account", "credential"} {
		if taken == "credential" && !passkeys || taken == "user ID" && c.assignsIDs() {
			continue
		}
		holder := c.residents(1)[0]
		if holder.user == nil && taken == "e-mail" || holder.accountKey == (adapter.AccountKey{}) && taken == "account" {
			continue
		}
		s := c.newSignUp()
		free := s
		switch taken {
		case "user ID":
			s.user.ID = holder.id
		case "e-mail":
			s.user.Email = holder.user.Email
		case "account":
			s.account.Provider, s.account.ProviderAccountID = holder.accountKey.Provider, holder.accountKey.ProviderAccountID
		case "credential":
			s.authenticator.CredentialID = holder.credentialID
		}
		what := "CreateUserWithAccount with a taken " + taken
		got, err := s.call().do(c.ctx, c.a)
		if !c.fails(what, got, err) {
			continue
		}
		if !errors.Is(err, adapter.ErrConflict) {
			c.Errorf("%s: the error does not match ErrConflict: %v", what, err)
		}
		if errors.Is(err, adapter.ErrNotFound) {
			c.Errorf("%s: the error matches ErrNotFound: %v", what, err)
		}
		left := free
		switch taken { // the keys that the holder does not have
		case "user ID":
			left.user.ID = ""
		case "e-mail":
			left.user.Email = c.newUser().Email
		case "account":
			left.account.Provider = ""
		case "credential":
			left.authenticator.CredentialID = ""
		}
		c.nothingOfSignUp(what, left)
		c.intact([]*uninvolvedUser{holder})
		c.signedUp(free, passkeys) // the failed sign-up has reserved no key
	}
}

// arrangeSignUps lets sign-ups that share one key race.
func (c *clauseContext) arrangeSignUps(n, round int, shared string) raceCase {
	first := c.newSignUp()
	var k raceCase
	var tries []signUp
	for i := range n {
		s := c.newSignUp()
		switch shared {
		case "e-mail":
			s.user.Email = first.user.Email
		case "account":
			s.account.Provider, s.account.ProviderAccountID = first.account.Provider, first.account.ProviderAccountID
		case "credential":
			s.authenticator.CredentialID = first.authenticator.CredentialID
		}
		tries = append(tries, s)
		if shared == "e-mail" && round%4 == 3 && i == n-1 {
			k.calls = append(k.calls, createUser(s.user)) // a sign-up by e-mail
			tries[i].account.Provider, tries[i].authenticator.CredentialID = "", ""
			continue
		}
		k.calls = append(k.calls, s.call())
	}
	k.verify = func(h []operation) error {
		winners := 0
		for i, m := range h {
			if m.won() {
				winners++
				u := m.result.(*adapter.User)
				s := tries[i]
				if err := c.whole(s, u); err != nil {
					return fmt.Errorf("of the sign-up that won: %w", err)
				}
				continue
			}
			left := tries[i]
			switch shared {
			case "e-mail":
				left.user.Email = c.newUser().Email
			case "account":
				left.account.Provider = ""
			case "credential":
				left.authenticator.CredentialID = ""
			}
			if c.harness().Declarations.AssignsIDs {
				left.user.ID = ""
			}
			if err := c.nothingOf(left.keys()); err != nil {
				return fmt.Errorf("of a sign-up that failed (%w): %w", m.err, err)
			}
		}
		return unless(winners <= 1, "%d sign-ups with one %s succeeded", winners, shared)
	}
	return k
}

// whole compares the stored records of a successful sign-up with the given ones.
func (c *clauseContext) whole(s signUp, u *adapter.User) error {
	stored, err := c.raw.GetUserByEmail(c.ctx, s.user.Email)
	if err != nil {
		return err
	}
	if d := c.unlike(stored, u); d != "" {
		return fmt.Errorf("GetUserByEmail: %s", d)
	}
	if s.account.Provider != "" {
		owner, err := c.raw.GetUserByAccount(c.ctx, s.account.Key())
		if err != nil {
			return err
		}
		if d := c.unlike(owner, u); d != "" {
			return fmt.Errorf("GetUserByAccount: %s", d)
		}
	}
	if s.authenticator.CredentialID != "" && c.works("GetAuthenticator") {
		s.authenticator.UserID = u.ID
		found, err := c.raw.GetAuthenticator(c.ctx, s.authenticator.CredentialID)
		if err != nil {
			return err
		}
		if d := c.unlike(found, &s.authenticator); d != "" {
			return fmt.Errorf("GetAuthenticator: %s", d)
		}
	}
	return nil
}

// errSeenHalf means that a lookup during a sign-up found a part of it.
var errSeenHalf = errors.New("the user was seen without the account or the authenticator")

// arrangeSignUpAndLook lets a sign-up race with lookups of the user, and then of the
// account or of the authenticator.
func (c *clauseContext) arrangeSignUpAndLook(round int) raceCase {
	s := c.newSignUp()
	belonging := getUserByAccount(s.account.Key())
	if round/2%2 == 1 && c.works("GetAuthenticator") {
		belonging = getAuthenticator(s.authenticator.CredentialID)
	}
	look := newCall("GetUserByEmail, then "+belonging.method, func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		u, err := a.GetUserByEmail(ctx, s.user.Email)
		if err != nil || u == nil {
			return nil, err
		}
		found, err := belonging.do(ctx, a)
		if err == nil && isNilRecord(found) {
			err = errSeenHalf
		}
		return u, err
	}, s.user.Email, belonging.args)
	return raceCase{calls: []call{s.call(), look}, verify: func(h []operation) error {
		for _, m := range h {
			if errors.Is(m.err, errSeenHalf) {
				return m.err
			}
		}
		return nil
	}}
}

// arrangeSignUpAndLink lets a sign-up race with a user who links the same account
// or registers the same credential.
func (c *clauseContext) arrangeSignUpAndLink(round int, holder *adapter.User) raceCase {
	s := c.newSignUp()
	account, passkey := s.account, s.authenticator
	account.UserID, passkey.UserID = holder.ID, holder.ID
	byAccount := round/2%2 == 0 || !c.works("CreateAuthenticator") || !c.works("GetAuthenticator")
	other := createAuthenticator(passkey)
	if byAccount {
		other = linkAccount(account)
	}
	return raceCase{calls: []call{s.call(), other}, verify: func(h []operation) error {
		signedUp, linked := h[0].won(), h[1].won()
		if signedUp && linked {
			return fmt.Errorf("the sign-up and %s of a user both succeeded", other.method)
		}
		if signedUp {
			return c.whole(s, h[0].result.(*adapter.User))
		}
		left := s
		if c.harness().Declarations.AssignsIDs {
			left.user.ID = ""
		}
		owner := ""
		if byAccount {
			left.account.Provider = ""
			u, err := c.raw.GetUserByAccount(c.ctx, account.Key())
			if err != nil {
				return err
			}
			owner = userID(u)
		} else {
			left.authenticator.CredentialID = ""
			w, err := c.raw.GetAuthenticator(c.ctx, passkey.CredentialID)
			if err != nil {
				return err
			}
			if w != nil {
				owner = w.UserID
			}
		}
		return problems(c.nothingOf(left.keys()),
			unless(!linked || owner == holder.ID, "%s of user %q succeeded, and the owner is %q", other.method, holder.ID, owner))
	}}
}
