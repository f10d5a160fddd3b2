package records

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	userMethods       = []string{"CreateUser"}
	userUpdateMethods = []string{"CreateUser", "UpdateUser"}
	emailMethods      = []string{"CreateUser", "GetUserByEmail"}
)

var userClauses = []kit.Check{
	{ID: "USER-01", Words: "create-returns-an-id", Requires: userMethods, Test: func(c *kit.Context) {
		if u := c.User(); u.ID == "" {
			c.Errorf("CreateUser without an id: the returned id is empty")
		}
		u := kit.UserWithID(c)
		if got := c.CreateUser(u); got.ID == "" {
			c.Errorf("CreateUser with id %q: the returned id is empty", u.ID)
		}
	}},
	{ID: "USER-02", Words: "get-yields-the-created-user", Requires: userMethods, Test: func(c *kit.Context) {
		for _, u := range []adapter.User{c.NewUser(), {Email: c.NewUser().Email}} {
			u.ID = c.CreateUser(u).ID
			c.Same("GetUser", c.GetUser(u.ID), &u)
		}
	}},
	{ID: "USER-03", Words: "create-returns-what-is-stored", Requires: userMethods, Test: func(c *kit.Context) {
		for _, u := range []adapter.User{c.NewUser(), {Email: c.NewUser().Email}} {
			created := c.CreateUser(u)
			c.Same("what CreateUser returned, against GetUser", created, c.GetUser(created.ID))
		}
	}},
	{ID: "USER-04", Words: "taken-id-replaces-nobody", Requires: emailMethods, Test: func(c *kit.Context) {
		stored := c.CreateUser(kit.UserWithID(c))
		second := kit.UserNamed(c, stored.ID)
		got, err := c.Adapter.CreateUser(c.Ctx, second)
		if err == nil && got != nil && got.ID == stored.ID {
			c.Errorf("CreateUser with the taken id %q succeeded and returned that id", stored.ID)
		}
		c.Same("the first user, by id", c.GetUser(stored.ID), stored)
		c.Same("the first user, by e-mail", c.GetUserByEmail(stored.Email), stored)
		if err != nil {
			c.Absent("the refused user, by e-mail", c.GetUserByEmail(second.Email), nil)
		}
	}},
	{ID: "USER-05", Words: "supplied-id-is-kept", Requires: userMethods, Test: func(c *kit.Context) {
		u := kit.UserWithID(c)
		got := c.CreateUser(u)
		switch assigns := c.Harness().Declarations.AssignsIDs; {
		case got.ID == u.ID && assigns:
			c.Errorf("the supplied id was kept, and the harness declares AssignsIDs")
		case got.ID != u.ID && !assigns:
			c.Errorf("CreateUser with id %q returned id %q, and AssignsIDs is not declared", u.ID, got.ID)
		case got.ID != u.ID:
			c.Absent("GetUser of the replaced id", c.GetUser(u.ID), nil)
		}
		c.Same("GetUser of the returned id", c.GetUser(got.ID), got)
	}},
	{ID: "USER-06", Words: "ids-are-unique", Requires: userMethods, Test: func(c *kit.Context) {
		const goroutines, each = 8, 25
		var mu sync.Mutex
		seen := map[string]string{}
		c.Parallel(goroutines, func(int) {
			for range each {
				u := c.User()
				mu.Lock()
				if other, ok := seen[u.ID]; ok {
					c.Errorf("%q and %q both got id %q", other, u.Email, u.ID)
				}
				seen[u.ID] = u.Email
				mu.Unlock()
			}
		})
		if c.Has(kit.AbilitySecond) {
			for _, a := range []adapter.Adapter{c.Adapter, kit.Second(c), kit.Second(c)} {
				u := c.NewUser()
				got, err := a.CreateUser(c.Ctx, u)
				id := kit.MustRecord(c, "CreateUser through another handle", got, err).ID
				if other, ok := seen[id]; ok {
					c.Errorf("%q and, through another handle, %q both got id %q", other, u.Email, id)
				}
				seen[id] = u.Email
			}
			idsOfTwoHandles(c)
		}
		assignsAroundGiven(c)
	}},
	{ID: "USER-07", Words: "unknown-id-is-absent", Requires: []string{"CreateUser", "GetUser"}, Test: func(c *kit.Context) {
		c.User()
		kit.FindsNothing(c, "GetUser of an unknown id", kit.GetUser(c.ID()))
	}},
	{ID: "USER-08", Words: "malformed-id-is-absent", Requires: []string{"CreateUser", "GetUser"}, Test: func(c *kit.Context) {
		for _, known := range []*adapter.User{c.User(), c.CreateUser(kit.UserWithID(c))} {
			for _, id := range kit.MalformedIDs(known.ID) {
				kit.FindsNothing(c, fmt.Sprintf("GetUser(%q)", id), kit.GetUser(id))
			}
		}
	}},
	{ID: "USER-09", Words: "email-finds-its-user", Requires: userMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		c.Same("GetUserByEmail of A", c.GetUserByEmail(a.Email), a)
		c.Same("GetUserByEmail of B", c.GetUserByEmail(b.Email), b)
	}},
	{ID: "USER-10", Words: "unknown-email-is-absent", Requires: emailMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, email := range []string{
			c.NewUser().Email, u.Email[:len(u.Email)-1], u.Email + "x", u.Email[1:], "x" + u.Email,
			strings.TrimSuffix(u.Email, "example"), "@bücher.example",
		} {
			kit.FindsNothing(c, fmt.Sprintf("GetUserByEmail(%q)", email), kit.GetUserByEmail(email))
		}
	}},
	{ID: "USER-11", Words: "taken-email-fails-and-leaves-nothing", Requires: []string{"CreateUser", "GetUser"}, Test: func(c *kit.Context) {
		a := c.User()
		b := kit.UserWithID(c)
		email := b.Email
		b.Email = a.Email
		kit.IsRefused(c, "CreateUser with a taken e-mail", kit.CreateUser(b))
		c.Same("GetUserByEmail of the taken address", c.GetUserByEmail(a.Email), a)
		c.Same("GetUser of its holder", c.GetUser(a.ID), a)
		c.Absent("GetUser of the refused id", c.GetUser(b.ID), nil)
		b.Email = email
		again := c.CreateUser(b)
		c.Same("GetUserByEmail after the second try", c.GetUserByEmail(email), again)
	}},
	{ID: "USER-12", Words: "empty-emails-do-not-conflict", Requires: []string{"CreateUser", "GetUser"}, Test: func(c *kit.Context) {
		for range 2 {
			u := kit.UserAt(c, "")
			u.ID = c.CreateUser(u).ID
			c.Same("GetUser", c.GetUser(u.ID), &u)
		}
		for i := 0; i < 2 && c.Works("CreateUserWithAccount"); i++ {
			s := kit.NewSignUp(c)
			s.User.Email = ""
			if got, err := s.Call().Do(c.Ctx, c.Adapter); err != nil || kit.IsNilRecord(got) {
				c.Errorf("sign-up %d without an address: got %s, error %v", i+1, diff.Show(got), err)
			}
		}
	}},
	{ID: "USER-13", Words: "one-equality-for-lookup-and-uniqueness", Requires: emailMethods, Test: func(c *kit.Context) {
		for _, v := range emailVariants(c) {
			a := c.CreateUser(kit.UserAt(c, v.stored))
			found := c.GetUserByEmail(v.variant)
			_, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, v.variant))
			switch {
			case found != nil && found.ID == a.ID && err == nil:
				c.Errorf("%s: lookup of %q finds the user with %q, and yet a second user can take it", v.name, v.variant, v.stored)
			case found == nil && err != nil:
				c.Errorf("%s: lookup of %q does not find the user with %q, and yet creating it fails: %v", v.name, v.variant, v.stored, err)
			}
		}
	}},
	{ID: "USER-14", Words: "email-equality-folds-ascii-case-at-most", Requires: emailMethods, Test: func(c *kit.Context) {
		for _, v := range emailVariants(c) {
			if v.asciiCase {
				continue
			}
			a := c.CreateUser(kit.UserAt(c, v.stored))
			c.Absent(fmt.Sprintf("%s: GetUserByEmail(%q) with %q stored", v.name, v.variant, v.stored), c.GetUserByEmail(v.variant), nil)
			b, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, v.variant))
			if err != nil || b == nil {
				c.Errorf("%s: CreateUser(%q) with %q stored: %v", v.name, v.variant, v.stored, err)
				continue
			}
			c.Same(v.name+": the user with the stored address", c.GetUserByEmail(v.stored), a)
			c.Same(v.name+": the user with the variant", c.GetUserByEmail(v.variant), b)
		}
	}},
	{ID: "USER-15", Words: "email-equality-is-as-declared", Requires: emailMethods, Test: func(c *kit.Context) {
		u := kit.UserAt(c, c.Unique("Mixed.Case")+"@Example.test")
		c.CreateUser(u)
		folds := c.GetUserByEmail(strings.ToLower(u.Email)) != nil
		if declared := c.Harness().Declarations.EmailFoldsCase; folds != declared {
			c.Errorf("GetUserByEmail folds ASCII case: %v; EmailFoldsCase is declared %v", folds, declared)
		}
	}},
	{ID: "USER-16", Words: "returned-email-is-the-stored-one", Requires: emailMethods, Test: func(c *kit.Context) {
		u := kit.UserAt(c, c.Unique("Mixed.Case")+"@Example.test")
		stored := c.CreateUser(u).Email
		folded := kit.LowerASCII(u.Email)
		if stored != u.Email && (stored != folded || !c.Harness().Declarations.EmailFoldsCase) {
			c.Errorf("CreateUser with %q returned %q", u.Email, stored)
		}
		for _, query := range []string{u.Email, folded, kit.UpperASCII(u.Email)} {
			if got := c.GetUserByEmail(query); got != nil && got.Email != stored {
				c.Errorf("GetUserByEmail(%q) returned %q, stored is %q", query, got.Email, stored)
			}
		}
	}},
	{ID: "USER-17", Words: "update-changes-what-is-supplied", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		for _, set := range userFieldSets() {
			before := c.User()
			update := kit.UserUpdate(c, before.ID, set)
			want := *before
			update.Apply(&want)
			c.UpdateUser(update)
			c.Same(fmt.Sprintf("GetUser after an update of %v", set), c.GetUser(before.ID), &want)
		}
		proofBelongsToAddress(c)
	}},
	{ID: "USER-18", Words: "clearing-stores-null", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		cleared := map[string]adapter.UserUpdate{
			"name":                        {Name: adapter.To[*string](nil)},
			"image":                       {Image: adapter.To[*string](nil)},
			"emailVerified":               {EmailVerified: adapter.To[*time.Time](nil)},
			"emailVerified with an email": {EmailVerified: adapter.To[*time.Time](nil), Email: adapter.To(c.NewUser().Email)},
		}
		for _, name := range kit.SortedKeys(cleared) {
			before := c.User()
			update := cleared[name]
			update.ID = before.ID
			want := *before
			update.Apply(&want)
			c.Same("UpdateUser clearing "+name, c.UpdateUser(update), &want)
			c.Same("GetUser after clearing "+name, c.GetUser(before.ID), &want)
		}
	}},
	{ID: "USER-19", Words: "update-returns-the-stored-record", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		for _, set := range userFieldSets() {
			u := c.User()
			update := kit.UserUpdate(c, u.ID, set)
			for _, again := range []string{"", ", again,"} { // the second one changes no value
				got := c.UpdateUser(update)
				c.Same(fmt.Sprintf("what UpdateUser of %v%s returned, against GetUser", set, again), got, c.GetUser(u.ID))
			}
		}
	}},
	{ID: "USER-20", Words: "update-of-unknown-fails-and-creates-nothing", Requires: []string{"UpdateUser"}, Test: func(c *kit.Context) {
		ids := map[string]string{"an unknown id": c.ID()}
		if id, ok := deletedUser(c); ok {
			ids["the id of a deleted user"] = id
		}
		for _, what := range kit.SortedKeys(ids) {
			for _, fields := range append(userFieldSets(), nil) {
				update := kit.UserUpdate(c, ids[what], fields)
				kit.IsRefused(c, fmt.Sprintf("UpdateUser of %v of %s", fields, what), kit.UpdateUser(update))
				kit.Sees(c, "GetUser of "+what+" afterwards", kit.GetUser(update.ID), nil)
				if email, set := update.Email.Get(); set && c.Works("GetUserByEmail") {
					c.Absent("GetUserByEmail afterwards", c.GetUserByEmail(email), nil)
				}
			}
		}
	}},
	{ID: "USER-21", Words: "email-change-moves-the-lookup", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		old, other := u.Email, c.NewUser().Email
		for range 3 {
			want := c.UpdateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(other)})
			c.Absent("GetUserByEmail of the old address", c.GetUserByEmail(old), nil)
			c.Same("GetUserByEmail of the new address", c.GetUserByEmail(other), want)
			old, other = other, old
		}
		for i := range max(10, c.Rounds(100)) { // two addresses may share a lock
			if _, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To(c.NewUser().Email)}); err != nil {
				c.Fatalf("UpdateUser changes the address, but not %d times: %v", i+4, err)
			}
		}
	}},
	{ID: "USER-22", Words: "change-to-taken-email-fails-whole", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		taken := adapter.UserUpdate{ID: b.ID, Email: adapter.To(a.Email), Name: adapter.To(new(c.Unique("changed")))}
		kit.IsRefused(c, "UpdateUser to a taken e-mail", kit.UpdateUser(taken))
		for _, u := range []*adapter.User{a, b} {
			c.Same("GetUser", c.GetUser(u.ID), u)
			c.Same("GetUserByEmail", c.GetUserByEmail(u.Email), u)
		}
	}},
	{ID: "USER-23", Words: "empty-update-changes-nothing", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		c.Same("UpdateUser with nothing but the id", c.UpdateUser(adapter.UserUpdate{ID: u.ID}), u)
		c.Same("GetUser", c.GetUser(u.ID), u)
	}},
	{ID: "USER-24", Words: "update-leaves-others-alone", Requires: userUpdateMethods, Test: func(c *kit.Context) {
		users := kit.SomeUsers(c, 10)
		c.UpdateUser(kit.UserUpdate(c, users[4].ID, kit.UserFields))
		for i, u := range users {
			if i != 4 {
				c.Same("GetUser of another user", c.GetUser(u.ID), u)
				c.Same("GetUserByEmail of another user", c.GetUserByEmail(u.Email), u)
			}
		}
	}},
	{ID: "USER-25", Words: "null-email-verified-stays-null", Requires: userMethods, Test: func(c *kit.Context) {
		u := c.NewUser()
		u.EmailVerified = nil
		id := c.CreateUser(u).ID
		reads := map[string]*adapter.User{"GetUser": c.GetUser(id), "GetUserByEmail": c.GetUserByEmail(u.Email)}
		if c.Works("GetUserByAccount") {
			reads["GetUserByAccount"] = c.GetUserByAccount(c.Account(id).Key())
		}
		if c.Stores(kit.SessionRecord) {
			if s := c.GetSession(c.Session(id).SessionToken); s != nil {
				reads["GetSessionAndUser"] = &s.User
			}
		}
		for _, method := range kit.SortedKeys(reads) {
			if got := reads[method]; got == nil || got.EmailVerified != nil {
				c.Errorf("%s: got %s, want a user whose emailVerified is null", method, diff.Show(got))
			}
		}
	}},
	{ID: "USER-26", Words: "freed-email-finds-the-new-holder-only", Requires: userMethods, Test: func(c *kit.Context) {
		free := map[string]func(u *adapter.User){}
		if c.Works("UpdateUser") {
			free["by an e-mail change"] = func(u *adapter.User) {
				c.UpdateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(c.NewUser().Email)})
			}
		}
		if c.Works("DeleteUser") {
			free["by deletion"] = func(u *adapter.User) { c.DeleteUser(u.ID) }
		}
		if len(free) == 0 {
			c.NotApplicable("an address that is taken stays so: the adapter has neither UpdateUser nor DeleteUser")
		}
		for _, how := range kit.SortedKeys(free) {
			u := c.User() // without an ID: the adapter may derive it from the address
			free[how](u)
			b := c.CreateUser(kit.UserAt(c, u.Email))
			if b.ID == u.ID {
				c.Errorf("the new holder got the id of the old one, %q", u.ID)
			}
			c.Same("GetUserByEmail of the address freed "+how, c.GetUserByEmail(u.Email), b)
		}
		if c.Works("UpdateUser") {
			formerAddresses(c)
		}
	}},
	{ID: "USER-27", Words: "case-is-folded-as-a-whole-or-not-at-all", Requires: []string{"CreateUser", "GetUserByEmail"}, Test: caseIsFoldedAsAWhole},
	{ID: "USER-28", Words: "own-address-can-be-given-again", Requires: []string{"CreateUser", "GetUser", "GetUserByEmail", "UpdateUser"}, Test: func(c *kit.Context) {
		for what, fields := range map[string][]string{"the address alone": nil, "a name as well": {"name"}, "every field": {"name", "emailVerified", "image"}} {
			u := c.User()
			update := kit.UserUpdate(c, u.ID, fields)
			update.Email = adapter.To(u.Email)
			want := *u
			update.Apply(&want)
			got, err := c.Adapter.UpdateUser(c.Ctx, update)
			if err != nil || got == nil {
				c.Errorf("UpdateUser with the address that the user has, and %s: got %s, error %v", what, diff.Show(got), err)
				continue
			}
			c.Same("UpdateUser with the address that the user has, and "+what, got, &want)
			c.Same("GetUser afterwards", c.GetUser(u.ID), &want)
			c.Same("GetUserByEmail afterwards", c.GetUserByEmail(u.Email), &want)
		}
	}},
	{ID: "USER-29", Words: "a-cleared-address-is-free", Requires: []string{"CreateUser", "GetUser", "GetUserByEmail", "UpdateUser"}, Test: func(c *kit.Context) {
		var cleared []*adapter.User
		for range 2 {
			u := c.User()
			got, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To("")})
			if err != nil || got == nil {
				c.Fatalf("UpdateUser that clears the address of %d users before: got %s, error %v", len(cleared), diff.Show(got), err)
			}
			want := *u
			want.Email, want.EmailVerified = "", nil
			c.Same("UpdateUser that clears the address", got, &want)
			c.Same("GetUser afterwards", c.GetUser(u.ID), &want)
			c.Absent("GetUserByEmail of the address that was cleared", c.GetUserByEmail(u.Email), nil)
			w := kit.UserAt(c, u.Email)
			c.Same("GetUserByEmail of the address that another user took", c.GetUserByEmail(c.CreateUser(w).Email).Name, w.Name)
			cleared = append(cleared, &want)
		}
		for _, u := range cleared {
			c.Same("GetUser of a user without an address", c.GetUser(u.ID), u)
		}
		c.Absent("GetUserByEmail of no address", c.GetUserByEmail(""), nil)
		back := c.NewUser().Email
		c.Same("GetUserByEmail after an address was given again", c.UpdateUser(adapter.UserUpdate{ID: cleared[0].ID, Email: adapter.To(back)}), c.GetUserByEmail(back))
	}},
	{ID: "USER-30", Words: "update-for-another-address-changes-nothing", Requires: userUpdateMethods, Test: updatesIfEmail},
}

