package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var faultClauses = []kit.Check{
	{ID: "FAULT-01", Words: "token-is-returned-only-if-removed", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		faulted.Each(c, faulted.BreakingFaults, []string{"UseVerificationToken"}, func(x faulted.Case) { tokenOnce(c, x) })
	}},
	{ID: "FAULT-02", Words: "failed-creation-leaves-all-or-nothing", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		faulted.LeavesAllOrNothing(c, "CreateUser")
	}},
	{ID: "FAULT-03", Words: "failed-email-change-leaves-agreement", Needs: faulted.NeedsFaults, Requires: []string{"GetUser", "GetUserByEmail"}, Test: func(c *kit.Context) {
		faulted.Each(c, faulted.BreakingFaults, []string{"UpdateUser"}, func(x faulted.Case) {
			changed, _ := x.Fixture.New.UserUpdate.Email.Get()
			u, differences := agreement(c, x.Fixture.User.ID, x.Fixture.User.Email, changed)
			if u == nil {
				c.Errorf("%s: the user is absent", x)
				return
			}
			for _, d := range differences {
				c.Errorf("%s: %s", x, d)
			}
			if x.Err == nil && u.Email != changed {
				c.Errorf("%s: UpdateUser succeeded and the address is not changed", x)
			}
		})
	}},
	{ID: "FAULT-04", Words: "failed-deletion-can-be-completed", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		faulted.Each(c, faulted.BreakingFaults, []string{"DeleteUser"}, func(x faulted.Case) { deletionCompletes(c, x) })
	}},
	{ID: "FAULT-05", Words: "writes-are-atomic", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		faulted.Each(c, []fault.Kind{fault.FailRequest, fault.LoseReply, fault.Down}, faulted.VisibleWrites,
			func(x faulted.Case) { faulted.WholeOrNone(c, x) })
		refusedUnderFaults(c)
	}},
	{ID: "FAULT-06", Words: "recovers-from-a-lost-connection", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		control := faulted.Control(c)
		before := refusals(c)
		kinds := []fault.Kind{fault.Cut, fault.Down, fault.LoseReply, fault.HalfClose}
		kit.Each(c, kinds, faulted.OfKind, func(kind fault.Kind) bool {
			k := kit.NewFixture(c, c.Adapter)
			works := func(m kit.Call) bool { return c.Works(m.Method) }
			reads := kit.Applicable(c, k.Reads(), works, "the adapter has no lookups")
			c.Parallel(4, func(int) { _, _ = reads[0].Do(c.Ctx, c.Adapter) }) // several connections are open
			i, err := faulted.TryInject(c, control, kind, 1)
			if err != nil {
				return false
			}
			_, _ = faulted.Within(c, faulted.CallTime, reads[0], c.Adapter)
			i.Release()
			control.Heal()
			recovers(c, fmt.Sprintf("after %s", faulted.KindName(kind)), reads)
			refusesStill(c, fmt.Sprintf("after %s", faulted.KindName(kind)), before)
			return true
		})
	}},
	{ID: "FAULT-07", Words: "lost-reply-is-not-applied-twice", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		writes := kit.Every(c.Stride, c.Having(faulted.VisibleWrites), c.Rand.IntN(len(faulted.VisibleWrites)))
		faulted.Each(c, []fault.Kind{fault.LoseReply}, writes, func(x faulted.Case) {
			if _, whole := faulted.WholeOrNone(c, x); whole {
				returnsWhatIsThere(c, x)
				saysWhatItDid(c, x)
			}
		})
		faulted.Each(c, []fault.Kind{fault.LoseReply}, []string{"UseVerificationToken"}, func(x faulted.Case) { tokenOnce(c, x) })
		faulted.Each(c, []fault.Kind{fault.LoseReply}, []string{"CreateVerificationToken"}, func(x faulted.Case) {
			uses := 0
			for range 3 {
				if t := c.UseToken(x.Fixture.New.Token.Key()); t != nil {
					uses++
				}
			}
			if uses > 1 || uses == 0 && x.Err == nil {
				c.Errorf("%s: the token could be used %d times", x, uses)
			}
		})
	}},
	{ID: "FAULT-08", Words: "failed-call-leaves-nothing-open", Needs: []kit.Ability{kit.AbilityFaults, kit.AbilitySecond}, Test: func(c *kit.Context) {
		faulted.Each(c, []fault.Kind{fault.FailRequest, fault.CutReply, fault.LoseReply}, faulted.VisibleWrites, func(x faulted.Case) {
			if err := faulted.WritesFromElsewhere(c, kit.Witness(c), x.Fixture); err != nil {
				c.Errorf("%s: afterwards another adapter can't write the same records: %v", x, err)
			}
		})
		for _, method := range kit.Every(c.Stride, c.Having(faulted.VisibleWrites), c.Rand.IntN(len(faulted.VisibleWrites))) {
			abandonedCallEnds(c, method)
		}
		cursorsAreClosed(c)
	}},
	{ID: "FAULT-09", Words: "short-result-is-an-error", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		kinds := []fault.Kind{fault.CutReply, fault.HalfClose}
		faulted.Each(c, kinds, faulted.Lookups, func(x faulted.Case) { rightOrError(c, x, false) })
		changedUnderFaults(c)
		if c.Works("ListAuthenticatorsByUserID") && c.Works("CreateAuthenticator") {
			listIsCut(c, kinds)
		}
	}},
	{ID: "FAULT-10", Words: "session-never-comes-with-another-user", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		readOther := func() {} // so that the adapter has another user in its hands
		if c.Works("GetSessionAndUser") {
			other := c.Session(c.User().ID)
			readOther = func() { _, _ = c.Raw.GetSessionAndUser(c.Ctx, other.SessionToken) }
		}
		readOther()
		faulted.Each(c, faulted.BreakingFaults, []string{"GetSessionAndUser"}, func(x faulted.Case) {
			rightOrError(c, x, true)
			readOther()
		})
	}},
	{ID: "FAULT-11", Words: "works-through-a-pooler", Test: func(c *kit.Context) {
		if why := c.Harness().Declarations.NoPooler; why != "" {
			c.NotApplicable("no pooler can stand before the store: %s", why)
		}
		c.Need(kit.AbilityPooled)
		pooled := c.Harness().Pooled(c.TB)
		for range 3 {
			if err := race.Alone(c, pooled, time.Now().Add(kit.Deadline)); err != nil {
				c.Fatalf("one client: %v", err)
			}
		}
		race.MixedLoad(c, []adapter.Adapter{pooled}, 12, c.Span(300*time.Millisecond), true)
	}},
	{ID: "FAULT-12", Words: "failed-calls-are-cheap", Needs: faulted.NeedsFaults, Test: func(c *kit.Context) {
		control := faulted.Control(c)
		k := kit.NewFixture(c, c.Adapter)
		down := faulted.Inject(c, control, fault.Down, 1)
		defer control.Heal()
		hit := false
		for _, m := range c.Working(append(k.Reads(), k.Writes()...)) {
			before, start := control.Steps(), time.Now()
			_, _ = faulted.Within(c, faulted.DownTime, m, c.Adapter)
			hit = hit || faulted.IsHit(down)
			if took := time.Since(start); took > faulted.DownTime+faulted.Grace {
				c.Errorf("%s took %v with the store down and a deadline of %v", m.Method, took, faulted.DownTime)
			}
			if attempts := control.Steps() - before; attempts > faulted.DownAttempts {
				c.Errorf("%s tried %d times, with the store down, before it gave up", m.Method, attempts)
			}
		}
		if !hit {
			c.NotVerified("no call caused any traffic under the control of Faults")
		}
		faulted.Mend(c, control)
	}},
}

