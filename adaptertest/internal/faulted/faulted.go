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
	// Grace is how much longer than its deadline a call may take on a busy machine.
	Grace = 3 * time.Second
	// OpenTime is how long another adapter may wait for a transaction or lock that a failed call left open.
	OpenTime = 20 * time.Second
	// AbandonTime is the time within which an adapter sends the request that ends a call whose caller has given up.
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
	i, err := TryInject(c, control, kind, step)
	if err != nil {
		c.NotVerified("%v", err)
	}
	return i
}

// TryInject arms a fault. An error says that the control has no faults of the kind.
func TryInject(c *kit.Context, control fault.Control, kind fault.Kind, step int) (fault.Injection, error) {
	i, err := control.Inject(kind, step)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.Fatalf("Inject: %v", err)
	}
	return i, err
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

// Strike makes a call with a fault at one of its steps, and mends the traffic. It reports
// whether the call came to the step.
func Strike(c *kit.Context, control fault.Control, kind fault.Kind, step int, k kit.Call) (got any, hit bool, err error) {
	i := Inject(c, control, kind, step)
	got, err = Within(c, LimitWith(kind), k, c.Adapter)
	hit = IsHit(i) || err != nil && WillBeHit(i)
	i.Release()
	Mend(c, control)
	return got, hit, err
}

// Mend heals the traffic and waits until calls of the adapter succeed again. Few clauses judge that recovery.
func Mend(c *kit.Context, control fault.Control) {
	control.Heal()
	looks := c.Working([]kit.Call{kit.GetUser(c.ID()), kit.UseVerificationToken(c.NewToken().Key()),
		kit.GetSessionAndUser(c.NewSession("").SessionToken)})
	if len(looks) == 0 {
		return
	}
	end := time.Now().Add(RecoveryTime)
	Recovers(c, 3, func(int) error { _, err := looks[0].Do(c.Ctx, c.Raw); return err }, func(_ int, err error) {
		if time.Now().After(end) {
			c.Fatalf("%v after the fault every call still fails: %v", RecoveryTime, err)
		}
	})
}

