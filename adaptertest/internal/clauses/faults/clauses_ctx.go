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
		seen, err := kit.Snapshot(c.Ctx, c, c.Raw, k.Keys())
		want := faulted.SnapshotOfModel(c, faulted.ModelOf(k, c), k.Keys())
		if d := kit.Differences(c, kit.Must(c, "a lookup", seen, err), want); len(d) > 0 {
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
					_, took, err := stalled(c, m, control)
					hit := faulted.IsHit(i)
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
		works := func(w kit.Call) bool { return c.Works(w.Method) }
		writes := methodsOf(c, kit.Applicable(c, new(kit.Records).Writes(), works, "the adapter has no writes"))
		during, stop := pair.NewCanceller()
		defer stop()
		n := c.Rounds(150)
		moments := slices.Repeat(writes, n)[:n]
		// Each write has its own fixture, because a cancelled call may still have
		// effects after it has returned. CTX-07 judges these.
		cancelUnderWay(c, during, writes, kit.TripLooks, moments, func(method string, cancelled func(w kit.Call) (any, error)) {
			k := kit.NewFixture(c, kit.Witness(c))
			x := faulted.Case{Fixture: k, Call: k.CallOf(method)}
			x.Result, x.Err = cancelled(x.Call)
			tookEffect(c, x)
		})
		cancelLookups(c, during)
	}},
	{ID: "CTX-04", Words: "abandoned-calls-use-nothing-up", Needs: []kit.Ability{kit.AbilityLimited}, Test: func(c *kit.Context) {
		limited := c.Harness().Limited(c.TB)
		abandon(c, limited)
		c.Parallel(5, func(int) {
			for range max(2, c.Rounds(10)) {
				if err := race.NormalCalls(c, limited, kit.Deadline); err != nil {
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
	// laterTime is how long the clause waits for a write that takes effect after its call has returned.
	laterTime = 60 * time.Millisecond
)

// eachPoint calls try for the numbered points of each method's call: the times that it looks at its context, or its
// steps. In a run of less than one round it takes one of as many points as stride says. try reports whether the call
// came to the point, and so whether there may be a later one. A point that no call came to is no case.
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

// cancelUnderWay lets try make calls, which are cancelled when they check their context for the first time, the
// second time, and so on, and then, for the methods of moments, at random moments.
func cancelUnderWay(
	c *kit.Context, during *pair.Canceller, methods []string, most int, moments []string,
	try func(method string, cancelled func(k kit.Call) (any, error)),
) {
	eachPoint(c, methods, most, 4, func(method string, n int) (came bool) {
		try(method, func(k kit.Call) (got any, err error) {
			got, came, err = cancelledAtLook(c, k, c.Raw, n)
			return got, err
		})
		return came
	})
	kit.Each(c, moments, itself, func(method string) bool {
		try(method, func(k kit.Call) (got any, err error) {
			during.Call(c.Ctx, func(ctx context.Context) { got, err = k.Do(ctx, c.Raw) })
			return got, err
		})
		return true
	})
}

// cancelledAtLook makes a call that is cancelled when it checks its context for the n-th time.
// It reports whether it did so.
func cancelledAtLook(c *kit.Context, k kit.Call, a adapter.Adapter, n int) (got any, came bool, err error) {
	ctx := pair.NewTripContext(c.Ctx, n)
	defer ctx.Cancel()
	got, err = k.Do(ctx, a)
	return got, ctx.Tripped(), err
}

// cancelLookups cancels lookups under way. One that succeeds all the same has found what is there.
func cancelLookups(c *kit.Context, during *pair.Canceller) {
	k := kit.NewFixture(c, c.Raw)
	kit.Pause(c, c.Harness().Declarations.EventualReads)
	there := map[string]any{}
	var moments []string
	for _, m := range c.Working(k.Reads()) {
		there[m.Method] = kit.Done(c, c.Raw, m)
		moments = append(moments, slices.Repeat([]string{m.Method}, c.Rounds(15))...)
	}
	methods := methodsOf(c, k.Reads())
	cancelUnderWay(c, during, methods, 3*kit.TripLooks, moments, func(method string, cancelled func(m kit.Call) (any, error)) {
		got, err := cancelled(k.CallOf(method))
		if d := c.Unlike(got, there[method]); err == nil && d != "" {
			c.Fatalf("%s was cancelled under way and succeeded: %s", method, d)
		}
	})
}

// allMethods are the methods that the adapter can be called with.
func allMethods(c *kit.Context) []string {
	var k kit.Records
	return methodsOf(c, append(k.Reads(), k.Writes()...))
}

// methodsOf names the methods of the calls that the adapter can make.
func methodsOf(c *kit.Context, calls []kit.Call) []string {
	return kit.Map(c.Working(calls), func(k kit.Call) string { return k.Method })
}

// stalled makes a call that stalls and has a deadline, which it may ignore. If the call takes
// too long, stalled heals the traffic, so that the call ends.
func stalled(c *kit.Context, m kit.Call, control fault.Control) (got any, took time.Duration, err error) {
	start := time.Now()
	timer := time.AfterFunc(stallTime+faulted.Grace, control.Heal)
	defer timer.Stop()
	got, err = faulted.Within(c, stallTime, m, c.Adapter)
	return got, time.Since(start), err
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
			if _, took, _ := stalled(c, behind[i], control); took > stallTime+faulted.Grace {
				c.Errorf("%s, with a deadline of %v, while a call of %s stalls, took %v", behind[i].Method, stallTime,
					method, took)
			}
		})
	})
	faulted.Mend(c, control)
	return hit
}

// tookEffect reports a breach if a write that was cancelled while it ran has succeeded without an effect.
func tookEffect(c *kit.Context, x faulted.Case) {
	switch x.Call.Method {
	case "UseVerificationToken":
		rest := c.UseToken(x.Fixture.Token.Key())
		if x.Err == nil && (rest != nil || kit.IsNilRecord(x.Result)) {
			c.Fatalf("UseVerificationToken was cancelled under way and succeeded with %s; another use got %s",
				diff.Show(x.Result), diff.Show(rest))
		}
		return
	case "CreateVerificationToken":
		if !c.Works("UseVerificationToken") {
			return // nothing shows the token
		}
		if got := c.UseToken(x.Fixture.New.Token.Key()); x.Err == nil && got == nil {
			c.Fatalf("CreateVerificationToken was cancelled during the call and succeeded, but no token exists")
		}
		return
	}
	faulted.AdoptID(c, &x)
	if x.Err != nil {
		return
	}
	if done, neither := faulted.Effect(c, x); !done {
		c.Fatalf("%s was cancelled under way and succeeded with %s, and yet the store is not as it should be: %v",
			x.Call.Method, diff.Show(x.Result), neither)
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
	methods := kit.Applicable(c, allMethods(c), c.Works, "the adapter has no methods that could be cancelled")
	methods = slices.DeleteFunc(methods, func(m string) bool { return m == "DeleteUser" })
	during, stop := pair.NewCanceller()
	defer stop()
	for n := range c.Rounds(150) {
		m := k.CallOf(methods[n/2%len(methods)])
		if n%2 == 0 {
			during.Call(c.Ctx, func(ctx context.Context) { _, _ = m.Do(ctx, a) })
			continue
		}
		_, _, _ = cancelledAtLook(c, m, a, 1+n/2/len(methods))
	}
	if control != nil {
		defer control.Heal()
		for method := range kit.Some(&c.Budget, methods) {
			abandonMethod(c, a, control, k, method)
		}
		abandonMethod(c, a, control, k, "DeleteUser") // last, because it deletes the fixture
		control.Heal()
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
			hold := faulted.Inject(c, control, fault.HoldReply, 1+n/5%3)
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
			faulted.Soon(done, kit.HeldPause) // it may ignore its context, which is CTX-02's business
			hold.Release()
			<-done
		}
	})
}

