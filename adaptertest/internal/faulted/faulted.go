package faulted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	// CallTime limits a call with an injected fault.
	CallTime = 5 * time.Second
	// Grace is how much longer than its deadline a call may take on a busy
	// machine.
	Grace = 3 * time.Second
	// OpenTime is how long another adapter may wait for a transaction or lock
	// that a failed call left open.
	OpenTime = 20 * time.Second
	// AbandonTime is the time within which an adapter sends the request that ends
	// a call whose caller has given up.
	AbandonTime = 100 * time.Millisecond
	// RecoveryTime limits the recovery from a lost connection.
	RecoveryTime = 15 * time.Second
	// DownTime is the deadline of a call while the store is down.
	DownTime = 300 * time.Millisecond
	// DownAttempts is the number of attempts while the store is down.
	DownAttempts = 50
	// HeldTime is the deadline of a call whose answer is held.
	HeldTime = 100 * time.Millisecond
)

// BreakingFaults are the kinds of fault with which a call may fail.
var BreakingFaults = []fault.Kind{
	fault.FailRequest, fault.LoseReply, fault.CutReply, fault.Cut, fault.Down, fault.HalfClose,
}

// VisibleWrites are the methods whose changes a snapshot shows.
var VisibleWrites = kit.MethodsThat(func(m kit.Method) bool { return m.Write })

// Lookups are the methods that only read.
var Lookups = []string{
	"GetUser", "GetUserByEmail", "GetUserByAccount", "GetAccount", "GetSessionAndUser", "GetAuthenticator", "ListAuthenticatorsByUserID",
	"ListAccountsByUserID", "ListSessionsByUserID",
}

// Control returns the control over the traffic of the adapter.
func Control(c *kit.Context) fault.Control {
	control := kit.Faults(c)
	if control == nil {
		c.NotVerified("the harness has no %s for this adapter", kit.AbilityFaults)
	}
	return control
}

// Inject arms a fault that the clause needs.
func Inject(c *kit.Context, control fault.Control, kind fault.Kind, step int) fault.Injection {
	i, err := control.Inject(kind, step)
	if errors.Is(err, errors.ErrUnsupported) {
		c.NotVerified("%v", err)
	}
	if err != nil {
		c.Fatalf("Inject: %v", err)
	}
	return i
}

// TryInject arms a fault, if the control has faults of the kind.
func TryInject(c *kit.Context, control fault.Control, kind fault.Kind, step int) (i fault.Injection, ok bool) {
	i, err := control.Inject(kind, step)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.Fatalf("Inject: %v", err)
	}
	return i, err == nil
}

// MustHit ends the clause as not verified if none of its faults struck.
func MustHit(c *kit.Context, hits int) {
	if hits == 0 && !c.Failed() {
		c.NotVerified("no call caused any traffic under the control of Faults")
	}
}

// IsHit reports whether the fault has struck.
func IsHit(i fault.Injection) bool {
	select {
	case <-i.Hit():
		return true
	default:
		return false
	}
}

// WillBeHit waits until a fault reports its hit after a call has failed: a
// connection breaks a moment before the fault reports it.
func WillBeHit(i fault.Injection) bool { return Soon(i.Hit(), Grace) }

// Mend heals the traffic and waits until calls of the adapter succeed again.
// Few clauses judge that recovery.
func Mend(c *kit.Context, control fault.Control) {
	control.Heal()
	look := func() error { return nil }
	switch {
	case c.Works("GetUser"):
		id := c.ID()
		look = func() error { _, err := c.Raw.GetUser(c.Ctx, id); return err }
	case c.Works("UseVerificationToken"):
		key := c.NewToken().Key()
		look = func() error { _, err := c.Raw.UseVerificationToken(c.Ctx, key); return err }
	case c.Works("GetSessionAndUser"):
		token := c.NewSession("").SessionToken
		look = func() error { _, err := c.Raw.GetSessionAndUser(c.Ctx, token); return err }
	}
	end := time.Now().Add(RecoveryTime)
	for good := 0; good < 3; {
		err := look()
		if err == nil {
			good++
			continue
		}
		good = 0
		if time.Now().After(end) {
			c.Fatalf("%v after the fault every call still fails: %v", RecoveryTime, err)
		}
		kit.Pause(c, time.Millisecond)
	}
}

