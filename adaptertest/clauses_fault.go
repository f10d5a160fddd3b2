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

var needsFaults = []ability{abilityFaults}

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
	{id: "FAULT-03", words: "failed-email-change-leaves-agreement", needs: needsFaults, run: func(c *clauseContext) {
		c.requires("GetUser", "GetUserByEmail")
		c.eachFault(breakingFaults, []string{"UpdateUser"}, func(x faulted) {
			changed, _ := x.fixture.userUpdate.Email.Get()
			u, differences := c.agreement(x.fixture.user.ID, x.fixture.user.Email, changed)
			if u == nil {
				c.Errorf("%s: the user is gone", x)
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
	}},
	{id: "FAULT-06", words: "recovers-from-a-lost-connection", needs: needsFaults, run: func(c *clauseContext) {
		control := c.control()
		for _, kind := range []fault.Kind{fault.Cut, fault.Down, fault.LoseReply, fault.HalfClose} {
			k := c.newFixture(c.a)
			reads := c.working(k.reads())
			if len(reads) == 0 {
				c.notApplicable("the adapter has no lookups")
			}
			c.parallel(4, func(int) { _, _ = reads[0].do(c.ctx, c.a) }) // several connections are open
			i, err := control.Inject(kind, 1)
			if errors.Is(err, errors.ErrUnsupported) {
				continue
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
		}
	}},
	{id: "FAULT-07", words: "lost-reply-is-not-applied-twice", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault([]fault.Kind{fault.LoseReply}, visibleWrites, func(x faulted) {
			if _, whole := c.wholeOrNone(x); whole {
				c.returnsWhatIsThere(x)
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
		second := c.second()
		c.eachFault([]fault.Kind{fault.FailRequest, fault.CutReply, fault.LoseReply}, visibleWrites, func(x faulted) {
			if err := c.writesFromElsewhere(second, x.fixture); err != nil {
				c.Errorf("%s: afterwards another adapter can't write the same records: %v", x, err)
			}
		})
		c.cursorsAreClosed()
	}},
	{id: "FAULT-09", words: "short-result-is-an-error", needs: needsFaults, run: func(c *clauseContext) {
		kinds := []fault.Kind{fault.CutReply, fault.HalfClose}
		c.eachFault(kinds, lookups, func(x faulted) { c.rightOrError(x, false) })
		if c.works("ListAuthenticatorsByUserID") && c.works("CreateAuthenticator") {
			c.listIsCut(kinds)
		}
	}},
	{id: "FAULT-10", words: "session-never-comes-with-another-user", needs: needsFaults, run: func(c *clauseContext) {
		c.eachFault(breakingFaults, []string{"GetSessionAndUser"}, func(x faulted) { c.rightOrError(x, true) })
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

const (
	// callTime bounds a call that a fault was injected into.
	callTime = 5 * time.Second
	// grace is what a call may take beyond its deadline, on a busy machine.
	grace = 3 * time.Second
	// openTime is what another adapter waits for what a failed call left open.
	openTime = 20 * time.Second
	// recoveryTime bounds the recovery from a lost connection.
	recoveryTime = 15 * time.Second
	// downTime is the deadline of calls while the store is down, downAttempts how
	// often one may try.
	downTime     = 300 * time.Millisecond
	downAttempts = 50
	// faultSteps bounds the steps of one call that a fault is injected at.
	faultSteps = 40
)

var breakingFaults = []fault.Kind{fault.FailRequest, fault.LoseReply, fault.CutReply, fault.Cut, fault.Down, fault.HalfClose}

// visibleWrites are the methods that change what a snapshot shows.
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

// inject arms a fault that the clause can't do without.
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

// willBeHit waits for a fault that a failed call has probably felt: connections
// break a moment before the fault says so.
func willBeHit(i fault.Injection) bool {
	select {
	case <-i.Hit():
		return true
	case <-time.After(grace):
		return false
	}
}

// mend heals the traffic and waits until the adapter is over the fault, which
// is not what most clauses are about.
func (c *clauseContext) mend(control fault.Control) {
	control.Heal()
	look := func() error { return nil }
	switch {
	case !c.lacks("GetUser"):
		id := c.id()
		look = func() error { _, err := c.raw.GetUser(c.ctx, id); return err }
	case !c.lacks("UseVerificationToken"):
		key := c.newToken().Key()
		look = func() error { _, err := c.raw.UseVerificationToken(c.ctx, key); return err }
	case !c.lacks("GetSessionAndUser"):
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

// recovers lets the adapter recover: among few errors there must soon be many
// good calls in a row.
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

// limitWith is how long a call with a fault may take.
func limitWith(kind fault.Kind) time.Duration {
	if kind == fault.Down {
		return downTime // drivers wait for a store that is down
	}
	return callTime
}

// faulted is a call that a fault was injected into.
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

// eachFault makes a call of each method with a fault of each kind at each of its
// steps, always with a new fixture, and has what came of it judged when the traffic
// flows again.
func (c *clauseContext) eachFault(kinds []fault.Kind, methods []string, judge func(x faulted)) {
	control := c.control()
	defer control.Heal()
	hits := 0
	for _, method := range methods {
		if !c.works(method) {
			continue
		}
		for _, kind := range kinds {
			for step := 1; step <= faultSteps; step++ {
				k := c.newFixture(c.a)
				m := k.callOf(method)
				i, err := control.Inject(kind, step)
				if errors.Is(err, errors.ErrUnsupported) {
					break
				}
				if err != nil {
					c.Fatalf("Inject: %v", err)
				}
				ctx, cancel := context.WithTimeout(c.ctx, limitWith(kind))
				result, err := m.do(ctx, c.a)
				cancel()
				hit := isHit(i) || err != nil && willBeHit(i)
				i.Release()
				c.mend(control)
				if !hit {
					break
				}
				hits++
				x := faulted{kind: kind, step: step, fixture: k, call: m, result: result, err: err}
				c.adoptID(&x)
				judge(x)
				if c.failed() {
					return
				}
			}
		}
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

// agreement returns the user, and where GetUserByEmail of the addresses does not
// agree with the record. What a call that failed set off may still take effect
// between two looks, which CTX-07 judges: then it looks again.
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

// looks bounds how often is looked at a store that changed during the look.
const looks = 4

// effect compares the store with what the contract says it is before and after
// the call. It reports whether the call shows, and what is neither.
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
		got, err := c.snapshot(c.ctx, c.raw, look)
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

// wholeOrNone reports a breach unless the call took effect as a whole or not at
// all, and, if it succeeded, as a whole. It returns whether it took effect, and
// whether all is well.
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

// returnsWhatIsThere compares the record that a successful call returned with
// what the contract says it is.
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

// writesFromElsewhere writes the records of a fixture from another adapter, under
// a deadline.
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
		there[s.lookup] = !isNilRecord(s.record)
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
	for _, w := range c.working(writes) {
		if _, err := w.do(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", w.method, err)
		}
	}
	return nil
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
}

// deletionCompletes judges a deletion under a fault: who is gone can't sign in,
// and a second try removes all that is left.
func (c *clauseContext) deletionCompletes(x faulted) {
	k := x.fixture
	look := keys{
		users: []string{k.user.ID}, emails: []string{k.user.Email}, accounts: []adapter.AccountKey{k.account.Key()},
		sessions: []string{k.session.SessionToken}, credentials: []string{k.authenticator.CredentialID},
	}
	if c.lacks("GetUser") || c.getUser(k.user.ID) == nil {
		if !c.lacks("GetUserByEmail") {
			c.absent(fmt.Sprintf("%s: the vanished user, by e-mail", x), c.getUserByEmail(k.user.Email), nil)
		}
		if c.works("GetUserByAccount") {
			c.absent(fmt.Sprintf("%s: the vanished user, by account", x), c.getUserByAccount(k.account.Key()), nil)
		}
		if c.works("GetSessionAndUser") {
			c.absent(fmt.Sprintf("%s: the vanished user's session", x), c.getSession(k.session.SessionToken), nil)
		}
	} else if x.err == nil {
		c.Errorf("%s: and yet the user is there", x)
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

// listIsCut cuts lists of several.
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

// cursorsAreClosed cuts lists through a small pool, more often than it has
// connections.
func (c *clauseContext) cursorsAreClosed() {
	if !c.has(abilityLimited) || !c.works("ListAuthenticatorsByUserID") || c.lacks("CreateAuthenticator") {
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
