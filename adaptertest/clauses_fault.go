package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var faultClauses = []check{
	{id: "FAULT-01", words: "token-is-returned-only-if-removed", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"UseVerificationToken"}, func(x faulted) { c.tokenOnce(x) })
	}},
	{id: "FAULT-02", words: "failed-creation-leaves-all-or-nothing", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"CreateUser"}, func(x faulted) {
			done, whole := c.wholeOrNone(x)
			if !whole || done || x.err == nil {
				return
			}
			u, err := c.a.CreateUser(c.ctx, x.fixture.newUser)
			if err != nil || u == nil {
				if done, whole := c.wholeOrNone(x); done && whole {
					return // the first try took effect late, which CTX-07 judges
				}
				c.Errorf("%s: trying again: got %s, error %v", x, diff.Show(u), err)
			}
		})
	}},
	{id: "FAULT-03", words: "failed-email-change-leaves-agreement", needs: needsFaults, requires: []string{"GetUser", "GetUserByEmail"}, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"UpdateUser"}, func(x faulted) {
			changed, _ := x.fixture.userUpdate.Email.Get()
			u, differences := c.agreement(x.fixture.user.ID, x.fixture.user.Email, changed)
			if u == nil {
				c.Errorf("%s: the user is absent", x)
				return
			}
			for _, d := range differences {
				c.Errorf("%s: %s", x, d)
			}
			if x.err == nil && u.Email != changed {
				c.Errorf("%s: UpdateUser succeeded and the address is not changed", x)
			}
		})
	}},
	{id: "FAULT-04", words: "failed-deletion-can-be-completed", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"DeleteUser"}, c.deletionCompletes)
	}},
	{id: "FAULT-05", words: "writes-are-atomic", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault([]fault.Kind{fault.FailRequest, fault.LoseReply, fault.Down}, visibleWrites, func(x faulted) { c.wholeOrNone(x) })
		c.refusedUnderFaults()
	}},
	{id: "FAULT-06", words: "recovers-from-a-lost-connection", needs: needsFaults, run: func(c *clauseContext) {
		control := c.control()
		before := c.refusals()
		kinds := []fault.Kind{fault.Cut, fault.Down, fault.LoseReply, fault.HalfClose}
		each(c, kinds, ofKind, func(kind fault.Kind) bool {
			k := c.newFixture(c.a)
			reads := c.working(k.reads())
			if len(reads) == 0 {
				c.notApplicable("the adapter has no lookups")
			}
			c.parallel(4, func(int) { _, _ = reads[0].do(c.ctx, c.a) }) // several connections are open
			i, err := control.Inject(kind, 1)
			if errors.Is(err, errors.ErrUnsupported) {
				return false
			}
			if err != nil {
				c.Fatalf("Inject: %v", err)
			}
			ctx, cancel := context.WithTimeout(c.ctx, callTime)
			_, _ = reads[0].do(ctx, c.a)
			cancel()
			i.Release()
			control.Heal()
			c.recovers(fmt.Sprintf("after %s", kindName(kind)), reads)
			c.refusesStill(fmt.Sprintf("after %s", kindName(kind)), before)
			return true
		})
	}},
	{id: "FAULT-07", words: "lost-reply-is-not-applied-twice", needs: needsFaults, run: func(c *clauseContext) {
		writes := every(c.stride, c.having(visibleWrites), c.rand.IntN(len(visibleWrites)))
		c.eachFault([]fault.Kind{fault.LoseReply}, writes, func(x faulted) {
			if _, whole := c.wholeOrNone(x); whole {
				c.returnsWhatIsThere(x)
				c.saysWhatItDid(x)
			}
		})
		c.eachFault([]fault.Kind{fault.LoseReply}, []string{"UseVerificationToken"}, func(x faulted) { c.tokenOnce(x) })
		c.eachFault([]fault.Kind{fault.LoseReply}, []string{"CreateVerificationToken"}, func(x faulted) {
			uses := 0
			for range 3 {
				if t := c.useToken(x.fixture.newToken.Key()); t != nil {
					uses++
				}
			}
			if uses > 1 || uses == 0 && x.err == nil {
				c.Errorf("%s: the token could be used %d times", x, uses)
			}
		})
	}},
	{id: "FAULT-08", words: "failed-call-leaves-nothing-open", needs: []ability{abilityFaults, abilitySecond}, run: func(c *clauseContext) {
		c.eachFault([]fault.Kind{fault.FailRequest, fault.CutReply, fault.LoseReply}, visibleWrites, func(x faulted) {
			if err := c.writesFromElsewhere(c.witness(), x.fixture); err != nil {
				c.Errorf("%s: afterwards another adapter can't write the same records: %v", x, err)
			}
		})
		for _, method := range every(c.stride, c.having(visibleWrites), c.rand.IntN(len(visibleWrites))) {
			c.abandonedCallEnds(method)
		}
		c.cursorsAreClosed()
	}},
	{id: "FAULT-09", words: "short-result-is-an-error", needs: needsFaults, run: func(c *clauseContext) {
		kinds := []fault.Kind{fault.CutReply, fault.HalfClose}
		c.eachFault(kinds, lookups, func(x faulted) { c.rightOrError(x, false) })
		c.changedUnderFaults()
		if c.works("ListAuthenticatorsByUserID") && c.works("CreateAuthenticator") {
			c.listIsCut(kinds)
		}
	}},
	{id: "FAULT-10", words: "session-never-comes-with-another-user", needs: needsFaults, run: func(c *clauseContext) {
		readOther := func() {} // so that the adapter has another user in its hands
		if c.works("GetSessionAndUser") {
			other := c.session(c.user().ID)
			readOther = func() { _, _ = c.raw.GetSessionAndUser(c.ctx, other.SessionToken) }
		}
		readOther()
		c.eachFault(breakingFaults, []string{"GetSessionAndUser"}, func(x faulted) {
			c.rightOrError(x, true)
			readOther()
		})
	}},
	{id: "FAULT-11", words: "works-through-a-pooler", run: func(c *clauseContext) {
		if why := c.harness().Declarations.NoPooler; why != "" {
			c.notApplicable("no pooler can stand before the store: %s", why)
		}
		c.need(abilityPooled)
		pooled := c.harness().Pooled(c.tb)
		for range 3 {
			if err := c.alone(pooled, time.Now().Add(deadline)); err != nil {
				c.Fatalf("one client: %v", err)
			}
		}
		c.mixedLoad([]adapter.Adapter{pooled}, 12, c.span(300*time.Millisecond), true)
	}},
	{id: "FAULT-12", words: "failed-calls-are-cheap", needs: needsFaults, run: func(c *clauseContext) {
		control := c.control()
		k := c.newFixture(c.a)
		down := c.inject(control, fault.Down, 1)
		defer control.Heal()
		hit := false
		for _, m := range c.working(append(k.reads(), k.writes()...)) {
			before, start := control.Steps(), time.Now()
			ctx, cancel := context.WithTimeout(c.ctx, downTime)
			_, _ = m.do(ctx, c.a)
			cancel()
			hit = hit || isHit(down)
			if took := time.Since(start); took > downTime+grace {
				c.Errorf("%s took %v with the store down and a deadline of %v", m.method, took, downTime)
			}
			if attempts := control.Steps() - before; attempts > downAttempts {
				c.Errorf("%s tried %d times, with the store down, before it gave up", m.method, attempts)
			}
		}
		if !hit {
			c.notVerified("no call caused any traffic under the control of Faults")
		}
		c.mend(control)
	}},
}

