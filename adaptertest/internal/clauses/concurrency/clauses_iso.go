package concurrency

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var isoClauses = []kit.Check{
	{ID: "ISO-01", Words: "two-stores-share-nothing", Alone: true, Requires: []string{"CreateUser", "GetUserByEmail"}, Test: twoStoresShareNothing},
	{ID: "ISO-02", Words: "namespaces-share-nothing", Needs: []kit.Ability{kit.AbilityNamespace}, Test: namespacesShareNothing},
	{ID: "ISO-03", Words: "second-adapter-sees-writes", Races: true, Needs: []kit.Ability{kit.AbilitySecond}, Test: func(c *kit.Context) {
		other := kit.Second(c)
		times := 3
		if c.Brief {
			times = 1
		}
		for range times {
			crossRead(c, c.Adapter, other)
			crossRead(c, other, c.Adapter)
			if c.Failed() {
				return
			}
		}
		looksAroundWrites(c, c.Adapter, other)
		looksAroundWrites(c, other, c.Adapter)
		if c.Harness().Declarations.EventualReads == 0 {
			randomSequences(c, 2)
		}
	}},
	{ID: "ISO-04", Words: "data-outlives-close", Test: func(c *kit.Context) {
		if why := c.Harness().Declarations.Volatile; why != "" {
			c.NotApplicable("nothing is kept beyond Close: %s", why)
		}
		c.Need(kit.AbilityClose)
		c.Need(kit.AbilityReopen)
		residents := kit.Residents(c, 2)
		kit.Reopen(c)
		kit.Intact(c, residents)
		c.User() // and the adapter still works
	}},
	{ID: "ISO-05", Words: "writes-are-visible-at-once", Races: true, Test: func(c *kit.Context) {
		if bound := c.Harness().Declarations.EventualReads; bound > 0 {
			c.NotApplicable("writes become visible within %v", bound)
		}
		times := max(5, c.Rounds(50))
		switch {
		case c.Brief:
			times = 1
		case c.Hurried:
			times = max(5, c.Rounds(15))
		}
		for range times {
			crossRead(c, c.Adapter, c.Adapter)
			if c.Failed() {
				return
			}
		}
		looksAroundWrites(c, c.Adapter, c.Adapter)
		race.WritesInTurn(c)
		randomSequences(c, 1)
	}},
	{ID: "ISO-06", Words: "eventual-reads-keep-their-bound", Test: func(c *kit.Context) {
		bound := c.Harness().Declarations.EventualReads
		if bound == 0 {
			c.Notef("no eventual reads are declared")
			return
		}
		worst := time.Duration(0)
		for range c.Rounds(10) {
			u := kit.RawUser(c)
			start := time.Now()
			for {
				got, err := c.Raw.GetUserByEmail(c.Ctx, u.Email)
				if kit.Must(c, "GetUserByEmail", got, err) != nil {
					break
				}
				if took := time.Since(start); took > bound {
					c.Fatalf("a new user is not visible after %v, declared are %v", took, bound)
				}
				kit.Wait(c, bound/20)
			}
			worst = max(worst, time.Since(start))
		}
		c.Notef("a new user was visible within %v, declared are %v", worst, bound)
	}},
	{ID: "ISO-07", Words: "use-of-a-token-is-exact", Races: true, Requires: []string{"CreateVerificationToken", "UseVerificationToken"}, Test: func(c *kit.Context) {
		racers := min(16, c.Most)
		adapters := []adapter.Adapter{c.Raw, c.Raw}
		if c.Has(kit.AbilitySecond) {
			adapters[1] = kit.Second(c)
		}
		for range c.Rounds(12) {
			t := kit.StoreRaw(c, kit.CreateVerificationToken, c.NewToken())
			var winners atomic.Int32
			c.Parallel(racers, func(i int) {
				if got, err := adapters[i%2].UseVerificationToken(c.Ctx, t.Key()); err == nil && got != nil {
					winners.Add(1)
				}
			})
			if n := winners.Load(); n != 1 {
				c.Fatalf("%d of %d concurrent uses of one verification token got it, want 1", n, racers)
			}
			if got, err := c.Raw.UseVerificationToken(c.Ctx, t.Key()); err != nil || got != nil {
				c.Fatalf("the use of a token that is used up: got %s, %v, want absent", diff.Show(got), err)
			}
		}
	}},
	{ID: "ISO-08", Words: "reads-under-way-hide-no-write", Races: true, Requires: []string{"CreateUser", "GetUser", "UpdateUser"}, Test: readsUnderWayHideNoWrite},
}

