package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/sessions"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/sessionstore"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// SessionStore is a store of opaque sessions, as session managers use it. A token names a session, whose bytes
// the store does not read. An author writes a shim with these methods over the store: one without contexts leaves
// them out, one that takes seconds or a duration in place of an instant converts it.
//
// A store may also have the methods of SessionInserter, SessionUpdater,
// SessionIterator, SessionSweeper and SessionsOfUsers.
type SessionStore interface {
	// Find returns the bytes of a session that has not expired. An absent session is no error.
	Find(ctx context.Context, token string) (data []byte, found bool, err error)
	// Commit stores a session until expires, also in place of another.
	Commit(ctx context.Context, token string, data []byte, expires time.Time) error
	// Delete deletes a session. An absent session is no error.
	Delete(ctx context.Context, token string) error
}

// SessionInserter is implemented by stores that can store a session without overwriting another.
type SessionInserter interface {
	// Insert stores a session unless there is one with the token.
	Insert(ctx context.Context, token string, data []byte, expires time.Time) (inserted bool, err error)
}

// SessionUpdater is implemented by stores that can change a session in one step.
type SessionUpdater interface {
	// Update stores what change makes of the bytes of a session, and reports false for an absent session. No
	// other change of the session falls between. It may call change more than once.
	Update(ctx context.Context, token string, change func(data []byte) (changed []byte, expires time.Time)) (found bool, err error)
}

// SessionIterator is implemented by stores that can list sessions.
type SessionIterator interface {
	// All returns the bytes of all sessions by their tokens.
	All(ctx context.Context) (map[string][]byte, error)
}

// SessionSweeper is implemented by stores that delete expired sessions when asked,
// and say how many. For a store that does not say it, set SessionHarness.Sweep.
type SessionSweeper interface {
	// DeleteExpired deletes the sessions that expired at or before now.
	DeleteExpired(ctx context.Context, now time.Time) (deleted int64, err error)
}

// SessionsOfUsers is implemented by stores that know whose a session is. CommitFor then
// takes the place of the other methods that write.
type SessionsOfUsers interface {
	// CommitFor is Commit for a session of the user.
	CommitFor(ctx context.Context, userID, token string, data []byte, expires time.Time) error
	// ListByUser returns the bytes of the sessions of a user by their tokens.
	ListByUser(ctx context.Context, userID string) (map[string][]byte, error)
	// DeleteByUser deletes the sessions of a user except the one with that token, and returns how many it deleted.
	DeleteByUser(ctx context.Context, userID, except string) (deleted int64, err error)
}

// SessionHarness tells the suite how to open a store of sessions. Only New is
// required. The fields are those of Harness with the same names.
type SessionHarness struct {
	Name, Version string
	New           func(t testing.TB) SessionStore
	SharedStore   bool
	// Second and Reopen open another handle on the sessions of s.
	Second func(t testing.TB, s SessionStore) SessionStore
	Reopen func(t testing.TB, s SessionStore) SessionStore
	Close  func(s SessionStore) error
	Clock  func(s SessionStore) Clock
	Sweep  func(ctx context.Context, s SessionStore, now time.Time) error
	Faults func(s SessionStore) fault.Control
	// Connections returns the number of connections between s and what keeps its sessions.
	Connections func(s SessionStore) int
	// Declarations.Precision is the precision of expiries: a second for a store that takes them in seconds.
	Declarations  Declarations
	Waivers       []Waiver
	Parallel      int
	ClauseTimeout time.Duration
}

// RunSessions runs the clauses that apply to a store of opaque sessions as subtests
// of t, and returns the report of the clauses that have run.
//
// The suite makes an adapter of the store: owner and expiry of a session stand in its bytes, and an update finds,
// changes and commits a session, as session managers do. Without Insert and Update such a store can't refuse a
// token in use, or keep two concurrent changes: what is lost is then recorded, apart from the verdict.
//
// Clauses about users, accounts, tokens and authenticators do not apply. Four more are about
// bytes. STORE-01: the bytes of a session come back as they were committed: none, bytes that
// are no text, and a mebibyte. STORE-02: a change of the bytes that a call was given, or has
// returned, changes no session. STORE-03: after Delete the session is absent, and Find returns
// no bytes of it. STORE-04: an iteration has each session once, and none that was deleted.
func RunSessions(t *testing.T, h SessionHarness) *Report {
	t.Helper()
	return test(t, func(o Options) (*run, error) { return newSessionRun(&h, o) })
}

