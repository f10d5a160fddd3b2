package adaptertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	editMethods  = []string{"CreateUser", "CreateAuthenticator", "DeleteAuthenticator"}
	touchMethods = []string{"CreateUser", "CreateAuthenticator", "TouchAuthenticator"}
)

var aeditClauses = []check{
	{id: "AEDIT-01", words: "own-authenticator-is-deleted", requires: editMethods, run: func(c *clauseContext) {
		a, b := c.user().ID, c.user().ID
		mine := []adapter.Authenticator{c.authenticator(a), c.authenticator(a), c.authenticator(a)}
		theirs := c.authenticator(b)
		list := func(what string) {
			if c.works("ListAuthenticatorsByUserID") {
				c.sameAuthenticators("the list "+what, c.listAuthenticators(a), mine)
			}
			c.same("another user's authenticator "+what, c.getAuthenticator(theirs.CredentialID), &theirs)
		}
		for _, x := range []struct{ user, credential string }{
			{a, theirs.CredentialID}, {b, mine[0].CredentialID}, {c.id(), mine[0].CredentialID}, {"", mine[0].CredentialID}, {"nobody", mine[0].CredentialID},
			{a, c.unique("credential")}, {a, ""}, {a, mine[0].CredentialID + "x"}, {a, swapCase(mine[0].CredentialID)}, {a, "%"}, {"%", mine[0].CredentialID},
		} {
			for _, keepOne := range []bool{false, true} {
				got, err := deleteAuthenticator(x.user, x.credential, keepOne).do(c.ctx, c.a)
				c.absent(fmt.Sprintf("DeleteAuthenticator(%q, %q, %v)", x.user, x.credential, keepOne), got, err)
			}
		}
		list("after deletions of what is not the user's own")
		for len(mine) > 0 {
			gone := mine[len(mine)/2]
			mine = append(append([]adapter.Authenticator{}, mine[:len(mine)/2]...), mine[len(mine)/2+1:]...)
			c.same("what DeleteAuthenticator returned", of[*adapter.Authenticator](c, deleteAuthenticator(a, gone.CredentialID, false)), &gone)
			c.absent("GetAuthenticator after the deletion", c.getAuthenticator(gone.CredentialID), nil)
			c.reallyGone("DeleteAuthenticator", Record{Kind: AuthenticatorRecord, Key: gone.CredentialID})
			got, err := deleteAuthenticator(a, gone.CredentialID, false).do(c.ctx, c.a)
			c.absent("DeleteAuthenticator once more", got, err)
			list("after a deletion")
			c.createAuthenticator(gone) // the ID is free
			of[*adapter.Authenticator](c, deleteAuthenticator(a, gone.CredentialID, false))
			list("after the ID was used again and deleted")
			gone.UserID = b
			c.createAuthenticator(gone)
			list("after another user registered the deleted ID")
			of[*adapter.Authenticator](c, deleteAuthenticator(b, gone.CredentialID, false))
		}
		rest := c.userWith(2, 2, 2)
		of[*adapter.Authenticator](c, deleteAuthenticator(rest.user.ID, rest.authenticators[0].CredentialID, false))
		rest.authenticators = rest.authenticators[1:]
		c.unchanged("of the user whose authenticator was deleted", c.a, rest)
		c.deletedAsItIs(a)
	}},
	{id: "AEDIT-02", words: "connected-account-ends-with-it", requires: append(editMethods, "LinkAccount", "GetAccount"), run: func(c *clauseContext) {
		for _, keepOne := range []bool{false, true} {
			c.connectedAccountEnds(keepOne)
		}
		for _, key := range missedKeys(func() string { return c.nearMissKey("passkey") }) {
			c.resemblingConnections(key)
		}
	}},
	{id: "AEDIT-03", words: "last-credential-is-kept", requires: append(editMethods, "LinkAccount", "GetAccount", "UnlinkAccount"), run: func(c *clauseContext) {
		lastCredentialIsKept(c)
		c.credentialsOfEachOrigin()
	}},
	{id: "AEDIT-04", words: "one-of-the-last-is-kept", races: true, requires: append(editMethods, "ListAuthenticatorsByUserID"), run: func(c *clauseContext) {
		c.race(4, func(n, round int) raceCase {
			user := c.rawUser()
			var k raceCase
			linked := c.works("LinkAccount") && round%2 == 1
			for range n {
				w := c.newAuthenticator(user.ID)
				_, err := c.raw.CreateAuthenticator(c.ctx, w)
				must(c, "CreateAuthenticator", &w, err)
				if linked { // each with the account that it is connected to
					x := c.newAccount(user.ID)
					x.Type, x.ProviderAccountID = adapter.AccountWebAuthn, w.ProviderAccountID
					_, err := c.raw.LinkAccount(c.ctx, x)
					must(c, "LinkAccount", &x, err)
				}
				k.calls = append(k.calls, deleteAuthenticator(user.ID, w.CredentialID, true))
			}
			k.verify = func(h []operation) error {
				refused, others := 0, 0
				for _, m := range h {
					if errors.Is(m.err, adapter.ErrLastCredential) {
						refused++
					} else if m.err != nil {
						others++
					}
				}
				list, err := c.raw.ListAuthenticatorsByUserID(c.ctx, user.ID)
				switch {
				case err != nil:
					return err
				case len(list) == 0:
					return errors.New("the user's last authenticator is gone")
				case others == 0 && len(list) != 1:
					return fmt.Errorf("%d authenticators are left, want 1 (%d calls were refused)", len(list), refused)
				case others == 0 && refused != 1:
					return fmt.Errorf("%d calls were refused, want 1", refused)
				}
				return nil
			}
			return k
		})
	}},
	{id: "AEDIT-05", words: "failed-deletion-is-whole-or-none", needs: needsFaults, requires: editMethods, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"DeleteAuthenticator"}, func(x faulted) {
			if _, whole := c.wholeOrNone(x); whole && x.err == nil {
				c.reallyGone(x.String(), Record{Kind: AuthenticatorRecord, Key: x.fixture.authenticator.CredentialID})
			}
		})
	}},
	{id: "AEDIT-06", words: "name-is-kept-or-refused", requires: append(editMethods, "RenameAuthenticator"), run: authenticatorNames},
	{id: "AEDIT-07", words: "touch-stores-the-counter", requires: touchMethods, run: func(c *clauseContext) {
		u := c.user().ID
		w, beside := c.authenticator(u), c.authenticator(u)
		shown := c.getAuthenticator(w.CredentialID)
		touch := func(to int64, used time.Time) {
			from := w.Counter
			w.Counter, w.LastUsed = to, &used
			what := fmt.Sprintf("TouchAuthenticator from %d to %d, used %s", from, to, diff.Show(used))
			got := of[*adapter.Authenticator](c, touchAuthenticator(w.CredentialID, from, to, used))
			if got == nil {
				c.Fatalf("%s: got nothing, and the stored counter is %d", what, from)
			}
			c.same("what "+what+" returned", got, &w)
			c.shownAsBefore("what "+what+" returned", got, shown)
			stored := c.getAuthenticator(w.CredentialID)
			c.shownAsBefore("GetAuthenticator after "+what, stored, shown)
			c.same("GetAuthenticator after "+what, stored, &w)
			if stored != nil && (stored.LastUsed == nil) != (got.LastUsed == nil) {
				c.Errorf("%s returned the instant of use %s, GetAuthenticator %s", what, diff.Show(got.LastUsed), diff.Show(stored.LastUsed))
			}
		}
		for _, to := range []int64{8, 9, 1<<31 - 1, 1 << 31, 1<<32 - 1, 3, 0, 0, 12} {
			used := c.instant(-time.Minute)
			touch(to, used)
			touch(to, used) // which changes no field
		}
		c.same("another authenticator of the user", c.getAuthenticator(beside.CredentialID), &beside)
		if c.works("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("the list after the touches", c.listAuthenticators(u), []adapter.Authenticator{w, beside})
		}
	}},
	{id: "AEDIT-08", words: "other-counter-changes-nothing", requires: touchMethods, run: func(c *clauseContext) {
		w := c.authenticator(c.user().ID)
		for _, from := range []int64{w.Counter - 1, w.Counter + 1, 0, -w.Counter, w.Counter + 1<<32, w.Counter + 1<<31, 1 << 53} {
			for _, to := range []int64{w.Counter, w.Counter + 1, from + 1} {
				got, err := touchAuthenticator(w.CredentialID, from, to, c.instant(0)).do(c.ctx, c.a)
				c.absent(fmt.Sprintf("TouchAuthenticator from %d, with %d stored", from, w.Counter), got, err)
			}
			c.same("the authenticator after a touch from another counter", c.getAuthenticator(w.CredentialID), &w)
		}
	}},
	{id: "AEDIT-09", words: "touch-of-an-absent-authenticator-is-not-found", requires: touchMethods, run: func(c *clauseContext) {
		u := c.user().ID
		w := c.authenticator(u)
		absent := []string{c.unique("credential"), "", w.CredentialID + "x", swapCase(w.CredentialID), "%"}
		if c.works("DeleteAuthenticator") {
			gone := c.authenticator(u).CredentialID
			of[*adapter.Authenticator](c, deleteAuthenticator(u, gone, false))
			absent = append(absent, gone)
		}
		for _, id := range absent {
			for _, from := range []int64{0, 7} {
				what := fmt.Sprintf("TouchAuthenticator(%q, from %d)", id, from)
				got, err := touchAuthenticator(id, from, 9, c.instant(0)).do(c.ctx, c.a)
				if c.fails(what, got, err) && id != "" && !errors.Is(err, adapter.ErrNotFound) {
					c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
				}
			}
			if c.works("GetAuthenticator") {
				c.absent(fmt.Sprintf("GetAuthenticator(%q) after it", id), c.getAuthenticator(id), nil)
			}
		}
		c.same("the authenticator beside", c.getAuthenticator(w.CredentialID), &w)
	}},
	{id: "AEDIT-10", words: "one-of-concurrent-touches-wins", races: true, requires: append(touchMethods, "GetAuthenticator"), run: func(c *clauseContext) {
		w := c.authenticator(c.user().ID)
		c.race(racers, func(n, _ int) raceCase {
			stored, err := c.raw.GetAuthenticator(c.ctx, w.CredentialID)
			from := mustRecord(c, "GetAuthenticator", stored, err).Counter
			var k raceCase
			for i := range n {
				k.calls = append(k.calls, touchAuthenticator(w.CredentialID, from, from+1+int64(i), c.instant(time.Duration(i)*time.Second)))
			}
			k.verify = func(h []operation) error {
				winner, failed := int64(0), 0
				for _, m := range h {
					if m.err != nil {
						failed++
					}
					if !m.won() {
						continue
					}
					if winner != 0 {
						return fmt.Errorf("two calls from the counter %d succeeded", from)
					}
					winner = m.args[2].(int64)
					if got := m.result.(*adapter.Authenticator).Counter; got != winner {
						return fmt.Errorf("the winner stored %d and got the record with %d", winner, got)
					}
				}
				got, err := c.raw.GetAuthenticator(c.ctx, w.CredentialID)
				if err != nil || got == nil {
					return fmt.Errorf("GetAuthenticator: got %s, error %w", diff.Show(got), err)
				}
				if winner == 0 && failed == 0 {
					return fmt.Errorf("no call from the stored counter %d succeeded", from)
				}
				return unless(winner == 0 || got.Counter == winner, "the winner stored %d, the counter is %d", winner, got.Counter)
			}
			return k
		})
	}},
}

