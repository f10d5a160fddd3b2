package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	userMethods       = []string{"CreateUser"}
	userUpdateMethods = []string{"CreateUser", "UpdateUser"}
	emailMethods      = []string{"CreateUser", "GetUserByEmail"}
)

var userClauses = []check{
	{id: "USER-01", words: "create-returns-an-id", requires: userMethods, run: func(c *clauseContext) {
		if u := c.user(); u.ID == "" {
			c.Errorf("CreateUser without an id: the returned id is empty")
		}
		u := c.newUser()
		u.ID = c.id()
		if got := c.createUser(u); got.ID == "" {
			c.Errorf("CreateUser with id %q: the returned id is empty", u.ID)
		}
	}},
	{id: "USER-02", words: "get-yields-the-created-user", requires: userMethods, run: func(c *clauseContext) {
		for _, u := range []adapter.User{c.newUser(), {Email: c.newUser().Email}} {
			u.ID = c.createUser(u).ID
			c.same("GetUser", c.getUser(u.ID), &u)
		}
	}},
	{id: "USER-03", words: "create-returns-what-is-stored", requires: userMethods, run: func(c *clauseContext) {
		for _, u := range []adapter.User{c.newUser(), {Email: c.newUser().Email}} {
			created := c.createUser(u)
			c.same("what CreateUser returned, against GetUser", created, c.getUser(created.ID))
		}
	}},
	{id: "USER-04", words: "taken-id-replaces-nobody", requires: emailMethods, run: func(c *clauseContext) {
		first := c.newUser()
		first.ID = c.id()
		stored := c.createUser(first)
		second := c.newUser()
		second.ID = stored.ID
		got, err := c.a.CreateUser(c.ctx, second)
		if err == nil && got != nil && got.ID == stored.ID {
			c.Errorf("CreateUser with the taken id %q succeeded and returned that id", stored.ID)
		}
		c.same("the first user, by id", c.getUser(stored.ID), stored)
		c.same("the first user, by e-mail", c.getUserByEmail(stored.Email), stored)
		if err != nil {
			c.absent("the refused user, by e-mail", c.getUserByEmail(second.Email), nil)
		}
	}},
	{id: "USER-05", words: "supplied-id-is-kept", requires: userMethods, run: func(c *clauseContext) {
		u := c.newUser()
		u.ID = c.id()
		got := c.createUser(u)
		switch assigns := c.harness().Declarations.AssignsIDs; {
		case got.ID == u.ID && assigns:
			c.Errorf("the supplied id was kept, and the harness declares AssignsIDs")
		case got.ID != u.ID && !assigns:
			c.Errorf("CreateUser with id %q returned id %q, and AssignsIDs is not declared", u.ID, got.ID)
		case got.ID != u.ID:
			c.absent("GetUser of the replaced id", c.getUser(u.ID), nil)
		}
		c.same("GetUser of the returned id", c.getUser(got.ID), got)
	}},
	{id: "USER-06", words: "ids-are-unique", requires: userMethods, run: func(c *clauseContext) {
		const goroutines, each = 8, 25
		var mu sync.Mutex
		seen := map[string]string{}
		c.parallel(goroutines, func(int) {
			for range each {
				u := c.user()
				mu.Lock()
				if other, ok := seen[u.ID]; ok {
					c.Errorf("%q and %q both got id %q", other, u.Email, u.ID)
				}
				seen[u.ID] = u.Email
				mu.Unlock()
			}
		})
		if c.has(abilitySecond) {
			for _, a := range []adapter.Adapter{c.a, c.second(), c.second()} {
				u := c.newUser()
				u.ID = ""
				got, err := a.CreateUser(c.ctx, u)
				id := mustRecord(c, "CreateUser through another handle", got, err).ID
				if other, ok := seen[id]; ok {
					c.Errorf("%q and, through another handle, %q both got id %q", other, u.Email, id)
				}
				seen[id] = u.Email
			}
			c.idsOfTwoHandles()
		}
		c.assignsAroundGiven()
	}},
	{id: "USER-07", words: "unknown-id-is-absent", requires: []string{"CreateUser", "GetUser"}, run: func(c *clauseContext) {
		c.user()
		got, err := c.a.GetUser(c.ctx, c.id())
		c.absent("GetUser of an unknown id", got, err)
	}},
	{id: "USER-08", words: "malformed-id-is-absent", requires: []string{"CreateUser", "GetUser"}, run: func(c *clauseContext) {
		supplied := c.newUser()
		supplied.ID = c.id()
		for _, known := range []*adapter.User{c.user(), c.createUser(supplied)} {
			for _, id := range malformedIDs(known.ID) {
				got, err := c.a.GetUser(c.ctx, id)
				c.absent(fmt.Sprintf("GetUser(%q)", id), got, err)
			}
		}
	}},
	{id: "USER-09", words: "email-finds-its-user", requires: userMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		c.same("GetUserByEmail of A", c.getUserByEmail(a.Email), a)
		c.same("GetUserByEmail of B", c.getUserByEmail(b.Email), b)
	}},
	{id: "USER-10", words: "unknown-email-is-absent", requires: emailMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, email := range []string{
			c.newUser().Email, u.Email[:len(u.Email)-1], u.Email + "x", u.Email[1:], "x" + u.Email,
			strings.TrimSuffix(u.Email, "example"), "@bücher.example",
		} {
			got, err := c.a.GetUserByEmail(c.ctx, email)
			c.absent(fmt.Sprintf("GetUserByEmail(%q)", email), got, err)
		}
	}},
	{id: "USER-11", words: "taken-email-fails-and-leaves-nothing", requires: []string{"CreateUser", "GetUser"}, run: func(c *clauseContext) {
		a := c.user()
		b := c.newUser()
		b.ID = c.id()
		email := b.Email
		b.Email = a.Email
		got, err := c.a.CreateUser(c.ctx, b)
		c.fails("CreateUser with a taken e-mail", got, err)
		c.same("GetUserByEmail of the taken address", c.getUserByEmail(a.Email), a)
		c.same("GetUser of its holder", c.getUser(a.ID), a)
		c.absent("GetUser of the refused id", c.getUser(b.ID), nil)
		b.Email = email
		again := c.createUser(b)
		c.same("GetUserByEmail after the second try", c.getUserByEmail(email), again)
	}},
	{id: "USER-12", words: "empty-emails-do-not-conflict", requires: []string{"CreateUser", "GetUser"}, run: func(c *clauseContext) {
		for range 2 {
			u := c.newUser()
			u.Email = ""
			u.ID = c.createUser(u).ID
			c.same("GetUser", c.getUser(u.ID), &u)
		}
		for i := 0; i < 2 && c.works("CreateUserWithAccount"); i++ {
			s := c.newSignUp()
			s.user.Email = ""
			if got, err := s.call().do(c.ctx, c.a); err != nil || isNilRecord(got) {
				c.Errorf("sign-up %d without an address: got %s, error %v", i+1, diff.Show(got), err)
			}
		}
	}},
	{id: "USER-13", words: "one-equality-for-lookup-and-uniqueness", requires: emailMethods, run: func(c *clauseContext) {
		for _, v := range emailVariants(c) {
			u := c.newUser()
			u.Email = v.stored
			a := c.createUser(u)
			found := c.getUserByEmail(v.variant)
			w := c.newUser()
			w.Email = v.variant
			_, err := c.a.CreateUser(c.ctx, w)
			switch {
			case found != nil && found.ID == a.ID && err == nil:
				c.Errorf("%s: lookup of %q finds the user with %q, and yet a second user can take it", v.name, v.variant, v.stored)
			case found == nil && err != nil:
				c.Errorf("%s: lookup of %q does not find the user with %q, and yet creating it fails: %v", v.name, v.variant, v.stored, err)
			}
		}
	}},
	{id: "USER-14", words: "email-equality-folds-ascii-case-at-most", requires: emailMethods, run: func(c *clauseContext) {
		for _, v := range emailVariants(c) {
			if v.asciiCase {
				continue
			}
			u := c.newUser()
			u.Email = v.stored
			a := c.createUser(u)
			c.absent(fmt.Sprintf("%s: GetUserByEmail(%q) with %q stored", v.name, v.variant, v.stored), c.getUserByEmail(v.variant), nil)
			w := c.newUser()
			w.Email = v.variant
			b, err := c.a.CreateUser(c.ctx, w)
			if err != nil || b == nil {
				c.Errorf("%s: CreateUser(%q) with %q stored: %v", v.name, v.variant, v.stored, err)
				continue
			}
			c.same(v.name+": the user with the stored address", c.getUserByEmail(v.stored), a)
			c.same(v.name+": the user with the variant", c.getUserByEmail(v.variant), b)
		}
	}},
	{id: "USER-15", words: "email-equality-is-as-declared", requires: emailMethods, run: func(c *clauseContext) {
		u := c.newUser()
		u.Email = c.unique("Mixed.Case") + "@Example.test"
		c.createUser(u)
		folds := c.getUserByEmail(strings.ToLower(u.Email)) != nil
		if declared := c.harness().Declarations.EmailFoldsCase; folds != declared {
			c.Errorf("GetUserByEmail folds ASCII case: %v; EmailFoldsCase is declared %v", folds, declared)
		}
	}},
	{id: "USER-16", words: "returned-email-is-the-stored-one", requires: emailMethods, run: func(c *clauseContext) {
		u := c.newUser()
		u.Email = c.unique("Mixed.Case") + "@Example.test"
		stored := c.createUser(u).Email
		folded := lowerASCII(u.Email)
		if stored != u.Email && (stored != folded || !c.harness().Declarations.EmailFoldsCase) {
			c.Errorf("CreateUser with %q returned %q", u.Email, stored)
		}
		for _, query := range []string{u.Email, folded, upperASCII(u.Email)} {
			if got := c.getUserByEmail(query); got != nil && got.Email != stored {
				c.Errorf("GetUserByEmail(%q) returned %q, stored is %q", query, got.Email, stored)
			}
		}
	}},
	{id: "USER-17", words: "update-changes-what-is-supplied", requires: userUpdateMethods, run: func(c *clauseContext) {
		for _, set := range userFieldSets() {
			before := c.user()
			update := c.userUpdate(before.ID, set)
			want := *before
			update.Apply(&want)
			c.updateUser(update)
			c.same(fmt.Sprintf("GetUser after an update of %v", set), c.getUser(before.ID), &want)
		}
	}},
	{id: "USER-18", words: "clearing-stores-null", requires: userUpdateMethods, run: func(c *clauseContext) {
		cleared := map[string]adapter.UserUpdate{
			"name":                        {Name: adapter.To[*string](nil)},
			"image":                       {Image: adapter.To[*string](nil)},
			"emailVerified":               {EmailVerified: adapter.To[*time.Time](nil)},
			"emailVerified with an email": {EmailVerified: adapter.To[*time.Time](nil), Email: adapter.To(c.newUser().Email)},
		}
		for _, name := range sortedKeys(cleared) {
			before := c.user()
			update := cleared[name]
			update.ID = before.ID
			want := *before
			update.Apply(&want)
			c.same("UpdateUser clearing "+name, c.updateUser(update), &want)
			c.same("GetUser after clearing "+name, c.getUser(before.ID), &want)
		}
	}},
	{id: "USER-19", words: "update-returns-the-stored-record", requires: userUpdateMethods, run: func(c *clauseContext) {
		for _, set := range userFieldSets() {
			u := c.user()
			update := c.userUpdate(u.ID, set)
			for _, again := range []string{"", ", again,"} { // the second one changes no value
				got := c.updateUser(update)
				c.same(fmt.Sprintf("what UpdateUser of %v%s returned, against GetUser", set, again), got, c.getUser(u.ID))
			}
		}
	}},
	{id: "USER-20", words: "update-of-unknown-fails-and-creates-nothing", requires: []string{"UpdateUser"}, run: func(c *clauseContext) {
		ids := map[string]string{"an unknown id": c.id()}
		if c.works("DeleteUser") {
			u := c.user()
			c.deleteUser(u.ID)
			ids["the id of a deleted user"] = u.ID
		}
		for _, what := range sortedKeys(ids) {
			for _, fields := range append(userFieldSets(), nil) {
				update := c.userUpdate(ids[what], fields)
				got, err := c.a.UpdateUser(c.ctx, update)
				c.fails(fmt.Sprintf("UpdateUser of %v of %s", fields, what), got, err)
				if c.works("GetUser") {
					c.absent("GetUser of "+what+" afterwards", c.getUser(update.ID), nil)
				}
				if email, set := update.Email.Get(); set && c.works("GetUserByEmail") {
					c.absent("GetUserByEmail afterwards", c.getUserByEmail(email), nil)
				}
			}
		}
	}},
	{id: "USER-21", words: "email-change-moves-the-lookup", requires: userUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		old, other := u.Email, c.newUser().Email
		for range 3 {
			want := c.updateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(other)})
			c.absent("GetUserByEmail of the old address", c.getUserByEmail(old), nil)
			c.same("GetUserByEmail of the new address", c.getUserByEmail(other), want)
			old, other = other, old
		}
		for i := range max(10, c.rounds(100)) { // two addresses may share a lock
			if _, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To(c.newUser().Email)}); err != nil {
				c.Fatalf("UpdateUser changes the address, but not for the %d. time: %v", i+4, err)
			}
		}
	}},
	{id: "USER-22", words: "change-to-taken-email-fails-whole", requires: userUpdateMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{
			ID: b.ID, Email: adapter.To(a.Email), Name: adapter.To(new(c.unique("changed"))),
		})
		c.fails("UpdateUser to a taken e-mail", got, err)
		for _, u := range []*adapter.User{a, b} {
			c.same("GetUser", c.getUser(u.ID), u)
			c.same("GetUserByEmail", c.getUserByEmail(u.Email), u)
		}
	}},
	{id: "USER-23", words: "empty-update-changes-nothing", requires: userUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		c.same("UpdateUser with nothing but the id", c.updateUser(adapter.UserUpdate{ID: u.ID}), u)
		c.same("GetUser", c.getUser(u.ID), u)
	}},
	{id: "USER-24", words: "update-leaves-others-alone", requires: userUpdateMethods, run: func(c *clauseContext) {
		var users []*adapter.User
		for range 10 {
			users = append(users, c.user())
		}
		c.updateUser(c.userUpdate(users[4].ID, userFields))
		for i, u := range users {
			if i != 4 {
				c.same("GetUser of another user", c.getUser(u.ID), u)
				c.same("GetUserByEmail of another user", c.getUserByEmail(u.Email), u)
			}
		}
	}},
	{id: "USER-25", words: "null-email-verified-stays-null", requires: userMethods, run: func(c *clauseContext) {
		u := c.newUser()
		u.EmailVerified = nil
		id := c.createUser(u).ID
		reads := map[string]*adapter.User{"GetUser": c.getUser(id), "GetUserByEmail": c.getUserByEmail(u.Email)}
		if c.works("GetUserByAccount") {
			reads["GetUserByAccount"] = c.getUserByAccount(c.account(id).Key())
		}
		if c.stores(SessionRecord) {
			if s := c.getSession(c.session(id).SessionToken); s != nil {
				reads["GetSessionAndUser"] = &s.User
			}
		}
		for _, method := range sortedKeys(reads) {
			if got := reads[method]; got == nil || got.EmailVerified != nil {
				c.Errorf("%s: got %s, want a user whose emailVerified is null", method, diff.Show(got))
			}
		}
	}},
	{id: "USER-26", words: "freed-email-finds-the-new-holder-only", requires: userMethods, run: func(c *clauseContext) {
		free := map[string]func(u *adapter.User){}
		if c.works("UpdateUser") {
			free["by an e-mail change"] = func(u *adapter.User) {
				c.updateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(c.newUser().Email)})
			}
		}
		if c.works("DeleteUser") {
			free["by deletion"] = func(u *adapter.User) { c.deleteUser(u.ID) }
		}
		if len(free) == 0 {
			c.notApplicable("an address that is taken stays so: the adapter has neither UpdateUser nor DeleteUser")
		}
		for _, how := range sortedKeys(free) {
			first := c.newUser()
			first.ID = "" // the adapter may derive the ID from the address
			u := c.createUser(first)
			free[how](u)
			w := c.newUser()
			w.ID, w.Email = "", u.Email
			b := c.createUser(w)
			if b.ID == u.ID {
				c.Errorf("the new holder got the id of the old one, %q", u.ID)
			}
			c.same("GetUserByEmail of the address freed "+how, c.getUserByEmail(u.Email), b)
		}
		if c.works("UpdateUser") {
			c.formerAddresses()
		}
	}},
	{id: "USER-27", words: "case-is-folded-as-a-whole-or-not-at-all", requires: []string{"CreateUser", "GetUserByEmail"}, run: caseIsFoldedAsAWhole},
	{id: "USER-28", words: "own-address-can-be-given-again", requires: []string{"CreateUser", "GetUser", "GetUserByEmail", "UpdateUser"}, run: func(c *clauseContext) {
		for what, fields := range map[string][]string{"the address alone": nil, "a name as well": {"name"}, "every field": {"name", "emailVerified", "image"}} {
			u := c.user()
			update := c.userUpdate(u.ID, fields)
			update.Email = adapter.To(u.Email)
			want := *u
			update.Apply(&want)
			got, err := c.a.UpdateUser(c.ctx, update)
			if err != nil || got == nil {
				c.Errorf("UpdateUser with the address that the user has, and %s: got %s, error %v", what, diff.Show(got), err)
				continue
			}
			c.same("UpdateUser with the address that the user has, and "+what, got, &want)
			c.same("GetUser afterwards", c.getUser(u.ID), &want)
			c.same("GetUserByEmail afterwards", c.getUserByEmail(u.Email), &want)
		}
	}},
	{id: "USER-29", words: "a-cleared-address-is-free", requires: []string{"CreateUser", "GetUser", "GetUserByEmail", "UpdateUser"}, run: func(c *clauseContext) {
		var cleared []*adapter.User
		for range 2 {
			u := c.user()
			got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To("")})
			if err != nil || got == nil {
				c.Fatalf("UpdateUser that clears the address of %d users before: got %s, error %v", len(cleared), diff.Show(got), err)
			}
			want := *u
			want.Email = ""
			c.same("UpdateUser that clears the address", got, &want)
			c.same("GetUser afterwards", c.getUser(u.ID), &want)
			c.absent("GetUserByEmail of the address that was cleared", c.getUserByEmail(u.Email), nil)
			w := c.newUser()
			w.Email = u.Email
			c.same("GetUserByEmail of the address that another user took", c.getUserByEmail(c.createUser(w).Email).Name, w.Name)
			cleared = append(cleared, &want)
		}
		for _, u := range cleared {
			c.same("GetUser of a user without an address", c.getUser(u.ID), u)
		}
		c.absent("GetUserByEmail of no address", c.getUserByEmail(""), nil)
		back := c.newUser().Email
		c.same("GetUserByEmail after an address was given again", c.updateUser(adapter.UserUpdate{ID: cleared[0].ID, Email: adapter.To(back)}), c.getUserByEmail(back))
	}},
}