// crossRead makes each kind of write through one adapter and reads at once through another, by every lookup. The
// reader reads a record before its deletion too, in case it caches records.
func crossRead(c *kit.Context, writer, reader adapter.Adapter) {
	live := c.Adapter
	defer func() { c.Adapter = live }()
	at := func(a adapter.Adapter) *kit.Context { c.Adapter = a; return c }
	if c.Stores(kit.VerificationTokenRecord) {
		t := at(writer).Token()
		c.Same("UseVerificationToken of a new token", at(reader).UseToken(t.Key()), &t)
		c.Absent("UseVerificationToken of a used token", at(writer).UseToken(t.Key()), nil)
		c.Absent("UseVerificationToken of a used token", at(reader).UseToken(t.Key()), nil)
	}
	if !c.Stores(kit.UserRecord) || !c.Works("GetUserByEmail") {
		return
	}
	k := kit.RecordsOf(at(writer).User())
	sees := func(after string) {
		kit.Compare(c, at(reader).Adapter, "after "+after, k.Expected())
		if c.Stores(kit.AuthenticatorRecord) {
			kit.Compare(c, reader, "after "+after, k.Lists()[:1])
		}
	}
	absent := func(after string, all []kit.Expected) {
		for _, x := range all {
			if c.Works(x.Method) {
				c.Absent(x.Method+" after "+after, kit.Of[any](at(reader), x.Call), nil)
			}
		}
	}
	update := func(fields ...string) {
		if c.Works("UpdateUser") {
			k.User = *at(writer).UpdateUser(kit.UserUpdate(c, k.User.ID, fields))
			sees("UpdateUser")
		}
	}
	sees("CreateUser")
	old := k.User.Email
	if update(kit.UserFields...); c.Works("UpdateUser") {
		c.Absent("GetUserByEmail of the address before UpdateUser", c.GetUserByEmail(old), nil)
	}
	for _, kind := range []kit.Kind{kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord} {
		if !c.Stores(kind) || kind == kit.AuthenticatorRecord && !c.Works("ListAuthenticatorsByUserID") {
			continue
		}
		store := func() *kit.Draft {
			d := kit.NewDraft(c, kind, k.User.ID)
			d.Store(c, writer)
			k.Add(d)
			sees(d.Create().Method)
			return d
		}
		store()
		if kind == kit.SessionRecord && c.Works("UpdateSession") {
			kit.Extend(at(writer), &k.Sessions[0], c.Instant(3*time.Hour))
			sees("UpdateSession")
		}
		if kind == kit.SessionRecord {
			update("name")
		}
		if kind == kit.AuthenticatorRecord && c.Works("UpdateAuthenticatorCounter") {
			w := &k.Authenticators[0]
			w.Counter += 5
			at(writer).UpdateCounter(w.CredentialID, w.Counter)
			sees("UpdateAuthenticatorCounter")
		}
		if remove := kit.NewDraft(c, kind, "").Remove().Method; kind == kit.AuthenticatorRecord || !c.Works(remove) {
			continue
		}
		kept := *k
		removed := store().Remove()
		kit.Of[any](at(writer), removed)
		only := kit.Records{Accounts: k.Accounts[len(kept.Accounts):], Sessions: k.Sessions[len(kept.Sessions):]}
		*k = kept
		absent(removed.Method, only.Expected()[2:])
	}
	if c.Works("DeleteUser") {
		sees("the writes before")
		at(writer).DeleteUser(k.User.ID)
		absent("DeleteUser", k.Expected())
		if c.Stores(kit.AuthenticatorRecord) {
			k.Authenticators = nil
			kit.Compare(c, reader, "after DeleteUser", k.Lists()[:1])
		}
	}
}