// recovers lets the adapter recover: after a few errors many calls in a row must succeed soon.
func recovers(c *kit.Context, what string, reads []kit.Call) {
	const enough, few = 25, 100
	end := time.Now().Add(faulted.RecoveryTime)
	call := func(n int) error {
		_, err := faulted.Within(c, faulted.CallTime, reads[n%len(reads)], c.Adapter)
		return err
	}
	faulted.Recovers(c, enough, call, func(failed int, err error) {
		if failed > few || time.Now().After(end) {
			c.Fatalf("%s: %d calls failed and service is not back: %v", what, failed, err)
		}
	})
}

// agreement returns the user, and the differences between the record and the
// results of GetUserByEmail for the addresses. A failed call may still take
// effect between two lookups, which CTX-07 judges; then agreement looks again.
func agreement(c *kit.Context, id string, emails ...string) (u *adapter.User, differences []string) {
	u = c.GetUser(id)
	for range faulted.Looks {
		differences = nil
		for _, email := range emails {
			var want *adapter.User
			if u != nil && u.Email == email {
				want = u
			}
			if d := c.Unlike(c.GetUserByEmail(email), want); d != "" {
				differences = append(differences, fmt.Sprintf("GetUserByEmail(%q) beside the record: %s", email, d))
			}
		}
		before := u
		if u = c.GetUser(id); len(differences) == 0 || c.Unlike(u, before) == "" {
			break
		}
	}
	return u, differences
}

