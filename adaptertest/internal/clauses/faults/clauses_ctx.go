package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var ctxClauses = []kit.Check{
	{ID: "CTX-01", Words: "cancelled-call-does-nothing", Test: func(c *kit.Context) {
		cancelled, cancel := context.WithCancelCause(c.Ctx)
		cancel(errors.New("the visitor has gone")) // the error of the context is context.Canceled all the same
		late, end := context.WithTimeout(c.Ctx, -time.Second)
		defer end()
		k := kit.NewFixture(c, c.Adapter)
		for _, m := range c.Working(append(k.Reads(), k.Writes()...)) {
			for _, ended := range []context.Context{cancelled, late} {
				start := time.Now()
				record, err := m.Do(ended, c.Adapter)
				if !errors.Is(err, ended.Err()) {
					c.Errorf("%s with a context that has ended: got %s, error %v; want an error that matches %q",
						m.Method, diff.Show(record), err, ended.Err())
				}
				if took := time.Since(start); took > faulted.Grace {
					c.Errorf("%s with a context that has ended took %v", m.Method, took)
				}
			}
		}
		if d := kit.Differences(c, see(c, k), faulted.SnapshotOfModel(c, faulted.ModelOf(k, c), k.Keys())); len(d) > 0 {
			c.Errorf("the cancelled calls changed something: %v", d)
		}
		if c.Works("UseVerificationToken") {
			c.Same("the token that a cancelled call was to use", c.UseToken(k.Token.Key()), &k.Token)
			c.Absent("the token that a cancelled call was to create", c.UseToken(k.New.Token.Key()), nil)
		}
	}},
	{ID: "CTX-02", Words: "stalled-call-ends-at-its-deadline", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		control := faulted.Control(c)
		defer control.Heal()
		hits := 0
		kit.Each(c, allMethods(c), itself, func(method string) bool {
			before, late := hits, 0
			kit.InTurn(c, min(3, c.Rounds(3)), func(step int) bool {
				for {
					k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
					m := k.CallOf(method)
					i := faulted.Inject(c, control, fault.Stall, step)
					start := time.Now()
					ctx, cancel := context.WithTimeout(c.Ctx, stallTime)
					_, err := within(c, ctx, stallTime+faulted.Grace, m, control)
					cancel()
					took, hit := time.Since(start), faulted.IsHit(i)
					i.Release()
					faulted.Mend(c, control)
					if !hit && took >= stallTime && late < 9 {
						late++ // on a busy machine the deadline passed before the step
						continue
					}
					if !hit {
						return false
					}
					hits++
					if took > stallTime+faulted.Grace {
						c.Errorf("%s, with a store that stalls at step %d and a deadline of %v, took %v", method,
							step, stallTime, took)
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						c.Errorf("%s, with a store that stalls at step %d: got error %v, want context.DeadlineExceeded", method, step, err)
					}
					return true
				}
			})
			return hits > before
		})
		kit.Each(c, allMethods(c), itsRecord, func(method string) bool { return endsBehindStalled(c, control, method) })
		faulted.MustHit(c, hits)
	}},
	{ID: "CTX-03", Words: "success-has-taken-effect", Test: func(c *kit.Context) {
		if len(c.Working(new(kit.Records).Writes())) == 0 {
			c.NotApplicable("the adapter has no writes")
		}
		p, stop := pair.New()
		defer stop()
		during := &pair.Canceller{Runner: p}
		// Each write has its own fixture, because a cancelled call may still have
		// effects after it has returned. CTX-07 judges these.
		try := func(method string, call func(w kit.Call) (record any, err error)) {
			k := kit.NewFixture(c, kit.Witness(c))
			w := k.CallOf(method)
			record, err := call(w)
			tookEffect(c, k, faulted.ModelOf(k, c), w, record, err)
		}
		var writes []string
		for _, w := range c.Working(new(kit.Records).Writes()) {
			writes = append(writes, w.Method)
		}
		eachPoint(c, writes, kit.TripLooks, 4, func(method string, n int) (come bool) {
			try(method, func(w kit.Call) (any, error) {
				ctx := pair.NewTripContext(c.Ctx, n)
				defer ctx.Cancel()
				record, err := w.Do(ctx, c.Raw)
				come = ctx.Tripped()
				return record, err
			})
			return come
		})
		var moments []string
		for turn := range c.Rounds(150) {
			moments = append(moments, writes[turn%len(writes)])
		}
		kit.Each(c, moments, itself, func(method string) bool {
			try(method, func(w kit.Call) (record any, err error) {
				during.Call(c.Ctx, func(ctx context.Context) { record, err = w.Do(ctx, c.Raw) })
				return record, err
			})
			return true
		})
		cancelLookups(c, during)
	}},
	{ID: "CTX-04", Words: "abandoned-calls-use-nothing-up", Needs: []kit.Ability{kit.AbilityLimited}, Test: func(c *kit.Context) {
		limited := c.Harness().Limited(c.TB)
		abandon(c, limited)
		c.Parallel(5, func(int) {
			for range max(2, c.Rounds(10)) {
				ctx, cancel := context.WithTimeout(c.Ctx, kit.Deadline)
				err := race.NormalCalls(ctx, c, limited)
				cancel()
				if err != nil {
					c.Fatalf("after calls that were cancelled: %v", err)
				}
			}
		})
	}},
	{ID: "CTX-05", Words: "cancelled-write-is-whole-or-none", Test: func(c *kit.Context) {
		cancelAtEachLook(c)
		if control := kit.Faults(c); control != nil {
			cancelAtEachStep(c, control)
		} else {
			cancelAnywhere(c)
		}
	}},
	{ID: "CTX-06", Words: "cancelling-one-call-fails-no-other", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		cancelBesideUpdates(c)
		cancelOneOfTwo(c)
		cancelFirstCall(c)
	}},
	{ID: "CTX-07", Words: "nothing-is-written-after-return", Needs: faulted.NeedsFaults, Test: nothingComesLater},
	{ID: "CTX-08", Words: "short-deadline-leaves-time", Test: func(c *kit.Context) {
		k := kit.NewFixture(c, c.Adapter)
		for _, m := range c.Working(append(k.Reads(), k.Writes()...)) {
			ctx, cancel := context.WithTimeout(c.Ctx, shortDeadline)
			_, err := m.Do(ctx, c.Adapter)
			end, _ := ctx.Deadline()
			left := time.Until(end)
			cancel()
			if err != nil && left > shortDeadline/4 {
				c.Errorf("%s with a deadline of %v failed %v before it: %v", m.Method, shortDeadline, left, err)
			}
		}
	}},
}