// looksAroundWrites makes each write through one adapter, also of each field alone, and every lookup and list through
// another, before and after each write: what was read before must not hide the change, whatever the write changes
// besides its own record. Without users there are no records that a write could change besides.
func looksAroundWrites(c *kit.Context, writer, reader adapter.Adapter) {
	if !c.Works("CreateUser") {
		return
	}
	k := kit.NewFixture(c, writer)
	m, look := faulted.ModelOf(k, c), k.Keys()
	compare := func(when string) {
		got, err := kit.Snapshot(c.Ctx, c, reader, look)
		kit.Must(c, "a lookup "+when, got, err)
		for _, d := range kit.Differences(c, got, faulted.SnapshotOfModel(c, m, look)) {
			c.Errorf("%s: %s", when, d)
		}
	}
	compare("before the writes")
	alone := []kit.Call{kit.RenameAuthenticator(k.User.ID, k.Authenticator.CredentialID, c.Unique("name"))}
	for _, field := range kit.UserFields {
		alone = append(alone, kit.UpdateUser(kit.UserUpdate(c, k.User.ID, []string{field})))
	}
	for _, field := range kit.AccountFields {
		alone = append(alone, kit.UpdateAccount(kit.AccountUpdate(c, k.Account.Key(), []string{field})))
	}
	for n, w := range c.Working(append(alone, k.Writes()...)) {
		if kit.AssignsIDs(c) && strings.HasPrefix(w.Method, "CreateUser") {
			continue
		}
		_, err := w.Do(c.Ctx, writer)
		if errors.Is(err, adapter.ErrUnsupported) {
			continue // the store has no place for names
		}
		kit.Must(c, w.Method, w, err)
		_, err = w.Do(c.Ctx, m)
		kit.Must(c, "the model's "+w.Method, w, err)
		if n%min(4, c.Stride) == 0 {
			compare("after " + w.Method + ", with all lookups made before it too")
		}
		if c.Failed() {
			return
		}
	}
}

