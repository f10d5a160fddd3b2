package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var inputClauses = []check{
	{id: "INPUT-01", words: "empty-key-is-absent", run: func(c *clauseContext) {
		if c.works("CreateUser") {
			u := c.newUser()
			u.Email = ""
			// A lookup by the empty address could find a user without an
			// address.
			if got, err := c.a.CreateUser(c.ctx, u); err == nil && got != nil && c.works("GetUser") {
				defer func() { c.same("the user without an address", c.getUser(got.ID), got) }()
			}
		}
		residents := c.residents(2)
		for _, k := range c.keyed() {
			c.misses(k, make([]string, len(k.parts)))
			for _, b := range residents {
				if key, ok := b.key(k); ok {
					for i := range key {
						c.misses(k, with(key, i, ""))
					}
				}
			}
		}
		c.intact(residents)
	}},
	{id: "INPUT-02", words: "sql-is-only-text", run: func(c *clauseContext) {
		c.onlyText(mustKeep,
			`' OR '1'='1`, `" OR ""="`, `' OR 1=1 --`, `') OR ('1'='1`, `x' UNION SELECT * FROM users --`, `'; DROP TABLE users; --`,
			`'; DELETE FROM sessions; --`, `', 'x', 'y'); --`, `x' AND (SELECT 1)=1 --`, `\'; UPDATE users SET name='x'; --`, `/**/OR/**/1=1`, `1 OR 1=1`,
			"` OR 1=1 #", `$$;SELECT 1;$$`, `%27%20OR%201=1`, `'||(SELECT '')||'`)
	}},
	{id: "INPUT-03", words: "patterns-match-only-themselves", run: func(c *clauseContext) {
		residents := c.residents(2)
		for _, k := range c.keyed() {
			key, ok := residents[0].key(k)
			if !ok {
				continue
			}
			for i := range key {
				for pattern := range some(&c.budget, patterns(key[i])) {
					c.misses(k, with(key, i, pattern))
				}
			}
			for all := range some(&c.budget, []string{"%", "_", "*", "?", ".*", "^", "$", "[^x]*", "(.*)", "\\", "|", "^.*$", "%%", "**"}) {
				every := make([]string, len(key))
				for i := range every {
					every[i] = all
				}
				c.misses(k, every)
			}
		}
		owner := c.owner()
		for _, p := range c.textFields(keyTextField) {
			head := c.unique("x")
			literal := c.keeps(p, owner, head+"AB", mustKeep)
			for pattern := range some(&c.budget, []string{"%", "_B", "*", "?B", "[A-Z]B", "(A)B", "A|B", ".B", "^AB$", `\AB`, "A?B"}) {
				c.keeps(p, owner, head+pattern, mustKeep)
			}
			if literal != nil && !strings.HasPrefix(p.name, "VerificationToken.") { // using a token uses it up
				got, err := literal.find(head + "AB")
				c.same(p.name+" beside keys that are patterns of it", must(c, p.name, got, err), literal.want)
			}
		}
		c.intact(residents)
	}},
	{id: "INPUT-04", words: "separators-are-harmless", run: func(c *clauseContext) {
		residents := c.residents(1)
		c.resemblingKeys(residents[0])
		for sep := range some(&c.budget, []string{":", "#", "/", "_", "|", "-", ",", ";", ".", " ", "\x00", "\x1f", "::", "+", "@", "\n"}) {
			c.separated(sep)
		}
		c.intact(residents)
	}},
	{id: "INPUT-05", words: "operators-are-only-text", run: func(c *clauseContext) {
		c.onlyText(mustKeep, `{"$gt":""}`, `{"$ne":null}`, `{"$regex":".*"}`, `$where`, `$ne`, `#name`, `:value`, `?`, `$1`, `@p1`, `{{.}}`, `${x}`, `%s`, `%!d`,
			`[$ne]=1`, `true, $or: [{}]`, `this.x == 1`)
	}},
	{id: "INPUT-06", words: "protocol-fragments-are-only-text", run: func(c *clauseContext) {
		c.onlyText(mayRefuse, "x\r\nDEL *\r\n", "\r\n", "\n", "*1\r\n$4\r\nPING\r\n", "$-1\r\n", "x\r\nget y\r\n", "x\r\n.\r\nQUIT\r\n", "+OK\r\n", "x\r\n\r\nGET / HTTP/1.1\r\n")
	}},
	{id: "INPUT-07", words: "paths-address-only-themselves", run: pathsAddressThemselves},
	{id: "INPUT-08", words: "keys-of-another-kind-are-absent", run: func(c *clauseContext) {
		residents := c.residents(2)
		for _, k := range c.keyed() {
			key, ok := residents[0].key(k)
			if !ok {
				continue
			}
			for _, b := range residents {
				for kind, value := range b.values() {
					if !slices.Contains(k.parts, kind) {
						foreign := make([]string, len(key))
						for i := range key {
							foreign[i] = value
							c.misses(k, with(key, i, value))
						}
						c.misses(k, foreign)
					}
				}
			}
			if len(key) == 2 {
				c.misses(k, []string{key[1], key[0]})
			}
		}
		c.intact(residents)
	}},
	{id: "INPUT-09", words: "internal-names-are-no-keys", run: func(c *clauseContext) {
		residents := c.residents(2)
		values := residents[0].values()
		var names []string
		for _, prefix := range append([]string{"", "user", "users", "user:email", "user:account", "email", "by-user-id", "session", "session:by-user-id", "user:sessions",
			"account", "account:by-user-id", "token", "verification_token", "authenticator", "authenticator:by-user-id", "_design", "index"}, c.harness().InternalNames...) {
			if prefix != "" {
				names = append(names, prefix, prefix+":")
			}
			for _, kind := range sortedKeys(values) {
				for _, separator := range []string{":", "/", ""} {
					if prefix+separator != "" {
						names = append(names, prefix+separator+values[kind])
					}
				}
			}
		}
		names = append(names, "sqlite_master", "sqlite_sequence", "rowid", "_id", "id", "pg_catalog.pg_class", "information_schema.tables", "system.indexes", "_all_docs")
		type missing struct {
			keyed
			part int
			name string
		}
		var cases []missing
		turn := 0
		for _, k := range c.keyed() {
			key, _ := residents[0].key(k)
			for i := range key {
				for _, name := range every(c.stride, names, turn) {
					if key[i] != name {
						cases = append(cases, missing{k, i, name})
					}
				}
				turn++
			}
		}
		each(c, cases, func(x missing) []string { return []string{x.method + " by " + x.parts[x.part]} }, func(x missing) bool {
			key, _ := residents[0].key(x.keyed)
			c.misses(x.keyed, with(key, x.part, x.name))
			return true
		})
		c.intact(residents)
	}},
	{id: "INPUT-10", words: "nul-and-invalid-utf8-are-absent", run: func(c *clauseContext) {
		residents := c.residents(1)
		for _, k := range c.lookups() {
			key, ok := residents[0].key(k)
			for _, odd := range append([]string{"\x00", "a\x00b", "\x00\x00"}, invalidUTF8...) {
				c.misses(k, slices.Repeat([]string{odd}, len(k.parts)))
				if ok {
					for i := range key {
						c.misses(k, with(key, i, key[i]+odd))
						c.misses(k, with(key, i, odd+key[i]))
					}
				}
			}
		}
		c.intact(residents)
	}},
	{id: "INPUT-11", words: "nul-does-not-end-a-string", run: func(c *clauseContext) {
		residents := c.residents(1)
		for _, k := range c.keyed() {
			if key, ok := residents[0].key(k); ok {
				for i := range key {
					for _, odd := range []string{key[i] + "\x00b", key[i] + "\x00", "\x00" + key[i]} {
						c.missesOrFails(k, with(key, i, odd))
					}
				}
			}
		}
		c.intact(residents)
		owner := c.owner()
		for _, p := range c.textFields(everyTextField) {
			head := c.unique("nul")
			x := c.keeps(p, owner, head+"\x00b", mayRefuse)
			if x == nil || !p.key {
				continue
			}
			for _, other := range []string{head, head + "\x00", head + "\x00c", head + "b"} {
				if got, err := x.find(other); err == nil && got != nil {
					c.Errorf("%s = %q is found as %q", p.name, head+"\x00b", other)
				}
			}
		}
	}},
	{id: "INPUT-12", words: "huge-keys-are-harmless", run: func(c *clauseContext) {
		const bound = 20 * time.Second
		residents := c.residents(1)
		huge := strings.Repeat("é", 1<<19)
		for _, k := range c.keyed() {
			key, ok := residents[0].key(k)
			if !ok {
				key = slices.Repeat([]string{"x"}, len(k.parts))
			}
			for i := range key {
				start := time.Now()
				c.missesOrFails(k, with(key, i, key[i]+huge))
				if took := time.Since(start); took > bound {
					c.Errorf("%s of 1 MiB took %v, want at most %v", k.method, took, bound)
				}
			}
			if ok && k.lookup && k.method != "UseVerificationToken" {
				if got, err := k.call(c, c.a, key); err != nil || got == nil {
					c.Errorf("%s(%s) after one of 1 MiB: got %s, %v", k.method, showKey(key), diff.Show(got), err)
				}
			}
		}
		c.intact(residents)
	}},
	{id: "INPUT-13", words: "reserved-words-are-ordinary", run: reservedWords},
	{id: "INPUT-14", words: "empty-mandatory-key-is-refused", run: emptyMandatoryKeys},
	{id: "INPUT-15", words: "nothing-panics", run: nothingPanics},
}