const (
	// stallTime is the deadline of calls to a store that stalls.
	stallTime = 50 * time.Millisecond
	// shortDeadline is a deadline that whole seconds can't express.
	shortDeadline = 900 * time.Millisecond
	// laterTime is how long the clause waits for a write that takes effect
	// after its call has returned.
	laterTime = 60 * time.Millisecond
)

// eachPoint calls try for the numbered points of each method's call: the times that
// it looks at its context, or its steps. In a run of less than one round it takes one
// of as many points as stride says. try reports whether the call came to the point, and
// so whether there may be a later one. A point that no call came to is no case.
func eachPoint(c *kit.Context, methods []string, most, stride int, try func(method string, n int) bool) {
	stride = min(stride, c.Stride)
	next := map[string]int{} // zero for a method that has no more points
	var turns []string
	for turn, method := range methods {
		next[method] = 1 + turn%stride
		turns = append(turns, slices.Repeat([]string{method}, most/stride)...)
	}
	kit.Each(c, turns, itself, func(method string) bool {
		n := next[method]
		if n == 0 {
			return false
		}
		next[method] += stride
		came := try(method, n)
		if !came {
			next[method] = 0
		}
		return came
	})
}

// cancelLookups cancels lookups when they check their context for the first time, the
// second time, and so on, and at random moments. One that succeeds all the same has
// found what is there.
func cancelLookups(c *kit.Context, during *pair.Canceller) {
	k := kit.NewFixture(c, c.Raw)
	kit.Pause(c, c.Harness().Declarations.EventualReads)
	calls, there := map[string]kit.Call{}, map[string]any{}
	var methods, moments []string
	for _, m := range c.Working(k.Reads()) {
		record, err := m.Do(c.Ctx, c.Raw)
		calls[m.Method], there[m.Method] = m, kit.Must(c, m.Method, record, err)
		methods = append(methods, m.Method)
		moments = append(moments, slices.Repeat([]string{m.Method}, c.Rounds(15))...)
	}
	judge := func(method string, got any, err error) {
		if d := c.Unlike(got, there[method]); err == nil && d != "" {
			c.Fatalf("%s was cancelled under way and succeeded: %s", method, d)
		}
	}
	eachPoint(c, methods, 3*kit.TripLooks, 4, func(method string, n int) bool {
		ctx := pair.NewTripContext(c.Ctx, n)
		defer ctx.Cancel()
		got, err := calls[method].Do(ctx, c.Raw)
		come := ctx.Tripped()
		judge(method, got, err)
		return come
	})
	kit.Each(c, moments, itself, func(method string) bool {
		var got any
		var err error
		during.Call(c.Ctx, func(ctx context.Context) { got, err = calls[method].Do(ctx, c.Raw) })
		judge(method, got, err)
		return true
	})
}

