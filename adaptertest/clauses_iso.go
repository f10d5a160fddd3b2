package adaptertest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var isoClauses = []check{
	{id: "ISO-01", words: "two-stores-share-nothing", alone: true, requires: []string{"CreateUser", "GetUserByEmail"}, run: twoStoresShareNothing},
	{id: "ISO-02", words: "namespaces-share-nothing", needs: []ability{abilityNamespace}, run: namespacesShareNothing},
	{id: "ISO-03", words: "second-adapter-sees-writes", races: true, needs: []ability{abilitySecond}, run: func(c *clauseContext) {
		other := c.second()
		times := 3
		if c.brief {
			times = 1
		}
		for range times {
			c.crossRead(c.a, other)
			c.crossRead(other, c.a)
			if c.failed() {
				return
			}
		}
		c.looksAroundWrites(c.a, other)
		c.looksAroundWrites(other, c.a)
		if c.harness().Declarations.EventualReads == 0 {
			c.randomSequences(2)
		}
	}},
	{id: "ISO-04", words: "data-outlives-close", run: func(c *clauseContext) {
		if why := c.harness().Declarations.Volatile; why != "" {
			c.notApplicable("nothing is kept beyond Close: %s", why)
		}
		c.need(abilityClose)
		c.need(abilityReopen)
		residents := c.residents(2)
		if err := c.harness().Close(c.raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		c.raw = c.harness().Reopen(c.tb, c.raw)
		c.a = c.observe(c.raw)
		c.intact(residents)
		c.user() // and the adapter still works
	}},
	{id: "ISO-05", words: "writes-are-visible-at-once", races: true, run: func(c *clauseContext) {
		if bound := c.harness().Declarations.EventualReads; bound > 0 {
			c.notApplicable("writes become visible within %v", bound)
		}
		times := max(5, c.rounds(50))
		switch {
		case c.brief:
			times = 1
		case c.hurried:
			times = max(5, c.rounds(15))
		}
		for range times {
			c.crossRead(c.a, c.a)
			if c.failed() {
				return
			}
		}
		c.looksAroundWrites(c.a, c.a)
		c.writesInTurn()
		c.randomSequences(1)
	}},
	{id: "ISO-06", words: "eventual-reads-keep-their-bound", run: func(c *clauseContext) {
		bound := c.harness().Declarations.EventualReads
		if bound == 0 {
			c.Notef("no eventual reads are declared")
			return
		}
		worst := time.Duration(0)
		for range c.rounds(10) {
			u, err := c.raw.CreateUser(c.ctx, c.newUser())
			mustRecord(c, "CreateUser", u, err)
			start := time.Now()
			for {
				got, err := c.raw.GetUserByEmail(c.ctx, u.Email)
				if must(c, "GetUserByEmail", got, err) != nil {
					break
				}
				if took := time.Since(start); took > bound {
					c.Fatalf("a new user is not visible after %v, declared are %v", took, bound)
				}
				c.wait(bound / 20)
			}
			worst = max(worst, time.Since(start))
		}
		c.Notef("a new user was visible within %v, declared are %v", worst, bound)
	}},
	{id: "ISO-07", words: "use-of-a-token-is-exact", races: true, requires: []string{"CreateVerificationToken", "UseVerificationToken"}, run: func(c *clauseContext) {
		racers := min(16, c.most)
		adapters := []adapter.Adapter{c.raw, c.raw}
		if c.has(abilitySecond) {
			adapters[1] = c.second()
		}
		for range c.rounds(12) {
			t := c.newToken()
			if _, err := c.raw.CreateVerificationToken(c.ctx, t); err != nil {
				c.Fatalf("CreateVerificationToken: %v", err)
			}
			var winners atomic.Int32
			c.parallel(racers, func(i int) {
				if got, err := adapters[i%2].UseVerificationToken(c.ctx, t.Key()); err == nil && got != nil {
					winners.Add(1)
				}
			})
			if n := winners.Load(); n != 1 {
				c.Fatalf("%d of %d concurrent uses of one verification token got it, want 1", n, racers)
			}
			if got, err := c.raw.UseVerificationToken(c.ctx, t.Key()); err != nil || got != nil {
				c.Fatalf("the use of a token that is used up: got %s, %v, want absent", diff.Show(got), err)
			}
		}
	}},
	{id: "ISO-08", words: "reads-under-way-hide-no-write", races: true, requires: []string{"CreateUser", "GetUser", "UpdateUser"}, run: readsUnderWayHideNoWrite},
}

// crossRead makes each kind of write through one adapter and reads at once
// through another, by every lookup. The reader reads a record before its
// deletion too, in case it caches records.
func (c *clauseContext) crossRead(writer, reader adapter.Adapter) {
	live := c.a
	defer func() { c.a = live }()
	at := func(a adapter.Adapter) *clauseContext { c.a = a; return c }
	if c.stores(VerificationTokenRecord) {
		t := at(writer).token()
		c.same("UseVerificationToken of a new token", at(reader).useToken(t.Key()), &t)
		c.absent("UseVerificationToken of a used token", at(writer).useToken(t.Key()), nil)
		c.absent("UseVerificationToken of a used token", at(reader).useToken(t.Key()), nil)
	}
	if !c.stores(UserRecord) || !c.works("GetUserByEmail") {
		return
	}
	u := at(writer).user()
	sees := func(after string) {
		at(reader)
		c.same("GetUser after "+after, c.getUser(u.ID), u)
		c.same("GetUserByEmail after "+after, c.getUserByEmail(u.Email), u)
	}
	sees("CreateUser")
	if c.works("UpdateUser") {
		old := u.Email
		u = at(writer).updateUser(c.userUpdate(u.ID, userFields))
		sees("UpdateUser")
		c.absent("GetUserByEmail of the address before UpdateUser", c.getUserByEmail(old), nil)
	}
	keys := []func(after string, want bool){}
	if c.stores(AccountRecord) && c.works("GetUserByAccount") {
		look := func(a adapter.Account, after string, want bool) {
			at(reader)
			if want {
				c.same("GetAccount after "+after, c.getAccount(a.Key()), &a)
				c.same("GetUserByAccount after "+after, c.getUserByAccount(a.Key()), u)
			} else {
				c.absent("GetAccount after "+after, c.getAccount(a.Key()), nil)
				c.absent("GetUserByAccount after "+after, c.getUserByAccount(a.Key()), nil)
			}
		}
		a := at(writer).account(u.ID)
		look(a, "LinkAccount", true)
		keys = append(keys, func(after string, want bool) { look(a, after, want) })
		if c.works("UnlinkAccount") {
			b := at(writer).account(u.ID)
			look(b, "LinkAccount", true)
			at(writer).unlinkAccount(b.Key())
			look(b, "UnlinkAccount", false)
		}
	}
	if c.stores(SessionRecord) {
		look := func(s adapter.Session, after string, want bool) {
			got := at(reader).getSession(s.SessionToken)
			if want {
				c.same("GetSessionAndUser after "+after, got, &adapter.SessionAndUser{Session: s, User: *u})
			} else {
				c.absent("GetSessionAndUser after "+after, got, nil)
			}
		}
		s := at(writer).session(u.ID)
		look(s, "CreateSession", true)
		if c.works("UpdateSession") {
			s.Expires = c.instant(3 * time.Hour)
			at(writer).updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
			look(s, "UpdateSession", true)
		}
		if c.works("UpdateUser") {
			u = at(writer).updateUser(c.userUpdate(u.ID, []string{"name"}))
			look(s, "UpdateUser", true)
		}
		keys = append(keys, func(after string, want bool) { look(s, after, want) })
		if c.works("DeleteSession") {
			d := at(writer).session(u.ID)
			look(d, "CreateSession", true)
			at(writer).deleteSession(d.SessionToken)
			look(d, "DeleteSession", false)
		}
	}
	if c.stores(AuthenticatorRecord) && c.works("ListAuthenticatorsByUserID") {
		look := func(w adapter.Authenticator, after string, want bool) {
			at(reader)
			if want {
				c.same("GetAuthenticator after "+after, c.getAuthenticator(w.CredentialID), &w)
				c.sameAuthenticators("ListAuthenticatorsByUserID after "+after, c.listAuthenticators(u.ID), []adapter.Authenticator{w})
			} else {
				c.absent("GetAuthenticator after "+after, c.getAuthenticator(w.CredentialID), nil)
				c.sameAuthenticators("ListAuthenticatorsByUserID after "+after, c.listAuthenticators(u.ID), nil)
			}
		}
		w := at(writer).authenticator(u.ID)
		look(w, "CreateAuthenticator", true)
		if c.works("UpdateAuthenticatorCounter") {
			w.Counter += 5
			at(writer).updateCounter(w.CredentialID, w.Counter)
			look(w, "UpdateAuthenticatorCounter", true)
		}
		keys = append(keys, func(after string, want bool) { look(w, after, want) })
	}
	if c.works("DeleteUser") {
		for _, look := range keys {
			look("the writes before", true)
		}
		at(writer).deleteUser(u.ID)
		at(reader)
		c.absent("GetUser after DeleteUser", c.getUser(u.ID), nil)
		c.absent("GetUserByEmail after DeleteUser", c.getUserByEmail(u.Email), nil)
		for _, look := range keys {
			look("DeleteUser", false)
		}
	}
}

// looksAroundWrites makes each write through one adapter, also of each field alone, and
// every lookup and list through another, before and after each write: what was read before must
// not hide the change, whatever the write changes besides its own record. Without
// users there are no records that a write could change besides.
func (c *clauseContext) looksAroundWrites(writer, reader adapter.Adapter) {
	if !c.works("CreateUser") {
		return
	}
	k := c.newFixture(writer)
	m, look := k.model(c), k.keys()
	compare := func(when string) {
		got, err := c.snapshot(c.ctx, reader, look)
		must(c, "a lookup "+when, got, err)
		for _, d := range c.differences(got, c.snapshotOfModel(m, look)) {
			c.Errorf("%s: %s", when, d)
		}
	}
	compare("before the writes")
	alone := []call{renameAuthenticator(k.user.ID, k.authenticator.CredentialID, c.unique("name"))}
	for _, field := range userFields {
		alone = append(alone, updateUser(c.userUpdate(k.user.ID, []string{field})))
	}
	for _, field := range accountFields {
		alone = append(alone, updateAccount(c.accountUpdate(k.account.Key(), []string{field})))
	}
	for n, w := range c.working(append(alone, k.writes()...)) {
		if c.assignsIDs() && (w.method == "CreateUser" || w.method == "CreateUserWithAccount") {
			continue
		}
		_, err := w.do(c.ctx, writer)
		if errors.Is(err, adapter.ErrUnsupported) {
			continue // the store has no place for names
		}
		must(c, w.method, w, err)
		_, err = w.do(c.ctx, m)
		must(c, "the model's "+w.method, w, err)
		if n%min(4, c.stride) == 0 {
			compare("after " + w.method + ", with all lookups made before it too")
		}
		if c.failed() {
			return
		}
	}
}

// twoStoresShareNothing is ISO-01. If the harness opens every adapter over one
// store, the clause is not verified. The harness need not declare that for a
// store outside the process, or if New always returns the same adapter.
func twoStoresShareNothing(c *clauseContext) {
	c.uninvolvedGone = true // New may empty the store that it shares
	other := c.harness().New(c.tb)
	if other == nil {
		c.Fatalf("the harness returned a nil adapter")
	}
	u := c.user()
	got, err := other.GetUserByEmail(c.ctx, u.Email)
	if err != nil {
		c.Errorf("GetUserByEmail through an adapter over another store: %v", err)
	}
	if got != nil {
		if c.harness().SharedStore || same(reflect.ValueOf(c.raw), reflect.ValueOf(other)) || outside(c.raw) || outside(other) {
			c.notVerified("New opens its adapters over one store")
		}
		c.Fatalf("a user that was created through one adapter is found through another that New opened: the state belongs to the package (or else the harness has to set SharedStore)")
	}
	mine := c.newFixture(c.a).keys()
	for i, a := range []adapter.Adapter{c.a, other} { // what the first reads may go into a cache
		seen, err := c.snapshot(c.ctx, a, mine)
		for _, s := range must(c, "a lookup", seen, err) {
			if i > 0 && !isNothing(s.record) {
				c.Errorf("%s through an adapter over another store: got %s, want absent", s, diff.Show(s.record))
			}
		}
	}
	second := c.observe(other)
	c.parallel(2, func(i int) {
		a := []adapter.Adapter{c.a, second}[i]
		for range 20 {
			if _, err := a.CreateUser(c.ctx, c.newUser()); err != nil {
				c.Errorf("CreateUser while an adapter over another store is busy: %v", err)
			}
		}
	})
	// The same keys in both.
	for _, a := range []adapter.Adapter{c.a, second} {
		v := c.newUser()
		v.Email = "same-" + u.Email
		created, err := a.CreateUser(c.ctx, v)
		if err != nil || created == nil {
			c.Errorf("CreateUser with an address that is taken in another store: %v", err)
			continue
		}
		if c.stores(SessionRecord) {
			s := adapter.Session{SessionToken: "session-of-" + u.Email, UserID: created.ID, Expires: c.instant(time.Hour)}
			if _, err := a.CreateSession(c.ctx, s); err != nil {
				c.Errorf("CreateSession with a token that is in use in another store: %v", err)
			}
			got, err := a.GetSessionAndUser(c.ctx, s.SessionToken)
			if must(c, "GetSessionAndUser", got, err) == nil || got.User.Email != created.Email || c.unlike(got.User, *created) != "" {
				c.Errorf("GetSessionAndUser: got %s, want the session of %s", diff.Show(got), diff.Show(created))
			}
		}
	}
}

// same reports whether two adapters are the same one.
func same(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Interface:
		return a.IsNil() && b.IsNil() || same(a.Elem(), b.Elem())
	case reflect.Slice, reflect.Map, reflect.Func:
		return a.Pointer() == b.Pointer()
	default:
		return a.Comparable() && a.Equal(b)
	}
}

