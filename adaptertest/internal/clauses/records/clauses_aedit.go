package records

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	editMethods  = []string{"CreateUser", "CreateAuthenticator", "DeleteAuthenticator"}
	touchMethods = []string{"CreateUser", "CreateAuthenticator", "TouchAuthenticator"}
)

var aeditClauses = []kit.Check{
	{ID: "AEDIT-01", Words: "own-authenticator-is-deleted", Requires: editMethods, Test: func(c *kit.Context) {
		a, b := c.User().ID, c.User().ID
		mine := []adapter.Authenticator{c.Authenticator(a), c.Authenticator(a), c.Authenticator(a)}
		theirs := c.Authenticator(b)
		list := func(what string) {
			kit.Sees(c, "the list "+what, kit.ListAuthenticatorsByUserID(a), mine)
			c.Same("another user's authenticator "+what, c.GetAuthenticator(theirs.CredentialID), &theirs)
		}
		for _, x := range []struct{ user, credential string }{
			{a, theirs.CredentialID}, {b, mine[0].CredentialID}, {c.ID(), mine[0].CredentialID}, {"", mine[0].CredentialID}, {"nobody", mine[0].CredentialID},
			{a, c.Unique("credential")}, {a, ""}, {a, mine[0].CredentialID + "x"}, {a, swapCase(mine[0].CredentialID)}, {a, "%"}, {"%", mine[0].CredentialID},
		} {
			for _, keepOne := range []bool{false, true} {
				kit.FindsNothing(c, fmt.Sprintf("DeleteAuthenticator(%q, %q, %v)", x.user, x.credential, keepOne), kit.DeleteAuthenticator(x.user, x.credential, keepOne))
			}
		}
		list("after deletions of what is not the user's own")
		for len(mine) > 0 {
			gone := mine[len(mine)/2]
			mine = slices.Delete(slices.Clone(mine), len(mine)/2, len(mine)/2+1)
			c.Same("what DeleteAuthenticator returned", kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, gone.CredentialID, false)), &gone)
			c.Absent("GetAuthenticator after the deletion", c.GetAuthenticator(gone.CredentialID), nil)
			kit.ReallyGone(c, "DeleteAuthenticator", kit.Record{Kind: kit.AuthenticatorRecord, Key: gone.CredentialID})
			kit.FindsNothing(c, "DeleteAuthenticator once more", kit.DeleteAuthenticator(a, gone.CredentialID, false))
			list("after a deletion")
			c.CreateAuthenticator(gone) // the ID is free
			kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, gone.CredentialID, false))
			list("after the ID was used again and deleted")
			gone.UserID = b
			c.CreateAuthenticator(gone)
			list("after another user registered the deleted ID")
			kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(b, gone.CredentialID, false))
		}
		rest := userWith(c, 2, 2, 2)
		kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(rest.User.ID, rest.Authenticators[0].CredentialID, false))
		rest.Authenticators = rest.Authenticators[1:]
		unchanged(c, "of the user whose authenticator was deleted", c.Adapter, rest)
		deletedAsItIs(c, a)
	}},
	{ID: "AEDIT-02", Words: "connected-account-ends-with-it", Requires: append(editMethods, "LinkAccount", "GetAccount"), Test: func(c *kit.Context) {
		connectedAccountEnds(c, false)
		connectedAccountEnds(c, true)
		for _, key := range missedKeys(func() string { return nearMissKey(c, "passkey") }) {
			resemblingConnections(c, key)
		}
	}},
	{ID: "AEDIT-03", Words: "last-credential-is-kept", Requires: append(editMethods, "LinkAccount", "GetAccount", "UnlinkAccount"), Test: func(c *kit.Context) {
		lastCredentialIsKept(c)
		credentialsOfEachOrigin(c)
	}},
	{ID: "AEDIT-04", Words: "one-of-the-last-is-kept", Races: true, Requires: append(editMethods, "ListAuthenticatorsByUserID"), Test: func(c *kit.Context) {
		race.Run(c, 4, func(n, round int) race.Case {
			user, linked := kit.RawUser(c), c.Works("LinkAccount") && round%2 == 1
			calls := kit.Numbered(n, func(int) kit.Call {
				w := kit.StoreRaw(c, kit.CreateAuthenticator, c.NewAuthenticator(user.ID))
				if linked { // each with the account that it is connected to
					kit.StoreRaw(c, kit.LinkAccount, connectedTo(c, w))
				}
				return kit.DeleteAuthenticator(user.ID, w.CredentialID, true)
			})
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
				refused, others := 0, 0
				for _, m := range h {
					if errors.Is(m.Err, adapter.ErrLastCredential) {
						refused++
					} else if m.Err != nil {
						others++
					}
				}
				list, err := c.Raw.ListAuthenticatorsByUserID(c.Ctx, user.ID)
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
			}}
		})
	}},
	{ID: "AEDIT-05", Words: "failed-deletion-is-whole-or-none", Needs: faulted.NeedsFaults, Requires: editMethods, Test: func(c *kit.Context) {
		faulted.Each(c, faulted.BreakingFaults, []string{"DeleteAuthenticator"}, func(x faulted.Case) {
			if _, whole := faulted.WholeOrNone(c, x); whole && x.Err == nil {
				kit.ReallyGone(c, x.String(), kit.Record{Kind: kit.AuthenticatorRecord, Key: x.Fixture.Authenticator.CredentialID})
			}
		})
	}},
	{ID: "AEDIT-06", Words: "name-is-kept-or-refused", Requires: append(editMethods, "RenameAuthenticator"), Test: authenticatorNames},
	{ID: "AEDIT-07", Words: "touch-stores-the-counter", Requires: touchMethods, Test: func(c *kit.Context) {
		u := c.User().ID
		w, beside := c.Authenticator(u), c.Authenticator(u)
		shown := c.GetAuthenticator(w.CredentialID)
		touch := func(to int64, used time.Time) {
			from := w.Counter
			w.Counter, w.LastUsed = to, &used
			what := fmt.Sprintf("TouchAuthenticator from %d to %d, used %s", from, to, diff.Show(used))
			got := kit.Of[*adapter.Authenticator](c, kit.TouchAuthenticator(w.CredentialID, from, to, used))
			if got == nil {
				c.Fatalf("%s: got nothing, and the stored counter is %d", what, from)
			}
			c.Same("what "+what+" returned", got, &w)
			shownAsBefore(c, "what "+what+" returned", got, shown)
			stored := c.GetAuthenticator(w.CredentialID)
			shownAsBefore(c, "GetAuthenticator after "+what, stored, shown)
			c.Same("GetAuthenticator after "+what, stored, &w)
			if stored != nil && (stored.LastUsed == nil) != (got.LastUsed == nil) {
				c.Errorf("%s returned the instant of use %s, GetAuthenticator %s", what, diff.Show(got.LastUsed), diff.Show(stored.LastUsed))
			}
		}
		for _, to := range []int64{8, 9, 1<<31 - 1, 1 << 31, 1<<32 - 1, 3, 0, 0, 12} {
			used := c.Instant(-time.Minute)
			touch(to, used)
			touch(to, used) // which changes no field
		}
		c.Same("another authenticator of the user", c.GetAuthenticator(beside.CredentialID), &beside)
		kit.Sees(c, "the list after the touches", kit.ListAuthenticatorsByUserID(u), []adapter.Authenticator{w, beside})
	}},
	{ID: "AEDIT-08", Words: "other-counter-changes-nothing", Requires: touchMethods, Test: func(c *kit.Context) {
		w := c.Authenticator(c.User().ID)
		for _, from := range []int64{w.Counter - 1, w.Counter + 1, 0, -w.Counter, w.Counter + 1<<32, w.Counter + 1<<31, 1 << 53} {
			for _, to := range []int64{w.Counter, w.Counter + 1, from + 1} {
				kit.FindsNothing(c, fmt.Sprintf("TouchAuthenticator from %d, with %d stored", from, w.Counter), kit.TouchAuthenticator(w.CredentialID, from, to, c.Instant(0)))
			}
			c.Same("the authenticator after a touch from another counter", c.GetAuthenticator(w.CredentialID), &w)
		}
	}},
	{ID: "AEDIT-09", Words: "touch-of-an-absent-authenticator-is-not-found", Requires: touchMethods, Test: func(c *kit.Context) {
		u := c.User().ID
		w := c.Authenticator(u)
		absent := []string{c.Unique("credential"), "", w.CredentialID + "x", swapCase(w.CredentialID), "%"}
		if c.Works("DeleteAuthenticator") {
			gone := c.Authenticator(u).CredentialID
			kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(u, gone, false))
			absent = append(absent, gone)
		}
		for _, id := range absent {
			for _, from := range []int64{0, 7} {
				what := fmt.Sprintf("TouchAuthenticator(%q, from %d)", id, from)
				got, err := kit.TouchAuthenticator(id, from, 9, c.Instant(0)).Do(c.Ctx, c.Adapter)
				if c.Fails(what, got, err) && id != "" && !errors.Is(err, adapter.ErrNotFound) {
					c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
				}
			}
			kit.Sees(c, fmt.Sprintf("GetAuthenticator(%q) after it", id), kit.GetAuthenticator(id), nil)
		}
		c.Same("the authenticator beside", c.GetAuthenticator(w.CredentialID), &w)
	}},
	{ID: "AEDIT-10", Words: "one-of-concurrent-touches-wins", Races: true, Requires: append(touchMethods, "GetAuthenticator"), Test: func(c *kit.Context) {
		w := c.Authenticator(c.User().ID)
		race.Run(c, kit.Racers, func(n, _ int) race.Case {
			stored, err := c.Raw.GetAuthenticator(c.Ctx, w.CredentialID)
			from := kit.MustRecord(c, "GetAuthenticator", stored, err).Counter
			calls := kit.Numbered(n, func(i int) kit.Call {
				return kit.TouchAuthenticator(w.CredentialID, from, from+1+int64(i), c.Instant(time.Duration(i)*time.Second))
			})
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
				winner, failed := int64(0), 0
				for _, m := range h {
					if m.Err != nil {
						failed++
					}
					if !m.Won() {
						continue
					}
					if winner != 0 {
						return fmt.Errorf("two calls from the counter %d succeeded", from)
					}
					winner = m.Args[2].(int64)
					if got := m.Result.(*adapter.Authenticator).Counter; got != winner {
						return fmt.Errorf("the winner stored %d and got the record with %d", winner, got)
					}
				}
				got, err := c.Raw.GetAuthenticator(c.Ctx, w.CredentialID)
				if err != nil || got == nil {
					return fmt.Errorf("GetAuthenticator: got %s, error %w", diff.Show(got), err)
				}
				if winner == 0 && failed == 0 {
					return fmt.Errorf("no call from the stored counter %d succeeded", from)
				}
				return race.Unless(winner == 0 || got.Counter == winner, "the winner stored %d, the counter is %d", winner, got.Counter)
			}}
		})
	}},
	{ID: "AEDIT-11", Words: "backup-flags-are-stored", Test: backupFlags,
		Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorBackup"}},
}

