package adaptertest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var dataClauses = []check{
	{id: "DATA-01", words: "full-records-come-back", run: func(c *clauseContext) {
		for range 2 {
			u := c.newUser()
			c.roundTrip(u, c.newAccount(""), c.newSession(""), c.newToken(), c.newAuthenticator(""))
		}
	}},
	{id: "DATA-02", words: "null-fields-come-back-null", run: func(c *clauseContext) {
		account := c.newAccount("")
		account = adapter.Account{Type: account.Type, Provider: account.Provider, ProviderAccountID: account.ProviderAccountID}
		authenticator := c.newAuthenticator("")
		authenticator.Transports = nil
		c.roundTrip(adapter.User{Email: c.newUser().Email}, account, c.newSession(""), c.newToken(), authenticator)
	}},
	{id: "DATA-03", words: "null-and-empty-differ", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		u := c.newUser()
		for _, v := range []*string{nil, new(""), nil, new("x"), new("")} {
			x := u
			x.Email, x.Name, x.Image = c.newUser().Email, v, v
			x.ID = c.createUser(x).ID
			c.same(fmt.Sprintf("a user whose name and image are %s", diff.Show(v)), c.getUser(x.ID), &x)
			if c.works("UpdateUser") {
				for _, w := range []*string{new("y"), v} {
					x.Name, x.Image = w, w
					c.updateUser(adapter.UserUpdate{ID: x.ID, Name: adapter.To(w), Image: adapter.To(w)})
				}
				c.same(fmt.Sprintf("a user whose name and image were changed to %s", diff.Show(v)), c.getUser(x.ID), &x)
			}
			if c.stores(AuthenticatorRecord) {
				a := c.newAuthenticator(x.ID)
				a.Transports = v
				c.createAuthenticator(a)
				c.same(fmt.Sprintf("an authenticator whose transports are %s", diff.Show(v)), c.getAuthenticator(a.CredentialID), &a)
			}
		}
	}},
	{id: "DATA-04", words: "strings-are-opaque", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			for text := range some(&c.budget, lookalikes(p.alone)) {
				c.keeps(p, owner, text, mustKeep)
			}
		}
	}},
	{id: "DATA-05", words: "digit-strings-come-back", run: func(c *clauseContext) {
		owner := c.owner()
		ids := func(p textField) bool {
			return p.key && !p.address || strings.HasSuffix(p.name, "ProviderAccountID")
		}
		for _, p := range c.textFields(ids) {
			for digits := range some(&c.budget, digitStrings()) {
				x := c.keeps(p, owner, digits, mustKeep)
				if x == nil || !p.key {
					continue
				}
				for _, other := range sameNumber(digits) {
					got, err := x.find(other)
					c.absent(fmt.Sprintf("%s = %q, looked up as %q", p.name, digits, other), got, err)
				}
			}
		}
	}},
	{id: "DATA-06", words: "characters-outside-the-basic-plane", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			for text := range some(&c.budget, []string{"\U0001F511", "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466", "\U00020BB7\U0002A6D6", "\U0010FFFD"}) {
				c.keepsInside(p, owner, text, mayRefuse)
			}
		}
	}},
	{id: "DATA-07", words: "no-normalisation", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			head := c.unique("ren")
			for text := range some(&c.budget, []string{"\u00e9", "e\u0301", "\uac00", "\u1100\u1161", "\u212b", "ﬁ", "①"}) {
				c.keeps(p, owner, head+text, mustKeep)
			}
		}
	}},
	{id: "DATA-08", words: "too-long-is-refused-not-cut", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			for n := range some(&c.budget, []int{256, 1024, 70000}) {
				text := c.long(n, "é")
				x := c.keeps(p, owner, text, mayRefuse)
				if x == nil || !p.key {
					continue
				}
				for what, other := range map[string]string{
					"another end": text[:len(text)-1] + "!", "the end cut off": text[:len(text)-1], "one character more": text + "x",
				} {
					got, err := x.find(other)
					if err == nil && got != nil {
						c.Errorf("%s of %d characters is found with %s", p.name, n, what)
					}
				}
				c.keeps(p, owner, text[:len(text)-1]+"2", mustKeep) // an index of the beginning takes it for the first
			}
		}
	}},
	{id: "DATA-09", words: "guaranteed-room", run: func(c *clauseContext) {
		owner := c.owner()
		room := map[string]int{
			"User.Name": 255, "User.Image": 2048, "User.Name by UpdateUser": 255, "User.Image by UpdateUser": 2048,
			"User.Email": 320, "User.Email by UpdateUser": 320, "VerificationToken.Identifier": 320, "VerificationToken.Token": 512,
			"Session.SessionToken": 512, "Account.Provider": 255, "Account.ProviderAccountID": 255,
		}
		for _, p := range c.textFields(func(p textField) bool { return room[p.name] > 0 }) {
			n := room[p.name]
			if p.address {
				n -= len([]rune(exampleDomain))
			}
			c.keeps(p, owner, c.long(n, "x"), mustKeep)
		}
		if owner != "" && c.stores(AccountRecord) {
			a := c.newAccount(owner)
			a.Provider, a.ProviderAccountID = c.long(255, "x"), c.long(255, "x")
			c.linkAccount(a)
			c.same("an account with 255 characters in both halves of its key", c.getAccount(a.Key()), &a)
		}
		if c.stores(VerificationTokenRecord) {
			t := c.newToken()
			t.Identifier, t.Token = c.long(320-len([]rune(exampleDomain)), "x")+exampleDomain, c.long(512, "x")
			c.createToken(t)
			got := c.useToken(t.Key())
			if got != nil {
				got.Identifier = c.addressAs(got.Identifier, t.Identifier)
			}
			c.same("a verification token with 320 and 512 characters in its key", got, &t)
		}
	}},
	{id: "DATA-10", words: "blanks-are-kept", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			for blank := range some(&c.budget, []string{" ", "\t", "\u00a0", "  ", "\u3000"}) {
				head := c.unique("x")
				x := c.keeps(p, owner, blank+head+blank, mayRefuse)
				if x == nil || !p.key {
					continue
				}
				for _, other := range []string{head, head + blank, blank + head} {
					got, err := x.find(other)
					c.absent(fmt.Sprintf("%s with the blank %q at both ends, looked up as %q", p.name, blank, other), got, err)
				}
			}
		}
	}},
	{id: "DATA-11", words: "control-characters-quotes-newlines", run: func(c *clauseContext) {
		owner := c.owner()
		var odd []string
		var all strings.Builder
		for r := rune(1); r < ' '; r++ {
			odd = append(odd, string(r))
			all.WriteRune(r)
		}
		odd = append(odd, "'", `"`, `\`, "\r\n", "\u2028", "\u2029", "`", "\x7f", "\u0085", "''", `\\`, `\n`, `\u0041`)
		for _, p := range c.textFields(everyTextField) {
			texts := []string{all.String(), `'"\` + "\n\u2028`", `\'\"`}
			if p.name == "User.Name" || p.name == "User.Name by UpdateUser" || p.name == "VerificationToken.Token" {
				texts = append(texts, odd...)
			}
			for text := range some(&c.budget, texts) {
				c.keepsInside(p, owner, text, mayRefuse)
			}
		}
	}},
	{id: "DATA-12", words: "zero-values-are-stored", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		owner := c.user().ID
		zeros := false
		if c.stores(AccountRecord) {
			zeros = true
			a := c.newAccount(owner)
			for _, expires := range []int64{0, 1234567890, 0} {
				a.ExpiresAt = new(expires)
				c.linkAccount(a)
				c.same(fmt.Sprintf("an account whose expires_at is %d", expires), c.getAccount(a.Key()), &a)
				if !c.works("UnlinkAccount") {
					break
				}
				c.unlinkAccount(a.Key())
			}
		}
		if c.stores(AuthenticatorRecord) {
			zeros = true
			for _, backedUp := range []bool{false, true} {
				a := c.newAuthenticator(owner)
				a.Counter, a.CredentialBackedUp = 0, backedUp
				c.createAuthenticator(a)
				for _, counter := range []int64{0, 9, 0} {
					if c.works("UpdateAuthenticatorCounter") {
						a.Counter = counter
						if _, err := c.a.UpdateAuthenticatorCounter(c.ctx, a.CredentialID, counter); err != nil {
							c.Errorf("UpdateAuthenticatorCounter to %d: %v", counter, err)
						}
					}
					what := fmt.Sprintf("an authenticator with counter %d, backed up %v", a.Counter, backedUp)
					c.same(what, c.getAuthenticator(a.CredentialID), &a)
					if c.works("ListAuthenticatorsByUserID") {
						for _, listed := range c.listAuthenticators(owner) {
							if listed.CredentialID == a.CredentialID {
								c.same(what+", listed", &listed, &a)
							}
						}
					}
				}
			}
		}
		if !zeros {
			c.notApplicable("the adapter keeps neither accounts nor authenticators")
		}
	}},
	{id: "DATA-13", words: "invalid-utf8-is-kept-or-refused", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.textFields(plainTextField) {
			for _, text := range invalidUTF8 {
				c.keepsInside(p, owner, text, mayRefuse)
			}
		}
	}},
	{id: "DATA-14", words: "large-numbers-are-kept-or-refused", requires: []string{"CreateUser"}, run: largeNumbers},
	{id: "DATA-15", words: "fields-that-are-no-keys-may-repeat", requires: []string{"CreateUser", "GetUser"}, run: fieldsMayRepeat},
}

