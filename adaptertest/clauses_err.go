package adaptertest

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
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ERR judges its own calls. It runs last, so it also judges the calls of all
// other clauses.
var errClauses = []check{
	{id: "ERR-01", words: "failure-is-not-absent", run: failureIsNotAbsent},
	{id: "ERR-02", words: "nil-error-means-written", run: nilErrorMeansWritten},
	{id: "ERR-03", words: "absent-is-nil", alone: true, run: func(c *clauseContext) {
		residents := c.residents(1)
		for _, k := range c.keyed() {
			if k.unknown == refusal {
				continue
			}
			unknown := make([]string, len(k.parts))
			for i, part := range k.parts {
				unknown[i] = c.unique(part)
				if part == "user id" {
					unknown[i] = c.id()
				}
			}
			c.misses(k, unknown)
			if key, ok := residents[0].key(k); ok && len(key) == 2 {
				for i := range key {
					c.misses(k, with(key, i, unknown[i]))
				}
			}
		}
		c.intact(residents)
		seen := map[string]bool{}
		for _, o := range c.run.showing(func(o observation) bool { return o.emptyRecord }) {
			if key := o.method + o.clause; !seen[key] {
				seen[key] = true
				c.Errorf("%s returned an empty record during %s, want nil", o.method, o.clause)
			}
		}
	}},
	{id: "ERR-04", words: "errors-wrap-their-cause", needs: []ability{abilityFaults}, alone: true, run: func(c *clauseContext) {
		c.failing(func(what string, err error) {
			if !wrapsCause(err) {
				c.Errorf("%s: the error %q (%T) has no cause that errors.Is or errors.As could find", what, err, err)
			}
		})
	}},
	{id: "ERR-05", words: "conflicts-match-one-sentinel", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		conflicts := c.conflicts()
		if len(conflicts) == 0 {
			c.notApplicable("the adapter keeps nothing unique")
		}
		for _, x := range conflicts {
			if _, err := x.do(); err != nil && !errors.Is(err, adapter.ErrConflict) {
				c.Errorf("%s with %s: the error does not match ErrConflict: %v", x.method, x.what, err)
			}
		}
		if c.works("CreateVerificationToken") {
			t := c.token() // a second one may replace it [VTOK-10]
			if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil && !errors.Is(err, adapter.ErrConflict) {
				c.Errorf("CreateVerificationToken with a pending pair: the error does not match ErrConflict: %v", err)
			}
		}
	}},
	{id: "ERR-06", words: "unknown-keys-match-one-sentinel", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		unknowns := c.unknowns()
		if len(unknowns) == 0 {
			c.notApplicable("the adapter updates neither users nor authenticators")
		}
		for _, x := range unknowns {
			if _, err := x.do(); err != nil && !errors.Is(err, adapter.ErrNotFound) {
				c.Errorf("%s of %s: the error does not match ErrNotFound: %v", x.method, x.what, err)
			}
		}
	}},
	{id: "ERR-07", words: "error-comes-without-record", alone: true, run: func(c *clauseContext) {
		for _, x := range append(c.conflicts(), c.unknowns()...) {
			_, _ = x.do()
		}
		cancelled, cancel := context.WithCancel(c.ctx)
		cancel()
		live := c.ctx
		c.ctx = cancelled
		for _, k := range c.keyed() {
			_, _ = k.call(c, c.a, make([]string, len(k.parts)))
		}
		c.ctx = live
		if c.has(abilityFaults) {
			c.failing(func(string, error) {})
		}
		seen := map[string]bool{}
		for _, o := range c.run.showing(func(o observation) bool { return o.recordWithError }) {
			if key := o.method + o.clause; !seen[key] {
				seen[key] = true
				c.Errorf("%s returned a record together with an error during %s: %v", o.method, o.clause, o.err)
			}
		}
	}},
	{id: "ERR-08", words: "errors-hold-no-secrets", alone: true, run: func(c *clauseContext) {
		for _, x := range append(c.conflicts(), c.unknowns()...) {
			_, _ = x.do()
		}
		if c.works("CreateVerificationToken") {
			t := c.token()
			_, _ = c.a.CreateVerificationToken(c.ctx, t)
		}
		c.ownerless()
		if c.has(abilityFaults) {
			c.failing(func(string, error) {})
		}
		search := c.run.secretsIn()
		seen := map[string]bool{}
		for _, o := range c.run.showing(func(o observation) bool { return o.err != nil }) {
			if found := search(o.err.Error()); found != "" && !seen[o.method] {
				seen[o.method] = true
				c.Errorf("the error of %s during %s contains the secret %s: %v", o.method, o.clause, diff.Show(found), o.err)
			}
		}
	}},
	{id: "ERR-09", words: "conflict-is-not-failure", needs: []ability{abilityFaults}, alone: true, run: func(c *clauseContext) {
		c.failing(func(what string, err error) {
			if errors.Is(err, adapter.ErrConflict) {
				c.Errorf("%s: the error of a store that can't be reached matches ErrConflict: %v", what, err)
			}
		})
	}},
	{id: "ERR-10", words: "undecodable-is-an-error", needs: []ability{abilityCorrupt}, run: undecodableIsAnError},
	{id: "ERR-11", words: "errors-match-their-kind-only", alone: true, run: errorsMatchTheirKind},
	{id: "ERR-12", words: "what-was-refused-stays-free", requires: []string{"CreateUser", "GetUser"}, run: whatWasRefusedStaysFree},
	{id: "ERR-13", words: "refusals-are-no-failures", requires: []string{"CreateUser"}, run: refusalsAreNoFailures},
}