// Heal ends all faults, and waits until calls of the adapter succeed again.
func Heal(c *kit.Context) { Mend(c, kit.Faults(c)) }

// LimitWith returns how long a call with a fault of the kind may take.
func LimitWith(kind fault.Kind) time.Duration {
	if kind == fault.Down {
		return DownTime // drivers wait for a store that is down
	}
	return CallTime
}

// Case is a call with an injected fault.
type Case struct {
	Kind    fault.Kind
	Step    int
	Fixture *kit.Records
	Call    kit.Call
	Result  any
	Err     error
}

func (x Case) String() string {
	outcome := "it succeeded"
	if x.Err != nil {
		outcome = "it failed: " + x.Err.Error()
	}
	return fmt.Sprintf("%s with %s at step %d (%s)", x.Call.Method, KindName(x.Kind), x.Step, outcome)
}

// farStep is a step that no call reaches.
const farStep = 1 << 20

// KindsFor returns the kinds of fault that the call with the number turn, of so
// many calls, meets: those of the wanted ones that the control has. In a run of
// less than one round each call meets a share of them, and all calls together
// meet each kind.
func KindsFor(c *kit.Context, turn, calls int, control fault.Control, wanted []fault.Kind) []fault.Kind {
	var have []fault.Kind
	for i := range wanted {
		kind := wanted[(turn+i)%len(wanted)]
		in, ok := TryInject(c, control, kind, farStep)
		if !ok {
			continue
		}
		in.Release()
		have = append(have, kind)
	}
	share := max(c.Rounds(len(have)), (len(have)+calls-1)/calls)
	return have[:min(len(have), share)]
}

// Each calls each method with a fault of each kind at each of the call's
// steps, each write with a new fixture. It judges the outcome when the traffic
// flows again.
func Each(c *kit.Context, kinds []fault.Kind, methods []string, judge func(x Case)) {
	FaultsExcept(c, func(string, fault.Kind) bool { return false }, kinds, methods, judge)
}

// FaultsExcept is Each without the kinds of fault that a method need not
// meet.
func FaultsExcept(c *kit.Context, skip func(method string, kind fault.Kind) bool, kinds []fault.Kind, methods []string, judge func(x Case)) {
	control := Control(c)
	defer control.Heal()
	hits := 0
	var cases []kit.FaultOf
	for turn, method := range methods {
		if !c.Works(method) {
			continue
		}
		for _, kind := range KindsFor(c, turn, len(methods), control, kinds) {
			if skip(method, kind) {
				hits++
				continue
			}
			cases = append(cases, kit.FaultOf{Method: method, Kind: kind})
		}
	}
	var k *kit.Records
	steps := map[string]int{} // of a call that succeeded
	groups := func(x kit.FaultOf) []string { return []string{x.Method, KindName(x.Kind)} }
	kit.Each(c, cases, groups, func(of kit.FaultOf) bool {
		most, known := steps[of.Method]
		if !known {
			most = kit.FaultSteps
		}
		var errs []kit.Failure
		kit.InTurn(c, most, func(step int) (hit bool) {
			if k == nil || !slices.Contains(Lookups, of.Method) {
				k = kit.NewFixture(c, c.Observe(kit.Witness(c)))
			}
			m := k.CallOf(of.Method)
			i := Inject(c, control, of.Kind, step)
			result, err := Within(c, LimitWith(of.Kind), m, c.Adapter)
			hit = IsHit(i) || err != nil && WillBeHit(i)
			i.Release()
			Mend(c, control)
			if !hit {
				if err == nil {
					steps[of.Method] = step - 1
				}
				return false
			}
			hits++
			x := Case{Kind: of.Kind, Step: step, Fixture: k, Call: m, Result: result, Err: err}
			errs = append(errs, kit.Failure{What: x.String(), Err: err})
			AdoptID(c, &x)
			judge(x)
			return true
		})
		if !c.Failed() {
			c.Run.MetFault(of.Method, of.Kind, errs)
		}
		return len(errs) > 0
	})
	if c.Failed() {
		return
	}
	applicable := slices.ContainsFunc(methods, c.Works)
	if !applicable {
		c.NotApplicable("the adapter has none of %v", methods)
	}
	MustHit(c, hits)
}