// outside reports whether an adapter holds a value that may belong to a store
// outside the process.
func outside(a adapter.Adapter) bool {
	v := reflect.ValueOf(a)
	g := graph{home: reflect.Indirect(v).Type().PkgPath(), seen: map[visit]bool{}}
	g.walk(v)
	return g.outside
}

// graph is a walk over the memory that an adapter points to.
type graph struct {
	home    string // the package of the adapter
	seen    map[visit]bool
	outside bool
}

// visit is a pointer that was followed.
type visit struct {
	to uintptr
	as reflect.Type
}

// foreign reports whether a type of the package may belong to a store outside
// the process.
func (g *graph) foreign(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case pkg == g.home, strings.HasPrefix(pkg, "github.com/gatehouse-go/gatehouse/"):
		return false
	case strings.Contains(first, "."):
		return true
	}
	return first == "net" || first == "os" || first == "syscall" || first == "plugin" || strings.HasPrefix(pkg, "database/")
}

// walk searches everything that v points to for a value of a foreign package,
// or a value that can't be inspected.
func (g *graph) walk(v reflect.Value) {
	const enough, few = 10_000, 3 // elements of a list are similar
	if g.outside || !v.IsValid() {
		return
	}
	if len(g.seen) > enough || v.Kind() == reflect.Chan || g.foreign(v.Type().PkgPath()) {
		g.outside = true
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || g.seen[visit{v.Pointer(), v.Type()}] {
			return
		}
		g.seen[visit{v.Pointer(), v.Type()}] = true
	case reflect.Interface, reflect.Struct, reflect.Array:
	default:
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		g.walk(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			g.walk(v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		for i := range min(v.Len(), few) {
			g.walk(v.Index(i))
		}
	case reflect.Map:
		for i, entries := 0, v.MapRange(); i < few && entries.Next(); i++ {
			g.walk(entries.Key())
			g.walk(entries.Value())
		}
	}
}

// namespacesShareNothing is ISO-02. The names are prefixes of one another, or
// hold characters that mean something in a pattern.
func namespacesShareNothing(c *clauseContext) {
	base := "n" + strings.ToLower(c.run.nonce)
	var opened []adapter.Adapter
	var names []string
	suffixes := []string{"2", "_", ":", "*", "%", "[2]", "?"}
	if c.brief {
		c.rand.Shuffle(len(suffixes), func(i, j int) { suffixes[i], suffixes[j] = suffixes[j], suffixes[i] })
	}
	for _, suffix := range append([]string{""}, suffixes...) {
		if c.brief && len(opened) == 3 {
			break
		}
		name := base + suffix
		raw, err := c.harness().Namespace(c.tb, c.raw, name)
		if err != nil {
			continue // the adapter may refuse a name
		}
		opened, names = append(opened, c.observe(raw)), append(names, name)
	}
	if len(opened) < 2 {
		c.notVerified("the adapter refuses all names but %v", names)
	}
	live := c.a
	defer func() { c.a = live }()
	// The same keys in every namespace, each with different contents.
	u, a, s, t, w := c.newUser(), c.newAccount(""), c.newSession(""), c.newToken(), c.newAuthenticator("")
	u.ID = c.id()
	type contents struct {
		user          *adapter.User
		account       adapter.Account
		session       adapter.Session
		token         adapter.VerificationToken
		authenticator adapter.Authenticator
	}
	all := make([]contents, len(opened))
	has := func(methods ...string) bool {
		for _, m := range methods {
			if !c.works(m) {
				return false
			}
		}
		return true
	}
	accounts, sessions := has("LinkAccount", "GetAccount", "GetUserByAccount"), has("CreateSession", "GetSessionAndUser")
	tokens, authenticators := has("CreateVerificationToken", "UseVerificationToken"), has("CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID")
	for i := range opened {
		c.a = opened[i]
		x := &all[i]
		v := u
		v.Name = new(c.unique(names[i]))
		x.user = c.createUser(v)
		x.account, x.session, x.token, x.authenticator = a, s, t, w
		x.account.UserID, x.session.UserID, x.authenticator.UserID = x.user.ID, x.user.ID, x.user.ID
		x.account.Scope, x.authenticator.Counter = new(c.unique("scope")), int64(100+i)
		x.session.Expires, x.token.Expires = c.instant(time.Duration(i+1)*time.Hour), c.instant(time.Duration(i+1)*time.Hour)
		if accounts {
			c.linkAccount(x.account)
		}
		if sessions {
			c.createSession(x.session)
		}
		if tokens {
			c.createToken(x.token)
		}
		if authenticators {
			c.createAuthenticator(x.authenticator)
		}
	}
	judge := func(i int, when string) {
		c.a = opened[i]
		x := all[i]
		what := fmt.Sprintf(" in namespace %q %s", names[i], when)
		c.same("GetUser"+what, c.getUser(x.user.ID), x.user)
		c.same("GetUserByEmail"+what, c.getUserByEmail(x.user.Email), x.user)
		if accounts {
			c.same("GetAccount"+what, c.getAccount(x.account.Key()), &x.account)
			c.same("GetUserByAccount"+what, c.getUserByAccount(x.account.Key()), x.user)
		}
		if sessions {
			c.same("GetSessionAndUser"+what, c.getSession(x.session.SessionToken), &adapter.SessionAndUser{Session: x.session, User: *x.user})
		}
		if authenticators {
			c.same("GetAuthenticator"+what, c.getAuthenticator(x.authenticator.CredentialID), &x.authenticator)
			c.sameAuthenticators("ListAuthenticatorsByUserID"+what, c.listAuthenticators(x.user.ID), []adapter.Authenticator{x.authenticator})
		}
		if accounts && c.works("ListAccountsByUserID") {
			c.same("ListAccountsByUserID"+what, of[[]adapter.Account](c, listAccounts(x.user.ID)), []adapter.Account{x.account})
		}
		if sessions && c.works("ListSessionsByUserID") {
			c.same("ListSessionsByUserID"+what, of[[]adapter.Session](c, listSessions(x.user.ID)), []adapter.Session{x.session})
		}
	}
	for i := range opened {
		judge(i, "beside others")
	}
	// inFirst makes a call in the first, whose name is a prefix of the others.
	first := all[0]
	inFirst := func(m call) {
		if !c.works(m.method) {
			return
		}
		if _, err := m.do(c.ctx, opened[0]); err != nil && !errors.Is(err, adapter.ErrUnsupported) {
			c.Errorf("%s in namespace %q: %v", m.method, names[0], err)
		}
		for i := range opened[1:] {
			judge(i+1, fmt.Sprintf("after %s in %q", m.method, names[0]))
		}
	}
	counter := first.authenticator.Counter
	inFirst(updateUser(adapter.UserUpdate{ID: first.user.ID, Name: adapter.To(new(c.unique("changed")))}))
	if accounts {
		inFirst(updateAccount(adapter.AccountUpdate{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID, Scope: adapter.To(new(c.unique("changed")))}))
	}
	if sessions {
		inFirst(updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(100 * time.Hour))}))
	}
	if authenticators {
		inFirst(touchAuthenticator(w.CredentialID, counter, counter+1, c.instant(0)))
		inFirst(updateCounter(w.CredentialID, counter+2))
		inFirst(renameAuthenticator(first.user.ID, w.CredentialID, c.unique("changed")))
	}
	c.a = live
	c.absent("GetUserByEmail outside the namespaces", c.getUserByEmail(u.Email), nil)
	c.a = opened[0]
	if o := c.a.(*observer); c.harness().Sweep != nil {
		if err := c.harness().Sweep(c.ctx, o.next, c.now()); err != nil {
			c.Errorf("clean-up: %v", err)
		}
	} else if sweeper, ok := o.next.(adapter.Sweeper); ok {
		// All records in the first have expired by then, and those in the
		// others too.
		if _, err := sweeper.DeleteExpired(c.ctx, c.now().Add(365*day)); err != nil {
			c.Errorf("clean-up: %v", err)
		}
	}
	for i := range opened[1:] {
		judge(i+1, "after clean-up in "+names[0])
	}
	if authenticators {
		inFirst(deleteAuthenticator(first.user.ID, w.CredentialID, false))
	}
	inFirst(deleteSessions(first.user.ID, ""))
	inFirst(deleteSession(s.SessionToken))
	inFirst(unlinkAccount(a.Key()))
	inFirst(useToken(t.Key()))
	inFirst(deleteTokens(t.Identifier))
	inFirst(deleteUser(first.user.ID))
	if c.works("DeleteUser") {
		c.a = opened[0]
		c.absent("GetUser of a deleted user", c.getUser(first.user.ID), nil)
		again := signUp{user: u, account: a, authenticator: w}
		again.account.Type, again.authenticator.ProviderAccountID = adapter.AccountWebAuthn, a.ProviderAccountID
		inFirst(again.call())
	}
	for i := range opened[1:] {
		if tokens {
			c.a = opened[i+1]
			got := c.useToken(t.Key())
			c.same(fmt.Sprintf("UseVerificationToken in namespace %q after one in %q", names[i+1], names[0]), got, &all[i+1].token)
		}
	}
}