// formerAddresses changes the address of a user several times. Others take the former
// addresses, and keep them when the first user's address changes again.
func (c *clauseContext) formerAddresses() {
	first := c.user()
	var holders []*adapter.User
	for range 3 {
		former := first.Email
		first = c.updateUser(adapter.UserUpdate{ID: first.ID, Email: adapter.To(c.newUser().Email)})
		w := c.newUser()
		w.Email = former
		holders = append(holders, c.createUser(w))
	}
	first = c.updateUser(adapter.UserUpdate{ID: first.ID, Name: adapter.To(new(c.unique("name")))})
	if c.works("DeleteUser") {
		c.deleteUser(first.ID)
	}
	for i, u := range holders {
		what := fmt.Sprintf("former address %d of a user who changed the address again", i+1)
		c.same("GetUserByEmail of "+what, c.getUserByEmail(u.Email), u)
		w := c.newUser()
		w.Email = u.Email
		got, err := c.a.CreateUser(c.ctx, w)
		c.fails("CreateUser with "+what+", which another has", got, err)
	}
}

type emailVariant struct {
	name, stored, variant string
	asciiCase             bool
}

// emailVariants returns pairs of addresses that a careless comparison treats
// as equal.
func emailVariants(c *clauseContext) []emailVariant {
	pair := func(name, a, b string) emailVariant {
		rest := c.unique("") + "@example.test"
		return emailVariant{name: name, stored: a + rest, variant: b + rest}
	}
	after := func(name, a, b string) emailVariant {
		address := c.unique("tail") + "@example.test"
		return emailVariant{name: name, stored: address + a, variant: address + b}
	}
	within := func(name, a, b string) emailVariant {
		local := c.unique("tag")
		return emailVariant{name: name, stored: local + a + "@example.test", variant: local + b + "@example.test"}
	}
	ascii := pair("ASCII case", "ada", "Ada")
	ascii.asciiCase = true
	return []emailVariant{
		ascii,
		pair("dotless i", "i", "ı"),
		pair("dotted capital I", "i", "İ"),
		pair("Kelvin sign", "k", "\u212a"),
		pair("long s", "s", "ſ"),
		pair("full-width letter", "a", "ａ"),
		pair("acute accent", "rene", "rené"),
		pair("composed and decomposed accent", "ren\u00e9", "rene\u0301"),
		pair("case outside ASCII", "émile", "Émile"),
		pair("sharp s", "strasse", "straße"),
		pair("zero-width space", "ada", "a\u200bda"),
		pair("leading space", "ada", " ada"),
		after("trailing space", "", " "),
		after("trailing no-break space", "", "\u00a0"),
		after("trailing dot", "", "."),
		within("plus tag", "", "+news"),
		within("another plus tag", "+a", "+b"),
		within("trailing dot of the local part", "", "."),
		within("comment", "", "(x)"),
		pair("dot in the local part", "adalove", "ada.love"),
		pair("blank in the local part", "adalove", "ada love"),
		pair("hyphen and underscore", "ada-l", "ada_l"),
		pair("quoted local part", "ada", "\"ada\""),
		pair("Cyrillic letter", "paul", "\u0440aul"),
		pair("Greek letter", "nova", "n\u03bfva"),
		pair("soft hyphen", "ada", "a\u00adda"),
		pair("zero-width joiner", "ada", "a\u200dda"),
		pair("byte order mark", "ada", "\ufeffada"),
		pair("ligature", "offi", "o\ufb03"),
		pair("superscript", "ada2", "ada\u00b2"),
		pair("Turkish case", "ilk", "\u0131lk"),
		pair("sigma", "\u03c3", "\u03c2"),
		pair("digits of another script", "a1", "a\u0661"),
		after("ideographic full stop in the domain", ".com", "\u3002com"),
		after("full-width domain", "x", "\uff58"),
		after("punycode", ".b\u00fccher", ".xn--bcher-kva"),
		after("accent in the domain", "e", "\u00e9"),
		after("subdomain", "", ".com"),
		after("another host of one provider", ".gmail", ".googlemail"),
	}
}