// twoStoresShareNothing is ISO-01. If the harness opens every adapter over one store, the clause is not verified. The
// harness need not declare that for a store outside the process, or if New always returns the same adapter.
func twoStoresShareNothing(c *kit.Context) {
	c.UninvolvedGone = true // New may empty the store that it shares
	other := c.Harness().New(c.TB)
	second := c.Observe(other)
	u := c.User()
	got, err := other.GetUserByEmail(c.Ctx, u.Email)
	if err != nil {
		c.Errorf("GetUserByEmail through an adapter over another store: %v", err)
	}
	if got != nil {
		if c.Harness().SharedStore || same(reflect.ValueOf(c.Raw), reflect.ValueOf(other)) || outside(c.Raw) || outside(other) {
			c.NotVerified("New opens its adapters over one store")
		}
		c.Fatalf("a user that was created through one adapter is found through another that New opened: the state belongs to the package (or else the harness has to set SharedStore)")
	}
	mine := kit.NewFixture(c, c.Adapter).Keys()
	if kit.AssignsIDs(c) {
		mine.Users = nil // two stores may number their users alike
	}
	for i, a := range []adapter.Adapter{c.Adapter, other} { // what the first reads may go into a cache
		seen, err := kit.Snapshot(c.Ctx, c, a, mine)
		for _, s := range kit.Must(c, "a lookup", seen, err) {
			if i > 0 && !kit.IsNothing(s.Record) {
				c.Errorf("%s through an adapter over another store: got %s, want absent", s, diff.Show(s.Record))
			}
		}
	}
	c.Parallel(2, func(i int) {
		a := []adapter.Adapter{c.Adapter, second}[i]
		for range 20 {
			if _, err := a.CreateUser(c.Ctx, c.NewUser()); err != nil {
				c.Errorf("CreateUser while an adapter over another store is busy: %v", err)
			}
		}
	})
	// The same keys in both.
	for _, a := range []adapter.Adapter{c.Adapter, second} {
		v := kit.UserAt(c, "same-"+u.Email)
		created, err := a.CreateUser(c.Ctx, v)
		if err != nil || created == nil {
			c.Errorf("CreateUser with an address that is taken in another store: %v", err)
			continue
		}
		if c.Stores(kit.SessionRecord) {
			s := adapter.Session{SessionToken: "session-of-" + u.Email, UserID: created.ID, Expires: c.Instant(time.Hour)}
			if _, err := a.CreateSession(c.Ctx, s); err != nil {
				c.Errorf("CreateSession with a token that is in use in another store: %v", err)
			}
			got, err := a.GetSessionAndUser(c.Ctx, s.SessionToken)
			if kit.Must(c, "GetSessionAndUser", got, err) == nil || got.User.Email != created.Email || c.Unlike(got.User, *created) != "" {
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

// outside reports whether an adapter holds a value that may belong to a store outside the process.
func outside(a adapter.Adapter) bool {
	v := reflect.ValueOf(a)
	g := graph{home: reflect.Indirect(v).Type().PkgPath(), seen: map[[2]any]bool{}}
	g.walk(v)
	return g.outside
}

// graph is a walk over the memory that an adapter points to.
type graph struct {
	home    string          // the package of the adapter
	seen    map[[2]any]bool // the pointers that were followed, with their types
	outside bool
}

// foreign reports whether a type of the package may belong to a store outside the process.
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

// walk searches everything that v points to for a value of a foreign package, or a value that can't be inspected.
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
		pointer := [2]any{v.Pointer(), v.Type()}
		if v.IsNil() || g.seen[pointer] {
			return
		}
		g.seen[pointer] = true
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

// openNamespaces opens namespaces whose names are prefixes of one another, or hold
// characters that mean something in a pattern.
func openNamespaces(c *kit.Context) (opened []adapter.Adapter, names []string) {
	suffixes := []string{"2", "_", ":", "*", "%", "[2]", "?"}
	if c.Brief {
		c.Rand.Shuffle(len(suffixes), func(i, j int) { suffixes[i], suffixes[j] = suffixes[j], suffixes[i] })
	}
	for _, suffix := range append([]string{""}, suffixes...) {
		if c.Brief && len(opened) == 3 {
			break
		}
		name := "n" + strings.ToLower(c.Run.Nonce) + suffix
		raw, err := c.Harness().Namespace(c.TB, c.Raw, name)
		if err != nil {
			continue // the adapter may refuse a name
		}
		opened, names = append(opened, c.Observe(raw)), append(names, name)
	}
	if len(opened) < 2 {
		c.NotVerified("the adapter refuses all names but %v", names)
	}
	return opened, names
}

// inNamespace stores the records in the namespace with the number, with contents of its own.
func inNamespace(c *kit.Context, a adapter.Adapter, name string, n int, x kit.Draft) *kit.Records {
	x.User.Name, x.Account.Scope, x.Authenticator.Counter = new(c.Unique(name)), new(c.Unique("scope")), int64(100+n)
	x.Expire(c.Instant(time.Duration(n+1) * time.Hour))
	k := &kit.Records{}
	for _, kind := range kit.RecordKinds {
		if x.Kind = kind.Kind; !c.Stores(x.Kind) {
			continue
		}
		x.Store(c, a)
		k.Add(&x)
		x.Give(x.User.ID)
	}
	return k
}

// namespacesShareNothing is ISO-02: the same keys are in every namespace. Calls in the first,
// whose name is a prefix of the others, change nothing in the others.
func namespacesShareNothing(c *kit.Context) {
	opened, names := openNamespaces(c)
	c.Requires("CreateUser", "GetUser", "GetUserByEmail")
	x := kit.NewDrafts(c)
	x.User.ID = c.ID()
	all := kit.Numbered(len(opened), func(i int) *kit.Records { return inNamespace(c, opened[i], names[i], i, x) })
	judge := func(from int, when string) {
		for i := from; i < len(opened); i++ {
			kit.Compare(c, opened[i], fmt.Sprintf("in namespace %q %s", names[i], when), append(all[i].Expected(), all[i].Lists()...))
		}
	}
	judge(0, "beside others")
	inFirst := func(calls ...kit.Call) {
		for _, m := range c.Working(calls) {
			if _, err := m.Do(c.Ctx, opened[0]); err != nil && !errors.Is(err, adapter.ErrUnsupported) {
				c.Errorf("%s in namespace %q: %v", m.Method, names[0], err)
			}
			judge(1, fmt.Sprintf("after %s in %q", m.Method, names[0]))
		}
	}
	account, session, token, credential, counter := x.Account.Key(), x.Session.SessionToken, x.Token.Key(), x.Authenticator.CredentialID, int64(100)
	user := all[0].User.ID
	inFirst(
		kit.UpdateUser(kit.UserUpdate(c, user, []string{"name"})),
		kit.UpdateAccount(kit.AccountUpdate(c, account, []string{"scope"})),
		kit.ExtendSession(session, c.Instant(100*time.Hour)),
		kit.TouchAuthenticator(credential, counter, counter+1, c.Instant(0)),
		kit.UpdateAuthenticatorCounter(credential, counter+2),
		kit.RenameAuthenticator(user, credential, c.Unique("changed")),
	)
	c.Absent("GetUserByEmail outside the namespaces", c.GetUserByEmail(x.User.Email), nil)
	cleanUpIn(c, opened[0].(*kit.Observer).Next)
	judge(1, "after clean-up in "+names[0])
	inFirst(
		kit.DeleteAuthenticator(user, credential, false),
		kit.DeleteSessionsByUserID(user, ""),
		kit.DeleteSession(session),
		kit.UnlinkAccount(account),
		kit.UseVerificationToken(token),
		kit.DeleteVerificationTokens(token.Identifier),
		kit.DeleteUser(user),
	)
	if c.Works("DeleteUser") {
		got, err := opened[0].GetUser(c.Ctx, user)
		c.Absent("GetUser of a deleted user", got, err)
		x.Account.Type, x.Authenticator.ProviderAccountID = adapter.AccountWebAuthn, account.ProviderAccountID
		inFirst(x.Call())
	}
	for i, k := range all[1:] {
		for _, t := range k.Tokens {
			got, err := opened[i+1].UseVerificationToken(c.Ctx, token)
			what := fmt.Sprintf("UseVerificationToken in namespace %q after one in %q", names[i+1], names[0])
			c.Same(what, kit.Must(c, what, got, err), &t)
		}
	}
}

// cleanUpIn cleans up, if the adapter can with an instant after all records have expired.
func cleanUpIn(c *kit.Context, a adapter.Adapter) {
	by := c.Now()
	if _, ok := a.(adapter.Sweeper); ok && c.Harness().Sweep == nil {
		by = by.Add(365 * kit.Day)
	} else if c.Harness().Sweep == nil {
		return
	}
	if err := kit.TrySweep(c, a, by); err != nil {
		c.Errorf("clean-up: %v", err)
	}
}

// readsUnderWayHideNoWrite is ISO-08: while a read of a user runs, the user is
// changed and read again through the same adapter.
func readsUnderWayHideNoWrite(c *kit.Context) {
	if bound := c.Harness().Declarations.EventualReads; bound > 0 {
		c.NotApplicable("writes become visible within %v", bound)
	}
	u := c.User()
	reads := c.Working([]kit.Call{kit.GetUser(u.ID), kit.GetUserByEmail(u.Email)})
	n := 0
	changeAndRead := func(how string) {
		n++
		name := new(fmt.Sprintf("change %d", n))
		_, err := c.Raw.UpdateUser(c.Ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(name)})
		kit.Must(c, "UpdateUser", u, err)
		for i := range reads { // in turn, each method is the first one after the write
			read := reads[(i+n)%len(reads)]
			got := kit.MustRecord(c, read.Method, kit.Done(c, c.Raw, read).(*adapter.User), nil)
			if got.Name == nil || *got.Name != *name {
				c.Fatalf("%s: %s after UpdateUser had returned: got the name %s, want %q", how, read.Method,
					diff.Show(got.Name), *name)
			}
		}
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				for _, read := range reads {
					_, _ = read.Do(c.Ctx, c.Raw)
				}
			}
		})
	}
	func() {
		defer func() { stop.Store(true); readers.Wait() }()
		for end := time.Now().Add(c.Span(200*time.Millisecond) / c.Haste); n < 20 || time.Now().Before(end); {
			// The reads run in step with one another; the write must be out of step.
			for free := time.Now().Add(time.Duration(c.Rand.IntN(150)) * time.Microsecond); time.Now().Before(free); {
				runtime.Gosched()
			}
			changeAndRead("while other goroutines read")
		}
	}()
	firstReadsBesideWrites(c)
	control := kit.Faults(c)
	if control == nil {
		c.Notef("no answers were held: the harness has no %s", kit.AbilityFaults)
		return
	}
	defer control.Heal()
	for _, read := range reads {
		changed := make(chan struct{})
		if race.AtHeldAnswer(c, 1, func(ctx context.Context) { _, _ = read.Do(ctx, c.Raw) }, func() {
			go func() { defer close(changed); changeAndRead("while the answer to an earlier read was held") }()
			faulted.Soon(changed, 4*kit.HeldPause) // the write may wait for the held read
		}) {
			<-changed
		}
		if c.Failed() {
			return
		}
	}
}

