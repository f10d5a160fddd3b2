package concurrency

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// machine makes calls in random order on a few records, through handles of one store, and makes the same calls of the
// model. If the results differ, rapid looks for the shortest sequence that still shows the difference.
type machine struct {
	c       *kit.Context
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

	// SessionsMove says that an update can give a session to another user.
	sessionsMove bool

	calls  []kit.MadeCall
	method string // of the last call
	wrong  string
}

// broken names the last call, and its rules.
func (m *machine) broken() string {
	switch method, known := kit.MethodNamed(m.method); {
	case known:
		return fmt.Sprintf("%s does not keep its rules (%s)", m.method, method.Rules)
	case m.method == cleanUp:
		return "the clean-up does not keep its rules (EXP-05, EXP-06)"
	default:
		return "the lookups of an empty store are wrong"
	}
}

// cleanUp is the name of the action that is not a method of every adapter.
const cleanUp = "the clean-up"

// rapidTB receives the reports of rapid. randomSequences keeps the differences.
type rapidTB struct {
	named  bool
	failed bool
}

// rapid calls Name before the search and, if the search found a difference, again before it writes a file. Name
// prevents that file, because the suite runs in the folders of other projects.
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

func newMachine(c *kit.Context, raw adapter.Adapter, handles []adapter.Adapter) *machine {
	m := &machine{c: c, raw: raw, handles: handles, model: model.New(), ids: []string{c.ID(), c.ID(), c.ID()}}
	for range 3 {
		m.emails = append(m.emails, c.NewUser().Email)
		m.sessions = append(m.sessions, c.NewSession("").SessionToken)
		m.credentials = append(m.credentials, c.NewAuthenticator("").CredentialID)
	}
	a, b := c.NewAccount("").Key(), c.NewAccount("").Key()
	m.pairs = []adapter.AccountKey{a, {Provider: a.Provider, ProviderAccountID: b.ProviderAccountID}, {Provider: b.Provider, ProviderAccountID: a.ProviderAccountID}}
	s, t := c.NewToken().Key(), c.NewToken().Key()
	m.tokens = []adapter.VerificationTokenKey{s, {Identifier: s.Identifier, Token: t.Token}, {Identifier: t.Identifier, Token: s.Token}}
	return m
}

// resemble makes some keys near misses of others, except addresses and what may be compared as they are.
func (m *machine) resemble(t *rapid.T) {
	near := func(key string) string {
		return pick(t, slices.DeleteFunc(kit.FreshNearMisses(key), kit.NearMiss.Refusable)).Value
	}
	m.sessions[2] = near(m.sessions[0])
	m.credentials[2] = near(m.credentials[0])
	m.pairs[1].ProviderAccountID = near(m.pairs[0].ProviderAccountID)
	m.pairs[2].Provider = near(m.pairs[0].Provider)
	m.tokens[1].Token = near(m.tokens[0].Token)
}

// addresses are those of new users: none, too, if the adapter keeps such users.
func (m *machine) addresses() []string {
	if of, ok := adapter.Capability[adapter.EmailRequirer](m.raw); ok && of.RequiresEmail() {
		return m.emails
	}
	return append(m.emails[:len(m.emails):len(m.emails)], "")
}

func pick[T any](t *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(t, "pick") }

// differ records a difference and ends the sequence. The text that rapid sees is always the same, because rapid
// treats failures with different texts as different ones.
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
func (m *machine) do(t *rapid.T, k kit.Call) (any, error) {
	a, through := m.handle(t)
	got, err := k.Do(m.c.Ctx, a)
	m.c.Trace.Returned(err)
	m.method = k.Method
	m.calls = append(m.calls, kit.MadeCall{Through: through, Method: k.Method, Args: k.Args, Result: got, Err: err})
	return got, err
}

// required says whether a call must return the record that the model returns.
type required bool

// same makes the call of the adapter and of the model, and compares the outcomes.
func (m *machine) same(t *rapid.T, k kit.Call, record required) {
	got, err := m.do(t, k)
	m.agree(t, k, got, err, record)
}

// agree compares the outcome of a call with the model's. A record that the adapter
// need not return is compared only if the adapter returned it.
func (m *machine) agree(t *rapid.T, k kit.Call, got any, err error, record required) {
	want, wantErr := k.Do(m.c.Ctx, m.model)
	switch {
	case wantErr != nil && err == nil:
		m.differ(t, "it succeeded, want an error like %q", wantErr)
	case wantErr == nil && err != nil:
		m.differ(t, "it failed: %v", err)
	case wantErr == nil && (bool(record) || !kit.IsNilRecord(got) || kit.IsNilRecord(want)):
		if d := m.c.Unlike(got, want); d != "" {
			m.differ(t, "%s", d)
		}
	}
}

