package adaptertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// An adapter has no Close: it never owns its client. The LIFE clauses close the
// client or handle that the harness opened.
var lifeClauses = []check{
	{id: "LIFE-01", words: "close-twice", needs: []ability{abilityClose}, run: func(c *clauseContext) {
		c.uninvolvedGone = true
		other := adapter.Adapter(nil)
		if c.has(abilitySecond) {
			other = c.second()
		}
		works := func() error {
			if other == nil {
				return nil
			}
			return c.looksUp(other)
		}
		var once error
		for i := range 2 {
			if err := c.harness().Close(c.raw); err != nil {
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
	{id: "LIFE-02", words: "after-close-never-absent", needs: []ability{abilityClose}, run: afterCloseNeverAbsent},
	{id: "LIFE-03", words: "borrowed-handle-stays-open", needs: []ability{abilityCheckHandle}, run: func(c *clauseContext) {
		check := func(when string) {
			if err := c.harness().CheckHandle(c.ctx, c.raw); err != nil {
				c.Errorf("the handle of the harness does not work %s: %v", when, err)
			}
		}
		check("after the adapter was opened")
		for _, w := range c.writes() {
			change, _ := w.prepare(c)
			_, _ = change.do(c.ctx, c.a)
		}
		for _, x := range append(c.conflicts(), c.unknowns()...) {
			_, _ = x.do()
		}
		check("after calls, some of which failed")
		c.cancelledCalls(20)
		check("after calls that were cancelled")
		if closer, ok := c.raw.(io.Closer); ok {
			c.uninvolvedGone = true
			if err := closer.Close(); err != nil {
				c.Errorf("the adapter's Close: %v", err)
			}
			check("after the adapter's Close")
		}
	}},
	{id: "LIFE-04", words: "no-goroutine-outlives-close", needs: []ability{abilityClose}, alone: true, run: noGoroutineOutlives},
	{id: "LIFE-05", words: "connections-return", needs: []ability{abilityConnections}, run: connectionsReturn},
	{id: "LIFE-06", words: "close-during-calls", needs: []ability{abilityClose}, run: closeDuringCalls},
	{id: "LIFE-07", words: "close-stops-clean-up", needs: []ability{abilityClose, abilityFaults}, run: func(c *clauseContext) {
		c.uninvolvedGone = true
		for _, w := range c.writes() {
			change, _ := w.prepare(c)
			_, _ = change.do(c.ctx, c.a)
		}
		c.expiring(-time.Hour, 50*time.Millisecond)
		control := c.faults()
		if err := c.harness().Close(c.raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		before := control.Steps()
		deadline := time.After(400 * time.Millisecond)
		for {
			if c.has(abilityClock) {
				c.clock().Advance(time.Hour)
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
	{id: "LIFE-08", words: "misses-leave-nothing-open", run: missesLeaveNothingOpen},
	{id: "LIFE-09", words: "calls-leave-no-goroutine", run: callsLeaveNoGoroutine},
}

// afterClose is how long a call with a closed client may take.
const afterClose = 5 * time.Second

// afterCloseNeverAbsent is LIFE-02.
func afterCloseNeverAbsent(c *clauseContext) {
	c.uninvolvedGone = true
	b := c.residents(1)[0]
	keys := map[string][]string{}
	for _, k := range c.lookups() {
		if key, ok := b.key(k); ok {
			keys[k.method] = key
		}
	}
	type prepared struct {
		write
		change call
	}
	var ready []prepared
	for _, w := range c.writes() {
		change, _ := w.prepare(c)
		ready = append(ready, prepared{w, change})
	}
	if err := c.harness().Close(c.raw); err != nil {
		c.Errorf("Close: %v", err)
	}
	for _, k := range c.lookups() {
		key := keys[k.method]
		if key == nil {
			continue
		}
		c.prompt(k.method, func(ctx context.Context) {
			got, err := c.at(ctx, func(c *clauseContext) (any, error) { return k.call(c, c.a, key) })
			if err == nil && got == nil {
				c.Errorf("%s after Close reports absent for a record that exists", k.method)
			}
		})
	}
	for _, w := range ready {
		c.prompt(w.method, func(ctx context.Context) {
			got, err := c.at(ctx, func(c *clauseContext) (any, error) { return w.change.do(c.ctx, c.a) })
			creates := strings.HasPrefix(w.method, "Create") && w.method != "CreateVerificationToken" || w.method == "UpdateUser" || w.method == "UpdateAuthenticatorCounter"
			if err == nil && isNilRecord(got) && (creates || w.method == "UseVerificationToken") {
				c.Errorf("%s after Close returned neither a record nor an error", w.method)
			}
		})
	}
}

// at makes a call with the context ctx.
func (c *clauseContext) at(ctx context.Context, call func(c *clauseContext) (any, error)) (any, error) {
	live := c.ctx
	c.ctx = ctx
	defer func() { c.ctx = live }()
	return call(c)
}

// prompt reports a breach if f takes long after its context has ended.
func (c *clauseContext) prompt(what string, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(c.ctx, afterClose)
	defer cancel()
	start := time.Now()
	f(ctx)
	if took := time.Since(start); took > 2*afterClose {
		c.Errorf("%s took %v, and its context ended after %v", what, took, afterClose)
	}
}

// cancelledCalls makes calls whose context is cancelled before or during them,
// after up to n times 40 µs.
func (c *clauseContext) cancelledCalls(n int) {
	b := c.residents(1)[0]
	type cancelled struct {
		keyed
		after time.Duration
	}
	var cases []cancelled
	for i := 0; i < n; i += min(n/5, c.stride) {
		for _, k := range c.keyed() {
			cases = append(cases, cancelled{k, time.Duration(i) * 40 * time.Microsecond})
		}
	}
	each(c, cases, func(x cancelled) []string { return []string{x.method} }, func(x cancelled) bool {
		key, ok := b.key(x.keyed)
		if !ok || !x.lookup || x.method == "UseVerificationToken" {
			key = make([]string, len(x.parts))
			for j := range key {
				key[j] = c.unique("unknown")
			}
		}
		ctx, cancel := context.WithTimeout(c.ctx, x.after)
		defer cancel()
		_, _ = c.at(ctx, func(c *clauseContext) (any, error) { return x.call(c, c.a, key) })
		return true
	})
}

// noGoroutineOutlives is LIFE-04. A goroutine has the profiler label of the
// goroutine that started it, so the clause can tell its goroutines from those
// of other tests.
func noGoroutineOutlives(c *clauseContext) {
	c.uninvolvedGone = true // the harness may empty the one store that it has
	const label = "adaptertest-life-04"
	mark := c.run.nonce
	tb := &harnessTB{c: c, tempDir: c.tb.tempDir}
	pprof.Do(c.ctx, pprof.Labels(label, mark), func(context.Context) {
		raw := c.harness().New(tb)
		if raw == nil {
			c.Fatalf("the harness returned a nil adapter")
		}
		live, liveRaw := c.a, c.raw
		c.a, c.raw = c.observe(raw), raw
		for _, w := range c.writes() {
			change, _ := w.prepare(c)
			if _, err := change.do(c.ctx, c.a); err != nil {
				c.Errorf("%s: %v", w.method, err)
			}
		}
		c.a, c.raw = live, liveRaw
		if err := c.harness().Close(raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		tb.cleanUp() // the harness ends the goroutines that it started
	})
	var left string
	for deadline := time.Now().Add(5 * time.Second); ; {
		if left = goroutinesWith(label, mark); left == "" {
			return
		}
		if time.Now().After(deadline) {
			c.Errorf("goroutines that were started for the adapter still run 5 s after Close:\n%s", left)
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.ctx.Done():
			return
		}
	}
}

// goroutinesWith returns the stacks of the goroutines with the label, except
// the calling one.
func goroutinesWith(label, value string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return ""
	}
	want := fmt.Sprintf("%q:%q", label, value)
	var found []string
	_, stacks, _ := strings.Cut(profile.String(), "\n") // without the headline
	for _, stack := range strings.Split(stacks, "\n\n") {
		if strings.Contains(stack, want) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

// connectionsReturn is LIFE-05.
func connectionsReturn(c *clauseContext) {
	connections := func() int { return c.harness().Connections(c.raw) }
	round := func() {
		for _, w := range c.writes() {
			change, _ := w.prepare(c)
			_, _ = change.do(c.ctx, c.a)
		}
	}
	for range 3 {
		round()
	}
	start := connections()
	for _, x := range append(c.conflicts(), c.unknowns()...) {
		_, _ = x.do()
	}
	c.cancelledCalls(30)
	if c.has(abilityFaults) {
		c.run.failed = c.failedCalls() // made here, not in an earlier clause
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
		case <-c.ctx.Done():
			return
		}
	}
}

// closeDuringCalls is LIFE-06.
func closeDuringCalls(c *clauseContext) {
	c.uninvolvedGone = true
	b := c.residents(1)[0]
	var stop, calls atomic.Int64
	lookups := c.lookups()
	ctx, cancel := context.WithTimeout(c.ctx, 4*afterClose)
	defer cancel()
	live := c.ctx
	c.ctx = ctx
	defer func() { c.ctx = live }()
	const workers = 8
	started := make(chan struct{}, workers)
	c.parallel(workers+1, func(i int) {
		if i == workers {
			for range workers {
				select {
				case <-started:
				case <-ctx.Done():
				}
			}
			if err := c.harness().Close(c.raw); err != nil {
				c.Errorf("Close during calls: %v", err)
			}
			stop.Store(1)
			return
		}
		for n, after := 0, int64(0); after <= 2; n++ { // a client may take a tenth of a second to report that it is closed
			after += stop.Load()
			for _, k := range lookups {
				if key, ok := b.key(k); ok && k.method != "UseVerificationToken" {
					if got, err := k.call(c, c.raw, key); err == nil && got == nil {
						c.Errorf("%s during Close reports absent for a record that exists", k.method)
					}
				}
			}
			if c.works("CreateVerificationToken") {
				_, _ = c.raw.CreateVerificationToken(ctx, c.newToken())
			}
			if c.works("CreateUser") {
				_, _ = c.raw.CreateUser(ctx, c.newUser())
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
func missesLeaveNothingOpen(c *clauseContext) {
	if !c.has(abilitySecond) && !c.has(abilitySingle) && !c.has(abilityConnections) {
		c.notVerified("the harness has neither %s nor %s nor %s", abilitySecond, abilitySingle, abilityConnections)
	}
	miss := func(a adapter.Adapter, k keyed) {
		key := make([]string, len(k.parts))
		for i, part := range k.parts {
			if key[i] = c.unique(part); part == "user id" {
				key[i] = c.id()
			}
		}
		_, _ = c.bounded(openTime, func(c *clauseContext) (any, error) { return k.call(c, a, key) })
	}
	refused := func(k *fixture, a adapter.Adapter) {
		for _, again := range c.working([]call{createUser(k.user), linkAccount(k.account), createSession(k.session), createAuthenticator(k.authenticator), createToken(k.token)}) {
			_, _ = c.bounded(openTime, func(c *clauseContext) (any, error) { return again.do(c.ctx, a) })
		}
	}
	fixtureOf := func(a adapter.Adapter) (k *fixture) {
		_, _ = c.bounded(openTime, func(c *clauseContext) (any, error) { k = c.newFixture(a); return nil, nil })
		return k
	}
	works := func(a adapter.Adapter, k *fixture, what string) bool {
		if err := c.writesFromElsewhere(a, k); err != nil {
			c.Errorf("after %s: %v", what, err)
			return false
		}
		return true
	}
	connections := 0
	if c.has(abilityConnections) {
		fixtureOf(c.a)
		connections = c.harness().Connections(c.raw)
	}
	if c.has(abilitySecond) {
		second := c.second()
		for k := range some(&c.budget, c.keyed()) {
			fixture := fixtureOf(c.a)
			miss(c.a, k)
			if !works(second, fixture, "a miss of "+k.method+", through another adapter") {
				return
			}
		}
		fixture := fixtureOf(c.a)
		refused(fixture, c.a)
		works(second, fixture, "writes that were refused, through another adapter")
	}
	if c.has(abilitySingle) {
		single := c.observe(c.harness().Single(c.tb))
		for k := range some(&c.budget, c.keyed()) {
			for range 2 {
				miss(single, k)
			}
			if !works(single, fixtureOf(single), "misses of "+k.method+", through the same single connection") {
				return
			}
		}
		fixture := fixtureOf(single)
		refused(fixture, single)
		works(single, fixture, "writes that were refused, through the same single connection")
	}
	if c.has(abilityConnections) {
		for k := range some(&c.budget, c.keyed()) {
			for range 8 {
				miss(c.a, k)
			}
		}
		const slack = 2 // a pool may have opened another where one was in use
		for end := time.Now().Add(5 * time.Second); c.harness().Connections(c.raw) > connections+slack; c.pause(20 * time.Millisecond) {
			if time.Now().After(end) {
				c.Fatalf("%d connections before, %d after misses", connections, c.harness().Connections(c.raw))
			}
		}
	}
}

// callsLeaveNoGoroutine is LIFE-09: many calls of each method leave no more
// goroutines behind than a few do, although their context lives on.
func callsLeaveNoGoroutine(c *clauseContext) {
	const label, slack = "adaptertest-life-09", 10
	mark := c.run.nonce
	live := c.ctx
	ctx, cancel := context.WithCancel(live)
	defer cancel()
	c.ctx = ctx
	defer func() { c.ctx = live }()
	pprof.Do(ctx, pprof.Labels(label, mark), func(context.Context) {
		round := func() {
			k := c.newFixture(c.raw)
			for _, m := range c.working(append(k.reads(), k.writes()...)) {
				_, _ = m.do(c.ctx, c.raw)
			}
		}
		for range 3 { // a pool opens its connections
			round()
		}
		before := countGoroutines(goroutinesWith(label, mark))
		for range 5 { // those that are about to end
			c.pause(10 * time.Millisecond)
			before = min(before, countGoroutines(goroutinesWith(label, mark)))
		}
		for range 2 * slack {
			round()
		}
		for end := time.Now().Add(5 * time.Second); ; c.pause(20 * time.Millisecond) {
			left := goroutinesWith(label, mark)
			n := countGoroutines(left)
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

// countGoroutines counts the goroutines of stacks: each stack begins with the
// number of goroutines that have it.
func countGoroutines(stacks string) int {
	total := 0
	for _, stack := range strings.Split(stacks, "\n\n") {
		var n int
		if _, err := fmt.Sscanf(stack, "%d @", &n); err == nil {
			total += n
		}
	}
	return total
}
