package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	accountMethods = []string{"CreateUser", "LinkAccount"}
	unlinkMethods  = []string{"CreateUser", "LinkAccount", "UnlinkAccount"}
)

var acctClauses = []check{
	{id: "ACCT-01", words: "linked-account-finds-its-owner", requires: accountMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		x, y := c.account(a.ID), c.account(b.ID)
		c.same("GetUserByAccount of A's account", c.getUserByAccount(x.Key()), a)
		c.same("GetUserByAccount of B's account", c.getUserByAccount(y.Key()), b)
		c.same("GetUserByAccount, against GetUser", c.getUserByAccount(x.Key()), c.getUser(a.ID))
		for _, t := range accountTypes {
			bare := c.createUser(adapter.User{Email: c.newUser().Email})
			x := c.newAccount(bare.ID)
			x.Type = t
			c.linkAccount(x)
			c.same(fmt.Sprintf("GetUser of a user without optional fields, after LinkAccount of type %s", t), c.getUser(bare.ID), bare)
		}
	}},
	{id: "ACCT-02", words: "get-yields-every-stored-field", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, t := range accountTypes {
			a := c.newAccount(u.ID)
			a.Type = t
			c.linkAccount(a)
			c.same(fmt.Sprintf("GetAccount of type %s with every field set", t), c.getAccount(a.Key()), &a)
		}
		a := c.linkAccount(c.bareAccount(u.ID))
		c.same("GetAccount with only the required fields set", c.getAccount(a.Key()), &a)
	}},
	{id: "ACCT-03", words: "get-without-a-match-is-absent", requires: accountMethods, run: func(c *clauseContext) {
		for what, key := range c.unmatchedAccounts() {
			got, err := c.a.GetAccount(c.ctx, key.ProviderAccountID, key.Provider)
			c.absent("GetAccount with "+what, got, err)
		}
	}},
	{id: "ACCT-04", words: "user-by-account-without-a-match-is-absent", requires: accountMethods, run: func(c *clauseContext) {
		for what, key := range c.unmatchedAccounts() {
			got, err := c.a.GetUserByAccount(c.ctx, key)
			c.absent("GetUserByAccount with "+what, got, err)
		}
	}},
	{id: "ACCT-05", words: "both-halves-of-the-pair-count", requires: accountMethods, run: func(c *clauseContext) {
		p, id := c.unique("p"), c.unique("subject")
		keys := []adapter.AccountKey{
			{Provider: p, ProviderAccountID: id}, {Provider: c.unique("q"), ProviderAccountID: id}, {Provider: p, ProviderAccountID: c.unique("subject")},
		}
		var users []*adapter.User
		var accounts []adapter.Account
		for _, key := range keys {
			u := c.user()
			users = append(users, u)
			accounts = append(accounts, c.linkAccount(c.accountWith(u.ID, key)))
		}
		for range 8 { // an adapter that takes any of several accounts may be right by chance
			for i, key := range keys {
				c.same(fmt.Sprintf("GetUserByAccount(%s)", diff.Show(key)), c.getUserByAccount(key), users[i])
				if c.works("GetAccount") {
					c.same(fmt.Sprintf("GetAccount(%s)", diff.Show(key)), c.getAccount(key), &accounts[i])
				}
			}
		}
		if c.works("UnlinkAccount") {
			c.unlinkAccount(keys[0])
			c.same("the same id at another provider, after an unlink", c.getUserByAccount(keys[1]), users[1])
			c.same("another id at the same provider, after an unlink", c.getUserByAccount(keys[2]), users[2])
		}
	}},
	{id: "ACCT-06", words: "taken-pair-stays-with-its-owner", requires: accountMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		x := c.account(a.ID)
		got, err := c.a.LinkAccount(c.ctx, c.accountWith(b.ID, x.Key()))
		c.fails("LinkAccount of a pair that another user has", got, err)
		c.owned("after the refused link", x, a)
		if c.works("DeleteUser") {
			c.deleteUser(b.ID)
			c.owned("after the deletion of the user who was refused", x, a)
		}
	}},
	{id: "ACCT-07", words: "one-unlink-makes-the-pair-absent", requires: unlinkMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		offers := map[string][]*adapter.User{
			"offered once": {a}, "offered three times": {a, a, a}, "offered to another user too": {a, b, a}, "offered to another user last": {a, b},
		}
		for _, what := range sortedKeys(offers) {
			key := c.newAccount(a.ID).Key()
			for i, u := range offers[what] {
				if _, err := c.a.LinkAccount(c.ctx, c.accountWith(u.ID, key)); err != nil && i == 0 {
					c.Fatalf("LinkAccount: %v", err)
				}
			}
			c.unlinkAccount(key)
			c.unlinked("a pair "+what+", unlinked once", key)
		}
	}},
	{id: "ACCT-08", words: "pairs-are-compared-byte-for-byte", requires: accountMethods, run: func(c *clauseContext) {
		subjects := missedKeys(func() string { return c.nearMissKey("subject") })
		for i, provider := range missedKeys(func() string { return c.nearMissKey("provider") }) {
			a := c.user()
			key := adapter.AccountKey{Provider: provider.value, ProviderAccountID: subjects[i].value}
			x := c.linkAccount(c.accountWith(a.ID, key))
			pairs, misses := nearMissPairs(key, provider.near)
			for i, m := range misses {
				got, err := c.a.GetUserByAccount(c.ctx, pairs[i])
				c.missed("GetUserByAccount", m, got, err)
				if c.works("GetAccount") {
					got, err := c.a.GetAccount(c.ctx, pairs[i].ProviderAccountID, pairs[i].Provider)
					c.missed("GetAccount", m, got, err)
				}
				if c.works("UnlinkAccount") {
					got, err := c.a.UnlinkAccount(c.ctx, pairs[i])
					if err == nil { // an unlink that finds nothing may fail: ACCT-12
						c.missed("UnlinkAccount", m, got, err)
					}
				}
			}
			c.owned("after lookups and unlinks of near misses", x, a)
			owners := map[adapter.AccountKey]*adapter.User{key: a}
			for i, m := range misses {
				u := c.user()
				if _, err := c.a.LinkAccount(c.ctx, c.accountWith(u.ID, pairs[i])); c.stored("LinkAccount", m, err) {
					owners[pairs[i]] = u
				}
			}
			for i, m := range misses {
				if u := owners[pairs[i]]; u != nil {
					c.same("GetUserByAccount of the key with "+m.name+", linked to a user of its own", c.getUserByAccount(pairs[i]), u)
				}
			}
			c.owned("after links of near misses", x, a)
		}
	}},
	{id: "ACCT-09", words: "a-user-may-hold-many-accounts", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, a := range c.fiveAccounts(u.ID) {
			c.owned("one of five accounts", a, u)
		}
	}},
	{id: "ACCT-10", words: "unlink-removes-the-named-pair-only", requires: unlinkMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		accounts := c.fiveAccounts(a.ID)
		others := c.fiveAccounts(b.ID)
		c.unlinkAccount(accounts[2].Key())
		c.unlinked("the unlinked pair", accounts[2].Key())
		for i, x := range accounts {
			if i != 2 {
				c.owned("an account that was not unlinked", x, a)
			}
		}
		for _, x := range others {
			c.owned("an account of another user", x, b)
		}
		c.same("the user whose account was unlinked", c.getUser(a.ID), a)
		for _, kind := range []adapter.AccountType{adapter.AccountOIDC, adapter.AccountWebAuthn} {
			rest := c.userWith(2, 2, 1)
			gone := c.newAccount(rest.user.ID)
			gone.Type = kind
			c.linkAccount(gone)
			if c.works("CreateAuthenticator") {
				connected := c.newAuthenticator(rest.user.ID)
				connected.ProviderAccountID = gone.ProviderAccountID
				c.createAuthenticator(connected)
				rest.authenticators = append(rest.authenticators, connected)
			}
			c.unlinkAccount(gone.Key())
			c.unchanged(fmt.Sprintf("of the user whose account of type %s was unlinked", kind), c.a, rest)
		}
	}},
	{id: "ACCT-11", words: "unlink-returns-the-removed-account", requires: unlinkMethods, run: func(c *clauseContext) {
		u := c.user()
		accounts := c.fiveAccounts(u.ID)
		want := accounts[3]
		if c.works("GetAccount") {
			c.same("GetAccount", c.getAccount(want.Key()), &want)
		}
		if c.works("UpdateAccount") {
			update := c.accountUpdate(want.Key(), accountFields)
			of[*adapter.Account](c, updateAccount(update))
			update.Apply(&want)
		}
		if got := c.unlinkAccount(want.Key()); got != nil {
			c.same("UnlinkAccount", got, &want)
			c.Notef("UnlinkAccount returns the removed account")
		} else {
			c.Notef("UnlinkAccount returns nothing")
		}
	}},
	{id: "ACCT-12", words: "unlink-of-an-unknown-pair-is-no-error", requires: unlinkMethods, run: func(c *clauseContext) {
		u := c.user()
		a := c.account(u.ID)
		got, err := c.a.UnlinkAccount(c.ctx, c.newAccount(u.ID).Key())
		c.absent("UnlinkAccount of a pair that never was", got, err)
		c.unlinkAccount(a.Key())
		got, err = c.a.UnlinkAccount(c.ctx, a.Key())
		c.absent("UnlinkAccount for the second time", got, err)
	}},
	{id: "ACCT-13", words: "unlinked-pair-can-be-linked-to-another", requires: unlinkMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		x := c.account(a.ID)
		c.unlinkAccount(x.Key())
		y := c.linkAccount(c.accountWith(b.ID, x.Key()))
		c.owned("a pair that another user had", y, b)
		for _, owner := range []*adapter.User{b, a, b} { // with the required fields only, and with all of them again
			for _, next := range []adapter.Account{c.bareAccount(owner.ID), c.accountWith(owner.ID, y.Key())} {
				next.Provider, next.ProviderAccountID = y.Provider, y.ProviderAccountID
				c.unlinkAccount(y.Key())
				y = c.linkAccount(next)
				c.owned("a pair that was unlinked and linked again", y, owner)
				if c.works("GetAccount") {
					c.same("a pair that was unlinked and linked again", c.getAccount(y.Key()), &y)
				}
			}
		}
		if c.works("DeleteUser") {
			c.deleteUser(a.ID)
			c.owned("a pair that another user had, after that user's deletion", y, b)
			c.deleteUser(b.ID)
			c.unlinked("a pair whose owner was deleted", y.Key())
		}
	}},
	{id: "ACCT-14", words: "provider-tokens-come-back-whole", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, size := range []int{255, 256, 4096, 16384, 65536} {
			a := c.newAccount(u.ID)
			for _, token := range []*string{a.AccessToken, a.RefreshToken, a.IDToken} {
				*token = textOf(size, *token)
			}
			if _, err := c.a.LinkAccount(c.ctx, a); err != nil {
				c.Notef("tokens of %d characters are refused: %v", size, err)
				continue
			}
			c.same(fmt.Sprintf("GetAccount with tokens of %d characters", size), c.getAccount(a.Key()), &a)
		}
	}},
	{id: "ACCT-15", words: "expires-at-after-2038-comes-back", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, seconds := range []int64{1<<31 - 1, 1 << 31, 4102444800} {
			a := c.newAccount(u.ID)
			a.ExpiresAt = &seconds
			if _, err := c.a.LinkAccount(c.ctx, a); err != nil {
				c.Notef("expires_at %d is refused: %v", seconds, err)
				continue
			}
			c.same(fmt.Sprintf("GetAccount with expires_at %d", seconds), c.getAccount(a.Key()), &a)
		}
	}},
	{id: "ACCT-16", words: "link-for-an-unknown-user-fails", requires: []string{"LinkAccount"}, run: func(c *clauseContext) {
		for _, owner := range c.unknownOwners() {
			a := c.newAccount(owner.id)
			got, err := c.a.LinkAccount(c.ctx, a)
			c.fails("LinkAccount for "+owner.what, got, err)
			c.absent("GetUserByAccount after a link for "+owner.what, c.getUserByAccount(a.Key()), nil)
			if err != nil && c.works("GetAccount") {
				c.absent("GetAccount after a refused link for "+owner.what, c.getAccount(a.Key()), nil)
			}
			if owner.mayCome {
				c.createUserWithID(owner.id)
				c.absent("GetUserByAccount once there is a user with the id", c.getUserByAccount(a.Key()), nil)
			}
		}
	}},
	{id: "ACCT-17", words: "fields-not-given-read-as-not-set", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		accounts := map[string]adapter.Account{"no optional field": c.bareAccount(u.ID)}
		for _, field := range sortedKeys(optionalAccountFields) {
			a := c.newAccount(u.ID)
			optionalAccountFields[field](&a)
			accounts["every field but "+field] = a
		}
		for _, what := range sortedKeys(accounts) {
			a := accounts[what]
			linked, err := c.a.LinkAccount(c.ctx, a)
			if must(c, "LinkAccount", linked, err) != nil {
				c.same("LinkAccount with "+what, linked, &a)
			}
			c.same("GetAccount with "+what, c.getAccount(a.Key()), &a)
			if c.works("UnlinkAccount") {
				if got := c.unlinkAccount(a.Key()); got != nil {
					c.same("UnlinkAccount with "+what, got, &a)
				}
			}
		}
	}},
	{id: "ACCT-18", words: "authorization-details-keep-their-structure", requires: accountMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, details := range []string{
			`[]`, `[{}]`,
			`[{"type":"payment","actions":["initiate","status"],"amount":{"value":"12.50","currency":"EUR"},"nested":{"a":[{"b":[]},{"c":null}]}},{"type":"päyment","flag":false,"count":0,"text":"2024-01-01T00:00:00Z"}]`,
			"",
		} {
			a := c.newAccount(u.ID)
			a.AuthorizationDetails = nil
			if details != "" {
				a.AuthorizationDetails = json.RawMessage(details)
			}
			c.linkAccount(a)
			c.same(fmt.Sprintf("GetAccount with authorization_details %s", details), c.getAccount(a.Key()), &a)
		}
	}},
	{id: "ACCT-19", words: "extra-fields-do-no-harm", run: func(c *clauseContext) {
		c.notApplicable("adapter.Account has no room for extra fields")
	}},
	{id: "ACCT-20", words: "user-id-is-the-owners", requires: accountMethods, run: func(c *clauseContext) {
		supplied := c.newUser()
		supplied.ID = c.id()
		for _, u := range []*adapter.User{c.user(), c.createUser(supplied)} {
			owner := c.getUser(u.ID)
			if owner == nil {
				c.Fatalf("GetUser(%q): absent after its creation", u.ID)
			}
			a := c.newAccount(u.ID)
			linked, err := c.a.LinkAccount(c.ctx, a)
			must(c, "LinkAccount", linked, err)
			returned := map[string]*adapter.Account{"LinkAccount": linked, "GetAccount": c.getAccount(a.Key())}
			if returned["GetAccount"] == nil {
				c.Errorf("GetAccount: absent after the link")
			}
			if c.works("UnlinkAccount") {
				returned["UnlinkAccount"] = c.unlinkAccount(a.Key())
			}
			for _, method := range sortedKeys(returned) {
				if got := returned[method]; got != nil && got.UserID != owner.ID {
					c.Errorf("%s: the owner is %q, GetUser reports %q", method, got.UserID, owner.ID)
				}
			}
		}
	}},
	{id: "ACCT-21", words: "one-id-at-several-providers", requires: []string{"CreateUser", "LinkAccount"}, run: oneIDAtSeveralProviders},
	{id: "ACCT-22", words: "own-pair-again-is-a-conflict", requires: accountMethods, run: func(c *clauseContext) {
		a := c.user()
		x := c.account(a.ID)
		for range 2 {
			got, err := c.a.LinkAccount(c.ctx, c.accountWith(a.ID, x.Key()))
			if c.fails("LinkAccount of a pair that the user has already", got, err) && !errors.Is(err, adapter.ErrConflict) {
				c.Errorf("LinkAccount of a pair that the user has already: the error does not match ErrConflict: %v", err)
			}
			c.owned("after a second link", x, a)
		}
	}},
	{id: "ACCT-23", words: "authorization-details-are-json", requires: accountMethods, run: detailsAreJSON},
}