// CheckSessions runs the clauses that apply to a store of opaque sessions without a test. See RunSessions and Check.
func CheckSessions(ctx context.Context, h SessionHarness, o Options) (*Report, error) {
	initTesting()
	r, err := newSessionRun(&h, o)
	if err != nil {
		return nil, err
	}
	return r.checkChosen(ctx)
}

func newSessionRun(h *SessionHarness, o Options) (*run, error) {
	if h.New == nil {
		return nil, errors.New("adaptertest: SessionHarness.New is nil: it must open the store under test")
	}
	scope := &sessionScope{}
	r, err := newRun(h.bind(scope), o)
	if err != nil {
		return nil, err
	}
	r.checks, r.scope = append(r.checks, sessions.Checks...), scope
	return r, nil
}

// bind returns the harness of the adapter over the store.
func (h *SessionHarness) bind(scope *sessionScope) *Harness {
	b := &Harness{
		Name: cmp.Or(h.Name, "session store"), Version: h.Version, SharedStore: h.SharedStore,
		Declarations: h.Declarations, Waivers: h.Waivers, Parallel: h.Parallel, ClauseTimeout: h.ClauseTimeout,
		New: func(t testing.TB) adapter.Adapter {
			s := h.New(t)
			if s == nil {
				return nil
			}
			scope.mu.Lock()
			defer scope.mu.Unlock()
			scope.store = s
			return sessionstore.New(s, nil)
		},
	}
	b.Second, b.Reopen = another(h.Second), another(h.Reopen)
	b.Close, b.Clock, b.Faults, b.Connections = over(h.Close), over(h.Clock), over(h.Faults), over(h.Connections)
	if h.Sweep != nil {
		b.Sweep = func(ctx context.Context, a adapter.Adapter, now time.Time) error {
			return h.Sweep(ctx, storeOf(a), now)
		}
	}
	return b
}

// another makes a function of the author, unless it is nil, one that opens an adapter over the store that it opens.
func another(open func(testing.TB, SessionStore) SessionStore) func(testing.TB, adapter.Adapter) adapter.Adapter {
	if open == nil {
		return nil
	}
	return func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return sessionstore.Another(open(t, storeOf(a)), a)
	}
}

// over makes a function of the author, unless it is nil, one that takes an adapter over the store.
func over[T any](f func(SessionStore) T) func(adapter.Adapter) T {
	if f == nil {
		return nil
	}
	return func(a adapter.Adapter) T { return f(storeOf(a)) }
}

// storeOf returns the store of the author that an adapter was made of.
func storeOf(a adapter.Adapter) SessionStore { return sessionstore.Of(a).Store }

// notOfSessions has the reasons why a store of sessions is not judged by clauses and groups.
var notOfSessions = map[string][]string{
	"the suite makes the adapter": {"CAP"},
	"the users are a map of the suite": {
		"USER", "CASC", "SESS-07", "SESS-21", "SESS-22", "TIME-10", "ISO-01", "FAULT-02", "FAULT-03", "FAULT-04",
	},
	"a store of sessions has no accounts":                                               {"ACCT", "SIGNUP", "ALIST"},
	"a store of sessions has no verification tokens":                                    {"VTOK", "TEDIT", "FAULT-01"},
	"a store of sessions has no authenticators":                                         {"AUTHN", "AEDIT"},
	"a store of sessions has no passwords":                                              {"PASS"},
	"a store of sessions has bytes and no fields: see STORE-01":                         {"DATA"},
	"a store of sessions has bytes and no records: see STORE-02":                        {"ALIAS"},
	"the calls of a store of sessions may have no context":                              {"CTX"},
	"a store of sessions is no store of users":                                          {"SITE"},
	"the flows need users with addresses":                                               {"FLOW"},
	"the errors are those of the suite's adapter":                                       {"ERR"},
	"the owner is in the bytes of the session, and the record is in a map of the suite": {"SESS-02"},
	"the owner is in the bytes of the session":                                          {"SESS-23"},
	"the suite makes the update":                                                        {"SESS-09", "SESS-14"},
	"the suite finds the session before it updates it":                                  {"SESS-10"},
	"a store of sessions does not return what it deletes":                               {"SESS-17"},
	"another process has another map of users":                                          {"TIME-08"},
	"the suite's adapter makes the instants of the bytes":                               {"TIME-12"},
	"the suite's adapter gets the tokens that a session manager makes":                  {"INPUT-14"},
}