// recovers lets the adapter recover: after a few errors many calls in a row
// must succeed soon.
func (c *clauseContext) recovers(what string, reads []call) {
	const enough, few = 25, 100
	end := time.Now().Add(recoveryTime)
	failed := 0
	for good := 0; good < enough; {
		ctx, cancel := context.WithTimeout(c.ctx, callTime)
		_, err := reads[good%len(reads)].do(ctx, c.a)
		cancel()
		if err == nil {
			good++
			continue
		}
		good = 0
		failed++
		if failed > few || time.Now().After(end) {
			c.Fatalf("%s: %d calls failed and service is not back: %v", what, failed, err)
		}
		c.pause(time.Millisecond)
	}
}

// agreement returns the user, and the differences between the record and the
// results of GetUserByEmail for the addresses. A failed call may still take
// effect between two lookups, which CTX-07 judges; then agreement looks again.
func (c *clauseContext) agreement(id string, emails ...string) (u *adapter.User, differences []string) {
	unlike := func(got, want *adapter.User) string { return c.unlike(got, want) }
	u = c.getUser(id)
	for range looks {
		differences = nil
		for _, email := range emails {
			var want *adapter.User
			if u != nil && u.Email == email {
				want = u
			}
			if d := unlike(c.getUserByEmail(email), want); d != "" {
				differences = append(differences, fmt.Sprintf("GetUserByEmail(%q) beside the record: %s", email, d))
			}
		}
		before := u
		if u = c.getUser(id); len(differences) == 0 || unlike(u, before) == "" {
			break
		}
	}
	return u, differences
}

