package adaptertest

import (
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var aliasClauses = []check{
	{id: "ALIAS-01", words: "arguments-are-not-changed", run: func(c *clauseContext) {
		for _, x := range c.pointed() {
			before := deepCopy(x.argument)
			x.write()
			if !reflect.DeepEqual(x.argument, before) {
				c.Errorf("%s changed its argument: got %s, want %s", x.method, diff.Show(x.argument), diff.Show(before))
			}
		}
	}},
	{id: "ALIAS-02", words: "arguments-are-not-kept", run: func(c *clauseContext) {
		for _, x := range c.pointed() {
			x.write()
			before := x.read()
			c.overwrite(x.argument)
			c.same("a record after the argument of "+x.method+" was overwritten", x.read(), before)
			c.same("a record after the argument of "+x.method+" was overwritten, against what was given", x.read(), x.want)
		}
	}},
	{id: "ALIAS-03", words: "results-are-not-shared", run: func(c *clauseContext) {
		for _, x := range c.pointed() {
			returned := x.write()
			c.overwrite(returned)
			first := x.read()
			c.same("a record after the result of "+x.method+" was overwritten", first, x.want)
			reads := x.reads(c)
			for _, name := range sortedKeys(reads) {
				one, two := reads[name](), reads[name]()
				others := map[string]any{}
				for other, read := range reads {
					others[other] = read()
				}
				before := deepCopy(two)
				c.overwrite(one)
				c.same("another result of "+name+" after one was overwritten", two, before)
				for _, other := range sortedKeys(others) {
					if other != name {
						c.same("a result of "+other+" after one of "+name+" was overwritten", others[other], reads[other]())
					}
				}
				c.same(name+" after a result of it was overwritten", reads[name](), before)
			}
			c.same("a record after all results were overwritten", x.read(), x.want)
		}
	}},
	{id: "ALIAS-04", words: "lists-are-not-shared", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		c.elementsShareNothing()
		if !c.works("CreateAuthenticator") || !c.works("ListAuthenticatorsByUserID") {
			return
		}
		owner := c.user().ID
		var want []adapter.Authenticator
		for range 3 {
			want = append(want, c.authenticator(owner))
		}
		first, second := c.listAuthenticators(owner), c.listAuthenticators(owner)
		before := deepCopy(second).([]adapter.Authenticator)
		_ = append(first[:1], adapter.Authenticator{CredentialID: "appended"}) //nolint:gocritic // it writes into what it shares
		for i := range first {
			c.overwrite(&first[i])
		}
		first[0], first[len(first)-1] = first[len(first)-1], first[0]
		if !reflect.DeepEqual(second, before) {
			c.Errorf("a list changed when another was overwritten: got %s, want %s", diff.Show(second), diff.Show(before))
		}
		c.sameAuthenticators("the list after a result was overwritten", c.listAuthenticators(owner), want)
		_ = append(second, adapter.Authenticator{CredentialID: "appended"}) //nolint:gocritic // it writes into what it shares
		want = append(want, c.authenticator(owner))
		c.sameAuthenticators("the list after an append to a result", c.listAuthenticators(owner), want)
		if c.works("GetAuthenticator") {
			for _, w := range want {
				c.same("GetAuthenticator after lists were overwritten", c.getAuthenticator(w.CredentialID), &w)
			}
		}
	}},
	{id: "ALIAS-05", words: "strings-over-a-reused-buffer", requires: []string{"CreateUser", "GetUser"}, run: func(c *clauseContext) {
		u := c.newUser()
		email := u.Email
		buffer := []byte(email + *u.Name)
		text := func(from, to int) string { return unsafe.String(&buffer[from], to-from) }
		u.Email, u.Name = text(0, len(email)), new(text(len(email), len(buffer)))
		want := u
		want.Name, want.Email = new(string([]byte(*u.Name))), email
		got := c.createUser(u)
		want.ID = string([]byte(got.ID))
		c.trace.keep()
		for i := range buffer {
			buffer[i] = '#'
		}
		if d := c.unlike(c.getUser(want.ID), &want); d != "" {
			c.Notef("strings are kept without a copy: %s", d)
		} else {
			c.Notef("the adapter keeps its own copy of strings")
		}
	}},
	{id: "ALIAS-06", words: "concurrent-results-share-nothing", races: true, requires: []string{"CreateUser"}, run: concurrentResultsShareNothing},
}