// detailsAreJSON is ACCT-23.
func detailsAreJSON(c *clauseContext) {
	u := c.user()
	update := func(x adapter.Account, details string) (*adapter.Account, error) {
		return optional[adapter.AccountLists](c.a).UpdateAccount(c.ctx, adapter.AccountUpdate{
			Provider: x.Provider, ProviderAccountID: x.ProviderAccountID, AuthorizationDetails: adapter.To(json.RawMessage(details))})
	}
	for _, details := range []string{"[{", `[{"type":"payment"}]]`, "payment"} {
		x := c.newAccount(u.ID)
		x.AuthorizationDetails = json.RawMessage(details)
		what := fmt.Sprintf("with authorization_details %s, which are not JSON", details)
		got, err := c.a.LinkAccount(c.ctx, x)
		if c.fails("LinkAccount "+what, got, err) {
			c.absent("GetAccount after LinkAccount "+what, c.getAccount(x.Key()), nil)
		}
		if c.works("UpdateAccount") {
			stored := c.account(u.ID)
			got, err := update(stored, details)
			c.fails("UpdateAccount "+what, got, err)
			c.same("GetAccount after UpdateAccount "+what, c.getAccount(stored.Key()), &stored)
		}
	}
	for _, details := range []string{"{}", "1"} {
		x := c.newAccount(u.ID)
		x.AuthorizationDetails = json.RawMessage(details)
		_, err := c.a.LinkAccount(c.ctx, x)
		c.Notef("LinkAccount with authorization_details %s: stored: %t", details, err == nil)
		if c.works("UpdateAccount") {
			_, err = update(c.account(u.ID), details)
			c.Notef("UpdateAccount with authorization_details %s: stored: %t", details, err == nil)
		}
	}
}

