package adaptertest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// machine makes calls in random order on a few records, through handles of one
// store, and makes the same calls of the model. If the results differ, rapid looks
// for the shortest sequence that still shows the difference.
type machine struct {
	c       *clauseContext
	raw     adapter.Adapter // the first handle, without its observer
	handles []adapter.Adapter
	model   *model.Model
	// There are few keys, so that several calls use the same one.
	ids         []string // of users that exist, are deleted or never exist
	emails      []string
	pairs       []adapter.AccountKey
	sessions    []string
	tokens      []adapter.VerificationTokenKey
	credentials []string

	// sessionsMove says that an update can give a session to another user.
	sessionsMove bool

	calls  []madeCall
	method string // of the last call
	wrong  string
}

// randomSequences compares the adapter, or with two handles both handles of one
// store, with the model over random sequences of calls of all methods that the adapter
// has. A sequence that differs is made shorter in a store opened afresh: what it needs
// of earlier sequences it lacks there.
func (c *clauseContext) randomSequences(handles int) {
	var found *machine
	raw, store := c.raw, c.handlesOf(c.raw, handles)
	move := c.sessionsMove()
	sequences, baseline := 0, fewestSequences
	before, again := 0, 0 // sequences before the one that differs, and those that differ after it
	search := c.span(machineTime)
	if handles > 1 {
		search = search / c.haste // the search through one handle takes its whole time
	}
	limit := time.Now().Add(search)
	property := func(t *rapid.T) {
		if sequences >= baseline && time.Now().After(limit) {
			return
		}
		sequences++
		m := newMachine(c, raw, store)
		m.sessionsMove = move
		if rapid.Bool().Draw(t, "keys resemble each other") {
			m.resemble(t)
		}
		defer func() {
			if m.wrong == "" {
				return
			}
			if found == nil {
				limit, baseline = time.Now().Add(shrinkTime), sequences+fewestShrinks
				before = sequences - 1
				raw = c.harness().New(c.tb)
				store = c.handlesOf(raw, handles)
			} else {
				again++
			}
			if found == nil || len(m.calls) <= len(found.calls) {
				found = m
			}
		}()
		actions := m.actions(t)
		m.begin(t, actions)
		t.Repeat(actions)
		m.compareAll(t)
	}
	for found == nil && (sequences < baseline || time.Now().Before(limit)) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			rapid.Check(&rapidTB{}, property)
		}()
		<-done
	}
	c.Notef("%d random sequences of calls", sequences)
	if found == nil {
		return
	}
	sequence := "the shortest sequence that was found"
	if again == 0 {
		sequence = fmt.Sprintf("and not after the same calls in a store opened afresh: the difference depends on what %d earlier sequences left behind, or on chance", before)
	}
	c.Fatalf("%s: %s; after these calls, %s:\n  %s", found.broken(), found.wrong, sequence, oneEachLine(found.calls))
}

// broken names the last call, and its rules.
func (m *machine) broken() string {
	switch method, known := methodNamed(m.method); {
	case known:
		return fmt.Sprintf("%s does not keep its rules (%s)", m.method, method.rules)
	case m.method == cleanUp:
		return "the clean-up does not keep its rules (EXP-05, EXP-06)"
	default:
		return "the lookups of an empty store are wrong"
	}
}

// cleanUp is the name of the action that is not a method of every adapter.
const cleanUp = "the clean-up"

// handlesOf returns one or two handles of the store that raw is opened on.
func (c *clauseContext) handlesOf(raw adapter.Adapter, n int) []adapter.Adapter {
	handles := []adapter.Adapter{c.observe(raw)}
	if n == 2 {
		handles = append(handles, c.observe(c.harness().Second(c.tb, raw)))
	}
	return handles
}

// rapidTB receives the reports of rapid. randomSequences keeps the differences.
type rapidTB struct {
	named  bool
	failed bool
}

// rapid calls Name before the search and, if the search found a difference,
// again before it writes a file. Name prevents that file, because the suite runs
// in the folders of other projects.
func (t *rapidTB) Name() string {
	if t.named {
		runtime.Goexit()
	}
	t.named = true
	return "adaptertest"
}