// returnsWhatIsThere compares the record that a successful call returned with
// the record that the contract requires.
func (c *clauseContext) returnsWhatIsThere(x faulted) {
	if x.err != nil || isNilRecord(x.result) {
		return
	}
	want, err := x.call.do(c.ctx, x.fixture.model(c))
	if err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	c.same(x.String()+": the record that was returned", x.result, want)
}

// saysWhatItDid reports a breach if a write that has taken effect, and whose reply was
// lost, says that there was nothing to delete or to change, and the same adapter returns
// the record otherwise. The call had the record to itself, so the change is its own.
func (c *clauseContext) saysWhatItDid(x faulted) {
	if x.err == nil && isNilRecord(x.result) && c.returnsRecord(x.call.method) {
		c.Errorf("%s: it has taken effect, and says that there was no such record", x)
	}
}

// returnsRecord reports whether the method returns the record if it meets no fault.
func (c *clauseContext) returnsRecord(method string) bool {
	got, err := c.newFixture(c.observe(c.witness())).callOf(method).do(c.ctx, c.a)
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return !isNilRecord(got)
}

// tokenOnce judges a use of a token under a fault.
func (c *clauseContext) tokenOnce(x faulted) {
	gets := 0
	if x.err == nil && !isNilRecord(x.result) {
		gets++
	}
	if x.err != nil && !isNilRecord(x.result) {
		c.Errorf("%s: it returned the token with the error", x)
	}
	for range 3 {
		if t := c.useToken(x.fixture.token.Key()); t != nil {
			gets++
		}
	}
	if gets > 1 {
		c.Errorf("%s: the token was handed out %d times", x, gets)
	}
	if gets == 0 && x.err == nil {
		c.Errorf("%s: the token is used up, and nobody got it: the call says that there was none", x)
	}
}

// deletionCompletes judges a deletion under a fault: a deleted user can't sign
// in, and a second try removes all remaining records.
func (c *clauseContext) deletionCompletes(x faulted) {
	k := x.fixture
	look := keys{
		users: []string{k.user.ID}, emails: []string{k.user.Email}, accounts: []adapter.AccountKey{k.account.Key()},
		sessions: []string{k.session.SessionToken}, credentials: []string{k.authenticator.CredentialID},
	}
	if !c.works("GetUser") || c.getUser(k.user.ID) == nil {
		if c.works("GetUserByEmail") {
			c.absent(fmt.Sprintf("%s: the vanished user, by e-mail", x), c.getUserByEmail(k.user.Email), nil)
		}
		if c.works("GetUserByAccount") {
			c.absent(fmt.Sprintf("%s: the vanished user, by account", x), c.getUserByAccount(k.account.Key()), nil)
		}
		if c.works("GetSessionAndUser") {
			c.absent(fmt.Sprintf("%s: the vanished user's session", x), c.getSession(k.session.SessionToken), nil)
		}
	} else if x.err == nil {
		c.Errorf("%s: but the user exists", x)
	}
	if _, err := c.a.DeleteUser(c.ctx, k.user.ID); err != nil {
		c.Errorf("%s: trying again: %v", x, err)
		return
	}
	if err := c.nothingOf(look); err != nil {
		c.Errorf("%s: after the second try: %v", x, err)
	}
	if err := c.inherited(k.user.ID, look); err != nil {
		c.Errorf("%s: after the second try: %v", x, err)
	}
}

// rightOrError judges a lookup under a fault.
func (c *clauseContext) rightOrError(x faulted, absentIsRight bool) {
	if x.err != nil {
		return
	}
	if absentIsRight && isNilRecord(x.result) {
		return
	}
	want, err := x.call.do(c.ctx, x.fixture.model(c))
	if err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	c.same(x.String(), x.result, want)
}