// readsUnderWayHideNoWrite is ISO-08: while a read of a user runs, the user is
// changed and read again through the same adapter.
func readsUnderWayHideNoWrite(c *clauseContext) {
	if bound := c.harness().Declarations.EventualReads; bound > 0 {
		c.notApplicable("writes become visible within %v", bound)
	}
	u := c.user()
	n := 0
	changeAndRead := func(how string) {
		n++
		name := new(fmt.Sprintf("change %d", n))
		_, err := c.raw.UpdateUser(c.ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(name)})
		must(c, "UpdateUser", u, err)
		methods := []string{"GetUser"}
		if !c.lacks("GetUserByEmail") {
			methods = append(methods, "GetUserByEmail")
		}
		for i := range methods { // in turn, each method is the first one after the write
			method := methods[(i+n)%len(methods)]
			got, err := (*adapter.User)(nil), error(nil)
			if method == "GetUser" {
				got, err = c.raw.GetUser(c.ctx, u.ID)
			} else {
				got, err = c.raw.GetUserByEmail(c.ctx, u.Email)
			}
			got = mustRecord(c, method, got, err)
			if got.Name == nil || *got.Name != *name {
				c.Fatalf("%s: %s after UpdateUser had returned: got the name %s, want %q", how, method, diff.Show(got.Name), *name)
			}
		}
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = c.raw.GetUser(c.ctx, u.ID)
					if !c.lacks("GetUserByEmail") {
						_, _ = c.raw.GetUserByEmail(c.ctx, u.Email)
					}
				}
			}
		})
	}
	func() {
		defer func() { close(stop); readers.Wait() }()
		for end := time.Now().Add(c.span(200*time.Millisecond) / c.haste); n < 20 || time.Now().Before(end); {
			// The reads run in step with one another; the write must be out
			// of step.
			for free := time.Now().Add(time.Duration(c.rand.IntN(150)) * time.Microsecond); time.Now().Before(free); {
				runtime.Gosched()
			}
			changeAndRead("while other goroutines read")
		}
	}()
	c.firstReadsBesideWrites()
	control := c.faults()
	if control == nil {
		c.Notef("no answers were held: the harness has no %s", abilityFaults)
		return
	}
	defer control.Heal()
	for _, read := range []func(){
		func() { _, _ = c.raw.GetUser(c.ctx, u.ID) },
		func() {
			if !c.lacks("GetUserByEmail") {
				_, _ = c.raw.GetUserByEmail(c.ctx, u.Email)
			}
		},
	} {
		hold, err := control.Inject(fault.HoldReply, 1)
		if err != nil {
			c.notVerified("hold an answer: %v", err)
		}
		done, changed := make(chan struct{}), make(chan struct{})
		go func() { defer close(done); read() }()
		select {
		case <-hold.Hit():
		case <-done:
			hold.Release()
			continue
		}
		go func() { defer close(changed); changeAndRead("while the answer to an earlier read was held") }()
		timer := time.NewTimer(4 * heldPause)
		select {
		case <-changed:
		case <-timer.C: // the write waits for the held read
		}
		timer.Stop()
		hold.Release()
		<-done
		<-changed
		if c.failed() {
			return
		}
	}
}

