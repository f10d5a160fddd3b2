package faults

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ERR judges its own calls. It runs last, so it also judges the calls of all other clauses.
var errClauses = []kit.Check{
	{ID: "ERR-01", Words: "failure-is-not-absent", Test: failureIsNotAbsent},
	{ID: "ERR-02", Words: "nil-error-means-written", Test: nilErrorMeansWritten},
	{ID: "ERR-03", Words: "absent-is-nil", Alone: true, Test: func(c *kit.Context) {
		residents := kit.Residents(c, 1)
		for _, k := range kit.MethodsWithKey(c) {
			if k.Unknown == kit.Refusal {
				continue
			}
			unknown := k.UnknownKey(c)
			kit.Misses(c, k, unknown)
			if key, ok := residents[0].Key(k); ok && len(key) == 2 {
				for i := range key {
					kit.Misses(c, k, kit.With(key, i, unknown[i]))
				}
			}
		}
		kit.Intact(c, residents)
		for _, o := range onceEach(c, func(o kit.Observation) bool { return o.EmptyRecord }) {
			c.Errorf("%s returned an empty record during %s, want nil", o.Method, o.Clause)
		}
	}},
	{ID: "ERR-04", Words: "errors-wrap-their-cause", Needs: []kit.Ability{kit.AbilityFaults}, Alone: true, Test: func(c *kit.Context) {
		faulted.Failing(c, func(what string, err error) {
			if !wrapsCause(err) {
				c.Errorf("%s: the error %q (%T) has no cause that errors.Is or errors.As could find", what, err, err)
			}
		})
	}},
	{ID: "ERR-05", Words: "conflicts-match-one-sentinel", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		works := func(x kit.Conflict) bool { return c.Works(x.Method) }
		for _, x := range kit.Applicable(c, kit.Conflicts(c), works, "the adapter keeps nothing unique") {
			fails(c, x.Method+" with "+x.What, x.Call, matches(c, adapter.ErrConflict))
		}
		if c.Works("CreateVerificationToken") {
			create := kit.CreateVerificationToken(c.Token()) // a second one may replace it [VTOK-10]
			fails(c, "CreateVerificationToken with a pending pair", create, matches(c, adapter.ErrConflict))
		}
	}},
	{ID: "ERR-06", Words: "unknown-keys-match-one-sentinel", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		works := func(x kit.Conflict) bool { return c.Works(x.Method) }
		for _, x := range kit.Applicable(c, kit.Unknowns(c), works, "the adapter updates neither users nor authenticators") {
			fails(c, x.Method+" of "+x.What, x.Call, matches(c, adapter.ErrNotFound))
		}
	}},
	{ID: "ERR-07", Words: "error-comes-without-record", Alone: true, Test: func(c *kit.Context) {
		for _, x := range append(kit.Conflicts(c), kit.Unknowns(c)...) {
			_, _ = x.Try(c)
		}
		cancelled, cancel := context.WithCancel(c.Ctx)
		cancel()
		live := c.Ctx
		c.Ctx = cancelled
		for _, k := range kit.MethodsWithKey(c) {
			_, _ = k.Call(c, c.Adapter, make([]string, len(k.Parts)))
		}
		c.Ctx = live
		if c.Has(kit.AbilityFaults) {
			faulted.Failing(c, func(string, error) {})
		}
		for _, o := range onceEach(c, func(o kit.Observation) bool { return o.RecordWithError }) {
			c.Errorf("%s returned a record together with an error during %s: %v", o.Method, o.Clause, o.Err)
		}
	}},
	{ID: "ERR-08", Words: "errors-hold-no-secrets", Alone: true, Test: func(c *kit.Context) {
		for _, x := range append(kit.Conflicts(c), kit.Unknowns(c)...) {
			_, _ = x.Try(c)
		}
		if c.Works("CreateVerificationToken") {
			t := c.Token()
			_, _ = c.Adapter.CreateVerificationToken(c.Ctx, t)
		}
		ownerless(c)
		if c.Has(kit.AbilityFaults) {
			faulted.Failing(c, func(string, error) {})
		}
		search := secretsIn(c.Run)
		seen := map[string]bool{}
		for _, o := range c.Run.Showing(func(o kit.Observation) bool { return o.Err != nil }) {
			if found := search(o.Err.Error()); found != "" && !seen[o.Method] {
				seen[o.Method] = true
				c.Errorf("the error of %s during %s contains the secret %s: %v", o.Method, o.Clause, diff.Show(found), o.Err)
			}
		}
	}},
	{ID: "ERR-09", Words: "conflict-is-not-failure", Needs: []kit.Ability{kit.AbilityFaults}, Alone: true, Test: func(c *kit.Context) {
		faulted.Failing(c, func(what string, err error) {
			if errors.Is(err, adapter.ErrConflict) {
				c.Errorf("%s: the error of a store that can't be reached matches ErrConflict: %v", what, err)
			}
		})
	}},
	{ID: "ERR-10", Words: "undecodable-is-an-error", Needs: []kit.Ability{kit.AbilityCorrupt}, Test: undecodableIsAnError},
	{ID: "ERR-11", Words: "errors-match-their-kind-only", Alone: true, Test: errorsMatchTheirKind},
	{ID: "ERR-12", Words: "what-was-refused-stays-free", Requires: []string{"CreateUser", "GetUser"}, Test: whatWasRefusedStaysFree},
	{ID: "ERR-13", Words: "refusals-are-no-failures", Requires: []string{"CreateUser"}, Test: refusalsAreNoFailures},
}