// proofBelongsToAddress updates the address alone, to the same one and to others.
func proofBelongsToAddress(c *kit.Context) {
	u := kit.UserAt(c, c.Unique("Mixed.Case")+"@Example.test")
	stored := c.CreateUser(u)
	folded := kit.LowerASCII(u.Email)
	for _, to := range []string{stored.Email, folded, u.Email, c.NewUser().Email} {
		before := c.UpdateUser(adapter.UserUpdate{ID: stored.ID, Email: adapter.To(u.Email), EmailVerified: adapter.To(u.EmailVerified)})
		same := before.Email == to || c.Harness().Declarations.EmailFoldsCase && kit.LowerASCII(before.Email) == kit.LowerASCII(to)
		after := c.UpdateUser(adapter.UserUpdate{ID: stored.ID, Email: adapter.To(to)})
		what := fmt.Sprintf("the proof after an update of %q to %q", before.Email, to)
		var want *time.Time
		if same {
			want = before.EmailVerified
		}
		c.Same(what, after.EmailVerified, want)
		c.Same("GetUser, for "+what, c.GetUser(stored.ID), after)
	}
}

// updatesIfEmail updates users who have the address that the update asks for, and users who don't.
func updatesIfEmail(c *kit.Context) {
	another := c.User()
	for _, set := range append(userFieldSets(), nil) {
		u := c.User()
		update := kit.UserUpdate(c, u.ID, set)
		others := []string{another.Email, c.NewUser().Email, "x" + u.Email, u.Email + "x", u.Email[1:], "%", "*"}
		if !c.Harness().Declarations.EmailFoldsCase {
			others = append(others, swapCase(u.Email))
		}
		for _, other := range others {
			update.IfEmail = other
			what := fmt.Sprintf("UpdateUser of %v of the user with %q, if the address is %q", set, u.Email, other)
			failsAs(c, what, kit.UpdateUser(update), adapter.ErrNotFound)
			c.Same("GetUser after "+what, c.GetUser(u.ID), u)
		}
		update.IfEmail = u.Email
		want := *u
		update.Apply(&want)
		c.Same(fmt.Sprintf("UpdateUser of %v, if the address is the stored one", set), c.UpdateUser(update), &want)
		c.Same("GetUser afterwards", c.GetUser(u.ID), &want)
	}
	update := kit.UserUpdate(c, c.ID(), []string{"emailVerified"})
	update.IfEmail = another.Email
	kit.IsRefused(c, "UpdateUser of an unknown user, if the address is one that another user has", kit.UpdateUser(update))
}

