package life

import (
	"context"
	"io"
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
		other := adapter.Adapter(nil)
		if c.Has(kit.AbilitySecond) {
			other = kit.Second(c)
		}
		works := func() error {
			if other == nil {
				return nil
			}
			return kit.LooksUp(c, other)
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
			c.Errorf("another handle worked after the first Close of this one, and after the second it fails: %v",
				twice)
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
		for _, w := range kit.Writes(c) {
			change, _ := w.Prepare(c)
			_, _ = change.Do(c.Ctx, c.Adapter)
		}
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
		for _, w := range kit.Writes(c) {
			change, _ := w.Prepare(c)
			_, _ = change.Do(c.Ctx, c.Adapter)
		}
		newExpiring(c, -time.Hour, 50*time.Millisecond)
		control := kit.Faults(c)
		if err := c.Harness().Close(c.Raw); err != nil {
			c.Errorf("Close: %v", err)
		}
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

// afterClose is how long a call with a closed client may take.
const afterClose = 5 * time.Second

// afterCloseNeverAbsent is LIFE-02.
func afterCloseNeverAbsent(c *kit.Context) {
	c.UninvolvedGone = true
	b := kit.Residents(c, 1)[0]
	keys := map[string][]string{}
	for _, k := range kit.Lookups(c) {
		if key, ok := b.Key(k); ok {
			keys[k.Name] = key
		}
	}
	type prepared struct {
		kit.Write
		change kit.Call
	}
	var ready []prepared
	for _, w := range kit.Writes(c) {
		change, _ := w.Prepare(c)
		ready = append(ready, prepared{w, change})
	}
	if err := c.Harness().Close(c.Raw); err != nil {
		c.Errorf("Close: %v", err)
	}
	for _, k := range kit.Lookups(c) {
		key := keys[k.Name]
		if key == nil {
			continue
		}
		prompt(c, k.Name, func(ctx context.Context) {
			got, err := at(c, ctx, func(c *kit.Context) (any, error) { return k.Call(c, c.Adapter, key) })
			if err == nil && got == nil {
				c.Errorf("%s after Close reports absent for a record that exists", k.Name)
			}
		})
	}
	for _, w := range ready {
		prompt(c, w.Method, func(ctx context.Context) {
			got, err := at(c, ctx, func(c *kit.Context) (any, error) { return w.change.Do(c.Ctx, c.Adapter) })
			creates := strings.HasPrefix(w.Method, "Create") && w.Method != "CreateVerificationToken" || w.Method == "UpdateUser" || w.Method == "UpdateAuthenticatorCounter"
			if err == nil && kit.IsNilRecord(got) && (creates || w.Method == "UseVerificationToken") {
				c.Errorf("%s after Close returned neither a record nor an error", w.Method)
			}
		})
	}
}

// at makes a call with the context ctx.
func at(c *kit.Context, ctx context.Context, call func(c *kit.Context) (any, error)) (any, error) {
	live := c.Ctx
	c.Ctx = ctx
	defer func() { c.Ctx = live }()
	return call(c)
}

// prompt reports a breach if f takes long after its context has ended.
func prompt(c *kit.Context, what string, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(c.Ctx, afterClose)
	defer cancel()
	start := time.Now()
	f(ctx)
	if took := time.Since(start); took > 2*afterClose {
		c.Errorf("%s took %v, and its context ended after %v", what, took, afterClose)
	}
}

// cancelledCalls makes calls whose context is cancelled before or during them,
// after up to n times 40 µs.
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
			key = make([]string, len(x.Parts))
			for j := range key {
				key[j] = c.Unique("unknown")
			}
		}
		ctx, cancel := context.WithTimeout(c.Ctx, x.after)
		defer cancel()
		_, _ = at(c, ctx, func(c *kit.Context) (any, error) { return x.Call(c, c.Adapter, key) })
		return true
	})
}

// noGoroutineOutlives is LIFE-04. A goroutine has the profiler label of the
// goroutine that started it, so the clause can tell its goroutines from those
// of other tests.
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
		if err := c.Harness().Close(raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		if _, remote := raw.(kit.Remote); !remote { // a program answers until then
			tb.RunCleanups() // the harness ends the goroutines that it started
		}
		closed = raw
	})
	for deadline := time.Now().Add(5 * time.Second); ; {
		n, stacks := startedFor(c, closed, label)
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.Errorf("%d goroutines that were started for the adapter still run 5 s after Close\n%s", n, stacks)
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.Ctx.Done():
			return
		}
	}
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

// connectionsReturn is LIFE-05.
func connectionsReturn(c *kit.Context) {
	connections := func() int { return c.Harness().Connections(c.Raw) }
	round := func() {
		for _, w := range kit.Writes(c) {
			change, _ := w.Prepare(c)
			_, _ = change.Do(c.Ctx, c.Adapter)
		}
	}
	for range 3 {
		round()
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
		round()
	}
	const slack = 2 // a pool may have opened another where one was in use
	deadline := time.Now().Add(5 * time.Second)
	for connections() > start+slack {
		if time.Now().After(deadline) {
			c.Errorf("%d connections at the start, %d after calls that failed or were cancelled", start, connections())
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.Ctx.Done():
			return
		}
	}
}

// closeDuringCalls is LIFE-06.
func closeDuringCalls(c *kit.Context) {
	c.UninvolvedGone = true
	b := kit.Residents(c, 1)[0]
	var stop, calls atomic.Int64
	lookups := kit.Lookups(c)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	live := c.Ctx
	c.Ctx = ctx
	var limit *time.Timer // from Close on: a slow store may need long for the calls before
	defer func() {
		if limit != nil {
			limit.Stop()
		}
	}()
	defer func() { c.Ctx = live }()
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
			limit = time.AfterFunc(4*afterClose, cancel)
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
					if got, err := k.Call(c, c.Raw, key); err == nil && got == nil {
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
		c.NotVerified("the harness has neither %s nor %s nor %s", kit.AbilitySecond, kit.AbilitySingle,
			kit.AbilityConnections)
	}
	miss := func(a adapter.Adapter, k kit.Method) {
		key := k.UnknownKey(c)
		_, _ = faulted.Bounded(c, faulted.OpenTime, func(c *kit.Context) (any, error) { return k.Call(c, a, key) })
	}
	refused := func(k *kit.Records, a adapter.Adapter) {
		for _, again := range c.Working([]kit.Call{kit.CreateUser(k.User), kit.LinkAccount(k.Account), kit.CreateSession(k.Session), kit.CreateAuthenticator(k.Authenticator), kit.CreateVerificationToken(k.Token)}) {
			_, _ = faulted.Bounded(c, faulted.OpenTime, func(c *kit.Context) (any, error) { return again.Do(c.Ctx, a) })
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
		const slack = 2 // a pool may have opened another where one was in use
		for end := time.Now().Add(5 * time.Second); c.Harness().Connections(c.Raw) > connections+slack; kit.Pause(c, 20*time.Millisecond) {
			if time.Now().After(end) {
				c.Fatalf("%d connections before, %d after misses", connections, c.Harness().Connections(c.Raw))
			}
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
		for end := time.Now().Add(5 * time.Second); ; kit.Pause(c, 20*time.Millisecond) {
			n, left := startedFor(c, c.Raw, label)
			if n <= before+slack {
				return
			}
			if time.Now().After(end) {
				c.Errorf("%d goroutines after 3 calls of each method, %d after %d more, 5 s after the last one returned:\n%s", before, n, 2*slack, left)
				return
			}
		}
	})
}