// spellings returns spellings of an address in other ASCII cases.
func spellings(address string) map[string]string {
	local, domain, _ := strings.Cut(address, "@")
	middle := len(local) / 2
	for local[middle] < 'a' || local[middle] > 'z' {
		middle--
	}
	inner := local[:middle] + upperASCII(local[middle:middle+1]) + local[middle+1:]
	return map[string]string{
		"the domain in capitals": local + "@" + upperASCII(domain), "the local part in capitals": upperASCII(local) + "@" + domain,
		"all in capitals": upperASCII(address), "one inner letter": inner + "@" + domain, "the first letter": upperASCII(local[:1]) + local[1:] + "@" + domain,
		"one letter of the domain": local + "@" + domain[:1] + upperASCII(domain[1:2]) + domain[2:],
	}
}

// caseIsFoldedAsAWhole is USER-27.
func caseIsFoldedAsAWhole(c *clauseContext) {
	fresh := func() string { return lowerASCII(c.unique("spelling")) + "@mail.example.test" }
	lower := fresh()
	held := c.newUser()
	held.Email = lower
	c.createUser(held)
	folds := c.getUserByEmail(upperASCII(lower)) != nil
	if c.works("CreateUserWithAccount") {
		c.caseInSignUps(fresh, folds)
	}
	for _, name := range sortedKeys(spellings(lower)) {
		for _, stored := range []string{"lower case", name} {
			address := fresh()
			other := spellings(address)[name]
			if stored == name {
				address, other = other, address
			}
			u := c.newUser()
			u.Email = address
			a := c.createUser(u)
			found := c.getUserByEmail(other)
			if (found != nil) != folds {
				c.Errorf("%s: GetUserByEmail(%q) with %q stored finds %s, and the address in capitals is found: %v", name, other, address, diff.Show(found), folds)
			}
			w := c.newUser()
			w.Email = other
			if b, err := c.a.CreateUser(c.ctx, w); (err != nil) != folds {
				c.Errorf("%s: CreateUser(%q) with %q stored: got %s, error %v, and addresses in another case are the same: %v", name, other, address, diff.Show(b), err, folds)
			}
			if !c.works("UpdateUser") {
				continue
			}
			if !folds {
				continue
			}
			x := c.user()
			if got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: x.ID, Email: adapter.To(other)}); err == nil {
				c.Errorf("%s: UpdateUser to %q with %q stored: succeeded with %s, and addresses in another case are the same", name, other, address, diff.Show(got))
			}
			got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: a.ID, Email: adapter.To(other)})
			if err != nil || got == nil {
				c.Errorf("%s: UpdateUser of %q to %q, the same user: got %s, error %v", name, address, other, diff.Show(got), err)
				continue
			}
			for _, spelling := range []string{address, other, upperASCII(address), lowerASCII(address)} {
				c.same(fmt.Sprintf("%s: GetUserByEmail(%q) after the address changed in case only", name, spelling), c.getUserByEmail(spelling), got)
				again := c.newUser()
				again.Email = spelling
				if b, err := c.a.CreateUser(c.ctx, again); err == nil {
					c.Errorf("%s: CreateUser(%q) after a change of case only: succeeded with %s, and the address is taken", name, spelling, diff.Show(b))
				}
			}
		}
	}
	if folds || !c.works("UpdateUser") {
		return
	}
	address := fresh()
	for _, name := range sortedKeys(spellings(address)) {
		address := fresh()
		other := spellings(address)[name]
		u := c.newUser()
		u.Email = address
		a := c.createUser(u)
		got := c.updateUser(adapter.UserUpdate{ID: a.ID, Email: adapter.To(other)})
		if got.Email != other {
			c.Errorf("%s: UpdateUser of %q to %q: the address is %q", name, address, other, got.Email)
		}
		c.same("GetUserByEmail after a change of case only", c.getUserByEmail(other), got)
		c.absent(fmt.Sprintf("%s: GetUserByEmail(%q) after the address changed to %q", name, address, other), c.getUserByEmail(address), nil)
		w := c.newUser()
		w.Email = address
		c.same("the user who takes the old spelling", c.getUserByEmail(c.createUser(w).Email).Name, w.Name)
	}
}