// abandonMethod cancels calls of a method while the answer to one of its steps is held back, more often than the pool
// has connections.
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

// cancelAtEachLook cancels every write when it checks its context for the first time, the second time, and so on.
func cancelAtEachLook(c *kit.Context) {
	eachPoint(c, c.Having(faulted.VisibleWrites), kit.TripLooks, 4, func(method string, n int) bool {
		k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
		x := faulted.Case{Fixture: k, Call: k.CallOf(method)}
		var came bool
		x.Result, came, x.Err = cancelledAtLook(c, x.Call, c.Adapter, n)
		judgeCancelled(c, x, fmt.Sprintf("cancelled at look %d at its context", n))
		return came
	})
}

// cancelAnywhere cancels every write at random moments.
func cancelAnywhere(c *kit.Context) {
	during, stop := pair.NewCanceller()
	defer stop()
	start := time.Now()
	for n := 0; n < c.Rounds(20) || time.Since(start) < c.Span(kit.RaceTime); n++ {
		for _, method := range c.Having(faulted.VisibleWrites) {
			k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
			x := faulted.Case{Fixture: k, Call: k.CallOf(method)}
			during.Call(c.Ctx, func(ctx context.Context) { x.Result, x.Err = x.Call.Do(ctx, c.Raw) })
			judgeCancelled(c, x, "cancelled somewhere")
		}
	}
}