// failureIsNotAbsent is ERR-01.
func failureIsNotAbsent(c *clauseContext) {
	if !c.has(abilityFaults) && !c.has(abilityClose) {
		c.notVerified("the harness has neither %s nor %s", abilityFaults, abilityClose)
	}
	b := c.residents(1)[0]
	lookups := c.lookups()
	if c.has(abilityFaults) {
		type faultedLookup struct {
			keyed
			key    []string
			before any
			kind   fault.Kind
		}
		var cases []faultedLookup
		for turn, k := range lookups {
			key, ok := b.key(k)
			if !ok {
				continue
			}
			before, err := k.call(c, c.a, key)
			if err != nil || before == nil {
				c.Errorf("%s(%s): got %s, %v, want the record", k.method, showKey(key), diff.Show(before), err)
				continue
			}
			kinds := []fault.Kind{fault.FailRequest, fault.Down, fault.CutReply, fault.Cut, fault.LoseReply}
			if k.method == "UseVerificationToken" {
				kinds = kinds[:2] // after a lost reply the token may be used: FAULT-07 judges that
			}
			for _, kind := range c.kindsFor(turn, len(lookups), c.faults(), kinds) {
				cases = append(cases, faultedLookup{k, key, before, kind})
			}
		}
		each(c, cases, func(x faultedLookup) []string { return []string{x.method, kindName(x.kind)} }, func(x faultedLookup) bool {
			uses := x.method == "UseVerificationToken"
			c.eachStep(x.method, x.kind, func() {
				if uses {
					token := c.token()
					x.key = []string{token.Identifier, token.Token}
				}
			}, func(what string) error {
				got, err := c.bounded(limitWith(x.kind), func(c *clauseContext) (any, error) { return x.call(c, c.a, x.key) })
				switch {
				case err != nil:
				case got == nil:
					c.Errorf("%s of a stored record reports absent when %s", x.method, what)
				case !uses:
					c.same(x.method+" when "+what, got, x.before)
				}
				return err
			})
			return true
		})
	}
	if c.has(abilityClose) {
		c.uninvolvedGone = true
		key := map[string][]string{}
		for _, k := range lookups {
			if parts, ok := b.key(k); ok {
				key[k.method] = parts
			}
		}
		if t := key["UseVerificationToken"]; t != nil {
			token := c.token()
			key["UseVerificationToken"] = []string{token.Identifier, token.Token}
		}
		if err := c.harness().Close(c.raw); err != nil {
			c.Errorf("Close: %v", err)
		}
		for _, k := range lookups {
			if key[k.method] == nil {
				continue
			}
			if got, err := c.bounded(callTime, func(c *clauseContext) (any, error) { return k.call(c, c.a, key[k.method]) }); err == nil && got == nil {
				c.Errorf("%s of a stored record reports absent after Close", k.method)
			}
		}
	}
}