// formerAddresses changes the address of a user several times. Others take the former
// addresses, and keep them when the first user's address changes again.
func formerAddresses(c *kit.Context) {
	first := c.User()
	var holders []*adapter.User
	for range 3 {
		former := first.Email
		first = c.UpdateUser(adapter.UserUpdate{ID: first.ID, Email: adapter.To(c.NewUser().Email)})
		holders = append(holders, c.CreateUser(kit.UserAt(c, former)))
	}
	first = c.UpdateUser(adapter.UserUpdate{ID: first.ID, Name: adapter.To(new(c.Unique("name")))})
	if c.Works("DeleteUser") {
		c.DeleteUser(first.ID)
	}
	for i, u := range holders {
		what := fmt.Sprintf("former address %d of a user who changed the address again", i+1)
		c.Same("GetUserByEmail of "+what, c.GetUserByEmail(u.Email), u)
		kit.IsRefused(c, "CreateUser with "+what+", which another has", kit.CreateUser(kit.UserAt(c, u.Email)))
	}
}

type emailVariant struct {
	name, stored, variant string
	asciiCase             bool
}

// emailVariants returns pairs of addresses that a careless comparison treats as equal.
func emailVariants(c *kit.Context) []emailVariant {
	pair := func(name, a, b string) emailVariant {
		rest := c.Unique("") + "@example.test"
		return emailVariant{name: name, stored: a + rest, variant: b + rest}
	}
	after := func(name, a, b string) emailVariant {
		address := c.Unique("tail") + "@example.test"
		return emailVariant{name: name, stored: address + a, variant: address + b}
	}
	within := func(name, a, b string) emailVariant {
		local := c.Unique("tag")
		return emailVariant{name: name, stored: local + a + "@example.test", variant: local + b + "@example.test"}
	}
	ascii := pair("ASCII case", "ada", "Ada")
	ascii.asciiCase = true
	return []emailVariant{
		ascii, pair("dotless i", "i", "ı"), pair("dotted capital I", "i", "İ"),
		pair("Kelvin sign", "k", "\u212a"), pair("long s", "s", "ſ"), pair("full-width letter", "a", "ａ"),
		pair("acute accent", "rene", "rené"), pair("composed and decomposed accent", "ren\u00e9", "rene\u0301"),
		pair("case outside ASCII", "émile", "Émile"), pair("sharp s", "strasse", "straße"),
		pair("zero-width space", "ada", "a\u200bda"), pair("leading space", "ada", " ada"),
		after("trailing space", "", " "), after("trailing no-break space", "", "\u00a0"),
		after("trailing dot", "", "."), within("plus tag", "", "+news"), within("another plus tag", "+a", "+b"),
		within("trailing dot of the local part", "", "."), within("comment", "", "(x)"),
		pair("dot in the local part", "adalove", "ada.love"),
		pair("blank in the local part", "adalove", "ada love"), pair("hyphen and underscore", "ada-l", "ada_l"),
		pair("quoted local part", "ada", "\"ada\""), pair("Cyrillic letter", "paul", "\u0440aul"),
		pair("Greek letter", "nova", "n\u03bfva"), pair("soft hyphen", "ada", "a\u00adda"),
		pair("zero-width joiner", "ada", "a\u200dda"), pair("byte order mark", "ada", "\ufeffada"),
		pair("ligature", "offi", "o\ufb03"), pair("superscript", "ada2", "ada\u00b2"),
		pair("Turkish case", "ilk", "\u0131lk"), pair("sigma", "\u03c3", "\u03c2"),
		pair("digits of another script", "a1", "a\u0661"),
		after("ideographic full stop in the domain", ".com", "\u3002com"),
		after("full-width domain", "x", "\uff58"), after("punycode", ".b\u00fccher", ".xn--bcher-kva"),
		after("accent in the domain", "e", "\u00e9"), after("subdomain", "", ".com"),
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
	inner := local[:middle] + kit.UpperASCII(local[middle:middle+1]) + local[middle+1:]
	return map[string]string{
		"the domain in capitals": local + "@" + kit.UpperASCII(domain), "the local part in capitals": kit.UpperASCII(local) + "@" + domain,
		"all in capitals": kit.UpperASCII(address), "one inner letter": inner + "@" + domain, "the first letter": kit.UpperASCII(local[:1]) + local[1:] + "@" + domain,
		"one letter of the domain": local + "@" + domain[:1] + kit.UpperASCII(domain[1:2]) + domain[2:],
	}
}

func caseIsFoldedAsAWhole(c *kit.Context) {
	fresh := func() string { return kit.LowerASCII(c.Unique("spelling")) + "@mail.example.test" }
	lower := fresh()
	c.CreateUser(kit.UserAt(c, lower))
	folds := c.GetUserByEmail(kit.UpperASCII(lower)) != nil
	if c.Works("CreateUserWithAccount") {
		caseInSignUps(c, fresh, folds)
	}
	for _, name := range kit.SortedKeys(spellings(lower)) {
		for _, stored := range []string{"lower case", name} {
			address := fresh()
			other := spellings(address)[name]
			if stored == name {
				address, other = other, address
			}
			a := c.CreateUser(kit.UserAt(c, address))
			found := c.GetUserByEmail(other)
			if (found != nil) != folds {
				c.Errorf("%s: GetUserByEmail(%q) with %q stored finds %s, and the address in capitals is found: %v", name, other, address, diff.Show(found), folds)
			}
			if b, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, other)); (err != nil) != folds {
				c.Errorf("%s: CreateUser(%q) with %q stored: got %s, error %v, and addresses in another case are the same: %v", name, other, address, diff.Show(b), err, folds)
			}
			if !folds || !c.Works("UpdateUser") {
				continue
			}
			x := c.User()
			if got, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: x.ID, Email: adapter.To(other)}); err == nil {
				c.Errorf("%s: UpdateUser to %q with %q stored: succeeded with %s, and addresses in another case are the same", name, other, address, diff.Show(got))
			}
			got, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: a.ID, Email: adapter.To(other)})
			if err != nil || got == nil {
				c.Errorf("%s: UpdateUser of %q to %q, the same user: got %s, error %v", name, address, other, diff.Show(got), err)
				continue
			}
			for _, spelling := range []string{address, other, kit.UpperASCII(address), kit.LowerASCII(address)} {
				c.Same(fmt.Sprintf("%s: GetUserByEmail(%q) after the address changed in case only", name, spelling), c.GetUserByEmail(spelling), got)
				if b, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, spelling)); err == nil {
					c.Errorf("%s: CreateUser(%q) after a change of case only: succeeded with %s, and the address is taken", name, spelling, diff.Show(b))
				}
			}
		}
	}
	if folds || !c.Works("UpdateUser") {
		return
	}
	address := fresh()
	for _, name := range kit.SortedKeys(spellings(address)) {
		address := fresh()
		other := spellings(address)[name]
		a := c.CreateUser(kit.UserAt(c, address))
		got := c.UpdateUser(adapter.UserUpdate{ID: a.ID, Email: adapter.To(other)})
		if got.Email != other {
			c.Errorf("%s: UpdateUser of %q to %q: the address is %q", name, address, other, got.Email)
		}
		c.Same("GetUserByEmail after a change of case only", c.GetUserByEmail(other), got)
		c.Absent(fmt.Sprintf("%s: GetUserByEmail(%q) after the address changed to %q", name, address, other), c.GetUserByEmail(address), nil)
		w := kit.UserAt(c, address)
		c.Same("the user who takes the old spelling", c.GetUserByEmail(c.CreateUser(w).Email).Name, w.Name)
	}
}