func (t *rapidTB) Helper()               {}
func (t *rapidTB) Logf(string, ...any)   {}
func (t *rapidTB) Log(...any)            {}
func (t *rapidTB) Skipf(string, ...any)  { runtime.Goexit() }
func (t *rapidTB) Skip(...any)           { runtime.Goexit() }
func (t *rapidTB) SkipNow()              { runtime.Goexit() }
func (t *rapidTB) Errorf(string, ...any) { t.failed = true }
func (t *rapidTB) Error(...any)          { t.failed = true }
func (t *rapidTB) Fatalf(string, ...any) { t.FailNow() }
func (t *rapidTB) Fatal(...any)          { t.FailNow() }
func (t *rapidTB) FailNow()              { t.failed = true; runtime.Goexit() }
func (t *rapidTB) Fail()                 { t.failed = true }
func (t *rapidTB) Failed() bool          { return t.failed }

func newMachine(c *clauseContext, raw adapter.Adapter, handles []adapter.Adapter) *machine {
	m := &machine{c: c, raw: raw, handles: handles, model: model.New(), ids: []string{c.id(), c.id(), c.id()}}
	for range 3 {
		m.emails = append(m.emails, c.newUser().Email)
		m.sessions = append(m.sessions, c.newSession("").SessionToken)
		m.credentials = append(m.credentials, c.newAuthenticator("").CredentialID)
	}
	a, b := c.newAccount("").Key(), c.newAccount("").Key()
	m.pairs = []adapter.AccountKey{a, {Provider: a.Provider, ProviderAccountID: b.ProviderAccountID}, {Provider: b.Provider, ProviderAccountID: a.ProviderAccountID}}
	s, t := c.newToken().Key(), c.newToken().Key()
	m.tokens = []adapter.VerificationTokenKey{s, {Identifier: s.Identifier, Token: t.Token}, {Identifier: t.Identifier, Token: s.Token}}
	return m
}

// resemble makes some keys near misses of others, except addresses and what may be compared
// as they are.
func (m *machine) resemble(t *rapid.T) {
	near := func(key string) string {
		return pick(t, slices.DeleteFunc(freshNearMisses(key), nearMiss.refusable)).value
	}
	m.sessions[2] = near(m.sessions[0])
	m.credentials[2] = near(m.credentials[0])
	m.pairs[1].ProviderAccountID = near(m.pairs[0].ProviderAccountID)
	m.pairs[2].Provider = near(m.pairs[0].Provider)
	m.tokens[1].Token = near(m.tokens[0].Token)
}

func pick[T any](t *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(t, "pick") }

// differ records a difference and ends the sequence. The text that rapid sees
// is always the same, because rapid treats failures with different texts as
// different ones.
func (m *machine) differ(t *rapid.T, format string, args ...any) {
	m.wrong = fmt.Sprintf(format, args...)
	t.Fatalf("the adapter differs from the contract")
}

// handle returns one of the handles, and a text that names it if there are several.
func (m *machine) handle(t *rapid.T) (a adapter.Adapter, through string) {
	if len(m.handles) == 1 {
		return m.handles[0], ""
	}
	n := rapid.IntRange(0, len(m.handles)-1).Draw(t, "handle")
	return m.handles[n], fmt.Sprintf("handle %d: ", n+1)
}

// do makes the call through one of the handles.
func (m *machine) do(t *rapid.T, k call) (any, error) {
	a, through := m.handle(t)
	got, err := k.do(m.c.ctx, a)
	m.method = k.method
	m.calls = append(m.calls, madeCall{through: through, method: k.method, args: k.args, result: got, err: err})
	return got, err
}

// required says whether a call must return the record that the model returns.
type required bool

// same makes the call of the adapter and of the model, and compares the outcomes.
func (m *machine) same(t *rapid.T, k call, record required) {
	got, err := m.do(t, k)
	m.agree(t, k, got, err, record)
}

// agree compares the outcome of a call with the model's. A record that the adapter
// need not return is compared only if the adapter returned it.
func (m *machine) agree(t *rapid.T, k call, got any, err error, record required) {
	want, wantErr := k.do(m.c.ctx, m.model)
	switch {
	case wantErr != nil && err == nil:
		m.differ(t, "it succeeded, want an error like %q", wantErr)
	case wantErr == nil && err != nil:
		m.differ(t, "it failed: %v", err)
	case wantErr == nil && (bool(record) || !isNilRecord(got) || isNilRecord(want)):
		if d := m.c.unlike(got, want); d != "" {
			m.differ(t, "%s", d)
		}
	}
}

// over reports whether a record with the expires may be absent. [SESS-20]
func (m *machine) over(expires time.Time) bool { return !expires.After(m.c.now()) }

// countOver counts the records that may be absent.
func countOver[K comparable, R any](m *machine, records map[K]R, expires func(R) time.Time) (n int64) {
	for _, r := range records {
		if m.over(expires(r)) {
			n++
		}
	}
	return n
}