// caseInSignUps is the part of USER-27 with sign-ups, which compare addresses as
// CreateUser does.
func (c *clauseContext) caseInSignUps(fresh func() string, folds bool) {
	for _, name := range sortedKeys(spellings(fresh())) {
		address := fresh()
		s := c.newSignUp()
		s.user.Email = spellings(address)[name]
		signedUp := of[*adapter.User](c, s.withoutPasskey())
		c.same(fmt.Sprintf("%s: GetUserByEmail(%q) after a sign-up with it", name, s.user.Email), c.getUserByEmail(s.user.Email), signedUp)
		if found := c.getUserByEmail(address); (found != nil) != folds {
			c.Errorf("%s: GetUserByEmail(%q) after a sign-up with %q finds %s, and addresses in another case are the same: %v", name, address, s.user.Email, diff.Show(found), folds)
		}
		u := c.newUser()
		u.Email = address
		if got, err := c.a.CreateUser(c.ctx, u); (err != nil) != folds {
			c.Errorf("%s: CreateUser(%q) after a sign-up with %q: got %s, error %v, and addresses in another case are the same: %v", name, address, s.user.Email, diff.Show(got), err, folds)
		}
		held, again := c.newUser(), c.newSignUp()
		held.Email = fresh()
		again.user.Email = spellings(held.Email)[name]
		c.createUser(held)
		if got, err := again.withoutPasskey().do(c.ctx, c.a); (err != nil) != folds {
			c.Errorf("%s: a sign-up with %q, with %q stored: got %s, error %v, and addresses in another case are the same: %v", name, again.user.Email, held.Email, diff.Show(got), err, folds)
		}
	}
}

