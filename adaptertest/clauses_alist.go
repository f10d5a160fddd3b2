package adaptertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	accountListMethods   = []string{"CreateUser", "LinkAccount", "ListAccountsByUserID"}
	accountUpdateMethods = []string{"CreateUser", "LinkAccount", "UpdateAccount"}
)

var alistClauses = []check{
	{id: "ALIST-01", words: "all-accounts-are-listed-once", requires: accountListMethods, run: func(c *clauseContext) {
		a, b := c.user().ID, c.user().ID
		one, two := c.newAccount(a), c.newAccount(a)
		one.Provider, two.Provider = c.unique("one"), c.unique("two")
		var want, others []adapter.Account
		for _, x := range []adapter.Account{one, two} { // one id at several providers, of several users
			y := c.newAccount(b)
			y.Provider, y.ProviderAccountID = two.ProviderAccountID, x.Provider // the halves, exchanged
			x.ProviderAccountID = "1234567"
			want, others = append(want, c.linkAccount(x)), append(others, c.linkAccount(y))
		}
		again := c.newAccount(b)
		again.Provider, again.ProviderAccountID = c.unique("three"), "1234567"
		others = append(others, c.linkAccount(again))
		second := c.newAccount(a)
		second.Provider = one.Provider // several at one provider
		bare := adapter.Account{UserID: a, Type: adapter.AccountOAuth, Provider: c.unique("bare"), ProviderAccountID: c.unique("x")}
		want = append(want, c.linkAccount(second), c.linkAccount(bare))
		c.surround(a, AccountRecord, want[0].ProviderAccountID, second.ProviderAccountID)
		list := func() []adapter.Account { return of[[]adapter.Account](c, listAccounts(a)) }
		c.same("ListAccountsByUserID", list(), want)
		c.same("ListAccountsByUserID of another user", of[[]adapter.Account](c, listAccounts(b)), others)
		if c.works("UnlinkAccount") {
			c.unlinkAccount(want[0].Key())
			moved := c.accountWith(b, want[0].Key())
			want = want[1:]
			c.same("ListAccountsByUserID after one was unlinked", list(), want)
			others = append(others, c.linkAccount(moved))
			c.same("ListAccountsByUserID after another user linked the one that was unlinked", list(), want)
			c.same("ListAccountsByUserID of the user who linked it", of[[]adapter.Account](c, listAccounts(b)), others)
		}
		back := c.userWith(3, 0, 0)
		c.cameBack(back)
		c.same("ListAccountsByUserID after accounts had gone and come back", of[[]adapter.Account](c, listAccounts(back.user.ID)), back.accounts)
		if c.works("UpdateAccount") {
			update := c.accountUpdate(want[0].Key(), accountFields)
			of[*adapter.Account](c, updateAccount(update))
			update.Apply(&want[0])
			c.same("ListAccountsByUserID after an update", list(), want)
		}
		joined := c.user().ID
		want = c.joinedAccounts(joined)
		c.same("ListAccountsByUserID of keys with separators", of[[]adapter.Account](c, listAccounts(joined)), want)
		many := c.user().ID
		want = make([]adapter.Account, c.many())
		c.populate(len(want), func(i int) {
			want[i] = adapter.Account{UserID: many, Type: adapter.AccountOIDC, Provider: fmt.Sprintf("%s-%d", one.Provider, i%3), ProviderAccountID: fmt.Sprintf("%s-%d", one.ProviderAccountID, i)}
			c.linkAccount(want[i])
		})
		c.same(fmt.Sprintf("ListAccountsByUserID of %d", len(want)), of[[]adapter.Account](c, listAccounts(many)), want)
		c.listsLargeAccounts()
		listWhileOthersChange(c, "ListAccountsByUserID", c.listedAccounts())
	}},
	{id: "ALIST-02", words: "unknown-user-has-an-empty-list", requires: accountListMethods, run: func(c *clauseContext) {
		c.account(c.user().ID)
		for _, id := range c.unknownUsers() {
			list, err := optional[adapter.AccountLists](c.a).ListAccountsByUserID(c.ctx, id)
			if err != nil || list == nil || len(list) > 0 {
				c.Errorf("ListAccountsByUserID(%q): got %s (nil: %v), error %v, want an empty list", id, diff.Show(list), list == nil, err)
			}
		}
	}},
	{id: "ALIST-03", words: "failure-is-no-shorter-list", needs: needsFaults, requires: accountListMethods, run: func(c *clauseContext) {
		u := c.user().ID
		var want []adapter.Account
		for range 7 {
			want = append(want, c.account(u))
		}
		c.listFails(listAccounts(u), want)
	}},
	{id: "ALIST-04", words: "update-changes-exactly-what-is-set", requires: accountUpdateMethods, run: accountUpdates},
	{id: "ALIST-05", words: "update-of-an-absent-account-is-not-found", requires: accountUpdateMethods, run: func(c *clauseContext) {
		u := c.user().ID
		linked := c.account(u)
		absent := []adapter.AccountKey{
			c.newAccount(u).Key(),
			{Provider: linked.Provider, ProviderAccountID: linked.ProviderAccountID + "x"},
			{Provider: linked.ProviderAccountID, ProviderAccountID: linked.Provider},
			{Provider: linked.Provider}, {ProviderAccountID: linked.ProviderAccountID}, {},
		}
		if c.works("UnlinkAccount") {
			gone := c.account(u).Key()
			c.unlinkAccount(gone)
			absent = append(absent, gone)
		}
		for _, key := range absent {
			what := fmt.Sprintf("UpdateAccount(%q, %q)", key.Provider, key.ProviderAccountID)
			for _, fields := range [][]string{accountFields, accountFields[:1], nil} {
				got, err := updateAccount(c.accountUpdate(key, fields)).do(c.ctx, c.a)
				what := fmt.Sprintf("%s of %v", what, fields)
				if c.fails(what, got, err) && key.Provider != "" && key.ProviderAccountID != "" && !errors.Is(err, adapter.ErrNotFound) {
					c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
				}
				if errors.Is(err, adapter.ErrConflict) {
					c.Errorf("%s: the error matches ErrConflict: %v", what, err)
				}
			}
			if key.Provider != "" && key.ProviderAccountID != "" {
				c.absent("GetAccount after "+what, c.getAccount(key), nil)
			}
		}
		c.same("the account beside the absent ones", c.getAccount(linked.Key()), &linked)
		if c.works("ListAccountsByUserID") {
			c.same("the list beside the absent ones", of[[]adapter.Account](c, listAccounts(u)), []adapter.Account{linked})
		}
	}},
	{id: "ALIST-06", words: "updates-of-different-fields-survive", races: true, requires: append(accountUpdateMethods, "GetAccount"), run: func(c *clauseContext) {
		current := c.account(c.user().ID)
		arrange := func(fields ...int) raceCase {
			var k raceCase
			updates := make([]adapter.AccountUpdate, len(fields))
			for i, field := range fields {
				updates[i] = c.accountUpdate(current.Key(), []string{accountFields[field]})
				k.calls = append(k.calls, updateAccount(updates[i]))
			}
			k.verify = func(h []operation) error {
				want, failed := current, false
				for i, m := range h {
					if m.err == nil {
						updates[i].Apply(&want)
					}
					failed = failed || m.err != nil
				}
				got, err := c.raw.GetAccount(c.ctx, current.ProviderAccountID, current.Provider)
				if err != nil || got == nil {
					return fmt.Errorf("GetAccount: got %s, error %w", diff.Show(got), err)
				}
				if d := c.unlike(got, &want); d != "" && !failed {
					return fmt.Errorf("after successful updates of different fields: %s", d)
				}
				current = *got
				return nil
			}
			return k
		}
		c.race(len(accountFields), func(n, round int) raceCase {
			fields := make([]int, n)
			for i := range fields {
				fields[i] = (round + i) % len(accountFields)
			}
			return arrange(fields...)
		})
		c.racePairs(len(accountFields), func(first, second int) raceCase { return arrange(first, second) })
	}},
	{id: "ALIST-07", words: "update-does-not-undo-unlinking", races: true, requires: append(accountUpdateMethods, "UnlinkAccount", "GetAccount"), run: func(c *clauseContext) {
		users := c.someUsers(2)
		c.race(4, func(n, round int) raceCase {
			x := c.newAccount(users[0].ID)
			_, err := c.raw.LinkAccount(c.ctx, x)
			must(c, "LinkAccount", &x, err)
			var k raceCase
			for i := range n {
				if i%2 == 0 {
					k.calls = append(k.calls, unlinkAccount(x.Key()))
				} else {
					k.calls = append(k.calls, updateAccount(c.accountUpdate(x.Key(), accountFields)))
				}
			}
			k.verify = func(h []operation) error {
				for i, m := range h {
					switch {
					case i%2 == 0 && m.err != nil:
						return nil
					case i%2 == 1 && errors.Is(m.err, adapter.ErrConflict):
						return fmt.Errorf("an update of an account that is being unlinked: %w", m.err)
					}
				}
				found, err := c.raw.GetAccount(c.ctx, x.ProviderAccountID, x.Provider)
				if err == nil && found == nil && c.works("ListAccountsByUserID") {
					var list []adapter.Account
					list, err = optional[adapter.AccountLists](c.raw).ListAccountsByUserID(c.ctx, users[0].ID)
					if len(list) > 0 {
						return fmt.Errorf("the account was unlinked and is listed: %s", diff.Show(list))
					}
				}
				return problems(err, unless(found == nil, "the account was unlinked and is there: %s", diff.Show(found)))
			}
			return k
		})
	}},
}