// AdoptID puts the ID that the adapter assigned in place of the one supplied.
func AdoptID(c *kit.Context, x *Case) {
	if !c.Harness().Declarations.AssignsIDs {
		return
	}
	k := x.Fixture
	adopt := func(user *adapter.User, made func() kit.Call) {
		if u, _ := c.Raw.GetUserByEmail(c.Ctx, user.Email); u != nil {
			user.ID = u.ID
			x.Call = made()
		}
	}
	switch x.Call.Method {
	case "CreateUser":
		adopt(&k.New.User, func() kit.Call { return kit.CreateUser(k.New.User) })
	case "CreateUserWithAccount":
		adopt(&k.SignUp.User, func() kit.Call { return k.SignUp.Call() })
	case "CreateUserWithPassword":
		adopt(&k.Entrant.User, func() kit.Call { return k.Entrant.WithPassword() })
	}
}

// Looks is the largest number of attempts to read a store that changes during
// the read.
const Looks = 4

// Effect compares the store with the states that the contract requires before
// and after the call. It reports whether the call took effect, and the
// differences if the store has neither state.
func Effect(c *kit.Context, x Case) (done bool, neither []string) {
	_, done, neither = EffectOn(c, ModelOf(x.Fixture, c), x.Fixture.Keys(), x.Call)
	return done, neither
}

// EffectOn is effect for a store in the state of the model. It also returns the
// state after the call.
func EffectOn(
	c *kit.Context, m *model.Model, look kit.Keys, k kit.Call,
) (next *model.Model, done bool, neither []string) {
	next = m.Clone()
	if _, err := k.Do(c.Ctx, next); err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	before, after := SnapshotOfModel(c, m, look), SnapshotOfModel(c, next, look)
	more := Looks
	for end := time.Now().Add(c.Harness().Declarations.EventualReads); ; kit.Pause(c, time.Millisecond) {
		got, err := kit.Snapshot(c.Ctx, c, kit.Witness(c), look)
		if err != nil {
			return next, false, []string{err.Error()}
		}
		fromBefore, fromAfter := kit.Differences(c, got, before), kit.Differences(c, got, after)
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

// SnapshotOfModel makes the lookups of a model.
func SnapshotOfModel(c *kit.Context, m *model.Model, look kit.Keys) []kit.Lookup {
	seen, err := kit.Snapshot(c.Ctx, c, m, look)
	if err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	return seen
}

// WholeOrNone reports a breach if the call took effect in part, or if it
// succeeded and did not take effect. It returns whether the call took effect,
// and whether there was no breach.
func WholeOrNone(c *kit.Context, x Case) (done, whole bool) {
	done, neither := Effect(c, x)
	if len(neither) > 0 {
		c.Errorf("%s: the store is neither as before nor as after the call\n%s", x, strings.Join(neither, "\n"))
		return done, false
	}
	if x.Err == nil && !done {
		c.Errorf("%s: and yet nothing has changed", x)
		return done, false
	}
	return done, true
}

// WritesFromElsewhere writes the records of a fixture through another adapter,
// under a deadline.
func WritesFromElsewhere(c *kit.Context, a adapter.Adapter, k *kit.Records) error {
	ctx, cancel := context.WithTimeout(c.Ctx, OpenTime)
	defer cancel()
	look := k.Keys()
	seen, err := kit.Snapshot(ctx, c, a, look)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, s := range seen {
		there[s.String()] = !kit.IsNilRecord(s.Record)
	}
	found := func(method string, arg any) bool { return there[fmt.Sprintf("%s(%s)", method, diff.Show(arg))] }
	var writes []kit.Call
	if found("GetUser", k.User.ID) {
		writes = append(writes, kit.UpdateUser(kit.UserUpdate(c, k.User.ID, kit.UserFields)))
		if !found("GetAccount", k.New.Account.Key()) {
			writes = append(writes, kit.LinkAccount(k.New.Account))
		}
		if !found("GetSessionAndUser", k.New.Session.SessionToken) {
			writes = append(writes, kit.CreateSession(k.New.Session))
		}
		if !found("GetAuthenticator", k.New.Authenticator.CredentialID) {
			writes = append(writes, kit.CreateAuthenticator(k.New.Authenticator))
		}
	}
	if found("GetSessionAndUser", k.Session.SessionToken) {
		writes = append(writes, kit.UpdateSession(k.New.SessionUpdate))
	}
	if found("GetAuthenticator", k.Authenticator.CredentialID) {
		writes = append(writes, kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+5))
	}
	if !found("GetUserByEmail", k.New.User.Email) && !found("GetUser", k.New.User.ID) {
		writes = append(writes, kit.CreateUser(k.New.User))
	}
	if !found("GetUserByEmail", k.SignUp.User.Email) && !found("GetUser", k.SignUp.User.ID) {
		writes = append(writes, k.SignUp.Call())
	}
	for _, w := range c.Working(writes) {
		_, err := w.Do(ctx, a)
		late := errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) // the failed call took effect after the lookups: see CTX-07
		if err != nil && !late {
			return fmt.Errorf("%s: %w", w.Method, err)
		}
	}
	return nil
}