// returnsWhatIsThere compares the record that a successful call returned with the record that the contract requires.
func returnsWhatIsThere(c *kit.Context, x faulted.Case) {
	if x.Err == nil && !kit.IsNilRecord(x.Result) {
		c.Same(x.String()+": the record that was returned", x.Result, ofModel(c, faulted.ModelOf(x.Fixture, c), x.Call))
	}
}

// ofModel returns what the call returns if the model makes it.
func ofModel(c *kit.Context, m *model.Model, k kit.Call) any {
	want, err := k.Do(c.Ctx, m)
	if err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	return want
}

// saysWhatItDid reports a breach if a write that has taken effect, and whose reply was
// lost, says that there was nothing to delete or to change, and the same adapter returns
// the record otherwise. The call had the record to itself, so the change is its own.
func saysWhatItDid(c *kit.Context, x faulted.Case) {
	if x.Err != nil || !kit.IsNilRecord(x.Result) {
		return
	}
	again := kit.NewFixture(c, c.Observe(kit.Witness(c))).CallOf(x.Call.Method) // meets no fault
	if !kit.IsNilRecord(kit.Done(c, c.Adapter, again)) {
		c.Errorf("%s: it has taken effect, and says that there was no such record", x)
	}
}

// tokenOnce judges a use of a token under a fault.
func tokenOnce(c *kit.Context, x faulted.Case) {
	gets := 0
	if x.Err == nil && !kit.IsNilRecord(x.Result) {
		gets++
	}
	if x.Err != nil && !kit.IsNilRecord(x.Result) {
		c.Errorf("%s: it returned the token with the error", x)
	}
	for range 3 {
		if t := c.UseToken(x.Fixture.Token.Key()); t != nil {
			gets++
		}
	}
	if gets > 1 {
		c.Errorf("%s: the token was handed out %d times", x, gets)
	}
	if gets == 0 && x.Err == nil {
		c.Errorf("%s: the token is used up, and nobody got it: the call says that there was none", x)
	}
}

// deletionCompletes judges a deletion under a fault: a deleted user can't sign
// in, and a second try removes all remaining records.
func deletionCompletes(c *kit.Context, x faulted.Case) {
	k := x.Fixture
	look := k.Draft.Keys()
	if !c.Works("GetUser") || c.GetUser(k.User.ID) == nil {
		kit.Sees(c, fmt.Sprintf("%s: the vanished user, by e-mail", x), kit.GetUserByEmail(k.User.Email), nil)
		kit.Sees(c, fmt.Sprintf("%s: the vanished user, by account", x), kit.GetUserByAccount(k.Account.Key()), nil)
		kit.Sees(c, fmt.Sprintf("%s: the vanished user's session", x), kit.GetSessionAndUser(k.Session.SessionToken), nil)
	} else if x.Err == nil {
		c.Errorf("%s: but the user exists", x)
	}
	if _, err := c.Adapter.DeleteUser(c.Ctx, k.User.ID); err != nil {
		c.Errorf("%s: trying again: %v", x, err)
		return
	}
	for _, err := range []error{kit.NothingOf(c, look), kit.Inherited(c, k.User.ID, look)} {
		if err != nil {
			c.Errorf("%s: after the second try: %v", x, err)
		}
	}
}

// rightOrError judges a lookup under a fault.
func rightOrError(c *kit.Context, x faulted.Case, absentIsRight bool) {
	if x.Err == nil && (!absentIsRight || !kit.IsNilRecord(x.Result)) {
		c.Same(x.String(), x.Result, ofModel(c, faulted.ModelOf(x.Fixture, c), x.Call))
	}
}