// assignsAroundGiven creates users with the IDs that a counter would assign next, and then
// some without an ID.
func (c *clauseContext) assignsAroundGiven() {
	n, err := strconv.ParseUint(c.user().ID, 10, 63)
	if err != nil {
		return // the adapter does not count
	}
	var given []string
	for step := range uint64(3) {
		if u := c.userNamed(strconv.FormatUint(n+2+step, 10)); u != nil {
			given = append(given, u.ID)
		}
	}
	for range 4 {
		u := c.newUser()
		u.ID = ""
		got, err := c.a.CreateUser(c.ctx, u)
		if err != nil {
			c.Errorf("CreateUser without an ID, after users with the IDs %q were created: %v", given, err)
		} else if got != nil && slices.Contains(given, got.ID) {
			c.Errorf("CreateUser without an ID assigns %q, which another user has", got.ID)
		}
	}
}

// idsOfTwoHandles creates users without IDs through two handles at one moment. An
// ID that is made of the time must not be the same in both.
func (c *clauseContext) idsOfTwoHandles() {
	p, stop := pair.New()
	defer stop()
	handles := c.handles()
	for range c.rounds(40) {
		var calls []call
		for range handles {
			u := c.newUser()
			u.ID = ""
			calls = append(calls, createUser(u))
		}
		h := c.twoTogether(p, handles, calls)
		if errors.Is(h[0].err, adapter.ErrConflict) || errors.Is(h[1].err, adapter.ErrConflict) {
			c.Fatalf("two handles made the same id at one moment: CreateUser without an id says that the id, or a new address, is taken\n%s", historyText(h))
		}
		if h[0].won() && h[1].won() && h[0].result.(*adapter.User).ID == h[1].result.(*adapter.User).ID {
			c.Fatalf("two handles gave the same id at one moment\n%s", historyText(h))
		}
	}
}