// deletedAsItIs deletes an authenticator that was read and has changed since.
func (c *clauseContext) deletedAsItIs(userID string) {
	w := c.authenticator(userID)
	c.getAuthenticator(w.CredentialID)
	if c.works("UpdateAuthenticatorCounter") {
		w.Counter++
		c.updateCounter(w.CredentialID, w.Counter)
	}
	if c.works("TouchAuthenticator") {
		from := w.Counter
		w.Counter, w.LastUsed = from+1, new(c.instant(-time.Minute))
		of[*adapter.Authenticator](c, touchAuthenticator(w.CredentialID, from, w.Counter, *w.LastUsed))
	}
	if c.works("RenameAuthenticator") {
		name := c.unique("name")
		if _, err := renameAuthenticator(userID, w.CredentialID, name).do(c.ctx, c.a); err == nil {
			w.Name = &name
		}
	}
	c.same("DeleteAuthenticator of one that has changed", of[*adapter.Authenticator](c, deleteAuthenticator(userID, w.CredentialID, false)), &w)
}

// connectedAccountEnds deletes two authenticators of one account, of a user who has
// other accounts, so that keepOne must make no difference.
func (c *clauseContext) connectedAccountEnds(keepOne bool) {
	a, b := c.user().ID, c.user().ID
	passkey := func(owner, connected string) adapter.Authenticator {
		w := c.newAuthenticator(owner)
		w.ProviderAccountID = connected
		c.createAuthenticator(w)
		return w
	}
	account := func(owner string, kind adapter.AccountType, connected string) adapter.Account {
		x := c.newAccount(owner)
		x.Type, x.ProviderAccountID = kind, connected
		return c.linkAccount(x)
	}
	id, other := c.unique("passkey"), c.unique("passkey")
	w1, w2 := passkey(a, id), passkey(a, id)
	connected := account(a, adapter.AccountWebAuthn, id)
	stays := []adapter.Account{
		account(a, adapter.AccountWebAuthn, other), account(a, adapter.AccountOIDC, id), account(a, adapter.AccountEmail, c.unique("x")),
		account(b, adapter.AccountWebAuthn, id),
	}
	passkey(b, id)
	of[*adapter.Authenticator](c, deleteAuthenticator(a, w1.CredentialID, keepOne))
	c.same("an account that another authenticator is connected to", c.getAccount(connected.Key()), &connected)
	of[*adapter.Authenticator](c, deleteAuthenticator(a, w2.CredentialID, keepOne))
	c.absent("the account that the deleted authenticator was connected to", c.getAccount(connected.Key()), nil)
	if c.works("GetUserByAccount") {
		c.absent("the user by that account", c.getUserByAccount(connected.Key()), nil)
	}
	c.reallyGone("DeleteAuthenticator", Record{Kind: AccountRecord, Account: connected.Key()})
	for _, x := range stays {
		c.same("an account that is not connected", c.getAccount(x.Key()), &x)
	}
	if c.works("ListAccountsByUserID") {
		c.same("the list of accounts after the deletion", of[[]adapter.Account](c, listAccounts(a)), stays[:3])
		c.same("the other user's list of accounts after the deletion", of[[]adapter.Account](c, listAccounts(b)), stays[3:])
	}
	c.linkAccount(connected) // the key is free
}