// refusedUnderFaults makes writes that are refused, with a fault at each of their steps. They do not succeed, and
// afterwards the store is as before: nobody is harmed, least of all the holder of the key.
func refusedUnderFaults(c *kit.Context) {
	type refused struct {
		kit.Call
		steps int
	}
	control := faulted.Control(c)
	defer control.Heal()
	k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
	calls := refusedOn(c, k)
	var cases []faulted.Faulty[refused]
	for turn := range calls {
		w := refusedOn(c, kit.NewFixture(c, c.Observe(kit.Witness(c))))[turn] // of its own, because the call may succeed
		before := control.Steps()
		if _, err := w.Do(c.Ctx, c.Adapter); err == nil {
			continue // other clauses judge whether it must fail
		}
		steps := int(control.Steps() - before)
		for _, kind := range faulted.KindsFor(c, turn, len(calls), control, []fault.Kind{fault.FailRequest, fault.LoseReply, fault.Cut}) {
			cases = append(cases, faulted.Faulty[refused]{What: refused{calls[turn], steps}, Kind: kind})
		}
	}
	look := k.Keys()
	want := faulted.SnapshotOfModel(c, faulted.ModelOf(k, c), look)
	faulted.EachFaulty(c, cases, func(x refused) string { return x.Method }, func(x refused, kind fault.Kind) {
		for step := 1; step <= min(x.steps, kit.FaultSteps) && !c.Failed(); step++ {
			i := faulted.Inject(c, control, kind, step)
			_, err := faulted.Within(c, faulted.LimitWith(kind), x.Call, c.Adapter)
			i.Release()
			faulted.Mend(c, control)
			if err == nil {
				c.Errorf("%s(%s), which is refused without a fault, has succeeded with %s at step %d", x.Method,
					diff.Show(x.Args...), faulted.KindName(kind), step)
			}
			if d := changesFrom(c, want, look); len(d) > 0 {
				c.Errorf("%s(%s), which is refused without a fault, with %s at step %d (error: %v) has changed the store: %s",
					x.Method, diff.Show(x.Args...), faulted.KindName(kind), step, err, strings.Join(d, "; "))
			}
		}
	})
}

// changesFrom describes how the store differs from the wanted snapshot.
func changesFrom(c *kit.Context, want []kit.Lookup, look kit.Keys) (found []string) {
	for end := time.Now().Add(c.Harness().Declarations.EventualReads); ; kit.Pause(c, time.Millisecond) {
		got, err := kit.Snapshot(c.Ctx, c, kit.Witness(c), look)
		if err != nil {
			return []string{err.Error()}
		}
		if found = kit.Differences(c, got, want); len(found) == 0 || time.Now().After(end) {
			return found
		}
	}
}

// changedUnderFaults makes lookups with a fault at each of their steps. The adapter has read the record before, and
// another handle has changed or deleted it since. A lookup that succeeds returns the record as it is now.
func changedUnderFaults(c *kit.Context) {
	if c.Harness().Declarations.EventualReads > 0 {
		return
	}
	type changed struct{ read, change string }
	control := faulted.Control(c)
	defer control.Heal()
	cases := faulted.FaultyOf(c, []changed{
		{"GetUser", "UpdateUser"}, {"GetUser", "DeleteUser"}, {"GetUserByEmail", "UpdateUser"}, {"GetUserByEmail", "DeleteUser"},
		{"GetUserByAccount", "UpdateUser"}, {"GetUserByAccount", "UnlinkAccount"}, {"GetAccount", "UnlinkAccount"}, {"GetAccount", "UpdateAccount"},
		{"GetSessionAndUser", "DeleteSession"}, {"GetSessionAndUser", "UpdateSession"}, {"GetSessionAndUser", "UpdateUser"},
		{"GetAuthenticator", "UpdateAuthenticatorCounter"}, {"GetAuthenticator", "DeleteAuthenticator"},
		{"ListAuthenticatorsByUserID", "CreateAuthenticator"}, {"ListAccountsByUserID", "UnlinkAccount"}, {"ListSessionsByUserID", "DeleteSession"},
	}, func(x changed) []fault.Kind {
		if !c.Works(x.read) || !c.Works(x.change) {
			return nil
		}
		return faulted.BreakingFaults
	})
	faulted.EachFaulty(c, cases, func(x changed) string { return x.read + x.change }, func(x changed, kind fault.Kind) {
		for step := 1; step <= kit.FaultSteps; step++ {
			k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
			read, change, m := k.CallOf(x.read), k.CallOf(x.change), faulted.ModelOf(k, c)
			before := control.Steps()
			kit.Done(c, c.Adapter, read)
			steps := int(control.Steps() - before)
			kit.Done(c, c.Observe(kit.Witness(c)), change)
			_, _ = change.Do(c.Ctx, m)
			want := ofModel(c, m, read)
			got, _, err := faulted.Strike(c, control, kind, step, read)
			if err == nil {
				c.Same(fmt.Sprintf("%s, with %s at step %d, of what another handle has changed by %s", x.read, faulted.KindName(kind), step, x.change), got, want)
			}
			if c.Failed() || step >= steps {
				break
			}
		}
	})
}