// keepsInside puts text into a text field, in the middle of a unique string and at
// its end.
func (c *clauseContext) keepsInside(p textField, owner, text string, refusable bool) {
	c.keeps(p, owner, c.unique("x")+text+"y", refusable)
	c.keeps(p, owner, c.unique("x")+text, refusable)
}

// long returns a unique string of n characters, the last of which is a digit,
// filled with fill.
func (c *clauseContext) long(n int, fill string) string {
	head := c.unique("long")
	return head + "-" + strings.Repeat(fill, n-len([]rune(head))-2) + "1"
}

// lookalikes returns strings that careless stores treat as a value other than
// text. If the strings must be unique, it leaves out those that can't be. Their digits do not
// depend on the seed: a run with the same seed over the same store needs others.
func lookalikes(unique bool) []string {
	n := someDigits
	texts := []string{
		"2024-01-01T00:00:00." + n(9) + "Z", "2024-01-01T00:00:00." + n(9) + "+01:00", n(4) + "-01-01", n(9) + "e1", "00" + n(12), "+" + n(12), "0x" + n(12),
		`{"a":` + n(12) + `}`, "[" + n(12) + "]", `"` + n(12) + `"`, n(12) + ".0", "Room #" + n(8),
		n(8) + "-AAAA-4aaa-8aaa-aaaaaaaaaaaa", "https://example.test/" + n(12) + "?a=%20&b=+#c",
	}
	if !unique {
		texts = append(texts, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00", "2024-01-01", "Mon, 01 Jan 2024 00:00:00 GMT", "1e3", "true", "false",
			"null", `{"a":1}`, "[]", "{}", "007", "+1", "-0", "1.0", "Room #1", "NaN", "undefined", "1704067200000", `"quoted"`)
	}
	return texts
}

