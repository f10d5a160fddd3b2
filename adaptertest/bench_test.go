package adaptertest

import (
	"context"
	"flag"
	"slices"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func BenchmarkModel(b *testing.B) {
	Bench(b, modelHarness(func(m *model) adapter.Adapter { return m }), func(_ testing.TB, a adapter.Adapter) any { return a })
}

// countedFloor is the floor of two methods, and counts the calls.
type countedFloor struct {
	a      adapter.Adapter
	mu     *sync.Mutex
	counts map[string]int
}

func (f countedFloor) count(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[method]++
}

func (f countedFloor) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	f.count("GetSessionAndUser")
	return f.a.GetSessionAndUser(ctx, token)
}

func (f countedFloor) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	f.count("UseVerificationToken")
	t, err := f.a.UseVerificationToken(ctx, key)
	if t == nil {
		f.count("absent")
	}
	return t, err
}

func TestBench(t *testing.T) {
	t.Setenv("ADAPTERTEST_POPULATION", "10")
	setFlag(t, "test.benchtime", "3x")
	floor := countedFloor{mu: &sync.Mutex{}, counts: map[string]int{}}
	measured := map[string]int{}
	testing.Benchmark(func(b *testing.B) {
		h := modelHarness(func(m *model) adapter.Adapter { return counted{m, measured} })
		Bench(b, h, func(_ testing.TB, a adapter.Adapter) any {
			floor.a = a.(counted).model
			return floor
		})
		if b.Failed() {
			t.Error("the benchmark failed")
		}
	})
	for _, method := range []string{"GetSessionAndUser", "UseVerificationToken"} {
		if floor.counts[method] == 0 || measured[method] == 0 {
			t.Errorf("%s: %d calls of the adapter and %d of the floor", method, measured[method], floor.counts[method])
		}
	}
	if floor.counts["absent"] > 0 {
		t.Errorf("%d uses of tokens found nothing", floor.counts["absent"])
	}
}

// counted counts calls.
type counted struct {
	*model
	counts map[string]int
}

func (a counted) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	a.counts["GetSessionAndUser"]++
	return a.model.GetSessionAndUser(ctx, token)
}

func (a counted) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	a.counts["UseVerificationToken"]++
	return a.model.UseVerificationToken(ctx, key)
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	old := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(old); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkloadsCoverEveryMethod(t *testing.T) {
	var k cast
	for _, m := range append(k.reads(), k.writes()...) {
		if !slices.ContainsFunc(workloads, func(w workload) bool { return w.method == m.method }) {
			t.Errorf("%s is not measured", m.method)
		}
	}
	if len(workloads) != 19 {
		t.Errorf("got %d workloads, want 19", len(workloads))
	}
}
