package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var inputClauses = []kit.Check{
	{ID: "INPUT-01", Words: "empty-key-is-absent", Test: func(c *kit.Context) {
		if c.Works("CreateUser") {
			u := kit.UserAt(c, "")
			// A lookup by the empty address could find a user without an address.
			if got, err := c.Adapter.CreateUser(c.Ctx, u); err == nil && got != nil && c.Works("GetUser") {
				defer func() { c.Same("the user without an address", c.GetUser(got.ID), got) }()
			}
		}
		residents := kit.Residents(c, 2)
		for _, k := range kit.MethodsWithKey(c) {
			kit.Misses(c, k, make([]string, len(k.Parts)))
			for _, b := range residents {
				if key, ok := b.Key(k); ok {
					for i := range key {
						kit.Misses(c, k, kit.With(key, i, ""))
					}
				}
			}
		}
		kit.Intact(c, residents)
	}},
	{ID: "INPUT-02", Words: "sql-is-only-text", Test: func(c *kit.Context) {
		onlyText(c, mustKeep,
			`' OR '1'='1`, `" OR ""="`, `' OR 1=1 --`, `') OR ('1'='1`, `x' UNION SELECT * FROM users --`, `'; DROP TABLE users; --`,
			`'; DELETE FROM sessions; --`, `', 'x', 'y'); --`, `x' AND (SELECT 1)=1 --`, `\'; UPDATE users SET name='x'; --`, `/**/OR/**/1=1`, `1 OR 1=1`,
			"` OR 1=1 #", `$$;SELECT 1;$$`, `%27%20OR%201=1`, `'||(SELECT '')||'`)
	}},
	{ID: "INPUT-03", Words: "patterns-match-only-themselves", Test: beside(2, func(c *kit.Context, residents []*kit.Records) {
		for k, key := range keysOf(c, residents[0]) {
			for i := range key {
				for pattern := range kit.Some(&c.Budget, patterns(key[i])) {
					kit.Misses(c, k, kit.With(key, i, pattern))
				}
			}
			for all := range kit.Some(&c.Budget, []string{"%", "_", "*", "?", ".*", "^", "$", "[^x]*", "(.*)", "\\", "|", "^.*$", "%%", "**"}) {
				kit.Misses(c, k, slices.Repeat([]string{all}, len(key)))
			}
		}
		owner := kit.Owner(c)
		for _, p := range textFields(c, keyTextField) {
			head := c.Unique("x")
			literal := keeps(c, p, owner, head+"AB", mustKeep)
			for pattern := range kit.Some(&c.Budget, []string{"%", "_B", "*", "?B", "[A-Z]B", "(A)B", "A|B", ".B", "^AB$", `\AB`, "A?B"}) {
				keeps(c, p, owner, head+pattern, mustKeep)
			}
			if literal != nil && !strings.HasPrefix(p.Name, "VerificationToken.") { // using a token uses it up
				got, err := literal.Find(head + "AB")
				c.Same(p.Name+" beside keys that are patterns of it", kit.Must(c, p.Name, got, err), literal.Want)
			}
		}
	})},
	{ID: "INPUT-04", Words: "separators-are-harmless", Test: beside(1, func(c *kit.Context, residents []*kit.Records) {
		resemblingKeys(c, residents[0])
		for sep := range kit.Some(&c.Budget, []string{":", "#", "/", "_", "|", "-", ",", ";", ".", " ", "\x00", "\x1f", "::", "+", "@", "\n"}) {
			separated(c, sep)
		}
	})},
	{ID: "INPUT-05", Words: "operators-are-only-text", Test: func(c *kit.Context) {
		onlyText(c, mustKeep, `{"$gt":""}`, `{"$ne":null}`, `{"$regex":".*"}`, `$where`, `$ne`, `#name`, `:value`, `?`, `$1`, `@p1`, `{{.}}`, `${x}`, `%s`, `%!d`,
			`[$ne]=1`, `true, $or: [{}]`, `this.x == 1`)
	}},
	{ID: "INPUT-06", Words: "protocol-fragments-are-only-text", Test: func(c *kit.Context) {
		onlyText(c, mayRefuse, "x\r\nDEL *\r\n", "\r\n", "\n", "*1\r\n$4\r\nPING\r\n", "$-1\r\n", "x\r\nget y\r\n", "x\r\n.\r\nQUIT\r\n", "+OK\r\n", "x\r\n\r\nGET / HTTP/1.1\r\n")
	}},
	{ID: "INPUT-07", Words: "paths-address-only-themselves", Test: beside(1, pathsAddressThemselves)},
	{ID: "INPUT-08", Words: "keys-of-another-kind-are-absent", Test: beside(2, func(c *kit.Context, residents []*kit.Records) {
		for k, key := range keysOf(c, residents[0]) {
			for _, b := range residents {
				for kind, value := range b.Values() {
					if !slices.Contains(k.Parts, kind) {
						foreign := make([]string, len(key))
						for i := range key {
							foreign[i] = value
							kit.Misses(c, k, kit.With(key, i, value))
						}
						kit.Misses(c, k, foreign)
					}
				}
			}
			if len(key) == 2 {
				kit.Misses(c, k, []string{key[1], key[0]})
			}
		}
	})},
	{ID: "INPUT-09", Words: "internal-names-are-no-keys", Test: beside(2, func(c *kit.Context, residents []*kit.Records) {
		values := residents[0].Values()
		var names []string
		for _, prefix := range append([]string{"", "user", "users", "user:email", "user:account", "email", "by-user-id", "session", "session:by-user-id", "user:sessions",
			"account", "account:by-user-id", "token", "verification_token", "authenticator", "authenticator:by-user-id", "_design", "index"}, c.Harness().InternalNames...) {
			if prefix != "" {
				names = append(names, prefix, prefix+":")
			}
			for _, kind := range kit.SortedKeys(values) {
				for _, separator := range []string{":", "/", ""} {
					if prefix+separator != "" {
						names = append(names, prefix+separator+values[kind])
					}
				}
			}
		}
		names = append(names, "sqlite_master", "sqlite_sequence", "rowid", "_id", "id", "pg_catalog.pg_class", "information_schema.tables", "system.indexes", "_all_docs")
		type missing struct {
			kit.Method
			part int
			name string
		}
		var cases []missing
		turn := 0
		for _, k := range kit.MethodsWithKey(c) {
			key, _ := residents[0].Key(k)
			for i := range key {
				for _, name := range kit.Every(c.Stride, names, turn) {
					if key[i] != name {
						cases = append(cases, missing{k, i, name})
					}
				}
				turn++
			}
		}
		kit.Each(c, cases, func(x missing) []string { return []string{x.Name + " by " + x.Parts[x.part]} }, func(x missing) bool {
			key, _ := residents[0].Key(x.Method)
			kit.Misses(c, x.Method, kit.With(key, x.part, x.name))
			return true
		})
	})},
	{ID: "INPUT-10", Words: "nul-and-invalid-utf8-are-absent", Test: beside(1, func(c *kit.Context, residents []*kit.Records) {
		for _, k := range kit.Lookups(c) {
			key, ok := residents[0].Key(k)
			for _, odd := range append([]string{"\x00", "a\x00b", "\x00\x00"}, invalidUTF8...) {
				kit.Misses(c, k, slices.Repeat([]string{odd}, len(k.Parts)))
				if ok {
					for i := range key {
						kit.Misses(c, k, kit.With(key, i, key[i]+odd))
						kit.Misses(c, k, kit.With(key, i, odd+key[i]))
					}
				}
			}
		}
	})},
	{ID: "INPUT-11", Words: "nul-does-not-end-a-string", Test: func(c *kit.Context) {
		residents := kit.Residents(c, 1)
		for k, key := range keysOf(c, residents[0]) {
			for i := range key {
				for _, odd := range []string{key[i] + "\x00b", key[i] + "\x00", "\x00" + key[i]} {
					missesOrFails(c, k, kit.With(key, i, odd))
				}
			}
		}
		kit.Intact(c, residents)
		owner := kit.Owner(c)
		for _, p := range textFields(c, everyTextField) {
			head := c.Unique("nul")
			x := keeps(c, p, owner, head+"\x00b", mayRefuse)
			if x == nil || !p.Key {
				continue
			}
			for _, other := range []string{head, head + "\x00", head + "\x00c", head + "b"} {
				if got, err := x.Find(other); err == nil && got != nil {
					c.Errorf("%s = %q is found as %q", p.Name, head+"\x00b", other)
				}
			}
		}
	}},
	{ID: "INPUT-12", Words: "huge-keys-are-harmless", Test: beside(1, func(c *kit.Context, residents []*kit.Records) {
		const bound = 20 * time.Second
		huge := strings.Repeat("é", 1<<19)
		for _, k := range kit.MethodsWithKey(c) {
			key, ok := residents[0].Key(k)
			if !ok {
				key = slices.Repeat([]string{"x"}, len(k.Parts))
			}
			for i := range key {
				start := time.Now()
				missesOrFails(c, k, kit.With(key, i, key[i]+huge))
				if took := time.Since(start); took > bound {
					c.Errorf("%s of 1 MiB took %v, want at most %v", k.Name, took, bound)
				}
			}
			if ok && k.Lookup() && k.Name != "UseVerificationToken" {
				if got, err := k.Call(c, c.Adapter, key); err != nil || got == nil {
					c.Errorf("%s(%s) after one of 1 MiB: got %s, %v", k.Name, kit.ShowKey(key), diff.Show(got), err)
				}
			}
		}
	})},
	{ID: "INPUT-13", Words: "reserved-words-are-ordinary", Test: beside(2, reservedWords)},
	{ID: "INPUT-14", Words: "empty-mandatory-key-is-refused", Test: emptyMandatoryKeys},
	{ID: "INPUT-15", Words: "nothing-panics", Test: beside(1, nothingPanics)},
}