// accountUpdates is ALIST-04.
func accountUpdates(c *clauseContext) {
	u := c.user().ID
	x, beside := c.account(u), c.account(u)
	update := func(what string, update adapter.AccountUpdate) {
		update.Apply(&x)
		for _, what := range []string{what, what + ", again"} { // the second one changes no value
			c.same("what UpdateAccount of "+what+" returned", of[*adapter.Account](c, updateAccount(update)), &x)
			c.same("GetAccount after UpdateAccount of "+what, c.getAccount(x.Key()), &x)
		}
	}
	for _, f := range accountFields {
		update("the "+f, c.accountUpdate(x.Key(), []string{f}))
		update("the "+f+" to null", clearing(x.Key(), f))
		update("the "+f+", which was null", c.accountUpdate(x.Key(), []string{f}))
	}
	for i, f := range accountFields {
		for _, g := range accountFields[i+1:] {
			update("the "+f+" and the "+g, c.accountUpdate(x.Key(), []string{f, g}))
		}
	}
	update("all fields", c.accountUpdate(x.Key(), accountFields))
	update("nothing", c.accountUpdate(x.Key(), nil))
	empty := c.accountUpdate(x.Key(), nil)
	empty.Scope, empty.AccessToken = adapter.To(new("")), adapter.To(new(""))
	update("fields to the empty string", empty)
	for _, at := range []int64{0, 1, -1, 1 << 31, 1<<32 + 1, 1 << 40, 253402300799} {
		numbers := c.accountUpdate(x.Key(), nil)
		numbers.ExpiresAt = adapter.To(&at)
		update(fmt.Sprintf("the expiry to %d", at), numbers)
	}
	long := c.accountUpdate(x.Key(), nil)
	long.AccessToken, long.IDToken = adapter.To(new(c.secret("long")+longText(6000))), adapter.To(new(c.secret("long")+longText(9000)))
	update("tokens of 6,000 and 9,000 bytes", long)
	c.same("another account of the user", c.getAccount(beside.Key()), &beside)
	if c.works("ListAccountsByUserID") {
		c.same("ListAccountsByUserID after the updates", of[[]adapter.Account](c, listAccounts(u)), []adapter.Account{x, beside})
	}
	if c.stores(SessionRecord) {
		s := c.session(u)
		of[*adapter.Account](c, updateAccount(c.accountUpdate(x.Key(), accountFields)))
		if got := c.getSession(s.SessionToken); got == nil || c.instantOf(got.Session.Expires) != c.instantOf(s.Expires) {
			c.Errorf("a session after UpdateAccount: got %s, want %s", diff.Show(got), diff.Show(s))
		}
	}
}

// longText returns n bytes of letters.
func longText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b)
}

// listsLargeAccounts compares a list of accounts that are more than a page of a
// mebibyte together, though each is smaller than a record may be. It deletes the
// owner too: a deletion reads what it deletes.
func (c *clauseContext) listsLargeAccounts() {
	owner := c.user().ID
	text := strings.Repeat("abcdefgh", 2048)
	var want []adapter.Account
	for len(want) < 40 {
		x := c.newAccount(owner)
		x.AccessToken, x.RefreshToken, x.IDToken = new(text), new(text), new(text)
		if _, err := c.a.LinkAccount(c.ctx, x); err != nil {
			c.Notef("no list of large accounts: %v", err) // ACCT-14 judges it
			return
		}
		want = append(want, x)
	}
	c.same("ListAccountsByUserID of accounts of two mebibytes together", of[[]adapter.Account](c, listAccounts(owner)), want)
	if c.works("DeleteUser") && c.works("GetAccount") {
		c.deleteUser(owner)
		for _, x := range want {
			c.absent("an account of a deleted user who had two mebibytes of them", c.getAccount(x.Key()), nil)
		}
	}
}