// onceEach returns the observations that keep accepts, one of each method in each clause.
func onceEach(c *kit.Context, keep func(kit.Observation) bool) []kit.Observation {
	seen := map[string]bool{}
	return slices.DeleteFunc(c.Run.Showing(keep), func(o kit.Observation) bool {
		key := o.Method + o.Clause
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// failureIsNotAbsent is ERR-01.
func failureIsNotAbsent(c *kit.Context) {
	if !c.Has(kit.AbilityFaults) && !c.Has(kit.AbilityClose) {
		c.NotVerified("the harness has neither %s nor %s", kit.AbilityFaults, kit.AbilityClose)
	}
	b := kit.Residents(c, 1)[0]
	lookups := slices.DeleteFunc(kit.Lookups(c), func(k kit.Method) bool { _, ok := b.Key(k); return !ok })
	// call finds the resident's record, or a new token, because a use removes it.
	call := func(k kit.Method) kit.Call {
		if k.Name == "UseVerificationToken" {
			return kit.UseVerificationToken(c.Token().Key())
		}
		key, _ := b.Key(k)
		return k.With(c, key)
	}
	if c.Has(kit.AbilityFaults) {
		before := map[string]any{}
		cases := faulted.FaultyOf(c, lookups, func(k kit.Method) []fault.Kind {
			key, _ := b.Key(k)
			record, err := k.Call(c, c.Adapter, key)
			if err != nil || record == nil {
				c.Errorf("%s(%s): got %s, %v, want the record", k.Name, kit.ShowKey(key), diff.Show(record), err)
				return nil
			}
			before[k.Name] = record
			kinds := []fault.Kind{fault.FailRequest, fault.Down, fault.CutReply, fault.Cut, fault.LoseReply}
			if k.Name == "UseVerificationToken" {
				kinds = kinds[:2] // after a lost reply the token may be used: FAULT-07 judges that
			}
			return kinds
		})
		faulted.EachFaulty(c, cases, func(k kit.Method) string { return k.Name }, func(k kit.Method, kind fault.Kind) {
			eachStep(c, kind, func() kit.Call { return call(k) }, func(what string, got any, err error) {
				switch {
				case err != nil:
				case kit.IsNothing(got):
					c.Errorf("%s of a stored record reports absent when %s", k.Name, what)
				case k.Name != "UseVerificationToken":
					c.Same(k.Name+" when "+what, got, before[k.Name])
				}
			})
		})
	}
	if c.Has(kit.AbilityClose) {
		c.UninvolvedGone = true
		calls := kit.Map(lookups, call)
		kit.Close(c, c.Raw)
		for _, k := range calls {
			if got, err := faulted.Within(c, faulted.CallTime, k, c.Adapter); err == nil && kit.IsNothing(got) {
				c.Errorf("%s of a stored record reports absent after Close", k.Method)
			}
		}
	}
}

// nilErrorMeansWritten is ERR-02.
func nilErrorMeansWritten(c *kit.Context) {
	writes := kit.Writes(c)
	for _, w := range writes {
		change, missing := w.Prepare(c)
		if _, err := change.Do(c.Ctx, c.Adapter); err != nil {
			c.Errorf("%s: %v", w.Method, err)
		} else if m := missing(); m != "" {
			c.Errorf("%s succeeded, and is not there: %s", w.Method, m)
		}
	}
	if c.Has(kit.AbilityFaults) {
		kinds := func(kit.Write) []fault.Kind { return []fault.Kind{fault.FailRequest, fault.Down, fault.Cut} }
		cases := faulted.FaultyOf(c, writes, kinds)
		faulted.EachFaulty(c, cases, func(w kit.Write) string { return w.Method }, func(w kit.Write, kind fault.Kind) {
			var missing func() string
			prepare := func() (change kit.Call) { change, missing = w.Prepare(c); return change }
			eachStep(c, kind, prepare, func(what string, _ any, err error) {
				if err != nil {
					return
				}
				if m := missing(); m != "" {
					c.Errorf("%s succeeded when %s, and is not there: %s", w.Method, what, m)
				}
			})
		})
	}
	for _, problem := range ownerless(c) {
		c.Errorf("%s", problem)
	}
	for _, x := range append(kit.Conflicts(c), kit.Unknowns(c)...) {
		if got, err := x.Try(c); err == nil && !kit.IsNilRecord(got) {
			if m := x.Missing(); m != "" {
				c.Errorf("%s with %s succeeded, and is not there: %s", x.Method, x.What, m)
			}
		}
	}
}

// ownerless creates records of an unknown user. It names those that were created without an error and are absent.
func ownerless(c *kit.Context) (problems []string) {
	nobody := c.ID()
	for _, kind := range []kit.Kind{kit.AccountRecord, kit.AuthenticatorRecord} {
		if !c.Stores(kind) {
			continue
		}
		d := kit.NewDraft(c, kind, nobody)
		create := d.Create()
		if _, err := create.Do(c.Ctx, c.Adapter); err == nil && kit.IsNilRecord(kit.Of[any](c, d.Read())) {
			problems = append(problems, fmt.Sprintf("%s for an unknown user succeeded, and the %s is absent", create.Method, kind))
		}
	}
	if c.Works("CreateSession") {
		s := c.NewSession(nobody) // a session without a user is absent in any case [SESS-22]
		_, err := c.Adapter.CreateSession(c.Ctx, s)
		if inspect := c.Harness().Inspect; err == nil && inspect != nil {
			if there, err := inspect(c.Ctx, c.Raw, kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken}); err == nil && !there {
				problems = append(problems, "CreateSession for an unknown user succeeded, and the store holds no session")
			}
		}
	}
	return problems
}

// undecodableIsAnError is ERR-10.
func undecodableIsAnError(c *kit.Context) {
	b := kit.Residents(c, 1)[0]
	b.Check(c, c.Raw)
	if c.Works("CreateVerificationToken") {
		b.Token = c.Token()
	}
	corrupted := 0
	for _, kind := range []kit.Kind{kit.UserRecord, kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord, kit.VerificationTokenRecord} {
		record, read := b.Draft, kit.KindOf(kind).Read
		if !b.Has(kind) || !c.Works(read) {
			continue
		}
		record.Kind = kind
		repair := c.Harness().Corrupt(c.TB, c.Raw, record.Name())
		if repair == nil {
			continue
		}
		corrupted++
		for range 2 { // the second lookup notices if the first one deletes the record
			if got, err := record.Look(c, c.Adapter); err == nil {
				c.Errorf("%s of a %s that can't be decoded: got %s, want an error", read, kind, diff.Show(got))
			}
			if kind == kit.VerificationTokenRecord {
				break // the use of a token deletes it, even if it can't be read
			}
		}
		repair()
		if kind == kit.VerificationTokenRecord {
			continue
		}
		if got, err := record.Look(c, c.Adapter); err != nil || got == nil {
			c.Errorf("%s of the %s made whole again: got %s, %v, want the record", read, kind, diff.Show(got), err)
		}
	}
	if corrupted == 0 {
		c.NotVerified("the harness can't corrupt any record")
	}
	b.Forget(kit.VerificationTokenRecord)
	b.Check(c, c.Raw)
}

// eachStep prepares a call without a fault and makes it with one at its first step, the
// second and so on (InTurn), until a call ends without the fault. judge gets the outcomes.
func eachStep(c *kit.Context, kind fault.Kind, prepare func() kit.Call, judge func(what string, got any, err error)) {
	steps := kit.MaxSteps
	if kind == fault.Down {
		steps = 1 // one step is enough, because drivers wait for a store that is down
	}
	var errs []kit.Failure
	method := ""
	kit.InTurn(c, steps, func(step int) bool {
		what := fmt.Sprintf("step %d of the call meets %s", step, faulted.KindName(kind))
		k := prepare()
		method = k.Method
		got, hit, err := faulted.Strike(c, kit.Faults(c), kind, step, k)
		judge(what, got, err)
		if hit {
			errs = append(errs, kit.Failure{What: method + " when " + what, Err: err})
		}
		return hit
	})
	if !c.Failed() {
		c.Run.MetFault(method, kind, errs)
	}
}

// wrapsCause reports whether err wraps an error that is more than text: the injected error, an error of the network
// or of a context, or a type of the driver.
func wrapsCause(err error) bool {
	causes := []error{
		fault.ErrInjected, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn, context.Canceled, context.DeadlineExceeded,
		syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE,
	}
	var timeout net.Error
	return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) }) || errors.As(err, &timeout) || hasTypedCause(err)
}

