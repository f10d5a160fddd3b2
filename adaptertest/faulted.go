package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Calls with an injected fault, and the checks of their outcome.

const (
	// callTime limits a call with an injected fault.
	callTime = 5 * time.Second
	// grace is how much longer than its deadline a call may take on a busy
	// machine.
	grace = 3 * time.Second
	// openTime is how long another adapter may wait for a transaction or lock
	// that a failed call left open.
	openTime = 20 * time.Second
	// abandonTime is the time within which an adapter sends the request that ends
	// a call whose caller has given up.
	abandonTime = 100 * time.Millisecond
	// recoveryTime limits the recovery from a lost connection.
	recoveryTime = 15 * time.Second
	// downTime is the deadline of a call while the store is down, and
	// downAttempts is the number of attempts.
	downTime     = 300 * time.Millisecond
	downAttempts = 50
	// heldTime is the deadline of a call whose answer is held.
	heldTime = 100 * time.Millisecond
)

var breakingFaults = []fault.Kind{fault.FailRequest, fault.LoseReply, fault.CutReply, fault.Cut, fault.Down, fault.HalfClose}

// visibleWrites are the methods whose changes a snapshot shows.
var visibleWrites = methodsThat(func(m method) bool { return m.write })

var lookups = []string{
	"GetUser", "GetUserByEmail", "GetUserByAccount", "GetAccount", "GetSessionAndUser", "GetAuthenticator", "ListAuthenticatorsByUserID",
	"ListAccountsByUserID", "ListSessionsByUserID",
}

// control returns the control over the traffic of the adapter.
func (c *clauseContext) control() fault.Control {
	control := c.faults()
	if control == nil {
		c.notVerified("the harness has no %s for this adapter", abilityFaults)
	}
	return control
}

// faults returns the control over the traffic of the adapter, or nil. A clause asks for it
// while it makes no call.
func (c *clauseContext) faults() fault.Control {
	if c.harness().Faults == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
	return c.harness().Faults(c.raw)
}

// inject arms a fault that the clause needs.
func (c *clauseContext) inject(control fault.Control, kind fault.Kind, step int) fault.Injection {
	i, err := control.Inject(kind, step)
	if errors.Is(err, errors.ErrUnsupported) {
		c.notVerified("%v", err)
	}
	if err != nil {
		c.Fatalf("Inject: %v", err)
	}
	return i
}

func isHit(i fault.Injection) bool {
	select {
	case <-i.Hit():
		return true
	default:
		return false
	}
}

// willBeHit waits until a fault reports its hit after a call has failed: a
// connection breaks a moment before the fault reports it.
func willBeHit(i fault.Injection) bool {
	select {
	case <-i.Hit():
		return true
	case <-time.After(grace):
		return false
	}
}

// mend heals the traffic and waits until calls of the adapter succeed again.
// Few clauses judge that recovery.
func (c *clauseContext) mend(control fault.Control) {
	control.Heal()
	look := func() error { return nil }
	switch {
	case c.works("GetUser"):
		id := c.id()
		look = func() error { _, err := c.raw.GetUser(c.ctx, id); return err }
	case c.works("UseVerificationToken"):
		key := c.newToken().Key()
		look = func() error { _, err := c.raw.UseVerificationToken(c.ctx, key); return err }
	case c.works("GetSessionAndUser"):
		token := c.newSession("").SessionToken
		look = func() error { _, err := c.raw.GetSessionAndUser(c.ctx, token); return err }
	}
	end := time.Now().Add(recoveryTime)
	for good := 0; good < 3; {
		err := look()
		if err == nil {
			good++
			continue
		}
		good = 0
		if time.Now().After(end) {
			c.Fatalf("%v after the fault every call still fails: %v", recoveryTime, err)
		}
		c.pause(time.Millisecond)
	}
}

// heal ends all faults, and waits until calls of the adapter succeed again.
func (c *clauseContext) heal() { c.mend(c.faults()) }

// limitWith returns how long a call with a fault of the kind may take.
func limitWith(kind fault.Kind) time.Duration {
	if kind == fault.Down {
		return downTime // drivers wait for a store that is down
	}
	return callTime
}

// faulted is a call with an injected fault.
type faulted struct {
	kind    fault.Kind
	step    int
	fixture *fixture
	call    call
	result  any
	err     error
}

func (x faulted) String() string {
	outcome := "it succeeded"
	if x.err != nil {
		outcome = "it failed: " + x.err.Error()
	}
	return fmt.Sprintf("%s with %s at step %d (%s)", x.call.method, kindName(x.kind), x.step, outcome)
}

// farStep is a step that no call reaches.
const farStep = 1 << 20

// kindsFor returns the kinds of fault that the call with the number turn, of so
// many calls, meets: those of the wanted ones that the control has. In a run of
// less than one round each call meets a share of them, and all calls together
// meet each kind.
func (c *clauseContext) kindsFor(turn, calls int, control fault.Control, wanted []fault.Kind) []fault.Kind {
	var have []fault.Kind
	for i := range wanted {
		kind := wanted[(turn+i)%len(wanted)]
		in, err := control.Inject(kind, farStep)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			c.Fatalf("Inject: %v", err)
		}
		in.Release()
		have = append(have, kind)
	}
	share := max(c.rounds(len(have)), (len(have)+calls-1)/calls)
	return have[:min(len(have), share)]
}