// resemblingConnections deletes the authenticators of one user that are connected to accounts
// whose IDs are near misses of one key. Each ends its own account and no other one.
func (c *clauseContext) resemblingConnections(key missedKey) {
	owner := c.user().ID
	type passkey struct {
		how           string
		account       adapter.Account
		authenticator adapter.Authenticator
	}
	var all []passkey
	var accounts []adapter.Account
	for _, m := range append([]nearMiss{{"nothing", key.value}}, key.near(key.value)...) {
		x, w := c.newAccount(owner), c.newAuthenticator(owner)
		x.Type, x.Provider = adapter.AccountWebAuthn, "passkey"
		x.ProviderAccountID, w.ProviderAccountID = m.value, m.value
		if _, err := c.a.CreateAuthenticator(c.ctx, w); err != nil {
			continue // the text may be refused [DATA-10] [DATA-11]
		}
		if _, err := c.a.LinkAccount(c.ctx, x); err == nil {
			all, accounts = append(all, passkey{m.name, x, w}), append(accounts, x)
		}
	}
	for i, p := range all {
		of[*adapter.Authenticator](c, deleteAuthenticator(owner, p.authenticator.CredentialID, false))
		c.absent("the account of a deleted authenticator, beside others that differ from it by "+p.how, c.getAccount(p.account.Key()), nil)
		rest := accounts[i+1:]
		switch {
		case c.works("ListAccountsByUserID"):
			c.same("the list of accounts after the deletion of an authenticator that differs by "+p.how, of[[]adapter.Account](c, listAccounts(owner)), rest)
		case i == 0:
			for _, x := range rest {
				c.same("the account of an authenticator that was not deleted", c.getAccount(x.Key()), &x)
			}
		}
	}
}

