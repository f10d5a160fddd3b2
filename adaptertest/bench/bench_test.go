package bench

import (
	"context"
	"flag"
	"slices"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modelHarness opens the model, which keeps the contract.
func modelHarness(wrap func(m *model.Model) adapter.Adapter) adaptertest.Harness {
	return adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return wrap(model.New()) }}
}

func BenchmarkModel(b *testing.B) {
	Run(b, modelHarness(func(m *model.Model) adapter.Adapter { return m }), func(_ testing.TB, a adapter.Adapter) any { return a })
}

// countedBaseline is the baseline of two methods, and counts the calls.
type countedBaseline struct {
	a      adapter.Adapter
	mu     *sync.Mutex
	counts map[string]int
}

func (f countedBaseline) count(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[method]++
}

func (f countedBaseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	f.count("GetSessionAndUser")
	return f.a.GetSessionAndUser(ctx, token)
}

func (f countedBaseline) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	f.count("UseVerificationToken")
	t, err := f.a.UseVerificationToken(ctx, key)
	if t == nil {
		f.count("absent")
	}
	return t, err
}

func TestRun(t *testing.T) {
	t.Setenv("ADAPTERTEST_POPULATION", "10")
	setFlag(t, "test.benchtime", "3x")
	baseline := countedBaseline{mu: &sync.Mutex{}, counts: map[string]int{}}
	measured := map[string]int{}
	testing.Benchmark(func(b *testing.B) {
		h := modelHarness(func(m *model.Model) adapter.Adapter { return counted{m, measured} })
		Run(b, h, func(_ testing.TB, a adapter.Adapter) any {
			baseline.a = a.(counted).Model
			return baseline
		})
		assert.False(t, b.Failed(), "the benchmark failed")
	})
	for _, method := range []string{"GetSessionAndUser", "UseVerificationToken"} {
		assert.Truef(t, baseline.counts[method] != 0 && measured[method] != 0,
			"%s: %d calls of the adapter and %d of the baseline", method, measured[method], baseline.counts[method])
	}
	assert.Truef(t, baseline.counts["absent"] <= 0, "%d uses of tokens found nothing", baseline.counts["absent"])
}

// wrongBaseline finds another user.
type wrongBaseline struct{ a adapter.Adapter }

func (f wrongBaseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	u, err := f.a.GetUser(ctx, id)
	if u != nil {
		u.Name = nil
	}
	return u, err
}

func TestRunRefusesABaselineThatDoesLess(t *testing.T) {
	setFlag(t, "test.benchtime", "1x")
	refused := true
	testing.Benchmark(func(b *testing.B) {
		Run(b, modelHarness(func(m *model.Model) adapter.Adapter { return m }), func(_ testing.TB, a adapter.Adapter) any { return wrongBaseline{a} })
		refused = false
	})
	assert.True(t, refused, "the baseline returned another user, and was measured")
}

func TestSessions(t *testing.T) {
	setFlag(t, "test.benchtime", "3x")
	measured := map[string]int{}
	h := modelHarness(func(m *model.Model) adapter.Adapter { return counted{m, measured} })
	testing.Benchmark(func(b *testing.B) {
		Sessions(b, h, nil, 10_000, nil)
		assert.False(t, b.Failed(), "the benchmark failed")
	})
	got := measured["GetSessionAndUser"]
	assert.Truef(t, got != 0 && got == measured["found"], "read %d sessions and found %d", got, measured["found"])
}

// stepping takes three steps for the first call of GetUser on a handle, and
// one for each later call.
type stepping struct {
	*model.Model
	steps *steps
}

type steps struct {
	fault.Control
	n int64
}

func (s *steps) Steps() int64 { return s.n }

func (a stepping) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if a.steps.n == 0 {
		a.steps.n = 2
	}
	a.steps.n++
	return a.Model.GetUser(ctx, id)
}

func TestRoundTrips(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return stepping{m, &steps{}} })
	h.Second = func(_ testing.TB, a adapter.Adapter) adapter.Adapter { return stepping{a.(stepping).Model, &steps{}} }
	h.Faults = func(a adapter.Adapter) fault.Control { return a.(stepping).steps }
	got := RoundTrips(t, h)
	assert.Truef(t, got["GetUser"] == (Trips{First: 3, Later: 1}) && got["GetAccount"] == (Trips{}) && len(got) == 19,
		"got %v", got)
}

// counted counts calls.
type counted struct {
	*model.Model
	counts map[string]int
}

func (a counted) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	a.counts["GetSessionAndUser"]++
	found, err := a.Model.GetSessionAndUser(ctx, token)
	if found != nil {
		a.counts["found"]++
	}
	return found, err
}

func (a counted) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	a.counts["UseVerificationToken"]++
	return a.Model.UseVerificationToken(ctx, key)
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	old := f.Value.String()
	require.NoError(t, f.Value.Set(value))
	t.Cleanup(func() { assert.NoError(t, f.Value.Set(old)) })
}

func TestWorkloadsCoverEveryMethod(t *testing.T) {
	var k kit.Records
	for _, m := range append(k.Reads(), k.Writes()...) {
		if known, _ := kit.MethodNamed(m.Method); known.Optional() {
			continue // the 19 methods are measured
		}
		assert.Truef(t, slices.ContainsFunc(workloads, func(w workload) bool { return w.method == m.Method }),
			"%s is not measured", m.Method)
	}
	assert.Lenf(t, workloads, 19, "got %d workloads, want 19", len(workloads))
}