// digitStrings are ids that a number can't hold.
func digitStrings() []string {
	n := someDigits
	return []string{"1055678" + n(11) + "457", "000" + n(12) + "7", "91" + n(11) + "993", "18446744" + n(12) + "7", "1" + n(24) + "3"}
}

// someDigits returns random digits, of which the first is not zero.
func someDigits(digits int) string {
	s := strconv.Itoa(1 + rand.IntN(9))
	for len(s) < digits {
		s += strconv.Itoa(rand.IntN(10))
	}
	return s
}

// sameNumber returns other strings for the number that digits represent, and
// for its nearest floating-point number.
func sameNumber(digits string) []string {
	others := []string{"0" + digits, "+" + digits, digits + ".0"}
	if short := strings.TrimLeft(digits, "0"); short != digits {
		others = append(others, short)
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil {
		for _, format := range []byte{'f', 'g'} {
			if s := strconv.FormatFloat(f, format, -1, 64); s != digits {
				others = append(others, s)
			}
		}
	}
	return others
}

// roundTrip writes a record of each kind that the adapter keeps and compares
// it with the result of each read.
func (c *clauseContext) roundTrip(u adapter.User, a adapter.Account, s adapter.Session, t adapter.VerificationToken, w adapter.Authenticator) {
	if c.works("CreateVerificationToken") {
		if got := c.createToken(t); got != nil {
			c.same("CreateVerificationToken", got, &t)
		}
		if c.works("UseVerificationToken") {
			c.same("UseVerificationToken", c.useToken(t.Key()), &t)
		}
	}
	if !c.works("CreateUser") {
		return
	}
	created := c.createUser(u)
	u.ID = created.ID
	a.UserID, s.UserID, w.UserID = u.ID, u.ID, u.ID
	c.same("CreateUser", created, &u)
	if c.works("GetUser") {
		c.same("GetUser", c.getUser(u.ID), &u)
	}
	if c.works("GetUserByEmail") {
		c.same("GetUserByEmail", c.getUserByEmail(u.Email), &u)
	}
	if c.works("UpdateUser") {
		other := c.newUser()
		c.updateUser(adapter.UserUpdate{ID: u.ID, Name: adapter.To(other.Name), Email: adapter.To(other.Email), EmailVerified: adapter.To(other.EmailVerified), Image: adapter.To(other.Image)})
		got := c.updateUser(adapter.UserUpdate{ID: u.ID, Name: adapter.To(u.Name), Email: adapter.To(u.Email), EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image)})
		c.same("UpdateUser", got, &u)
	}
	if c.works("LinkAccount") {
		r, err := c.a.LinkAccount(c.ctx, a)
		if got := must(c, "LinkAccount", r, err); got != nil {
			c.same("LinkAccount", got, &a)
		}
		if c.works("GetAccount") {
			c.same("GetAccount", c.getAccount(a.Key()), &a)
		}
		if c.works("GetUserByAccount") {
			c.same("GetUserByAccount", c.getUserByAccount(a.Key()), &u)
		}
	}
	if c.works("CreateSession") {
		c.same("CreateSession", c.createSession(s), &s)
		if c.works("GetSessionAndUser") {
			c.same("GetSessionAndUser", c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: u})
		}
		if c.works("UpdateSession") {
			s.Expires = c.instant(2 * time.Hour)
			if got := c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)}); got != nil {
				c.same("UpdateSession", got, &s)
			}
			if c.works("GetSessionAndUser") {
				c.same("GetSessionAndUser after an update", c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: u})
			}
		}
	}
	if c.works("CreateAuthenticator") {
		c.same("CreateAuthenticator", c.createAuthenticator(w), &w)
		if c.works("GetAuthenticator") {
			c.same("GetAuthenticator", c.getAuthenticator(w.CredentialID), &w)
		}
		if c.works("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("ListAuthenticatorsByUserID", c.listAuthenticators(u.ID), []adapter.Authenticator{w})
		}
	}
}

