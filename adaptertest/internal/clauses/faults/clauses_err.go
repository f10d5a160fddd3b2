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
	"syscall"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ERR judges its own calls. It runs last, so it also judges the calls of all
// other clauses.
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
		seen := map[string]bool{}
		for _, o := range c.Run.Showing(func(o kit.Observation) bool { return o.EmptyRecord }) {
			if key := o.Method + o.Clause; !seen[key] {
				seen[key] = true
				c.Errorf("%s returned an empty record during %s, want nil", o.Method, o.Clause)
			}
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
		conflicts := kit.Conflicts(c)
		if len(conflicts) == 0 {
			c.NotApplicable("the adapter keeps nothing unique")
		}
		for _, x := range conflicts {
			if _, err := x.Try(c); err != nil && !errors.Is(err, adapter.ErrConflict) {
				c.Errorf("%s with %s: the error does not match ErrConflict: %v", x.Method, x.What, err)
			}
		}
		if c.Works("CreateVerificationToken") {
			t := c.Token() // a second one may replace it [VTOK-10]
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil && !errors.Is(err, adapter.ErrConflict) {
				c.Errorf("CreateVerificationToken with a pending pair: the error does not match ErrConflict: %v", err)
			}
		}
	}},
	{ID: "ERR-06", Words: "unknown-keys-match-one-sentinel", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		unknowns := kit.Unknowns(c)
		if len(unknowns) == 0 {
			c.NotApplicable("the adapter updates neither users nor authenticators")
		}
		for _, x := range unknowns {
			if _, err := x.Try(c); err != nil && !errors.Is(err, adapter.ErrNotFound) {
				c.Errorf("%s of %s: the error does not match ErrNotFound: %v", x.Method, x.What, err)
			}
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
		seen := map[string]bool{}
		for _, o := range c.Run.Showing(func(o kit.Observation) bool { return o.RecordWithError }) {
			if key := o.Method + o.Clause; !seen[key] {
				seen[key] = true
				c.Errorf("%s returned a record together with an error during %s: %v", o.Method, o.Clause, o.Err)
			}
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
				c.Errorf("the error of %s during %s contains the secret %s: %v", o.Method, o.Clause, diff.Show(found),
					o.Err)
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

// failureIsNotAbsent is ERR-01.
func failureIsNotAbsent(c *kit.Context) {
	if !c.Has(kit.AbilityFaults) && !c.Has(kit.AbilityClose) {
		c.NotVerified("the harness has neither %s nor %s", kit.AbilityFaults, kit.AbilityClose)
	}
	b := kit.Residents(c, 1)[0]
	lookups := kit.Lookups(c)
	if c.Has(kit.AbilityFaults) {
		type faultedLookup struct {
			kit.Method
			key    []string
			before any
			kind   fault.Kind
		}
		var cases []faultedLookup
		for turn, k := range lookups {
			key, ok := b.Key(k)
			if !ok {
				continue
			}
			before, err := k.Call(c, c.Adapter, key)
			if err != nil || before == nil {
				c.Errorf("%s(%s): got %s, %v, want the record", k.Name, kit.ShowKey(key), diff.Show(before), err)
				continue
			}
			kinds := []fault.Kind{fault.FailRequest, fault.Down, fault.CutReply, fault.Cut, fault.LoseReply}
			if k.Name == "UseVerificationToken" {
				kinds = kinds[:2] // after a lost reply the token may be used: FAULT-07 judges that
			}
			for _, kind := range faulted.KindsFor(c, turn, len(lookups), kit.Faults(c), kinds) {
				cases = append(cases, faultedLookup{k, key, before, kind})
			}
		}
		kit.Each(c, cases, func(x faultedLookup) []string { return []string{x.Name, faulted.KindName(x.kind)} }, func(x faultedLookup) bool {
			uses := x.Name == "UseVerificationToken"
			eachStep(c, x.Name, x.kind, func() {
				if uses {
					token := c.Token()
					x.key = []string{token.Identifier, token.Token}
				}
			}, func(what string) error {
				got, err := faulted.Bounded(c, faulted.LimitWith(x.kind), func(c *kit.Context) (any, error) { return x.Call(c, c.Adapter, x.key) })
				switch {
				case err != nil:
				case got == nil:
					c.Errorf("%s of a stored record reports absent when %s", x.Name, what)
				case !uses:
					c.Same(x.Name+" when "+what, got, x.before)
				}
				return err
			})
			return true
		})
	}
	if c.Has(kit.AbilityClose) {
		c.UninvolvedGone = true
		key := map[string][]string{}
		for _, k := range lookups {
			if parts, ok := b.Key(k); ok {
				key[k.Name] = parts
			}
		}
		if t := key["UseVerificationToken"]; t != nil {
			token := c.Token()
			key["UseVerificationToken"] = []string{token.Identifier, token.Token}
		}
		if err := c.Harness().Close(c.Raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		for _, k := range lookups {
			if key[k.Name] == nil {
				continue
			}
			if got, err := faulted.Bounded(c, faulted.CallTime, func(c *kit.Context) (any, error) { return k.Call(c, c.Adapter, key[k.Name]) }); err == nil && got == nil {
				c.Errorf("%s of a stored record reports absent after Close", k.Name)
			}
		}
	}
}

// nilErrorMeansWritten is ERR-02.
func nilErrorMeansWritten(c *kit.Context) {
	type faultedWrite struct {
		kit.Write
		kind fault.Kind
	}
	var cases []faultedWrite
	writes := kit.Writes(c)
	for turn, w := range writes {
		change, missing := w.Prepare(c)
		if _, err := change.Do(c.Ctx, c.Adapter); err != nil {
			c.Errorf("%s: %v", w.Method, err)
		} else if m := missing(); m != "" {
			c.Errorf("%s succeeded, and is not there: %s", w.Method, m)
		}
		if !c.Has(kit.AbilityFaults) {
			continue
		}
		kinds := []fault.Kind{fault.FailRequest, fault.Down, fault.Cut}
		for _, kind := range faulted.KindsFor(c, turn, len(writes), kit.Faults(c), kinds) {
			cases = append(cases, faultedWrite{w, kind})
		}
	}
	kit.Each(c, cases, func(x faultedWrite) []string { return []string{x.Method, faulted.KindName(x.kind)} }, func(x faultedWrite) bool {
		var change kit.Call
		var missing func() string
		eachStep(c, x.Method, x.kind, func() { change, missing = x.Prepare(c) }, func(what string) error {
			_, err := faulted.Bounded(c, faulted.LimitWith(x.kind), func(c *kit.Context) (any, error) { return change.Do(c.Ctx, c.Adapter) })
			if err != nil {
				return err
			}
			faulted.Heal(c)
			if m := missing(); m != "" {
				c.Errorf("%s succeeded when %s, and is not there: %s", x.Method, what, m)
			}
			return nil
		})
		return true
	})
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

// ownerless creates records of an unknown user. It names those that were
// created without an error and are absent.
func ownerless(c *kit.Context) (problems []string) {
	nobody := c.ID()
	if c.Stores(kit.AccountRecord) {
		a := c.NewAccount(nobody)
		if _, err := c.Adapter.LinkAccount(c.Ctx, a); err == nil && c.GetAccount(a.Key()) == nil {
			problems = append(problems, "LinkAccount for an unknown user succeeded, and the account is absent")
		}
	}
	if c.Stores(kit.AuthenticatorRecord) {
		w := c.NewAuthenticator(nobody)
		if _, err := c.Adapter.CreateAuthenticator(c.Ctx, w); err == nil && c.GetAuthenticator(w.CredentialID) == nil {
			problems = append(problems, "CreateAuthenticator for an unknown user succeeded, and the authenticator is absent")
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
		k, _ := kit.MethodNamed(kit.KindOf(kind).Read)
		key, ok := b.Key(k)
		if !ok || !c.Works(k.Name) {
			continue
		}
		record := b.Draft
		record.Kind = kind
		repair := c.Harness().Corrupt(c.TB, c.Raw, record.Name())
		if repair == nil {
			continue
		}
		corrupted++
		for range 2 { // the second lookup notices if the first one deletes the record
			if got, err := k.Call(c, c.Adapter, key); err == nil {
				c.Errorf("%s of a %s that can't be decoded: got %s, want an error", k.Name, kind, diff.Show(got))
			}
			if kind == kit.VerificationTokenRecord {
				break // the use of a token deletes it, even if it can't be read
			}
		}
		repair()
		if kind == kit.VerificationTokenRecord {
			continue
		}
		if got, err := k.Call(c, c.Adapter, key); err != nil || got == nil {
			c.Errorf("%s of the %s made whole again: got %s, %v, want the record", k.Name, kind, diff.Show(got), err)
		}
	}
	if corrupted == 0 {
		c.NotVerified("the harness can't corrupt any record")
	}
	b.Forget(kit.VerificationTokenRecord)
	b.Check(c, c.Raw)
}

// eachStep calls prepare without a fault and then call, which calls the method,
// with one at the first step, the second and so on (InTurn), until a call ends
// without the fault.
func eachStep(c *kit.Context, method string, kind fault.Kind, prepare func(), call func(what string) error) {
	control := kit.Faults(c)
	steps := kit.MaxSteps
	if kind == fault.Down {
		steps = 1 // one step is enough, because drivers wait for a store that is down
	}
	var errs []kit.Failure
	kit.InTurn(c, steps, func(step int) (hit bool) {
		what := fmt.Sprintf("step %d of the call meets %s", step, faulted.KindName(kind))
		prepare()
		in := faulted.Inject(c, control, kind, step)
		err := call(what)
		hit = faulted.IsHit(in) || err != nil && faulted.WillBeHit(in)
		faulted.Heal(c)
		if hit {
			errs = append(errs, kit.Failure{What: method + " when " + what, Err: err})
		}
		return hit
	})
	if !c.Failed() {
		c.Run.MetFault(method, kind, errs)
	}
}

// wrapsCause reports whether err wraps an error that is more than text: the
// injected error, an error of the network or of a context, or a type of the
// driver.
func wrapsCause(err error) bool {
	for _, cause := range []error{
		fault.ErrInjected, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn, context.Canceled, context.DeadlineExceeded,
		syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	var timeout net.Error
	return errors.As(err, &timeout) || hasTypedCause(err)
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
			for _, e := range many.Unwrap() {
				if hasTypedCause(e) {
					return true
				}
			}
			return false
		}
		err = errors.Unwrap(err)
	}
	return false
}

// secretsIn returns a function that searches a text for the secrets of the
// run. It searches for the unique part of each string, so that quoting and
// cutting don't hide a secret.
func secretsIn(r *kit.Run) func(text string) string {
	unique := regexp.MustCompile(regexp.QuoteMeta(r.Nonce) + `-[A-Z]+-\d+-\d+`)
	secrets := map[string]string{}
	var others []string
	for _, s := range r.Secrets() {
		if tail := unique.FindString(s); tail != "" {
			secrets[tail] = s
		} else if s != "" {
			others = append(others, s)
		}
	}
	return func(text string) string {
		for _, tail := range unique.FindAllString(text, -1) {
			if s, ok := secrets[tail]; ok {
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

// errorsMatchTheirKind is ERR-11.
func errorsMatchTheirKind(c *kit.Context) {
	names := map[error]string{adapter.ErrConflict: "ErrConflict", adapter.ErrNotFound: "ErrNotFound"}
	matches := func(sentinel, other error) func(what string, err error) {
		return func(what string, err error) {
			if err != nil && !errors.Is(err, sentinel) { // other clauses judge whether the call must fail
				c.Errorf("%s: the error does not match %s: %v", what, names[sentinel], err)
			}
			if errors.Is(err, other) {
				c.Errorf("%s: the error matches %s: %v", what, names[other], err)
			}
		}
	}
	taken, missing := matches(adapter.ErrConflict, adapter.ErrNotFound), matches(adapter.ErrNotFound, adapter.ErrConflict)
	for _, x := range kit.Conflicts(c) {
		_, err := x.Try(c)
		taken(x.Method+" with "+x.What, err)
	}
	for _, x := range kit.Unknowns(c) {
		_, err := x.Try(c)
		missing(x.Method+" of "+x.What, err)
	}
	owners := []string{c.ID()}
	if c.Works("DeleteUser") {
		gone := c.User().ID
		c.DeleteUser(gone)
		owners = append(owners, gone)
	}
	for _, owner := range owners {
		for _, k := range []kit.Call{kit.LinkAccount(c.NewAccount(owner)), kit.CreateSession(c.NewSession(owner)), kit.CreateAuthenticator(c.NewAuthenticator(owner))} {
			if !c.Works(k.Method) {
				continue
			}
			_, err := k.Do(c.Ctx, c.Adapter)
			missing(k.Method+" for an absent user", err)
		}
		if kit.SessionsMove(c) {
			s := c.Session(c.User().ID)
			_, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner)})
			missing("UpdateSession to an absent user", err)
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

// notTheLastUnderFaults deletes an authenticator, unless it is the user's last way to sign
// in, with a fault at each step. It never is the last: the user has other authenticators,
// or an account. judge gets the errors.
func notTheLastUnderFaults(c *kit.Context, judge func(what string, err error)) {
	if !c.Works("DeleteAuthenticator") {
		return
	}
	type beside struct {
		what string
		add  func(userID string)
		kind fault.Kind
	}
	var cases []beside
	add := func(what string, add func(userID string)) {
		for _, kind := range faulted.KindsFor(c, len(cases), 2, kit.Faults(c), []fault.Kind{fault.FailRequest, fault.Down, fault.Cut}) {
			cases = append(cases, beside{what, add, kind})
		}
	}
	add("other authenticators", func(userID string) { c.Authenticator(userID); c.Authenticator(userID) })
	if c.Works("LinkAccount") {
		add("an account", func(userID string) { c.Account(userID) })
	}
	kit.Each(c, cases, func(x beside) []string { return []string{x.what, faulted.KindName(x.kind)} }, func(x beside) bool {
		control := kit.Faults(c)
		for step := 1; step <= kit.MaxSteps; step++ {
			w := c.Authenticator(c.User().ID)
			x.add(w.UserID)
			in := faulted.Inject(c, control, x.kind, step)
			_, err := faulted.Bounded(c, faulted.LimitWith(x.kind), func(c *kit.Context) (any, error) {
				return kit.DeleteAuthenticator(w.UserID, w.CredentialID, true).Do(c.Ctx, c.Adapter)
			})
			hit := faulted.IsHit(in) || err != nil && faulted.WillBeHit(in)
			in.Release()
			faulted.Mend(c, control)
			what := fmt.Sprintf("DeleteAuthenticator that keeps one, of a user who has %s too, with %s at step %d",
				x.what, faulted.KindName(x.kind), step)
			judge(what, err)
			if err != nil && step == 1 && x.kind != fault.Cut && c.Works("GetAuthenticator") { // the store has got nothing
				if got, err := c.Observe(kit.Witness(c)).GetAuthenticator(c.Ctx, w.CredentialID); err == nil && got == nil {
					c.Errorf("%s: it failed, and the authenticator is gone", what)
				}
			}
			if !hit || c.Failed() {
				break
			}
		}
		return true
	})
}

// refusedValues writes texts that a store may refuse. Such a text is neither taken
// nor absent.
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
					c.Errorf("%s = %s, which no record has: the error matches %q: %v", p.Name, diff.Show(text),
						sentinel, err)
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
		_, err := c.Adapter.LinkAccount(c.Ctx, x)
		taken("LinkAccount of an account that another user has", err)
	}
	if c.Works("CreateSession") {
		s := c.Session(u.ID)
		_, err := c.Adapter.CreateSession(c.Ctx, s)
		taken("CreateSession once more", err)
	}
	if c.Works("CreateAuthenticator") {
		w := c.Authenticator(u.ID)
		_, err := c.Adapter.CreateAuthenticator(c.Ctx, w)
		taken("CreateAuthenticator once more", err)
	}
	if c.Works("UpdateUser") {
		other := c.User()
		update := kit.UserUpdate(c, other.ID, kit.UserFields)
		update.Email = adapter.To(u.Email)
		_, err := c.Adapter.UpdateUser(c.Ctx, update)
		taken("UpdateUser of all fields with a taken address", err)
		update.ID = c.ID()
		update.Email = adapter.To(c.NewUser().Email)
		_, err = c.Adapter.UpdateUser(c.Ctx, update)
		missing("UpdateUser of all fields of an absent user", err)
	}
}

// whatWasRefusedStaysFree is ERR-12. A write that asks for something free and
// something that it can't have is refused; then what was free is used.
func whatWasRefusedStaysFree(c *kit.Context) {
	try := func(what, method string, refused kit.Call, free ...kit.Call) {
		if !c.Works(method) {
			return
		}
		got, err := refused.Do(c.Ctx, c.Adapter)
		if err == nil {
			c.Notef("%s with %s was not refused", method, what)
			return
		}
		c.Fails(method+" with "+what, got, err)
		for _, k := range c.Working(free) {
			if got, err := k.Do(c.Ctx, c.Adapter); err != nil || kit.IsNilRecord(got) {
				c.Errorf("%s of what %s with %s asked for and did not get: got %s, error %v", k.Method, method, what,
					diff.Show(got), err)
			}
		}
	}
	a, nobody := c.User(), c.ID()
	fresh := func(email string) kit.Call {
		u := c.NewUser()
		u.ID, u.Email = c.ID(), email
		return kit.CreateUser(u)
	}
	twin := c.NewUser()
	twin.ID, twin.Email = c.ID(), a.Email
	other := c.NewUser()
	other.ID = twin.ID
	try("a taken address", "CreateUser", kit.CreateUser(twin), kit.CreateUser(other))
	if !kit.AssignsIDs(c) {
		same := c.NewUser()
		same.ID = a.ID
		try("a taken ID", "CreateUser", kit.CreateUser(same), fresh(same.Email))
	}
	update := kit.UserUpdate(c, nobody, kit.UserFields)
	email, _ := update.Email.Get()
	try("the ID of nobody", "UpdateUser", kit.UpdateUser(update), fresh(email))

	x, s, w := c.NewAccount(nobody), c.NewSession(nobody), c.NewAuthenticator(nobody)
	own, mine, key := x, s, w
	own.UserID, mine.UserID, key.UserID = a.ID, a.ID, a.ID
	try("an owner who is nobody", "LinkAccount", kit.LinkAccount(x), kit.LinkAccount(own))
	try("an owner who is nobody", "CreateSession", kit.CreateSession(s), kit.CreateSession(mine))
	try("an owner who is nobody", "CreateAuthenticator", kit.CreateAuthenticator(w), kit.CreateAuthenticator(key))
	ownerless, owned := kit.NewPassword(c, nobody), kit.NewPassword(c, a.ID)
	try("an owner who is nobody", "SetPassword", kit.SetPassword(ownerless), kit.SetPassword(owned))

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
		try("something taken", "CreateUserWithAccount", s.Call(), calls...)
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

// refusalsAreNoFailures is ERR-13. Writes of each kind are refused many times in a
// row; then other calls are made. What is refused over one connection is refused over
// each.
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
		kit.UpdateSession(adapter.SessionUpdate{SessionToken: k.Session.SessionToken, UserID: adapter.To(nobody)}),
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
			_, err := faulted.Bounded(c, faulted.OpenTime, func(c *kit.Context) (any, error) { return m.Do(c.Ctx, c.Adapter) })
			if errors.Is(err, context.DeadlineExceeded) {
				break // the normal calls show it
			}
		}
		_, err := faulted.Bounded(c, faulted.OpenTime, func(c *kit.Context) (any, error) { return nil, race.NormalCalls(c.Ctx, c, c.Adapter) })
		if err != nil {
			c.Errorf("after %d calls of %s that were refused: %v", times, m.Method, err)
			return
		}
	}
}
