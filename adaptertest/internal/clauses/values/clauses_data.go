package values

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var dataClauses = []kit.Check{
	{ID: "DATA-01", Words: "full-records-come-back", Test: func(c *kit.Context) {
		for range 2 {
			roundTrip(c, kit.NewDrafts(c))
		}
	}},
	{ID: "DATA-02", Words: "null-fields-come-back-null", Test: func(c *kit.Context) {
		x := kit.NewDrafts(c)
		x.User = adapter.User{Email: x.User.Email}
		x.Account = adapter.Account{Type: x.Account.Type, Provider: x.Account.Provider, ProviderAccountID: x.Account.ProviderAccountID}
		x.Authenticator.Transports = nil
		roundTrip(c, x)
	}},
	{ID: "DATA-03", Words: "null-and-empty-differ", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		u := c.NewUser()
		for _, v := range []*string{nil, new(""), nil, new("x"), new("")} {
			x := u
			x.Email, x.Name, x.Image = c.NewUser().Email, v, v
			x.ID = c.CreateUser(x).ID
			c.Same(fmt.Sprintf("a user whose name and image are %s", diff.Show(v)), c.GetUser(x.ID), &x)
			if c.Works("UpdateUser") {
				for _, w := range []*string{new("y"), v} {
					x.Name, x.Image = w, w
					c.UpdateUser(adapter.UserUpdate{ID: x.ID, Name: adapter.To(w), Image: adapter.To(w)})
				}
				c.Same(fmt.Sprintf("a user whose name and image were changed to %s", diff.Show(v)), c.GetUser(x.ID), &x)
			}
			if c.Stores(kit.AuthenticatorRecord) {
				a := c.NewAuthenticator(x.ID)
				a.Transports = v
				c.CreateAuthenticator(a)
				c.Same(fmt.Sprintf("an authenticator whose transports are %s", diff.Show(v)), c.GetAuthenticator(a.CredentialID), &a)
			}
		}
	}},
	{ID: "DATA-04", Words: "strings-are-opaque", Test: inFields(everyTextField, func(c *kit.Context, p kit.TextField, owner string) {
		for text := range kit.Some(&c.Budget, lookalikes(p.Alone)) {
			keeps(c, p, owner, text, mustKeep)
		}
	})},
	{ID: "DATA-05", Words: "digit-strings-come-back", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		ids := func(p kit.TextField) bool {
			return p.Key && !p.Address || strings.HasSuffix(p.Name, "ProviderAccountID")
		}
		for _, p := range textFields(c, ids) {
			n := someDigits // ids that a number can't hold
			for digits := range kit.Some(&c.Budget, []string{
				"1055678" + n(11) + "457", "000" + n(12) + "7", "91" + n(11) + "993", "18446744" + n(12) + "7", "1" + n(24) + "3",
			}) {
				x := keeps(c, p, owner, digits, mustKeep)
				if x == nil || !p.Key {
					continue
				}
				for _, other := range sameNumber(digits) {
					got, err := x.Find(other)
					c.Absent(fmt.Sprintf("%s = %q, looked up as %q", p.Name, digits, other), got, err)
				}
			}
		}
	}},
	{ID: "DATA-06", Words: "characters-outside-the-basic-plane", Test: inFields(everyTextField, func(c *kit.Context, p kit.TextField, owner string) {
		for text := range kit.Some(&c.Budget, []string{"\U0001F511", "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466", "\U00020BB7\U0002A6D6", "\U0010FFFD"}) {
			keepsInside(c, p, owner, text, mayRefuse)
		}
	})},
	{ID: "DATA-07", Words: "no-normalisation", Test: inFields(everyTextField, func(c *kit.Context, p kit.TextField, owner string) {
		head := c.Unique("ren")
		for _, text := range []string{"\u00e9", "e\u0301"} { // a collation may take them for one
			keeps(c, p, owner, head+text, mustKeep)
		}
		for text := range kit.Some(&c.Budget, []string{"\uac00", "\u1100\u1161", "\u212b", "ﬁ", "①"}) {
			keeps(c, p, owner, head+text, mustKeep)
		}
	})},
	{ID: "DATA-08", Words: "too-long-is-refused-not-cut", Test: inFields(everyTextField, func(c *kit.Context, p kit.TextField, owner string) {
		for n := range kit.Some(&c.Budget, []int{256, 1024, 70000}) {
			text := long(c, n, "é")
			x := keeps(c, p, owner, text, mayRefuse)
			if x == nil || !p.Key {
				continue
			}
			for what, other := range map[string]string{
				"another end": text[:len(text)-1] + "!", "the end cut off": text[:len(text)-1], "one character more": text + "x",
			} {
				got, err := x.Find(other)
				if err == nil && got != nil {
					c.Errorf("%s of %d characters is found with %s", p.Name, n, what)
				}
			}
			keeps(c, p, owner, text[:len(text)-1]+"2", mustKeep) // an index of the beginning takes it for the first
		}
	})},
	{ID: "DATA-09", Words: "guaranteed-room", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		room := map[string]int{
			"User.Name": 255, "User.Image": 2048, "User.Name by UpdateUser": 255, "User.Image by UpdateUser": 2048,
			"User.Email": 320, "User.Email by UpdateUser": 320, "VerificationToken.Identifier": 320, "VerificationToken.Token": 512,
			"Session.SessionToken": 512, "Account.Provider": 255, "Account.ProviderAccountID": 255,
		}
		for _, p := range textFields(c, func(p kit.TextField) bool { return room[p.Name] > 0 }) {
			n := room[p.Name]
			if p.Address {
				n -= len([]rune(kit.ExampleDomain))
			}
			keeps(c, p, owner, long(c, n, "x"), mustKeep)
		}
		if owner != "" && c.Stores(kit.AccountRecord) {
			a := c.NewAccount(owner)
			a.Provider, a.ProviderAccountID = long(c, 255, "x"), long(c, 255, "x")
			c.LinkAccount(a)
			c.Same("an account with 255 characters in both halves of its key", c.GetAccount(a.Key()), &a)
		}
		if c.Stores(kit.VerificationTokenRecord) {
			t := c.NewToken()
			t.Identifier, t.Token = long(c, 320-len([]rune(kit.ExampleDomain)), "x")+kit.ExampleDomain, long(c, 512, "x")
			c.CreateToken(t)
			kit.UsedAsSpelled(c, "a verification token with 320 and 512 characters in its key", t)
		}
	}},
	{ID: "DATA-10", Words: "blanks-are-kept", Test: inFields(everyTextField, func(c *kit.Context, p kit.TextField, owner string) {
		for blank := range kit.Some(&c.Budget, []string{" ", "\t", "\u00a0", "  ", "\u3000"}) {
			head := c.Unique("x")
			x := keeps(c, p, owner, blank+head+blank, mayRefuse)
			if x == nil || !p.Key {
				continue
			}
			for _, other := range []string{head, head + blank, blank + head} {
				got, err := x.Find(other)
				c.Absent(fmt.Sprintf("%s with the blank %q at both ends, looked up as %q", p.Name, blank, other), got, err)
			}
		}
	})},
	{ID: "DATA-11", Words: "control-characters-quotes-newlines", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		var odd []string
		var all strings.Builder
		for r := rune(1); r < ' '; r++ {
			odd = append(odd, string(r))
			all.WriteRune(r)
		}
		odd = append(odd, "'", `"`, `\`, "\r\n", "\u2028", "\u2029", "`", "\x7f", "\u0085", "''", `\\`, `\n`, `\u0041`)
		for _, p := range textFields(c, everyTextField) {
			texts := []string{all.String(), `'"\` + "\n\u2028`", `\'\"`}
			if p.Name == "User.Name" || p.Name == "User.Name by UpdateUser" || p.Name == "VerificationToken.Token" {
				texts = append(texts, odd...)
			}
			for text := range kit.Some(&c.Budget, texts) {
				keepsInside(c, p, owner, text, mayRefuse)
			}
		}
	}},
	{ID: "DATA-12", Words: "zero-values-are-stored", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		owner := c.User().ID
		zeros := false
		if c.Stores(kit.AccountRecord) {
			zeros = true
			a := c.NewAccount(owner)
			for _, expires := range []int64{0, 1234567890, 0} {
				a.ExpiresAt = new(expires)
				c.LinkAccount(a)
				c.Same(fmt.Sprintf("an account whose expires_at is %d", expires), c.GetAccount(a.Key()), &a)
				if !c.Works("UnlinkAccount") {
					break
				}
				c.UnlinkAccount(a.Key())
			}
		}
		if c.Stores(kit.AuthenticatorRecord) {
			zeros = true
			for _, backedUp := range []bool{false, true} {
				a := c.NewAuthenticator(owner)
				a.Counter, a.CredentialBackedUp = 0, backedUp
				c.CreateAuthenticator(a)
				for _, counter := range []int64{0, 9, 0} {
					if c.Works("UpdateAuthenticatorCounter") {
						a.Counter = counter
						if _, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, a.CredentialID, counter); err != nil {
							c.Errorf("UpdateAuthenticatorCounter to %d: %v", counter, err)
						}
					}
					what := fmt.Sprintf("an authenticator with counter %d, backed up %v", a.Counter, backedUp)
					c.Same(what, c.GetAuthenticator(a.CredentialID), &a)
					if c.Works("ListAuthenticatorsByUserID") {
						for _, listed := range c.ListAuthenticators(owner) {
							if listed.CredentialID == a.CredentialID {
								c.Same(what+", listed", &listed, &a)
							}
						}
					}
				}
			}
		}
		if !zeros {
			c.NotApplicable("the adapter keeps neither accounts nor authenticators")
		}
	}},
	{ID: "DATA-13", Words: "invalid-utf8-is-kept-or-refused", Test: inFields(func(p kit.TextField) bool { return !p.Encoded }, func(c *kit.Context, p kit.TextField, owner string) {
		for _, text := range invalidUTF8 {
			keepsInside(c, p, owner, text, mayRefuse)
		}
	})},
	{ID: "DATA-14", Words: "large-numbers-are-kept-or-refused", Requires: []string{"CreateUser"}, Test: largeNumbers},
	{ID: "DATA-15", Words: "fields-that-are-no-keys-may-repeat", Requires: []string{"CreateUser", "GetUser"}, Test: fieldsMayRepeat},
}