// nilErrorMeansWritten is ERR-02.
func nilErrorMeansWritten(c *clauseContext) {
	type faultedWrite struct {
		write
		kind fault.Kind
	}
	var cases []faultedWrite
	writes := c.writes()
	for turn, w := range writes {
		change, missing := w.prepare(c)
		if _, err := change.do(c.ctx, c.a); err != nil {
			c.Errorf("%s: %v", w.method, err)
		} else if m := missing(); m != "" {
			c.Errorf("%s succeeded, and is not there: %s", w.method, m)
		}
		if !c.has(abilityFaults) {
			continue
		}
		kinds := []fault.Kind{fault.FailRequest, fault.Down, fault.Cut}
		for _, kind := range c.kindsFor(turn, len(writes), c.faults(), kinds) {
			cases = append(cases, faultedWrite{w, kind})
		}
	}
	each(c, cases, func(x faultedWrite) []string { return []string{x.method, kindName(x.kind)} }, func(x faultedWrite) bool {
		var change call
		var missing func() string
		c.eachStep(x.method, x.kind, func() { change, missing = x.prepare(c) }, func(what string) error {
			_, err := c.bounded(limitWith(x.kind), func(c *clauseContext) (any, error) { return change.do(c.ctx, c.a) })
			if err != nil {
				return err
			}
			c.heal()
			if m := missing(); m != "" {
				c.Errorf("%s succeeded when %s, and is not there: %s", x.method, what, m)
			}
			return nil
		})
		return true
	})
	for _, problem := range c.ownerless() {
		c.Errorf("%s", problem)
	}
	for _, x := range append(c.conflicts(), c.unknowns()...) {
		if got, err := x.do(); err == nil && got != nil {
			if m := x.missing(); m != "" {
				c.Errorf("%s with %s succeeded, and is not there: %s", x.method, x.what, m)
			}
		}
	}
}

// ownerless creates records of an unknown user. It names those that were
// created without an error and are absent.
func (c *clauseContext) ownerless() (problems []string) {
	nobody := c.id()
	if c.stores(AccountRecord) {
		a := c.newAccount(nobody)
		if _, err := c.a.LinkAccount(c.ctx, a); err == nil && c.getAccount(a.Key()) == nil {
			problems = append(problems, "LinkAccount for an unknown user succeeded, and the account is absent")
		}
	}
	if c.stores(AuthenticatorRecord) {
		w := c.newAuthenticator(nobody)
		if _, err := c.a.CreateAuthenticator(c.ctx, w); err == nil && c.getAuthenticator(w.CredentialID) == nil {
			problems = append(problems, "CreateAuthenticator for an unknown user succeeded, and the authenticator is absent")
		}
	}
	if c.works("CreateSession") {
		s := c.newSession(nobody) // a session without a user is absent in any case [SESS-22]
		_, err := c.a.CreateSession(c.ctx, s)
		if inspect := c.harness().Inspect; err == nil && inspect != nil {
			if there, err := inspect(c.ctx, c.raw, Record{Kind: SessionRecord, Key: s.SessionToken}); err == nil && !there {
				problems = append(problems, "CreateSession for an unknown user succeeded, and the store holds no session")
			}
		}
	}
	return problems
}