// hasTypedCause reports whether err wraps an error whose type is not one of
// those that the packages errors and fmt make for texts.
func hasTypedCause(err error) bool {
	for err != nil {
		switch fmt.Sprintf("%T", err) {
		case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError":
		default:
			return true
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			return slices.ContainsFunc(many.Unwrap(), hasTypedCause)
		}
		err = errors.Unwrap(err)
	}
	return false
}

// secretsIn returns a function that searches a text for the secrets of the run. It searches for the unique part of
// each string, so that quoting and cutting don't hide a secret.
func secretsIn(r *kit.Run) func(text string) string {
	unique := regexp.MustCompile(regexp.QuoteMeta(r.Nonce) + `-[A-Z]+-\d+-\d+`)
	marked := sync.OnceValue(func() map[string]string { // made late: there may be a million, and few errors have such a part
		secrets := map[string]string{}
		for _, s := range r.Secrets() {
			secrets[unique.FindString(s)] = s
		}
		return secrets
	})
	others := kit.Keep(r.Secrets(), func(s string) bool {
		_, clause, _ := strings.Cut(s, r.Nonce+"-")
		return s != "" && (clause == "" || clause[0] > 'Z')
	})
	return func(text string) string {
		for _, tail := range unique.FindAllString(text, -1) {
			if s, ok := marked()[tail]; ok {
				return s
			}
		}
		for _, s := range others {
			if strings.Contains(text, s) {
				return s
			}
		}
		return ""
	}
}

