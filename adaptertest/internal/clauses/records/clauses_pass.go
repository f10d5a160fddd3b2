package records

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var passwordMethods = []string{"CreateUser", "CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"}

var passClauses = []kit.Check{
	{ID: "PASS-01", Words: "set-password-is-found", Requires: passwordMethods, Test: func(c *kit.Context) {
		u, beside := c.User(), passwordOf(c, c.User().ID)
		p := passwordOf(c, u.ID)
		for _, change := range []func(){
			func() { p = kit.NewPassword(c, u.ID) },
			func() { p.State = "" },
			func() {}, // the same once more
			func() { p.Hash = "$2y$12$" + c.Secret("bcrypt") },
			func() { p.Hash, p.State = p.Hash[:len(p.Hash)-1], `{"wrong":1}` },
		} {
			change()
			setPassword(c, p)
		}
		c.Same("the password of another user", passwordNow(c, beside.UserID), &beside)
		c.Same("the user after SetPassword", c.GetUser(u.ID), u)
		for _, e := range []kit.Draft{kit.NewEntrant(c), kit.NewEntrant(c), kit.NewEntrant(c)} {
			entered(c, e)
			e = kit.NewEntrant(c)
			e.User.ID, e.Password.State = "", ""
			e.User.Name, e.User.EmailVerified, e.User.Image = nil, nil, nil
			entered(c, e)
			e = kit.NewEntrant(c)
			e.Password.UserID = beside.UserID // the new user owns it all the same
			entered(c, e)
		}
		c.Same("the password of another user after sign-ups", passwordNow(c, beside.UserID), &beside)
	}},
	{ID: "PASS-02", Words: "absent-password-is-nil", Requires: passwordMethods, Test: func(c *kit.Context) {
		p := passwordOf(c, c.User().ID)
		without := c.User().ID
		for _, id := range append(append(unknownUsers(c), kit.MalformedIDs(p.UserID)...), without, p.Hash) {
			kit.FindsNothing(c, fmt.Sprintf("GetPassword(%q)", id), kit.GetPassword(id))
		}
		if named := userNamed(c, nearMissKey(c, "user")); named != nil {
			passwordOf(c, named.ID)
			for _, m := range kit.NearMisses(named.ID) {
				missedBy(c, kit.GetPassword(m.Value), m)
			}
		}
		c.Same("the password after lookups of others", passwordNow(c, p.UserID), &p)
		passwordOf(c, without)
		kit.Of[*adapter.Password](c, kit.DeletePassword(without, false))
		c.Absent("the password of a user who had one", passwordNow(c, without), nil)
	}},
	{ID: "PASS-03", Words: "password-needs-its-user", Requires: passwordMethods, Test: func(c *kit.Context) {
		for _, owner := range unknownOwners(c) {
			what := "SetPassword of " + owner.what
			failsAs(c, what, kit.SetPassword(kit.NewPassword(c, owner.ID)), adapter.ErrNotFound)
			c.Absent("the password after "+what, passwordNow(c, owner.ID), nil)
			if owner.mayCome {
				c.CreateUser(kit.UserNamed(c, owner.ID))
				c.Absent("the password of a user who came after "+what, passwordNow(c, owner.ID), nil)
			}
		}
		kit.IsRefused(c, "SetPassword without a user", kit.SetPassword(kit.NewPassword(c, "")))
	}},
	{ID: "PASS-04", Words: "swap-compares-byte-for-byte", Requires: passwordMethods, Test: func(c *kit.Context) {
		p := kit.NewPassword(c, c.User().ID)
		p.Hash, p.State = nearMissKey(c, "$hash"), `{"k":"`+nearMissKey(c, "state")+`"}`
		setPassword(c, p)
		beside := passwordOf(c, c.User().ID)
		for _, from := range resembling(p) {
			for _, to := range []adapter.Password{kit.NewPassword(c, p.UserID), p, from} {
				if to.Check() == nil {
					kit.FindsNothing(c, "SwapPassword from "+diff.Show(from), kit.SwapPassword(from, to))
				}
			}
			c.Same("the password after SwapPassword from "+diff.Show(from), passwordNow(c, p.UserID), &p)
		}
		for _, id := range append(unknownUsers(c), c.User().ID, beside.UserID) {
			from := p
			from.UserID = id
			kit.FindsNothing(c, fmt.Sprintf("SwapPassword of %q", id), kit.SwapPassword(from, kit.NewPassword(c, id)))
			if id != beside.UserID {
				c.Absent(fmt.Sprintf("the password of %q after SwapPassword", id), passwordNow(c, id), nil)
			}
		}
		for _, to := range []adapter.Password{kit.NewPassword(c, p.UserID), {Hash: p.Hash}, {UserID: beside.UserID, Hash: "h", State: p.State}, {Hash: "h"}, {Hash: "h"}} {
			got := kit.Of[*adapter.Password](c, kit.SwapPassword(p, to))
			p.Hash, p.State = to.Hash, to.State
			c.Same("what SwapPassword returned", got, &p)
			c.Same("the password after SwapPassword", passwordNow(c, p.UserID), &p)
		}
		c.Same("the password of another user after SwapPassword", passwordNow(c, beside.UserID), &beside)
	}},
	{ID: "PASS-05", Words: "one-of-concurrent-swaps-wins", Races: true, Requires: passwordMethods, Test: func(c *kit.Context) {
		race.Run(c, kit.Racers, func(n, _ int) race.Case { return arrangeSwaps(c, n) })
		race.Run(c, 2, func(_, round int) race.Case { return arrangeSwapAndChange(c, round) })
	}},
	{ID: "PASS-06", Words: "own-password-is-deleted", Requires: passwordMethods, Test: func(c *kit.Context) {
		b := userWith(c, 1, 1, 1)
		for _, p := range []adapter.Password{passwordOf(c, b.User.ID), passwordOf(c, c.User().ID)} {
			beside := passwordOf(c, c.User().ID)
			next := kit.NewPassword(c, p.UserID)
			kit.Of[*adapter.Password](c, kit.SwapPassword(p, next))
			for _, id := range append(unknownUsers(c), c.User().ID, p.UserID+"x") {
				for _, keepOne := range []bool{false, true} {
					kit.FindsNothing(c, fmt.Sprintf("DeletePassword(%q, %v)", id, keepOne), kit.DeletePassword(id, keepOne))
				}
			}
			c.Same("what DeletePassword returned", kit.Of[*adapter.Password](c, kit.DeletePassword(p.UserID, false)), &next)
			c.Absent("GetPassword after DeletePassword", passwordNow(c, p.UserID), nil)
			kit.FindsNothing(c, "SwapPassword of a deleted password", kit.SwapPassword(next, p))
			kit.FindsNothing(c, "DeletePassword once more", kit.DeletePassword(p.UserID, false))
			kit.FindsNothing(c, "DeletePassword with keepOne of no password", kit.DeletePassword(p.UserID, true))
			c.Same("the password of another user", passwordNow(c, beside.UserID), &beside)
			setPassword(c, p)
		}
		unchanged(c, "of a user whose password was deleted", c.Adapter, b)
	}},
	{ID: "PASS-07", Words: "last-way-in-is-kept", Races: true, Requires: passwordMethods, Test: func(c *kit.Context) {
		p := passwordOf(c, c.User().ID)
		if c.Works("CreateSession") {
			c.Session(p.UserID) // which is no way to sign in
		}
		if c.Stores(kit.AccountRecord) {
			c.Account(c.User().ID) // nor is another user's
		}
		failsAs(c, "DeletePassword of the last way in", kit.DeletePassword(p.UserID, true), adapter.ErrLastCredential)
		c.Same("the password that was not deleted", passwordNow(c, p.UserID), &p)
		if c.Works("LinkAccount") && c.Works("UnlinkAccount") {
			account := c.Account(p.UserID)
			c.Same("what DeletePassword beside an account returned", kit.Of[*adapter.Password](c, kit.DeletePassword(p.UserID, true)), &p)
			setPassword(c, p)
			c.UnlinkAccount(account.Key())
			failsAs(c, "DeletePassword after the account was unlinked", kit.DeletePassword(p.UserID, true), adapter.ErrLastCredential)
		}
		if !c.Works("CreateAuthenticator") || !c.Works("DeleteAuthenticator") {
			return
		}
		w := c.Authenticator(p.UserID)
		c.Same("what DeletePassword beside an authenticator returned", kit.Of[*adapter.Password](c, kit.DeletePassword(p.UserID, true)), &p)
		deletion := kit.DeleteAuthenticator(p.UserID, w.CredentialID, true)
		failsAs(c, "DeleteAuthenticator after the password", deletion, adapter.ErrLastCredential)
		setPassword(c, p)
		c.Same("what DeleteAuthenticator beside a password returned", kit.Of[*adapter.Authenticator](c, deletion), &w)
		failsAs(c, "DeletePassword after the authenticator", kit.DeletePassword(p.UserID, true), adapter.ErrLastCredential)
		race.Run(c, 2, func(_, _ int) race.Case { return arrangeLastWays(c) })
	}},
	{ID: "PASS-08", Words: "failed-sign-up-with-a-password-stores-nothing", Requires: passwordMethods, Test: func(c *kit.Context) {
		for what, spoil := range map[string]func(e *kit.Draft, holder *kit.Records){
			"a taken user ID":         func(e *kit.Draft, holder *kit.Records) { e.User.ID = holder.User.ID },
			"a taken address":         func(e *kit.Draft, holder *kit.Records) { e.User.Email = holder.User.Email },
			"an empty hash":           func(e *kit.Draft, _ *kit.Records) { e.Password.Hash = "" },
			"a hash of 2,001 bytes":   func(e *kit.Draft, _ *kit.Records) { e.Password.Hash = strings.Repeat("h", 2_001) },
			"a state of 32,001 bytes": func(e *kit.Draft, _ *kit.Records) { e.Password.State = strings.Repeat(" ", 32_001) },
		} {
			if what == "a taken user ID" && kit.AssignsIDs(c) {
				continue
			}
			holder := kit.Residents(c, 1)[0]
			e := kit.NewEntrant(c)
			free := e
			spoil(&e, holder)
			what = "CreateUserWithPassword with " + what
			got, err := e.WithPassword().Do(c.Ctx, c.Adapter)
			if taken := e.User != free.User; c.Fails(what, got, err) && taken != errors.Is(err, adapter.ErrConflict) {
				c.Errorf("%s: the error matches ErrConflict: %v, want %v: %v", what, !taken, taken, err)
			}
			if e.User.ID != free.User.ID {
				free.User.ID = c.ID() // that of the holder has a user
			}
			leftNothing(c, what, free)
			kit.Intact(c, []*kit.Records{holder})
			free.Password = kit.NewPassword(c, "")
			entered(c, free) // the failed one has reserved nothing
		}
		e := kit.NewEntrant(c)
		cancelledSignUp(c, e.WithPassword(), e)
		entered(c, e)
	}},
	{ID: "PASS-09", Words: "user-is-seen-with-the-password", Races: true, Requires: append(passwordMethods, "GetUserByEmail"), Test: func(c *kit.Context) {
		race.Run(c, 4, func(n, round int) race.Case { return arrangeEntrants(c, n, round) })
		race.Run(c, 2, func(_, _ int) race.Case {
			e := kit.NewEntrant(c)
			return arrangeSignUpAndLook(e.WithPassword(), e.User.Email, "GetPassword", func(u *adapter.User) kit.Call { return kit.GetPassword(u.ID) })
		})
	}},
	{ID: "PASS-10", Words: "password-ends-with-the-user", Races: true, Requires: append(passwordMethods, "DeleteUser"), Test: func(c *kit.Context) {
		beside := passwordOf(c, c.User().ID)
		for _, id := range []string{passwordOf(c, c.User().ID).UserID, entered(c, kit.NewEntrant(c))} {
			c.DeleteUser(id)
			c.Absent("the password of a deleted user", passwordNow(c, id), nil)
			kit.FindsNothing(c, "DeletePassword of a deleted user", kit.DeletePassword(id, false))
			if err := bequeathed(c, id); err != nil {
				c.Errorf("%v", err)
			}
		}
		c.Same("the password of another user", passwordNow(c, beside.UserID), &beside)
		race.Run(c, 4, func(n, round int) race.Case { return arrangeDeletedOwner(c, n, round) })
	}},
	{ID: "PASS-11", Words: "hash-and-state-are-kept-as-they-are", Requires: passwordMethods, Test: func(c *kit.Context) {
		p := passwordOf(c, c.User().ID)
		for _, hash := range []string{
			"h", " ", "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", strings.Repeat("h", 2_000), strings.Repeat("\U0001F511", 500),
			strings.Repeat("é", 1_000), " leading and trailing \t", "e\u0301 \u00e9 \u212b", "\ufeff\u202e\U0010ffff\ufffd", "a\r\nb\nc", `"'\%_$1?;--` + "`", "null", "0123", "1e3",
		} {
			p.Hash = hash
			setPassword(c, p)
		}
		for _, state := range []string{
			"", " ", "{}", "null", `{"b":1,"a":2,"a":3, "n":1.0}`, `{"zero":"\u0000","é":"\u00e9"}`, strings.Repeat("s", 32_000), strings.Repeat("\U0001F511", 8_000), "not JSON\n",
			"e\u0301 \u00e9", strings.Repeat("[", 10_000),
		} {
			p.State = state
			setPassword(c, p)
			next := adapter.Password{UserID: p.UserID, Hash: c.Secret("hash"), State: state + " "}
			if next.Check() != nil {
				continue
			}
			c.Same("what SwapPassword returned", kit.Of[*adapter.Password](c, kit.SwapPassword(p, next)), &next)
			c.Same("the password after SwapPassword", passwordNow(c, p.UserID), &next)
			p = next
		}
		for what, odd := range map[string]adapter.Password{
			"an empty hash":                            {State: "{}"},
			"a hash of 2,001 bytes":                    {Hash: strings.Repeat("h", 2_001)},
			"a hash of 2,001 bytes, the last a space":  {Hash: strings.Repeat("h", 2_000) + " "},
			"a hash of 2,004 bytes in 501 letters":     {Hash: strings.Repeat("\U0001F511", 501)},
			"a hash of 100,000 bytes":                  {Hash: strings.Repeat("h", 100_000)},
			"a state of 32,001 bytes":                  {Hash: "h", State: strings.Repeat("s", 32_001)},
			"a state of 32,004 bytes in 8,001 letters": {Hash: "h", State: strings.Repeat("\U0001F511", 8_001)},
			"a state of 300,000 bytes":                 {Hash: "h", State: strings.Repeat("s", 300_000)},
		} {
			odd.UserID = p.UserID
			kit.IsRefused(c, "SetPassword with "+what, kit.SetPassword(odd))
			kit.IsRefused(c, "SwapPassword to "+what, kit.SwapPassword(p, odd))
			c.Same("the password after one with "+what, passwordNow(c, p.UserID), &p)
		}
	}},
}