// firstReadsBesideWrites reads new records for the first time at the moment when they are changed or deleted. Later
// reads find the new state: no read puts an old record into a cache after the write has cleared it.
func firstReadsBesideWrites(c *kit.Context) {
	var races []func(n int) race.Case
	writes := map[string][]string{
		"GetUser":           {"UpdateUser", "DeleteUser"},
		"GetUserByEmail":    {"UpdateUser", "DeleteUser"},
		"GetUserByAccount":  {"UpdateUser", "UnlinkAccount", "DeleteUser"},
		"GetAccount":        {"UpdateAccount", "UnlinkAccount", "DeleteUser"},
		"GetSessionAndUser": {"UpdateSession", "UpdateUser", "DeleteSession", "DeleteUser"},
		"GetAuthenticator":  {"UpdateAuthenticatorCounter", "DeleteAuthenticator", "DeleteUser"},
	}
	for _, lookup := range lookupsOfStored(c, faulted.Lookups...) {
		for _, write := range c.Having(writes[lookup]) {
			races = append(races, func(n int) race.Case {
				x, read := storedFor(c, lookup)
				change, apply := writeTo(c, write, x)
				return race.Case{Calls: oneAmong(change, read, n), Verify: func(h []race.Operation) error {
					if h[1].Err != nil {
						return nil //nolint:nilerr // nothing was promised
					}
					got, err := read.Do(c.Ctx, c.Raw)
					switch {
					case err != nil:
						return fmt.Errorf("%s after %s: %w", lookup, write, err)
					case apply == nil:
						return race.Unless(kit.IsNilRecord(got), "%s after %s, beside which others read: got %s, want absent", lookup, write, diff.Show(got))
					}
					apply()
					want := x.Found()
					if lookup == "GetUserByAccount" {
						want = &x.User
					}
					d := c.Unlike(got, want)
					return race.Unless(d == "", "%s after %s, beside which others read: %s", lookup, write, d)
				}}
			})
		}
	}
	race.Each(c, kit.Handles(c), 6, races)
}