// deletedAsItIs deletes an authenticator that was read and has changed since.
func deletedAsItIs(c *kit.Context, userID string) {
	w := c.Authenticator(userID)
	c.GetAuthenticator(w.CredentialID)
	if c.Works("UpdateAuthenticatorCounter") {
		w.Counter++
		c.UpdateCounter(w.CredentialID, w.Counter)
	}
	if c.Works("TouchAuthenticator") {
		from := w.Counter
		w.Counter, w.LastUsed = from+1, new(c.Instant(-time.Minute))
		kit.Of[*adapter.Authenticator](c, kit.TouchAuthenticator(w.CredentialID, from, w.Counter, *w.LastUsed))
	}
	if c.Works("RenameAuthenticator") {
		name := c.Unique("name")
		if _, err := kit.RenameAuthenticator(userID, w.CredentialID, name).Do(c.Ctx, c.Adapter); err == nil {
			w.Name = &name
		}
	}
	c.Same("DeleteAuthenticator of one that has changed", kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(userID, w.CredentialID, false)), &w)
}

// connectedAccountEnds deletes two authenticators of one account, of a user who has
// other accounts, so that keepOne must make no difference.
func connectedAccountEnds(c *kit.Context, keepOne bool) {
	a, b := c.User().ID, c.User().ID
	passkey := func(owner, connected string) adapter.Authenticator {
		return registeredAs(c, owner, func(w *adapter.Authenticator) { w.ProviderAccountID = connected })
	}
	account := func(owner string, kind adapter.AccountType, connected string) adapter.Account {
		return linkedAs(c, owner, func(x *adapter.Account) { x.Type, x.ProviderAccountID = kind, connected })
	}
	id, other := c.Unique("passkey"), c.Unique("passkey")
	w1, w2 := passkey(a, id), passkey(a, id)
	connected := account(a, adapter.AccountWebAuthn, id)
	stays := []adapter.Account{
		account(a, adapter.AccountWebAuthn, other), account(a, adapter.AccountOIDC, id), account(a, adapter.AccountEmail, c.Unique("x")),
		account(b, adapter.AccountWebAuthn, id),
	}
	passkey(b, id)
	kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, w1.CredentialID, keepOne))
	c.Same("an account that another authenticator is connected to", c.GetAccount(connected.Key()), &connected)
	kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, w2.CredentialID, keepOne))
	c.Absent("the account that the deleted authenticator was connected to", c.GetAccount(connected.Key()), nil)
	kit.Sees(c, "the user by that account", kit.GetUserByAccount(connected.Key()), nil)
	kit.ReallyGone(c, "DeleteAuthenticator", kit.Record{Kind: kit.AccountRecord, Account: connected.Key()})
	for _, x := range stays {
		c.Same("an account that is not connected", c.GetAccount(x.Key()), &x)
	}
	kit.Sees(c, "the list of accounts after the deletion", kit.ListAccountsByUserID(a), stays[:3])
	kit.Sees(c, "the other user's list of accounts after the deletion", kit.ListAccountsByUserID(b), stays[3:])
	c.LinkAccount(connected) // the key is free
}