var sentinelNames = map[error]string{adapter.ErrConflict: "ErrConflict", adapter.ErrNotFound: "ErrNotFound"}

// matches returns a function that reports an error which does not match the sentinel, or
// matches another one. Other clauses judge whether the call must fail.
func matches(c *kit.Context, sentinel error, others ...error) func(what string, err error) {
	return func(what string, err error) {
		if err != nil && !errors.Is(err, sentinel) {
			c.Errorf("%s: the error does not match %s: %v", what, sentinelNames[sentinel], err)
		}
		for _, other := range others {
			if errors.Is(err, other) {
				c.Errorf("%s: the error matches %s: %v", what, sentinelNames[other], err)
			}
		}
	}
}

// errorsMatchTheirKind is ERR-11.
func errorsMatchTheirKind(c *kit.Context) {
	taken, missing := matches(c, adapter.ErrConflict, adapter.ErrNotFound), matches(c, adapter.ErrNotFound, adapter.ErrConflict)
	for _, x := range kit.Conflicts(c) {
		fails(c, x.Method+" with "+x.What, x.Call, taken)
	}
	for _, x := range kit.Unknowns(c) {
		fails(c, x.Method+" of "+x.What, x.Call, missing)
	}
	owners := []string{c.ID()}
	if c.Works("DeleteUser") {
		gone := c.User().ID
		c.DeleteUser(gone)
		owners = append(owners, gone)
	}
	for _, owner := range owners {
		for _, k := range c.Working([]kit.Call{
			kit.LinkAccount(c.NewAccount(owner)), kit.CreateSession(c.NewSession(owner)), kit.CreateAuthenticator(c.NewAuthenticator(owner)),
		}) {
			fails(c, k.Method+" for an absent user", k, missing)
		}
		if kit.SessionsMove(c) {
			s := c.Session(c.User().ID)
			fails(c, "UpdateSession to an absent user", kit.MoveSession(s.SessionToken, owner), missing)
		}
	}
	ownerAndKey(c, taken, missing)
	refusedValues(c)
	if kit.Faults(c) == nil {
		c.Notef("no fault was injected: the harness has no %s", kit.AbilityFaults)
		return
	}
	judge := func(what string, err error) {
		for _, sentinel := range []error{adapter.ErrConflict, adapter.ErrNotFound, adapter.ErrLastCredential, adapter.ErrUnsupported} {
			if errors.Is(err, sentinel) {
				c.Errorf("%s: the store failed, and the error matches %q", what, sentinel)
			}
		}
	}
	notTheLastUnderFaults(c, judge)
	met := c.Run.FaultsMet() // in earlier clauses
	for _, errs := range met {
		for _, x := range errs {
			judge(x.What, x.Err)
		}
	}
	known := func(method string, kind fault.Kind) bool {
		_, ok := met[kit.FaultOf{Method: method, Kind: kind}]
		return ok
	}
	faulted.FaultsExcept(c, known, faulted.BreakingFaults, slices.Concat(faulted.VisibleWrites, faulted.Lookups),
		func(x faulted.Case) { judge(x.String(), x.Err) })
}