// caseInSignUps is the part of USER-27 with sign-ups, which compare addresses as CreateUser does.
func caseInSignUps(c *kit.Context, fresh func() string, folds bool) {
	for _, name := range kit.SortedKeys(spellings(fresh())) {
		address := fresh()
		s := kit.NewSignUp(c)
		s.User.Email = spellings(address)[name]
		signedUp := kit.Of[*adapter.User](c, s.WithoutPasskey())
		c.Same(fmt.Sprintf("%s: GetUserByEmail(%q) after a sign-up with it", name, s.User.Email), c.GetUserByEmail(s.User.Email), signedUp)
		if found := c.GetUserByEmail(address); (found != nil) != folds {
			c.Errorf("%s: GetUserByEmail(%q) after a sign-up with %q finds %s, and addresses in another case are the same: %v", name, address, s.User.Email, diff.Show(found), folds)
		}
		if got, err := c.Adapter.CreateUser(c.Ctx, kit.UserAt(c, address)); (err != nil) != folds {
			c.Errorf("%s: CreateUser(%q) after a sign-up with %q: got %s, error %v, and addresses in another case are the same: %v", name, address, s.User.Email, diff.Show(got), err, folds)
		}
		held, again := c.NewUser(), kit.NewSignUp(c)
		held.Email = fresh()
		again.User.Email = spellings(held.Email)[name]
		c.CreateUser(held)
		if got, err := again.WithoutPasskey().Do(c.Ctx, c.Adapter); (err != nil) != folds {
			c.Errorf("%s: a sign-up with %q, with %q stored: got %s, error %v, and addresses in another case are the same: %v", name, again.User.Email, held.Email, diff.Show(got), err, folds)
		}
	}
}

