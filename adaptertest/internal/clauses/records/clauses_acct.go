package records

import (
	"encoding/json"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	accountMethods = []string{"CreateUser", "LinkAccount"}
	unlinkMethods  = []string{"CreateUser", "LinkAccount", "UnlinkAccount"}
)

var acctClauses = []kit.Check{
	{ID: "ACCT-01", Words: "linked-account-finds-its-owner", Requires: accountMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		x, y := c.Account(a.ID), c.Account(b.ID)
		c.Same("GetUserByAccount of A's account", c.GetUserByAccount(x.Key()), a)
		c.Same("GetUserByAccount of B's account", c.GetUserByAccount(y.Key()), b)
		c.Same("GetUserByAccount, against GetUser", c.GetUserByAccount(x.Key()), c.GetUser(a.ID))
		for _, t := range kit.AccountTypes {
			bare := c.CreateUser(adapter.User{Email: c.NewUser().Email})
			linkedAs(c, bare.ID, func(x *adapter.Account) { x.Type = t })
			c.Same(fmt.Sprintf("GetUser of a user without optional fields, after LinkAccount of type %s", t), c.GetUser(bare.ID), bare)
		}
	}},
	{ID: "ACCT-02", Words: "get-yields-every-stored-field", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, t := range kit.AccountTypes {
			a := linkedAs(c, u.ID, func(x *adapter.Account) { x.Type = t })
			c.Same(fmt.Sprintf("GetAccount of type %s with every field set", t), c.GetAccount(a.Key()), &a)
		}
		a := c.LinkAccount(bareAccount(c, u.ID))
		c.Same("GetAccount with only the required fields set", c.GetAccount(a.Key()), &a)
	}},
	{ID: "ACCT-03", Words: "get-without-a-match-is-absent", Requires: accountMethods, Test: func(c *kit.Context) {
		for what, key := range unmatchedAccounts(c) {
			kit.FindsNothing(c, "GetAccount with "+what, kit.GetAccount(key.ProviderAccountID, key.Provider))
		}
	}},
	{ID: "ACCT-04", Words: "user-by-account-without-a-match-is-absent", Requires: accountMethods, Test: func(c *kit.Context) {
		for what, key := range unmatchedAccounts(c) {
			kit.FindsNothing(c, "GetUserByAccount with "+what, kit.GetUserByAccount(key))
		}
	}},
	{ID: "ACCT-05", Words: "both-halves-of-the-pair-count", Requires: accountMethods, Test: func(c *kit.Context) {
		p, id := c.Unique("p"), c.Unique("subject")
		keys := []adapter.AccountKey{
			{Provider: p, ProviderAccountID: id}, {Provider: c.Unique("q"), ProviderAccountID: id}, {Provider: p, ProviderAccountID: c.Unique("subject")},
		}
		var users []*adapter.User
		var accounts []adapter.Account
		for _, key := range keys {
			u := c.User()
			users = append(users, u)
			accounts = append(accounts, c.LinkAccount(accountWith(c, u.ID, key)))
		}
		for range 8 { // an adapter that takes any of several accounts may be right by chance
			for i, key := range keys {
				c.Same(fmt.Sprintf("GetUserByAccount(%s)", diff.Show(key)), c.GetUserByAccount(key), users[i])
				kit.Sees(c, fmt.Sprintf("GetAccount(%s)", diff.Show(key)), kit.GetAccountByKey(key), &accounts[i])
			}
		}
		if c.Works("UnlinkAccount") {
			c.UnlinkAccount(keys[0])
			c.Same("the same id at another provider, after an unlink", c.GetUserByAccount(keys[1]), users[1])
			c.Same("another id at the same provider, after an unlink", c.GetUserByAccount(keys[2]), users[2])
		}
	}},
	{ID: "ACCT-06", Words: "taken-pair-stays-with-its-owner", Requires: accountMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		x := c.Account(a.ID)
		kit.IsRefused(c, "LinkAccount of a pair that another user has", kit.LinkAccount(accountWith(c, b.ID, x.Key())))
		owned(c, "after the refused link", x, a)
		if c.Works("DeleteUser") {
			c.DeleteUser(b.ID)
			owned(c, "after the deletion of the user who was refused", x, a)
		}
	}},
	{ID: "ACCT-07", Words: "one-unlink-makes-the-pair-absent", Requires: unlinkMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		offers := map[string][]*adapter.User{
			"offered once": {a}, "offered three times": {a, a, a}, "offered to another user too": {a, b, a}, "offered to another user last": {a, b},
		}
		for _, what := range kit.SortedKeys(offers) {
			key := c.NewAccount(a.ID).Key()
			for i, u := range offers[what] {
				if _, err := c.Adapter.LinkAccount(c.Ctx, accountWith(c, u.ID, key)); err != nil && i == 0 {
					c.Fatalf("LinkAccount: %v", err)
				}
			}
			c.UnlinkAccount(key)
			unlinked(c, "a pair "+what+", unlinked once", key)
		}
	}},
	{ID: "ACCT-08", Words: "pairs-are-compared-byte-for-byte", Requires: accountMethods, Test: func(c *kit.Context) {
		subjects := missedKeys(func() string { return nearMissKey(c, "subject") })
		for i, provider := range missedKeys(func() string { return nearMissKey(c, "provider") }) {
			a := c.User()
			key := adapter.AccountKey{Provider: provider.Value, ProviderAccountID: subjects[i].Value}
			x := c.LinkAccount(accountWith(c, a.ID, key))
			pairs, misses := nearMissPairs(key, provider.Near)
			for i, m := range misses {
				call := kit.GetUserByAccount(pairs[i])
				missedBy(c, call, m)
				if call = kit.GetAccountByKey(pairs[i]); c.Works(call.Method) {
					missedBy(c, call, m)
				}
				if c.Works("UnlinkAccount") {
					if got, err := c.Adapter.UnlinkAccount(c.Ctx, pairs[i]); err == nil { // one that finds nothing may fail: ACCT-12
						missed(c, "UnlinkAccount", m, got, err)
					}
				}
			}
			owned(c, "after lookups and unlinks of near misses", x, a)
			owners := map[adapter.AccountKey]*adapter.User{key: a}
			for i, m := range misses {
				u := c.User()
				if _, err := c.Adapter.LinkAccount(c.Ctx, accountWith(c, u.ID, pairs[i])); stored(c, "LinkAccount", m, err) {
					owners[pairs[i]] = u
				}
			}
			for i, m := range misses {
				if u := owners[pairs[i]]; u != nil {
					c.Same("GetUserByAccount of the key with "+m.Name+", linked to a user of its own", c.GetUserByAccount(pairs[i]), u)
				}
			}
			owned(c, "after links of near misses", x, a)
		}
	}},
	{ID: "ACCT-09", Words: "a-user-may-hold-many-accounts", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, a := range fiveAccounts(c, u.ID) {
			owned(c, "one of five accounts", a, u)
		}
	}},
	{ID: "ACCT-10", Words: "unlink-removes-the-named-pair-only", Requires: unlinkMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		accounts, others := fiveAccounts(c, a.ID), fiveAccounts(c, b.ID)
		c.UnlinkAccount(accounts[2].Key())
		unlinked(c, "the unlinked pair", accounts[2].Key())
		for i, x := range accounts {
			if i != 2 {
				owned(c, "an account that was not unlinked", x, a)
			}
		}
		for _, x := range others {
			owned(c, "an account of another user", x, b)
		}
		c.Same("the user whose account was unlinked", c.GetUser(a.ID), a)
		for _, kind := range []adapter.AccountType{adapter.AccountOIDC, adapter.AccountWebAuthn} {
			rest := userWith(c, 2, 2, 1)
			gone := linkedAs(c, rest.User.ID, func(x *adapter.Account) { x.Type = kind })
			if c.Works("CreateAuthenticator") {
				rest.Authenticators = append(rest.Authenticators, registeredAs(c, rest.User.ID, func(w *adapter.Authenticator) {
					w.ProviderAccountID = gone.ProviderAccountID
				}))
			}
			c.UnlinkAccount(gone.Key())
			unchanged(c, fmt.Sprintf("of the user whose account of type %s was unlinked", kind), c.Adapter, rest)
		}
	}},
	{ID: "ACCT-11", Words: "unlink-returns-the-removed-account", Requires: unlinkMethods, Test: func(c *kit.Context) {
		want := fiveAccounts(c, c.User().ID)[3]
		kit.Sees(c, "GetAccount", kit.GetAccountByKey(want.Key()), &want)
		if c.Works("UpdateAccount") {
			update := kit.AccountUpdate(c, want.Key(), kit.AccountFields)
			kit.Of[*adapter.Account](c, kit.UpdateAccount(update))
			update.Apply(&want)
		}
		if got := c.UnlinkAccount(want.Key()); got != nil {
			c.Same("UnlinkAccount", got, &want)
			c.Notef("UnlinkAccount returns the removed account")
		} else {
			c.Notef("UnlinkAccount returns nothing")
		}
	}},
	{ID: "ACCT-12", Words: "unlink-of-an-unknown-pair-is-no-error", Requires: unlinkMethods, Test: func(c *kit.Context) {
		a := c.Account(c.User().ID)
		kit.FindsNothing(c, "UnlinkAccount of a pair that never was", kit.UnlinkAccount(c.NewAccount(a.UserID).Key()))
		c.UnlinkAccount(a.Key())
		kit.FindsNothing(c, "UnlinkAccount for the second time", kit.UnlinkAccount(a.Key()))
	}},
	{ID: "ACCT-13", Words: "unlinked-pair-can-be-linked-to-another", Requires: unlinkMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		x := c.Account(a.ID)
		c.UnlinkAccount(x.Key())
		y := c.LinkAccount(accountWith(c, b.ID, x.Key()))
		owned(c, "a pair that another user had", y, b)
		for _, owner := range []*adapter.User{b, a, b} { // with the required fields only, and with all of them again
			for _, next := range []adapter.Account{bareAccount(c, owner.ID), accountWith(c, owner.ID, y.Key())} {
				next.Provider, next.ProviderAccountID = y.Provider, y.ProviderAccountID
				c.UnlinkAccount(y.Key())
				y = c.LinkAccount(next)
				owned(c, "a pair that was unlinked and linked again", y, owner)
				kit.Sees(c, "a pair that was unlinked and linked again", kit.GetAccountByKey(y.Key()), &y)
			}
		}
		if c.Works("DeleteUser") {
			c.DeleteUser(a.ID)
			owned(c, "a pair that another user had, after that user's deletion", y, b)
			c.DeleteUser(b.ID)
			unlinked(c, "a pair whose owner was deleted", y.Key())
		}
	}},
	{ID: "ACCT-14", Words: "provider-tokens-come-back-whole", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, size := range []int{255, 256, 4096, 16384, 65536} {
			keptOrRefused(c, u.ID, fmt.Sprintf("tokens of %d characters", size), func(a *adapter.Account) {
				for _, token := range []*string{a.AccessToken, a.RefreshToken, a.IDToken} {
					*token = textOf(size, *token)
				}
			})
		}
	}},
	{ID: "ACCT-15", Words: "expires-at-after-2038-comes-back", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, seconds := range []int64{1<<31 - 1, 1 << 31, 4102444800} {
			keptOrRefused(c, u.ID, fmt.Sprintf("expires_at %d", seconds), func(a *adapter.Account) { a.ExpiresAt = &seconds })
		}
	}},
	{ID: "ACCT-16", Words: "link-for-an-unknown-user-fails", Requires: []string{"LinkAccount"}, Test: func(c *kit.Context) {
		for _, owner := range unknownOwners(c) {
			a := c.NewAccount(owner.ID)
			got, err := c.Adapter.LinkAccount(c.Ctx, a)
			c.Fails("LinkAccount for "+owner.what, got, err)
			c.Absent("GetUserByAccount after a link for "+owner.what, c.GetUserByAccount(a.Key()), nil)
			if err != nil {
				kit.Sees(c, "GetAccount after a refused link for "+owner.what, kit.GetAccountByKey(a.Key()), nil)
			}
			if owner.mayCome {
				c.CreateUser(kit.UserNamed(c, owner.ID))
				c.Absent("GetUserByAccount once there is a user with the id", c.GetUserByAccount(a.Key()), nil)
			}
		}
	}},
	{ID: "ACCT-17", Words: "fields-not-given-read-as-not-set", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		accounts := map[string]adapter.Account{"no optional field": bareAccount(c, u.ID)}
		for _, field := range kit.AccountFields {
			a := c.NewAccount(u.ID)
			change := clearing(a.Key(), field)
			change.Apply(&a)
			accounts["every field but "+field] = a
		}
		for _, what := range kit.SortedKeys(accounts) {
			a := accounts[what]
			linked, err := c.Adapter.LinkAccount(c.Ctx, a)
			if kit.Must(c, "LinkAccount", linked, err) != nil {
				c.Same("LinkAccount with "+what, linked, &a)
			}
			c.Same("GetAccount with "+what, c.GetAccount(a.Key()), &a)
			if c.Works("UnlinkAccount") {
				if got := c.UnlinkAccount(a.Key()); got != nil {
					c.Same("UnlinkAccount with "+what, got, &a)
				}
			}
		}
	}},
	{ID: "ACCT-18", Words: "authorization-details-keep-their-structure", Requires: accountMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, details := range []string{
			`[]`, `[{}]`,
			`[{"type":"payment","actions":["initiate","status"],"amount":{"value":"12.50","currency":"EUR"},"nested":{"a":[{"b":[]},{"c":null}]}},{"type":"päyment","flag":false,"count":0,"text":"2024-01-01T00:00:00Z"}]`,
			"",
		} {
			a := linkedAs(c, u.ID, func(x *adapter.Account) {
				if x.AuthorizationDetails = nil; details != "" {
					x.AuthorizationDetails = json.RawMessage(details)
				}
			})
			c.Same(fmt.Sprintf("GetAccount with authorization_details %s", details), c.GetAccount(a.Key()), &a)
		}
	}},
	{ID: "ACCT-19", Words: "extra-fields-do-no-harm", Test: func(c *kit.Context) {
		c.NotApplicable("adapter.Account has no room for extra fields")
	}},
	{ID: "ACCT-20", Words: "user-id-is-the-owners", Requires: accountMethods, Test: func(c *kit.Context) {
		for _, u := range []*adapter.User{c.User(), c.CreateUser(kit.UserWithID(c))} {
			owner := c.GetUser(u.ID)
			if owner == nil {
				c.Fatalf("GetUser(%q): absent after its creation", u.ID)
			}
			a := c.NewAccount(u.ID)
			linked, err := c.Adapter.LinkAccount(c.Ctx, a)
			kit.Must(c, "LinkAccount", linked, err)
			returned := map[string]*adapter.Account{"LinkAccount": linked, "GetAccount": c.GetAccount(a.Key())}
			if returned["GetAccount"] == nil {
				c.Errorf("GetAccount: absent after the link")
			}
			if c.Works("UnlinkAccount") {
				returned["UnlinkAccount"] = c.UnlinkAccount(a.Key())
			}
			for _, method := range kit.SortedKeys(returned) {
				if got := returned[method]; got != nil && got.UserID != owner.ID {
					c.Errorf("%s: the owner is %q, GetUser reports %q", method, got.UserID, owner.ID)
				}
			}
		}
	}},
	{ID: "ACCT-21", Words: "one-id-at-several-providers", Requires: accountMethods, Test: oneIDAtSeveralProviders},
	{ID: "ACCT-22", Words: "own-pair-again-is-a-conflict", Requires: accountMethods, Test: func(c *kit.Context) {
		a := c.User()
		x := c.Account(a.ID)
		for range 2 {
			failsAs(c, "LinkAccount of a pair that the user has already", kit.LinkAccount(accountWith(c, a.ID, x.Key())), adapter.ErrConflict)
			owned(c, "after a second link", x, a)
		}
	}},
	{ID: "ACCT-23", Words: "authorization-details-are-json", Requires: accountMethods, Test: detailsAreJSON},
}