// Recovers makes numbered calls until so many in a row succeed. failed judges the errors, of
// which it gets the number too.
func Recovers(c *kit.Context, inARow int, call func(n int) error, failed func(failures int, err error)) {
	failures := 0
	for good := 0; good < inARow; {
		err := call(good)
		if err == nil {
			good++
			continue
		}
		good = 0
		failures++
		failed(failures, err)
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

// KindsFor returns the kinds of fault that the call with the number turn, of so many calls, meets: those of the
// wanted ones that the control has. In a run of less than one round each call meets a share of them, and all calls
// together meet each kind.
func KindsFor(c *kit.Context, turn, calls int, control fault.Control, wanted []fault.Kind) []fault.Kind {
	var have []fault.Kind
	for i := range wanted {
		if kind := wanted[(turn+i)%len(wanted)]; Has(c, control, kind) {
			have = append(have, kind)
		}
	}
	share := max(c.Rounds(len(have)), (len(have)+calls-1)/calls)
	return have[:min(len(have), share)]
}

// Has reports whether the control has faults of the kind.
func Has(c *kit.Context, control fault.Control, kind fault.Kind) bool {
	i, err := TryInject(c, control, kind, farStep)
	if err == nil {
		i.Release()
	}
	return err == nil
}

// Faulty is a thing to call with a kind of fault.
type Faulty[T any] struct {
	What T
	Kind fault.Kind
}

// FaultyOf returns each of the things with each of the kinds of fault that it meets, as
// KindsFor says; kinds returns those that are wanted.
func FaultyOf[T any](c *kit.Context, things []T, kinds func(T) []fault.Kind) (all []Faulty[T]) {
	for turn, x := range things {
		for _, kind := range KindsFor(c, turn, len(things), kit.Faults(c), kinds(x)) {
			all = append(all, Faulty[T]{x, kind})
		}
	}
	return all
}

// EachFaulty is kit.Each for such things. Their groups are the names and the kinds of fault.
func EachFaulty[T any](c *kit.Context, cases []Faulty[T], name func(T) string, try func(thing T, kind fault.Kind)) {
	groups := func(x Faulty[T]) []string { return []string{name(x.What), KindName(x.Kind)} }
	kit.Each(c, cases, groups, func(x Faulty[T]) bool { try(x.What, x.Kind); return true })
}

// Each calls each method with a fault of each kind at each of the call's steps, each write with a new fixture. It
// judges the outcome when the traffic flows again.
func Each(c *kit.Context, kinds []fault.Kind, methods []string, judge func(x Case)) {
	FaultsExcept(c, func(string, fault.Kind) bool { return false }, kinds, methods, judge)
}

// FaultsExcept is Each without the kinds of fault that a method need not meet.
func FaultsExcept(c *kit.Context, skip func(method string, kind fault.Kind) bool, kinds []fault.Kind, methods []string, judge func(x Case)) {
	control := Control(c)
	defer control.Heal()
	all := FaultyOf(c, methods, func(method string) []fault.Kind {
		if !c.Works(method) {
			return nil
		}
		return kinds
	})
	cases := slices.DeleteFunc(slices.Clone(all), func(x Faulty[string]) bool { return skip(x.What, x.Kind) })
	hits := len(all) - len(cases)
	var k *kit.Records
	steps := map[string]int{} // of a call that succeeded
	groups := func(x Faulty[string]) []string { return []string{x.What, KindName(x.Kind)} }
	kit.Each(c, cases, groups, func(of Faulty[string]) bool {
		most, known := steps[of.What]
		if !known {
			most = kit.FaultSteps
		}
		var errs []kit.Failure
		kit.InTurn(c, most, func(step int) bool {
			if k == nil || !slices.Contains(Lookups, of.What) {
				k = kit.NewFixture(c, c.Observe(kit.Witness(c)))
			}
			m := k.CallOf(of.What)
			result, hit, err := Strike(c, control, of.Kind, step, m)
			if !hit {
				if err == nil {
					steps[of.What] = step - 1
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
			c.Run.MetFault(of.What, of.Kind, errs)
		}
		return len(errs) > 0
	})
	if c.Failed() {
		return
	}
	if !slices.ContainsFunc(methods, c.Works) {
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
	user, creates := map[string]*adapter.User{
		"CreateUser": &k.New.User, "CreateUserWithAccount": &k.SignUp.User, "CreateUserWithPassword": &k.Entrant.User,
	}[x.Call.Method]
	if !creates {
		return
	}
	if u, _ := c.Raw.GetUserByEmail(c.Ctx, user.Email); u != nil {
		user.ID = u.ID
		x.Call = k.CallOf(x.Call.Method)
	}
}

// Looks is the largest number of attempts to read a store that changes during the read.
const Looks = 4

// Effect compares the store with the states that the contract requires before and after the call. It reports whether
// the call took effect, and the differences if the store has neither state.
func Effect(c *kit.Context, x Case) (done bool, neither []string) {
	m, look := ModelOf(x.Fixture, c), x.Fixture.Keys()
	before := SnapshotOfModel(c, m, look)
	if _, err := x.Call.Do(c.Ctx, m); err != nil {
		c.Fatalf("the model fails: %v", err)
	}
	after := SnapshotOfModel(c, m, look)
	more := Looks
	for end := time.Now().Add(c.Harness().Declarations.EventualReads); ; kit.Pause(c, time.Millisecond) {
		got, err := kit.Snapshot(c.Ctx, c, kit.Witness(c), look)
		if err != nil {
			return false, []string{err.Error()}
		}
		fromBefore, fromAfter := kit.Differences(c, got, before), kit.Differences(c, got, after)
		switch {
		case len(fromAfter) == 0:
			return true, nil
		case time.Now().Before(end):
			continue
		case len(fromBefore) == 0:
			return false, nil
		}
		last := neither
		neither = []string{
			"against the state before: " + strings.Join(fromBefore, "; "),
			"against the state after: " + strings.Join(fromAfter, "; "),
		}
		if more--; more == 0 || slices.Equal(neither, last) {
			return false, neither
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

// WholeOrNone reports a breach if the call took effect in part, or if it succeeded and did not take effect. It
// returns whether the call took effect, and whether there was no breach.
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

// LeavesAllOrNothing makes creations that meet faults. One that left nothing can be made again.
func LeavesAllOrNothing(c *kit.Context, method string) {
	Each(c, BreakingFaults, []string{method}, func(x Case) {
		done, whole := WholeOrNone(c, x)
		if !whole || done || x.Err == nil {
			return
		}
		u, err := x.Call.Do(c.Ctx, c.Adapter)
		if err != nil || kit.IsNilRecord(u) {
			if done, whole := WholeOrNone(c, x); done && whole {
				return // the first try took effect late, which CTX-07 judges
			}
			c.Errorf("%s: trying again: got %s, error %v", x, diff.Show(u), err)
		}
	})
}

// WritesFromElsewhere writes the records of a fixture through another adapter, under a deadline.
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
	isNew := func(u adapter.User) bool { return !found("GetUserByEmail", u.Email) && !found("GetUser", u.ID) }
	var writes []kit.Call
	makes := func(possible bool, w kit.Call) {
		if possible && c.Works(w.Method) {
			writes = append(writes, w)
		}
	}
	user := found("GetUser", k.User.ID)
	makes(user, kit.UpdateUser(kit.UserUpdate(c, k.User.ID, kit.UserFields)))
	makes(user && !found("GetAccount", k.New.Account.Key()), kit.LinkAccount(k.New.Account))
	makes(user && !found("GetSessionAndUser", k.New.Session.SessionToken), kit.CreateSession(k.New.Session))
	makes(user && !found("GetAuthenticator", k.New.Authenticator.CredentialID), kit.CreateAuthenticator(k.New.Authenticator))
	makes(found("GetSessionAndUser", k.Session.SessionToken), kit.UpdateSession(k.New.SessionUpdate))
	makes(found("GetAuthenticator", k.Authenticator.CredentialID),
		kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+5))
	makes(isNew(k.New.User), kit.CreateUser(k.New.User))
	makes(isNew(k.SignUp.User), k.SignUp.Call())
	for _, w := range writes {
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
	return map[fault.Kind]string{
		fault.FailRequest: "a failed request", fault.LoseReply: "a lost reply", fault.HoldReply: "a held reply", fault.Stall: "a stalled store",
		fault.CutReply: "a reply cut short", fault.Cut: "cut connections", fault.Down: "a store that is down", fault.HalfClose: "a half-closed connection",
		fault.Delay: "a slow store",
	}[k]
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
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// OfKind is the group of a case that is a kind of fault.
func OfKind(kind fault.Kind) []string { return []string{KindName(kind)} }

// ListFails injects faults into a call that lists records: the call must fail or return the complete list.
func ListFails(c *kit.Context, list kit.Call, want any) {
	control := Control(c)
	defer control.Heal()
	hits := 0
	kit.Each(c, BreakingFaults, OfKind, func(kind fault.Kind) bool {
		before := hits
		kit.InTurn(c, kit.FaultSteps, func(step int) bool {
			if !Has(c, control, kind) {
				return false
			}
			got, hit, err := Strike(c, control, kind, step, list)
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
	put(m.Users, c.Works("CreateUser"), k.User.ID, k.User)
	put(m.Accounts, c.Works("LinkAccount"), k.Account.Key(), k.Account)
	put(m.Sessions, c.Works("CreateSession"), k.Session.SessionToken, k.Session)
	put(m.Authenticators, c.Works("CreateAuthenticator"), k.Authenticator.CredentialID, k.Authenticator)
	put(m.Accounts, kit.Connects(c), k.Passkey.Key(), k.Passkey)
	put(m.Passwords, c.Works("SetPassword"), k.User.ID, k.Password)
	return m
}

// put adds a record if it is stored.
func put[K comparable, R any](records map[K]R, stored bool, key K, record R) {
	if stored {
		records[key] = record
	}
}

// Failing calls every lookup and every write while the store fails, once in a run, and passes the errors to judge.
func Failing(c *kit.Context, judge func(what string, err error)) {
	if c.Run.Failed == nil {
		c.Run.Failed = FailedCalls(c)
	}
	for _, f := range c.Run.Failed {
		judge(f.What, f.Err)
	}
}

// FailedCalls calls every lookup and every write while the store fails.
func FailedCalls(c *kit.Context) []kit.Failure {
	failed := []kit.Failure{}
	control := kit.Faults(c)
	b := kit.Residents(c, 1)[0]
	reads, writes := kit.Lookups(c), kit.Writes(c)
	turn := 0
	one := func(k kit.Call) {
		turn++
		for _, kind := range KindsFor(c, turn, len(reads)+len(writes), control, []fault.Kind{fault.FailRequest, fault.Down}) {
			if _, hit, err := Strike(c, control, kind, 1, k); hit && err != nil {
				failed = append(failed, kit.Failure{What: k.Method + " of a store that fails", Err: err})
			}
		}
	}
	for _, k := range reads {
		if key, ok := b.Key(k); ok {
			one(k.With(c, key))
		}
	}
	for _, w := range writes {
		change, _ := w.Prepare(c)
		one(change)
	}
	return failed
}