// resemblingConnections deletes the authenticators of one user that are connected to accounts
// whose IDs are near misses of one key. Each ends its own account and no other one.
func resemblingConnections(c *kit.Context, key kit.MissedKey) {
	owner := c.User().ID
	type passkey struct {
		how           string
		account       adapter.Account
		authenticator adapter.Authenticator
	}
	var all []passkey
	var accounts []adapter.Account
	for _, m := range append([]kit.NearMiss{{Name: "nothing", Value: key.Value}}, key.Near(key.Value)...) {
		x, w := c.NewAccount(owner), c.NewAuthenticator(owner)
		x.Type, x.Provider = adapter.AccountWebAuthn, "passkey"
		x.ProviderAccountID, w.ProviderAccountID = m.Value, m.Value
		if _, err := c.Adapter.CreateAuthenticator(c.Ctx, w); err != nil {
			continue // the text may be refused [DATA-10] [DATA-11]
		}
		if _, err := c.Adapter.LinkAccount(c.Ctx, x); err == nil {
			all, accounts = append(all, passkey{m.Name, x, w}), append(accounts, x)
		}
	}
	for i, p := range all {
		kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(owner, p.authenticator.CredentialID, false))
		c.Absent("the account of a deleted authenticator, beside others that differ from it by "+p.how, c.GetAccount(p.account.Key()), nil)
		rest := accounts[i+1:]
		kit.Sees(c, "the list of accounts after the deletion of an authenticator that differs by "+p.how, kit.ListAccountsByUserID(owner), rest)
		if i == 0 && !c.Works("ListAccountsByUserID") {
			for _, x := range rest {
				c.Same("the account of an authenticator that was not deleted", c.GetAccount(x.Key()), &x)
			}
		}
	}
}