// pointedWrite is a write whose argument points to memory of the caller.
type pointedWrite struct {
	method   string
	argument any // a pointer to the argument of write
	want     any
	write    func() any
	read     func() any
	reads    func(c *clauseContext) map[string]func() any
}

// pointed returns the writes whose arguments hold pointers or slices, each with
// its own record; the clause does not apply if there are no such writes.
func (c *clauseContext) pointed() []pointedWrite {
	var all []pointedWrite
	if c.stores(UserRecord) {
		u := c.newUser()
		u.ID = c.id()
		want := deepCopy(&u).(*adapter.User)
		x := pointedWrite{method: "CreateUser", argument: &u, want: want}
		x.write = func() any {
			got := c.createUser(u)
			want.ID = got.ID
			return got
		}
		x.read = func() any { return c.getUser(want.ID) }
		x.reads = func(c *clauseContext) map[string]func() any { return userReads(c, want) }
		all = append(all, x)
		if c.works("UpdateUser") {
			all = append(all, c.pointedUpdate())
		}
	}
	if c.stores(AccountRecord) {
		a := c.newAccount(c.user().ID)
		want := deepCopy(&a).(*adapter.Account)
		read := func() any { return c.getAccount(want.Key()) }
		all = append(all, pointedWrite{method: "LinkAccount", argument: &a, want: want, read: read,
			write: func() any {
				got, err := c.a.LinkAccount(c.ctx, a)
				return must(c, "LinkAccount", got, err)
			},
			reads: func(*clauseContext) map[string]func() any { return map[string]func() any{"GetAccount": read} }})
		if c.works("UpdateAccount") {
			all = append(all, c.pointedAccountUpdate())
		}
		if c.works("CreateUserWithAccount") {
			all = append(all, c.pointedSignUps()...)
		}
	}
	if c.stores(SessionRecord) {
		u := c.user()
		s := c.newSession(u.ID)
		want := &adapter.SessionAndUser{Session: s, User: *deepCopy(u).(*adapter.User)}
		read := func() any { return c.getSession(want.Session.SessionToken) }
		all = append(all, pointedWrite{method: "CreateSession", argument: &s, want: want, read: read,
			write: func() any { return c.createSession(s) },
			reads: func(c *clauseContext) map[string]func() any {
				all := userReads(c, &want.User)
				all["GetSessionAndUser"] = read
				return all
			}})
	}
	if c.stores(AuthenticatorRecord) {
		w := c.newAuthenticator(c.user().ID)
		want := deepCopy(&w).(*adapter.Authenticator)
		read := func() any { return c.getAuthenticator(want.CredentialID) }
		all = append(all, pointedWrite{method: "CreateAuthenticator", argument: &w, want: want, read: read,
			write: func() any { return c.createAuthenticator(w) },
			reads: func(c *clauseContext) map[string]func() any {
				all := map[string]func() any{"GetAuthenticator": read}
				if c.works("ListAuthenticatorsByUserID") {
					all["ListAuthenticatorsByUserID"] = func() any {
						list := c.listAuthenticators(want.UserID)
						if len(list) != 1 {
							c.Fatalf("ListAuthenticatorsByUserID: got %d, want 1", len(list))
						}
						return &list[0]
					}
				}
				if c.works("UpdateAuthenticatorCounter") {
					all["UpdateAuthenticatorCounter"] = func() any { return c.updateCounter(want.CredentialID, want.Counter) }
				}
				return all
			}})
	}
	if c.stores(VerificationTokenRecord) {
		t := c.newToken()
		want := t
		first := true
		all = append(all, pointedWrite{method: "CreateVerificationToken", argument: &t, want: &want,
			write: func() any { return c.createToken(t) },
			read: func() any { // only the first use gets it
				if !first {
					return &want
				}
				first = false
				got := c.useToken(want.Key())
				if got == nil {
					c.Fatalf("UseVerificationToken: absent")
				}
				return deepCopy(got)
			},
			reads: func(*clauseContext) map[string]func() any { return nil }})
	}
	if len(all) == 0 {
		c.notApplicable("the adapter creates nothing that can be read back")
	}
	return all
}