// cancelAtEachStep cancels every write while the answer to each of its steps is being held.
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
	calls := append(k.Reads(), kit.UpdateUser(k.New.UserUpdate), kit.UpdateSession(k.New.SessionUpdate))
	same := func(m kit.Call) bool { return c.Works(m.Method) && m.Method != "GetUserByEmail" } // the address changes
	repeatable := kit.Applicable(c, calls, same, "the adapter has no call that could be made twice")
	judge := func(m kit.Call, err error) {
		if err != nil {
			c.Fatalf("of two calls of %s at once the one that was not cancelled failed: %v", m.Method, err)
		}
	}
	during, stop := pair.NewCanceller()
	defer stop()
	n := c.Rounds(120)
	cancelled := slices.Repeat(repeatable, n)[:n]
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

// cancelBesideUpdates lets several goroutines update fields of their own of one record, while others update another
// field of it and are cancelled at random moments, many of them while they wait for their turn.
func cancelBesideUpdates(c *kit.Context) {
	records := []func(*kit.Context){cancelBesideUser, cancelBesideAccount, cancelBesideSession, cancelBesideAuthenticator}
	for cancelBesideRecord := range kit.Some(&c.Budget, records) {
		cancelBesideRecord(c)
	}
}

func cancelBesideUser(c *kit.Context) {
	if c.Works("UpdateUser") && c.Works("GetUser") {
		id := c.User().ID
		field := func(names ...string) func() write {
			return func() write {
				update := kit.UserUpdate(c, id, names)
				return showing(c, kit.UpdateUser(update), kit.GetUser(id), update.Apply)
			}
		}
		cancelBeside(c, field("email", "emailVerified"), field("name"), field("image")) // another address clears the proof
	}
}

func cancelBesideAccount(c *kit.Context) {
	if c.Works("UpdateAccount") && c.Works("GetAccount") {
		key := c.Account(c.User().ID).Key()
		field := func(name string) func() write {
			return func() write {
				update := kit.AccountUpdate(c, key, []string{name})
				return showing(c, kit.UpdateAccount(update), kit.GetAccountByKey(key), update.Apply)
			}
		}
		cancelBeside(c, field("scope"), field("access token"), field("refresh token"), field("id token"))
	}
}

func cancelBesideSession(c *kit.Context) {
	if c.Works("GetSessionAndUser") && kit.SessionsMove(c) {
		token, owners := c.Session(c.User().ID).SessionToken, [2]string{c.User().ID, c.User().ID}
		expires := func() write {
			at := c.Instant(time.Duration(1+kit.Next(c)%1000) * time.Minute)
			set := func(s *adapter.SessionAndUser) { s.Session.Expires = at }
			return showing(c, kit.ExtendSession(token, at), kit.GetSessionAndUser(token), set)
		}
		turn := 0
		owner := func() write {
			turn++
			id := owners[turn%2]
			set := func(s *adapter.SessionAndUser) { s.Session.UserID = id }
			return showing(c, kit.MoveSession(token, id), kit.GetSessionAndUser(token), set)
		}
		probe := owner()
		if _, err := probe.Do(c.Ctx, c.Adapter); err == nil && probe.missing() == "" {
			cancelBeside(c, expires, owner)
		}
	}
}