// undecodableIsAnError is ERR-10.
func undecodableIsAnError(c *clauseContext) {
	b := c.residents(1)[0]
	b.check(c, c.raw)
	token := adapter.VerificationToken{}
	if c.works("CreateVerificationToken") {
		token = c.token()
	}
	corrupted := 0
	for _, r := range []struct {
		record  Record
		methods []string
		key     []string
	}{
		{Record{Kind: UserRecord, Key: b.id}, []string{"GetUser"}, []string{b.id}},
		{Record{Kind: AccountRecord, Account: b.accountKey}, []string{"GetAccount"}, []string{b.accountKey.Provider, b.accountKey.ProviderAccountID}},
		{Record{Kind: SessionRecord, Key: b.sessionToken}, []string{"GetSessionAndUser"}, []string{b.sessionToken}},
		{Record{Kind: AuthenticatorRecord, Key: b.credentialID}, []string{"GetAuthenticator"}, []string{b.credentialID}},
		{Record{Kind: VerificationTokenRecord, Token: token.Key()}, []string{"UseVerificationToken"}, []string{token.Identifier, token.Token}},
	} {
		if r.key[0] == "" || !c.works(r.methods[0]) {
			continue
		}
		repair := c.harness().Corrupt(c.tb, c.raw, r.record)
		if repair == nil {
			continue
		}
		corrupted++
		for _, k := range c.lookups() {
			if k.method != r.methods[0] {
				continue
			}
			for range 2 { // the second lookup notices if the first one deletes the record
				if got, err := k.call(c, c.a, r.key); err == nil {
					c.Errorf("%s of a %s that can't be decoded: got %s, want an error", k.method, r.record.Kind, diff.Show(got))
				}
				if r.record.Kind == VerificationTokenRecord {
					break // the use of a token deletes it, even if it can't be read
				}
			}
			repair()
			if r.record.Kind == VerificationTokenRecord {
				continue
			}
			if got, err := k.call(c, c.a, r.key); err != nil || got == nil {
				c.Errorf("%s of the %s made whole again: got %s, %v, want the record", k.method, r.record.Kind, diff.Show(got), err)
			}
		}
	}
	if corrupted == 0 {
		c.notVerified("the harness can't corrupt any record")
	}
	after := *b
	after.token = nil
	after.check(c, c.raw)
}