// lastCredentialIsKept is the first part of AEDIT-03.
func lastCredentialIsKept(c *kit.Context) {
	refused := func(what, user, credential string) {
		failsAs(c, "DeleteAuthenticator of "+what, kit.DeleteAuthenticator(user, credential, true),
			adapter.ErrLastCredential, adapter.ErrNotFound, adapter.ErrConflict)
	}
	a, b := c.User().ID, c.User().ID
	w := c.Authenticator(a)
	connected, theirs := connectedTo(c, w), c.Account(b)
	passkey := c.Authenticator(b) // a credential of another user does not count
	refused("the only credential", a, w.CredentialID)
	for range 2 { // nor does one that was refused
		taken, again := theirs, passkey
		taken.UserID, again.UserID = a, a
		for _, k := range c.Working([]kit.Call{kit.LinkAccount(taken), kit.CreateAuthenticator(again), kit.UnlinkAccount(c.NewAccount(a).Key()), kit.DeleteAuthenticator(a, passkey.CredentialID, false)}) {
			got, err := k.Do(c.Ctx, c.Adapter)
			if err == nil && !kit.IsNilRecord(got) {
				c.Errorf("%s(%s) for another user succeeded: %s", k.Method, diff.Show(k.Args...), diff.Show(got))
			}
		}
		refused("the only credential, after writes that were refused", a, w.CredentialID)
	}
	c.LinkAccount(connected)
	refused("the only credential, with the account that ends with it", a, w.CredentialID)
	c.Same("the authenticator after the refusal", c.GetAuthenticator(w.CredentialID), &w)
	c.Same("its account after the refusal", c.GetAccount(connected.Key()), &connected)
	oauth := c.Account(a)
	c.Same("DeleteAuthenticator of a user who has another account", kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, w.CredentialID, true)), &w)
	c.Absent("the account that ends with it", c.GetAccount(connected.Key()), nil)
	c.Same("the other account", c.GetAccount(oauth.Key()), &oauth)
	one, two := c.Authenticator(a), c.Authenticator(a)
	c.UnlinkAccount(oauth.Key())
	kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, one.CredentialID, true))
	refused("the last of two", a, two.CredentialID)
	// An account without an authenticator stays, whether or not it is a credential.
	loose := linkedAs(c, a, func(x *adapter.Account) { x.Type = adapter.AccountWebAuthn })
	c.Same("DeleteAuthenticator of a user who has an account that is not connected", kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, two.CredentialID, true)), &two)
	last := c.Authenticator(a)
	c.UnlinkAccount(loose.Key())
	refused("the only credential of a user who had others", a, last.CredentialID)
	c.Same("DeleteAuthenticator of the last, without keepOne", kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(a, last.CredentialID, false)), &last)
}