// passwordOf gives the user a password.
func passwordOf(c *kit.Context, userID string) adapter.Password {
	p := kit.NewPassword(c, userID)
	kit.Of[*adapter.Password](c, kit.SetPassword(p))
	return p
}

// passwordNow returns the user's password, or nil.
func passwordNow(c *kit.Context, userID string) *adapter.Password {
	return kit.Of[*adapter.Password](c, kit.GetPassword(userID))
}

// setPassword sets the password, and compares what is returned and what is stored.
func setPassword(c *kit.Context, p adapter.Password) {
	c.Same("what SetPassword returned", kit.Of[*adapter.Password](c, kit.SetPassword(p)), &p)
	c.Same("GetPassword after SetPassword", passwordNow(c, p.UserID), &p)
}

// entered signs a user up with a password, compares every lookup with the given records, and returns the ID.
func entered(c *kit.Context, e kit.Draft) string {
	got := kit.MustRecord(c, "CreateUserWithPassword", kit.Of[*adapter.User](c, e.WithPassword()), nil)
	want, password := asSignedUp(c, "CreateUserWithPassword", e.User, got), e.Password
	password.UserID = got.ID
	c.Same("what CreateUserWithPassword returned", got, &want)
	c.Same("GetUser after CreateUserWithPassword", c.GetUser(got.ID), &want)
	kit.Sees(c, "GetUserByEmail after CreateUserWithPassword", kit.GetUserByEmail(e.User.Email), &want)
	c.Same("GetPassword after CreateUserWithPassword", passwordNow(c, got.ID), &password)
	return got.ID
}

