package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var signUpMethods = []string{"CreateUserWithAccount"}

var signupClauses = []kit.Check{
	{ID: "SIGNUP-01", Words: "user-account-and-passkey-are-stored", Requires: signUpMethods, Test: func(c *kit.Context) {
		for _, withPasskey := range []bool{false, true} {
			for _, withID := range []bool{true, false} {
				s := kit.NewSignUp(c)
				if !withID {
					s.User.ID = ""
				}
				signedUp(c, s, withPasskey && c.Works("CreateAuthenticator"))
			}
		}
		bare := kit.NewSignUp(c)
		bare.User.Name, bare.User.EmailVerified, bare.User.Image = nil, nil, nil
		bare.Account = adapter.Account{Type: adapter.AccountOAuth, Provider: bare.Account.Provider, ProviderAccountID: bare.Account.ProviderAccountID}
		signedUp(c, bare, false)
	}},
	{ID: "SIGNUP-02", Words: "new-user-owns-what-is-stored", Requires: signUpMethods, Test: func(c *kit.Context) {
		other := kit.Residents(c, 1)
		for _, stated := range []string{other[0].User.ID, c.ID(), "nobody"} {
			s := kit.NewSignUp(c)
			s.Account.UserID, s.Authenticator.UserID = stated, stated
			signedUp(c, s, c.Works("CreateAuthenticator"))
		}
		kit.Intact(c, other)
	}},
	{ID: "SIGNUP-03", Words: "conflict-leaves-nothing-behind", Requires: append(signUpMethods, "CreateUser"), Test: signUpConflicts},
	{ID: "SIGNUP-04", Words: "failed-sign-up-leaves-all-or-nothing", Needs: faulted.NeedsFaults, Requires: signUpMethods, Test: func(c *kit.Context) {
		faulted.Each(c, faulted.BreakingFaults, []string{"CreateUserWithAccount"}, func(x faulted.Case) {
			done, whole := faulted.WholeOrNone(c, x)
			if !whole || done || x.Err == nil {
				return
			}
			u, err := x.Call.Do(c.Ctx, c.Adapter)
			if err != nil || kit.IsNilRecord(u) {
				if done, whole := faulted.WholeOrNone(c, x); done && whole {
					return // the first try took effect late, which CTX-07 judges
				}
				c.Errorf("%s: trying again: got %s, error %v", x, diff.Show(u), err)
			}
		})
	}},
	{ID: "SIGNUP-05", Words: "one-of-concurrent-sign-ups-wins", Races: true, Requires: append(signUpMethods, "GetUserByEmail", "GetUserByAccount"), Test: func(c *kit.Context) {
		for _, shared := range []string{"e-mail", "account", "credential"} {
			if shared == "credential" && !c.Works("CreateAuthenticator") {
				continue
			}
			race.Run(c, 4, func(n, round int) race.Case { return arrangeSignUps(c, n, round, shared) })
		}
		race.Run(c, 2, func(_, round int) race.Case { return arrangeSignUpAndLook(c, round) })
		if c.Works("LinkAccount") {
			holder := c.User()
			race.Run(c, 2, func(_, round int) race.Case { return arrangeSignUpAndLink(c, round, holder) })
		}
	}},
	{ID: "SIGNUP-06", Words: "incomplete-sign-up-is-refused", Requires: signUpMethods, Test: func(c *kit.Context) {
		for what, spoil := range map[string]func(*kit.Draft){
			"an empty provider":            func(s *kit.Draft) { s.Account.Provider = "" },
			"an empty provider account id": func(s *kit.Draft) { s.Account.ProviderAccountID = "" },
			"an empty credential id":       func(s *kit.Draft) { s.Authenticator.CredentialID = "" },
		} {
			if what == "an empty credential id" && !c.Works("CreateAuthenticator") {
				continue
			}
			s := kit.NewSignUp(c)
			spoil(&s)
			k := s.Call()
			got, err := k.Do(c.Ctx, c.Adapter)
			if c.Fails("CreateUserWithAccount with "+what, got, err) {
				nothingOfSignUp(c, "CreateUserWithAccount with "+what, s)
			}
		}
		s := kit.NewSignUp(c)
		cancelled, cancel := context.WithCancel(c.Ctx)
		cancel()
		got, err := s.Call().Do(cancelled, c.Adapter)
		c.Fails("CreateUserWithAccount with a cancelled context", got, err)
		nothingOfSignUp(c, "CreateUserWithAccount with a cancelled context", s)
		signedUp(c, s, c.Works("CreateAuthenticator"))
	}},
}