// over reports whether a record with the expires may be absent. [SESS-20]
func (m *machine) over(expires time.Time) bool { return !expires.After(m.c.Now()) }

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
	// Users are listed in the order of their creation, which is the same whenever rapid repeats a sequence. The order
	// of random IDs is not.
	live := slices.DeleteFunc(slices.Clone(m.ids), func(id string) bool { _, ok := m.model.Users[id]; return !ok })
	if len(live) == 0 {
		t.SkipNow()
	}
	return live
}

// expires returns an instant to come, or sometimes one that has passed.
func (m *machine) expires(t *rapid.T) time.Time {
	after := []time.Duration{time.Hour, 2 * time.Hour, 40 * kit.Day}
	if rapid.IntRange(0, 5).Draw(t, "passed") == 5 {
		after = []time.Duration{-time.Hour, -40 * kit.Day, -60 * 365 * kit.Day}
	}
	return m.c.Instant(pick(t, after))
}

// change returns a change of a field: none, to a new value, to none, or to the value that is stored.
func change[T any](t *rapid.T, field string, fresh, none, stored T) adapter.Change[T] {
	changes := []adapter.Change[T]{{}, {}, adapter.To(fresh), adapter.To(none), adapter.To(stored)}
	return changes[rapid.IntRange(0, 4).Draw(t, field)]
}

// actions returns calls that the adapter supports. Each sequence leaves out some kinds of
// record and some of the other calls, so that it goes deep into the rest.
func (m *machine) actions(t *rapid.T) map[string]func(*rapid.T) {
	all := m.methods()
	without := map[kit.Kind]bool{}
	for _, k := range kit.RecordKinds[1:] {
		without[k.Kind] = rapid.Bool().Draw(t, "without")
	}
	fewer := rapid.Bool().Draw(t, "fewer calls")
	for _, name := range kit.SortedKeys(all) {
		method, _ := kit.MethodNamed(name)
		leftOut := fewer && method.Creator != "" && rapid.Bool().Draw(t, "left out")
		if !m.c.Works(name) || without[method.Kind] || leftOut {
			delete(all, name)
		}
	}
	if m.c.Has(kit.AbilitySweep) {
		all[cleanUp] = m.cleanUp
	}
	all["all lookups"] = m.compareAll
	return all
}

// begin creates some records, because most calls do little in an empty store.
func (m *machine) begin(t *rapid.T, actions map[string]func(*rapid.T)) {
	for _, kind := range append(kit.RecordKinds[:1:1], kit.RecordKinds...) {
		if create := actions[kind.Create]; create != nil && (kind.Kind == kit.UserRecord || rapid.Bool().Draw(t, "begin")) {
			create(t)
		}
	}
}

// cleanUp removes what has expired. It is repeated, because it may pass over what another clause's clean-up has locked.
func (m *machine) cleanUp(t *rapid.T) {
	by := m.c.Now().Add(-pick(t, []time.Duration{0, 0, 2 * time.Hour, 50 * kit.Day}))
	m.method = cleanUp
	m.calls = append(m.calls, kit.MadeCall{Method: cleanUp, Args: []any{by}})
	removed, _ := m.model.DeleteExpired(m.c.Ctx, by)
	const most = 6
	for try, again := int64(0), true; again && try < most; try++ {
		kit.Pause(m.c, time.Duration(try*try)*30*time.Millisecond)
		if err := kit.TrySweep(m.c, m.raw, by); err != nil {
			m.differ(t, "the clean-up failed: %v", err)
		}
		again = try < min(2, removed.VerificationTokens) || removed.Sessions > 0 && slices.ContainsFunc(m.sessions, func(token string) bool {
			found, _ := m.raw.GetSessionAndUser(m.c.Ctx, token)
			return found != nil && m.model.Sessions[token] == (adapter.Session{})
		})
	}
}

// compareAll makes every lookup of every key through one of the handles. It leaves out the sessions that may be absent.
func (m *machine) compareAll(t *rapid.T) {
	a, through := m.handle(t)
	m.calls = append(m.calls, kit.MadeCall{Through: through, Method: "all lookups"})
	look := kit.Keys{Users: m.ids, Emails: m.emails, Accounts: m.pairs, Credentials: m.credentials}
	for _, token := range m.sessions {
		if s, ok := m.model.Sessions[token]; !ok || !m.over(s.Expires) {
			look.Sessions = append(look.Sessions, token)
		}
	}
	got, err := kit.Snapshot(m.c.Ctx, m.c, a, look)
	if err != nil {
		m.differ(t, "%v", err)
	}
	want := faulted.SnapshotOfModel(m.c, m.model, look)
	for i := range want {
		got[i].Record, want[i].Record = m.withoutOver(got[i].Record), m.withoutOver(want[i].Record)
	}
	if d := kit.Differences(m.c, got, want); len(d) > 0 {
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