// beside is a clause that uses the keys of n users and must not change their records.
func beside(n int, try func(c *kit.Context, residents []*kit.Records)) func(c *kit.Context) {
	return func(c *kit.Context) {
		residents := kit.Residents(c, n)
		try(c, residents)
		kit.Intact(c, residents)
	}
}

// keysOf yields the methods that take a key, each with the user's key, if the user has one.
func keysOf(c *kit.Context, of *kit.Records) iter.Seq2[kit.Method, []string] {
	return func(yield func(kit.Method, []string) bool) {
		for _, k := range kit.MethodsWithKey(c) {
			if key, ok := of.Key(k); ok && !yield(k, key) {
				return
			}
		}
	}
}

// onlyText tries text as, and in, every key of every method, and stores it in every field.
func onlyText(c *kit.Context, refusable bool, texts ...string) {
	residents := kit.Residents(c, 2)
	type odd struct {
		kit.Method
		key  []string
		text string
	}
	var cases []odd
	for _, text := range texts {
		for _, k := range kit.MethodsWithKey(c) {
			cases = append(cases, odd{k, slices.Repeat([]string{text}, len(k.Parts)), text})
			key, ok := residents[0].Key(k)
			if !ok {
				continue
			}
			for i := range key {
				for _, part := range []string{text, key[i] + text, text + key[i]} {
					cases = append(cases, odd{k, kit.With(key, i, part), text})
				}
			}
		}
	}
	kit.Each(c, cases, func(x odd) []string { return []string{x.Name, x.text} }, func(x odd) bool {
		kit.Misses(c, x.Method, x.key)
		return true
	})
	for text := range kit.Some(&c.Budget, texts) {
		saturated(c, text, refusable)
	}
	kit.Intact(c, residents)
}