func authenticatorNames(c *kit.Context) {
	a, b := c.User().ID, c.User().ID
	w := c.NewAuthenticator(a)
	w.Name, w.Created, w.LastUsed = new(c.Unique("Schlüssel 🔑")), new(c.Instant(-time.Hour)), new(c.Instant(-time.Minute))
	created := c.CreateAuthenticator(w)
	c.Same("what CreateAuthenticator returned, against GetAuthenticator", created, c.GetAuthenticator(w.CredentialID))
	c.Same("the authenticator", c.GetAuthenticator(w.CredentialID), &w)
	keeps := created.Name != nil
	beside := c.Authenticator(a)
	name := c.Unique("Łaptop")
	got, err := kit.RenameAuthenticator(a, w.CredentialID, name).Do(c.Ctx, c.Adapter)
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
	for i, name := range []string{name, name, "", c.Unique("'; DROP TABLE users; --"), "日本語のキー"} {
		if i > 0 {
			got, err = kit.RenameAuthenticator(a, w.CredentialID, name).Do(c.Ctx, c.Adapter)
		}
		w.Name = &name
		renamed, _ := got.(*adapter.Authenticator)
		if err != nil || renamed == nil || renamed.Name == nil {
			c.Errorf("RenameAuthenticator to %q: got %s, error %v, want the record with the name, or ErrUnsupported", name, diff.Show(got), err)
			return
		}
		c.Same("what RenameAuthenticator returned", renamed, &w)
		if stored := c.GetAuthenticator(w.CredentialID); stored == nil || stored.Name == nil {
			c.Errorf("RenameAuthenticator to %q succeeded, and GetAuthenticator says %s", name, diff.Show(stored))
		} else {
			c.Same("GetAuthenticator after RenameAuthenticator", stored, &w)
		}
	}
	beside.Name = w.Name // two authenticators of one user may have one name
	got, err = kit.RenameAuthenticator(a, beside.CredentialID, *w.Name).Do(c.Ctx, c.Adapter)
	if err != nil {
		c.Errorf("RenameAuthenticator to the name of another authenticator of the user: %v", err)
		return
	}
	c.Same("what RenameAuthenticator to the name of another authenticator returned", got, &beside)
	for _, length := range []int{70, 300, 70_000} { // which the store may refuse, but not cut
		name := strings.Repeat("ключ", length/4) + "."
		what := fmt.Sprintf("RenameAuthenticator to a name of %d bytes", len(name))
		if got, err := kit.RenameAuthenticator(a, w.CredentialID, name).Do(c.Ctx, c.Adapter); err == nil {
			w.Name = &name
			c.Same("what "+what+" returned", got, &w)
		}
		c.Same("GetAuthenticator after "+what, c.GetAuthenticator(w.CredentialID), &w)
	}
	for _, x := range []struct{ user, credential string }{{b, w.CredentialID}, {c.ID(), w.CredentialID}, {"", w.CredentialID}, {a, c.Unique("credential")}, {a, ""}, {a + "x", w.CredentialID}, {a, w.CredentialID + " "}, {a, swapCase(w.CredentialID)}} {
		kit.FindsNothing(c, fmt.Sprintf("RenameAuthenticator(%q, %q)", x.user, x.credential), kit.RenameAuthenticator(x.user, x.credential, "x"))
	}
	c.Same("the authenticator after others tried to rename it", c.GetAuthenticator(w.CredentialID), &w)
	c.Same("another authenticator of the user", c.GetAuthenticator(beside.CredentialID), &beside)
	if c.Works("UpdateAuthenticatorCounter") {
		w.Counter = 99
		c.Same("what UpdateAuthenticatorCounter returned after a new name", c.UpdateCounter(w.CredentialID, 99), &w)
	}
}

