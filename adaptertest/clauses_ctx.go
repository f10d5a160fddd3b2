package adaptertest

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
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var ctxClauses = []check{
	{id: "CTX-01", words: "cancelled-call-does-nothing", run: func(c *clauseContext) {
		cancelled, cancel := context.WithCancelCause(c.ctx)
		cancel(errors.New("the visitor has gone")) // the error of the context is context.Canceled all the same
		late, end := context.WithTimeout(c.ctx, -time.Second)
		defer end()
		k := c.newFixture(c.a)
		for _, m := range c.working(append(k.reads(), k.writes()...)) {
			for _, ended := range []context.Context{cancelled, late} {
				start := time.Now()
				record, err := m.do(ended, c.a)
				if !errors.Is(err, ended.Err()) {
					c.Errorf("%s with a context that has ended: got %s, error %v; want an error that matches %q", m.method, diff.Show(record), err, ended.Err())
				}
				if took := time.Since(start); took > grace {
					c.Errorf("%s with a context that has ended took %v", m.method, took)
				}
			}
		}
		if d := c.differences(c.see(k), c.snapshotOfModel(k.model(c), k.keys())); len(d) > 0 {
			c.Errorf("the cancelled calls changed something: %v", d)
		}
		if c.works("UseVerificationToken") {
			c.same("the token that a cancelled call was to use", c.useToken(k.token.Key()), &k.token)
			c.absent("the token that a cancelled call was to create", c.useToken(k.newToken.Key()), nil)
		}
	}},
	{id: "CTX-02", words: "stalled-call-ends-at-its-deadline", needs: needsFaults, run: func(c *clauseContext) {
		control := c.control()
		defer control.Heal()
		hits := 0
		each(c, c.allMethods(), itself, func(method string) bool {
			before, late := hits, 0
			inTurn(c, min(3, c.rounds(3)), func(step int) bool {
				for {
					k := c.newFixture(c.observe(c.witness()))
					m := k.callOf(method)
					i := c.inject(control, fault.Stall, step)
					start := time.Now()
					ctx, cancel := context.WithTimeout(c.ctx, stallTime)
					_, err := c.within(ctx, stallTime+grace, m, control)
					cancel()
					took, hit := time.Since(start), isHit(i)
					i.Release()
					c.mend(control)
					if !hit && took >= stallTime && late < 9 {
						late++ // on a busy machine the deadline passed before the step
						continue
					}
					if !hit {
						return false
					}
					hits++
					if took > stallTime+grace {
						c.Errorf("%s, with a store that stalls at step %d and a deadline of %v, took %v", method, step, stallTime, took)
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						c.Errorf("%s, with a store that stalls at step %d: got error %v, want context.DeadlineExceeded", method, step, err)
					}
					return true
				}
			})
			return hits > before
		})
		each(c, c.allMethods(), itsRecord, func(method string) bool { return c.endsBehindStalled(control, method) })
		if hits == 0 {
			c.notVerified("no call caused any traffic under the control of Faults")
		}
	}},
	{id: "CTX-03", words: "success-has-taken-effect", run: func(c *clauseContext) {
		if len(c.working(new(fixture).writes())) == 0 {
			c.notApplicable("the adapter has no writes")
		}
		p, stop := pair.New()
		defer stop()
		during := &pair.Canceller{Runner: p}
		// Each write has its own fixture, because a cancelled call may still have
		// effects after it has returned. CTX-07 judges these.
		try := func(method string, call func(w call) (record any, err error)) {
			k := c.newFixture(c.witness())
			w := k.callOf(method)
			record, err := call(w)
			c.tookEffect(k, k.model(c), w, record, err)
		}
		var writes []string
		for _, w := range c.working(new(fixture).writes()) {
			writes = append(writes, w.method)
		}
		c.eachPoint(writes, tripLooks, 4, func(method string, n int) (come bool) {
			try(method, func(w call) (any, error) {
				ctx := pair.NewTripContext(c.ctx, n)
				defer ctx.Cancel()
				record, err := w.do(ctx, c.raw)
				come = ctx.Tripped()
				return record, err
			})
			return come
		})
		var moments []string
		for turn := range c.rounds(150) {
			moments = append(moments, writes[turn%len(writes)])
		}
		each(c, moments, itself, func(method string) bool {
			try(method, func(w call) (record any, err error) {
				during.Call(c.ctx, func(ctx context.Context) { record, err = w.do(ctx, c.raw) })
				return record, err
			})
			return true
		})
		c.cancelLookups(during)
	}},
	{id: "CTX-04", words: "abandoned-calls-use-nothing-up", needs: []ability{abilityLimited}, run: func(c *clauseContext) {
		limited := c.harness().Limited(c.tb)
		c.abandon(limited)
		c.parallel(5, func(int) {
			for range max(2, c.rounds(10)) {
				ctx, cancel := context.WithTimeout(c.ctx, deadline)
				err := c.normalCalls(ctx, limited)
				cancel()
				if err != nil {
					c.Fatalf("after calls that were cancelled: %v", err)
				}
			}
		})
	}},
	{id: "CTX-05", words: "cancelled-write-is-whole-or-none", run: func(c *clauseContext) {
		c.cancelAtEachLook()
		if control := c.faults(); control != nil {
			c.cancelAtEachStep(control)
		} else {
			c.cancelAnywhere()
		}
	}},
	{id: "CTX-06", words: "cancelling-one-call-fails-no-other", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		c.cancelBesideUpdates()
		c.cancelOneOfTwo()
		c.cancelFirstCall()
	}},
	{id: "CTX-07", words: "nothing-is-written-after-return", needs: needsFaults, run: (*clauseContext).nothingComesLater},
	{id: "CTX-08", words: "short-deadline-leaves-time", run: func(c *clauseContext) {
		k := c.newFixture(c.a)
		for _, m := range c.working(append(k.reads(), k.writes()...)) {
			ctx, cancel := context.WithTimeout(c.ctx, shortDeadline)
			_, err := m.do(ctx, c.a)
			end, _ := ctx.Deadline()
			left := time.Until(end)
			cancel()
			if err != nil && left > shortDeadline/4 {
				c.Errorf("%s with a deadline of %v failed %v before it: %v", m.method, shortDeadline, left, err)
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
func (c *clauseContext) eachPoint(methods []string, most, stride int, try func(method string, n int) bool) {
	stride = min(stride, c.stride)
	next := map[string]int{} // zero for a method that has no more points
	var turns []string
	for turn, method := range methods {
		next[method] = 1 + turn%stride
		turns = append(turns, slices.Repeat([]string{method}, most/stride)...)
	}
	each(c, turns, itself, func(method string) bool {
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
func (c *clauseContext) cancelLookups(during *pair.Canceller) {
	k := c.newFixture(c.raw)
	c.pause(c.harness().Declarations.EventualReads)
	calls, there := map[string]call{}, map[string]any{}
	var methods, moments []string
	for _, m := range c.working(k.reads()) {
		record, err := m.do(c.ctx, c.raw)
		calls[m.method], there[m.method] = m, must(c, m.method, record, err)
		methods = append(methods, m.method)
		moments = append(moments, slices.Repeat([]string{m.method}, c.rounds(15))...)
	}
	judge := func(method string, got any, err error) {
		if d := c.unlike(got, there[method]); err == nil && d != "" {
			c.Fatalf("%s was cancelled under way and succeeded: %s", method, d)
		}
	}
	c.eachPoint(methods, 3*tripLooks, 4, func(method string, n int) bool {
		ctx := pair.NewTripContext(c.ctx, n)
		defer ctx.Cancel()
		got, err := calls[method].do(ctx, c.raw)
		come := ctx.Tripped()
		judge(method, got, err)
		return come
	})
	each(c, moments, itself, func(method string) bool {
		var got any
		var err error
		during.Call(c.ctx, func(ctx context.Context) { got, err = calls[method].do(ctx, c.raw) })
		judge(method, got, err)
		return true
	})
}

// see makes all lookups of the fixture.
func (c *clauseContext) see(k *fixture) []lookup {
	seen, err := c.snapshot(c.ctx, c.raw, k.keys())
	return must(c, "a lookup", seen, err)
}

// allMethods are the methods that the adapter can be called with.
func (c *clauseContext) allMethods() []string {
	var methods []string
	var k fixture
	for _, m := range append(k.reads(), k.writes()...) {
		if c.works(m.method) {
			methods = append(methods, m.method)
		}
	}
	return methods
}

// within makes a call that may ignore its context. If the call takes too long,
// within heals the traffic, so that the call ends.
func (c *clauseContext) within(ctx context.Context, limit time.Duration, m call, control fault.Control) (any, error) {
	timer := time.AfterFunc(limit, control.Heal)
	defer timer.Stop()
	return m.do(ctx, c.a)
}

// endsBehindStalled makes a call that stalls, and while it does, the same call again and
// another one. An adapter that lets calls wait for one another ends also the wait at the
// deadline. It reports whether the first call came to the store.
func (c *clauseContext) endsBehindStalled(control fault.Control, method string) (hit bool) {
	k := c.newFixture(c.observe(c.witness()))
	methods := c.allMethods()
	other := methods[c.rand.IntN(len(methods))]
	stall := c.inject(control, fault.Stall, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(c.ctx, recoveryTime)
		defer cancel()
		_, _ = k.callOf(method).do(ctx, c.raw)
	}()
	select {
	case <-stall.Hit():
		hit = true
	case <-done:
	}
	behind := []call{k.callOf(method), k.callOf(other)}
	if hit {
		c.parallel(len(behind), func(i int) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(c.ctx, stallTime)
			defer cancel()
			_, _ = c.within(ctx, stallTime+grace, behind[i], control)
			if took := time.Since(start); took > stallTime+grace {
				c.Errorf("%s, with a deadline of %v, while a call of %s stalls, took %v", behind[i].method, stallTime, method, took)
			}
		})
	}
	stall.Release()
	<-done
	c.mend(control)
	return hit
}

// tookEffect reports a breach if a write that was cancelled while it ran has
// succeeded without an effect.
func (c *clauseContext) tookEffect(k *fixture, m *model.Model, w call, record any, err error) {
	switch w.method {
	case "UseVerificationToken":
		rest := c.useToken(k.token.Key())
		if err == nil && (rest != nil || isNilRecord(record)) {
			c.Fatalf("UseVerificationToken was cancelled under way and succeeded with %s; another use got %s", diff.Show(record), diff.Show(rest))
		}
		return
	case "CreateVerificationToken":
		if !c.works("UseVerificationToken") {
			return // nothing shows the token
		}
		if got := c.useToken(k.newToken.Key()); err == nil && got == nil {
			c.Fatalf("CreateVerificationToken was cancelled during the call and succeeded, but no token exists")
		}
		return
	case "CreateUser", "CreateUserWithAccount":
		x := faulted{fixture: k, call: w}
		c.adoptID(&x)
		w = x.call
	}
	if err != nil {
		return
	}
	if _, done, neither := c.effectOn(m, k.keys(), w); !done {
		c.Fatalf("%s was cancelled under way and succeeded with %s, and yet the store is not as it should be: %v", w.method, diff.Show(record), neither)
	}
}

// abandon makes calls that are cancelled while they run, 300 in a round, some of
// them while answers of the store are held back.
func (c *clauseContext) abandon(a adapter.Adapter) {
	var control fault.Control
	if c.harness().Faults != nil {
		control = c.harness().Faults(a)
	}
	k := c.newFixture(a)
	methods := c.allMethods()
	if len(methods) == 0 {
		c.notApplicable("the adapter has no methods that could be cancelled")
	}
	methods = slices.DeleteFunc(methods, func(m string) bool { return m == "DeleteUser" })
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	for n := range c.rounds(150) {
		m := k.callOf(methods[n/2%len(methods)])
		if n%2 == 0 {
			during.Call(c.ctx, func(ctx context.Context) { _, _ = m.do(ctx, a) })
			continue
		}
		ctx := pair.NewTripContext(c.ctx, 1+n/2/len(methods))
		_, _ = m.do(ctx, a)
		ctx.Cancel()
	}
	if control != nil {
		c.abandonEach(a, control, k, methods)
	}
	c.parallel(10, func(client int) {
		for n := range c.rounds(15) {
			m := k.callOf(methods[(client*15+n)%len(methods)])
			ctx, cancel := context.WithCancel(c.ctx)
			if control == nil || n%5 > 0 {
				time.AfterFunc(rand.N(time.Millisecond), cancel)
				_, _ = m.do(ctx, a)
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
				_, _ = m.do(ctx, a)
			}()
			select {
			case <-hold.Hit():
			case <-done:
			case <-time.After(heldPause):
			}
			cancel()
			select {
			case <-done:
			case <-time.After(heldPause): // it ignores its context, which is CTX-02's business
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
func (c *clauseContext) abandonEach(a adapter.Adapter, control fault.Control, k *fixture, methods []string) {
	defer control.Heal()
	for method := range some(&c.budget, methods) {
		c.abandonMethod(a, control, k, method)
	}
	c.abandonMethod(a, control, k, "DeleteUser") // last, because it deletes the fixture
}

// abandonMethod is abandonEach for one method.
func (c *clauseContext) abandonMethod(a adapter.Adapter, control fault.Control, k *fixture, method string) {
	if !c.works(method) {
		return
	}
	const times = 6
	m := k.callOf(method)
	inTurn(c, 2, func(step int) (came bool) {
		for range times {
			hold := c.inject(control, fault.HoldReply, step)
			ctx, cancel := context.WithTimeout(c.ctx, recoveryTime)
			done := make(chan struct{})
			var err error
			go func() {
				defer close(done)
				_, err = m.do(ctx, a)
			}()
			heeds := true
			select {
			case <-hold.Hit():
				came = true
				cancel()
				select {
				case <-done:
				case <-time.After(heldPause):
					heeds = false // which is CTX-02's business
				}
			case <-done:
				heeds = false // there is no such step
				if errors.Is(err, context.DeadlineExceeded) {
					cancel()
					c.Fatalf("%s, after calls that were cancelled, is not done after %v: %v", method, recoveryTime, err)
				}
			}
			hold.Release()
			<-done
			cancel()
			if !heeds {
				break
			}
		}
		return came
	})
}

// cancelAtEachLook cancels every write when it checks its context for the
// first time, the second time, and so on.
func (c *clauseContext) cancelAtEachLook() {
	c.eachPoint(c.having(visibleWrites), tripLooks, 4, func(method string, n int) bool {
		k := c.newFixture(c.observe(c.witness()))
		x := faulted{fixture: k, call: k.callOf(method)}
		ctx := pair.NewTripContext(c.ctx, n)
		defer ctx.Cancel()
		x.result, x.err = x.call.do(ctx, c.a)
		come := ctx.Tripped()
		ctx.Cancel()
		c.judgeCancelled(x, fmt.Sprintf("cancelled when it looked at its context for the %d. time", n))
		return come
	})
}

// cancelAnywhere cancels every write at random moments.
func (c *clauseContext) cancelAnywhere() {
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	start := time.Now()
	for n := 0; n < c.rounds(20) || time.Since(start) < c.span(raceTime); n++ {
		for _, method := range visibleWrites {
			if !c.works(method) {
				continue
			}
			k := c.newFixture(c.observe(c.witness()))
			x := faulted{fixture: k, call: k.callOf(method)}
			during.Call(c.ctx, func(ctx context.Context) { x.result, x.err = x.call.do(ctx, c.raw) })
			c.judgeCancelled(x, "cancelled somewhere")
		}
	}
}

// cancelAtEachStep cancels every write while the answer to each of its steps is
// being held.
func (c *clauseContext) cancelAtEachStep(control fault.Control) {
	defer control.Heal()
	hits := 0
	c.eachPoint(c.having(visibleWrites), faultSteps, 3, func(method string, step int) (hit bool) {
		k := c.newFixture(c.observe(c.witness()))
		x := faulted{kind: fault.HoldReply, step: step, fixture: k, call: k.callOf(method)}
		hold := c.inject(control, fault.HoldReply, step)
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			x.result, x.err = x.call.do(ctx, c.a)
		}()
		select {
		case <-hold.Hit():
			hit = true
			hits++
		case <-done:
		}
		cancel()
		select {
		case <-done:
		case <-time.After(heldPause): // the call finishes its work, or ignores its context
		}
		hold.Release()
		<-done
		c.mend(control)
		c.judgeCancelled(x, fmt.Sprintf("cancelled while the answer to step %d was held", step))
		return hit
	})
	if hits == 0 {
		c.notVerified("no call caused any traffic under the control of Faults")
	}
}

func (c *clauseContext) judgeCancelled(x faulted, how string) {
	look := func() (bool, []string) {
		c.adoptID(&x)
		return c.effect(x)
	}
	done, neither := look()
	if len(neither) > 0 && x.err != nil { // the call may have taken effect during the lookups, which CTX-07 judges
		c.pause(laterTime)
		done, neither = look()
	}
	if len(neither) > 0 {
		c.Fatalf("%s, %s, error %v: the store is neither as before nor as after the call\n%s", x.call.method, how, x.err, strings.Join(neither, "\n"))
	}
	if x.err == nil && !done {
		c.Fatalf("%s, %s: succeeded with %s, and yet nothing has changed", x.call.method, how, diff.Show(x.result))
	}
}

// cancelOneOfTwo makes the same call twice at once and cancels one.
func (c *clauseContext) cancelOneOfTwo() {
	control := c.faults()
	k := c.newFixture(c.a)
	var repeatable []call
	for _, m := range c.working(append(k.reads(), updateUser(k.userUpdate), updateSession(k.sessionUpdate))) {
		if m.method != "GetUserByEmail" { // the address changes
			repeatable = append(repeatable, m)
		}
	}
	if len(repeatable) == 0 {
		c.notApplicable("the adapter has no call that could be made twice")
	}
	judge := func(m call, err error) {
		if err != nil {
			c.Fatalf("of two calls of %s at once the one that was not cancelled failed: %v", m.method, err)
		}
	}
	p, stop := pair.New()
	defer stop()
	during := &pair.Canceller{Runner: p}
	var cancelled []call
	for n := range c.rounds(120) {
		cancelled = append(cancelled, repeatable[n%len(repeatable)])
	}
	each(c, cancelled, func(m call) []string { return []string{m.method} }, func(m call) bool {
		two := make(chan error, 1)
		during.Call(c.ctx, func(ctx context.Context) {
			go func() { _, err := m.do(c.ctx, c.raw); two <- err }()
			_, _ = m.do(ctx, c.raw)
		})
		judge(m, <-two)
		return true
	})
	if control == nil {
		return
	}
	for m := range some(&c.budget, repeatable) {
		judge(m, c.cancelHeld(control, m))
		c.mend(control)
	}
}

// ownField is an update of one field of a record, which nobody else updates.
type ownField struct {
	update call
	// missing describes the update as absent from the store, or returns "".
	missing func() string
}

// cancelBesideUpdates lets several goroutines update fields of their own of one record,
// while others update another field of it and are cancelled at random moments, many of
// them while they wait for their turn.
func (c *clauseContext) cancelBesideUpdates() {
	records := []func(){c.cancelBesideUser, c.cancelBesideAccount, c.cancelBesideSession, c.cancelBesideAuthenticator}
	for cancelBesideRecord := range some(&c.budget, records) {
		cancelBesideRecord()
	}
}

func (c *clauseContext) cancelBesideUser() {
	if c.works("UpdateUser") && c.works("GetUser") {
		id := c.user().ID
		field := func(name string) func() ownField {
			return func() ownField {
				update := c.userUpdate(id, []string{name})
				return ownField{updateUser(update), showing(c, getUser(id), update.Apply)}
			}
		}
		c.cancelBeside(field("email"), field("name"), field("image"), field("emailVerified"))
	}
}

func (c *clauseContext) cancelBesideAccount() {
	if c.works("UpdateAccount") && c.works("GetAccount") {
		key := c.account(c.user().ID).Key()
		field := func(name string) func() ownField {
			return func() ownField {
				update := c.accountUpdate(key, []string{name})
				return ownField{updateAccount(update), showing(c, getAccount(key), update.Apply)}
			}
		}
		c.cancelBeside(field("scope"), field("access token"), field("refresh token"), field("id token"))
	}
}

func (c *clauseContext) cancelBesideSession() {
	if c.works("GetSessionAndUser") && c.sessionsMove() {
		token, owners := c.session(c.user().ID).SessionToken, [2]string{c.user().ID, c.user().ID}
		expires := func() ownField {
			at := c.instant(time.Duration(1+c.next()%1000) * time.Minute)
			return ownField{updateSession(adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(at)}),
				showing(c, getSession(token), func(s *adapter.SessionAndUser) { s.Session.Expires = at })}
		}
		turn := 0
		owner := func() ownField {
			turn++
			id := owners[turn%2]
			return ownField{updateSession(adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(id)}),
				showing(c, getSession(token), func(s *adapter.SessionAndUser) { s.Session.UserID = id })}
		}
		probe := owner()
		if _, err := probe.update.do(c.ctx, c.a); err == nil && probe.missing() == "" {
			c.cancelBeside(expires, owner)
		}
	}
}

func (c *clauseContext) cancelBesideAuthenticator() {
	if c.works("RenameAuthenticator") && c.works("UpdateAuthenticatorCounter") && c.works("GetAuthenticator") {
		w := c.authenticator(c.user().ID)
		counter := w.Counter
		c.cancelBeside(func() ownField {
			return ownField{update: renameAuthenticator(w.UserID, w.CredentialID, c.unique("name"))}
		}, func() ownField {
			counter++
			is := counter
			return ownField{updateCounter(w.CredentialID, is),
				showing(c, getAuthenticator(w.CredentialID), func(w *adapter.Authenticator) { w.Counter = is })}
		})
	}
}

// showing returns a function that describes how the record which the read finds would
// differ if the update were there, or returns "" if it is there.
func showing[T any](c *clauseContext, read call, apply func(*T)) func() string {
	return func() string {
		got := of[*T](c, read)
		if got == nil {
			return read.method + ": absent"
		}
		want := *got
		apply(&want)
		return c.without(read.method, got, &want)
	}
}

// cancelBeside makes the updates at one moment, beside calls that are cancelled, over and
// over. Each update succeeds, and is there afterwards.
func (c *clauseContext) cancelBeside(cancelled func() ownField, updates ...func() ownField) {
	cancellers := min(several, c.most) - 2
	after := []time.Duration{0, 20 * time.Microsecond, time.Millisecond}
	start := time.Now()
	for n := 0; !c.raceIsOver(n, time.Since(start), raceTime); n++ {
		made := make([]ownField, len(updates)+cancellers)
		for i := range made {
			made[i] = cancelled()
			if i < len(updates) {
				made[i] = updates[i]()
			}
		}
		c.parallel(len(made), func(i int) {
			if i < len(updates) {
				if _, err := made[i].update.do(c.ctx, c.raw); err != nil {
					c.Errorf("%s(%s), beside calls that were cancelled, failed: %v", made[i].update.method, diff.Show(made[i].update.args...), err)
				}
				return
			}
			ctx, cancel := context.WithCancel(c.ctx)
			defer cancel()
			timer := time.AfterFunc(rand.N(after[i%len(after)]+1), cancel)
			defer timer.Stop()
			_, _ = made[i].update.do(ctx, c.raw)
		})
		c.wrote()
		for _, x := range made[:len(updates)] {
			if m := x.missing(); m != "" {
				c.Errorf("%s(%s), beside calls that were cancelled, has succeeded, and is not there: %s", x.update.method, diff.Show(x.update.args...), m)
			}
		}
		if c.failed() {
			c.Fatalf("calls that were cancelled have failed others")
		}
	}
}

// cancelFirstCall cancels the first call of new adapters, at different moments.
// What an adapter prepares at its first call belongs to all later calls.
func (c *clauseContext) cancelFirstCall() {
	c.uninvolvedGone = true // New may empty the store
	for look := range 4 {
		a := c.harness().New(c.tb)
		ctx := pair.NewTripContext(c.ctx, look+1)
		if look == 0 {
			ctx.Cancel()
		}
		_, _ = a.GetUser(ctx, c.id())
		ctx.Cancel()
		again, cancel := context.WithTimeout(c.ctx, deadline)
		err := c.normalCalls(again, a)
		cancel()
		if err != nil {
			c.Fatalf("after the first call of an adapter, GetUser, was cancelled: %v", err)
		}
	}
}

// cancelHeld makes a call, and while its answer is held makes it again and
// cancels the first. It returns the error of the second.
func (c *clauseContext) cancelHeld(control fault.Control, m call) error {
	hold := c.inject(control, fault.HoldReply, 1)
	defer hold.Release()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	one, two := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(one)
		_, _ = m.do(ctx, c.raw)
	}()
	select {
	case <-hold.Hit():
	case <-one:
	}
	go func() { _, err := m.do(c.ctx, c.raw); two <- err }()
	var err error
	ended := false
	select { // gives the second call time to join the first one, if the adapter combines calls
	case err = <-two:
		ended = true
	case <-time.After(heldPause / 5):
	}
	cancel()
	select {
	case <-one:
	case <-time.After(heldPause): // it ignores its context, which is CTX-02's business
	}
	hold.Release()
	<-one
	if !ended {
		err = <-two
	}
	return err
}

// nothingComesLater makes every write reach its deadline while the store
// stalls. When the store is back, it checks whether the write takes effect
// late, three times: a request that another connection sends at that moment, such
// as the first one of a new connection, may be what is stalled.
func (c *clauseContext) nothingComesLater() {
	control := c.control()
	defer control.Heal()
	writes := c.having(visibleWrites)
	hits := 0
	for i := 0; i < len(writes); i += min(3, c.stride) {
		late := ""
		for tries := 0; tries < 3 && (tries == 0 || late != ""); tries++ {
			var hit bool
			if late, hit = c.comesLater(control, writes[i]); hit {
				hits++
			}
		}
		if late != "" {
			c.Errorf("%s", late)
		}
	}
	if len(writes) == 0 {
		c.notApplicable("the adapter has no writes")
	}
	if hits == 0 {
		c.notVerified("no call caused any traffic under the control of Faults")
	}
}

// comesLater stalls a write until its deadline. It describes a write that came when the
// store was back, and reports whether anything was stalled.
func (c *clauseContext) comesLater(control fault.Control, method string) (late string, hit bool) {
	k := c.newFixture(c.observe(c.witness()))
	x := faulted{kind: fault.Stall, step: 1, fixture: k, call: k.callOf(method)}
	stall := c.inject(control, fault.Stall, 1)
	ctx, cancel := context.WithTimeout(c.ctx, stallTime)
	x.result, x.err = c.within(ctx, stallTime+grace, x.call, control)
	cancel()
	hit = isHit(stall)
	stall.Release()
	if x.err == nil {
		return "", hit
	}
	c.pause(laterTime)
	c.mend(control)
	c.adoptID(&x)
	done, neither := c.effect(x)
	if done || len(neither) > 0 {
		late = fmt.Sprintf("%s, whose request was stalled, returned %v; when the store was back the write came %v", method, x.err, neither)
	}
	return late, hit
}
