package values

import (
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var aliasClauses = []kit.Check{
	{ID: "ALIAS-01", Words: "arguments-are-not-changed", Test: func(c *kit.Context) {
		for _, x := range pointed(c) {
			before := deepCopy(x.argument)
			x.write()
			if !reflect.DeepEqual(x.argument, before) {
				c.Errorf("%s changed its argument: got %s, want %s", x.method, diff.Show(x.argument), diff.Show(before))
			}
		}
	}},
	{ID: "ALIAS-02", Words: "arguments-are-not-kept", Test: func(c *kit.Context) {
		for _, x := range pointed(c) {
			x.write()
			before := x.read()
			overwrite(c, x.argument)
			c.Same("a record after the argument of "+x.method+" was overwritten", x.read(), before)
			c.Same("a record after the argument of "+x.method+" was overwritten, against what was given", x.read(), x.want)
		}
	}},
	{ID: "ALIAS-03", Words: "results-are-not-shared", Test: func(c *kit.Context) {
		for _, x := range pointed(c) {
			returned := x.write()
			overwrite(c, returned)
			first := x.read()
			c.Same("a record after the result of "+x.method+" was overwritten", first, x.want)
			reads := x.reads(c)
			for _, name := range kit.SortedKeys(reads) {
				one, two := reads[name](), reads[name]()
				others := map[string]any{}
				for other, read := range reads {
					others[other] = read()
				}
				before := deepCopy(two)
				overwrite(c, one)
				c.Same("another result of "+name+" after one was overwritten", two, before)
				for _, other := range kit.SortedKeys(others) {
					if other != name {
						c.Same("a result of "+other+" after one of "+name+" was overwritten", others[other], reads[other]())
					}
				}
				c.Same(name+" after a result of it was overwritten", reads[name](), before)
			}
			c.Same("a record after all results were overwritten", x.read(), x.want)
		}
	}},
	{ID: "ALIAS-04", Words: "lists-are-not-shared", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		elementsShareNothing(c)
		if !c.Works("CreateAuthenticator") || !c.Works("ListAuthenticatorsByUserID") {
			return
		}
		owner := c.User().ID
		want := kit.Times(3, func() adapter.Authenticator { return c.Authenticator(owner) })
		first, second := c.ListAuthenticators(owner), c.ListAuthenticators(owner)
		before := deepCopy(second).([]adapter.Authenticator)
		_ = append(first[:1], adapter.Authenticator{CredentialID: "appended"}) //nolint:gocritic // it writes into what it shares
		for i := range first {
			overwrite(c, &first[i])
		}
		first[0], first[len(first)-1] = first[len(first)-1], first[0]
		if !reflect.DeepEqual(second, before) {
			c.Errorf("a list changed when another was overwritten: got %s, want %s", diff.Show(second), diff.Show(before))
		}
		c.Same("the list after a result was overwritten", c.ListAuthenticators(owner), want)
		_ = append(second, adapter.Authenticator{CredentialID: "appended"}) //nolint:gocritic // it writes into what it shares
		want = append(want, c.Authenticator(owner))
		c.Same("the list after an append to a result", c.ListAuthenticators(owner), want)
		if c.Works("GetAuthenticator") {
			for _, w := range want {
				c.Same("GetAuthenticator after lists were overwritten", c.GetAuthenticator(w.CredentialID), &w)
			}
		}
	}},
	{ID: "ALIAS-05", Words: "strings-over-a-reused-buffer", Requires: []string{"CreateUser", "GetUser"}, Test: func(c *kit.Context) {
		u := c.NewUser()
		email := u.Email
		buffer := []byte(email + *u.Name)
		text := func(from, to int) string { return unsafe.String(&buffer[from], to-from) }
		u.Email, u.Name = text(0, len(email)), new(text(len(email), len(buffer)))
		want := u
		want.Name, want.Email = new(string([]byte(*u.Name))), email
		got := c.CreateUser(u)
		want.ID = string([]byte(got.ID))
		c.Trace.Keep()
		for i := range buffer {
			buffer[i] = '#'
		}
		if d := c.Unlike(c.GetUser(want.ID), &want); d != "" {
			c.Notef("strings are kept without a copy: %s", d)
		} else {
			c.Notef("the adapter keeps its own copy of strings")
		}
	}},
	{ID: "ALIAS-06", Words: "concurrent-results-share-nothing", Races: true, Requires: []string{"CreateUser"}, Test: concurrentResultsShareNothing},
}

// pointedWrite is a write whose argument points to memory of the caller.
type pointedWrite struct {
	method   string
	argument any // a pointer to the argument of write
	want     any
	write    func() any
	read     func() any
	reads    func(c *kit.Context) map[string]func() any
}