// signedUp signs up and compares the results of every lookup with the given
// records.
func signedUp(c *kit.Context, s kit.Draft, withPasskey bool) {
	var passkey *adapter.Authenticator
	if withPasskey {
		passkey = new(s.Authenticator)
	}
	user, account := s.User, s.Account
	got, err := kit.Optional[adapter.SignUps](c.Adapter).CreateUserWithAccount(c.Ctx, user, account, passkey)
	kit.MustRecord(c, "CreateUserWithAccount", got, err)
	if passkey != nil {
		c.Same("the argument of CreateUserWithAccount, after the call", passkey, &s.Authenticator)
	}
	want := s.User
	if got.ID == "" {
		c.Fatalf("CreateUserWithAccount returned a user without an ID")
	}
	if s.User.ID != "" && got.ID != s.User.ID && !c.Harness().Declarations.AssignsIDs {
		c.Errorf("CreateUserWithAccount replaced the ID %q by %q, which is not declared", s.User.ID, got.ID)
	}
	want.ID = got.ID
	want.Email = kit.AddressAs(c, want.Email, got.Email)
	s.Account.UserID, s.Authenticator.UserID = got.ID, got.ID
	c.Same("what CreateUserWithAccount returned", got, &want)
	c.Same("GetUser after CreateUserWithAccount", c.GetUser(got.ID), &want)
	c.Same("GetUserByEmail after CreateUserWithAccount", c.GetUserByEmail(s.User.Email), &want)
	c.Same("GetAccount after CreateUserWithAccount", c.GetAccount(s.Account.Key()), &s.Account)
	c.Same("GetUserByAccount after CreateUserWithAccount", c.GetUserByAccount(s.Account.Key()), &want)
	var credentials []adapter.Authenticator
	if withPasskey {
		credentials = append(credentials, s.Authenticator)
		kit.Sees(c, "GetAuthenticator after CreateUserWithAccount", kit.GetAuthenticator(s.Authenticator.CredentialID), &s.Authenticator)
	}
	kit.Sees(c, "ListAuthenticatorsByUserID after CreateUserWithAccount", kit.ListAuthenticatorsByUserID(got.ID), credentials)
	kit.Sees(c, "ListAccountsByUserID after CreateUserWithAccount", kit.ListAccountsByUserID(got.ID), []adapter.Account{s.Account})
}

// nothingOfSignUp reports the records that a failed sign-up has left.
func nothingOfSignUp(c *kit.Context, what string, s kit.Draft) {
	if err := kit.NothingOf(c, s.Keys()); err != nil {
		c.Errorf("%s left something behind: %v", what, err)
	}
}

// signUpConflicts is SIGNUP-03.
func signUpConflicts(c *kit.Context) {
	passkeys := c.Stores(kit.AuthenticatorRecord)
	for _, taken := range []string{"user ID", "e-mail", "account", "credential"} {
		if taken == "credential" && !passkeys || taken == "user ID" && kit.AssignsIDs(c) {
			continue
		}
		holder := kit.Residents(c, 1)[0]
		if !holder.Has(kit.UserRecord) && taken == "e-mail" || holder.Account.Provider == "" && taken == "account" {
			continue
		}
		s := kit.NewSignUp(c)
		free := s
		switch taken {
		case "user ID":
			s.User.ID = holder.User.ID
		case "e-mail":
			s.User.Email = holder.User.Email
		case "account":
			s.Account.Provider, s.Account.ProviderAccountID = holder.Account.Provider, holder.Account.ProviderAccountID
		case "credential":
			s.Authenticator.CredentialID = holder.Authenticator.CredentialID
		}
		what := "CreateUserWithAccount with a taken " + taken
		got, err := s.Call().Do(c.Ctx, c.Adapter)
		if !c.Fails(what, got, err) {
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
			left.User.ID = ""
		case "e-mail":
			left.User.Email = c.NewUser().Email
		case "account":
			left.Account.Provider = ""
		case "credential":
			left.Authenticator.CredentialID = ""
		}
		nothingOfSignUp(c, what, left)
		kit.Intact(c, []*kit.Records{holder})
		signedUp(c, free, passkeys) // the failed sign-up has reserved no key
	}
}

// arrangeSignUps lets sign-ups that share one key race.
func arrangeSignUps(c *kit.Context, n, round int, shared string) race.Case {
	first := kit.NewSignUp(c)
	var k race.Case
	var tries []kit.Draft
	for i := range n {
		s := kit.NewSignUp(c)
		switch shared {
		case "e-mail":
			s.User.Email = first.User.Email
		case "account":
			s.Account.Provider, s.Account.ProviderAccountID = first.Account.Provider, first.Account.ProviderAccountID
		case "credential":
			s.Authenticator.CredentialID = first.Authenticator.CredentialID
		}
		tries = append(tries, s)
		if shared == "e-mail" && round%4 == 3 && i == n-1 {
			k.Calls = append(k.Calls, kit.CreateUser(s.User)) // a sign-up by e-mail
			tries[i].Account.Provider, tries[i].Authenticator.CredentialID = "", ""
			continue
		}
		k.Calls = append(k.Calls, s.Call())
	}
	k.Verify = func(h []race.Operation) error {
		winners := 0
		for i, m := range h {
			if m.Won() {
				winners++
				u := m.Result.(*adapter.User)
				s := tries[i]
				if err := whole(c, s, u); err != nil {
					return fmt.Errorf("of the sign-up that won: %w", err)
				}
				continue
			}
			left := tries[i]
			switch shared {
			case "e-mail":
				left.User.Email = c.NewUser().Email
			case "account":
				left.Account.Provider = ""
			case "credential":
				left.Authenticator.CredentialID = ""
			}
			if c.Harness().Declarations.AssignsIDs {
				left.User.ID = ""
			}
			if err := kit.NothingOf(c, left.Keys()); err != nil {
				return fmt.Errorf("of a sign-up that failed (%w): %w", m.Err, err)
			}
		}
		return race.Unless(winners <= 1, "%d sign-ups with one %s succeeded", winners, shared)
	}
	return k
}