// writeTo returns a call that changes or deletes the user or another record. For a change it also
// returns a function that applies it to the records.
func writeTo(c *kit.Context, method string, x *kit.Draft) (write kit.Call, apply func()) {
	switch method {
	case "UpdateUser":
		update := kit.UserUpdate(c, x.User.ID, []string{"name"})
		return kit.UpdateUser(update), func() { update.Apply(&x.User) }
	case "UpdateAccount":
		update := kit.AccountUpdate(c, x.Account.Key(), []string{"scope"})
		return kit.UpdateAccount(update), func() { update.Apply(&x.Account) }
	case "UpdateSession":
		update := adapter.SessionUpdate{SessionToken: x.Session.SessionToken, Expires: adapter.To(c.Instant(3 * time.Hour))}
		return kit.UpdateSession(update), func() { update.Apply(&x.Session) }
	case "UpdateAuthenticatorCounter":
		w := &x.Authenticator
		return kit.UpdateAuthenticatorCounter(w.CredentialID, w.Counter+1), func() { w.Counter++ }
	case "DeleteUser":
		return kit.DeleteUser(x.User.ID), nil
	default:
		return x.Remove(), nil
	}
}

// randomSequences compares the adapter, or with two handles both handles of one store, with the model over random
// sequences of calls of all methods that the adapter has. A sequence that differs is made shorter in a store opened
// afresh: what it needs of earlier sequences it lacks there.
func randomSequences(c *kit.Context, handles int) {
	var found *machine
	raw, store := c.Raw, handlesOf(c, c.Raw, handles)
	move := kit.SessionsMove(c)
	sequences, baseline := 0, kit.FewestSequences
	before, again := 0, 0 // sequences before the one that differs, and those that differ after it
	search := c.Span(kit.MachineTime)
	if handles > 1 {
		search = search / c.Haste // the search through one handle takes its whole time
	}
	limit := time.Now().Add(search)
	property := func(t *rapid.T) {
		if sequences >= baseline && time.Now().After(limit) {
			return
		}
		sequences++
		m := newMachine(c, raw, store)
		m.sessionsMove = move
		if rapid.Bool().Draw(t, "keys resemble each other") {
			m.resemble(t)
		}
		defer func() {
			if m.wrong == "" {
				return
			}
			if found == nil {
				limit, baseline = time.Now().Add(kit.ShrinkTime), sequences+min(c.Rounds(kit.FewestShrinks), kit.FewestShrinks)
				before = sequences - 1
				raw = c.Harness().New(c.TB)
				store = handlesOf(c, raw, handles)
			} else {
				again++
			}
			if found == nil || len(m.calls) <= len(found.calls) {
				found = m
			}
		}()
		actions := m.actions(t)
		m.begin(t, actions)
		t.Repeat(actions)
		m.compareAll(t)
	}
	for found == nil && (sequences < baseline || time.Now().Before(limit)) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			rapid.Check(&rapidTB{}, property)
		}()
		<-done
	}
	c.Notef("%d random sequences of calls", sequences)
	if found == nil {
		return
	}
	sequence := "the shortest sequence that was found"
	if again == 0 {
		sequence = fmt.Sprintf("and not after the same calls in a store opened afresh: the difference depends on what %d earlier sequences left behind, or on chance", before)
	}
	c.Fatalf("%s: %s; after these calls, %s:\n  %s", found.broken(), found.wrong, sequence,
		kit.OneEachLine(found.calls))
}

// handlesOf returns one or two handles of the store that raw is opened on.
func handlesOf(c *kit.Context, raw adapter.Adapter, n int) []adapter.Adapter {
	handles := []adapter.Adapter{c.Observe(raw)}
	if n == 2 {
		handles = append(handles, c.Observe(c.Harness().Second(c.TB, raw)))
	}
	return handles
}