// see makes all lookups of the fixture.
func see(c *kit.Context, k *kit.Records) []kit.Lookup {
	seen, err := kit.Snapshot(c.Ctx, c, c.Raw, k.Keys())
	return kit.Must(c, "a lookup", seen, err)
}

// allMethods are the methods that the adapter can be called with.
func allMethods(c *kit.Context) []string {
	var methods []string
	var k kit.Records
	for _, m := range append(k.Reads(), k.Writes()...) {
		if c.Works(m.Method) {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// within makes a call that may ignore its context. If the call takes too long,
// within heals the traffic, so that the call ends.
func within(c *kit.Context, ctx context.Context, limit time.Duration, m kit.Call, control fault.Control) (any, error) {
	timer := time.AfterFunc(limit, control.Heal)
	defer timer.Stop()
	return m.Do(ctx, c.Adapter)
}

// endsBehindStalled makes a call that stalls, and while it does, the same call again and
// another one. An adapter that lets calls wait for one another ends also the wait at the
// deadline. It reports whether the first call came to the store.
func endsBehindStalled(c *kit.Context, control fault.Control, method string) (hit bool) {
	k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
	methods := allMethods(c)
	other := methods[c.Rand.IntN(len(methods))]
	stall := faulted.Inject(c, control, fault.Stall, 1)
	behind := []kit.Call{k.CallOf(method), k.CallOf(other)}
	first := func() { _, _ = faulted.Within(c, faulted.RecoveryTime, k.CallOf(method), c.Raw) }
	hit = faulted.Holding(stall, first, func(<-chan struct{}) {
		c.Parallel(len(behind), func(i int) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(c.Ctx, stallTime)
			defer cancel()
			_, _ = within(c, ctx, stallTime+faulted.Grace, behind[i], control)
			if took := time.Since(start); took > stallTime+faulted.Grace {
				c.Errorf("%s, with a deadline of %v, while a call of %s stalls, took %v", behind[i].Method, stallTime,
					method, took)
			}
		})
	})
	faulted.Mend(c, control)
	return hit
}

// tookEffect reports a breach if a write that was cancelled while it ran has
// succeeded without an effect.
func tookEffect(c *kit.Context, k *kit.Records, m *model.Model, w kit.Call, record any, err error) {
	switch w.Method {
	case "UseVerificationToken":
		rest := c.UseToken(k.Token.Key())
		if err == nil && (rest != nil || kit.IsNilRecord(record)) {
			c.Fatalf("UseVerificationToken was cancelled under way and succeeded with %s; another use got %s",
				diff.Show(record), diff.Show(rest))
		}
		return
	case "CreateVerificationToken":
		if !c.Works("UseVerificationToken") {
			return // nothing shows the token
		}
		if got := c.UseToken(k.New.Token.Key()); err == nil && got == nil {
			c.Fatalf("CreateVerificationToken was cancelled during the call and succeeded, but no token exists")
		}
		return
	case "CreateUser", "CreateUserWithAccount", "CreateUserWithPassword":
		x := faulted.Case{Fixture: k, Call: w}
		faulted.AdoptID(c, &x)
		w = x.Call
	}
	if err != nil {
		return
	}
	if _, done, neither := faulted.EffectOn(c, m, k.Keys(), w); !done {
		c.Fatalf("%s was cancelled under way and succeeded with %s, and yet the store is not as it should be: %v",
			w.Method, diff.Show(record), neither)
	}
}

// abandon makes calls that are cancelled while they run, 300 in a round, some of
// them while answers of the store are held back.
func abandon(c *kit.Context, a adapter.Adapter) {
	var control fault.Control
	if c.Harness().Faults != nil {
		control = c.Harness().Faults(a)
	}
	k := kit.NewFixture(c, a)
	methods := allMethods(c)
	if len(methods) == 0 {
		c.NotApplicable("the adapter has no methods that could be cancelled")
	}
	methods = slices.DeleteFunc(methods, func(m string) bool { return m == "DeleteUser" })
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	for n := range c.Rounds(150) {
		m := k.CallOf(methods[n/2%len(methods)])
		if n%2 == 0 {
			during.Call(c.Ctx, func(ctx context.Context) { _, _ = m.Do(ctx, a) })
			continue
		}
		ctx := pair.NewTripContext(c.Ctx, 1+n/2/len(methods))
		_, _ = m.Do(ctx, a)
		ctx.Cancel()
	}
	if control != nil {
		abandonEach(c, a, control, k, methods)
	}
	c.Parallel(10, func(client int) {
		for n := range c.Rounds(15) {
			m := k.CallOf(methods[(client*15+n)%len(methods)])
			ctx, cancel := context.WithCancel(c.Ctx)
			if control == nil || n%5 > 0 {
				time.AfterFunc(rand.N(time.Millisecond), cancel)
				_, _ = m.Do(ctx, a)
				cancel()
				continue
			}
			hold, err := control.Inject(fault.HoldReply, 1+n/5%3)
			if err != nil {
				c.Fatalf("Inject: %v", err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = m.Do(ctx, a)
			}()
			select {
			case <-hold.Hit():
			case <-done:
			case <-time.After(kit.HeldPause):
			}
			cancel()
			select {
			case <-done:
			case <-time.After(kit.HeldPause): // it ignores its context, which is CTX-02's business
			}
			hold.Release()
			<-done
		}
	})
	if control != nil {
		control.Heal()
	}
}

// abandonEach cancels calls of each method while the answer to one of its steps
// is held back, more often than the pool has connections.
func abandonEach(c *kit.Context, a adapter.Adapter, control fault.Control, k *kit.Records, methods []string) {
	defer control.Heal()
	for method := range kit.Some(&c.Budget, methods) {
		abandonMethod(c, a, control, k, method)
	}
	abandonMethod(c, a, control, k, "DeleteUser") // last, because it deletes the fixture
}

// abandonMethod is abandonEach for one method.
func abandonMethod(c *kit.Context, a adapter.Adapter, control fault.Control, k *kit.Records, method string) {
	if !c.Works(method) {
		return
	}
	const times = 6
	m := k.CallOf(method)
	kit.InTurn(c, 2, func(step int) (came bool) {
		for range times {
			hold := faulted.Inject(c, control, fault.HoldReply, step)
			ctx, cancel := context.WithTimeout(c.Ctx, faulted.RecoveryTime)
			var err error
			heeds := false // if not, that is CTX-02's business
			held := faulted.Holding(hold, func() { _, err = m.Do(ctx, a) }, func(done <-chan struct{}) {
				cancel()
				heeds = faulted.Soon(done, kit.HeldPause)
			})
			cancel()
			if !held && errors.Is(err, context.DeadlineExceeded) {
				c.Fatalf("%s, after calls that were cancelled, is not done after %v: %v", method, faulted.RecoveryTime, err)
			}
			came = came || held
			if !heeds {
				break
			}
		}
		return came
	})
}

// cancelAtEachLook cancels every write when it checks its context for the
// first time, the second time, and so on.
func cancelAtEachLook(c *kit.Context) {
	eachPoint(c, c.Having(faulted.VisibleWrites), kit.TripLooks, 4, func(method string, n int) bool {
		k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
		x := faulted.Case{Fixture: k, Call: k.CallOf(method)}
		ctx := pair.NewTripContext(c.Ctx, n)
		defer ctx.Cancel()
		x.Result, x.Err = x.Call.Do(ctx, c.Adapter)
		come := ctx.Tripped()
		ctx.Cancel()
		judgeCancelled(c, x, fmt.Sprintf("cancelled when it looked at its context for the %d. time", n))
		return come
	})
}

// cancelAnywhere cancels every write at random moments.
func cancelAnywhere(c *kit.Context) {
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	start := time.Now()
	for n := 0; n < c.Rounds(20) || time.Since(start) < c.Span(kit.RaceTime); n++ {
		for _, method := range faulted.VisibleWrites {
			if !c.Works(method) {
				continue
			}
			k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
			x := faulted.Case{Fixture: k, Call: k.CallOf(method)}
			during.Call(c.Ctx, func(ctx context.Context) { x.Result, x.Err = x.Call.Do(ctx, c.Raw) })
			judgeCancelled(c, x, "cancelled somewhere")
		}
	}
}

// cancelAtEachStep cancels every write while the answer to each of its steps is
// being held.
func cancelAtEachStep(c *kit.Context, control fault.Control) {
	defer control.Heal()
	hits := 0
	eachPoint(c, c.Having(faulted.VisibleWrites), kit.FaultSteps, 3, func(method string, step int) (hit bool) {
		k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
		x := faulted.Case{Kind: fault.HoldReply, Step: step, Fixture: k, Call: k.CallOf(method)}
		hold := faulted.Inject(c, control, fault.HoldReply, step)
		ctx, cancel := context.WithCancel(c.Ctx)
		defer cancel()
		hit = faulted.Holding(hold, func() { x.Result, x.Err = x.Call.Do(ctx, c.Adapter) }, func(done <-chan struct{}) {
			hits++
			cancel()
			faulted.Soon(done, kit.HeldPause) // the call finishes its work, or ignores its context
		})
		faulted.Mend(c, control)
		judgeCancelled(c, x, fmt.Sprintf("cancelled while the answer to step %d was held", step))
		return hit
	})
	faulted.MustHit(c, hits)
}

func judgeCancelled(c *kit.Context, x faulted.Case, how string) {
	look := func() (bool, []string) {
		faulted.AdoptID(c, &x)
		return faulted.Effect(c, x)
	}
	done, neither := look()
	if len(neither) > 0 && x.Err != nil { // the call may have taken effect during the lookups, which CTX-07 judges
		kit.Pause(c, laterTime)
		done, neither = look()
	}
	if len(neither) > 0 {
		c.Fatalf("%s, %s, error %v: the store is neither as before nor as after the call\n%s", x.Call.Method, how,
			x.Err, strings.Join(neither, "\n"))
	}
	if x.Err == nil && !done {
		c.Fatalf("%s, %s: succeeded with %s, and yet nothing has changed", x.Call.Method, how, diff.Show(x.Result))
	}
}

// cancelOneOfTwo makes the same call twice at once and cancels one.
func cancelOneOfTwo(c *kit.Context) {
	control := kit.Faults(c)
	k := kit.NewFixture(c, c.Adapter)
	var repeatable []kit.Call
	for _, m := range c.Working(append(k.Reads(), kit.UpdateUser(k.New.UserUpdate), kit.UpdateSession(k.New.SessionUpdate))) {
		if m.Method != "GetUserByEmail" { // the address changes
			repeatable = append(repeatable, m)
		}
	}
	if len(repeatable) == 0 {
		c.NotApplicable("the adapter has no call that could be made twice")
	}
	judge := func(m kit.Call, err error) {
		if err != nil {
			c.Fatalf("of two calls of %s at once the one that was not cancelled failed: %v", m.Method, err)
		}
	}
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	var cancelled []kit.Call
	for n := range c.Rounds(120) {
		cancelled = append(cancelled, repeatable[n%len(repeatable)])
	}
	kit.Each(c, cancelled, func(m kit.Call) []string { return []string{m.Method} }, func(m kit.Call) bool {
		two := make(chan error, 1)
		during.Call(c.Ctx, func(ctx context.Context) {
			go func() { _, err := m.Do(c.Ctx, c.Raw); two <- err }()
			_, _ = m.Do(ctx, c.Raw)
		})
		judge(m, <-two)
		return true
	})
	if control == nil {
		return
	}
	for m := range kit.Some(&c.Budget, repeatable) {
		judge(m, cancelHeld(c, control, m))
		faulted.Mend(c, control)
	}
}

// ownField is an update of one field of a record, which nobody else updates.
type ownField struct {
	update kit.Call
	// missing describes the update as absent from the store, or returns "".
	missing func() string
}

// cancelBesideUpdates lets several goroutines update fields of their own of one record,
// while others update another field of it and are cancelled at random moments, many of
// them while they wait for their turn.
func cancelBesideUpdates(c *kit.Context) {
	records := []func(){
		func() { cancelBesideUser(c) }, func() { cancelBesideAccount(c) },
		func() { cancelBesideSession(c) }, func() { cancelBesideAuthenticator(c) },
	}
	for cancelBesideRecord := range kit.Some(&c.Budget, records) {
		cancelBesideRecord()
	}
}

func cancelBesideUser(c *kit.Context) {
	if c.Works("UpdateUser") && c.Works("GetUser") {
		id := c.User().ID
		field := func(names ...string) func() ownField {
			return func() ownField {
				update := kit.UserUpdate(c, id, names)
				return ownField{kit.UpdateUser(update), showing(c, kit.GetUser(id), update.Apply)}
			}
		}
		cancelBeside(c, field("email", "emailVerified"), field("name"), field("image")) // another address clears the proof
	}
}

func cancelBesideAccount(c *kit.Context) {
	if c.Works("UpdateAccount") && c.Works("GetAccount") {
		key := c.Account(c.User().ID).Key()
		field := func(name string) func() ownField {
			return func() ownField {
				update := kit.AccountUpdate(c, key, []string{name})
				return ownField{kit.UpdateAccount(update), showing(c, kit.GetAccountByKey(key), update.Apply)}
			}
		}
		cancelBeside(c, field("scope"), field("access token"), field("refresh token"), field("id token"))
	}
}

func cancelBesideSession(c *kit.Context) {
	if c.Works("GetSessionAndUser") && kit.SessionsMove(c) {
		token, owners := c.Session(c.User().ID).SessionToken, [2]string{c.User().ID, c.User().ID}
		expires := func() ownField {
			at := c.Instant(time.Duration(1+kit.Next(c)%1000) * time.Minute)
			return ownField{kit.UpdateSession(adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(at)}),
				showing(c, kit.GetSessionAndUser(token), func(s *adapter.SessionAndUser) { s.Session.Expires = at })}
		}
		turn := 0
		owner := func() ownField {
			turn++
			id := owners[turn%2]
			return ownField{kit.UpdateSession(adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(id)}),
				showing(c, kit.GetSessionAndUser(token), func(s *adapter.SessionAndUser) { s.Session.UserID = id })}
		}
		probe := owner()
		if _, err := probe.update.Do(c.Ctx, c.Adapter); err == nil && probe.missing() == "" {
			cancelBeside(c, expires, owner)
		}
	}
}

func cancelBesideAuthenticator(c *kit.Context) {
	if c.Works("RenameAuthenticator") && c.Works("UpdateAuthenticatorCounter") && c.Works("GetAuthenticator") {
		w := c.Authenticator(c.User().ID)
		counter := w.Counter
		cancelBeside(c, func() ownField {
			return ownField{update: kit.RenameAuthenticator(w.UserID, w.CredentialID, c.Unique("name"))}
		}, func() ownField {
			counter++
			is := counter
			return ownField{kit.UpdateAuthenticatorCounter(w.CredentialID, is),
				showing(c, kit.GetAuthenticator(w.CredentialID), func(w *adapter.Authenticator) { w.Counter = is })}
		})
	}
}

// showing returns a function that describes how the record which the read finds would
// differ if the update were there, or returns "" if it is there.
func showing[T any](c *kit.Context, read kit.Call, apply func(*T)) func() string {
	return func() string {
		got := kit.Of[*T](c, read)
		if got == nil {
			return read.Method + ": absent"
		}
		want := *got
		apply(&want)
		return kit.Without(c, read.Method, got, &want)
	}
}

// cancelBeside makes the updates at one moment, beside calls that are cancelled, over and
// over. Each update succeeds, and is there afterwards.
func cancelBeside(c *kit.Context, cancelled func() ownField, updates ...func() ownField) {
	cancellers := min(kit.Several, c.Most) - 2
	after := []time.Duration{0, 20 * time.Microsecond, time.Millisecond}
	start := time.Now()
	for n := 0; !race.Over(c, n, time.Since(start), kit.RaceTime); n++ {
		made := make([]ownField, len(updates)+cancellers)
		for i := range made {
			made[i] = cancelled()
			if i < len(updates) {
				made[i] = updates[i]()
			}
		}
		c.Parallel(len(made), func(i int) {
			if i < len(updates) {
				if _, err := made[i].update.Do(c.Ctx, c.Raw); err != nil {
					c.Errorf("%s(%s), beside calls that were cancelled, failed: %v", made[i].update.Method,
						diff.Show(made[i].update.Args...), err)
				}
				return
			}
			ctx, cancel := context.WithCancel(c.Ctx)
			defer cancel()
			timer := time.AfterFunc(rand.N(after[i%len(after)]+1), cancel)
			defer timer.Stop()
			_, _ = made[i].update.Do(ctx, c.Raw)
		})
		kit.Wrote(c)
		for _, x := range made[:len(updates)] {
			if m := x.missing(); m != "" {
				c.Errorf("%s(%s), beside calls that were cancelled, has succeeded, and is not there: %s",
					x.update.Method, diff.Show(x.update.Args...), m)
			}
		}
		if c.Failed() {
			c.Fatalf("calls that were cancelled have failed others")
		}
	}
}

// cancelFirstCall cancels the first call of new adapters, at different moments.
// What an adapter prepares at its first call belongs to all later calls.
func cancelFirstCall(c *kit.Context) {
	c.UninvolvedGone = true // New may empty the store
	for look := range 4 {
		a := c.Harness().New(c.TB)
		ctx := pair.NewTripContext(c.Ctx, look+1)
		if look == 0 {
			ctx.Cancel()
		}
		_, _ = a.GetUser(ctx, c.ID())
		ctx.Cancel()
		again, cancel := context.WithTimeout(c.Ctx, kit.Deadline)
		err := race.NormalCalls(again, c, a)
		cancel()
		if err != nil {
			c.Fatalf("after the first call of an adapter, GetUser, was cancelled: %v", err)
		}
	}
}

// cancelHeld makes a call, and while its answer is held makes it again and
// cancels the first. It returns the error of the second.
func cancelHeld(c *kit.Context, control fault.Control, m kit.Call) error {
	hold := faulted.Inject(c, control, fault.HoldReply, 1)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	var err error
	second := make(chan struct{})
	again := func() {
		defer close(second)
		_, err = m.Do(c.Ctx, c.Raw)
	}
	if !faulted.Holding(hold, func() { _, _ = m.Do(ctx, c.Raw) }, func(first <-chan struct{}) {
		go again()
		faulted.Soon(second, kit.HeldPause/5) // gives it time to join the first call, if the adapter combines calls
		cancel()
		faulted.Soon(first, kit.HeldPause) // it may ignore its context, which is CTX-02's business
	}) {
		again()
	}
	<-second
	return err
}

// nothingComesLater makes every write reach its deadline while the store
// stalls. When the store is back, it checks whether the write takes effect
// late, three times: a request that another connection sends at that moment, such
// as the first one of a new connection, may be what is stalled.
func nothingComesLater(c *kit.Context) {
	control := faulted.Control(c)
	defer control.Heal()
	writes := c.Having(faulted.VisibleWrites)
	hits := 0
	for i := 0; i < len(writes); i += min(3, c.Stride) {
		late := ""
		for tries := 0; tries < 3 && (tries == 0 || late != ""); tries++ {
			var hit bool
			if late, hit = comesLater(c, control, writes[i]); hit {
				hits++
			}
		}
		if late != "" {
			c.Errorf("%s", late)
		}
	}
	if len(writes) == 0 {
		c.NotApplicable("the adapter has no writes")
	}
	faulted.MustHit(c, hits)
}

// comesLater stalls a write until its deadline. It describes a write that came when the
// store was back, and reports whether anything was stalled.
func comesLater(c *kit.Context, control fault.Control, method string) (late string, hit bool) {
	k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
	x := faulted.Case{Kind: fault.Stall, Step: 1, Fixture: k, Call: k.CallOf(method)}
	stall := faulted.Inject(c, control, fault.Stall, 1)
	ctx, cancel := context.WithTimeout(c.Ctx, stallTime)
	x.Result, x.Err = within(c, ctx, stallTime+faulted.Grace, x.Call, control)
	cancel()
	hit = faulted.IsHit(stall)
	stall.Release()
	if x.Err == nil {
		return "", hit
	}
	kit.Pause(c, laterTime)
	faulted.Mend(c, control)
	faulted.AdoptID(c, &x)
	done, neither := faulted.Effect(c, x)
	if done || len(neither) > 0 {
		late = fmt.Sprintf("%s, whose request was stalled, returned %v; when the store was back the write came %v",
			method, x.Err, neither)
	}
	return late, hit
}

// itsRecord is the group of a case that is a method: the kind of record that it is about.
func itsRecord(method string) []string {
	m, _ := kit.MethodNamed(method)
	return []string{string(m.Kind)}
}

// itself is the group of a case that is a method.
func itself(method string) []string { return []string{method} }