// resembling returns passwords whose hash or state a careless comparison takes for that of p.
func resembling(p adapter.Password) (all []adapter.Password) {
	for _, m := range kit.NearMisses(p.Hash) {
		all = append(all, adapter.Password{UserID: p.UserID, Hash: m.Value, State: p.State})
	}
	for _, m := range kit.NearMisses(p.State) {
		all = append(all, adapter.Password{UserID: p.UserID, Hash: p.Hash, State: m.Value})
	}
	all = append(all, adapter.Password{UserID: p.UserID, Hash: p.Hash}, adapter.Password{UserID: p.UserID, Hash: p.State, State: p.Hash})
	valid := slices.DeleteFunc(all, func(x adapter.Password) bool { return x.Check() != nil })
	return append(valid, adapter.Password{UserID: p.UserID, State: p.State}, adapter.Password{UserID: p.UserID})
}

// rawPassword gives the user a password without the observer.
func rawPassword(c *kit.Context, userID string) adapter.Password {
	return kit.StoreRaw(c, kit.SetPassword, kit.NewPassword(c, userID))
}

// passwordIs returns an error unless the user has the password, or with nil none.
func passwordIs(c *kit.Context, userID string, want *adapter.Password) error {
	return rawIs(c, kit.GetPassword(userID), want)
}