// oneStep is an ability of stores, and what happens without it.
type oneStep struct {
	has  func(s SessionStore) bool
	lost string
}

var (
	oneInsert = oneStep{inOneStep[SessionInserter], "commit overwrites"}
	oneUpdate = oneStep{inOneStep[SessionUpdater], "lost by find, change, commit"}
)

func inOneStep[T any](s SessionStore) bool {
	_, can := s.(T)
	_, knowsUsers := s.(SessionsOfUsers)
	return can && !knowsUsers
}

// overwritten is the clause that no store keeps without Insert. The suite's adapter keeps
// it only because it finds before it commits.
const overwritten = "SESS-05"

// withoutOneStep are the clauses that a store can't keep without Insert, and those
// that it can't keep without Update. A breach is then recorded and not judged.
var withoutOneStep = map[string]oneStep{
	overwritten: oneInsert, "CONC-05": oneInsert,
	"CONC-07": oneUpdate, "CONC-14": oneUpdate, "CONC-19": oneUpdate, "CONC-21": oneUpdate, "EXP-07": oneUpdate, "SLIST-06": oneUpdate,
}

// sessionScope says how a run judges a store of sessions. A nil scope is that of a run over an adapter.
type sessionScope struct {
	mu    sync.Mutex
	store SessionStore // that New has opened last
}

// excludes returns why a clause does not apply, or "".
func (s *sessionScope) excludes(id string) string {
	if s == nil {
		return ""
	}
	for reason, names := range notOfSessions {
		if slices.Contains(names, id) || slices.Contains(names, groupOf(id)) {
			return reason
		}
	}
	return ""
}

// judge records what a store loses because it lacks Insert or Update.
func (s *sessionScope) judge(id string, f kit.Finding) kit.Finding {
	lack, ok := withoutOneStep[id]
	if s == nil || !ok || f.Outcome != kit.Fail && id != overwritten {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if lack.has(s.store) {
		return f
	}
	f.Outcome, f.Reason = kit.Recorded, lack.lost
	return f
}

// storeClauses are the clauses about stores of sessions, which are not in the contract of adapters.
var storeClauses = []Clause{
	{ID: "STORE-01", Level: Must, Basis: "LOSS", Since: "v0.2.0",
		Rule: "The bytes of a session come back as they were committed: none, bytes that are no text, and a mebibyte.",
		Test: "Commit bytes of each kind and commit others over them; find each."},
	{ID: "STORE-02", Level: Must, Basis: "LOSS", Since: "v0.2.0",
		Rule: "A change of the bytes that a call was given, or has returned, changes no session.",
		Test: "Change the bytes after Commit and after Find; find the session."},
	{ID: "STORE-03", Level: Must, Basis: "SEC", Since: "v0.2.0",
		Rule: "After Delete the session is absent, and Find returns no bytes of it.",
		Test: "Commit, delete and find, twice with one token."},
	{ID: "STORE-04", Level: Must, Basis: "LOSS", Since: "v0.2.0",
		Rule: "An iteration has each session once, with its bytes, and none that was deleted.",
		Test: "Commit 150 sessions, delete a third of them, and iterate."},
}