// notTheLastUnderFaults deletes an authenticator, unless it is the user's last way to sign in, with a fault at each
// step. It never is the last: the user has other authenticators, or an account. judge gets the errors.
func notTheLastUnderFaults(c *kit.Context, judge func(what string, err error)) {
	if !c.Works("DeleteAuthenticator") {
		return
	}
	beside := map[string]func(userID string){
		"other authenticators": func(userID string) { c.Authenticator(userID); c.Authenticator(userID) },
		"an account":           func(userID string) { c.Account(userID) },
	}
	has := []string{"other authenticators"}
	if c.Works("LinkAccount") {
		has = append(has, "an account")
	}
	cases := faulted.FaultyOf(c, has, func(string) []fault.Kind { return []fault.Kind{fault.FailRequest, fault.Down, fault.Cut} })
	faulted.EachFaulty(c, cases, func(has string) string { return has }, func(has string, kind fault.Kind) {
		for step := 1; step <= kit.MaxSteps; step++ {
			w := c.Authenticator(c.User().ID)
			beside[has](w.UserID)
			_, hit, err := faulted.Strike(c, kit.Faults(c), kind, step, kit.DeleteAuthenticator(w.UserID, w.CredentialID, true))
			what := fmt.Sprintf("DeleteAuthenticator that keeps one, of a user who has %s too, with %s at step %d",
				has, faulted.KindName(kind), step)
			judge(what, err)
			if err != nil && step == 1 && kind != fault.Cut && c.Works("GetAuthenticator") { // the store has got nothing
				if got, err := c.Observe(kit.Witness(c)).GetAuthenticator(c.Ctx, w.CredentialID); err == nil && got == nil {
					c.Errorf("%s: it failed, and the authenticator is gone", what)
				}
			}
			if !hit || c.Failed() {
				break
			}
		}
	})
}