func (c *clauseContext) pointedUpdate() pointedWrite {
	u := c.user()
	v := c.newUser()
	update := adapter.UserUpdate{
		ID: u.ID, Name: adapter.To(v.Name), Email: adapter.To(v.Email), EmailVerified: adapter.To(v.EmailVerified), Image: adapter.To(v.Image),
	}
	want := deepCopy(u).(*adapter.User)
	update.Apply(want)
	want = deepCopy(want).(*adapter.User)
	v.ID = u.ID // v holds the pointers of the update
	return pointedWrite{method: "UpdateUser", argument: &v, want: want,
		write: func() any { return c.updateUser(update) },
		read:  func() any { return c.getUser(want.ID) },
		reads: func(c *clauseContext) map[string]func() any { return userReads(c, want) }}
}

func (c *clauseContext) pointedAccountUpdate() pointedWrite {
	a := c.account(c.user().ID)
	v := c.newAccount(a.UserID) // which holds the pointers of the update
	update := adapter.AccountUpdate{
		Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: adapter.To(v.AccessToken), RefreshToken: adapter.To(v.RefreshToken), IDToken: adapter.To(v.IDToken),
		Scope: adapter.To(v.Scope), TokenType: adapter.To(v.TokenType), SessionState: adapter.To(v.SessionState),
		ExpiresAt: adapter.To(v.ExpiresAt), AuthorizationDetails: adapter.To(v.AuthorizationDetails),
	}
	update.Apply(&a)
	want := deepCopy(&a).(*adapter.Account)
	read := func() any { return c.getAccount(want.Key()) }
	return pointedWrite{method: "UpdateAccount", argument: &v, want: want, read: read,
		write: func() any { return of[*adapter.Account](c, updateAccount(update)) },
		reads: func(c *clauseContext) map[string]func() any {
			all := map[string]func() any{"GetAccount": read}
			if c.works("ListAccountsByUserID") {
				all["ListAccountsByUserID"] = func() any {
					list := of[[]adapter.Account](c, listAccounts(want.UserID))
					if len(list) != 1 {
						c.Fatalf("ListAccountsByUserID: got %d, want 1", len(list))
					}
					return &list[0]
				}
			}
			return all
		}}
}

// pointedSignUps are sign-ups, one for each kind of record that they store.
func (c *clauseContext) pointedSignUps() []pointedWrite {
	var all []pointedWrite
	passkeys := c.stores(AuthenticatorRecord)
	add := func(s *signUp, argument, want any, owner *string, method string, read func() any) {
		all = append(all, pointedWrite{method: "CreateUserWithAccount", argument: argument, want: want, read: read,
			write: func() any {
				passkey := &s.authenticator
				if !passkeys {
					passkey = nil
				}
				u, err := optional[adapter.SignUps](c.a).CreateUserWithAccount(c.ctx, s.user, s.account, passkey)
				*owner = mustRecord(c, "CreateUserWithAccount", u, err).ID
				return u
			},
			reads: func(*clauseContext) map[string]func() any { return map[string]func() any{method: read} }})
	}
	s := c.newSignUp()
	user := deepCopy(&s.user).(*adapter.User)
	add(&s, &s.user, user, &user.ID, "GetUser", func() any { return c.getUser(user.ID) })
	s2 := c.newSignUp()
	account := deepCopy(&s2.account).(*adapter.Account)
	add(&s2, &s2.account, account, &account.UserID, "GetAccount", func() any { return c.getAccount(account.Key()) })
	if passkeys {
		s3 := c.newSignUp()
		w := deepCopy(&s3.authenticator).(*adapter.Authenticator)
		add(&s3, &s3.authenticator, w, &w.UserID, "GetAuthenticator", func() any { return c.getAuthenticator(w.CredentialID) })
	}
	return all
}