// lastCredentialIsKept is the first part of AEDIT-03.
func lastCredentialIsKept(c *clauseContext) {
	refused := func(what, user, credential string) {
		got, err := deleteAuthenticator(user, credential, true).do(c.ctx, c.a)
		if c.fails("DeleteAuthenticator of "+what, got, err) && !errors.Is(err, adapter.ErrLastCredential) {
			c.Errorf("DeleteAuthenticator of %s: the error does not match ErrLastCredential: %v", what, err)
		}
		if errors.Is(err, adapter.ErrNotFound) || errors.Is(err, adapter.ErrConflict) {
			c.Errorf("DeleteAuthenticator of %s: the error matches another sentinel: %v", what, err)
		}
	}
	a, b := c.user().ID, c.user().ID
	w := c.authenticator(a)
	connected := c.newAccount(a)
	connected.Type, connected.ProviderAccountID = adapter.AccountWebAuthn, w.ProviderAccountID
	theirs := c.account(b)
	passkey := c.authenticator(b) // a credential of another user does not count
	refused("the only credential", a, w.CredentialID)
	for range 2 { // nor does one that was refused
		taken, again := theirs, passkey
		taken.UserID, again.UserID = a, a
		for _, k := range c.working([]call{linkAccount(taken), createAuthenticator(again), unlinkAccount(c.newAccount(a).Key()), deleteAuthenticator(a, passkey.CredentialID, false)}) {
			got, err := k.do(c.ctx, c.a)
			if err == nil && !isNilRecord(got) {
				c.Errorf("%s(%s) for another user succeeded: %s", k.method, diff.Show(k.args...), diff.Show(got))
			}
		}
		refused("the only credential, after writes that were refused", a, w.CredentialID)
	}
	c.linkAccount(connected)
	refused("the only credential, with the account that ends with it", a, w.CredentialID)
	c.same("the authenticator after the refusal", c.getAuthenticator(w.CredentialID), &w)
	c.same("its account after the refusal", c.getAccount(connected.Key()), &connected)
	oauth := c.account(a)
	c.same("DeleteAuthenticator of a user who has another account", of[*adapter.Authenticator](c, deleteAuthenticator(a, w.CredentialID, true)), &w)
	c.absent("the account that ends with it", c.getAccount(connected.Key()), nil)
	c.same("the other account", c.getAccount(oauth.Key()), &oauth)
	one, two := c.authenticator(a), c.authenticator(a)
	c.unlinkAccount(oauth.Key())
	of[*adapter.Authenticator](c, deleteAuthenticator(a, one.CredentialID, true))
	refused("the last of two", a, two.CredentialID)
	loose := c.newAccount(a) // an account without an authenticator: it stays, whether or not it is a credential
	loose.Type = adapter.AccountWebAuthn
	c.linkAccount(loose)
	c.same("DeleteAuthenticator of a user who has an account that is not connected", of[*adapter.Authenticator](c, deleteAuthenticator(a, two.CredentialID, true)), &two)
	last := c.authenticator(a)
	c.unlinkAccount(loose.Key())
	refused("the only credential of a user who had others", a, last.CredentialID)
	c.same("DeleteAuthenticator of the last, without keepOne", of[*adapter.Authenticator](c, deleteAuthenticator(a, last.CredentialID, false)), &last)
}