// credentialsOfEachOrigin deletes, with keepOne, the authenticators of users who got them and
// their accounts in different ways, and compares each outcome with the model.
func credentialsOfEachOrigin(c *kit.Context) {
	origins := []func(*origin){(*origin).created}
	if c.Works("CreateUserWithAccount") {
		origins = append(origins, (*origin).signedUp, (*origin).signedUpApart, (*origin).signedUpBare)
	}
	later := []func(*origin){(*origin).linked, (*origin).registered, (*origin).unlinked, (*origin).connected, (*origin).left}
	type way struct{ origin, later int } // later is a set of bits
	var ways []way
	for origin := range origins {
		for set := range 1 << len(later) {
			ways = append(ways, way{origin, set})
		}
	}
	for w := range kit.Some(&c.Budget, ways) {
		k := &origin{c: c, model: model.New()}
		origins[w.origin](k)
		for i, add := range later {
			if w.later&(1<<i) != 0 {
				add(k)
			}
		}
		k.deleteAll()
	}
}

func backupFlags(c *kit.Context) {
	backups, ok := adapter.Capability[adapter.AuthenticatorBackups](c.Raw)
	if !ok || slices.Contains(adapter.Missing(c.Raw), "UpdateAuthenticatorBackup") {
		c.NotApplicable("the adapter has no UpdateAuthenticatorBackup")
	}
	u := c.User().ID
	w, beside := c.Authenticator(u), c.Authenticator(u)
	for _, backedUp := range []bool{true, true, false} {
		for _, device := range []string{"multiDevice", "singleDevice", "singleDevice"} {
			w.CredentialBackedUp, w.CredentialDeviceType = backedUp, device
			what := fmt.Sprintf("UpdateAuthenticatorBackup(%v, %s)", backedUp, device)
			got, err := backups.UpdateAuthenticatorBackup(c.Ctx, w.CredentialID, backedUp, device)
			if err != nil || got == nil {
				c.Fatalf("%s: got %s, error %v", what, diff.Show(got), err)
			}
			c.Same("what "+what+" returned", got, &w)
			c.Same("the authenticator after "+what, c.GetAuthenticator(w.CredentialID), &w)
		}
	}
	for _, id := range []string{c.Unique("credential"), "", w.CredentialID + "x", swapCase(w.CredentialID), "%"} {
		got, err := backups.UpdateAuthenticatorBackup(c.Ctx, id, true, "multiDevice")
		what := fmt.Sprintf("UpdateAuthenticatorBackup(%q)", id)
		if c.Fails(what, got, err) && id != "" && !errors.Is(err, adapter.ErrNotFound) {
			c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
		}
		c.Absent(fmt.Sprintf("GetAuthenticator(%q) after it", id), c.GetAuthenticator(id), nil)
	}
	c.Same("the authenticator after calls for others", c.GetAuthenticator(w.CredentialID), &w)
	c.Same("another authenticator of the user", c.GetAuthenticator(beside.CredentialID), &beside)
	kit.Sees(c, "the list", kit.ListAuthenticatorsByUserID(u), []adapter.Authenticator{w, beside})
}
