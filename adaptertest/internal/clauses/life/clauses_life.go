package life

import (
	"context"
	"io"
	"math"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/goroutines"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// An adapter has no Close: it never owns its client. The LIFE clauses close the
// client or handle that the harness opened.
var lifeClauses = []kit.Check{
	{ID: "LIFE-01", Words: "close-twice", Needs: []kit.Ability{kit.AbilityClose}, Test: func(c *kit.Context) {
		c.UninvolvedGone = true
		works := func() error { return nil }
		if c.Has(kit.AbilitySecond) {
			other := kit.Second(c)
			works = func() error { return kit.LooksUp(c, other) }
		}
		var once error
		for i := range 2 {
			if err := c.Harness().Close(c.Raw); err != nil {
				c.Errorf("Close, call %d: %v", i+1, err)
			}
			if i == 0 {
				once = works()
			}
		}
		if twice := works(); once == nil && twice != nil {
			c.Errorf("another handle worked after the first Close of this one, and after the second it fails: %v", twice)
		}
	}},
	{ID: "LIFE-02", Words: "after-close-never-absent", Needs: []kit.Ability{kit.AbilityClose}, Test: afterCloseNeverAbsent},
	{ID: "LIFE-03", Words: "borrowed-handle-stays-open", Needs: []kit.Ability{kit.AbilityCheckHandle}, Test: func(c *kit.Context) {
		check := func(when string) {
			if err := c.Harness().CheckHandle(c.Ctx, c.Raw); err != nil {
				c.Errorf("the handle of the harness does not work %s: %v", when, err)
			}
		}
		check("after the adapter was opened")
		writeAll(c)
		for _, x := range append(kit.Conflicts(c), kit.Unknowns(c)...) {
			_, _ = x.Try(c)
		}
		check("after calls, some of which failed")
		cancelledCalls(c, 20)
		check("after calls that were cancelled")
		if closer, ok := c.Raw.(io.Closer); ok {
			c.UninvolvedGone = true
			if err := closer.Close(); err != nil {
				c.Errorf("the adapter's Close: %v", err)
			}
			check("after the adapter's Close")
		}
	}},
	{ID: "LIFE-04", Words: "no-goroutine-outlives-close", Needs: []kit.Ability{kit.AbilityClose}, Alone: true, Test: noGoroutineOutlives},
	{ID: "LIFE-05", Words: "connections-return", Needs: []kit.Ability{kit.AbilityConnections}, Test: connectionsReturn},
	{ID: "LIFE-06", Words: "close-during-calls", Needs: []kit.Ability{kit.AbilityClose}, Test: closeDuringCalls},
	{ID: "LIFE-07", Words: "close-stops-clean-up", Needs: []kit.Ability{kit.AbilityClose, kit.AbilityFaults}, Test: func(c *kit.Context) {
		c.UninvolvedGone = true
		writeAll(c)
		newExpiring(c, -time.Hour, 50*time.Millisecond)
		control := kit.Faults(c)
		kit.Close(c, c.Raw)
		before := control.Steps()
		deadline := time.After(400 * time.Millisecond)
		for {
			if c.Has(kit.AbilityClock) {
				kit.Clock(c).Advance(time.Hour)
			}
			if n := control.Steps(); n != before {
				c.Errorf("%d exchanges with the store after Close returned", n-before)
				return
			}
			select {
			case <-deadline:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}},
	{ID: "LIFE-08", Words: "misses-leave-nothing-open", Test: missesLeaveNothingOpen},
	{ID: "LIFE-09", Words: "calls-leave-no-goroutine", Test: callsLeaveNoGoroutine},
}

// writeAll makes each write. What fails does not count.
func writeAll(c *kit.Context) {
	for _, w := range kit.Writes(c) {
		change, _ := w.Prepare(c)
		_, _ = change.Do(c.Ctx, c.Adapter)
	}
}

// afterClose is how long a call with a closed client may take.
const afterClose = 5 * time.Second

func afterCloseNeverAbsent(c *kit.Context) {
	c.UninvolvedGone = true
	b := kit.Residents(c, 1)[0]
	var lookups, changes []kit.Call
	for _, k := range kit.Lookups(c) {
		if key, ok := b.Key(k); ok {
			lookups = append(lookups, k.With(c, key))
		}
	}
	for _, w := range kit.Writes(c) {
		change, _ := w.Prepare(c)
		changes = append(changes, change)
	}
	kit.Close(c, c.Raw)
	for _, k := range lookups {
		prompt(c, k, func(got any, err error) {
			if err == nil && kit.IsNothing(got) {
				c.Errorf("%s after Close reports absent for a record that exists", k.Method)
			}
		})
	}
	for _, w := range changes {
		prompt(c, w, func(got any, err error) {
			creates := strings.HasPrefix(w.Method, "Create") && w.Method != "CreateVerificationToken" || w.Method == "UpdateUser" || w.Method == "UpdateAuthenticatorCounter"
			if err == nil && kit.IsNilRecord(got) && (creates || w.Method == "UseVerificationToken") {
				c.Errorf("%s after Close returned neither a record nor an error", w.Method)
			}
		})
	}
}

// prompt makes the call, and reports a breach if it takes long after its context has ended.
func prompt(c *kit.Context, k kit.Call, judge func(got any, err error)) {
	start := time.Now()
	judge(faulted.Within(c, afterClose, k, c.Adapter))
	if took := time.Since(start); took > 2*afterClose {
		c.Errorf("%s took %v, and its context ended after %v", k.Method, took, afterClose)
	}
}

// cancelledCalls makes calls whose context is cancelled before or during them, after up to n times 40 µs.
func cancelledCalls(c *kit.Context, n int) {
	b := kit.Residents(c, 1)[0]
	type cancelled struct {
		kit.Method
		after time.Duration
	}
	var cases []cancelled
	for i := 0; i < n; i += min(n/5, c.Stride) {
		for _, k := range kit.MethodsWithKey(c) {
			cases = append(cases, cancelled{k, time.Duration(i) * 40 * time.Microsecond})
		}
	}
	kit.Each(c, cases, func(x cancelled) []string { return []string{x.Name} }, func(x cancelled) bool {
		key, ok := b.Key(x.Method)
		if !ok || !x.Lookup() || x.Name == "UseVerificationToken" {
			key = kit.Map(x.Parts, func(string) string { return c.Unique("unknown") })
		}
		_, _ = faulted.Within(c, x.after, x.With(c, key), c.Adapter)
		return true
	})
}

// noGoroutineOutlives is LIFE-04. A goroutine has the profiler label of the goroutine that started it, so the
// clause can tell its goroutines from those of other tests.
func noGoroutineOutlives(c *kit.Context) {
	c.UninvolvedGone = true // the harness may empty the one store that it has
	const label = "adaptertest-life-04"
	tb := &kit.HarnessTB{C: c, MakeDir: c.TB.MakeDir}
	defer tb.RunCleanups()
	var closed adapter.Adapter
	pprof.Do(c.Ctx, pprof.Labels(label, c.Run.Nonce), func(context.Context) {
		raw := c.Harness().New(tb)
		if raw == nil {
			c.Fatalf("the harness returned a nil adapter")
		}
		live, liveRaw := c.Adapter, c.Raw
		c.Adapter, c.Raw = c.Observe(raw), raw
		for _, w := range kit.Writes(c) {
			change, _ := w.Prepare(c)
			if _, err := change.Do(c.Ctx, c.Adapter); err != nil {
				c.Errorf("%s: %v", w.Method, err)
			}
		}
		c.Adapter, c.Raw = live, liveRaw
		kit.Close(c, raw)
		if _, remote := raw.(kit.Remote); !remote { // a program answers until then
			tb.RunCleanups() // the harness ends the goroutines that it started
		}
		closed = raw
	})
	var n int
	var stacks string
	if !inTime(c, func() bool { n, stacks = startedFor(c, closed, label); return n == 0 }) {
		c.Errorf("%d goroutines that were started for the adapter still run 5 s after Close\n%s", n, stacks)
	}
}

// inTime waits, up to 5 s, until it is done.
func inTime(c *kit.Context, done func() bool) bool {
	for end := time.Now().Add(5 * time.Second); !done(); kit.Pause(c, 20*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// startedFor returns the number of goroutines that were started for the handle, and their stacks:
// those with the label or, if the adapter is in another program, those that it counts.
func startedFor(c *kit.Context, a adapter.Adapter, label string) (n int, stacks string) {
	program, ok := a.(kit.Remote)
	if !ok {
		return goroutines.With(label, c.Run.Nonce)
	}
	n, err := program.Tasks(c.Ctx)
	if err != nil {
		c.Fatalf("the program does not count its tasks: %v", err)
	}
	return n, ""
}

func connectionsReturn(c *kit.Context) {
	connections := func() int { return c.Harness().Connections(c.Raw) }
	for range 3 {
		writeAll(c)
	}
	start := connections()
	for _, x := range append(kit.Conflicts(c), kit.Unknowns(c)...) {
		_, _ = x.Try(c)
	}
	cancelledCalls(c, 30)
	if c.Has(kit.AbilityFaults) {
		c.Run.Failed = faulted.FailedCalls(c) // made here, not in an earlier clause
	}
	for range 3 {
		writeAll(c)
	}
	if !inTime(c, func() bool { return connections() <= start+slackOfPool }) {
		c.Errorf("%d connections at the start, %d after calls that failed or were cancelled", start, connections())
	}
}

// slackOfPool allows for a pool that has opened another connection where one was in use.
const slackOfPool = 2

func closeDuringCalls(c *kit.Context) {
	c.UninvolvedGone = true
	b := kit.Residents(c, 1)[0]
	var stop, calls atomic.Int64
	lookups := kit.Lookups(c)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	limit := time.AfterFunc(math.MaxInt64, cancel) // from Close on: a slow store may need long for the calls before
	defer limit.Stop()
	const workers = 8
	started := make(chan struct{}, workers)
	c.Parallel(workers+1, func(i int) {
		if i == workers {
			for range workers {
				select {
				case <-started:
				case <-ctx.Done():
				}
			}
			limit.Reset(4 * afterClose)
			if err := c.Harness().Close(c.Raw); err != nil {
				c.Errorf("Close during calls: %v", err)
			}
			stop.Store(1)
			return
		}
		for n, after := 0, int64(0); after <= 2; n++ { // a client may take a tenth of a second to report that it is closed
			after += stop.Load()
			for _, k := range lookups {
				if key, ok := b.Key(k); ok && k.Name != "UseVerificationToken" {
					if got, err := k.With(c, key).Do(ctx, c.Raw); err == nil && kit.IsNothing(got) {
						c.Errorf("%s during Close reports absent for a record that exists", k.Name)
					}
				}
			}
			if c.Works("CreateVerificationToken") {
				_, _ = c.Raw.CreateVerificationToken(ctx, c.NewToken())
			}
			if c.Works("CreateUser") {
				_, _ = c.Raw.CreateUser(ctx, c.NewUser())
			}
			calls.Add(1)
			if n == 3 {
				started <- struct{}{}
			}
			if ctx.Err() != nil {
				c.Errorf("calls ran for %v after Close", 4*afterClose)
				return
			}
		}
	})
	c.Notef("%d rounds of calls around Close", calls.Load())
}

// missesLeaveNothingOpen is LIFE-08: a miss of each kind is followed by writes
// through a second handle, and through a pool of one.
func missesLeaveNothingOpen(c *kit.Context) {
	if !c.Has(kit.AbilitySecond) && !c.Has(kit.AbilitySingle) && !c.Has(kit.AbilityConnections) {
		c.NotVerified("the harness has neither %s nor %s nor %s", kit.AbilitySecond, kit.AbilitySingle, kit.AbilityConnections)
	}
	miss := func(a adapter.Adapter, k kit.Method) {
		_, _ = faulted.Within(c, faulted.OpenTime, k.With(c, k.UnknownKey(c)), a)
	}
	refused := func(k *kit.Records, a adapter.Adapter) {
		for _, again := range c.Working([]kit.Call{kit.CreateUser(k.User), kit.LinkAccount(k.Account), kit.CreateSession(k.Session), kit.CreateAuthenticator(k.Authenticator), kit.CreateVerificationToken(k.Token)}) {
			_, _ = faulted.Within(c, faulted.OpenTime, again, a)
		}
	}
	fixtureOf := func(a adapter.Adapter) (k *kit.Records) {
		_, _ = faulted.Bounded(c, faulted.OpenTime, func(c *kit.Context) (any, error) { k = kit.NewFixture(c, a); return nil, nil })
		return k
	}
	works := func(a adapter.Adapter, k *kit.Records, what string) bool {
		if err := faulted.WritesFromElsewhere(c, a, k); err != nil {
			c.Errorf("after %s: %v", what, err)
			return false
		}
		return true
	}
	connections := 0
	if c.Has(kit.AbilityConnections) {
		fixtureOf(c.Adapter)
		connections = c.Harness().Connections(c.Raw)
	}
	if c.Has(kit.AbilitySecond) {
		second := kit.Second(c)
		for k := range kit.Some(&c.Budget, kit.MethodsWithKey(c)) {
			fixture := fixtureOf(c.Adapter)
			miss(c.Adapter, k)
			if !works(second, fixture, "a miss of "+k.Name+", through another adapter") {
				return
			}
		}
		fixture := fixtureOf(c.Adapter)
		refused(fixture, c.Adapter)
		works(second, fixture, "writes that were refused, through another adapter")
	}
	if c.Has(kit.AbilitySingle) {
		single := c.Observe(c.Harness().Single(c.TB))
		for k := range kit.Some(&c.Budget, kit.MethodsWithKey(c)) {
			for range 2 {
				miss(single, k)
			}
			if !works(single, fixtureOf(single), "misses of "+k.Name+", through the same single connection") {
				return
			}
		}
		fixture := fixtureOf(single)
		refused(fixture, single)
		works(single, fixture, "writes that were refused, through the same single connection")
	}
	if c.Has(kit.AbilityConnections) {
		for k := range kit.Some(&c.Budget, kit.MethodsWithKey(c)) {
			for range 8 {
				miss(c.Adapter, k)
			}
		}
		if !inTime(c, func() bool { return c.Harness().Connections(c.Raw) <= connections+slackOfPool }) {
			c.Fatalf("%d connections before, %d after misses", connections, c.Harness().Connections(c.Raw))
		}
	}
}

// callsLeaveNoGoroutine is LIFE-09: many calls of each method leave no more
// goroutines behind than a few do, although their context lives on.
func callsLeaveNoGoroutine(c *kit.Context) {
	const label, slack = "adaptertest-life-09", 10
	live := c.Ctx
	ctx, cancel := context.WithCancel(live)
	defer cancel()
	c.Ctx = ctx
	defer func() { c.Ctx = live }()
	pprof.Do(ctx, pprof.Labels(label, c.Run.Nonce), func(context.Context) {
		round := func() {
			k := kit.NewFixture(c, c.Raw)
			for _, m := range c.Working(append(k.Reads(), k.Writes()...)) {
				_, _ = m.Do(c.Ctx, c.Raw)
			}
		}
		for range 3 { // a pool opens its connections
			round()
		}
		before, _ := startedFor(c, c.Raw, label)
		for range 5 { // those that are about to end
			kit.Pause(c, 10*time.Millisecond)
			now, _ := startedFor(c, c.Raw, label)
			before = min(before, now)
		}
		for range 2 * slack {
			round()
		}
		var n int
		var left string
		if !inTime(c, func() bool { n, left = startedFor(c, c.Raw, label); return n <= before+slack }) {
			c.Errorf("%d goroutines after 3 calls of each method, %d after %d more, 5 s after the last one returned:\n%s", before, n, 2*slack, left)
		}
	})
}