// keepsInside puts text into a text field, in the middle of a unique string and at its end.
func keepsInside(c *kit.Context, p kit.TextField, owner, text string, refusable bool) {
	keeps(c, p, owner, c.Unique("x")+text+"y", refusable)
	keeps(c, p, owner, c.Unique("x")+text, refusable)
}

// long returns a unique string of n characters, the last of which is a digit, filled with fill.
func long(c *kit.Context, n int, fill string) string {
	head := c.Unique("long")
	return head + "-" + strings.Repeat(fill, n-len([]rune(head))-2) + "1"
}

// lookalikes returns strings that careless stores treat as a value other than
// text. If the strings must be unique, it leaves out those that can't be. Their digits do not
// depend on the seed: a run with the same seed over the same store needs others.
func lookalikes(unique bool) []string {
	n, date := someDigits, fmt.Sprintf("%s-%02d-%02d", someDigits(4), 1+rand.IntN(12), 1+rand.IntN(28)) // a year alone soon comes twice
	texts := []string{
		"2024-01-01T00:00:00." + n(9) + "Z", "2024-01-01T00:00:00." + n(9) + "+01:00", date, n(9) + "e1", "00" + n(12), "+" + n(12), "0x" + n(12),
		`{"a":` + n(12) + `}`, "[" + n(12) + "]", `"` + n(12) + `"`, n(12) + ".0", "Room #" + n(8),
		n(8) + "-AAAA-4aaa-8aaa-aaaaaaaaaaaa", "https://example.test/" + n(12) + "?a=%20&b=+#c",
	}
	if !unique {
		texts = append(texts, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00", "2024-01-01", "Mon, 01 Jan 2024 00:00:00 GMT", "1e3", "true", "false",
			"null", `{"a":1}`, "[]", "{}", "007", "+1", "-0", "1.0", "Room #1", "NaN", "undefined", "1704067200000", `"quoted"`)
	}
	return texts
}

