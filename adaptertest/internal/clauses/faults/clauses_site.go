package faults

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// SITE is about stores that others use, fill, configure and guard.
var siteClauses = []kit.Check{
	{ID: "SITE-01", Words: "users-of-others-are-found-or-refused", Needs: []kit.Ability{kit.AbilityForeign}, Test: usersOfOthers},
	{ID: "SITE-02", Words: "instants-of-others-are-kept-or-refused", Needs: []kit.Ability{kit.AbilityForeign, kit.AbilitySettings}, Test: instantsOfOthers},
	{ID: "SITE-03", Words: "read-only-connections-are-left", Needs: []kit.Ability{kit.AbilityReadOnly}, Requires: []string{"CreateUser", "GetUser"}, Test: readOnlyIsLeft},
	{ID: "SITE-04", Words: "quoting-refusals-are-not-quoted", Needs: []kit.Ability{kit.AbilityQuoting}, Test: refusalsAreNotQuoted},
	{ID: "SITE-05", Words: "first-call-names-the-lacking-right", Needs: []kit.Ability{kit.AbilityReduced}, Test: lackingRights},
	{ID: "SITE-06", Words: "refusals-of-the-site-match-nothing", Needs: []kit.Ability{kit.AbilityRefusing}, Test: refusalsOfTheSite},
}

// usersOfOthers prepares each store and looks its person up.
func usersOfOthers(c *kit.Context) {
	for _, f := range c.Harness().Foreign(c.TB) {
		a, err := f.Open(c.TB)
		if err != nil {
			c.Notef("%s: refused: %v", f.Name, err)
			continue
		}
		kit.Use(c, a)
		found := func(method string, got *adapter.User, err error) {
			if err == nil && (got == nil || got.ID != f.User.ID) {
				c.Errorf("%s: %s of the product's user %q returned %s, want that user or an error", f.Name, method, f.User.ID, shown(got))
			}
		}
		byEmail, err := c.Adapter.GetUserByEmail(c.Ctx, f.User.Email)
		found("GetUserByEmail", byEmail, err)
		if err == nil {
			if made, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, f.User.Email)); err == nil {
				c.Errorf("%s: CreateUser made %s with the address of the product's user %q", f.Name, shown(made), f.User.ID)
			}
		}
		byAccount, err := c.Adapter.GetUserByAccount(c.Ctx, f.Account)
		found("GetUserByAccount", byAccount, err)
		if both, err := c.Adapter.GetSessionAndUser(c.Ctx, f.Session.SessionToken); err == nil {
			var owner *adapter.User
			if both != nil {
				owner = &both.User
			}
			found("GetSessionAndUser", owner, nil)
		}
	}
}

// shown names a user for the report.
func shown(u *adapter.User) string {
	if u == nil {
		return "nothing"
	}
	return fmt.Sprintf("user %q", u.ID)
}

// instantsOfOthers reads what products and handles with other settings wrote, before and after a sweep.
func instantsOfOthers(c *kit.Context) {
	own := c.Raw
	for _, f := range c.Harness().Foreign(c.TB) {
		a, err := f.Open(c.TB)
		if err != nil {
			continue // SITE-01 notes it
		}
		kit.Use(c, a)
		keepsInstants(c, f.Name, c.Adapter, f.User, f.Session)
	}
	for i, other := range c.Harness().Settings(c.TB, own) {
		handles := []adapter.Adapter{c.Observe(own), c.Observe(other)}
		for from, writer := range handles {
			c.Raw, c.Adapter = own, writer
			what := fmt.Sprintf("handle %d with other settings, written by handle %d", i+1, from)
			u := c.User()
			s := c.Session(u.ID)
			keepsInstants(c, what, handles[1-from], *u, s)
		}
	}
}

// keepsInstants compares the instants of a user and a session that others wrote.
func keepsInstants(c *kit.Context, what string, a adapter.Adapter, u adapter.User, s adapter.Session) {
	for _, when := range []string{"before a sweep", "after a sweep"} {
		if got, err := a.GetUser(c.Ctx, u.ID); err == nil && got != nil {
			if d := c.Unlike(got.EmailVerified, u.EmailVerified); d != "" {
				c.Errorf("%s: EmailVerified, %s: %s", what, when, d)
			}
		}
		switch got, err := a.GetSessionAndUser(c.Ctx, s.SessionToken); {
		case err != nil:
		case got == nil:
			c.Errorf("%s: %s the session is absent, want it until %v or an error", what, when, s.Expires)
		default:
			if d := c.Unlike(got.Session.Expires, s.Expires); d != "" {
				c.Errorf("%s: the end of the session, %s: %s", what, when, d)
			}
		}
		if c.Has(kit.AbilitySweep) {
			_ = kit.TrySweep(c, a.(*kit.Observer).Next, c.Now()) // an error is a refusal
		}
	}
}