// pointed returns the writes whose arguments hold pointers or slices, each with
// its own record; the clause does not apply if there are no such writes.
func pointed(c *kit.Context) []pointedWrite {
	var all []pointedWrite
	if c.Stores(kit.UserRecord) {
		u := kit.UserWithID(c)
		want := deepCopy(&u).(*adapter.User)
		x := pointedWrite{method: "CreateUser", argument: &u, want: want}
		x.write = func() any {
			got := c.CreateUser(u)
			want.ID = got.ID
			return got
		}
		x.read = func() any { return c.GetUser(want.ID) }
		x.reads = func(c *kit.Context) map[string]func() any { return userReads(c, want) }
		all = append(all, x)
		if c.Works("UpdateUser") {
			all = append(all, pointedUpdate(c))
		}
	}
	if c.Stores(kit.AccountRecord) {
		a := c.NewAccount(c.User().ID)
		want := deepCopy(&a).(*adapter.Account)
		read := func() any { return c.GetAccount(want.Key()) }
		all = append(all, pointedWrite{method: "LinkAccount", argument: &a, want: want, read: read,
			write: func() any {
				got, err := c.Adapter.LinkAccount(c.Ctx, a)
				return kit.Must(c, "LinkAccount", got, err)
			},
			reads: func(*kit.Context) map[string]func() any { return map[string]func() any{"GetAccount": read} }})
		if c.Works("UpdateAccount") {
			all = append(all, pointedAccountUpdate(c))
		}
		if c.Works("CreateUserWithAccount") {
			all = append(all, pointedSignUps(c)...)
		}
	}
	if c.Stores(kit.SessionRecord) {
		u := c.User()
		s := c.NewSession(u.ID)
		want := &adapter.SessionAndUser{Session: s, User: *deepCopy(u).(*adapter.User)}
		read := func() any { return c.GetSession(want.Session.SessionToken) }
		all = append(all, pointedWrite{method: "CreateSession", argument: &s, want: want, read: read,
			write: func() any { return c.CreateSession(s) },
			reads: func(c *kit.Context) map[string]func() any {
				all := userReads(c, &want.User)
				all["GetSessionAndUser"] = read
				return all
			}})
	}
	if c.Stores(kit.AuthenticatorRecord) {
		w := c.NewAuthenticator(c.User().ID)
		want := deepCopy(&w).(*adapter.Authenticator)
		read := func() any { return c.GetAuthenticator(want.CredentialID) }
		all = append(all, pointedWrite{method: "CreateAuthenticator", argument: &w, want: want, read: read,
			write: func() any { return c.CreateAuthenticator(w) },
			reads: func(c *kit.Context) map[string]func() any {
				all := map[string]func() any{"GetAuthenticator": read}
				if c.Works("ListAuthenticatorsByUserID") {
					all["ListAuthenticatorsByUserID"] = func() any { return only(c, c.ListAuthenticators(want.UserID)) }
				}
				if c.Works("UpdateAuthenticatorCounter") {
					all["UpdateAuthenticatorCounter"] = func() any { return c.UpdateCounter(want.CredentialID, want.Counter) }
				}
				return all
			}})
	}
	if c.Stores(kit.VerificationTokenRecord) {
		t := c.NewToken()
		want := t
		first := true
		all = append(all, pointedWrite{method: "CreateVerificationToken", argument: &t, want: &want,
			write: func() any { return c.CreateToken(t) },
			read: func() any { // only the first use gets it
				if !first {
					return &want
				}
				first = false
				got := c.UseToken(want.Key())
				if got == nil {
					c.Fatalf("UseVerificationToken: absent")
				}
				return deepCopy(got)
			},
			reads: func(*kit.Context) map[string]func() any { return nil }})
	}
	if len(all) == 0 {
		c.NotApplicable("the adapter creates nothing that can be read back")
	}
	return all
}

func pointedUpdate(c *kit.Context) pointedWrite {
	u := c.User()
	v := c.NewUser()
	update := kit.UpdateTo(u.ID, v)
	want := deepCopy(u).(*adapter.User)
	update.Apply(want)
	want = deepCopy(want).(*adapter.User)
	v.ID = u.ID // v holds the pointers of the update
	return pointedWrite{method: "UpdateUser", argument: &v, want: want,
		write: func() any { return c.UpdateUser(update) },
		read:  func() any { return c.GetUser(want.ID) },
		reads: func(c *kit.Context) map[string]func() any { return userReads(c, want) }}
}