// someDigits returns random digits, of which the first is not zero.
func someDigits(digits int) string {
	s := strconv.Itoa(1 + rand.IntN(9))
	for len(s) < digits {
		s += strconv.Itoa(rand.IntN(10))
	}
	return s
}

// sameNumber returns other strings for the number that digits represent, and for its nearest floating-point number.
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

// roundTrip writes a record of each kind that the adapter keeps and compares it with the result of each read.
func roundTrip(c *kit.Context, x kit.Draft) {
	returns := func(what string, k kit.Call, want any) {
		if !c.Works(k.Method) {
			return
		}
		got := kit.Of[any](c, k)
		if mayBeNil := k.Method == "CreateVerificationToken" || k.Method == "UpdateSession"; mayBeNil && kit.IsNilRecord(got) {
			return
		}
		c.Same(what, got, want)
	}
	t, a, s, w := &x.Token, &x.Account, &x.Session, &x.Authenticator
	returns("CreateVerificationToken", kit.CreateVerificationToken(*t), t)
	returns("UseVerificationToken", kit.UseVerificationToken(t.Key()), t)
	if !c.Works("CreateUser") {
		return
	}
	created, u := c.CreateUser(x.User), &x.User
	u.ID = created.ID
	x.Give(u.ID)
	c.Same("CreateUser", created, u)
	returns("GetUser", kit.GetUser(u.ID), u)
	returns("GetUserByEmail", kit.GetUserByEmail(u.Email), u)
	if c.Works("UpdateUser") {
		c.UpdateUser(kit.UserUpdate(c, u.ID, kit.UserFields))
		returns("UpdateUser", kit.UpdateUser(kit.UpdateTo(u.ID, *u)), u)
	}
	if c.Works("LinkAccount") {
		r, err := c.Adapter.LinkAccount(c.Ctx, *a)
		if got := kit.Must(c, "LinkAccount", r, err); got != nil {
			c.Same("LinkAccount", got, a)
		}
		returns("GetAccount", kit.GetAccountByKey(a.Key()), a)
		returns("GetUserByAccount", kit.GetUserByAccount(a.Key()), u)
	}
	if c.Works("CreateSession") {
		returns("CreateSession", kit.CreateSession(*s), s)
		returns("GetSessionAndUser", kit.GetSessionAndUser(s.SessionToken), &adapter.SessionAndUser{Session: *s, User: *u})
		s.Expires = c.Instant(2 * time.Hour)
		if c.Works("UpdateSession") {
			returns("UpdateSession", kit.UpdateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)}), s)
			returns("GetSessionAndUser after an update", kit.GetSessionAndUser(s.SessionToken), &adapter.SessionAndUser{Session: *s, User: *u})
		}
	}
	if c.Works("CreateAuthenticator") {
		returns("CreateAuthenticator", kit.CreateAuthenticator(*w), w)
		returns("GetAuthenticator", kit.GetAuthenticator(w.CredentialID), w)
		kit.Sees(c, "ListAuthenticatorsByUserID", kit.ListAuthenticatorsByUserID(u.ID), []adapter.Authenticator{*w})
	}
}

