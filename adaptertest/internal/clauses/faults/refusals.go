package faults

import (
	"errors"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// write is a call, and what describes its change as missing in the store, or returns "".
type write struct {
	kit.Call
	missing func() string
}

// Writes that are refused, for the clauses about faults and about errors.

// refusals makes writes that ask for what is taken, or for an absent owner or record. It returns the sentinel that
// each error matches, by the number of the call; a call that was not refused has none.
func refusals(c *kit.Context) map[int]error {
	found := map[int]error{}
	writes := refusedOn(c, kit.NewFixture(c, c.Raw))
	for i := range writes {
		_, err := writes[i].Do(c.Ctx, c.Raw)
		if err == nil {
			writes = refusedOn(c, kit.NewFixture(c, c.Raw)) // the call has changed the records
		}
		for _, sentinel := range []error{adapter.ErrConflict, adapter.ErrNotFound} {
			if errors.Is(err, sentinel) {
				found[i] = sentinel
			}
		}
	}
	return found
}

// refusesStill makes the same writes over several connections at once, each with records
// of its own. Those that were refused before are refused in the same way.
func refusesStill(c *kit.Context, when string, before map[int]error) {
	calls := kit.Times(min(kit.Several, c.Most), func() []kit.Call { return refusedOn(c, kit.NewFixture(c, c.Raw)) })
	c.Parallel(len(calls), func(i int) {
		for n, w := range calls[i] {
			if before[n] == nil {
				continue
			}
			if got, err := w.Do(c.Ctx, c.Raw); !errors.Is(err, before[n]) {
				c.Errorf("%s: %s(%s), which was refused before: got %s, error %v, want an error that matches %q",
					when, w.Method, diff.Show(w.Args...), diff.Show(got), err, before[n])
				return
			}
		}
	})
}

// refusedOn returns writes that ask for what the fixture's records have, or for an owner
// or a record that does not exist.
func refusedOn(c *kit.Context, k *kit.Records) []kit.Call {
	nobody := c.ID()
	taken, ownerless := k.New, k.New
	taken.TakeKey(&k.Draft)
	ownerless.Give(nobody)
	absent := c.NewAuthenticator(nobody) // no creation below has its key, of which a failed one may leave a record
	twin, absentee := k.New.User, k.New.UserUpdate
	twin.Email, absentee.ID = k.User.Email, nobody
	calls := []kit.Call{
		kit.CreateUser(twin), kit.UpdateUser(absentee),
		kit.LinkAccount(taken.Account), kit.LinkAccount(ownerless.Account),
		kit.CreateSession(taken.Session), kit.CreateSession(ownerless.Session),
		kit.CreateAuthenticator(taken.Authenticator), kit.CreateAuthenticator(ownerless.Authenticator),
		kit.MoveSession(k.Session.SessionToken, nobody),
		kit.UpdateAuthenticatorCounter(absent.CredentialID, 9),
		kit.TouchAuthenticator(absent.CredentialID, 1, 2, k.New.Touched),
		kit.UpdateAccount(kit.AccountUpdate(c, c.NewAccount(nobody).Key(), kit.AccountFields)),
		kit.SetPassword(kit.NewPassword(c, nobody)), kit.CreateUserWithPassword(twin, kit.NewPassword(c, "")),
	}
	if !kit.AssignsIDs(c) {
		calls = append(calls, kit.CreateUser(taken.User))
	}
	if c.Works("UpdateUser") {
		calls = append(calls, kit.UpdateUser(adapter.UserUpdate{ID: c.User().ID, Email: adapter.To(k.User.Email)}))
	}
	for _, take := range []func(s *kit.Draft){
		func(s *kit.Draft) { s.User.Email = k.User.Email },
		func(s *kit.Draft) {
			s.Account.Provider, s.Account.ProviderAccountID = k.Account.Provider, k.Account.ProviderAccountID
		},
		func(s *kit.Draft) { s.Authenticator.CredentialID = k.Authenticator.CredentialID },
	} {
		s := k.SignUp
		take(&s)
		calls = append(calls, s.Call())
	}
	return c.Working(calls)
}