// firstReadsBesideWrites reads new records for the first time at the moment when they
// are changed or deleted. Later reads find the new state: no read puts an old record
// into a cache after the write has cleared it.
func (c *clauseContext) firstReadsBesideWrites() {
	type records struct {
		user adapter.User
		freshRecord
	}
	type read struct {
		method string
		of     Kind
		call   func(x *records) call
		want   func(x *records) any
		writes []string
	}
	user := func(x *records) any { return &x.user }
	itself := func(x *records) any { return x.value }
	var races []func(n int) raceCase
	for _, r := range []read{
		{"GetUser", UserRecord, func(x *records) call { return getUser(x.user.ID) }, user, []string{"UpdateUser", "DeleteUser"}},
		{"GetUserByEmail", UserRecord, func(x *records) call { return getUserByEmail(x.user.Email) }, user, []string{"UpdateUser", "DeleteUser"}},
		{"GetUserByAccount", AccountRecord, func(x *records) call { return getUserByAccount(x.Account) }, user, []string{"UpdateUser", "UnlinkAccount", "DeleteUser"}},
		{"GetAccount", AccountRecord, func(x *records) call { return getAccount(x.Account) }, itself, []string{"UpdateAccount", "UnlinkAccount", "DeleteUser"}},
		{"GetSessionAndUser", SessionRecord, func(x *records) call { return getSession(x.Key) }, func(x *records) any {
			return &adapter.SessionAndUser{Session: *x.value.(*adapter.Session), User: x.user}
		}, []string{"UpdateSession", "UpdateUser", "DeleteSession", "DeleteUser"}},
		{"GetAuthenticator", AuthenticatorRecord, func(x *records) call { return getAuthenticator(x.Key) }, itself,
			[]string{"UpdateAuthenticatorCounter", "DeleteAuthenticator", "DeleteUser"}},
	} {
		if !c.works(r.method) || !c.works(kindOf(r.of).create) {
			continue
		}
		for _, write := range r.writes {
			if !c.works(write) {
				continue
			}
			races = append(races, func(n int) raceCase {
				x := &records{user: *c.rawUser()}
				if r.of != UserRecord {
					x.freshRecord = kindOf(r.of).fresh(c, x.user.ID)
					x.store(c, c.raw)
				}
				first := r.call(x)
				change, apply := c.writeTo(write, &x.user, x.freshRecord)
				k := raceCase{calls: append([]call{first, change}, slices.Repeat([]call{first}, n-2)...)}
				k.verify = func(h []operation) error {
					if h[1].err != nil {
						return nil //nolint:nilerr // nothing was promised
					}
					got, err := first.do(c.ctx, c.raw)
					switch {
					case err != nil:
						return fmt.Errorf("%s after %s: %w", r.method, write, err)
					case apply == nil:
						return unless(isNilRecord(got), "%s after %s, beside which others read: got %s, want absent", r.method, write, diff.Show(got))
					}
					apply()
					d := c.unlike(got, r.want(x))
					return unless(d == "", "%s after %s, beside which others read: %s", r.method, write, d)
				}
				return k
			})
		}
	}
	c.raceEach(c.handles(), 6, races)
}

// writeTo returns a call that changes or deletes the user or another record. For a change it also
// returns a function that applies it to the records.
func (c *clauseContext) writeTo(method string, u *adapter.User, r freshRecord) (write call, apply func()) {
	switch method {
	case "UpdateUser":
		update := c.userUpdate(u.ID, []string{"name"})
		return updateUser(update), func() { update.Apply(u) }
	case "UpdateAccount":
		update := c.accountUpdate(r.Account, []string{"scope"})
		return updateAccount(update), func() { update.Apply(r.value.(*adapter.Account)) }
	case "UpdateSession":
		update := adapter.SessionUpdate{SessionToken: r.Key, Expires: adapter.To(c.instant(3 * time.Hour))}
		return updateSession(update), func() { update.Apply(r.value.(*adapter.Session)) }
	case "UpdateAuthenticatorCounter":
		w := r.value.(*adapter.Authenticator)
		return updateCounter(w.CredentialID, w.Counter+1), func() { w.Counter++ }
	case "DeleteUser":
		return deleteUser(u.ID), nil
	default:
		return r.remove, nil
	}
}