// live returns the IDs of the users that exist, or ends the action.
func (m *machine) live(t *rapid.T) []string {
	// Users are listed in the order of their creation, which is the same
	// whenever rapid repeats a sequence. The order of random IDs is not.
	var live []string
	for _, id := range m.ids {
		if _, ok := m.model.Users[id]; ok {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		t.SkipNow()
	}
	return live
}

// expires returns an instant to come, or sometimes one that has passed.
func (m *machine) expires(t *rapid.T) time.Time {
	after := []time.Duration{time.Hour, 2 * time.Hour, 40 * day}
	if rapid.IntRange(0, 5).Draw(t, "passed") == 5 {
		after = []time.Duration{-time.Hour, -40 * day, -60 * 365 * day}
	}
	return m.c.instant(pick(t, after))
}

// change returns a change of a field: none, to a new value, to none, or to the value
// that is stored.
func change[T any](t *rapid.T, field string, fresh, none, stored T) adapter.Change[T] {
	switch rapid.IntRange(0, 4).Draw(t, field) {
	case 0, 1:
		return adapter.Change[T]{}
	case 2:
		return adapter.To(fresh)
	case 3:
		return adapter.To(none)
	default:
		return adapter.To(stored)
	}
}

// actions returns calls that the adapter supports. Each sequence leaves out some kinds of
// record and some of the other calls, so that it goes deep into the rest.
func (m *machine) actions(t *rapid.T) map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for _, of := range []map[string]func(*rapid.T){m.userActions(), m.accountActions(), m.sessionActions(), m.tokenActions(), m.authenticatorActions()} {
		maps.Copy(all, of)
	}
	without := map[Kind]bool{}
	for _, k := range recordKinds[1:] {
		without[k.kind] = rapid.Bool().Draw(t, "without")
	}
	fewer := rapid.Bool().Draw(t, "fewer calls")
	for _, name := range sortedKeys(all) {
		method, _ := methodNamed(name)
		leftOut := fewer && method.creator != "" && rapid.Bool().Draw(t, "left out")
		if !m.c.works(name) || without[method.kind] || leftOut {
			delete(all, name)
		}
	}
	if m.c.has(abilitySweep) {
		all[cleanUp] = m.cleanUp
	}
	all["all lookups"] = m.compareAll
	return all
}

// begin creates some records, because most calls do little in an empty store.
func (m *machine) begin(t *rapid.T, actions map[string]func(*rapid.T)) {
	for _, kind := range append(recordKinds[:1:1], recordKinds...) {
		if create := actions[kind.create]; create != nil && (kind.kind == UserRecord || rapid.Bool().Draw(t, "begin")) {
			create(t)
		}
	}
}

// cleanUp removes what has expired, by now or by an earlier instant.
func (m *machine) cleanUp(t *rapid.T) {
	by := m.c.now().Add(-pick(t, []time.Duration{0, 0, 2 * time.Hour, 50 * day}))
	m.method = cleanUp
	m.calls = append(m.calls, madeCall{method: cleanUp, args: []any{by}})
	if err := m.c.trySweep(m.raw, by); err != nil {
		m.differ(t, "the clean-up failed: %v", err)
	}
	_, _ = m.model.DeleteExpired(m.c.ctx, by)
}

// compareAll makes every lookup of every key through one of the handles. It leaves out
// the sessions that may be absent.
func (m *machine) compareAll(t *rapid.T) {
	a, through := m.handle(t)
	m.calls = append(m.calls, madeCall{through: through, method: "all lookups"})
	look := keys{users: m.ids, emails: m.emails, accounts: m.pairs, credentials: m.credentials}
	for _, token := range m.sessions {
		if s, ok := m.model.Sessions[token]; !ok || !m.over(s.Expires) {
			look.sessions = append(look.sessions, token)
		}
	}
	got, err := m.c.snapshot(m.c.ctx, a, look)
	if err != nil {
		m.differ(t, "%v", err)
	}
	want := m.c.snapshotOfModel(m.model, look)
	for i := range want {
		got[i].record, want[i].record = m.withoutOver(got[i].record), m.withoutOver(want[i].record)
	}
	if d := m.c.differences(got, want); len(d) > 0 {
		m.differ(t, "%s", strings.Join(d, "; "))
	}
}

// withoutOver leaves out of a list the sessions that may be absent.
func (m *machine) withoutOver(record any) any {
	list, ok := record.([]adapter.Session)
	if !ok {
		return record
	}
	return slices.DeleteFunc(slices.Clone(list), func(s adapter.Session) bool { return m.over(s.Expires) })
}