// eachFault calls each method with a fault of each kind at each of the call's
// steps, each write with a new fixture. It judges the outcome when the traffic
// flows again.
func (c *clauseContext) eachFault(kinds []fault.Kind, methods []string, judge func(x faulted)) {
	c.faultsExcept(func(string, fault.Kind) bool { return false }, kinds, methods, judge)
}

// faultsExcept is eachFault without the kinds of fault that a method need not
// meet.
func (c *clauseContext) faultsExcept(skip func(method string, kind fault.Kind) bool, kinds []fault.Kind, methods []string, judge func(x faulted)) {
	control := c.control()
	defer control.Heal()
	hits := 0
	var cases []faultOf
	for turn, method := range methods {
		if !c.works(method) {
			continue
		}
		for _, kind := range c.kindsFor(turn, len(methods), control, kinds) {
			if skip(method, kind) {
				hits++
				continue
			}
			cases = append(cases, faultOf{method, kind})
		}
	}
	var k *fixture
	steps := map[string]int{} // of a call that succeeded
	groups := func(x faultOf) []string { return []string{x.method, kindName(x.kind)} }
	each(c, cases, groups, func(of faultOf) bool {
		most, known := steps[of.method]
		if !known {
			most = faultSteps
		}
		var errs []failure
		inTurn(c, most, func(step int) (hit bool) {
			if k == nil || !slices.Contains(lookups, of.method) {
				k = c.newFixture(c.observe(c.witness()))
			}
			m := k.callOf(of.method)
			i := c.inject(control, of.kind, step)
			ctx, cancel := context.WithTimeout(c.ctx, limitWith(of.kind))
			result, err := m.do(ctx, c.a)
			cancel()
			hit = isHit(i) || err != nil && willBeHit(i)
			i.Release()
			c.mend(control)
			if !hit {
				if err == nil {
					steps[of.method] = step - 1
				}
				return false
			}
			hits++
			x := faulted{kind: of.kind, step: step, fixture: k, call: m, result: result, err: err}
			errs = append(errs, failure{x.String(), err})
			c.adoptID(&x)
			judge(x)
			return true
		})
		if !c.failed() {
			c.run.metFault(of.method, of.kind, errs)
		}
		return len(errs) > 0
	})
	if c.failed() {
		return
	}
	applicable := slices.ContainsFunc(methods, c.works)
	if !applicable {
		c.notApplicable("the adapter has none of %v", methods)
	}
	if hits == 0 {
		c.notVerified("no call caused any traffic under the control of Faults")
	}
}

// adoptID puts the ID that the adapter assigned in place of the one supplied.
func (c *clauseContext) adoptID(x *faulted) {
	if !c.harness().Declarations.AssignsIDs {
		return
	}
	k := x.fixture
	adopt := func(user *adapter.User, made func() call) {
		if u, _ := c.raw.GetUserByEmail(c.ctx, user.Email); u != nil {
			user.ID = u.ID
			x.call = made()
		}
	}
	switch x.call.method {
	case "CreateUser":
		adopt(&k.newUser, func() call { return createUser(k.newUser) })
	case "CreateUserWithAccount":
		adopt(&k.signUp.user, func() call { return k.signUp.call() })
	}
}

// looks is the largest number of attempts to read a store that changes during
// the read.
const looks = 4

// effect compares the store with the states that the contract requires before
// and after the call. It reports whether the call took effect, and the
// differences if the store has neither state.
func (c *clauseContext) effect(x faulted) (done bool, neither []string) {
	_, done, neither = c.effectOn(x.fixture.model(c), x.fixture.keys(), x.call)
	return done, neither
}

// effectOn is effect for a store in the state of the model. It also returns the
// state after the call.
func (c *clauseContext) effectOn(m *model.Model, look keys, k call) (next *model.Model, done bool, neither []string) {
	next = m.Clone()
	if _, err := k.do(c.ctx, next); err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	before, after := c.snapshotOfModel(m, look), c.snapshotOfModel(next, look)
	more := looks
	for end := time.Now().Add(c.harness().Declarations.EventualReads); ; c.pause(time.Millisecond) {
		got, err := c.snapshot(c.ctx, c.witness(), look)
		if err != nil {
			return next, false, []string{err.Error()}
		}
		fromBefore, fromAfter := c.differences(got, before), c.differences(got, after)
		switch {
		case len(fromAfter) == 0:
			return next, true, nil
		case time.Now().Before(end):
			continue
		case len(fromBefore) == 0:
			return next, false, nil
		}
		last := neither
		neither = []string{
			"against the state before: " + strings.Join(fromBefore, "; "),
			"against the state after: " + strings.Join(fromAfter, "; "),
		}
		if more--; more == 0 || slices.Equal(neither, last) {
			return next, false, neither
		}
	}
}