// Of up to mostRefused writes in a row after the change of the server, some may be refused,
// one for each connection that the pool may have; the last ones must succeed.
const (
	mostRefused = 40
	lastWrites  = 8
)

// readOnlyIsLeft writes before and after the connections become read-only.
func readOnlyIsLeft(c *kit.Context) {
	a, demote := c.Harness().ReadOnly(c.TB)
	kit.Use(c, a)
	u := c.User()
	c.Parallel(4, func(int) { c.User() })
	demote()
	inARow := 0
	var last error
	for n := 0; n < mostRefused && inARow < lastWrites; n++ {
		if got, err := c.Adapter.GetUser(c.Ctx, u.ID); err != nil || got == nil {
			c.Errorf("GetUser while connections refuse writes: got %s, %v", shown(got), err)
		}
		inARow++
		if _, err := c.Adapter.CreateUser(c.Ctx, c.NewUser()); err != nil {
			inARow, last = 0, err
		}
	}
	if inARow < lastWrites {
		c.Errorf("after %d writes the adapter still uses connections that refuse them: %v", mostRefused, last)
	}
}

// writes prepares one call of each write through the adapter of the clause.
func writes(c *kit.Context) (all []write) {
	for _, w := range kit.Writes(c) {
		change, missing := w.Prepare(c)
		all = append(all, write{change, missing})
	}
	if c.Works("CreateUserWithAccount") {
		s := kit.NewSignUp(c)
		all = append(all, write{s.Call(), func() string {
			if c.GetUserByEmail(s.User.Email) == nil && c.GetUserByAccount(s.Account.Key()) == nil && c.GetAuthenticator(s.Authenticator.CredentialID) == nil {
				return "the user, the account and the passkey are missing"
			}
			return ""
		}})
	}
	return all
}

// refused makes a call of each write after refuse, and passes their errors to judge. At least
// one call must be refused.
func refused(c *kit.Context, a adapter.Adapter, refuse func(), judge func(s write, err error)) {
	kit.Use(c, a)
	all := writes(c)
	refuse()
	some := false
	for _, s := range all {
		if _, err := s.Do(c.Ctx, c.Adapter); err != nil {
			some = true
			judge(s, err)
		}
	}
	if !some {
		c.NotVerified("the store refused no write")
	}
}

// refusalsAreNotQuoted searches the errors for the values of the refused records, which
// all have the name of the clause in them.
func refusalsAreNotQuoted(c *kit.Context) {
	values := strings.ToLower(c.Run.Nonce + "-" + c.Clause + "-")
	a, refuse := c.Harness().Quoting(c.TB)
	refused(c, a, refuse, func(s write, err error) {
		for ; err != nil; err = errors.Unwrap(err) {
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
				if strings.Contains(strings.ToLower(text), values) {
					c.Errorf("%s: the error of the refused call quotes a value: %s", s.Method, text)
				}
			}
		}
	})
}

// refusalsOfTheSite checks that refused writes match no sentinel and store nothing.
func refusalsOfTheSite(c *kit.Context) {
	a, refuse := c.Harness().Refusing(c.TB)
	refused(c, a, refuse, func(s write, err error) {
		for name, sentinel := range map[string]error{"ErrConflict": adapter.ErrConflict, "ErrNotFound": adapter.ErrNotFound,
			"ErrLastCredential": adapter.ErrLastCredential, "ErrUnsupported": adapter.ErrUnsupported} {
			if errors.Is(err, sentinel) {
				c.Errorf("%s: the store refused for a reason of the site's own, and the error matches %s: %v", s.Method, name, err)
			}
		}
		readable := !strings.HasSuffix(s.Method, "VerificationToken") // else it is found only by using it
		if readable && s.missing() == "" {
			c.Errorf("%s: the store refused, and what was to be written is there", s.Method)
		}
	})
}

// lackingRights makes each write as the first call of a handle whose role lacks a right.
func lackingRights(c *kit.Context) {
	for _, r := range c.Harness().Reduced(c.TB) {
		names := func(method string, err error) {
			switch {
			case err == nil:
				c.Errorf("without the right %s: %s, as the first call, succeeded; want an error that names the right", r.Right, method)
			case !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(r.Right)):
				c.Errorf("without the right %s: the error of %s, as the first call, does not name it: %v", r.Right, method, err)
			}
		}
		if r.Prepare != nil {
			names("preparing the store", r.Prepare(c.Ctx, r.Open(c.TB)))
		}
		kit.Use(c, r.Witness(c.TB))
		for _, s := range writes(c) {
			a := r.Open(c.TB)
			_, err := s.Do(c.Ctx, a)
			names(s.Method, err)
			if err != nil && s.missing() == "" {
				c.Errorf("without the right %s: %s failed, and what was to be written is there", r.Right, s.Method)
			}
		}
		_, err := r.Open(c.TB).GetUserByEmail(c.Ctx, c.NewUser().Email)
		names("GetUserByEmail", err)
	}
}