// eachStep calls prepare without a fault and then call, which calls the method,
// with one at the first step, the second and so on (inTurn), until a call ends
// without the fault.
func (c *clauseContext) eachStep(method string, kind fault.Kind, prepare func(), call func(what string) error) {
	control := c.faults()
	steps := maxSteps
	if kind == fault.Down {
		steps = 1 // one step is enough, because drivers wait for a store that is down
	}
	var errs []failure
	inTurn(c, steps, func(step int) (hit bool) {
		what := fmt.Sprintf("step %d of the call meets %s", step, kindName(kind))
		prepare()
		in := c.inject(control, kind, step)
		err := call(what)
		hit = isHit(in) || err != nil && willBeHit(in)
		c.heal()
		if hit {
			errs = append(errs, failure{method + " when " + what, err})
		}
		return hit
	})
	if !c.failed() {
		c.run.metFault(method, kind, errs)
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

// showing returns the observations of the run that keep accepts.
func (r *run) showing(keep func(observation) bool) []observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []observation
	for _, o := range r.observations {
		if keep(o) {
			found = append(found, o)
		}
	}
	return found
}

// secretsIn returns a function that searches a text for the secrets of the
// run. It searches for the unique part of each string, so that quoting and
// cutting don't hide a secret.
func (r *run) secretsIn() func(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	unique := regexp.MustCompile(regexp.QuoteMeta(r.nonce) + `-[A-Z]+-\d+-\d+`)
	secrets := map[string]string{}
	var others []string
	for _, s := range r.secrets {
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
func errorsMatchTheirKind(c *clauseContext) {
	taken := func(what string, err error) {
		if err == nil {
			return // other clauses judge whether the call must fail
		}
		if !errors.Is(err, adapter.ErrConflict) {
			c.Errorf("%s: the error does not match ErrConflict: %v", what, err)
		}
		if errors.Is(err, adapter.ErrNotFound) {
			c.Errorf("%s: the error matches ErrNotFound: %v", what, err)
		}
	}
	missing := func(what string, err error) {
		if err == nil {
			return
		}
		if !errors.Is(err, adapter.ErrNotFound) {
			c.Errorf("%s: the error does not match ErrNotFound: %v", what, err)
		}
		if errors.Is(err, adapter.ErrConflict) {
			c.Errorf("%s: the error matches ErrConflict: %v", what, err)
		}
	}
	for _, x := range c.conflicts() {
		_, err := x.do()
		taken(x.method+" with "+x.what, err)
	}
	for _, x := range c.unknowns() {
		_, err := x.do()
		missing(x.method+" of "+x.what, err)
	}
	owners := []string{c.id()}
	if c.works("DeleteUser") {
		gone := c.user().ID
		c.deleteUser(gone)
		owners = append(owners, gone)
	}
	for _, owner := range owners {
		for _, k := range []call{linkAccount(c.newAccount(owner)), createSession(c.newSession(owner)), createAuthenticator(c.newAuthenticator(owner))} {
			if !c.works(k.method) {
				continue
			}
			_, err := k.do(c.ctx, c.a)
			missing(k.method+" for an absent user", err)
		}
		if c.sessionsMove() {
			s := c.session(c.user().ID)
			_, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner)})
			missing("UpdateSession to an absent user", err)
		}
	}
	c.ownerAndKey(taken, missing)
	c.refusedValues()
	if c.faults() == nil {
		c.Notef("no fault was injected: the harness has no %s", abilityFaults)
		return
	}
	judge := func(what string, err error) {
		for _, sentinel := range []error{adapter.ErrConflict, adapter.ErrNotFound, adapter.ErrLastCredential, adapter.ErrUnsupported} {
			if errors.Is(err, sentinel) {
				c.Errorf("%s: the store failed, and the error matches %q", what, sentinel)
			}
		}
	}
	c.notTheLastUnderFaults(judge)
	met := c.run.faultsMet() // in earlier clauses
	for _, errs := range met {
		for _, x := range errs {
			judge(x.what, x.err)
		}
	}
	known := func(method string, kind fault.Kind) bool { _, ok := met[faultOf{method, kind}]; return ok }
	c.faultsExcept(known, breakingFaults, slices.Concat(visibleWrites, lookups), func(x faulted) { judge(x.String(), x.err) })
}

// notTheLastUnderFaults deletes an authenticator, unless it is the user's last way to sign
// in, with a fault at each step. It never is the last: the user has other authenticators,
// or an account. judge gets the errors.
func (c *clauseContext) notTheLastUnderFaults(judge func(what string, err error)) {
	if !c.works("DeleteAuthenticator") {
		return
	}
	type beside struct {
		what string
		add  func(userID string)
		kind fault.Kind
	}
	var cases []beside
	add := func(what string, add func(userID string)) {
		for _, kind := range c.kindsFor(len(cases), 2, c.faults(), []fault.Kind{fault.FailRequest, fault.Down, fault.Cut}) {
			cases = append(cases, beside{what, add, kind})
		}
	}
	add("other authenticators", func(userID string) { c.authenticator(userID); c.authenticator(userID) })
	if c.works("LinkAccount") {
		add("an account", func(userID string) { c.account(userID) })
	}
	each(c, cases, func(x beside) []string { return []string{x.what, kindName(x.kind)} }, func(x beside) bool {
		control := c.faults()
		for step := 1; step <= maxSteps; step++ {
			w := c.authenticator(c.user().ID)
			x.add(w.UserID)
			in := c.inject(control, x.kind, step)
			_, err := c.bounded(limitWith(x.kind), func(c *clauseContext) (any, error) {
				return deleteAuthenticator(w.UserID, w.CredentialID, true).do(c.ctx, c.a)
			})
			hit := isHit(in) || err != nil && willBeHit(in)
			in.Release()
			c.mend(control)
			what := fmt.Sprintf("DeleteAuthenticator that keeps one, of a user who has %s too, with %s at step %d", x.what, kindName(x.kind), step)
			judge(what, err)
			if err != nil && step == 1 && x.kind != fault.Cut && c.works("GetAuthenticator") { // the store has got nothing
				if got, err := c.observe(c.witness()).GetAuthenticator(c.ctx, w.CredentialID); err == nil && got == nil {
					c.Errorf("%s: it failed, and the authenticator is gone", what)
				}
			}
			if !hit || c.failed() {
				break
			}
		}
		return true
	})
}