func cancelBesideAuthenticator(c *kit.Context) {
	if c.Works("RenameAuthenticator") && c.Works("UpdateAuthenticatorCounter") && c.Works("GetAuthenticator") {
		w := c.Authenticator(c.User().ID)
		counter := w.Counter
		cancelBeside(c, func() write {
			return write{Call: kit.RenameAuthenticator(w.UserID, w.CredentialID, c.Unique("name"))}
		}, func() write {
			counter++
			is := counter
			set := func(w *adapter.Authenticator) { w.Counter = is }
			return showing(c, kit.UpdateAuthenticatorCounter(w.CredentialID, is), kit.GetAuthenticator(w.CredentialID), set)
		})
	}
}

// showing returns the update of a field, which is missing if the record that the read finds would differ with it.
func showing[T any](c *kit.Context, update, read kit.Call, apply func(*T)) write {
	return write{update, func() string {
		got := kit.Of[*T](c, read)
		if got == nil {
			return read.Method + ": absent"
		}
		want := *got
		apply(&want)
		return kit.Without(c, read.Method, got, &want)
	}}
}

// cancelBeside makes the updates at one moment, beside calls that are cancelled, over and
// over. Each update succeeds, and is there afterwards.
func cancelBeside(c *kit.Context, cancelled func() write, updates ...func() write) {
	cancellers := min(kit.Several, c.Most) - 2
	after := []time.Duration{0, 20 * time.Microsecond, time.Millisecond}
	start := time.Now()
	for n := 0; !race.Over(c, n, time.Since(start), kit.RaceTime); n++ {
		made := make([]write, len(updates)+cancellers)
		for i := range made {
			made[i] = cancelled()
			if i < len(updates) {
				made[i] = updates[i]()
			}
		}
		c.Parallel(len(made), func(i int) {
			if i < len(updates) {
				if _, err := made[i].Do(c.Ctx, c.Raw); err != nil {
					c.Errorf("%s(%s), beside calls that were cancelled, failed: %v", made[i].Method,
						diff.Show(made[i].Args...), err)
				}
				return
			}
			ctx, cancel := context.WithCancel(c.Ctx)
			defer cancel()
			timer := time.AfterFunc(rand.N(after[i%len(after)]+1), cancel)
			defer timer.Stop()
			_, _ = made[i].Do(ctx, c.Raw)
		})
		kit.Wrote(c)
		for _, x := range made[:len(updates)] {
			if m := x.missing(); m != "" {
				c.Errorf("%s(%s), beside calls that were cancelled, has succeeded, and is not there: %s",
					x.Method, diff.Show(x.Args...), m)
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
		if err := race.NormalCalls(c, a, kit.Deadline); err != nil {
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

// nothingComesLater makes every write reach its deadline while the store stalls. When the store is back, it checks
// whether the write takes effect late, three times: a request that another connection sends at that moment, such as
// the first one of a new connection, may be what is stalled.
func nothingComesLater(c *kit.Context) {
	control := faulted.Control(c)
	defer control.Heal()
	writes := kit.Applicable(c, faulted.VisibleWrites, c.Works, "the adapter has no writes")
	hits := 0
	for _, write := range kit.Every(min(3, c.Stride), writes, 0) {
		late := ""
		for tries := 0; tries < 3 && (tries == 0 || late != ""); tries++ {
			var hit bool
			if late, hit = comesLater(c, control, write); hit {
				hits++
			}
		}
		if late != "" {
			c.Errorf("%s", late)
		}
	}
	faulted.MustHit(c, hits)
}

// comesLater stalls a write until its deadline. It describes a write that came when the
// store was back, and reports whether anything was stalled.
func comesLater(c *kit.Context, control fault.Control, method string) (late string, hit bool) {
	k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
	x := faulted.Case{Kind: fault.Stall, Step: 1, Fixture: k, Call: k.CallOf(method)}
	stall := faulted.Inject(c, control, fault.Stall, 1)
	x.Result, _, x.Err = stalled(c, x.Call, control)
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