// largeNumbers is DATA-14.
func largeNumbers(c *clauseContext) {
	owner := c.owner()
	numbers := []int64{1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 7, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<62 + 1, math.MaxInt64, -1, math.MinInt32, -1<<31 - 1}
	tried := false
	if owner != "" && c.works("GetAccount") {
		tried = true
		for _, n := range numbers {
			x := c.newAccount(owner)
			x.ExpiresAt = &n
			if _, err := c.a.LinkAccount(c.ctx, x); err == nil {
				c.same(fmt.Sprintf("an account whose token expires at %d", n), c.getAccount(x.Key()), &x)
			}
			c.otherWritesKeep(owner, fmt.Sprintf("expires at %d", n), func(x *adapter.Account) { x.ExpiresAt = &n },
				func(u *adapter.AccountUpdate) { u.ExpiresAt = adapter.To(&n) })
		}
		for _, details := range []string{
			`[{"n":9007199254740993}]`, `[{"n":-9007199254740993}]`, `[{"n":12345678901234567890123}]`, `[{"n":0.12345678901234567890123456789}]`,
			`[{"n":123456789.123456789123456789}]`, `[{"n":18446744073709551616,"m":[9223372036854775808,-9223372036854775809]}]`, `[{"n":1e-30}]`, `[{"n":0.1}]`,
		} {
			x := c.newAccount(owner)
			x.AuthorizationDetails = json.RawMessage(details)
			if _, err := c.a.LinkAccount(c.ctx, x); err == nil {
				c.same("an account whose details are "+details, c.getAccount(x.Key()), &x)
			}
			c.otherWritesKeep(owner, "details "+details, func(x *adapter.Account) { x.AuthorizationDetails = json.RawMessage(details) },
				func(u *adapter.AccountUpdate) { u.AuthorizationDetails = adapter.To(json.RawMessage(details)) })
		}
	}
	if owner != "" && c.works("GetAuthenticator") {
		tried = true
		for _, n := range numbers {
			w := c.newAuthenticator(owner)
			w.Counter = n
			if _, err := c.a.CreateAuthenticator(c.ctx, w); err == nil {
				c.same(fmt.Sprintf("an authenticator whose counter is %d", n), c.getAuthenticator(w.CredentialID), &w)
			}
			if c.works("TouchAuthenticator") {
				w := c.authenticator(owner)
				used := c.instant(-time.Minute)
				if got, err := touchAuthenticator(w.CredentialID, w.Counter, n, used).do(c.ctx, c.a); err == nil {
					w.Counter, w.LastUsed = n, &used
					c.same(fmt.Sprintf("what TouchAuthenticator to %d returned", n), got, &w)
				}
				c.same(fmt.Sprintf("an authenticator after TouchAuthenticator to %d", n), c.getAuthenticator(w.CredentialID), &w)
			}
			if c.works("CreateUserWithAccount") {
				s := c.newSignUp()
				s.authenticator.Counter = n
				if got, err := optional[adapter.SignUps](c.a).CreateUserWithAccount(c.ctx, s.user, s.account, &s.authenticator); err == nil {
					s.authenticator.UserID = got.ID
					c.same(fmt.Sprintf("an authenticator after CreateUserWithAccount with the counter %d", n), c.getAuthenticator(s.authenticator.CredentialID), &s.authenticator)
				}
			}
			if !c.works("UpdateAuthenticatorCounter") {
				continue
			}
			w = c.authenticator(owner)
			if got, err := c.a.UpdateAuthenticatorCounter(c.ctx, w.CredentialID, n); err == nil {
				w.Counter = n
				c.same(fmt.Sprintf("what UpdateAuthenticatorCounter to %d returned", n), got, &w)
			}
			c.same(fmt.Sprintf("an authenticator after UpdateAuthenticatorCounter to %d", n), c.getAuthenticator(w.CredentialID), &w)
		}
	}
	if !tried {
		c.notApplicable("the adapter keeps no numbers")
	}
}