// patterns are patterns, in one language or another, that match key and are not key.
func patterns(key string) []string {
	head, last := key[:len(key)-1], key[len(key)-1:]
	_, size := utf8.DecodeRuneInString(key)
	first, rest := key[:size], key[size:]
	all := []string{
		head + "_", head + "?", head + ".", head + "*", head + "%", head + "[" + last + "]", head + "(" + last + ")", head + `\` + last, key + "*", key + "%", key + "?",
		key + "$", "^" + key, "^" + key + "$", "(" + key + ")", key + "|x", "x|" + key, "%" + rest, "*" + rest, "_" + rest, "?" + rest, "." + rest,
		"[" + first + "]" + rest, "%" + key + "%", ".*" + key, `\Q` + key + `\E`, key[:len(key)/2] + "%" + last, key[:len(key)/2] + "*",
	}
	if !strings.ContainsRune("aAbBfFnrtvdDsSwWxzQEpPCkKGRXuU0123456789", rune(first[0])) {
		all = append(all, `\`+key)
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == key })
}

// separated stores pairs of keys that are one when their parts are joined by the separator.
func separated(c *kit.Context, sep string) {
	refusable := sep < " "                                                                 // DATA-11 lets a write of control characters fail
	a, b, z := kit.LowerASCII(c.Unique("a")), kit.LowerASCII(c.Unique("b")), c.Unique("z") // an identifier may come back in lower case
	if c.Stores(kit.AccountRecord) && c.Works("GetUserByAccount") {
		one, two := c.User(), c.User()
		first, second := c.NewAccount(one.ID), c.NewAccount(two.ID)
		first.Provider, first.ProviderAccountID = a+sep+b, z
		second.Provider, second.ProviderAccountID = a, b+sep+z
		if accepted(c, refusable, sep, "LinkAccount", kit.LinkAccount(first)) {
			c.Absent(fmt.Sprintf("GetAccount of the pair that %q joins alike", sep), c.GetAccount(second.Key()), nil)
			c.Absent(fmt.Sprintf("GetUserByAccount of the pair that %q joins alike", sep), c.GetUserByAccount(second.Key()), nil)
			if c.Works("UnlinkAccount") {
				c.UnlinkAccount(second.Key())
			}
			c.Same("GetAccount of the first pair", c.GetAccount(first.Key()), &first)
			if accepted(c, false, sep, "LinkAccount of the second pair", kit.LinkAccount(second)) {
				c.Same("GetAccount of the first pair", c.GetAccount(first.Key()), &first)
				c.Same("GetAccount of the second pair", c.GetAccount(second.Key()), &second)
				c.Same("GetUserByAccount of the first pair", c.GetUserByAccount(first.Key()), one)
				c.Same("GetUserByAccount of the second pair", c.GetUserByAccount(second.Key()), two)
				if c.Works("UnlinkAccount") {
					c.UnlinkAccount(first.Key())
					c.Absent("GetAccount of the unlinked first pair", c.GetAccount(first.Key()), nil)
					c.Same("GetAccount of the second pair, the first unlinked", c.GetAccount(second.Key()), &second)
					c.Same("GetUserByAccount of the second pair, the first unlinked", c.GetUserByAccount(second.Key()), two)
				}
			}
		}
	}
	if c.Stores(kit.VerificationTokenRecord) {
		first, second := c.NewToken(), c.NewToken()
		first.Identifier, first.Token = a+sep+b, z
		second.Identifier, second.Token = a, b+sep+z
		if accepted(c, refusable, sep, "CreateVerificationToken", kit.CreateVerificationToken(first)) {
			c.Absent(fmt.Sprintf("UseVerificationToken of the pair that %q joins alike", sep), c.UseToken(second.Key()), nil)
			if accepted(c, false, sep, "CreateVerificationToken of the second pair", kit.CreateVerificationToken(second)) {
				c.Same("UseVerificationToken of the second pair", c.UseToken(second.Key()), &second)
			}
			c.Same("UseVerificationToken of the first pair", c.UseToken(first.Key()), &first)
			c.Absent("the second use of the first pair", c.UseToken(first.Key()), nil)
		}
	}
	separatedOwners(c, sep, refusable)
}

// separatedOwners gives two users whose IDs differ by the separator things
// whose keys differ by it too, and deletes one of them.
func separatedOwners(c *kit.Context, sep string, refusable bool) {
	if !c.Works("CreateUser") || !c.Stores(kit.AuthenticatorRecord) || !c.Works("ListAuthenticatorsByUserID") {
		return
	}
	id := c.Unique("u")
	var owners [2]*adapter.User
	for i, id := range []string{id, id + sep + "b"} {
		u := kit.UserNamed(c, id)
		got, err := c.Adapter.CreateUser(c.Ctx, u)
		if err != nil || got == nil { // the adapter may refuse such an ID
			u.ID = ""
			got = c.CreateUser(u)
		}
		owners[i] = got
	}
	tail := c.Unique("credential")
	list := make([]adapter.Authenticator, 2)
	for i, credential := range []string{"b" + sep + tail, tail} {
		list[i] = c.NewAuthenticator(owners[i].ID)
		list[i].CredentialID = credential
		if !accepted(c, refusable && i == 0, sep, "CreateAuthenticator", kit.CreateAuthenticator(list[i])) {
			return
		}
	}
	var session adapter.Session
	if c.Stores(kit.SessionRecord) {
		session = c.Session(owners[1].ID)
	}
	for i := range list {
		c.Same("GetAuthenticator", c.GetAuthenticator(list[i].CredentialID), &list[i])
		c.Same("ListAuthenticatorsByUserID", c.ListAuthenticators(owners[i].ID), list[i:i+1])
	}
	if !c.Works("DeleteUser") {
		return
	}
	c.DeleteUser(owners[0].ID)
	c.Same("GetAuthenticator, the other user deleted", c.GetAuthenticator(list[1].CredentialID), &list[1])
	c.Same("ListAuthenticatorsByUserID, the other user deleted", c.ListAuthenticators(owners[1].ID), list[1:])
	if session.SessionToken != "" {
		if got := c.GetSession(session.SessionToken); got == nil || got.User.ID != owners[1].ID {
			c.Errorf("GetSessionAndUser, the other user deleted: got %s, want the session of user %q", diff.Show(got), owners[1].ID)
		}
	}
}

// accepted reports whether a write succeeded, and a breach if it should have.
func accepted(c *kit.Context, refusable bool, sep, what string, write kit.Call) bool {
	_, err := write.Do(c.Ctx, c.Adapter)
	if err != nil && !refusable {
		c.Errorf("%s with %q inside: %v", what, sep, err)
	}
	return err == nil
}

func pathsAddressThemselves(c *kit.Context, residents []*kit.Records) {
	owner := kit.Owner(c)
	for _, p := range textFields(c, keyTextField) {
		head := c.Unique("abc")
		variants := []string{
			head + ":def", head + "/def?x", head + "//def", head + "/def#x", head + `\def`, head + "/./def", head + "/x/../def", head + "%2fdef", head + "%2Fdef",
			head + "/def/", head + "/def%2e", head + "/def.", "/" + head + "/def", "./" + head + "/def", "../" + head + "/def", head + "/def%20", head + "/def;x", head + "/de%66",
			head, head + "/", "def",
		}
		if !p.Address || !c.Harness().Declarations.EmailFoldsCase {
			variants = append(variants, head+"/DEF", strings.ToUpper(head)+"/def")
		}
		x := keeps(c, p, owner, head+"/def", mustKeep)
		if x == nil {
			continue
		}
		for variant := range kit.Some(&c.Budget, variants) {
			got, err := x.Find(variant)
			c.Absent(fmt.Sprintf("%s = %q, looked up as %q", p.Name, head+"/def", variant), got, err)
		}
		for stored := range kit.Some(&c.Budget, []string{head + ":def", head + "//def", head + `\def`, head + "/def?x", head + "/def#x", "../" + head + "/def", head + "/%2e%2e/def", "/" + head + "/def", head + "/def/"}) {
			keeps(c, p, owner, stored, mustKeep)
		}
		if !strings.HasPrefix(p.Name, "VerificationToken.") { // using a token uses it up
			got, err := x.Find(head + "/def")
			c.Same(p.Name+" beside keys that look like its path", kit.Must(c, p.Name, got, err), x.Want)
		}
	}
	for _, k := range kit.MethodsWithKey(c) {
		for path := range kit.Some(&c.Budget, []string{".", "..", "/", "//", "../", "./", "*/", "%2e", "%2e%2e%2f", "?", "#", "?x", "#x", "a/b", `a\b`, "file:///etc/passwd"}) {
			kit.Misses(c, k, slices.Repeat([]string{path}, len(k.Parts)))
		}
		if key, ok := residents[0].Key(k); ok {
			for i := range key {
				for path := range kit.Some(&c.Budget, []string{key[i] + "/", "./" + key[i], "/" + key[i], key[i] + "?x", key[i] + "#x", "x/../" + key[i], key[i] + "/.", key[i] + "%20", key[i] + "\\"}) {
					kit.Misses(c, k, kit.With(key, i, path))
				}
			}
		}
	}
}

// Words are short keys that a store may use itself, or that mean something in a language.
var Words = []string{
	"null", "undefined", "NaN", "true", "false", "0", "1", "nil", "None", "NULL", "<nil>", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "Infinity",
	"default", "[object Object]",
}

func reservedWords(c *kit.Context, residents []*kit.Records) {
	for word := range kit.Some(&c.Budget, Words) {
		saturated(c, word, mustKeep)
		wordAsKey(c, word, residents[0])
		for k, key := range keysOf(c, residents[0]) {
			for i := 0; i < 2 && len(key) == 2; i++ {
				kit.Misses(c, k, kit.With(key, i, word))
			}
		}
	}
	owner := kit.Owner(c)
	halves := func(p kit.TextField) bool { return p.Key && !p.Alone }
	if slices.ContainsFunc(kit.TextFields, func(p kit.TextField) bool { return halves(p) && !slices.ContainsFunc(p.Methods, c.Lacks) }) {
		for _, p := range textFields(c, halves) {
			for word := range kit.Some(&c.Budget, Words) {
				keeps(c, p, owner, word, mustKeep)
			}
		}
	}
}

// wordAsKey looks up a word as the whole key, stores it as one, and takes it away again. Another run on the same
// store may be doing the same: what belongs to it is passed over.
func wordAsKey(c *kit.Context, word string, resident *kit.Records) {
	for _, k := range kit.Lookups(c) {
		if len(k.Parts) == 2 {
			kit.Misses(c, k, []string{word, word})
		} else if k.Parts[0] == "user id" && isNumber(word) && (kit.AssignsIDs(c) || isNumber(resident.User.ID)) {
			continue // the word may be a user's ID
		} else if got, err := k.Call(c, c.Adapter, []string{word}); err != nil || got != nil && !ofOtherRun(c, got) {
			c.Absent(fmt.Sprintf("%s(%q)", k.Name, word), got, err)
		}
	}
	if !c.Stores(kit.UserRecord) || !c.Works("DeleteUser") {
		return
	}
	owner := c.User()
	stored := func(what string, err error) bool {
		if err != nil && !errors.Is(err, adapter.ErrConflict) {
			c.Errorf("%s with the key %q: %v", what, word, err)
		}
		return err == nil
	}
	for _, kind := range []kit.Kind{kit.SessionRecord, kit.AuthenticatorRecord} {
		if !c.Stores(kind) {
			continue
		}
		d := kit.NewDraft(c, kind, owner.ID)
		d.User, d.Session.SessionToken, d.Authenticator.CredentialID = *owner, word, word
		if _, err := d.Create().Do(c.Ctx, c.Adapter); stored(d.Create().Method, err) {
			c.Same(fmt.Sprintf("the %s %q", kind, word), kit.Of[any](c, d.Read()), d.Found())
		}
	}
	c.DeleteUser(owner.ID)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// ofOtherRun reports whether a record was made by this clause of another run.
func ofOtherRun(c *kit.Context, record any) bool {
	mark := ""
	switch r := record.(type) {
	case *adapter.User:
		mark = diff.Show(r.Name)
	case *adapter.SessionAndUser:
		mark = diff.Show(r.User.Name)
	case *adapter.Authenticator:
		mark = r.ProviderAccountID
	case []adapter.Authenticator:
		mark = r[0].ProviderAccountID
	}
	return strings.Contains(mark, "-"+c.Clause+"-") && !strings.Contains(mark, c.Run.Nonce)
}

// emptyMandatoryKeys goes past the observer, because a record without a key
// that is returned here is not an answer to a lookup [ERR-03].
func emptyMandatoryKeys(c *kit.Context) {
	tried, owner := 0, kit.Owner(c)
	for _, x := range []struct {
		kind  kit.Kind
		field string
		empty func(d *kit.Draft)
	}{
		{kit.SessionRecord, "sessionToken", func(d *kit.Draft) { d.Session.SessionToken = "" }},
		{kit.SessionRecord, "userId", func(d *kit.Draft) { d.Session.UserID = "" }},
		{kit.AccountRecord, "userId", func(d *kit.Draft) { d.Account.UserID = "" }},
		{kit.AccountRecord, "provider", func(d *kit.Draft) { d.Account.Provider = "" }},
		{kit.AccountRecord, "providerAccountId", func(d *kit.Draft) { d.Account.ProviderAccountID = "" }},
		{kit.VerificationTokenRecord, "token", func(d *kit.Draft) { d.Token.Token = "" }},
		{kit.AuthenticatorRecord, "userId", func(d *kit.Draft) { d.Authenticator.UserID = "" }},
		{kit.AuthenticatorRecord, "credentialID", func(d *kit.Draft) { d.Authenticator.CredentialID = "" }},
	} {
		d := kit.NewDraft(c, x.kind, owner)
		x.empty(d)
		create := d.Create()
		if !c.Works(create.Method) {
			continue
		}
		tried++
		if got, err := create.Do(c.Ctx, c.Raw); err == nil {
			c.Errorf("%s with an empty %s: succeeded with %s, want an error", create.Method, x.field, diff.Show(got))
			if x.kind != kit.AuthenticatorRecord {
				_, _ = d.Remove().Do(c.Ctx, c.Raw)
			}
		}
	}
	if owner != "" && c.Works("DeleteUser") {
		_, _ = c.Raw.DeleteUser(c.Ctx, owner) // and the authenticators that should not exist
	}
	if tried == 0 {
		c.NotApplicable("the adapter creates no record with a mandatory key")
	}
}

// nothingPanics calls every method with odd values in every field. What the
// calls return is not judged: a panic is what the observer reports.
func nothingPanics(c *kit.Context, _ []*kit.Records) {
	owner := kit.Owner(c)
	methods := reflect.ValueOf(c.Adapter)
	for i := range methods.NumMethod() {
		name := methods.Type().Method(i).Name
		if !c.Works(name) {
			continue
		}
		method := methods.Method(i)
		for range c.Rounds(60) {
			args := []reflect.Value{reflect.ValueOf(c.Ctx)}
			for j := 1; j < method.Type().NumIn(); j++ {
				arg := reflect.New(method.Type().In(j)).Elem()
				odd(c, arg, name, owner, true)
				args = append(args, arg)
			}
			method.Call(args)
		}
	}
}

// odd fills v with odd values. Keys of records that are written are unique, because the store may be shared.
func odd(c *kit.Context, v reflect.Value, field, owner string, key bool) {
	pick := func(n int) int {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		return c.Rand.IntN(n)
	}
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = oddInstants[pick(len(oddInstants))]
		return
	case *json.RawMessage:
		*x = oddJSON[pick(len(oddJSON))]
		return
	case *adapter.Change[string]:
		oddChange(c, x, field, owner, true)
		return
	case *adapter.Change[*string]:
		oddChange(c, x, field, owner, false)
		return
	case *adapter.Change[*int64]:
		oddChange(c, x, field, owner, false)
		return
	case *adapter.Change[json.RawMessage]:
		oddChange(c, x, field, owner, false)
		return
	case *adapter.Change[time.Time]:
		oddChange(c, x, field, owner, false)
		return
	case *adapter.Change[*time.Time]:
		*x = adapter.To(&oddInstants[pick(len(oddInstants))])
		return
	}
	switch v.Kind() {
	case reflect.String:
		s := oddStrings[pick(len(oddStrings))]
		if pick(3) == 0 {
			b := []byte(s + "seed")
			for range 4 {
				b[pick(len(b))] = byte(pick(256))
			}
			s = string(b)
		}
		switch {
		case field == "UserID" && pick(2) == 0:
			s = owner
		case key:
			s = c.Unique("odd") + s
		}
		v.SetString(s)
	case reflect.Int64:
		v.SetInt([]int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxUint32, 1 << 53, math.MaxInt64, math.MinInt64}[pick(9)])
	case reflect.Bool:
		v.SetBool(pick(2) == 0)
	case reflect.Pointer:
		if pick(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			odd(c, v.Elem(), field, owner, key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			isKey := strings.Contains("ID SessionToken UserID Email Provider ProviderAccountID Identifier Token CredentialID", name)
			odd(c, v.Field(i), name, owner, isKey)
		}
	}
}

// oddChange is a change to an odd value.
func oddChange[T any](c *kit.Context, x *adapter.Change[T], field, owner string, key bool) {
	var value T
	odd(c, reflect.ValueOf(&value).Elem(), field, owner, key)
	*x = adapter.To(value)
}

var (
	oddStrings = []string{
		"", " ", "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "'", `"`, `\`, "%", "*", "{", "[", "](", "$", "\r\n", "é", "\U0001F511", "\u202e", "null", "%s%n%d", "../", ":", "::",
		strings.Repeat("x", 5000), strings.Repeat("\U0001F511", 400), "9223372036854775808", "-1", "1e309", "NaN", "2024-13-45T99:99:99Z", "zzzzzzzzzzzzzzzzzzzzzzzz",
		"123e4567-e89b-12d3-a456-42661417400", "=", "+/=", "-_",
	}
	oddInstants = []time.Time{
		{}, time.Unix(0, 0), time.Unix(-1, 999_999_999), time.Unix(1<<31, 0), time.Unix(1<<32, 1), time.Unix(253402300800, 0), time.Unix(math.MaxInt64, 0),
		time.Unix(math.MinInt64, 0), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, time.FixedZone("", 14*3600+1)),
		time.Date(292278994, 8, 17, 0, 0, 0, 0, time.UTC),
	}
	oddJSON = []json.RawMessage{
		nil, {}, json.RawMessage("null"), json.RawMessage("[]"), json.RawMessage("{"), json.RawMessage(`[{"a":"\u0000"}]`), json.RawMessage("\xff"),
		json.RawMessage(strings.Repeat("[", 2000)), json.RawMessage(`[1e400]`), json.RawMessage(`"x`),
	}
)

// missesOrFails reports a breach if the method finds something.
func missesOrFails(c *kit.Context, k kit.Method, key []string) {
	got, err := k.Call(c, c.Adapter, key)
	if err == nil && got != nil {
		c.Errorf("%s(%s): got %s, want absent or an error", k.Name, kit.ShowKey(key), diff.Show(got))
	}
}

// resemblingKeys calls each method with near misses of each part of a key that exists. It
// leaves out addresses, which may be compared regardless of case.
func resemblingKeys(c *kit.Context, of *kit.Records) {
	for k, key := range keysOf(c, of) {
		for i, part := range k.Parts {
			var near []string
			switch part {
			case "e-mail", "identifier":
				continue
			case "user id":
				near = kit.MalformedIDs(key[i])
			default:
				near = kit.Map(kit.FreshNearMisses(key[i]), func(m kit.NearMiss) string { return m.Value })
			}
			for value := range kit.Some(&c.Budget, near) {
				if strings.Contains(value, "\x00") {
					missesOrFails(c, k, kit.With(key, i, value)) // a NUL may be an error [INPUT-10]
				} else {
					kit.Misses(c, k, kit.With(key, i, value))
				}
			}
		}
	}
}

// saturated stores and reads a record of each kind, with s in all of its text.
func saturated(c *kit.Context, s string, refusable bool) {
	private := func() string { return c.Secret("x") + s }
	judge := func(what string, want, got any, err error) {
		switch {
		case err != nil && refusable:
		case err != nil:
			c.Errorf("%s that holds %s: %v", what, diff.Show(s), err)
		case kit.IsNilRecord(got):
			c.Errorf("%s that holds %s was accepted and is absent", what, diff.Show(s))
		default:
			c.Same(what+" that holds "+diff.Show(s), got, want)
		}
	}
	owner := ""
	if c.Stores(kit.UserRecord) {
		owner = saturatedUser(c, s, judge)
	}
	if owner == "" {
		owner = kit.Owner(c)
	}
	x := kit.NewDrafts(c)
	x.Give(owner)
	a, t, w := &x.Account, &x.Token, &x.Authenticator
	a.Provider, a.ProviderAccountID = c.Unique("x")+s, s+c.Unique("x")
	a.AccessToken, a.RefreshToken, a.IDToken = new(private()), new(private()), new(private())
	a.Scope, a.TokenType, a.SessionState = new(s), new(s), new(s)
	if c.Harness().Declarations.Keeps("Account.AuthorizationDetails") {
		a.AuthorizationDetails, _ = json.Marshal([]map[string]any{{"type": s}}) // strings always marshal
	}
	x.Session.SessionToken = s + private()
	t.Identifier, t.Token = c.Unique("x")+s+kit.ExampleDomain, s+private()
	w.CredentialID, w.ProviderAccountID = s+c.Unique("x"), s
	w.CredentialPublicKey, w.CredentialDeviceType, w.Transports = private(), s, new(s)
	for _, kind := range kit.RecordKinds[1:] {
		if x.Kind = kind.Kind; !c.Stores(x.Kind) || owner == "" && x.Kind != kit.VerificationTokenRecord {
			continue
		}
		_, err := x.Create().Do(c.Ctx, c.Adapter)
		var got any
		if err == nil {
			got, err = x.Look(c, c.Adapter)
		}
		article := map[bool]string{true: "an ", false: "a "}[strings.HasPrefix(string(x.Kind), "a")]
		judge(article+string(x.Kind), x.Value(), got, err)
	}
}

func saturatedUser(c *kit.Context, s string, judge func(what string, want, got any, err error)) (id string) {
	u := c.NewUser()
	u.Name, u.Image, u.Email = new(s), new(s), c.Unique("x")+s+kit.ExampleDomain
	created, err := c.Adapter.CreateUser(c.Ctx, u)
	if err != nil || created == nil {
		judge("a user", &u, created, err)
		return ""
	}
	u.ID, u.Email = created.ID, kit.AddressAs(c, u.Email, created.Email)
	got, err := c.Adapter.GetUser(c.Ctx, u.ID)
	judge("a user", &u, got, err)
	if c.Works("GetUserByEmail") {
		got, err = c.Adapter.GetUserByEmail(c.Ctx, u.Email)
		judge("a user", &u, got, err)
	}
	if c.Works("UpdateUser") {
		u.Name, u.Image = new(s+s), new(s+s)
		update := adapter.UserUpdate{ID: u.ID, Name: adapter.To(u.Name), Image: adapter.To(u.Image)}
		if got, err = c.Adapter.UpdateUser(c.Ctx, update); err == nil {
			got, err = c.Adapter.GetUser(c.Ctx, u.ID)
		}
		judge("an updated user", &u, got, err)
	}
	return u.ID
}