// KindName is the kind of fault in words.
func KindName(k fault.Kind) string {
	names := map[fault.Kind]string{
		fault.FailRequest: "a failed request", fault.LoseReply: "a lost reply", fault.HoldReply: "a held reply", fault.Stall: "a stalled store",
		fault.CutReply: "a reply cut short", fault.Cut: "cut connections", fault.Down: "a store that is down", fault.HalfClose: "a half-closed connection",
		fault.Delay: "a slow store",
	}
	return names[k]
}

// Bounded makes a call with its own deadline.
func Bounded(c *kit.Context, limit time.Duration, call func(c *kit.Context) (any, error)) (any, error) {
	live := c.Ctx
	ctx, cancel := context.WithTimeout(live, limit)
	defer cancel()
	c.Ctx = ctx
	defer func() { c.Ctx = live }()
	return call(c)
}

// Within makes the call with a deadline of its own.
func Within(c *kit.Context, limit time.Duration, k kit.Call, a adapter.Adapter) (any, error) {
	ctx, cancel := context.WithTimeout(c.Ctx, limit)
	defer cancel()
	return k.Do(ctx, a)
}

// Holding makes a call that an armed fault holds at a step, and calls meanwhile while it is
// held. done is closed when the call has returned. It reports whether the call came to the step.
func Holding(hold fault.Injection, call func(), meanwhile func(done <-chan struct{})) (held bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-hold.Hit():
		held = true
		meanwhile(done)
	case <-done:
	}
	hold.Release()
	<-done
	return held
}

// Soon reports whether something is done within the time.
func Soon(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// OfKind is the group of a case that is a kind of fault.
func OfKind(kind fault.Kind) []string { return []string{KindName(kind)} }

// ListFails injects faults into a call that lists records: the call must fail
// or return the complete list.
func ListFails(c *kit.Context, list kit.Call, want any) {
	control := Control(c)
	defer control.Heal()
	hits := 0
	kit.Each(c, BreakingFaults, OfKind, func(kind fault.Kind) bool {
		before := hits
		kit.InTurn(c, kit.FaultSteps, func(step int) (hit bool) {
			i, ok := TryInject(c, control, kind, step)
			if !ok {
				return false
			}
			got, err := Bounded(c, LimitWith(kind),
				func(c *kit.Context) (any, error) { return list.Do(c.Ctx, c.Adapter) })
			hit = IsHit(i) || err != nil && WillBeHit(i)
			i.Release()
			Mend(c, control)
			if err == nil {
				c.Same(fmt.Sprintf("%s with %s at step %d", list.Method, KindName(kind), step), got, want)
			}
			if hit {
				hits++
			}
			return hit
		})
		return hits > before
	})
	MustHit(c, hits)
}

// NeedsFaults are the abilities that clauses about faults need.
var NeedsFaults = []kit.Ability{kit.AbilityFaults}

// ModelOf returns a model that holds the fixture.
func ModelOf(k *kit.Records, c *kit.Context) *model.Model {
	m := model.New()
	m.Tokens[k.Token.Key()] = k.Token
	if !c.Works("CreateUser") {
		return m
	}
	m.Users[k.User.ID] = k.User
	if c.Works("LinkAccount") {
		m.Accounts[k.Account.Key()] = k.Account
	}
	if c.Works("CreateSession") {
		m.Sessions[k.Session.SessionToken] = k.Session
	}
	if c.Works("CreateAuthenticator") {
		m.Authenticators[k.Authenticator.CredentialID] = k.Authenticator
	}
	if kit.Connects(c) {
		m.Accounts[k.Passkey.Key()] = k.Passkey
	}
	if c.Works("SetPassword") {
		m.Passwords[k.User.ID] = k.Password
	}
	return m
}
