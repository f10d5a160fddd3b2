package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	accountListMethods   = []string{"CreateUser", "LinkAccount", "ListAccountsByUserID"}
	accountUpdateMethods = []string{"CreateUser", "LinkAccount", "UpdateAccount"}
)

var alistClauses = []kit.Check{
	{ID: "ALIST-01", Words: "all-accounts-are-listed-once", Requires: accountListMethods, Test: func(c *kit.Context) {
		a, b := c.User().ID, c.User().ID
		one, two := c.NewAccount(a), c.NewAccount(a)
		one.Provider, two.Provider = c.Unique("one"), c.Unique("two")
		var want, others []adapter.Account
		for _, x := range []adapter.Account{one, two} { // one id at several providers, of several users
			exchanged := adapter.AccountKey{Provider: two.ProviderAccountID, ProviderAccountID: x.Provider}
			x.ProviderAccountID = "1234567"
			want, others = append(want, c.LinkAccount(x)), append(others, c.LinkAccount(accountWith(c, b, exchanged)))
		}
		again := accountWith(c, b, adapter.AccountKey{Provider: c.Unique("three"), ProviderAccountID: "1234567"})
		others = append(others, c.LinkAccount(again))
		second := c.NewAccount(a)
		second.Provider = one.Provider // several at one provider
		bare := adapter.Account{UserID: a, Type: adapter.AccountOAuth, Provider: c.Unique("bare"), ProviderAccountID: c.Unique("x")}
		want = append(want, c.LinkAccount(second), c.LinkAccount(bare))
		surround(c, a, kit.AccountRecord, want[0].ProviderAccountID, second.ProviderAccountID)
		list := func() []adapter.Account { return kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(a)) }
		c.Same("ListAccountsByUserID", list(), want)
		c.Same("ListAccountsByUserID of another user", kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(b)), others)
		if c.Works("UnlinkAccount") {
			c.UnlinkAccount(want[0].Key())
			moved := accountWith(c, b, want[0].Key())
			want = want[1:]
			c.Same("ListAccountsByUserID after one was unlinked", list(), want)
			others = append(others, c.LinkAccount(moved))
			c.Same("ListAccountsByUserID after another user linked the one that was unlinked", list(), want)
			c.Same("ListAccountsByUserID of the user who linked it", kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(b)), others)
		}
		back := cameBack(c, userWith(c, 3, 0, 0))
		c.Same("ListAccountsByUserID after accounts had gone and come back", kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(back.User.ID)), back.Accounts)
		if c.Works("UpdateAccount") {
			update := kit.AccountUpdate(c, want[0].Key(), kit.AccountFields)
			kit.Of[*adapter.Account](c, kit.UpdateAccount(update))
			update.Apply(&want[0])
			c.Same("ListAccountsByUserID after an update", list(), want)
		}
		apart := joined(c, kit.AccountRecord, c.User())
		c.Same("ListAccountsByUserID of keys with separators", kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(apart.User.ID)), apart.Accounts)
		many := c.User().ID
		want = make([]adapter.Account, kit.Many(c))
		kit.Populate(c, len(want), func(i int) {
			want[i] = adapter.Account{UserID: many, Type: adapter.AccountOIDC, Provider: fmt.Sprintf("%s-%d", one.Provider, i%3), ProviderAccountID: fmt.Sprintf("%s-%d", one.ProviderAccountID, i)}
			c.LinkAccount(want[i])
		})
		c.Same(fmt.Sprintf("ListAccountsByUserID of %d", len(want)), kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(many)), want)
		listsLargeAccounts(c)
		listWhileOthersChange(c, kit.AccountRecord, kit.ListAccountsByUserID)
	}},
	{ID: "ALIST-02", Words: "unknown-user-has-an-empty-list", Requires: accountListMethods, Test: func(c *kit.Context) {
		c.Account(c.User().ID)
		for _, id := range unknownUsers(c) {
			list, err := kit.Optional[adapter.AccountLists](c.Adapter).ListAccountsByUserID(c.Ctx, id)
			if err != nil || list == nil || len(list) > 0 {
				c.Errorf("ListAccountsByUserID(%q): got %s (nil: %v), error %v, want an empty list", id, diff.Show(list), list == nil, err)
			}
		}
	}},
	{ID: "ALIST-03", Words: "failure-is-no-shorter-list", Needs: faulted.NeedsFaults, Requires: accountListMethods, Test: func(c *kit.Context) {
		u := c.User().ID
		want := kit.Times(7, func() adapter.Account { return c.Account(u) })
		faulted.ListFails(c, kit.ListAccountsByUserID(u), want)
	}},
	{ID: "ALIST-04", Words: "update-changes-exactly-what-is-set", Requires: accountUpdateMethods, Test: accountUpdates},
	{ID: "ALIST-05", Words: "update-of-an-absent-account-is-not-found", Requires: accountUpdateMethods, Test: func(c *kit.Context) {
		u := c.User().ID
		linked := c.Account(u)
		absent := []adapter.AccountKey{
			c.NewAccount(u).Key(),
			{Provider: linked.Provider, ProviderAccountID: linked.ProviderAccountID + "x"},
			{Provider: linked.ProviderAccountID, ProviderAccountID: linked.Provider},
			{Provider: linked.Provider}, {ProviderAccountID: linked.ProviderAccountID}, {},
		}
		if c.Works("UnlinkAccount") {
			gone := c.Account(u).Key()
			c.UnlinkAccount(gone)
			absent = append(absent, gone)
		}
		for _, key := range absent {
			what := fmt.Sprintf("UpdateAccount(%q, %q)", key.Provider, key.ProviderAccountID)
			for _, fields := range [][]string{kit.AccountFields, kit.AccountFields[:1], nil} {
				got, err := kit.UpdateAccount(kit.AccountUpdate(c, key, fields)).Do(c.Ctx, c.Adapter)
				what := fmt.Sprintf("%s of %v", what, fields)
				if c.Fails(what, got, err) && key.Provider != "" && key.ProviderAccountID != "" && !errors.Is(err, adapter.ErrNotFound) {
					c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
				}
				if errors.Is(err, adapter.ErrConflict) {
					c.Errorf("%s: the error matches ErrConflict: %v", what, err)
				}
			}
			if key.Provider != "" && key.ProviderAccountID != "" {
				c.Absent("GetAccount after "+what, c.GetAccount(key), nil)
			}
		}
		c.Same("the account beside the absent ones", c.GetAccount(linked.Key()), &linked)
		kit.Sees(c, "the list beside the absent ones", kit.ListAccountsByUserID(u), []adapter.Account{linked})
	}},
	{ID: "ALIST-06", Words: "updates-of-different-fields-survive", Races: true, Requires: append(accountUpdateMethods, "GetAccount"), Test: func(c *kit.Context) {
		x := c.Account(c.User().ID)
		race.FieldsSurvive(c, kit.AccountFields, 1, x, kit.GetAccountByKey(x.Key()), func(field string) (kit.Call, func(*adapter.Account)) {
			update := kit.AccountUpdate(c, x.Key(), []string{field})
			return kit.UpdateAccount(update), update.Apply
		})
	}},
	{ID: "ALIST-07", Words: "update-does-not-undo-unlinking", Races: true, Requires: append(accountUpdateMethods, "UnlinkAccount", "GetAccount"), Test: func(c *kit.Context) {
		users := kit.SomeUsers(c, 2)
		race.Run(c, 4, func(n, round int) race.Case {
			x := kit.StoreRaw(c, kit.LinkAccount, c.NewAccount(users[0].ID))
			calls := kit.Numbered(n, func(i int) kit.Call {
				if i%2 == 0 {
					return kit.UnlinkAccount(x.Key())
				}
				return kit.UpdateAccount(kit.AccountUpdate(c, x.Key(), kit.AccountFields))
			})
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
				for i, m := range h {
					switch {
					case i%2 == 0 && m.Err != nil:
						return nil
					case i%2 == 1 && errors.Is(m.Err, adapter.ErrConflict):
						return fmt.Errorf("an update of an account that is being unlinked: %w", m.Err)
					}
				}
				found, err := c.Raw.GetAccount(c.Ctx, x.ProviderAccountID, x.Provider)
				if err == nil && found == nil && c.Works("ListAccountsByUserID") {
					var list []adapter.Account
					list, err = kit.Optional[adapter.AccountLists](c.Raw).ListAccountsByUserID(c.Ctx, users[0].ID)
					if len(list) > 0 {
						return fmt.Errorf("the account was unlinked and is listed: %s", diff.Show(list))
					}
				}
				return race.Problems(err, race.Unless(found == nil, "the account was unlinked and is there: %s", diff.Show(found)))
			}}
		})
	}},
}