// arrangeSwaps lets swaps from one password race.
func arrangeSwaps(c *kit.Context, n int) race.Case {
	from := rawPassword(c, kit.RawUser(c).ID)
	calls := kit.Numbered(n, func(i int) kit.Call {
		to := kit.NewPassword(c, from.UserID)
		if i%2 == 1 {
			to.Hash = from.Hash // only the state differs
		}
		return kit.SwapPassword(from, to)
	})
	return race.Case{Exact: true, Calls: calls, Verify: func(h []race.Operation) error {
		winners, failures, stored := 0, 0, &from
		for _, m := range h {
			switch {
			case m.Won():
				winners++
				stored = new(m.Args[1].(adapter.Password))
			case m.Err != nil:
				failures++
			}
		}
		if failures > 0 {
			return race.Unless(winners <= 1, "%d swaps from one password got the record", winners)
		}
		return race.Problems(race.Unless(winners == 1, "%d swaps from one password got the record, want 1", winners), passwordIs(c, from.UserID, stored))
	}}
}

// arrangeSwapAndChange lets a swap race with SetPassword or DeletePassword, which have the last word in either order.
func arrangeSwapAndChange(c *kit.Context, round int) race.Case {
	from := rawPassword(c, kit.RawUser(c).ID)
	other, want := kit.DeletePassword(from.UserID, false), (*adapter.Password)(nil)
	if round/2%2 == 0 {
		want = new(kit.NewPassword(c, from.UserID))
		other = kit.SetPassword(*want)
	}
	return race.Case{Calls: []kit.Call{kit.SwapPassword(from, kit.NewPassword(c, from.UserID)), other}, Verify: func(h []race.Operation) error {
		if h[0].Err != nil || h[1].Err != nil {
			return nil //nolint:nilerr // CONC-15 judges whether it may fail
		}
		return passwordIs(c, from.UserID, want)
	}}
}