func largeNumbers(c *kit.Context) {
	owner := kit.Owner(c)
	numbers := []int64{1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 7, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<62 + 1, math.MaxInt64, -1, math.MinInt32, -1<<31 - 1}
	tried := false
	if owner != "" && c.Works("GetAccount") {
		tried = true
		for _, n := range numbers {
			everyWriteKeeps(c, owner, fmt.Sprintf("token expires at %d", n), fmt.Sprintf("expires at %d", n),
				func(x *adapter.Account) { x.ExpiresAt = &n }, func(u *adapter.AccountUpdate) { u.ExpiresAt = adapter.To(&n) })
		}
		for _, details := range []string{
			`[{"n":9007199254740993}]`, `[{"n":-9007199254740993}]`, `[{"n":12345678901234567890123}]`, `[{"n":0.12345678901234567890123456789}]`,
			`[{"n":123456789.123456789123456789}]`, `[{"n":18446744073709551616,"m":[9223372036854775808,-9223372036854775809]}]`, `[{"n":1e-30}]`, `[{"n":0.1}]`,
		} {
			everyWriteKeeps(c, owner, "details are "+details, "details "+details,
				func(x *adapter.Account) { x.AuthorizationDetails = json.RawMessage(details) },
				func(u *adapter.AccountUpdate) { u.AuthorizationDetails = adapter.To(json.RawMessage(details)) })
		}
	}
	if owner != "" && c.Works("GetAuthenticator") {
		tried = true
		for _, n := range numbers {
			w := c.NewAuthenticator(owner)
			w.Counter = n
			if _, err := c.Adapter.CreateAuthenticator(c.Ctx, w); err == nil {
				c.Same(fmt.Sprintf("an authenticator whose counter is %d", n), c.GetAuthenticator(w.CredentialID), &w)
			}
			if c.Works("TouchAuthenticator") {
				w := c.Authenticator(owner)
				used := c.Instant(-time.Minute)
				if got, err := kit.TouchAuthenticator(w.CredentialID, w.Counter, n, used).Do(c.Ctx, c.Adapter); err == nil {
					w.Counter, w.LastUsed = n, &used
					c.Same(fmt.Sprintf("what TouchAuthenticator to %d returned", n), got, &w)
				}
				c.Same(fmt.Sprintf("an authenticator after TouchAuthenticator to %d", n), c.GetAuthenticator(w.CredentialID), &w)
			}
			if c.Works("CreateUserWithAccount") {
				s := kit.NewSignUp(c)
				s.Authenticator.Counter = n
				if got, err := kit.Optional[adapter.SignUps](c.Adapter).CreateUserWithAccount(c.Ctx, s.User, s.Account, &s.Authenticator); err == nil {
					s.Authenticator.UserID = got.ID
					c.Same(fmt.Sprintf("an authenticator after CreateUserWithAccount with the counter %d", n), c.GetAuthenticator(s.Authenticator.CredentialID), &s.Authenticator)
				}
			}
			if !c.Works("UpdateAuthenticatorCounter") {
				continue
			}
			w = c.Authenticator(owner)
			if got, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, w.CredentialID, n); err == nil {
				w.Counter = n
				c.Same(fmt.Sprintf("what UpdateAuthenticatorCounter to %d returned", n), got, &w)
			}
			c.Same(fmt.Sprintf("an authenticator after UpdateAuthenticatorCounter to %d", n), c.GetAuthenticator(w.CredentialID), &w)
		}
	}
	if !tried {
		c.NotApplicable("the adapter keeps no numbers")
	}
}