// listIsCut cuts the answers to lists with several records.
func listIsCut(c *kit.Context, kinds []fault.Kind) {
	control := faulted.Control(c)
	user := c.User()
	want := kit.Times(7, func() adapter.Authenticator { return c.Authenticator(user.ID) })
	for _, kind := range kinds {
		for step := 1; step <= kit.FaultSteps && faulted.Has(c, control, kind); step++ {
			list, hit, err := faulted.Strike(c, control, kind, step, kit.ListAuthenticatorsByUserID(user.ID))
			if err == nil && c.Unlike(list, want) != "" {
				c.Errorf("ListAuthenticatorsByUserID with %s at step %d: succeeded with %d of %d",
					faulted.KindName(kind), step, len(list.([]adapter.Authenticator)), len(want))
			}
			if !hit {
				break
			}
		}
	}
}

// abandonedCallEnds holds the answer of a step of a write until the deadline of the call, and fails the request that
// the adapter sends next, which may be the one that ends a transaction or gives back a lock. It does so at each step
// except the last. A write of two steps or fewer leaves nothing open between them.
func abandonedCallEnds(c *kit.Context, method string) {
	control := faulted.Control(c)
	defer control.Heal()
	whole := kit.NewFixture(c, c.Observe(kit.Witness(c))).CallOf(method)
	before := control.Steps()
	kit.Done(c, c.Adapter, whole)
	steps := int(control.Steps() - before)
	for step := 1; steps > 2 && step < steps; step++ {
		k := kit.NewFixture(c, c.Observe(kit.Witness(c)))
		m := k.CallOf(method)
		held, err := faulted.TryInject(c, control, fault.HoldReply, step)
		if err != nil {
			return
		}
		lost := faulted.Inject(c, control, fault.FailRequest, step+1)
		// On a busy machine the deadline may pass before the step. What is held then may
		// be the request that ends a transaction, for which an adapter waits longer.
		late := time.AfterFunc(faulted.HeldTime+faulted.AbandonTime, held.Release)
		_, err = faulted.Within(c, faulted.HeldTime, m, c.Adapter)
		late.Stop()
		if err != nil && faulted.IsHit(held) {
			select {
			case <-lost.Hit():
			case <-time.After(faulted.AbandonTime): // the adapter sent nothing
			}
		}
		held.Release()
		faulted.Mend(c, control)
		if err := faulted.WritesFromElsewhere(c, kit.Witness(c), k); err != nil {
			c.Errorf("%s with a held reply at step %d until its deadline, and the next request failed: afterwards another adapter can't write the same records: %v",
				method, step, err)
			return
		}
	}
}

// cursorsAreClosed cuts the answers to lists through a small pool, more often than the pool has connections.
func cursorsAreClosed(c *kit.Context) {
	if !c.Has(kit.AbilityLimited) || !c.Works("ListAuthenticatorsByUserID") || !c.Works("CreateAuthenticator") {
		return
	}
	limited := c.Harness().Limited(c.TB)
	control := c.Harness().Faults(limited)
	if control == nil {
		return
	}
	k := kit.NewFixture(c, limited)
	kit.Done(c, limited, kit.CreateAuthenticator(k.New.Authenticator))
	defer control.Heal()
	list := kit.ListAuthenticatorsByUserID(k.User.ID)
	for range 10 {
		i := faulted.Inject(c, control, fault.CutReply, 1)
		_, _ = faulted.Within(c, faulted.CallTime, list, limited)
		i.Release()
	}
	control.Heal()
	for n := range 10 {
		if _, err := faulted.Within(c, faulted.OpenTime, list, limited); errors.Is(err, context.DeadlineExceeded) {
			c.Fatalf("after ten lists that were cut short, call %d gets no connection: %v", n+1, err)
		}
	}
}