// arrangeLastWays lets the removals of a user's password and authenticator race.
func arrangeLastWays(c *kit.Context) race.Case {
	p := rawPassword(c, kit.RawUser(c).ID)
	w := kit.StoreRaw(c, kit.CreateAuthenticator, c.NewAuthenticator(p.UserID))
	calls := []kit.Call{kit.DeletePassword(p.UserID, true), kit.DeleteAuthenticator(p.UserID, w.CredentialID, true)}
	return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
		refused := 0
		for _, m := range h {
			switch {
			case errors.Is(m.Err, adapter.ErrLastCredential):
				refused++
			case m.Err != nil:
				return nil //nolint:nilerr // CONC-15 judges whether it may fail
			}
		}
		return race.Unless(refused == 1, "%d removals were refused, want 1", refused)
	}}
}

// arrangeEntrants lets sign-ups with one address race, the last of them sometimes without a password.
func arrangeEntrants(c *kit.Context, n, round int) race.Case {
	var tries []kit.Draft
	calls := kit.Numbered(n, func(i int) kit.Call {
		e := kit.NewEntrant(c)
		if i > 0 {
			e.User.Email = tries[0].User.Email
		}
		tries = append(tries, e)
		if round%4 == 3 && i == n-1 {
			return kit.CreateUser(e.User)
		}
		return e.WithPassword()
	})
	return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
		var problems []error
		winners := 0
		for i, m := range h {
			id, want := tries[i].User.ID, (*adapter.Password)(nil)
			if m.Won() {
				winners++
				id = race.UserID(m.Result.(*adapter.User))
				if m.Method == "CreateUserWithPassword" {
					want = new(tries[i].Password)
					want.UserID = id
				}
			}
			problems = append(problems, passwordIs(c, id, want))
		}
		return race.Problems(append(problems, race.Unless(winners <= 1, "%d sign-ups with one address succeeded", winners))...)
	}}
}