func detailsAreJSON(c *kit.Context) {
	u := c.User()
	update := func(x adapter.Account, details string) (*adapter.Account, error) {
		return kit.Optional[adapter.AccountLists](c.Adapter).UpdateAccount(c.Ctx, adapter.AccountUpdate{
			Provider: x.Provider, ProviderAccountID: x.ProviderAccountID, AuthorizationDetails: adapter.To(json.RawMessage(details))})
	}
	for _, details := range []string{"[{", `[{"type":"payment"}]]`, "payment"} {
		x := c.NewAccount(u.ID)
		x.AuthorizationDetails = json.RawMessage(details)
		what := fmt.Sprintf("with authorization_details %s, which are not JSON", details)
		if got, err := c.Adapter.LinkAccount(c.Ctx, x); c.Fails("LinkAccount "+what, got, err) {
			c.Absent("GetAccount after LinkAccount "+what, c.GetAccount(x.Key()), nil)
		}
		if c.Works("UpdateAccount") {
			stored := c.Account(u.ID)
			got, err := update(stored, details)
			c.Fails("UpdateAccount "+what, got, err)
			c.Same("GetAccount after UpdateAccount "+what, c.GetAccount(stored.Key()), &stored)
		}
	}
	for _, details := range []string{"{}", "1"} {
		x := c.NewAccount(u.ID)
		x.AuthorizationDetails = json.RawMessage(details)
		_, err := c.Adapter.LinkAccount(c.Ctx, x)
		c.Notef("LinkAccount with authorization_details %s: stored: %t", details, err == nil)
		if c.Works("UpdateAccount") {
			_, err = update(c.Account(u.ID), details)
			c.Notef("UpdateAccount with authorization_details %s: stored: %t", details, err == nil)
		}
	}
}