// assignsAroundGiven creates users with the IDs that a counter would assign next, and then some without an ID.
func assignsAroundGiven(c *kit.Context) {
	n, err := strconv.ParseUint(c.User().ID, 10, 63)
	if err != nil {
		return // the adapter does not count
	}
	var given []string
	for step := range uint64(3) {
		if u := userNamed(c, strconv.FormatUint(n+2+step, 10)); u != nil {
			given = append(given, u.ID)
		}
	}
	for range 4 {
		got, err := c.Adapter.CreateUser(c.Ctx, c.NewUser())
		if err != nil {
			c.Errorf("CreateUser without an ID, after users with the IDs %q were created: %v", given, err)
		} else if got != nil && slices.Contains(given, got.ID) {
			c.Errorf("CreateUser without an ID assigns %q, which another user has", got.ID)
		}
	}
}

// idsOfTwoHandles creates users without IDs through two handles at one moment. An
// ID that is made of the time must not be the same in both.
func idsOfTwoHandles(c *kit.Context) {
	p, stop := pair.New()
	defer stop()
	handles := kit.Handles(c)
	for range c.Rounds(40) {
		calls := kit.Numbered(len(handles), func(int) kit.Call { return kit.CreateUser(c.NewUser()) })
		h := race.TwoTogether(c, p, handles, calls)
		if errors.Is(h[0].Err, adapter.ErrConflict) || errors.Is(h[1].Err, adapter.ErrConflict) {
			c.Fatalf("two handles made the same id at one moment: CreateUser without an id says that the id, or a new address, is taken\n%s", race.HistoryText(h))
		}
		if h[0].Won() && h[1].Won() && h[0].Result.(*adapter.User).ID == h[1].Result.(*adapter.User).ID {
			c.Fatalf("two handles gave the same id at one moment\n%s", race.HistoryText(h))
		}
	}
}

// userFieldSets returns each field alone, and each pair of fields.
func userFieldSets() [][]string {
	var sets [][]string
	for i, f := range kit.UserFields {
		sets = append(sets, []string{f})
		for _, g := range kit.UserFields[i+1:] {
			sets = append(sets, []string{f, g})
		}
	}
	return sets
}