func pointedAccountUpdate(c *kit.Context) pointedWrite {
	a := c.Account(c.User().ID)
	v := c.NewAccount(a.UserID) // which holds the pointers of the update
	update := adapter.AccountUpdate{
		Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: adapter.To(v.AccessToken), RefreshToken: adapter.To(v.RefreshToken), IDToken: adapter.To(v.IDToken),
		Scope: adapter.To(v.Scope), TokenType: adapter.To(v.TokenType), SessionState: adapter.To(v.SessionState),
		ExpiresAt: adapter.To(v.ExpiresAt), AuthorizationDetails: adapter.To(v.AuthorizationDetails),
	}
	update.Apply(&a)
	want := deepCopy(&a).(*adapter.Account)
	read := func() any { return c.GetAccount(want.Key()) }
	return pointedWrite{method: "UpdateAccount", argument: &v, want: want, read: read,
		write: func() any { return kit.Of[*adapter.Account](c, kit.UpdateAccount(update)) },
		reads: func(c *kit.Context) map[string]func() any {
			all := map[string]func() any{"GetAccount": read}
			if c.Works("ListAccountsByUserID") {
				list := kit.ListAccountsByUserID(want.UserID)
				all[list.Method] = func() any { return only(c, kit.Of[[]adapter.Account](c, list)) }
			}
			return all
		}}
}

// pointedSignUps are sign-ups, one for each kind of record that they store.
func pointedSignUps(c *kit.Context) []pointedWrite {
	var all []pointedWrite
	passkeys := c.Stores(kit.AuthenticatorRecord)
	add := func(s *kit.Draft, argument, want any, owner *string, method string, read func() any) {
		all = append(all, pointedWrite{method: "CreateUserWithAccount", argument: argument, want: want, read: read,
			write: func() any {
				passkey := &s.Authenticator
				if !passkeys {
					passkey = nil
				}
				u, err := kit.Optional[adapter.SignUps](c.Adapter).CreateUserWithAccount(c.Ctx, s.User, s.Account, passkey)
				*owner = kit.MustRecord(c, "CreateUserWithAccount", u, err).ID
				return u
			},
			reads: func(*kit.Context) map[string]func() any { return map[string]func() any{method: read} }})
	}
	s := kit.NewSignUp(c)
	user := deepCopy(&s.User).(*adapter.User)
	add(&s, &s.User, user, &user.ID, "GetUser", func() any { return c.GetUser(user.ID) })
	s2 := kit.NewSignUp(c)
	account := deepCopy(&s2.Account).(*adapter.Account)
	add(&s2, &s2.Account, account, &account.UserID, "GetAccount", func() any { return c.GetAccount(account.Key()) })
	if passkeys {
		s3 := kit.NewSignUp(c)
		w := deepCopy(&s3.Authenticator).(*adapter.Authenticator)
		add(&s3, &s3.Authenticator, w, &w.UserID, "GetAuthenticator", func() any { return c.GetAuthenticator(w.CredentialID) })
	}
	return all
}

// only returns the one record of the list.
func only[T any](c *kit.Context, list []T) *T {
	if len(list) != 1 {
		c.Fatalf("the list of the user's records: got %d of type %T, want 1", len(list), list)
	}
	return &list[0]
}

// userReads returns the reads that return the user.
func userReads(c *kit.Context, u *adapter.User) map[string]func() any {
	all := map[string]func() any{}
	if c.Works("GetUser") {
		all["GetUser"] = func() any { return c.GetUser(u.ID) }
	}
	if c.Works("GetUserByEmail") {
		all["GetUserByEmail"] = func() any { return c.GetUserByEmail(u.Email) }
	}
	if c.Works("UpdateUser") {
		all["UpdateUser"] = func() any { return c.UpdateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(u.Email)}) }
	}
	if c.Works("GetUserByAccount") {
		key := c.Account(u.ID).Key()
		all["GetUserByAccount"] = func() any { return c.GetUserByAccount(key) }
	}
	if c.Stores(kit.SessionRecord) {
		token := c.Session(u.ID).SessionToken
		all["the user of GetSessionAndUser"] = func() any {
			s := c.GetSession(token)
			if s == nil {
				c.Fatalf("GetSessionAndUser: absent")
			}
			return &s.User
		}
	}
	return all
}

// deepCopy copies a record with everything that it points to.
func deepCopy(v any) any { return deepCopyValue(reflect.ValueOf(v)).Interface() }

func deepCopyValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	if _, ok := v.Interface().(time.Time); ok {
		return out
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(deepCopyValue(v.Elem()))
			out.Set(p)
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepCopyValue(v.Index(i)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(deepCopyValue(v.Field(i)))
		}
	}
	return out
}

// overwrite overwrites everything that the pointer or slice x points to. The evidence still
// shows what the calls got and returned.
func overwrite(c *kit.Context, x any) {
	c.Trace.Keep()
	scribble(reflect.ValueOf(x))
}

// scribble overwrites everything that the pointer v points to. Of a slice it also overwrites what an append would.
func scribble(v reflect.Value) {
	below(v, true, func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Slice:
		case reflect.Struct:
			if v.CanSet() && isInstant(v) {
				v.Set(reflect.ValueOf(time.Date(1999, 9, 9, 9, 9, 9, 9, time.UTC)))
			}
		case reflect.String:
			v.SetString("overwritten")
		case reflect.Int64:
			v.SetInt(-1)
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Uint8:
			v.SetUint('#')
		default:
			panic(fmt.Sprintf("adaptertest: scribble does not know %v", v.Type()))
		}
	})
}

