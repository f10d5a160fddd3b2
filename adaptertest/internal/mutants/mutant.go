package mutants

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Mutant is a broken adapter. One of mem, lite, db and both breaks it; only lite and
// db may be set together.
type Mutant struct {
	// Name says in a few words what is wrong. OnLite is the name on lite of a fault on both
	// bases; if it is empty, it is the name with "in SQL" behind it.
	Name, OnLite string
	// Listed is its number, such as M07, if it is one of the first forty mutants.
	Listed string
	// Fault describes the fault.
	Fault string
	// Fails are the clauses that it must fail.
	Fails []string
	// Detector are the clauses that it fails only under the race detector.
	Detector []string
	// AuthJS says that the tests of Auth.js notice it. For the listed mutants it was
	// known before; for the others it was measured.
	AuthJS bool
	// Process says that the fault may end the process, or is noticed only in a process
	// that was started for the mutant.
	Process bool
	// Races says that only concurrent calls can notice the fault, so the command runs
	// the mutant many times.
	Races bool
	// Chance says that the fault depends on random keys, so a run may not meet it.
	Chance bool
	// Rounds is the Options.Rounds that the mutant is judged with; zero means the
	// full form.
	Rounds float64

	// mem replaces methods of the adapter over maps, lite of the one over SQLite, and both of
	// either.
	mem  func(m *mem, w *with)
	lite func(l *lite, w *with)
	both func(b base, w *with)
	// db wraps the database of the adapter over SQLite.
	db func(sqlite.DB) sqlite.DB
	// harness changes the harness, for example its declarations.
	harness func(h *adaptertest.Harness)
}

// All returns the broken adapters, by the group of the first clause that they must fail.
// A literal with both is two of them.
func All() []Mutant {
	var all []Mutant
	for _, m := range slices.Concat(
		capMutants(), userMutants(), acctMutants(), sessMutants(), vtokMutants(), authnMutants(), signupMutants(), alistMutants(),
		slistMutants(), aeditMutants(), teditMutants(), passMutants(), cascMutants(), timeMutants(), dataMutants(), inputMutants(), errMutants(),
		ctxMutants(), concMutants(), faultMutants(), expMutants(), isoMutants(), aliasMutants(), volMutants(), lifeMutants(), siteMutants(),
	) {
		if m.both == nil {
			all = append(all, m)
			continue
		}
		onMem, onLite := m, m
		onMem.mem = func(b *mem, w *with) { m.both(b, w) }
		onLite.lite = func(b *lite, w *with) { m.both(b, w) }
		onLite.Name, onLite.Listed = cmp.Or(m.OnLite, m.Name+" in SQL"), ""
		all = append(all, onMem, onLite)
	}
	return all
}

// Base is the name of the correct adapter that the mutant breaks.
func (m Mutant) Base() string {
	if m.mem != nil {
		return "mem"
	}
	return "lite"
}

// Harness returns the harness that the suite runs on.
func (m Mutant) Harness() adaptertest.Harness {
	var h adaptertest.Harness
	if m.mem != nil {
		h = memHarness(m.mem)
	} else {
		h = liteHarness(m.lite, m.db)
	}
	h.Name = m.Name
	if m.harness != nil {
		m.harness(&h)
	}
	return h
}

// Bases returns the harnesses of the two correct adapters.
func Bases() []adaptertest.Harness {
	mem, lite := memHarness(nil), liteHarness(nil, nil)
	mem.Name, lite.Name = "mem", "lite"
	return []adaptertest.Harness{mem, lite}
}

func memHarness(broken func(*mem, *with)) adaptertest.Harness {
	open := func(r *records) adapter.Adapter {
		m := &mem{records: r}
		w := &with{base: m}
		if broken != nil {
			broken(m, w)
		}
		return w
	}
	of := func(a adapter.Adapter) *mem { return a.(*with).base.(*mem) }
	h := adaptertest.Harness{
		New:    func(testing.TB) adapter.Adapter { return open(newMem().records) },
		Second: func(_ testing.TB, a adapter.Adapter) adapter.Adapter { return open(of(a).records) },
		Close:  func(a adapter.Adapter) error { of(a).closed.Store(true); return nil },
		Reopen: func(_ testing.TB, a adapter.Adapter) adapter.Adapter { return open(of(a).records) },
		Namespace: func(_ testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			r := of(a).records
			defer held(&r.mu)()
			if r.spaces[name] == nil {
				r.spaces[name] = newRecords(r.clock, r.spaces)
			}
			return open(r.spaces[name]), nil
		},
		Clock: func(a adapter.Adapter) adaptertest.Clock { return of(a).clock },
		Inspect: func(_ context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			return of(a).has(r), nil
		},
	}
	memSite(&h, open)
	return h
}

func liteHarness(broken func(*lite, *with), through func(sqlite.DB) sqlite.DB) adaptertest.Harness {
	wrap := func(l *lite) adapter.Adapter {
		w := &with{base: l}
		if broken != nil {
			broken(l, w)
		}
		return w
	}
	open := func(t testing.TB, path string) adapter.Adapter { return wrap(openLite(t, path, through)) }
	fresh := func(t testing.TB) *lite { return openLite(t, filepath.Join(t.TempDir(), "test.db"), through) }
	of := func(a adapter.Adapter) *lite { return a.(*with).base.(*lite) }
	return adaptertest.Harness{
		New:    func(t testing.TB) adapter.Adapter { return wrap(fresh(t)) },
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return open(t, of(a).path) },
		Close:  func(a adapter.Adapter) error { return of(a).db.Close() },
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return open(t, of(a).path) },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			l := *of(a)
			var err error
			if l.Adapter, err = sqlite.New(l.db, sqlite.WithPrefix(name)); err != nil {
				return nil, err
			}
			if err := l.EnsureSchema(t.Context()); err != nil {
				return nil, err
			}
			return wrap(&l), nil
		},
		Faults:  func(a adapter.Adapter) fault.Control { return of(a).faults },
		Corrupt: func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() { return of(a).corrupt(t, r) },
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			table, condition, args := where(r)
			return of(a).exists(ctx, "SELECT 1 FROM "+table+" WHERE "+condition, args...)
		},
		Single: func(t testing.TB) adapter.Adapter {
			l := fresh(t)
			l.db.SetMaxOpenConns(1)
			return wrap(l)
		},
		Limited: func(t testing.TB) adapter.Adapter { return wrap(fresh(t)) },
		Pooled: func(t testing.TB) adapter.Adapter {
			l := fresh(t)
			l.db.SetMaxIdleConns(0) // each statement gets another connection
			return wrap(l)
		},
		Connections:   func(a adapter.Adapter) int { return of(a).faults.Stats().Open },
		CheckHandle:   func(ctx context.Context, a adapter.Adapter) error { return of(a).db.PingContext(ctx) },
		InternalNames: []string{"user", "account", "session", "verificationToken", "authenticator", "sqlite_master"},
	}
}
