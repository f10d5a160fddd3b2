package adaptertest

import (
	"errors"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Writes that are refused, for the clauses about faults and about errors.

// refusals makes writes that ask for what is taken, or for an absent owner or record. It
// returns the sentinel that each error matches, by the number of the call; a call that
// was not refused has none.
func (c *clauseContext) refusals() map[int]error {
	found := map[int]error{}
	writes := c.refusedOn(c.newFixture(c.raw))
	for i := range writes {
		_, err := writes[i].do(c.ctx, c.raw)
		if err == nil {
			writes = c.refusedOn(c.newFixture(c.raw)) // the call has changed the records
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
func (c *clauseContext) refusesStill(when string, before map[int]error) {
	calls := make([][]call, min(several, c.most))
	for i := range calls {
		calls[i] = c.refusedOn(c.newFixture(c.raw))
	}
	c.parallel(len(calls), func(i int) {
		for n, w := range calls[i] {
			if before[n] == nil {
				continue
			}
			if got, err := w.do(c.ctx, c.raw); !errors.Is(err, before[n]) {
				c.Errorf("%s: %s(%s), which was refused before: got %s, error %v, want an error that matches %q",
					when, w.method, diff.Show(w.args...), diff.Show(got), err, before[n])
				return
			}
		}
	})
}

// refusedOn returns writes that ask for what the fixture's records have, or for an owner
// or a record that does not exist.
func (c *clauseContext) refusedOn(k *fixture) []call {
	nobody := c.id()
	of := func(owner string) (adapter.Account, adapter.Session, adapter.Authenticator) {
		account, session, authenticator := k.newAccount, k.newSession, k.newAuthenticator
		account.UserID, session.UserID, authenticator.UserID = owner, owner, owner
		return account, session, authenticator
	}
	ownerless, homeless, lost := of(nobody)
	account, session, authenticator := of(k.user.ID)
	account.Provider, account.ProviderAccountID = k.account.Provider, k.account.ProviderAccountID
	session.SessionToken, authenticator.CredentialID = k.session.SessionToken, k.authenticator.CredentialID
	absent := c.newAuthenticator(nobody) // no creation below has its key, of which a failed one may leave a record
	twin, absentee := k.newUser, k.userUpdate
	twin.Email, absentee.ID = k.user.Email, nobody
	calls := []call{
		createUser(twin), updateUser(absentee),
		linkAccount(account), linkAccount(ownerless), createSession(session), createSession(homeless),
		createAuthenticator(authenticator), createAuthenticator(lost),
		updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, UserID: adapter.To(nobody)}),
		updateCounter(absent.CredentialID, 9), touchAuthenticator(absent.CredentialID, 1, 2, k.touched),
		updateAccount(c.accountUpdate(c.newAccount(nobody).Key(), accountFields)),
	}
	if !c.assignsIDs() {
		same := k.newUser
		same.ID = k.user.ID
		calls = append(calls, createUser(same))
	}
	if c.works("UpdateUser") {
		calls = append(calls, updateUser(adapter.UserUpdate{ID: c.user().ID, Email: adapter.To(k.user.Email)}))
	}
	for _, take := range []func(s *signUp){
		func(s *signUp) { s.user.Email = k.user.Email },
		func(s *signUp) {
			s.account.Provider, s.account.ProviderAccountID = k.account.Provider, k.account.ProviderAccountID
		},
		func(s *signUp) { s.authenticator.CredentialID = k.authenticator.CredentialID },
	} {
		s := k.signUp
		take(&s)
		calls = append(calls, s.call())
	}
	return c.working(calls)
}