// bareAccount returns an account with only the required fields set.
func (c *clauseContext) bareAccount(userID string) adapter.Account {
	a := c.newAccount(userID)
	return adapter.Account{UserID: a.UserID, Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
}

// optionalAccountFields has functions that clear an optional field.
var optionalAccountFields = map[string]func(a *adapter.Account){
	"access_token":          func(a *adapter.Account) { a.AccessToken = nil },
	"refresh_token":         func(a *adapter.Account) { a.RefreshToken = nil },
	"id_token":              func(a *adapter.Account) { a.IDToken = nil },
	"scope":                 func(a *adapter.Account) { a.Scope = nil },
	"token_type":            func(a *adapter.Account) { a.TokenType = nil },
	"session_state":         func(a *adapter.Account) { a.SessionState = nil },
	"expires_at":            func(a *adapter.Account) { a.ExpiresAt = nil },
	"authorization_details": func(a *adapter.Account) { a.AuthorizationDetails = nil },
}

// fiveAccounts links five accounts over three providers.
func (c *clauseContext) fiveAccounts(userID string) []adapter.Account {
	p, q, r := c.unique("p"), c.unique("q"), c.unique("r")
	var accounts []adapter.Account
	for _, provider := range []string{p, q, p, r, p} {
		a := c.newAccount(userID)
		a.Provider = provider
		accounts = append(accounts, c.linkAccount(a))
	}
	return accounts
}

// unmatchedAccounts links two accounts and returns keys that neither has.
func (c *clauseContext) unmatchedAccounts() map[string]adapter.AccountKey {
	a, b := c.account(c.user().ID), c.account(c.user().ID)
	no := c.newAccount("")
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
func (c *clauseContext) unlinked(what string, key adapter.AccountKey) {
	c.absent("GetUserByAccount of "+what, c.getUserByAccount(key), nil)
	if c.works("GetAccount") {
		c.absent("GetAccount of "+what, c.getAccount(key), nil)
	}
}

// textOf returns a text of length bytes that begins with start and repeats no
// part, so that every cut or exchange of parts changes it.
func textOf(length int, start string) string {
	var b strings.Builder
	b.WriteString(start)
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, ".%x", i)
	}
	return b.String()[:length]
}