// authenticatorNames is AEDIT-06.
func authenticatorNames(c *clauseContext) {
	a, b := c.user().ID, c.user().ID
	w := c.newAuthenticator(a)
	w.Name, w.Created, w.LastUsed = new(c.unique("Schlüssel 🔑")), new(c.instant(-time.Hour)), new(c.instant(-time.Minute))
	created := c.createAuthenticator(w)
	c.same("what CreateAuthenticator returned, against GetAuthenticator", created, c.getAuthenticator(w.CredentialID))
	c.same("the authenticator", c.getAuthenticator(w.CredentialID), &w)
	keeps := created.Name != nil
	beside := c.authenticator(a)
	name := c.unique("Łaptop")
	got, err := renameAuthenticator(a, w.CredentialID, name).do(c.ctx, c.a)
	if errors.Is(err, adapter.ErrUnsupported) {
		if keeps {
			c.Errorf("RenameAuthenticator reports that the store has no field for the name, but the store kept the name of CreateAuthenticator: %v", err)
		}
		c.Notef("the store has no place for names")
		return
	}
	if err != nil {
		c.Fatalf("RenameAuthenticator: %v", err)
	}
	for i, name := range []string{name, name, "", c.unique("'; DROP TABLE users; --"), "日本語のキー"} {
		if i > 0 {
			got, err = renameAuthenticator(a, w.CredentialID, name).do(c.ctx, c.a)
		}
		w.Name = &name
		renamed, _ := got.(*adapter.Authenticator)
		if err != nil || renamed == nil || renamed.Name == nil {
			c.Errorf("RenameAuthenticator to %q: got %s, error %v, want the record with the name, or ErrUnsupported", name, diff.Show(got), err)
			return
		}
		c.same("what RenameAuthenticator returned", renamed, &w)
		if stored := c.getAuthenticator(w.CredentialID); stored == nil || stored.Name == nil {
			c.Errorf("RenameAuthenticator to %q succeeded, and GetAuthenticator says %s", name, diff.Show(stored))
		} else {
			c.same("GetAuthenticator after RenameAuthenticator", stored, &w)
		}
	}
	beside.Name = w.Name // two authenticators of one user may have one name
	got, err = renameAuthenticator(a, beside.CredentialID, *w.Name).do(c.ctx, c.a)
	if err != nil {
		c.Errorf("RenameAuthenticator to the name of another authenticator of the user: %v", err)
		return
	}
	c.same("what RenameAuthenticator to the name of another authenticator returned", got, &beside)
	for _, length := range []int{70, 300, 70_000} { // which the store may refuse, but not cut
		name := strings.Repeat("ключ", length/4) + "."
		what := fmt.Sprintf("RenameAuthenticator to a name of %d bytes", len(name))
		if got, err := renameAuthenticator(a, w.CredentialID, name).do(c.ctx, c.a); err == nil {
			w.Name = &name
			c.same("what "+what+" returned", got, &w)
		}
		c.same("GetAuthenticator after "+what, c.getAuthenticator(w.CredentialID), &w)
	}
	for _, x := range []struct{ user, credential string }{{b, w.CredentialID}, {c.id(), w.CredentialID}, {"", w.CredentialID}, {a, c.unique("credential")}, {a, ""}, {a + "x", w.CredentialID}, {a, w.CredentialID + " "}, {a, swapCase(w.CredentialID)}} {
		got, err := renameAuthenticator(x.user, x.credential, "x").do(c.ctx, c.a)
		c.absent(fmt.Sprintf("RenameAuthenticator(%q, %q)", x.user, x.credential), got, err)
	}
	c.same("the authenticator after others tried to rename it", c.getAuthenticator(w.CredentialID), &w)
	c.same("another authenticator of the user", c.getAuthenticator(beside.CredentialID), &beside)
	if c.works("UpdateAuthenticatorCounter") {
		w.Counter = 99
		c.same("what UpdateAuthenticatorCounter returned after a new name", c.updateCounter(w.CredentialID, 99), &w)
	}
}