func (c *clauseContext) snapshotOfModel(m *model.Model, look keys) []lookup {
	seen, err := c.snapshot(c.ctx, m, look)
	if err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	return seen
}

// wholeOrNone reports a breach if the call took effect in part, or if it
// succeeded and did not take effect. It returns whether the call took effect,
// and whether there was no breach.
func (c *clauseContext) wholeOrNone(x faulted) (done, whole bool) {
	done, neither := c.effect(x)
	if len(neither) > 0 {
		c.Errorf("%s: the store is neither as before nor as after the call\n%s", x, strings.Join(neither, "\n"))
		return done, false
	}
	if x.err == nil && !done {
		c.Errorf("%s: and yet nothing has changed", x)
		return done, false
	}
	return done, true
}

// writesFromElsewhere writes the records of a fixture through another adapter,
// under a deadline.
func (c *clauseContext) writesFromElsewhere(a adapter.Adapter, k *fixture) error {
	ctx, cancel := context.WithTimeout(c.ctx, openTime)
	defer cancel()
	look := k.keys()
	seen, err := c.snapshot(ctx, a, look)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, s := range seen {
		there[s.String()] = !isNilRecord(s.record)
	}
	found := func(method string, arg any) bool { return there[fmt.Sprintf("%s(%s)", method, diff.Show(arg))] }
	var writes []call
	if found("GetUser", k.user.ID) {
		writes = append(writes, updateUser(c.userUpdate(k.user.ID, userFields)))
		if !found("GetAccount", k.newAccount.Key()) {
			writes = append(writes, linkAccount(k.newAccount))
		}
		if !found("GetSessionAndUser", k.newSession.SessionToken) {
			writes = append(writes, createSession(k.newSession))
		}
		if !found("GetAuthenticator", k.newAuthenticator.CredentialID) {
			writes = append(writes, createAuthenticator(k.newAuthenticator))
		}
	}
	if found("GetSessionAndUser", k.session.SessionToken) {
		writes = append(writes, updateSession(k.sessionUpdate))
	}
	if found("GetAuthenticator", k.authenticator.CredentialID) {
		writes = append(writes, updateCounter(k.authenticator.CredentialID, k.authenticator.Counter+5))
	}
	if !found("GetUserByEmail", k.newUser.Email) && !found("GetUser", k.newUser.ID) {
		writes = append(writes, createUser(k.newUser))
	}
	if !found("GetUserByEmail", k.signUp.user.Email) && !found("GetUser", k.signUp.user.ID) {
		writes = append(writes, k.signUp.call())
	}
	for _, w := range c.working(writes) {
		_, err := w.do(ctx, a)
		late := errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) // the failed call took effect after the lookups: see CTX-07
		if err != nil && !late {
			return fmt.Errorf("%s: %w", w.method, err)
		}
	}
	return nil
}

func kindName(k fault.Kind) string {
	names := map[fault.Kind]string{
		fault.FailRequest: "a failed request", fault.LoseReply: "a lost reply", fault.HoldReply: "a held reply", fault.Stall: "a stalled store",
		fault.CutReply: "a reply cut short", fault.Cut: "cut connections", fault.Down: "a store that is down", fault.HalfClose: "a half-closed connection",
		fault.Delay: "a slow store",
	}
	return names[k]
}

// bounded makes a call with its own deadline.
func (c *clauseContext) bounded(limit time.Duration, call func(c *clauseContext) (any, error)) (any, error) {
	live := c.ctx
	ctx, cancel := context.WithTimeout(live, limit)
	defer cancel()
	c.ctx = ctx
	defer func() { c.ctx = live }()
	return call(c)
}

// ofKind is the group of a case that is a kind of fault.
func ofKind(kind fault.Kind) []string { return []string{kindName(kind)} }

// listFails injects faults into a call that lists records: the call must fail
// or return the complete list.
func (c *clauseContext) listFails(list call, want any) {
	control := c.control()
	defer control.Heal()
	hits := 0
	each(c, breakingFaults, ofKind, func(kind fault.Kind) bool {
		before := hits
		inTurn(c, faultSteps, func(step int) (hit bool) {
			i, err := control.Inject(kind, step)
			if errors.Is(err, errors.ErrUnsupported) {
				return false
			}
			if err != nil {
				c.Fatalf("Inject: %v", err)
			}
			got, err := c.bounded(limitWith(kind), func(c *clauseContext) (any, error) { return list.do(c.ctx, c.a) })
			hit = isHit(i) || err != nil && willBeHit(i)
			i.Release()
			c.mend(control)
			if err == nil {
				c.same(fmt.Sprintf("%s with %s at step %d", list.method, kindName(kind), step), got, want)
			}
			if hit {
				hits++
			}
			return hit
		})
		return hits > before
	})
	if hits == 0 && !c.failed() {
		c.notVerified("no call caused any traffic under the control of Faults")
	}
}

// needsFaults are the abilities that clauses about faults need.
var needsFaults = []ability{abilityFaults}

// deadline limits calls that must not hang.
const deadline = 15 * time.Second