// oneIDAtSeveralProviders is ACCT-21. At each provider one user has an
// account with the same id, so that a join by half of a key finds too many
// accounts.
func oneIDAtSeveralProviders(c *clauseContext) {
	const id = "1234567"
	users := c.someUsers(3)
	owner := map[adapter.AccountKey]*adapter.User{}
	for i, u := range users {
		for j := range 4 {
			x := c.newAccount(u.ID)
			if x.ProviderAccountID = id; j == 3 {
				x.ProviderAccountID = id + "0"
			}
			x.Provider = c.unique(fmt.Sprintf("provider-%d-%d", i, j))
			c.linkAccount(x)
			owner[x.Key()] = u
		}
	}
	authenticators := map[string][]adapter.Authenticator{}
	for _, u := range users {
		for range 3 {
			if !c.works("CreateAuthenticator") {
				break
			}
			w := c.newAuthenticator(u.ID)
			w.ProviderAccountID = id
			c.createAuthenticator(w)
			authenticators[u.ID] = append(authenticators[u.ID], w)
		}
	}
	for key, u := range owner {
		c.same("GetUserByAccount of an id that others have at other providers", c.getUserByAccount(key), u)
		if c.works("GetAccount") {
			if got := c.getAccount(key); got == nil || got.UserID != u.ID || got.Key() != key {
				c.Errorf("GetAccount(%q, %q): got %s, want that of user %q", key.ProviderAccountID, key.Provider, diff.Show(got), u.ID)
			}
		}
	}
	for _, u := range users {
		if c.works("ListAuthenticatorsByUserID") && c.works("CreateAuthenticator") {
			c.sameAuthenticators("the list of a user with several accounts of one id", c.listAuthenticators(u.ID), authenticators[u.ID])
		}
		if c.stores(SessionRecord) {
			s := c.session(u.ID)
			c.same("GetSessionAndUser of a user with several accounts", c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *u})
		}
		if c.works("GetUserByEmail") {
			c.same("GetUserByEmail of a user with several accounts", c.getUserByEmail(u.Email), u)
		}
	}
	if !c.works("UnlinkAccount") {
		return
	}
	for key, u := range owner {
		if u != users[1] {
			continue
		}
		c.unlinkAccount(key)
		c.absent("GetUserByAccount of the account that was unlinked", c.getUserByAccount(key), nil)
		delete(owner, key)
	}
	for key, u := range owner {
		c.same("GetUserByAccount after the same ids at other providers were unlinked", c.getUserByAccount(key), u)
	}
}