func accountUpdates(c *kit.Context) {
	u := c.User().ID
	x, beside := c.Account(u), c.Account(u)
	update := func(what string, update adapter.AccountUpdate) {
		update.Apply(&x)
		for _, what := range []string{what, what + ", again"} { // the second one changes no value
			c.Same("what UpdateAccount of "+what+" returned", kit.Of[*adapter.Account](c, kit.UpdateAccount(update)), &x)
			c.Same("GetAccount after UpdateAccount of "+what, c.GetAccount(x.Key()), &x)
		}
	}
	for _, f := range kit.AccountFields {
		update("the "+f, kit.AccountUpdate(c, x.Key(), []string{f}))
		update("the "+f+" to null", clearing(x.Key(), f))
		update("the "+f+", which was null", kit.AccountUpdate(c, x.Key(), []string{f}))
	}
	for i, f := range kit.AccountFields {
		for _, g := range kit.AccountFields[i+1:] {
			update("the "+f+" and the "+g, kit.AccountUpdate(c, x.Key(), []string{f, g}))
		}
	}
	update("all fields", kit.AccountUpdate(c, x.Key(), kit.AccountFields))
	update("nothing", kit.AccountUpdate(c, x.Key(), nil))
	empty := kit.AccountUpdate(c, x.Key(), nil)
	empty.Scope, empty.AccessToken = adapter.To(new("")), adapter.To(new(""))
	update("fields to the empty string", empty)
	for _, at := range []int64{0, 1, -1, 1 << 31, 1<<32 + 1, 1 << 40, 253402300799} {
		numbers := kit.AccountUpdate(c, x.Key(), nil)
		numbers.ExpiresAt = adapter.To(&at)
		update(fmt.Sprintf("the expiry to %d", at), numbers)
	}
	long := kit.AccountUpdate(c, x.Key(), nil)
	long.AccessToken, long.IDToken = adapter.To(new(textOf(6000, c.Secret("long")))), adapter.To(new(textOf(9000, c.Secret("long"))))
	update("tokens of 6,000 and 9,000 bytes", long)
	c.Same("another account of the user", c.GetAccount(beside.Key()), &beside)
	kit.Sees(c, "ListAccountsByUserID after the updates", kit.ListAccountsByUserID(u), []adapter.Account{x, beside})
	if c.Stores(kit.SessionRecord) {
		s := c.Session(u)
		kit.Of[*adapter.Account](c, kit.UpdateAccount(kit.AccountUpdate(c, x.Key(), kit.AccountFields)))
		if got := c.GetSession(s.SessionToken); got == nil || race.InstantOf(c, got.Session.Expires) != race.InstantOf(c, s.Expires) {
			c.Errorf("a session after UpdateAccount: got %s, want %s", diff.Show(got), diff.Show(s))
		}
	}
}

// listsLargeAccounts compares a list of accounts that are more than a page of a mebibyte together, though each is
// smaller than a record may be. It deletes the owner too: a deletion reads what it deletes.
func listsLargeAccounts(c *kit.Context) {
	owner := c.User().ID
	text := strings.Repeat("abcdefgh", 2048)
	var want []adapter.Account
	for len(want) < 40 {
		x := c.NewAccount(owner)
		x.AccessToken, x.RefreshToken, x.IDToken = new(text), new(text), new(text)
		if _, err := c.Adapter.LinkAccount(c.Ctx, x); err != nil {
			c.Notef("no list of large accounts: %v", err) // ACCT-14 judges it
			return
		}
		want = append(want, x)
	}
	c.Same("ListAccountsByUserID of accounts of two mebibytes together", kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(owner)), want)
	if c.Works("DeleteUser") && c.Works("GetAccount") {
		c.DeleteUser(owner)
		for _, x := range want {
			c.Absent("an account of a deleted user who had two mebibytes of them", c.GetAccount(x.Key()), nil)
		}
	}
}