// refusedValues writes texts that a store may refuse. Such a text is neither taken nor absent.
func refusedValues(c *kit.Context) {
	owner := kit.Owner(c)
	for _, p := range kit.TextFields {
		if slices.ContainsFunc(p.Methods, c.Lacks) || !c.Harness().Declarations.Keeps(p.Name) {
			continue
		}
		for _, text := range []string{"\x00", "\xff", strings.Repeat("x", 100_000)} {
			_, err := p.Put(c, owner, c.Unique("x")+text)
			for _, sentinel := range []error{adapter.ErrConflict, adapter.ErrNotFound} {
				if errors.Is(err, sentinel) {
					c.Errorf("%s = %s, which no record has: the error matches %q: %v", p.Name, diff.Show(text), sentinel, err)
				}
			}
		}
	}
}

// ownerAndKey makes writes that collide with a record of the same user, whose
// error is about the key and about nothing else.
func ownerAndKey(c *kit.Context, taken, missing func(what string, err error)) {
	if !c.Works("CreateUser") {
		return
	}
	u := c.User()
	if c.Works("LinkAccount") {
		x := c.Account(u.ID)
		x.UserID = c.User().ID
		fails(c, "LinkAccount of an account that another user has", kit.LinkAccount(x), taken)
	}
	if c.Works("CreateSession") {
		fails(c, "CreateSession once more", kit.CreateSession(c.Session(u.ID)), taken)
	}
	if c.Works("CreateAuthenticator") {
		fails(c, "CreateAuthenticator once more", kit.CreateAuthenticator(c.Authenticator(u.ID)), taken)
	}
	if c.Works("UpdateUser") {
		update := kit.UserUpdate(c, c.User().ID, kit.UserFields)
		update.Email = adapter.To(u.Email)
		fails(c, "UpdateUser of all fields with a taken address", kit.UpdateUser(update), taken)
		update.ID, update.Email = c.ID(), adapter.To(c.NewUser().Email)
		fails(c, "UpdateUser of all fields of an absent user", kit.UpdateUser(update), missing)
	}
}

// fails makes a call, and passes its error to judge.
func fails(c *kit.Context, what string, k kit.Call, judge func(what string, err error)) {
	_, err := k.Do(c.Ctx, c.Adapter)
	judge(what, err)
}