// refusedValues writes texts that a store may refuse. Such a text is neither taken
// nor absent.
func (c *clauseContext) refusedValues() {
	owner := c.owner()
	for _, p := range textFields {
		if slices.ContainsFunc(p.methods, c.lacks) {
			continue
		}
		for _, text := range []string{"\x00", "\xff", strings.Repeat("x", 100_000)} {
			_, err := p.put(c, owner, c.unique("x")+text)
			for _, sentinel := range []error{adapter.ErrConflict, adapter.ErrNotFound} {
				if errors.Is(err, sentinel) {
					c.Errorf("%s = %s, which no record has: the error matches %q: %v", p.name, diff.Show(text), sentinel, err)
				}
			}
		}
	}
}

// ownerAndKey makes writes that collide with a record of the same user, whose
// error is about the key and about nothing else.
func (c *clauseContext) ownerAndKey(taken, missing func(what string, err error)) {
	if !c.works("CreateUser") {
		return
	}
	u := c.user()
	if c.works("LinkAccount") {
		x := c.account(u.ID)
		x.UserID = c.user().ID
		_, err := c.a.LinkAccount(c.ctx, x)
		taken("LinkAccount of an account that another user has", err)
	}
	if c.works("CreateSession") {
		s := c.session(u.ID)
		_, err := c.a.CreateSession(c.ctx, s)
		taken("CreateSession once more", err)
	}
	if c.works("CreateAuthenticator") {
		w := c.authenticator(u.ID)
		_, err := c.a.CreateAuthenticator(c.ctx, w)
		taken("CreateAuthenticator once more", err)
	}
	if c.works("UpdateUser") {
		other := c.user()
		update := c.userUpdate(other.ID, userFields)
		update.Email = adapter.To(u.Email)
		_, err := c.a.UpdateUser(c.ctx, update)
		taken("UpdateUser of all fields with a taken address", err)
		update.ID = c.id()
		update.Email = adapter.To(c.newUser().Email)
		_, err = c.a.UpdateUser(c.ctx, update)
		missing("UpdateUser of all fields of an absent user", err)
	}
}