// keptOrRefused links an account with what change gives it, which a store may refuse.
func keptOrRefused(c *kit.Context, userID, what string, change func(*adapter.Account)) {
	a := c.NewAccount(userID)
	change(&a)
	if _, err := c.Adapter.LinkAccount(c.Ctx, a); err != nil {
		c.Notef("an account with %s is refused: %v", what, err)
		return
	}
	c.Same("GetAccount with "+what, c.GetAccount(a.Key()), &a)
}

// bareAccount returns an account with only the required fields set.
func bareAccount(c *kit.Context, userID string) adapter.Account {
	a := c.NewAccount(userID)
	return adapter.Account{UserID: a.UserID, Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
}

// fiveAccounts links five accounts over three providers.
func fiveAccounts(c *kit.Context, userID string) []adapter.Account {
	p, q, r := c.Unique("p"), c.Unique("q"), c.Unique("r")
	return kit.Map([]string{p, q, p, r, p}, func(provider string) adapter.Account {
		return linkedAs(c, userID, func(a *adapter.Account) { a.Provider = provider })
	})
}

// unmatchedAccounts links two accounts and returns keys that neither has.
func unmatchedAccounts(c *kit.Context) map[string]adapter.AccountKey {
	a, b := c.Account(c.User().ID), c.Account(c.User().ID)
	no := c.NewAccount("")
	return map[string]adapter.AccountKey{
		"a wrong id":               {Provider: a.Provider, ProviderAccountID: no.ProviderAccountID},
		"a wrong provider":         {Provider: no.Provider, ProviderAccountID: a.ProviderAccountID},
		"both wrong":               no.Key(),
		"the halves of two pairs":  {Provider: a.Provider, ProviderAccountID: b.ProviderAccountID},
		"the other halves of them": {Provider: b.Provider, ProviderAccountID: a.ProviderAccountID},
		"the arguments exchanged":  {Provider: a.ProviderAccountID, ProviderAccountID: a.Provider},
		"the provider twice":       {Provider: a.Provider, ProviderAccountID: a.Provider},
		"the id twice":             {Provider: a.ProviderAccountID, ProviderAccountID: a.ProviderAccountID},
		"the owner's id as the id": {Provider: a.Provider, ProviderAccountID: a.UserID},
	}
}

// unlinked reports a breach unless the pair is absent to every lookup.
func unlinked(c *kit.Context, what string, key adapter.AccountKey) {
	c.Absent("GetUserByAccount of "+what, c.GetUserByAccount(key), nil)
	kit.Sees(c, "GetAccount of "+what, kit.GetAccountByKey(key), nil)
}

// At each provider one user has an account with the same id, so that a join by half of a key finds too many accounts.
func oneIDAtSeveralProviders(c *kit.Context) {
	const id = "1234567"
	users := kit.SomeUsers(c, 3)
	owner := map[adapter.AccountKey]*adapter.User{}
	for i, u := range users {
		for j := range 4 {
			x := linkedAs(c, u.ID, func(x *adapter.Account) {
				if x.ProviderAccountID = id; j == 3 {
					x.ProviderAccountID = id + "0"
				}
				x.Provider = c.Unique(fmt.Sprintf("provider-%d-%d", i, j))
			})
			owner[x.Key()] = u
		}
	}
	authenticators := map[string][]adapter.Authenticator{}
	for _, u := range users {
		for i := 0; i < 3 && c.Works("CreateAuthenticator"); i++ {
			w := registeredAs(c, u.ID, func(w *adapter.Authenticator) { w.ProviderAccountID = id })
			authenticators[u.ID] = append(authenticators[u.ID], w)
		}
	}
	for key, u := range owner {
		c.Same("GetUserByAccount of an id that others have at other providers", c.GetUserByAccount(key), u)
		if c.Works("GetAccount") {
			if got := c.GetAccount(key); got == nil || got.UserID != u.ID || got.Key() != key {
				c.Errorf("GetAccount(%q, %q): got %s, want that of user %q", key.ProviderAccountID, key.Provider, diff.Show(got), u.ID)
			}
		}
	}
	for _, u := range users {
		if c.Works("CreateAuthenticator") {
			kit.Sees(c, "the list of a user with several accounts of one id", kit.ListAuthenticatorsByUserID(u.ID), authenticators[u.ID])
		}
		if c.Stores(kit.SessionRecord) {
			s := c.Session(u.ID)
			c.Same("GetSessionAndUser of a user with several accounts", c.GetSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *u})
		}
		kit.Sees(c, "GetUserByEmail of a user with several accounts", kit.GetUserByEmail(u.Email), u)
	}
	if !c.Works("UnlinkAccount") {
		return
	}
	for key, u := range owner {
		if u != users[1] {
			continue
		}
		c.UnlinkAccount(key)
		c.Absent("GetUserByAccount of the account that was unlinked", c.GetUserByAccount(key), nil)
		delete(owner, key)
	}
	for key, u := range owner {
		c.Same("GetUserByAccount after the same ids at other providers were unlinked", c.GetUserByAccount(key), u)
	}
}

// nearMissPairs returns account keys with a near miss in one half.
func nearMissPairs(key adapter.AccountKey, near func(string) []kit.NearMiss) (pairs []adapter.AccountKey, misses []kit.NearMiss) {
	for _, m := range near(key.ProviderAccountID) {
		pairs = append(pairs, adapter.AccountKey{Provider: key.Provider, ProviderAccountID: m.Value})
		misses = append(misses, kit.NearMiss{Name: "an id with " + m.Name, Value: m.Value})
	}
	for _, m := range near(key.Provider) {
		pairs = append(pairs, adapter.AccountKey{Provider: m.Value, ProviderAccountID: key.ProviderAccountID})
		misses = append(misses, kit.NearMiss{Name: "a provider with " + m.Name, Value: m.Value})
	}
	return pairs, misses
}