// whole compares the stored records of a successful sign-up with the given ones.
func whole(c *kit.Context, s kit.Draft, u *adapter.User) error {
	stored, err := c.Raw.GetUserByEmail(c.Ctx, s.User.Email)
	if err != nil {
		return err
	}
	if d := c.Unlike(stored, u); d != "" {
		return fmt.Errorf("GetUserByEmail: %s", d)
	}
	if s.Account.Provider != "" {
		owner, err := c.Raw.GetUserByAccount(c.Ctx, s.Account.Key())
		if err != nil {
			return err
		}
		if d := c.Unlike(owner, u); d != "" {
			return fmt.Errorf("GetUserByAccount: %s", d)
		}
	}
	if s.Authenticator.CredentialID != "" && c.Works("GetAuthenticator") {
		s.Authenticator.UserID = u.ID
		found, err := c.Raw.GetAuthenticator(c.Ctx, s.Authenticator.CredentialID)
		if err != nil {
			return err
		}
		if d := c.Unlike(found, &s.Authenticator); d != "" {
			return fmt.Errorf("GetAuthenticator: %s", d)
		}
	}
	return nil
}

// errSeenHalf means that a lookup during a sign-up found a part of it.
var errSeenHalf = errors.New("the user was seen without the account or the authenticator")

// arrangeSignUpAndLook lets a sign-up race with lookups of the user, and then of the
// account or of the authenticator.
func arrangeSignUpAndLook(c *kit.Context, round int) race.Case {
	s := kit.NewSignUp(c)
	belonging := kit.GetUserByAccount(s.Account.Key())
	if round/2%2 == 1 && c.Works("GetAuthenticator") {
		belonging = kit.GetAuthenticator(s.Authenticator.CredentialID)
	}
	look := kit.NewCall("GetUserByEmail, then "+belonging.Method, func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		u, err := a.GetUserByEmail(ctx, s.User.Email)
		if err != nil || u == nil {
			return nil, err
		}
		found, err := belonging.Do(ctx, a)
		if err == nil && kit.IsNilRecord(found) {
			err = errSeenHalf
		}
		return u, err
	}, s.User.Email, belonging.Args)
	return race.Case{Calls: []kit.Call{s.Call(), look}, Verify: func(h []race.Operation) error {
		for _, m := range h {
			if errors.Is(m.Err, errSeenHalf) {
				return m.Err
			}
		}
		return nil
	}}
}

// arrangeSignUpAndLink lets a sign-up race with a user who links the same account
// or registers the same credential.
func arrangeSignUpAndLink(c *kit.Context, round int, holder *adapter.User) race.Case {
	s := kit.NewSignUp(c)
	account, passkey := s.Account, s.Authenticator
	account.UserID, passkey.UserID = holder.ID, holder.ID
	byAccount := round/2%2 == 0 || !c.Works("CreateAuthenticator") || !c.Works("GetAuthenticator")
	other := kit.CreateAuthenticator(passkey)
	if byAccount {
		other = kit.LinkAccount(account)
	}
	return race.Case{Calls: []kit.Call{s.Call(), other}, Verify: func(h []race.Operation) error {
		signedUp, linked := h[0].Won(), h[1].Won()
		if signedUp && linked {
			return fmt.Errorf("the sign-up and %s of a user both succeeded", other.Method)
		}
		if signedUp {
			return whole(c, s, h[0].Result.(*adapter.User))
		}
		left := s
		if c.Harness().Declarations.AssignsIDs {
			left.User.ID = ""
		}
		owner := ""
		if byAccount {
			left.Account.Provider = ""
			u, err := c.Raw.GetUserByAccount(c.Ctx, account.Key())
			if err != nil {
				return err
			}
			owner = race.UserID(u)
		} else {
			left.Authenticator.CredentialID = ""
			w, err := c.Raw.GetAuthenticator(c.Ctx, passkey.CredentialID)
			if err != nil {
				return err
			}
			if w != nil {
				owner = w.UserID
			}
		}
		return race.Problems(kit.NothingOf(c, left.Keys()),
			race.Unless(!linked || owner == holder.ID, "%s of user %q succeeded, and the owner is %q", other.Method, holder.ID, owner))
	}}
}