// whatWasRefusedStaysFree is ERR-12. A write that asks for something free and
// something that it can't have is refused; then what was free is used.
func whatWasRefusedStaysFree(c *clauseContext) {
	try := func(what, method string, refused call, free ...call) {
		if !c.works(method) {
			return
		}
		got, err := refused.do(c.ctx, c.a)
		if err == nil {
			c.Notef("%s with %s was not refused", method, what)
			return
		}
		c.fails(method+" with "+what, got, err)
		for _, k := range c.working(free) {
			if got, err := k.do(c.ctx, c.a); err != nil || isNilRecord(got) {
				c.Errorf("%s of what %s with %s asked for and did not get: got %s, error %v", k.method, method, what, diff.Show(got), err)
			}
		}
	}
	a, nobody := c.user(), c.id()
	fresh := func(email string) call {
		u := c.newUser()
		u.ID, u.Email = c.id(), email
		return createUser(u)
	}
	twin := c.newUser()
	twin.ID, twin.Email = c.id(), a.Email
	other := c.newUser()
	other.ID = twin.ID
	try("a taken address", "CreateUser", createUser(twin), createUser(other))
	if !c.assignsIDs() {
		same := c.newUser()
		same.ID = a.ID
		try("a taken ID", "CreateUser", createUser(same), fresh(same.Email))
	}
	update := c.userUpdate(nobody, userFields)
	email, _ := update.Email.Get()
	try("the ID of nobody", "UpdateUser", updateUser(update), fresh(email))

	x, s, w := c.newAccount(nobody), c.newSession(nobody), c.newAuthenticator(nobody)
	own, mine, key := x, s, w
	own.UserID, mine.UserID, key.UserID = a.ID, a.ID, a.ID
	try("an owner who is nobody", "LinkAccount", linkAccount(x), linkAccount(own))
	try("an owner who is nobody", "CreateSession", createSession(s), createSession(mine))
	try("an owner who is nobody", "CreateAuthenticator", createAuthenticator(w), createAuthenticator(key))

	if !c.works("CreateUserWithAccount") {
		return
	}
	half := func(taken func(s *signUp)) {
		s := c.newSignUp()
		free := s
		taken(&s)
		var calls []call
		if s.user.Email == free.user.Email {
			calls = append(calls, fresh(free.user.Email))
		}
		if s.account.Key() == free.account.Key() {
			free.account.UserID = a.ID
			calls = append(calls, linkAccount(free.account))
		}
		if s.authenticator.CredentialID == free.authenticator.CredentialID {
			free.authenticator.UserID = a.ID
			calls = append(calls, createAuthenticator(free.authenticator))
		}
		try("something taken", "CreateUserWithAccount", s.call(), calls...)
		c.same("a user after a refused sign-up", c.getUser(a.ID), a)
	}
	half(func(s *signUp) { s.user.Email = a.Email })
	if !c.assignsIDs() {
		half(func(s *signUp) { s.user.ID = a.ID })
	}
	if c.stores(AccountRecord) {
		taken := c.account(a.ID)
		half(func(s *signUp) {
			s.account.Provider, s.account.ProviderAccountID = taken.Provider, taken.ProviderAccountID
		})
	}
	if c.stores(AuthenticatorRecord) {
		taken := c.authenticator(a.ID)
		half(func(s *signUp) { s.authenticator.CredentialID = taken.CredentialID })
	}
}

// refusalsAreNoFailures is ERR-13. Writes of each kind are refused many times in a
// row; then other calls are made. What is refused over one connection is refused over
// each.
func refusalsAreNoFailures(c *clauseContext) {
	before := c.refusals()
	start := time.Now()
	for n := 0; !c.failed() && (n == 0 || n < c.rounds(overConnections) && !c.raceIsOver(n, time.Since(start), raceLimit)); n++ {
		c.refusesStill("several calls at once", before)
	}
	if c.failed() {
		return
	}
	const times = 30 // more than a pool has connections, or a circuit breaker forgives
	k, nobody := c.newFixture(c.a), c.id()
	taken := c.newSignUp()
	taken.user.Email = k.user.Email
	refused := []call{
		createUser(k.user), linkAccount(k.account), createSession(k.session), createAuthenticator(k.authenticator), taken.call(),
		linkAccount(c.newAccount(nobody)), createSession(c.newSession(nobody)), createAuthenticator(c.newAuthenticator(nobody)),
		updateUser(c.userUpdate(nobody, userFields)), updateCounter(c.unique("credential"), 9),
		updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, UserID: adapter.To(nobody)}),
		updateAccount(c.accountUpdate(c.newAccount(nobody).Key(), accountFields)),
		touchAuthenticator(c.unique("credential"), 1, 2, c.instant(0)),
	}
	if c.works("DeleteAuthenticator") {
		w := c.authenticator(c.user().ID)
		refused = append(refused, deleteAuthenticator(w.UserID, w.CredentialID, true))
	}
	for _, m := range c.working(refused) {
		for range times {
			_, err := c.bounded(openTime, func(c *clauseContext) (any, error) { return m.do(c.ctx, c.a) })
			if errors.Is(err, context.DeadlineExceeded) {
				break // the normal calls show it
			}
		}
		_, err := c.bounded(openTime, func(c *clauseContext) (any, error) { return nil, c.normalCalls(c.ctx, c.a) })
		if err != nil {
			c.Errorf("after %d calls of %s that were refused: %v", times, m.method, err)
			return
		}
	}
}