// refusedUnderFaults makes writes that are refused, with a fault at each of their steps.
// They do not succeed, and afterwards the store is as before: nobody is harmed, least of all
// the holder of the key.
func (c *clauseContext) refusedUnderFaults() {
	type refused struct {
		call
		kind  fault.Kind
		steps int
	}
	control := c.control()
	defer control.Heal()
	k := c.newFixture(c.observe(c.witness()))
	calls := c.refusedOn(k)
	var cases []refused
	for turn := range calls {
		w := c.refusedOn(c.newFixture(c.observe(c.witness())))[turn] // of its own, because the call may succeed
		before := control.Steps()
		if _, err := w.do(c.ctx, c.a); err == nil {
			continue // other clauses judge whether it must fail
		}
		steps := int(control.Steps() - before)
		for _, kind := range c.kindsFor(turn, len(calls), control, []fault.Kind{fault.FailRequest, fault.LoseReply, fault.Cut}) {
			cases = append(cases, refused{calls[turn], kind, steps})
		}
	}
	look := k.keys()
	want := c.snapshotOfModel(k.model(c), look)
	each(c, cases, func(x refused) []string { return []string{x.method, kindName(x.kind)} }, func(x refused) bool {
		for step := 1; step <= min(x.steps, faultSteps) && !c.failed(); step++ {
			i := c.inject(control, x.kind, step)
			_, err := c.bounded(limitWith(x.kind), func(c *clauseContext) (any, error) { return x.do(c.ctx, c.a) })
			i.Release()
			c.mend(control)
			if err == nil {
				c.Errorf("%s(%s), which is refused without a fault, has succeeded with %s at step %d", x.method, diff.Show(x.args...), kindName(x.kind), step)
			}
			if d := c.changesFrom(want, look); len(d) > 0 {
				c.Errorf("%s(%s), which is refused without a fault, with %s at step %d (error: %v) has changed the store: %s",
					x.method, diff.Show(x.args...), kindName(x.kind), step, err, strings.Join(d, "; "))
			}
		}
		return true
	})
}

// changesFrom describes how the store differs from the wanted snapshot.
func (c *clauseContext) changesFrom(want []lookup, look keys) (found []string) {
	for end := time.Now().Add(c.harness().Declarations.EventualReads); ; c.pause(time.Millisecond) {
		got, err := c.snapshot(c.ctx, c.witness(), look)
		if err != nil {
			return []string{err.Error()}
		}
		if found = c.differences(got, want); len(found) == 0 || time.Now().After(end) {
			return found
		}
	}
}

// changedUnderFaults makes lookups with a fault at each of their steps. The adapter has
// read the record before, and another handle has changed or deleted it since. A lookup
// that succeeds returns the record as it is now.
func (c *clauseContext) changedUnderFaults() {
	if c.harness().Declarations.EventualReads > 0 {
		return
	}
	type changed struct {
		read, change string
		kind         fault.Kind
	}
	control := c.control()
	defer control.Heal()
	pairs := [][2]string{
		{"GetUser", "UpdateUser"}, {"GetUser", "DeleteUser"}, {"GetUserByEmail", "UpdateUser"}, {"GetUserByEmail", "DeleteUser"},
		{"GetUserByAccount", "UpdateUser"}, {"GetUserByAccount", "UnlinkAccount"}, {"GetAccount", "UnlinkAccount"}, {"GetAccount", "UpdateAccount"},
		{"GetSessionAndUser", "DeleteSession"}, {"GetSessionAndUser", "UpdateSession"}, {"GetSessionAndUser", "UpdateUser"},
		{"GetAuthenticator", "UpdateAuthenticatorCounter"}, {"GetAuthenticator", "DeleteAuthenticator"},
		{"ListAuthenticatorsByUserID", "CreateAuthenticator"}, {"ListAccountsByUserID", "UnlinkAccount"}, {"ListSessionsByUserID", "DeleteSession"},
	}
	var cases []changed
	for turn, x := range pairs {
		if c.works(x[0]) && c.works(x[1]) {
			for _, kind := range c.kindsFor(turn, len(pairs), control, breakingFaults) {
				cases = append(cases, changed{x[0], x[1], kind})
			}
		}
	}
	each(c, cases, func(x changed) []string { return []string{x.read + x.change, kindName(x.kind)} }, func(x changed) bool {
		for step := 1; step <= faultSteps; step++ {
			k := c.newFixture(c.observe(c.witness()))
			read, change, m := k.callOf(x.read), k.callOf(x.change), k.model(c)
			before := control.Steps()
			if _, err := read.do(c.ctx, c.a); err != nil {
				c.Fatalf("%s: %v", x.read, err)
			}
			steps := int(control.Steps() - before)
			if _, err := change.do(c.ctx, c.observe(c.witness())); err != nil {
				c.Fatalf("%s: %v", x.change, err)
			}
			_, _ = change.do(c.ctx, m)
			want, err := read.do(c.ctx, m)
			if err != nil {
				c.Fatalf("the model fails: %v", err)
			}
			i := c.inject(control, x.kind, step)
			got, err := c.bounded(limitWith(x.kind), func(c *clauseContext) (any, error) { return read.do(c.ctx, c.a) })
			i.Release()
			c.mend(control)
			if err == nil {
				c.same(fmt.Sprintf("%s, with %s at step %d, of what another handle has changed by %s", x.read, kindName(x.kind), step, x.change), got, want)
			}
			if c.failed() || step >= steps {
				break
			}
		}
		return true
	})
}