// otherWritesKeep writes a value of an account by the methods besides LinkAccount
// that write it, and reads the account.
func (c *clauseContext) otherWritesKeep(owner, what string, set func(*adapter.Account), change func(*adapter.AccountUpdate)) {
	if c.works("UpdateAccount") {
		x := c.account(owner)
		update := c.accountUpdate(x.Key(), nil)
		change(&update)
		if got, err := updateAccount(update).do(c.ctx, c.a); err == nil {
			set(&x)
			c.same("what UpdateAccount to "+what+" returned", got, &x)
		}
		c.same("an account after UpdateAccount to "+what, c.getAccount(x.Key()), &x)
	}
	if c.works("CreateUserWithAccount") {
		s := c.newSignUp()
		set(&s.account)
		if got, err := optional[adapter.SignUps](c.a).CreateUserWithAccount(c.ctx, s.user, s.account, nil); err == nil {
			s.account.UserID = got.ID
			c.same("an account after CreateUserWithAccount with "+what, c.getAccount(s.account.Key()), &s.account)
		}
	}
}

// fieldsMayRepeat is DATA-15: two users with two records of each kind, whose
// fields are all equal except the keys.
func fieldsMayRepeat(c *clauseContext) {
	stored := func(what string, err error) bool {
		if err != nil {
			c.Errorf("%s: %v; the values that it shares with a stored record are not keys", what, err)
		}
		return err == nil
	}
	common := c.newUser()
	account, session, token, authenticator := c.newAccount(""), c.newSession(""), c.newToken(), c.newAuthenticator("")
	for range 2 {
		u := common
		u.ID, u.Email = c.id(), c.newUser().Email
		got, err := c.a.CreateUser(c.ctx, u)
		if !stored("CreateUser", err) {
			return
		}
		kept := mustRecord(c, "CreateUser", got, nil)
		u.ID, u.Email = kept.ID, kept.Email
		var accounts []adapter.Account
		var sessions []adapter.Session
		var authenticators []adapter.Authenticator
		for range 2 {
			if !c.lacks("LinkAccount") {
				a := account
				a.UserID, a.ProviderAccountID = u.ID, c.newAccount("").ProviderAccountID
				_, err := c.a.LinkAccount(c.ctx, a)
				if stored("LinkAccount", err) {
					accounts = append(accounts, a)
				}
			}
			if !c.lacks("CreateSession") {
				s := session
				s.UserID, s.SessionToken = u.ID, c.newSession("").SessionToken
				_, err := c.a.CreateSession(c.ctx, s)
				if stored("CreateSession", err) {
					sessions = append(sessions, s)
				}
			}
			if !c.lacks("CreateVerificationToken") && !c.lacks("UseVerificationToken") {
				t := token
				t.Token = c.newToken().Token
				_, err := c.a.CreateVerificationToken(c.ctx, t)
				if stored("CreateVerificationToken", err) {
					defer c.used("one of several verification tokens that expire at one instant", t)
				}
			}
			if !c.lacks("CreateAuthenticator") {
				a := authenticator
				a.UserID, a.CredentialID = u.ID, c.newAuthenticator("").CredentialID
				_, err := c.a.CreateAuthenticator(c.ctx, a)
				if stored("CreateAuthenticator", err) {
					authenticators = append(authenticators, a)
				}
			}
		}
		const alike = " of records that differ in their keys only"
		c.same("GetUser"+alike, c.getUser(u.ID), &u)
		for _, a := range accounts {
			if !c.lacks("GetAccount") {
				c.same("GetAccount"+alike, c.getAccount(a.Key()), &a)
			}
		}
		for _, s := range sessions {
			if !c.lacks("GetSessionAndUser") {
				c.same("GetSessionAndUser"+alike, c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: u})
			}
		}
		if !c.lacks("CreateAuthenticator") && !c.lacks("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("ListAuthenticatorsByUserID"+alike, c.listAuthenticators(u.ID), authenticators)
		}
		if !c.lacks("LinkAccount") && !c.lacks("ListAccountsByUserID") {
			c.same("ListAccountsByUserID"+alike, of[[]adapter.Account](c, listAccounts(u.ID)), accounts)
		}
		if !c.lacks("CreateSession") && !c.lacks("ListSessionsByUserID") {
			c.same("ListSessionsByUserID"+alike, of[[]adapter.Session](c, listSessions(u.ID)), sessions)
		}
	}
}