// everyWriteKeeps writes a value of an account by each method that writes it, and reads the account.
func everyWriteKeeps(c *kit.Context, owner, whose, what string, set func(*adapter.Account), change func(*adapter.AccountUpdate)) {
	x := c.NewAccount(owner)
	set(&x)
	if _, err := c.Adapter.LinkAccount(c.Ctx, x); err == nil {
		c.Same("an account whose "+whose, c.GetAccount(x.Key()), &x)
	}
	if c.Works("UpdateAccount") {
		x := c.Account(owner)
		update := kit.AccountUpdate(c, x.Key(), nil)
		change(&update)
		if got, err := kit.UpdateAccount(update).Do(c.Ctx, c.Adapter); err == nil {
			set(&x)
			c.Same("what UpdateAccount to "+what+" returned", got, &x)
		}
		c.Same("an account after UpdateAccount to "+what, c.GetAccount(x.Key()), &x)
	}
	if c.Works("CreateUserWithAccount") {
		s := kit.NewSignUp(c)
		set(&s.Account)
		if got, err := kit.Optional[adapter.SignUps](c.Adapter).CreateUserWithAccount(c.Ctx, s.User, s.Account, nil); err == nil {
			s.Account.UserID = got.ID
			c.Same("an account after CreateUserWithAccount with "+what, c.GetAccount(s.Account.Key()), &s.Account)
		}
	}
}

// fieldsMayRepeat is DATA-15: two users with two records of each kind, whose fields are all equal except the keys.
func fieldsMayRepeat(c *kit.Context) {
	stored := func(what string, err error) bool {
		if err != nil {
			c.Errorf("%s: %v; the values that it shares with a stored record are not keys", what, err)
		}
		return err == nil
	}
	common := kit.NewDrafts(c)
	for range 2 {
		u := common.User
		u.ID, u.Email = c.ID(), c.NewUser().Email
		got, err := c.Adapter.CreateUser(c.Ctx, u)
		if !stored("CreateUser", err) {
			return
		}
		kept := kit.MustRecord(c, "CreateUser", got, nil)
		u.ID, u.Email = kept.ID, kept.Email
		k := kit.RecordsOf(&u)
		for range 2 {
			for _, kind := range kit.RecordKinds[1:] {
				if c.Lacks(kind.Create) || kind.Kind == kit.VerificationTokenRecord && c.Lacks(kind.Read) {
					continue
				}
				fresh, x := kit.NewDraft(c, kind.Kind, ""), common
				x.Kind = kind.Kind
				x.Give(u.ID)
				x.Account.ProviderAccountID, x.Session.SessionToken = fresh.Account.ProviderAccountID, fresh.Session.SessionToken
				x.Token.Token, x.Authenticator.CredentialID = fresh.Token.Token, fresh.Authenticator.CredentialID
				if _, err := x.Create().Do(c.Ctx, c.Adapter); stored(kind.Create, err) {
					k.Add(&x)
				}
			}
		}
		for _, t := range k.Tokens {
			defer kit.Used(c, "one of several verification tokens that expire at one instant", t)
		}
		kit.Compare(c, c.Adapter, "of records that differ in their keys only", append(k.Expected(), k.Lists()...))
	}
}