// listIsCut cuts the answers to lists with several records.
func (c *clauseContext) listIsCut(kinds []fault.Kind) {
	control := c.control()
	user := c.user()
	var want []adapter.Authenticator
	for range 7 {
		want = append(want, c.authenticator(user.ID))
	}
	for _, kind := range kinds {
		for step := 1; step <= faultSteps; step++ {
			c.mend(control)
			i, err := control.Inject(kind, step)
			if errors.Is(err, errors.ErrUnsupported) {
				break
			}
			if err != nil {
				c.Fatalf("Inject: %v", err)
			}
			ctx, cancel := context.WithTimeout(c.ctx, callTime)
			list, err := c.a.ListAuthenticatorsByUserID(ctx, user.ID)
			cancel()
			hit := isHit(i)
			i.Release()
			if err == nil && !c.equalLists(list, want) {
				c.Errorf("ListAuthenticatorsByUserID with %s at step %d: succeeded with %d of %d", kindName(kind), step, len(list), len(want))
			}
			if !hit {
				break
			}
		}
	}
	c.mend(control)
}

// abandonedCallEnds holds the answer of a step of a write until the deadline of
// the call, and fails the request that the adapter sends next, which may be the
// one that ends a transaction or gives back a lock. It does so at each step
// except the last. A write of two steps or fewer leaves nothing open between
// them.
func (c *clauseContext) abandonedCallEnds(method string) {
	control := c.control()
	defer control.Heal()
	whole := c.newFixture(c.observe(c.witness())).callOf(method)
	before := control.Steps()
	if _, err := whole.do(c.ctx, c.a); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	steps := int(control.Steps() - before)
	for step := 1; steps > 2 && step < steps; step++ {
		k := c.newFixture(c.observe(c.witness()))
		m := k.callOf(method)
		held, err := control.Inject(fault.HoldReply, step)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil {
			c.Fatalf("Inject: %v", err)
		}
		lost := c.inject(control, fault.FailRequest, step+1)
		// On a busy machine the deadline may pass before the step. What is held then may
		// be the request that ends a transaction, for which an adapter waits longer.
		late := time.AfterFunc(heldTime+abandonTime, held.Release)
		_, err = c.bounded(heldTime, func(c *clauseContext) (any, error) { return m.do(c.ctx, c.a) })
		late.Stop()
		if err != nil && isHit(held) {
			select {
			case <-lost.Hit():
			case <-time.After(abandonTime): // the adapter sent nothing
			}
		}
		held.Release()
		c.mend(control)
		if err := c.writesFromElsewhere(c.witness(), k); err != nil {
			c.Errorf("%s with a held reply at step %d until its deadline, and the next request failed: afterwards another adapter can't write the same records: %v",
				method, step, err)
			return
		}
	}
}

// cursorsAreClosed cuts the answers to lists through a small pool, more often
// than the pool has connections.
func (c *clauseContext) cursorsAreClosed() {
	if !c.has(abilityLimited) || !c.works("ListAuthenticatorsByUserID") || !c.works("CreateAuthenticator") {
		return
	}
	limited := c.harness().Limited(c.tb)
	control := c.harness().Faults(limited)
	if control == nil {
		return
	}
	k := c.newFixture(limited)
	more := k.newAuthenticator
	if _, err := limited.CreateAuthenticator(c.ctx, more); err != nil {
		c.Fatalf("CreateAuthenticator: %v", err)
	}
	defer control.Heal()
	for range 10 {
		i := c.inject(control, fault.CutReply, 1)
		ctx, cancel := context.WithTimeout(c.ctx, callTime)
		_, _ = limited.ListAuthenticatorsByUserID(ctx, k.user.ID)
		cancel()
		i.Release()
	}
	control.Heal()
	for n := range 10 {
		ctx, cancel := context.WithTimeout(c.ctx, openTime)
		_, err := limited.ListAuthenticatorsByUserID(ctx, k.user.ID)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			c.Fatalf("after ten lists that were cut short, call %d gets no connection: %v", n+1, err)
		}
	}
}