// whatWasRefusedStaysFree is ERR-12. A write that asks for something free and
// something that it can't have is refused; then what was free is used.
func whatWasRefusedStaysFree(c *kit.Context) {
	try := func(what string, refused kit.Call, free ...kit.Call) {
		if !c.Works(refused.Method) {
			return
		}
		if _, err := refused.Do(c.Ctx, c.Adapter); err == nil {
			c.Notef("%s with %s was not refused", refused.Method, what)
			return
		}
		for _, k := range c.Working(free) {
			if got, err := k.Do(c.Ctx, c.Adapter); err != nil || kit.IsNilRecord(got) {
				c.Errorf("%s of what %s with %s asked for and did not get: got %s, error %v", k.Method, refused.Method, what,
					diff.Show(got), err)
			}
		}
	}
	a, nobody := c.User(), c.ID()
	fresh := func(email string) kit.Call {
		u := kit.UserWithID(c)
		u.Email = email
		return kit.CreateUser(u)
	}
	twin := kit.UserWithID(c)
	twin.Email = a.Email
	try("a taken address", kit.CreateUser(twin), kit.CreateUser(kit.UserNamed(c, twin.ID)))
	if !kit.AssignsIDs(c) {
		same := kit.UserNamed(c, a.ID)
		try("a taken ID", kit.CreateUser(same), fresh(same.Email))
	}
	update := kit.UserUpdate(c, nobody, kit.UserFields)
	email, _ := update.Email.Get()
	try("the ID of nobody", kit.UpdateUser(update), fresh(email))
	for _, kind := range []kit.Kind{kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord} {
		x := kit.NewDraft(c, kind, nobody)
		own := *x
		own.Give(a.ID)
		try("an owner who is nobody", x.Create(), own.Create())
	}
	try("an owner who is nobody", kit.SetPassword(kit.NewPassword(c, nobody)), kit.SetPassword(kit.NewPassword(c, a.ID)))

	if !c.Works("CreateUserWithAccount") {
		return
	}
	half := func(taken func(s *kit.Draft)) {
		s := kit.NewSignUp(c)
		free := s
		taken(&s)
		var calls []kit.Call
		if s.User.Email == free.User.Email {
			calls = append(calls, fresh(free.User.Email))
		}
		if s.Account.Key() == free.Account.Key() {
			free.Account.UserID = a.ID
			calls = append(calls, kit.LinkAccount(free.Account))
		}
		if s.Authenticator.CredentialID == free.Authenticator.CredentialID {
			free.Authenticator.UserID = a.ID
			calls = append(calls, kit.CreateAuthenticator(free.Authenticator))
		}
		try("something taken", s.Call(), calls...)
		c.Same("a user after a refused sign-up", c.GetUser(a.ID), a)
	}
	half(func(s *kit.Draft) { s.User.Email = a.Email })
	if !kit.AssignsIDs(c) {
		half(func(s *kit.Draft) { s.User.ID = a.ID })
	}
	if c.Stores(kit.AccountRecord) {
		taken := c.Account(a.ID)
		half(func(s *kit.Draft) {
			s.Account.Provider, s.Account.ProviderAccountID = taken.Provider, taken.ProviderAccountID
		})
	}
	if c.Stores(kit.AuthenticatorRecord) {
		taken := c.Authenticator(a.ID)
		half(func(s *kit.Draft) { s.Authenticator.CredentialID = taken.CredentialID })
	}
}

// refusalsAreNoFailures is ERR-13. Writes of each kind are refused many times in a row; then other calls are made.
// What is refused over one connection is refused over each.
func refusalsAreNoFailures(c *kit.Context) {
	before := refusals(c)
	start := time.Now()
	for n := 0; !c.Failed() && (n == 0 || n < c.Rounds(kit.OverConnections) && !race.Over(c, n, time.Since(start), kit.RaceLimit)); n++ {
		refusesStill(c, "several calls at once", before)
	}
	if c.Failed() {
		return
	}
	const times = 30 // more than a pool has connections, or a circuit breaker forgives
	k, nobody := kit.NewFixture(c, c.Adapter), c.ID()
	taken := kit.NewSignUp(c)
	taken.User.Email = k.User.Email
	refused := []kit.Call{
		kit.CreateUser(k.User), kit.LinkAccount(k.Account), kit.CreateSession(k.Session), kit.CreateAuthenticator(k.Authenticator), taken.Call(),
		kit.LinkAccount(c.NewAccount(nobody)), kit.CreateSession(c.NewSession(nobody)), kit.CreateAuthenticator(c.NewAuthenticator(nobody)),
		kit.UpdateUser(kit.UserUpdate(c, nobody, kit.UserFields)), kit.UpdateAuthenticatorCounter(c.Unique("credential"), 9),
		kit.MoveSession(k.Session.SessionToken, nobody),
		kit.UpdateAccount(kit.AccountUpdate(c, c.NewAccount(nobody).Key(), kit.AccountFields)),
		kit.TouchAuthenticator(c.Unique("credential"), 1, 2, c.Instant(0)),
		kit.SetPassword(kit.NewPassword(c, nobody)),
	}
	if c.Works("DeleteAuthenticator") {
		w := c.Authenticator(c.User().ID)
		refused = append(refused, kit.DeleteAuthenticator(w.UserID, w.CredentialID, true))
	}
	for _, m := range c.Working(refused) {
		for range times {
			if _, err := faulted.Within(c, faulted.OpenTime, m, c.Adapter); errors.Is(err, context.DeadlineExceeded) {
				break // the normal calls show it
			}
		}
		if err := race.NormalCalls(c, c.Adapter, faulted.OpenTime); err != nil {
			c.Errorf("after %d calls of %s that were refused: %v", times, m.Method, err)
			return
		}
	}
}