// bequeathed returns an error if a new user with the ID of a deleted one has a password.
func bequeathed(c *kit.Context, id string) error {
	u, err := c.Raw.CreateUser(c.Ctx, kit.UserNamed(c, id))
	if err != nil || u == nil || u.ID != id {
		return nil //nolint:nilerr // the store does not use an ID twice
	}
	err = passwordIs(c, id, nil)
	_, deleteErr := c.Raw.DeleteUser(c.Ctx, id)
	if err != nil {
		err = fmt.Errorf("of a new user with the ID of a deleted one: %w", err)
	}
	return errors.Join(err, deleteErr)
}

// arrangeDeletedOwner lets the deletion of a user race with changes of the password.
func arrangeDeletedOwner(c *kit.Context, n, round int) race.Case {
	id := kit.RawUser(c).ID
	k := race.Case{Calls: []kit.Call{kit.DeleteUser(id)}}
	var from adapter.Password
	if round%4 > 1 {
		from = rawPassword(c, id)
	}
	for i := 1; i < n; i++ {
		change := kit.SetPassword(kit.NewPassword(c, id))
		if from.Hash != "" && i%2 == 1 {
			change = kit.SwapPassword(from, kit.NewPassword(c, id))
		}
		k.Calls = append(k.Calls, change)
	}
	k.Verify = func(h []race.Operation) error {
		if h[0].Err != nil {
			return nil //nolint:nilerr // CONC-15 judges whether it may fail
		}
		if err := passwordIs(c, id, nil); err != nil {
			return fmt.Errorf("of a deleted user: %w", err)
		}
		return bequeathed(c, id)
	}
	return k
}