func isInstant(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Time]() }

// below visits v and all that it points to and holds, but not what is in an instant. With spare it also visits what
// an append to a slice would overwrite.
func below(v reflect.Value, spare bool, visit func(reflect.Value)) {
	if !v.IsValid() {
		return
	}
	visit(v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		below(v.Elem(), spare, visit)
	case reflect.Slice:
		if spare {
			v = v.Slice(0, v.Cap())
		}
		for i := range v.Len() {
			below(v.Index(i), spare, visit)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !isInstant(v); i++ {
			below(v.Field(i), spare, visit)
		}
	}
}

// elementsShareNothing is the part of ALIAS-04 for the elements of one list, which have equal contents apart from
// their keys. Each is overwritten, also behind its end, and the others stay as they were.
func elementsShareNothing(c *kit.Context) {
	owner := c.User().ID
	sameAccount, sameAuthenticator := c.NewAccount(owner), c.NewAuthenticator(owner)
	lists := 0
	for _, x := range []struct {
		create, method string
		store          func()
		list           func() any
	}{
		{"LinkAccount", "ListAccountsByUserID", func() {
			a, key := sameAccount, c.NewAccount(owner)
			a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
			c.LinkAccount(a)
		}, func() any { return kit.Of[[]adapter.Account](c, kit.ListAccountsByUserID(owner)) }},
		{"CreateSession", "ListSessionsByUserID", func() { c.Session(owner) }, func() any { return kit.Of[[]adapter.Session](c, kit.ListSessionsByUserID(owner)) }},
		{"CreateAuthenticator", "ListAuthenticatorsByUserID", func() {
			w := sameAuthenticator
			w.CredentialID = c.NewAuthenticator(owner).CredentialID
			c.CreateAuthenticator(w)
		}, func() any { return c.ListAuthenticators(owner) }},
	} {
		if !c.Works(x.create) || !c.Works(x.method) {
			continue
		}
		lists++
		for range 3 {
			x.store()
		}
		c.Settle()
		list := reflect.ValueOf(x.list())
		for i := range list.Len() {
			before := deepCopyValue(list)
			overwrite(c, list.Index(i).Addr().Interface())
			for j := range list.Len() {
				got, want := list.Index(j).Interface(), before.Index(j).Interface()
				if j != i && !reflect.DeepEqual(got, want) {
					c.Errorf("%s: element %d changed when element %d was overwritten: got %s, want %s", x.method, j, i, diff.Show(got), diff.Show(want))
				}
			}
		}
	}
	if lists == 0 {
		c.NotApplicable("the adapter has no list")
	}
}

// concurrentResultsShareNothing is ALIAS-06: two reads of one record at the same
// moment, through one adapter. An adapter may combine them into one read.
func concurrentResultsShareNothing(c *kit.Context) {
	works := func(k kit.Call) bool { return c.Works(k.Method) }
	reads := kit.Applicable(c, kit.NewFixture(c, c.Adapter).Reads(), works, "the adapter reads nothing")
	twice := func(k kit.Call, n int) race.Case {
		return race.Case{Calls: slices.Repeat([]kit.Call{k}, n), Verify: func(h []race.Operation) error {
			for i := range h {
				for j := range i {
					if h[i].Err == nil && h[j].Err == nil && sharesMemory(reflect.ValueOf(h[i].Result), reflect.ValueOf(h[j].Result)) {
						return fmt.Errorf("%s returned two callers the same memory: what one of them changes, the other sees", k.Method)
					}
				}
			}
			return nil
		}}
	}
	alone := []adapter.Adapter{c.Raw}
	race.AtBarrier(c, alone, kit.Racers, func(n, round int) race.Case { return twice(reads[round/2%len(reads)], n) })
	for _, k := range reads {
		race.WithHeldAnswers(c, alone, 0, func(n, _ int) race.Case { return twice(k, n) })
	}
}

// sharesMemory reports whether a change through a can be seen through b.
func sharesMemory(a, b reflect.Value) bool {
	addresses := map[uintptr]bool{}
	shared := false
	pointers := func(of reflect.Value, visit func(uintptr)) {
		below(of, false, func(v reflect.Value) {
			if v.Kind() == reflect.Pointer && !v.IsNil() || v.Kind() == reflect.Slice && v.Len() > 0 {
				visit(v.Pointer())
			}
		})
	}
	pointers(a, func(p uintptr) { addresses[p] = true })
	pointers(b, func(p uintptr) { shared = shared || addresses[p] })
	return shared
}