// userReads returns the reads that return the user.
func userReads(c *clauseContext, u *adapter.User) map[string]func() any {
	all := map[string]func() any{}
	if c.works("GetUser") {
		all["GetUser"] = func() any { return c.getUser(u.ID) }
	}
	if c.works("GetUserByEmail") {
		all["GetUserByEmail"] = func() any { return c.getUserByEmail(u.Email) }
	}
	if c.works("UpdateUser") {
		all["UpdateUser"] = func() any { return c.updateUser(adapter.UserUpdate{ID: u.ID, Email: adapter.To(u.Email)}) }
	}
	if c.works("GetUserByAccount") {
		key := c.account(u.ID).Key()
		all["GetUserByAccount"] = func() any { return c.getUserByAccount(key) }
	}
	if c.stores(SessionRecord) {
		token := c.session(u.ID).SessionToken
		all["the user of GetSessionAndUser"] = func() any {
			s := c.getSession(token)
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
func (c *clauseContext) overwrite(x any) {
	c.trace.keep()
	scribble(reflect.ValueOf(x))
}

// scribble overwrites everything that the pointer v points to. Of a slice it also
// overwrites what an append would.
func scribble(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if v.CanSet() && v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(1999, 9, 9, 9, 9, 9, 9, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case reflect.Slice:
		for i, whole := 0, v.Slice(0, v.Cap()); i < whole.Len(); i++ {
			scribble(whole.Index(i))
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
}

// elementsShareNothing is the part of ALIAS-04 for the elements of one list, which have
// equal contents apart from their keys. Each is overwritten, also behind its end, and the
// others stay as they were.
func (c *clauseContext) elementsShareNothing() {
	owner := c.user().ID
	sameAccount, sameAuthenticator := c.newAccount(owner), c.newAuthenticator(owner)
	lists := 0
	for _, x := range []struct {
		create, method string
		store          func()
		list           func() any
	}{
		{"LinkAccount", "ListAccountsByUserID", func() {
			a, key := sameAccount, c.newAccount(owner)
			a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
			c.linkAccount(a)
		}, func() any { return of[[]adapter.Account](c, listAccounts(owner)) }},
		{"CreateSession", "ListSessionsByUserID", func() { c.session(owner) }, func() any { return of[[]adapter.Session](c, listSessions(owner)) }},
		{"CreateAuthenticator", "ListAuthenticatorsByUserID", func() {
			w := sameAuthenticator
			w.CredentialID = c.newAuthenticator(owner).CredentialID
			c.createAuthenticator(w)
		}, func() any { return c.listAuthenticators(owner) }},
	} {
		if !c.works(x.create) || !c.works(x.method) {
			continue
		}
		lists++
		for range 3 {
			x.store()
		}
		c.settle()
		list := reflect.ValueOf(x.list())
		for i := range list.Len() {
			before := deepCopyValue(list)
			c.overwrite(list.Index(i).Addr().Interface())
			for j := range list.Len() {
				got, want := list.Index(j).Interface(), before.Index(j).Interface()
				if j != i && !reflect.DeepEqual(got, want) {
					c.Errorf("%s: element %d changed when element %d was overwritten: got %s, want %s", x.method, j, i, diff.Show(got), diff.Show(want))
				}
			}
		}
	}
	if lists == 0 {
		c.notApplicable("the adapter has no list")
	}
}

// concurrentResultsShareNothing is ALIAS-06: two reads of one record at the same
// moment, through one adapter. An adapter may combine them into one read.
func concurrentResultsShareNothing(c *clauseContext) {
	reads := c.working(c.newFixture(c.a).reads())
	if len(reads) == 0 {
		c.notApplicable("the adapter reads nothing")
	}
	twice := func(k call, n int) raceCase {
		return raceCase{calls: slices.Repeat([]call{k}, n), verify: func(h []operation) error {
			for i := range h {
				for j := range i {
					if h[i].err == nil && h[j].err == nil && sharesMemory(reflect.ValueOf(h[i].result), reflect.ValueOf(h[j].result)) {
						return fmt.Errorf("%s returned two callers the same memory: what one of them changes, the other sees", k.method)
					}
				}
			}
			return nil
		}}
	}
	alone := []adapter.Adapter{c.raw}
	c.atBarrier(alone, racers, func(n, round int) raceCase { return twice(reads[round/2%len(reads)], n) })
	for _, k := range reads {
		c.withHeldAnswers(alone, 0, func(n, _ int) raceCase { return twice(k, n) })
	}
}

// sharesMemory reports whether a change through a can be seen through b.
func sharesMemory(a, b reflect.Value) bool {
	addresses := map[uintptr]bool{}
	visitMemory(a, func(p uintptr) { addresses[p] = true })
	shared := false
	visitMemory(b, func(p uintptr) { shared = shared || addresses[p] })
	return shared
}

func visitMemory(v reflect.Value, visit func(uintptr)) {
	switch v.Kind() {
	case reflect.Interface:
		visitMemory(v.Elem(), visit)
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			visit(v.Pointer())
			visitMemory(v.Elem(), visit)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			visit(v.Pointer())
		}
		for i := range v.Len() {
			visitMemory(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			visitMemory(v.Field(i), visit)
		}
	}
}
