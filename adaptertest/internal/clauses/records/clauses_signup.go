package records

import (
	"fmt"

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
	{ID: "SIGNUP-03", Words: "conflict-leaves-nothing-behind", Requires: append(signUpMethods, "CreateUser"), Test: func(c *kit.Context) {
		passkeys := c.Stores(kit.AuthenticatorRecord)
		for _, key := range signUpKeys {
			if key.name == "credential" && !passkeys || key.name == "user ID" && kit.AssignsIDs(c) {
				continue
			}
			holder := kit.Residents(c, 1)[0]
			if !holder.Has(kit.UserRecord) && key.name == "e-mail" || holder.Account.Provider == "" && key.name == "account" {
				continue
			}
			free := kit.NewSignUp(c)
			s, left := free, free
			key.take(&s, &holder.Draft)
			what := "CreateUserWithAccount with a taken " + key.name
			if !failsAs(c, what, s.Call(), adapter.ErrConflict, adapter.ErrNotFound) {
				continue
			}
			key.forget(c, &left)
			leftNothing(c, what, left)
			kit.Intact(c, []*kit.Records{holder})
			signedUp(c, free, passkeys) // the failed sign-up has reserved no key
		}
	}},
	{ID: "SIGNUP-04", Words: "failed-sign-up-leaves-all-or-nothing", Needs: faulted.NeedsFaults, Requires: signUpMethods, Test: func(c *kit.Context) {
		faulted.LeavesAllOrNothing(c, "CreateUserWithAccount")
	}},
	{ID: "SIGNUP-05", Words: "one-of-concurrent-sign-ups-wins", Races: true, Requires: append(signUpMethods, "GetUserByEmail", "GetUserByAccount"), Test: func(c *kit.Context) {
		for _, key := range signUpKeys[1:] {
			if key.name != "credential" || c.Works("CreateAuthenticator") {
				race.Run(c, 4, func(n, round int) race.Case { return arrangeSignUps(c, n, round, key) })
			}
		}
		race.Run(c, 2, func(_, round int) race.Case {
			s := kit.NewSignUp(c)
			belonging := kit.GetUserByAccount(s.Account.Key())
			if round/2%2 == 1 && c.Works("GetAuthenticator") {
				belonging = kit.GetAuthenticator(s.Authenticator.CredentialID)
			}
			return arrangeSignUpAndLook(s.Call(), s.User.Email, belonging.Method, func(*adapter.User) kit.Call { return belonging })
		})
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
			if kit.IsRefused(c, "CreateUserWithAccount with "+what, s.Call()) {
				leftNothing(c, "CreateUserWithAccount with "+what, s)
			}
		}
		s := kit.NewSignUp(c)
		cancelledSignUp(c, s.Call(), s)
		signedUp(c, s, c.Works("CreateAuthenticator"))
	}},
}

// signedUp signs up and compares the results of every lookup with the given records.
func signedUp(c *kit.Context, s kit.Draft, withPasskey bool) {
	var passkey *adapter.Authenticator
	if withPasskey {
		passkey = new(s.Authenticator)
	}
	signUp := kit.CreateUserWithAccount(s.User, s.Account, passkey)
	got := kit.MustRecord(c, signUp.Method, kit.Of[*adapter.User](c, signUp), nil)
	if passkey != nil {
		c.Same("the argument of CreateUserWithAccount, after the call", passkey, &s.Authenticator)
	}
	if got.ID == "" {
		c.Fatalf("CreateUserWithAccount returned a user without an ID")
	}
	want := asSignedUp(c, "CreateUserWithAccount", s.User, got)
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

// signUpKey is a key that a sign-up may share with another one, or with a user.
type signUpKey struct {
	name   string
	take   func(s, from *kit.Draft)
	forget func(c *kit.Context, s *kit.Draft)
}

var signUpKeys = []signUpKey{
	{"user ID", func(s, from *kit.Draft) { s.User.ID = from.User.ID }, func(_ *kit.Context, s *kit.Draft) { s.User.ID = "" }},
	{"e-mail", func(s, from *kit.Draft) { s.User.Email = from.User.Email },
		func(c *kit.Context, s *kit.Draft) { s.User.Email = c.NewUser().Email }},
	{"account", func(s, from *kit.Draft) {
		s.Account.Provider, s.Account.ProviderAccountID = from.Account.Provider, from.Account.ProviderAccountID
	}, func(_ *kit.Context, s *kit.Draft) { s.Account.Provider = "" }},
	{"credential", func(s, from *kit.Draft) { s.Authenticator.CredentialID = from.Authenticator.CredentialID },
		func(_ *kit.Context, s *kit.Draft) { s.Authenticator.CredentialID = "" }},
}

// arrangeSignUps lets sign-ups that share one key race.
func arrangeSignUps(c *kit.Context, n, round int, key signUpKey) race.Case {
	first := kit.NewSignUp(c)
	var tries []kit.Draft
	calls := kit.Numbered(n, func(i int) kit.Call {
		s := kit.NewSignUp(c)
		key.take(&s, &first)
		call := s.Call()
		if key.name == "e-mail" && round%4 == 3 && i == n-1 {
			call = kit.CreateUser(s.User) // a sign-up by e-mail
			s.Account.Provider, s.Authenticator.CredentialID = "", ""
		}
		tries = append(tries, s)
		return call
	})
	return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
		winners := 0
		for i, m := range h {
			s := tries[i]
			if m.Won() {
				winners++
				if err := whole(c, s, m.Result.(*adapter.User)); err != nil {
					return fmt.Errorf("of the sign-up that won: %w", err)
				}
				continue
			}
			key.forget(c, &s)
			if c.Harness().Declarations.AssignsIDs {
				s.User.ID = ""
			}
			if err := kit.NothingOf(c, s.Keys()); err != nil {
				return fmt.Errorf("of a sign-up that failed (%w): %w", m.Err, err)
			}
		}
		return race.Unless(winners <= 1, "%d sign-ups with one %s succeeded", winners, key.name)
	}}
}

// whole compares the stored records of a successful sign-up with the given ones.
func whole(c *kit.Context, s kit.Draft, u *adapter.User) error {
	if err := rawIs(c, kit.GetUserByEmail(s.User.Email), u); err != nil {
		return err
	}
	if s.Account.Provider != "" {
		if err := rawIs(c, kit.GetUserByAccount(s.Account.Key()), u); err != nil {
			return err
		}
	}
	s.Authenticator.UserID = u.ID
	if s.Authenticator.CredentialID == "" || !c.Works("GetAuthenticator") {
		return nil
	}
	return rawIs(c, kit.GetAuthenticator(s.Authenticator.CredentialID), &s.Authenticator)
}

// arrangeSignUpAndLink lets a sign-up race with a user who links the same account or registers the same credential.
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