// onlyText tries text as, and in, every key of every method, and stores it in
// every field.
func (c *clauseContext) onlyText(refusable bool, texts ...string) {
	residents := c.residents(2)
	type odd struct {
		keyed
		key  []string
		text string
	}
	var cases []odd
	for _, text := range texts {
		for _, k := range c.keyed() {
			cases = append(cases, odd{k, slices.Repeat([]string{text}, len(k.parts)), text})
			key, ok := residents[0].key(k)
			if !ok {
				continue
			}
			for i := range key {
				for _, part := range []string{text, key[i] + text, text + key[i]} {
					cases = append(cases, odd{k, with(key, i, part), text})
				}
			}
		}
	}
	each(c, cases, func(x odd) []string { return []string{x.method, x.text} }, func(x odd) bool {
		c.misses(x.keyed, x.key)
		return true
	})
	for text := range some(&c.budget, texts) {
		c.saturated(text, refusable)
	}
	c.intact(residents)
}

// patterns are patterns, in one language or another, that match key and are
// not key.
func patterns(key string) []string {
	head, last := key[:len(key)-1], key[len(key)-1:]
	first, size := "", 0
	for i, r := range key {
		first, size = string(r), i+len(string(r))
		break
	}
	rest := key[size:]
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

// separated stores pairs of keys that are one when their parts are joined by
// the separator.
func (c *clauseContext) separated(sep string) {
	refusable := sep < " "                                                         // DATA-11 lets a write of control characters fail
	a, b, z := lowerASCII(c.unique("a")), lowerASCII(c.unique("b")), c.unique("z") // an identifier may come back in lower case
	if c.stores(AccountRecord) && c.works("GetUserByAccount") {
		one, two := c.user(), c.user()
		first, second := c.newAccount(one.ID), c.newAccount(two.ID)
		first.Provider, first.ProviderAccountID = a+sep+b, z
		second.Provider, second.ProviderAccountID = a, b+sep+z
		if c.accepted(refusable, sep, "LinkAccount", func() error { _, err := c.a.LinkAccount(c.ctx, first); return err }) {
			c.absent(fmt.Sprintf("GetAccount of the pair that %q joins alike", sep), c.getAccount(second.Key()), nil)
			c.absent(fmt.Sprintf("GetUserByAccount of the pair that %q joins alike", sep), c.getUserByAccount(second.Key()), nil)
			if c.works("UnlinkAccount") {
				c.unlinkAccount(second.Key())
			}
			c.same("GetAccount of the first pair", c.getAccount(first.Key()), &first)
			if c.accepted(false, sep, "LinkAccount of the second pair", func() error { _, err := c.a.LinkAccount(c.ctx, second); return err }) {
				c.same("GetAccount of the first pair", c.getAccount(first.Key()), &first)
				c.same("GetAccount of the second pair", c.getAccount(second.Key()), &second)
				c.same("GetUserByAccount of the first pair", c.getUserByAccount(first.Key()), one)
				c.same("GetUserByAccount of the second pair", c.getUserByAccount(second.Key()), two)
				if c.works("UnlinkAccount") {
					c.unlinkAccount(first.Key())
					c.absent("GetAccount of the unlinked first pair", c.getAccount(first.Key()), nil)
					c.same("GetAccount of the second pair, the first unlinked", c.getAccount(second.Key()), &second)
					c.same("GetUserByAccount of the second pair, the first unlinked", c.getUserByAccount(second.Key()), two)
				}
			}
		}
	}
	if c.stores(VerificationTokenRecord) {
		first, second := c.newToken(), c.newToken()
		first.Identifier, first.Token = a+sep+b, z
		second.Identifier, second.Token = a, b+sep+z
		if c.accepted(refusable, sep, "CreateVerificationToken", func() error { _, err := c.a.CreateVerificationToken(c.ctx, first); return err }) {
			c.absent(fmt.Sprintf("UseVerificationToken of the pair that %q joins alike", sep), c.useToken(second.Key()), nil)
			if c.accepted(false, sep, "CreateVerificationToken of the second pair", func() error { _, err := c.a.CreateVerificationToken(c.ctx, second); return err }) {
				c.same("UseVerificationToken of the second pair", c.useToken(second.Key()), &second)
			}
			c.same("UseVerificationToken of the first pair", c.useToken(first.Key()), &first)
			c.absent("the second use of the first pair", c.useToken(first.Key()), nil)
		}
	}
	c.separatedOwners(sep, refusable)
}

// separatedOwners gives two users whose IDs differ by the separator things
// whose keys differ by it too, and deletes one of them.
func (c *clauseContext) separatedOwners(sep string, refusable bool) {
	if !c.works("CreateUser") || !c.stores(AuthenticatorRecord) || !c.works("ListAuthenticatorsByUserID") {
		return
	}
	id := c.unique("u")
	var owners [2]*adapter.User
	for i, id := range []string{id, id + sep + "b"} {
		u := c.newUser()
		u.ID = id
		got, err := c.a.CreateUser(c.ctx, u)
		if err != nil || got == nil { // the adapter may refuse such an ID
			u.ID = ""
			got = c.createUser(u)
		}
		owners[i] = got
	}
	tail := c.unique("credential")
	list := make([]adapter.Authenticator, 2)
	for i, credential := range []string{"b" + sep + tail, tail} {
		list[i] = c.newAuthenticator(owners[i].ID)
		list[i].CredentialID = credential
		if !c.accepted(refusable && i == 0, sep, "CreateAuthenticator", func() error { _, err := c.a.CreateAuthenticator(c.ctx, list[i]); return err }) {
			return
		}
	}
	var session adapter.Session
	if c.stores(SessionRecord) {
		session = c.session(owners[1].ID)
	}
	for i := range list {
		c.same("GetAuthenticator", c.getAuthenticator(list[i].CredentialID), &list[i])
		c.sameAuthenticators("ListAuthenticatorsByUserID", c.listAuthenticators(owners[i].ID), list[i:i+1])
	}
	if !c.works("DeleteUser") {
		return
	}
	c.deleteUser(owners[0].ID)
	c.same("GetAuthenticator, the other user deleted", c.getAuthenticator(list[1].CredentialID), &list[1])
	c.sameAuthenticators("ListAuthenticatorsByUserID, the other user deleted", c.listAuthenticators(owners[1].ID), list[1:])
	if session.SessionToken != "" {
		if got := c.getSession(session.SessionToken); got == nil || got.User.ID != owners[1].ID {
			c.Errorf("GetSessionAndUser, the other user deleted: got %s, want the session of user %q", diff.Show(got), owners[1].ID)
		}
	}
}

// accepted reports whether a write succeeded, and a breach if it should have.
func (c *clauseContext) accepted(refusable bool, sep, what string, write func() error) bool {
	err := write()
	if err != nil && !refusable {
		c.Errorf("%s with %q inside: %v", what, sep, err)
	}
	return err == nil
}

func pathsAddressThemselves(c *clauseContext) {
	residents := c.residents(1)
	owner := c.owner()
	for _, p := range c.textFields(keyTextField) {
		head := c.unique("abc")
		variants := []string{
			head + ":def", head + "/def?x", head + "//def", head + "/def#x", head + `\def`, head + "/./def", head + "/x/../def", head + "%2fdef", head + "%2Fdef",
			head + "/def/", head + "/def%2e", head + "/def.", "/" + head + "/def", "./" + head + "/def", "../" + head + "/def", head + "/def%20", head + "/def;x", head + "/de%66",
			head, head + "/", "def",
		}
		if !p.address || !c.harness().Declarations.EmailFoldsCase {
			variants = append(variants, head+"/DEF", strings.ToUpper(head)+"/def")
		}
		x := c.keeps(p, owner, head+"/def", mustKeep)
		if x == nil {
			continue
		}
		for variant := range some(&c.budget, variants) {
			got, err := x.find(variant)
			c.absent(fmt.Sprintf("%s = %q, looked up as %q", p.name, head+"/def", variant), got, err)
		}
		for stored := range some(&c.budget, []string{head + ":def", head + "//def", head + `\def`, head + "/def?x", head + "/def#x", "../" + head + "/def", head + "/%2e%2e/def", "/" + head + "/def", head + "/def/"}) {
			c.keeps(p, owner, stored, mustKeep)
		}
		if !strings.HasPrefix(p.name, "VerificationToken.") { // using a token uses it up
			got, err := x.find(head + "/def")
			c.same(p.name+" beside keys that look like its path", must(c, p.name, got, err), x.want)
		}
	}
	for _, k := range c.keyed() {
		for path := range some(&c.budget, []string{".", "..", "/", "//", "../", "./", "*/", "%2e", "%2e%2e%2f", "?", "#", "?x", "#x", "a/b", `a\b`, "file:///etc/passwd"}) {
			c.misses(k, slices.Repeat([]string{path}, len(k.parts)))
		}
		if key, ok := residents[0].key(k); ok {
			for i := range key {
				for path := range some(&c.budget, []string{key[i] + "/", "./" + key[i], "/" + key[i], key[i] + "?x", key[i] + "#x", "x/../" + key[i], key[i] + "/.", key[i] + "%20", key[i] + "\\"}) {
					c.misses(k, with(key, i, path))
				}
			}
		}
	}
	c.intact(residents)
}

var words = []string{
	"null", "undefined", "NaN", "true", "false", "0", "1", "nil", "None", "NULL", "<nil>", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "Infinity",
	"default", "[object Object]",
}

func reservedWords(c *clauseContext) {
	residents := c.residents(2)
	for word := range some(&c.budget, words) {
		c.saturated(word, mustKeep)
		c.wordAsKey(word, residents[0])
		for _, k := range c.keyed() {
			if key, ok := residents[0].key(k); ok && len(key) == 2 {
				for i := range key {
					c.misses(k, with(key, i, word))
				}
			}
		}
	}
	owner := c.owner()
	halves := func(p textField) bool { return p.key && !p.alone }
	if slices.ContainsFunc(textFields, func(p textField) bool { return halves(p) && !slices.ContainsFunc(p.methods, c.lacks) }) {
		for _, p := range c.textFields(halves) {
			for word := range some(&c.budget, words) {
				c.keeps(p, owner, word, mustKeep)
			}
		}
	}
	c.intact(residents)
}

// wordAsKey looks up a word as the whole key, stores it as one, and takes it
// away again. Another run on the same store may be doing the same: what
// belongs to it is passed over.
func (c *clauseContext) wordAsKey(word string, resident *uninvolvedUser) {
	for _, k := range c.lookups() {
		if len(k.parts) == 2 {
			c.misses(k, []string{word, word})
		} else if k.parts[0] == "user id" && isNumber(word) && (c.assignsIDs() || isNumber(resident.id)) {
			continue // the word may be a user's ID
		} else if got, err := k.call(c, c.a, []string{word}); err != nil || got != nil && !c.ofOtherRun(got) {
			c.absent(fmt.Sprintf("%s(%q)", k.method, word), got, err)
		}
	}
	if !c.stores(UserRecord) || !c.works("DeleteUser") {
		return
	}
	owner := c.user()
	stored := func(what string, err error) bool {
		if err != nil && !errors.Is(err, adapter.ErrConflict) {
			c.Errorf("%s with the key %q: %v", what, word, err)
		}
		return err == nil
	}
	if c.stores(SessionRecord) {
		s := adapter.Session{SessionToken: word, UserID: owner.ID, Expires: c.instant(time.Hour)}
		if _, err := c.a.CreateSession(c.ctx, s); stored("CreateSession", err) {
			c.same(fmt.Sprintf("the session %q", word), c.getSession(word), &adapter.SessionAndUser{Session: s, User: *owner})
		}
	}
	if c.stores(AuthenticatorRecord) {
		w := c.newAuthenticator(owner.ID)
		w.CredentialID = word
		if _, err := c.a.CreateAuthenticator(c.ctx, w); stored("CreateAuthenticator", err) {
			c.same(fmt.Sprintf("the authenticator %q", word), c.getAuthenticator(word), &w)
		}
	}
	c.deleteUser(owner.ID)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// ofOtherRun reports whether a record was made by this clause of another run.
func (c *clauseContext) ofOtherRun(record any) bool {
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
	return strings.Contains(mark, "-"+c.clause.ID+"-") && !strings.Contains(mark, c.run.nonce)
}

// emptyMandatoryKeys goes past the observer, because a record without a key
// that is returned here is not an answer to a lookup [ERR-03].
func emptyMandatoryKeys(c *clauseContext) {
	tried := 0
	refused := func(method, field string, create func() (any, error), undo func()) {
		if !c.works(method) {
			return
		}
		tried++
		if got, err := create(); err == nil {
			c.Errorf("%s with an empty %s: succeeded with %s, want an error", method, field, diff.Show(got))
			undo()
		}
	}
	owner := c.owner()
	for _, s := range []adapter.Session{{UserID: owner, Expires: c.instant(time.Hour)}, {SessionToken: c.secret("session"), Expires: c.instant(time.Hour)}} {
		field := "sessionToken"
		if s.SessionToken != "" {
			field = "userId"
		}
		refused("CreateSession", field, func() (any, error) { return record(c.raw.CreateSession(c.ctx, s)) },
			func() { _, _ = c.raw.DeleteSession(c.ctx, s.SessionToken) })
	}
	for field, empty := range map[string]func(*adapter.Account){
		"userId":            func(a *adapter.Account) { a.UserID = "" },
		"provider":          func(a *adapter.Account) { a.Provider = "" },
		"providerAccountId": func(a *adapter.Account) { a.ProviderAccountID = "" },
	} {
		a := c.newAccount(owner)
		empty(&a)
		refused("LinkAccount", field, func() (any, error) { return record(c.raw.LinkAccount(c.ctx, a)) },
			func() { _, _ = c.raw.UnlinkAccount(c.ctx, a.Key()) })
	}
	t := c.newToken()
	t.Token = ""
	refused("CreateVerificationToken", "token", func() (any, error) { return record(c.raw.CreateVerificationToken(c.ctx, t)) },
		func() { _, _ = c.raw.UseVerificationToken(c.ctx, t.Key()) })
	for field, empty := range map[string]func(*adapter.Authenticator){
		"userId":       func(w *adapter.Authenticator) { w.UserID = "" },
		"credentialID": func(w *adapter.Authenticator) { w.CredentialID = "" },
	} {
		w := c.newAuthenticator(owner)
		empty(&w)
		refused("CreateAuthenticator", field, func() (any, error) { return record(c.raw.CreateAuthenticator(c.ctx, w)) }, func() {})
	}
	if owner != "" && c.works("DeleteUser") {
		_, _ = c.raw.DeleteUser(c.ctx, owner) // and the authenticators that should not exist
	}
	if tried == 0 {
		c.notApplicable("the adapter creates no record with a mandatory key")
	}
}

// nothingPanics calls every method with odd values in every field. What the
// calls return is not judged: a panic is what the observer reports.
func nothingPanics(c *clauseContext) {
	residents := c.residents(1)
	owner := c.owner()
	methods := reflect.ValueOf(c.a)
	for i := range methods.NumMethod() {
		name := methods.Type().Method(i).Name
		if !c.works(name) {
			continue
		}
		method := methods.Method(i)
		for range c.rounds(60) {
			args := []reflect.Value{reflect.ValueOf(c.ctx)}
			for j := 1; j < method.Type().NumIn(); j++ {
				arg := reflect.New(method.Type().In(j)).Elem()
				c.odd(arg, name, owner, true)
				args = append(args, arg)
			}
			method.Call(args)
		}
	}
	c.intact(residents)
}

// odd fills v with odd values. Keys of records that are written are unique,
// because the store may be shared.
func (c *clauseContext) odd(v reflect.Value, field, owner string, key bool) {
	pick := func(n int) int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.rand.IntN(n)
	}
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = oddInstants[pick(len(oddInstants))]
		return
	case *json.RawMessage:
		*x = oddJSON[pick(len(oddJSON))]
		return
	case *adapter.Change[string]:
		var s string
		c.odd(reflect.ValueOf(&s).Elem(), field, owner, true)
		*x = adapter.To(s)
		return
	case *adapter.Change[*string]:
		var s *string
		c.odd(reflect.ValueOf(&s).Elem(), field, owner, false)
		*x = adapter.To(s)
		return
	case *adapter.Change[*int64]:
		var n *int64
		c.odd(reflect.ValueOf(&n).Elem(), field, owner, false)
		*x = adapter.To(n)
		return
	case *adapter.Change[json.RawMessage]:
		*x = adapter.To(oddJSON[pick(len(oddJSON))])
		return
	case *adapter.Change[time.Time]:
		*x = adapter.To(oddInstants[pick(len(oddInstants))])
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
			s = c.unique("odd") + s
		}
		v.SetString(s)
	case reflect.Int64:
		v.SetInt([]int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxUint32, 1 << 53, math.MaxInt64, math.MinInt64}[pick(9)])
	case reflect.Bool:
		v.SetBool(pick(2) == 0)
	case reflect.Pointer:
		if pick(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			c.odd(v.Elem(), field, owner, key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			isKey := strings.Contains("ID SessionToken UserID Email Provider ProviderAccountID Identifier Token CredentialID", name)
			c.odd(v.Field(i), name, owner, isKey)
		}
	}
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
